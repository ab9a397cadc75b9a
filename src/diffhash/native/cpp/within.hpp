// All rows within a radius of every query, by (distance, id).
#pragma once

#include "scan.hpp"

namespace diffhash {

struct WithinRequest {
    Codes codes;
    Codes queries;
    unsigned radius;
    Filter filter;
    const std::int64_t* ids;  // order within a distance; null: by row
    std::size_t n_threads;
};

struct WithinResult {
    std::vector<std::int64_t> offsets;  // of query q: offsets[q] to offsets[q + 1]
    std::vector<std::int64_t> rows;
    std::vector<std::uint16_t> distances;
};

// Returns false if it was interrupted.
bool within(const Kernel& kernel, const WithinRequest& request, WithinResult& result, Interrupt& interrupt);

}  // namespace diffhash
