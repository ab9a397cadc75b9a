// Intervals of values on evenly spaced grids, one grid for each column.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace diffhash {

template <class Real>
struct BinRequest {
    const Real* values;    // (n_rows, n_bits)
    std::size_t n_rows;
    std::size_t n_bits;
    const Real* first;     // (n_bits) first edge
    const Real* inverse;   // (n_bits) 1 / distance of the edges
    std::size_t n_bins;
    std::size_t n_own;     // extremes are those of the first rows only
    std::size_t n_threads;
    std::uint8_t* bins;    // (n_bits, n_rows)
    double* low;           // (n_bits, n_bins) smallest value of each interval, or null
    double* high;          // (n_bits, n_bins) largest value, or null
};

// Writes the interval of every value; updates the extremes, if they are wanted. False if interrupted.
template <class Real>
bool bin_values(const BinRequest<Real>& request, Interrupt& interrupt);

// Writes how many values of each column are in each interval: counts (n_bits, n_bins) of bins (n_bits, n_rows), of whose
// columns only the first `n_own` rows are counted. Every interval must be below n_bins.
void count_bins(const std::uint8_t* bins, std::size_t n_bits, std::size_t n_rows, std::size_t n_own, std::size_t n_bins,
                std::int64_t* counts);

}  // namespace diffhash
