// Joint histograms of binned values over pairs of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace diffhash {

struct JointRequest {
    const std::uint8_t* x;  // (n_bits, n_x) intervals
    std::size_t n_x;
    const std::uint8_t* y;  // (n_bits, n_y)
    std::size_t n_y;
    const std::int64_t* i;  // rows of x
    const std::int64_t* j;  // rows of y
    const double* weights;  // one for each pair, or null: count
    std::size_t n_pairs;
    std::size_t n_bits;
    std::size_t n_bins;
    std::size_t n_threads;
};

// Adds up the pairs in each cell of each bit, into (n_bits, n_bins, n_bins). False if interrupted.
bool joint_counts(const JointRequest& request, double* sums, Interrupt& interrupt);
bool joint_counts(const JointRequest& request, std::int64_t* counts, Interrupt& interrupt);

}  // namespace diffhash
