// The best k of the rows seen so far, without a heap.
//
// Distances are small integers, so a histogram of what was taken gives the k-th smallest distance D
// exactly. Rows come in increasing order: once k of them lie within D, a row at D comes after all of
// them, so only rows with d < D are taken, however many ties there are. D falls at most n_bits times
// and fewer than k rows are taken between two falls, whatever the order of the rows. What was taken
// waits in a buffer, in row order, until it is full; then everything beyond the best k is dropped.
//
// When ids do not increase with the rows, a row at D may still win by its id: those rows are taken if
// their id is below the largest that was kept at the last clearing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace diffhash {

// Distance in the top 16 bits, row in the other 48: sorts by (distance, row).
using Candidate = std::uint64_t;
inline Candidate make_candidate(unsigned distance, std::size_t row) {
    return std::uint64_t{distance} << 48 | static_cast<std::uint64_t>(row);
}
inline unsigned distance_of(Candidate c) { return static_cast<unsigned>(c >> 48); }
inline std::size_t row_of(Candidate c) {
    return static_cast<std::size_t>(c & ((std::uint64_t{1} << 48) - 1));
}

class Nearest {
    // Room for rows that is made at once: 64 kB. With a large k a thread may never need all that it could take.
    static constexpr std::size_t kReserved = 8192;

public:
    // `first_bound`, at most n_bits + 1: rows at this distance and beyond need not be taken.
    Nearest(std::size_t k, std::size_t capacity, unsigned n_bits, const std::int64_t* ids, unsigned first_bound)
        : k_(k), capacity_(capacity), bound_(first_bound), ids_(ids), counts_(n_bits + 1) {
        taken_.reserve(std::min(capacity, kReserved));
    }

    static std::size_t capacity_for(std::size_t k, std::size_t rows) {
        return std::min(std::max(rows, k), k + std::max<std::size_t>(256, k));
    }

    // Rows need to be offered only at distances up to this; -1: no row.
    int limit() const { return ids_ ? static_cast<int>(bound_) : static_cast<int>(bound_) - 1; }

    void offer(unsigned distance, std::size_t row) {
        if (distance >= bound_) {
            if (!ids_ || distance > bound_ || ids_[row] >= last_id_) return;
        }
        if (taken_.size() >= capacity_) {
            clear_out();
            if (ids_ && distance >= bound_ && (distance > bound_ || ids_[row] >= last_id_)) return;
        }
        taken_.push_back(make_candidate(distance, row));
        ++counts_[distance];
        if (distance < bound_ && ++below_ >= k_) {
            do below_ -= counts_[--bound_];
            while (below_ >= k_);
            last_id_ = std::numeric_limits<std::int64_t>::max();
        }
    }

    // Adds what another thread has taken of other rows. Each of the two has at least its best k, or all of its rows
    // that are nearer than the first bound.
    void merge(const Nearest& other) {
        if (ids_) {
            taken_.insert(taken_.end(), other.taken_.begin(), other.taken_.end());
            return;
        }
        // Where one of them has k rows, none beyond its bound is needed. Without ids rows are in order, and stay so.
        bound_ = std::min(bound_, other.bound_);
        std::vector<Candidate> mine = within_bound(taken_), others = within_bound(other.taken_);
        taken_.resize(mine.size() + others.size());
        std::merge(mine.begin(), mine.end(), others.begin(), others.end(), taken_.begin(),
                   [](Candidate a, Candidate b) { return row_of(a) < row_of(b); });
        std::fill(counts_.begin(), counts_.end(), 0);
        for (const Candidate c : taken_) ++counts_[distance_of(c)];
        below_ = 0;
        unsigned bound = 0;
        while (bound < bound_ && below_ + counts_[bound] < k_) below_ += counts_[bound++];
        bound_ = bound;
    }

    // Whether k rows nearer than the first bound were offered.
    bool enough(unsigned first_bound) const {
        return k_ <= static_cast<std::size_t>(
                         std::count_if(taken_.begin(), taken_.end(),
                                       [first_bound](Candidate c) { return distance_of(c) < first_bound; }));
    }

    // Writes the best k by (distance, id).
    void finish(std::int64_t* rows, std::uint16_t* distances) {
        if (!ids_) return counting_sort(rows, distances);
        const auto end = taken_.begin() + static_cast<std::ptrdiff_t>(k_);
        std::partial_sort(taken_.begin(), end, taken_.end(), by_id());
        for (std::size_t i = 0; i < k_; ++i) {
            rows[i] = static_cast<std::int64_t>(row_of(taken_[i]));
            distances[i] = static_cast<std::uint16_t>(distance_of(taken_[i]));
        }
    }

private:
    struct ById {
        const std::int64_t* ids;
        bool operator()(Candidate a, Candidate b) const {
            const unsigned x = distance_of(a), y = distance_of(b);
            return x != y ? x < y : ids[row_of(a)] < ids[row_of(b)];
        }
    };
    ById by_id() const { return {ids_}; }

    void clear_out() {
        // All nearer than the bound stay; of those at the bound, as many as make up k.
        const std::size_t spare = k_ - below_;
        if (ids_) {
            const auto middle = std::partition(taken_.begin(), taken_.end(),
                                               [this](Candidate c) { return distance_of(c) < bound_; });
            const auto end = std::partition(middle, taken_.end(),
                                            [this](Candidate c) { return distance_of(c) == bound_; });
            if (static_cast<std::size_t>(end - middle) >= spare && spare > 0) {
                const auto last = middle + static_cast<std::ptrdiff_t>(spare) - 1;
                std::nth_element(middle, last, end, by_id());
                last_id_ = ids_[row_of(*last)];
                taken_.erase(last + 1, taken_.end());
            } else {
                taken_.erase(end, taken_.end());
            }
        } else {
            // Which rows stay is almost random: a branch would be mispredicted half of the time.
            std::size_t kept = 0, ties = 0;
            for (const Candidate c : taken_) {
                const unsigned distance = distance_of(c);
                taken_[kept] = c;
                kept += (distance < bound_) | ((distance == bound_) & (ties < spare));
                ties += distance == bound_;
            }
            taken_.resize(kept);
        }
        if (bound_ < counts_.size()) counts_[bound_] = static_cast<std::uint32_t>(taken_.size() - below_);
    }

    // Which rows are within the bound is almost random, as above.
    std::vector<Candidate> within_bound(const std::vector<Candidate>& all) const {
        std::vector<Candidate> found(all.size());
        std::size_t kept = 0;
        for (const Candidate c : all) {
            found[kept] = c;
            kept += distance_of(c) <= bound_;
        }
        found.resize(kept);
        return found;
    }

    // Stable, so that rows stay in order within a distance.
    void counting_sort(std::int64_t* rows, std::uint16_t* distances) const {
        std::vector<std::size_t> start(bound_ + 1, 0);
        std::size_t sum = 0;
        for (unsigned d = 0; d < start.size() && d < counts_.size(); ++d) {
            start[d] = sum;
            sum += counts_[d];
        }
        for (const Candidate c : taken_) {
            const unsigned distance = distance_of(c);
            if (distance > bound_) continue;
            const std::size_t place = start[distance]++;
            if (place >= k_) continue;
            rows[place] = static_cast<std::int64_t>(row_of(c));
            distances[place] = static_cast<std::uint16_t>(distance);
        }
    }

    std::size_t k_;
    std::size_t capacity_;
    unsigned bound_;         // D, or the first bound while fewer than k were taken
    std::size_t below_ = 0;  // taken at less than D
    const std::int64_t* ids_;
    std::int64_t last_id_ = std::numeric_limits<std::int64_t>::max();
    std::vector<std::uint32_t> counts_;
    std::vector<Candidate> taken_;
};

}  // namespace diffhash
