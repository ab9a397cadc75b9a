// All pairs of rows within a radius, each left row with a range of right rows.
//
// The caller sorts the rows so that rows which agree on the bits of a mask are neighbours, and calls once
// for each mask. Masks are such that two codes within the radius agree on the bits of at least one. A pair
// is reported by the call for the first mask on which its codes agree, so every pair is reported once.
#pragma once

#include <utility>

#include "scan.hpp"

namespace diffhash {

using RowRange = std::pair<std::size_t, std::size_t>;

struct JoinRequest {
    Codes left;
    Codes right;
    // Row p of the left codes is compared with the right rows first[p] to last[p].
    const std::int64_t* first;
    const std::int64_t* last;
    std::vector<RowRange> todo;  // left rows
    unsigned radius;
    Codes masks;        // at least one; the last is the one of this call
    std::size_t limit;  // stop after about this many pairs: at most this many and a row's more for each thread
    std::size_t n_threads;
};

struct JoinResult {
    std::vector<std::int64_t> left;
    std::vector<std::int64_t> right;
    std::vector<std::uint16_t> distances;
    std::vector<RowRange> rest;  // left rows that are still to be done

    std::size_t size() const { return left.size(); }
    void resize(std::size_t count);
    void append(const JoinResult& other);
};

// Returns false if it was interrupted.
bool join(const Kernel& kernel, const JoinRequest& request, JoinResult& result, Interrupt& interrupt);

// Joins the sets of i[p] and j[p] for all pairs p. The parent of an element has a smaller number, or is the
// element itself if it is the first of its set.
void unite(std::int64_t* parents, const std::int64_t* i, const std::int64_t* j, std::size_t n_pairs);

}  // namespace diffhash
