// Errors of one bit at every pair of thresholds of a grid, from joint counts of pairs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diffhash {

template <class Count>
struct ErrorRequest {
    const Count* positive;  // (n_bits, n_bins, n_bins) pairs in each cell
    const Count* negative;
    std::size_t n_bits;
    std::size_t n_bins;     // at least 1
    double miss_weight;
    double* costs;          // (n_bits, n_bins - 1, n_bins - 1)
};

// Writes miss_weight * (share of the positives that differ) + (share of the negatives that agree).
template <class Count>
void error_shares(const ErrorRequest<Count>& request);

}  // namespace diffhash
