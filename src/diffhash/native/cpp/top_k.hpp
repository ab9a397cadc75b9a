// The k nearest rows of every query, by (distance, id).
#pragma once

#include "scan.hpp"

namespace diffhash {

struct TopKRequest {
    Codes codes;
    Codes queries;
    std::size_t k;  // at most the number of allowed rows
    Filter filter;
    const std::int64_t* ids;  // ties go to the smaller id; null: to the smaller row
    std::size_t n_threads;
};

// rows and distances are (queries.n, k). Returns false if it was interrupted.
bool top_k(const Kernel& kernel, const TopKRequest& request, std::int64_t* rows, std::uint16_t* distances,
           Interrupt& interrupt);

}  // namespace diffhash
