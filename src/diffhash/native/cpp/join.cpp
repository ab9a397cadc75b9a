#include "join.hpp"

#include "plain.hpp"

namespace diffhash {
namespace {

// Left rows that are scored together.
constexpr std::size_t kTile = 64;
// Below this many candidates preparing the blocks costs more than it saves.
constexpr std::size_t kFewCandidates = 16;

// Hands out left rows, a share of work at a time.
class Work {
public:
    explicit Work(const JoinRequest& request) : request_(request), todo_(request.todo) {}

    bool take(RowRange& share) {
        constexpr std::int64_t kComparisons = 1 << 22;
        constexpr std::size_t kRows = 1 << 14;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (todo_.empty()) return false;
        RowRange& range = todo_.back();
        std::size_t end = range.first;
        for (std::int64_t work = 0; end < range.second && work < kComparisons && end - range.first < kRows; ++end)
            work += std::max<std::int64_t>(request_.last[end] - request_.first[end], 0);
        share = {range.first, end};
        if (end == range.second)
            todo_.pop_back();
        else
            range.first = end;
        return true;
    }

    void give_back(RowRange share) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (share.first < share.second) todo_.push_back(share);
    }

    const std::vector<RowRange>& rest() const { return todo_; }

private:
    const JoinRequest& request_;
    std::vector<RowRange> todo_;
    std::mutex mutex_;
};

template <class Distance>
class Joiner {
public:
    Joiner(const Kernel& kernel, const JoinRequest& request)
        : kernel_(kernel),
          request_(request),
          width_(request.left.code_bytes),
          block_rows_(block_rows(width_)),
          table_bytes_(round_up(kernel.table_bytes(width_), 64)),
          tables_(table_bytes_ * ((kTile + kernel.group - 1) / kernel.group)),
          planes_(block_rows_ * kernel.plane_bytes(width_)),
          distances_(kMaxGroup * block_rows_ * sizeof(Distance)),
          positions_(block_rows_) {
        for (std::size_t q = 0; q < kMaxGroup; ++q)
            out_[q] = reinterpret_cast<Distance*>(distances_.data()) + q * block_rows_;
    }

    // Does rows from `begin` on; returns the first row that it did not do.
    std::size_t some_rows(std::size_t begin, std::size_t end, Interrupt& interrupt, bool caller) {
        std::size_t stop = begin + 1;
        while (stop < end && stop - begin < tile_ && request_.last[stop] == request_.last[begin] &&
               request_.first[stop] >= request_.first[stop - 1])
            ++stop;
        const std::size_t before = found.size();
        const std::int64_t first = request_.first[begin], last = request_.last[begin];
        if (first >= last) return stop;
        if (last - first <= static_cast<std::int64_t>(kFewCandidates)) {
            few(begin, stop, static_cast<std::size_t>(last));
            return stop;
        }
        while (!many(begin, stop, before, interrupt, caller)) {
            // More pairs than fit: fewer rows at a time.
            found.resize(before);
            tile_ = std::max<std::size_t>((stop - begin) / 4, 1);
            stop = begin + tile_;
        }
        if (found.size() - before < request_.limit / 16) tile_ = std::min(2 * tile_, kTile);
        return stop;
    }

    JoinResult found;

private:
    void few(std::size_t begin, std::size_t stop, std::size_t last) {
        const std::size_t words = (width_ + 7) / 8;
        for (std::size_t p = begin; p < stop; ++p)
            for (std::size_t r = static_cast<std::size_t>(request_.first[p]); r < last; ++r) {
                const std::uint8_t *a = request_.left.row(p), *b = request_.right.row(r);
                unsigned distance = 0;
                for (std::size_t w = 0; w < words && distance <= request_.radius; ++w)
                    distance += popcount(code_word(a, width_, w) ^ code_word(b, width_, w));
                if (distance <= request_.radius) emit(p, r, distance);
            }
    }

    // False if there are more pairs than may be kept, and several rows.
    bool many(std::size_t begin, std::size_t stop, std::size_t before, Interrupt& interrupt, bool caller) {
        const std::uint8_t* group[kMaxGroup];
        for (std::size_t p = begin, t = 0; p < stop; p += kernel_.group, ++t) {
            const std::size_t count = std::min(kernel_.group, stop - p);
            for (std::size_t i = 0; i < count; ++i) group[i] = request_.left.row(p + i);
            kernel_.prepare_queries(group, count, width_, tables_.data() + t * table_bytes_);
        }
        const auto last = static_cast<std::size_t>(request_.last[begin]);
        for (auto row = static_cast<std::size_t>(request_.first[begin]); row < last; row += block_rows_) {
            score(begin, stop, row, std::min(block_rows_, last - row));
            if (found.size() - before > request_.limit && stop - begin > 1) return false;
            if (caller) interrupt.poll();
            if (interrupt.stopped()) return true;
        }
        return true;
    }

    void score(std::size_t begin, std::size_t stop, std::size_t row, std::size_t rows) {
        const std::uint8_t* planes =
            kernel_.prepare_block(request_.right.row(row), rows, width_, planes_.data());
        const std::uint8_t* table = tables_.data();
        for (std::size_t p = begin; p < stop; p += kernel_.group, table += table_bytes_) {
            unsigned minimum[kMaxGroup];
            if constexpr (sizeof(Distance) == 1)
                kernel_.distances8(planes, rows, width_, table, out_, minimum);
            else
                kernel_.distances16(planes, rows, width_, table, out_, minimum);
            const std::size_t count = std::min(kernel_.group, stop - p);
            for (std::size_t i = 0; i < count; ++i)
                if (minimum[i] <= request_.radius) select(p + i, row, rows, out_[i]);
        }
    }

    void select(std::size_t p, std::size_t row, std::size_t rows, const Distance* distances) {
        std::size_t count;
        if constexpr (sizeof(Distance) == 1)
            count = kernel_.select8(distances, rows, request_.radius, positions_.data());
        else
            count = kernel_.select16(distances, rows, request_.radius, positions_.data());
        const auto first = static_cast<std::size_t>(request_.first[p]);
        for (std::size_t i = 0; i < count; ++i)
            if (row + positions_[i] >= first) emit(p, row + positions_[i], distances[positions_[i]]);
    }

    void emit(std::size_t p, std::size_t r, unsigned distance) {
        const std::size_t last = request_.masks.n - 1;
        for (std::size_t m = 0; m < last; ++m)
            if (agree(p, r, request_.masks.row(m))) return;
        if (!agree(p, r, request_.masks.row(last))) return;
        found.left.push_back(static_cast<std::int64_t>(p));
        found.right.push_back(static_cast<std::int64_t>(r));
        found.distances.push_back(static_cast<std::uint16_t>(distance));
    }

    bool agree(std::size_t p, std::size_t r, const std::uint8_t* mask) const {
        const std::uint8_t *a = request_.left.row(p), *b = request_.right.row(r);
        const std::size_t words = (width_ + 7) / 8;
        for (std::size_t w = 0; w < words; ++w)
            if ((code_word(a, width_, w) ^ code_word(b, width_, w)) & code_word(mask, width_, w)) return false;
        return true;
    }

    const Kernel& kernel_;
    const JoinRequest& request_;
    const std::size_t width_;
    const std::size_t block_rows_;
    const std::size_t table_bytes_;
    Scratch tables_;
    Scratch planes_;
    Scratch distances_;
    std::vector<std::uint32_t> positions_;
    Distance* out_[kMaxGroup];
    std::size_t tile_ = kTile;
};

template <class Distance>
void run(const Kernel& kernel, const JoinRequest& request, JoinResult& result, Interrupt& interrupt) {
    // Below about a millisecond of work another thread costs more time than it saves.
    double comparisons = 0;
    for (const RowRange& range : request.todo)
        for (std::size_t p = range.first; p < range.second; ++p)
            comparisons += static_cast<double>(std::max<std::int64_t>(request.last[p] - request.first[p], 0));
    const std::size_t n_threads = std::clamp<std::size_t>(static_cast<std::size_t>(comparisons / (1 << 22)), 1,
                                                          std::max<std::size_t>(request.n_threads, 1));
    Work work(request);
    std::atomic<std::size_t> total{0};
    std::mutex mutex;
    run_threads(n_threads, interrupt, [&](std::size_t worker) {
        Joiner<Distance> joiner(kernel, request);
        RowRange share;
        const auto enough = [&] { return interrupt.stopped() || total.load() >= request.limit; };
        while (!enough() && work.take(share)) {
            while (share.first < share.second && !enough()) {
                const std::size_t before = joiner.found.size();
                share.first = joiner.some_rows(share.first, share.second, interrupt, worker == 0);
                total += joiner.found.size() - before;
                if (worker == 0) interrupt.poll();
            }
            work.give_back(share);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        result.append(joiner.found);
    });
    result.rest = work.rest();
}

std::int64_t first_of_set(std::int64_t* parents, std::int64_t element) {
    while (parents[element] != element) element = parents[element] = parents[parents[element]];
    return element;
}

}  // namespace

void JoinResult::resize(std::size_t count) {
    left.resize(count);
    right.resize(count);
    distances.resize(count);
}

void JoinResult::append(const JoinResult& other) {
    left.insert(left.end(), other.left.begin(), other.left.end());
    right.insert(right.end(), other.right.begin(), other.right.end());
    distances.insert(distances.end(), other.distances.begin(), other.distances.end());
}

bool join(const Kernel& kernel, const JoinRequest& request, JoinResult& result, Interrupt& interrupt) {
    if (request.left.narrow())
        run<std::uint8_t>(kernel, request, result, interrupt);
    else
        run<std::uint16_t>(kernel, request, result, interrupt);
    return !interrupt.stopped();
}

void unite(std::int64_t* parents, const std::int64_t* i, const std::int64_t* j, std::size_t n_pairs) {
    for (std::size_t p = 0; p < n_pairs; ++p) {
        const std::int64_t a = first_of_set(parents, i[p]), b = first_of_set(parents, j[p]);
        if (a < b)
            parents[b] = a;
        else
            parents[a] = b;
    }
}

}  // namespace diffhash
