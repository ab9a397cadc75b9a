// A first bound for the k-th distance, from a sample of the rows.
//
// Without a bound almost all rows of the first blocks are taken, and most of them are dropped again: about
// k (1 + ln(n / k)) rows in all. With a bound it is less than half. The bound is a guess: so many rows of the
// sample lie within it that k rows of all do, unless the sample is very unusual. If fewer than k rows were
// found within the bound, the query is searched again without one.
#pragma once

#include <cmath>

#include "scan.hpp"
#include "top_k.hpp"

namespace diffhash {

constexpr std::size_t kSampleRows = 4096;
// Fewer neighbours or queries do not make up for the sample.
constexpr std::size_t kMinSampledK = 64, kMinSampledQueries = 8;

inline bool can_sample(const TopKRequest& request) {
    return !request.filter.bits && request.k >= kMinSampledK && request.queries.n >= kMinSampledQueries &&
           request.codes.n >= 16 * kSampleRows && request.k <= request.codes.n / 16;
}

// One row of each of kSampleRows ranges of the same size, at changing places: data may repeat with a period.
inline std::size_t sample_row(std::size_t i, std::size_t n) {
    const std::size_t size = n / kSampleRows;
    return i * size + (i * 0x9E3779B97F4A7C15 >> 32) % size;
}

// For queries [begin, end): the smallest distance of which enough rows of the sample are nearer.
template <class Distance>
std::vector<unsigned> first_bounds(const Kernel& kernel, const TopKRequest& request, std::size_t begin,
                                   std::size_t end) {
    const std::size_t width = request.codes.code_bytes, bins = 8 * width + 1;
    std::vector<std::uint8_t> sample(kSampleRows * width);
    for (std::size_t i = 0; i < kSampleRows; ++i)
        std::memcpy(sample.data() + i * width, request.codes.row(sample_row(i, request.codes.n)), width);
    std::vector<std::uint16_t> counts((end - begin) * bins);
    Scanner<Distance> scanner(kernel, {sample.data(), kSampleRows, width}, {}, request.queries, begin, end);
    Interrupt never(nullptr);
    scanner.scan(0, kSampleRows, never, false,
                 [&](std::size_t q, const Block& block, const Distance* distances, unsigned) {
                     for (std::size_t i = 0; i < block.count; ++i) ++counts[q * bins + distances[i]];
                 });
    // Four standard deviations above the number that k rows of all are expected to have in the sample, and two more:
    // for fewer than 2 queries in 1,000 the bound is too low. A higher one would let more rows pass than k.
    const double expected = static_cast<double>(request.k) * kSampleRows / static_cast<double>(request.codes.n);
    const auto enough = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 2);
    std::vector<unsigned> bounds(end - begin);
    for (std::size_t q = 0; q < bounds.size(); ++q) {
        std::size_t nearer = 0;
        unsigned bound = 0;
        while (nearer < enough && bound < bins) nearer += counts[q * bins + bound++];
        bounds[q] = bound;
    }
    return bounds;
}

}  // namespace diffhash
