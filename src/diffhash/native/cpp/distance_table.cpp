#include "distance_table.hpp"

#include <bitset>

namespace diffhash {
namespace {

// Four histograms: neighbouring rows often have the same distance, and two additions to one counter
// would have to wait for each other.
constexpr std::size_t kWays = 4;

class Histogram {
public:
    explicit Histogram(std::size_t bins) : bins_(bins), counts_(kWays * bins) {}

    template <class Distance>
    void count(const Distance* distances, std::size_t n) {
        std::uint32_t* a = counts_.data();
        std::uint32_t *b = a + bins_, *c = b + bins_, *d = c + bins_;
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            ++a[distances[i]];
            ++b[distances[i + 1]];
            ++c[distances[i + 2]];
            ++d[distances[i + 3]];
        }
        for (; i < n; ++i) ++a[distances[i]];
    }

    void add_to(std::int64_t* table, std::size_t stride) const {
        for (std::size_t bin = 0; bin < bins_; ++bin)
            for (std::size_t way = 0; way < kWays; ++way) table[bin * stride] += counts_[way * bins_ + bin];
    }

    void clear() { std::fill(counts_.begin(), counts_.end(), 0); }

private:
    std::size_t bins_;
    std::vector<std::uint32_t> counts_;
};

std::size_t grade(const TableRequest& request, std::size_t query, std::size_t run) {
    const std::uint64_t* a = request.query_labels + query * request.label_words;
    const std::uint64_t* b = request.run_labels + run * request.label_words;
    const std::size_t highest = request.n_grades - 1;
    std::size_t shared = 0;
    for (std::size_t w = 0; w < request.label_words; ++w) {
        if (!request.any_bit && a[w] != b[w]) return 0;
        if (request.any_bit) {
            shared += std::bitset<64>(a[w] & b[w]).count();
            if (shared >= highest) return highest;
        }
    }
    return request.any_bit ? shared : 1;
}

template <class Distance>
void count_tile(const Kernel& kernel, const TableRequest& request, std::size_t begin, std::size_t end,
                std::int64_t* table, Interrupt& interrupt, bool caller) {
    const std::size_t bins = 8 * request.codes.code_bytes + 1;
    const std::size_t grades = request.n_grades;
    std::vector<Histogram> histograms(grades * (end - begin), Histogram(bins));
    Scanner<Distance> scanner(kernel, request.codes, Filter{}, request.queries, begin, end);
    const auto flush = [&] {
        for (std::size_t h = 0; h < histograms.size(); ++h) {
            histograms[h].add_to(table + (begin + h / grades) * bins * grades + h % grades, grades);
            histograms[h].clear();
        }
    };
    std::size_t first_run = 0;  // of the current block
    std::size_t block_start = 0;
    const auto visit = [&](std::size_t q, const Block& block, const Distance* distances, unsigned) {
        if (block.first != block_start) {
            block_start = block.first;
            while (request.run_starts[first_run + 1] <= static_cast<std::int64_t>(block_start)) ++first_run;
        }
        std::size_t done = 0;
        for (std::size_t run = first_run; done < block.count; ++run) {
            const auto run_end = static_cast<std::size_t>(request.run_starts[run + 1]);
            const std::size_t stop = std::min(run_end - block.first, block.count);
            histograms[grades * q + grade(request, begin + q, run)].count(distances + done, stop - done);
            done = stop;
        }
    };
    // 32-bit counters are emptied long before they can overflow.
    constexpr std::size_t kFlush = std::size_t{1} << 31;
    for (std::size_t row = 0; row < request.codes.n && !interrupt.stopped(); row += kFlush) {
        scanner.scan(row, std::min(row + kFlush, request.codes.n), interrupt, caller, visit);
        flush();
    }
}

}  // namespace

bool distance_table(const Kernel& kernel, const TableRequest& request, std::int64_t* table,
                    Interrupt& interrupt) {
    if (request.codes.n == 0 || request.queries.n == 0) return true;
    Plan plan = make_plan(request.codes, request.queries.n, request.n_threads, 128);
    // Always by query: a thread writes to the rows of its own queries only.
    const std::size_t share = (request.queries.n + plan.n_threads - 1) / plan.n_threads;
    // Counters of a tile stay within the second-level cache.
    const std::size_t bytes =
        request.n_grades * kWays * sizeof(std::uint32_t) * (8 * request.codes.code_bytes + 1);
    const std::size_t fitting = std::clamp<std::size_t>((std::size_t{256} << 10) / bytes, 8, 128);
    plan.tile = round_up(std::min(share, fitting), kMaxGroup);
    std::atomic<std::size_t> next{0};
    run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
        while (!interrupt.stopped()) {
            const std::size_t begin = next.fetch_add(plan.tile);
            if (begin >= request.queries.n) return;
            const std::size_t end = std::min(begin + plan.tile, request.queries.n);
            const auto count = request.codes.narrow() ? count_tile<std::uint8_t> : count_tile<std::uint16_t>;
            count(kernel, request, begin, end, table, interrupt, worker == 0);
        }
    });
    return !interrupt.stopped();
}

}  // namespace diffhash
