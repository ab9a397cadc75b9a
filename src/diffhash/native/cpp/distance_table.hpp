// Numbers of rows of each grade of relevance at each distance from every query.
#pragma once

#include "scan.hpp"

namespace diffhash {

// The rows are sorted so that rows of the same labels lie in one run: relevance is then decided once
// per query and run, and counting is a plain histogram.
struct TableRequest {
    Codes codes;
    Codes queries;
    const std::int64_t* run_starts;  // n_runs + 1 of them
    std::size_t n_runs;
    const std::uint64_t* run_labels;    // (n_runs, label_words)
    const std::uint64_t* query_labels;  // (queries.n, label_words)
    std::size_t label_words;
    bool any_bit;  // the grade is the number of bits in common; otherwise: 1 if all words are equal, or 0
    std::size_t n_grades;  // at least 2; a row with more bits in common has the grade n_grades - 1
    std::size_t n_threads;
};

// `table` is (queries.n, 8 * code_bytes + 1, n_grades), zeroed by the caller. With two grades [..., 1] counts
// relevant rows.
// Returns false if it was interrupted.
bool distance_table(const Kernel& kernel, const TableRequest& request, std::int64_t* table,
                    Interrupt& interrupt);

}  // namespace diffhash
