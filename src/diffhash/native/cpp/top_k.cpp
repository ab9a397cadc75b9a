#include "top_k.hpp"

#include "bit_slices.hpp"
#include "first_bound.hpp"
#include "nearest.hpp"

namespace diffhash {
namespace {

// Merging this many neighbours of a query takes a noticeable time.
constexpr std::size_t kManyNeighbours = 64;

// The nearest rows of a tile of queries, as one thread sees them.
template <class Distance>
class Tile {
public:
    Tile(const Kernel& kernel, const TopKRequest& request, std::size_t begin, std::size_t end,
         const std::vector<unsigned>& bounds)
        : scanner_(kernel, request.codes, request.filter, request.queries, begin, end),
          positions_(scanner_.rows_per_block()) {
        const auto n_bits = static_cast<unsigned>(8 * request.codes.code_bytes);
        const std::size_t capacity = Nearest::capacity_for(request.k, request.codes.n);
        nearest_.reserve(end - begin);
        for (std::size_t q = begin; q < end; ++q)
            nearest_.emplace_back(request.k, capacity, n_bits, request.ids, bounds[q - begin]);
        for (const Nearest& nearest : nearest_) limits_.push_back(nearest.limit());
    }

    void scan(std::size_t begin, std::size_t end, Interrupt& interrupt, bool caller) {
        scanner_.scan(begin, end, interrupt, caller,
                      [this](std::size_t q, const Block& block, const Distance* distances, unsigned minimum) {
                          // Rarely true after the first blocks.
                          if (static_cast<int>(minimum) <= limits_[q]) take(q, block, distances);
                      });
    }

    Nearest& operator[](std::size_t q) { return nearest_[q]; }

private:
    void take(std::size_t q, const Block& block, const Distance* distances) {
        if (limits_[q] < 0) return;
        const std::size_t found =
            scanner_.select(distances, block.count, static_cast<unsigned>(limits_[q]), positions_.data());
        Nearest& nearest = nearest_[q];
        for (std::size_t i = 0; i < found; ++i)
            nearest.offer(distances[positions_[i]], block.row(positions_[i]));
        limits_[q] = nearest.limit();
    }

    Scanner<Distance> scanner_;
    std::vector<std::uint32_t> positions_;
    std::vector<Nearest> nearest_;
    std::vector<int> limits_;
};

// The same from bit planes, which is faster for many queries.
class SlicedTile {
public:
    SlicedTile(const Kernel& kernel, const TopKRequest& request, std::size_t begin, std::size_t end,
               const std::vector<unsigned>& bounds)
        : scanner_(kernel, request.codes, request.filter, request.queries, begin, end) {
        const auto n_bits = static_cast<unsigned>(8 * request.codes.code_bytes);
        const std::size_t capacity = Nearest::capacity_for(request.k, request.codes.n);
        nearest_.reserve(end - begin);
        for (std::size_t q = begin; q < end; ++q) {
            nearest_.emplace_back(request.k, capacity, n_bits, request.ids, bounds[q - begin]);
            scanner_.set_limit(q - begin, nearest_.back().limit());
        }
    }

    void scan(std::size_t begin, std::size_t end, Interrupt& interrupt, bool caller) {
        scanner_.scan(begin, end, interrupt, caller,
                      [this](std::size_t q, const Block& block, const std::uint16_t* positions,
                             const std::uint16_t* distances, std::size_t count) {
                          Nearest& nearest = nearest_[q];
                          const int before = nearest.limit();
                          for (std::size_t i = 0; i < count; ++i)
                              nearest.offer(distances[i], block.row(positions[i]));
                          if (nearest.limit() != before) scanner_.set_limit(q, nearest.limit());
                      });
    }

    Nearest& operator[](std::size_t q) { return nearest_[q]; }

private:
    SlicedScanner scanner_;
    std::vector<Nearest> nearest_;
};

// Results of queries, or that a query found fewer than k rows within its first bound.
struct Results {
    std::int64_t* rows;
    std::uint16_t* distances;
    std::vector<std::uint8_t> failed;

    void finish(Nearest& nearest, std::size_t k, std::size_t q, unsigned first_bound) {
        failed[q] = !nearest.enough(first_bound);
        if (!failed[q]) nearest.finish(rows + q * k, distances + q * k);
    }
};

// First bounds of a tile of queries; all distances are below them if the rows are not sampled.
std::vector<unsigned> bounds_of(const Kernel& kernel, const TopKRequest& request, bool sampled, std::size_t begin,
                                std::size_t end) {
    if (!sampled)
        return std::vector<unsigned>(end - begin, static_cast<unsigned>(8 * request.codes.code_bytes) + 1);
    return request.codes.narrow() ? first_bounds<std::uint8_t>(kernel, request, begin, end)
                                  : first_bounds<std::uint16_t>(kernel, request, begin, end);
}

template <class Tile>
void by_query(const Kernel& kernel, const TopKRequest& request, const Plan& plan, bool sampled, Results& results,
              Interrupt& interrupt) {
    std::atomic<std::size_t> next{0};
    run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
        while (!interrupt.stopped()) {
            const std::size_t begin = next.fetch_add(plan.tile);
            if (begin >= request.queries.n) return;
            const std::size_t end = std::min(begin + plan.tile, request.queries.n);
            const std::vector<unsigned> bounds = bounds_of(kernel, request, sampled, begin, end);
            Tile tile(kernel, request, begin, end, bounds);
            tile.scan(0, request.codes.n, interrupt, worker == 0);
            if (interrupt.stopped()) return;
            for (std::size_t q = begin; q < end; ++q)
                results.finish(tile[q - begin], request.k, q, bounds[q - begin]);
        }
    });
}

template <class Tile>
void by_row(const Kernel& kernel, const TopKRequest& request, const Plan& plan, bool sampled, Results& results,
            Interrupt& interrupt) {
    // Small enough that the other threads can take over the work of a slow one.
    const std::size_t share = round_up(request.codes.n / (8 * plan.n_threads) + 1, 1024);
    for (std::size_t begin = 0; begin < request.queries.n && !interrupt.stopped(); begin += plan.tile) {
        const std::size_t end = std::min(begin + plan.tile, request.queries.n);
        const std::vector<unsigned> bounds = bounds_of(kernel, request, sampled, begin, end);
        std::atomic<std::size_t> next{0};
        std::vector<std::unique_ptr<Tile>> tiles(plan.n_threads);
        run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
            auto& tile = tiles[worker];
            tile = std::make_unique<Tile>(kernel, request, begin, end, bounds);
            // A thread's shares come in increasing order, which is all that its ties need.
            for (std::size_t row = next.fetch_add(share); row < request.codes.n && !interrupt.stopped();
                 row = next.fetch_add(share))
                tile->scan(row, std::min(row + share, request.codes.n), interrupt, worker == 0);
        });
        if (interrupt.stopped()) return;
        std::atomic<std::size_t> next_query{begin};
        // Merging many neighbours takes longer than starting a thread.
        run_threads(request.k < kManyNeighbours ? 1 : plan.n_threads, interrupt, [&](std::size_t) {
            for (std::size_t q = next_query++; q < end; q = next_query++) {
                Nearest& nearest = (*tiles[0])[q - begin];
                for (std::size_t worker = 1; worker < plan.n_threads; ++worker)
                    if (tiles[worker]) nearest.merge((*tiles[worker])[q - begin]);
                results.finish(nearest, request.k, q, bounds[q - begin]);
            }
        });
    }
}

void search(const Kernel& kernel, const TopKRequest& request, bool sampled, Results& results,
            Interrupt& interrupt) {
    // What a thread keeps for its tile stays within 32 MB as long as one query allows it.
    const std::size_t per_query = sizeof(Candidate) * Nearest::capacity_for(request.k, request.codes.n) +
                                  sizeof(std::uint32_t) * 8 * request.codes.code_bytes;
    // With bit planes it takes time to prepare a block. Threads that share the rows prepare it once, but then many
    // neighbours have to be merged.
    const bool sliced = can_slice(kernel, request.codes, request.queries.n);
    const std::size_t queries_per_thread = sliced && request.k < kManyNeighbours ? 256 : 32;
    const Plan plan = make_plan(request.codes, request.queries.n, request.n_threads,
                                (std::size_t{32} << 20) / per_query, queries_per_thread);
    const auto run = [&](auto by_queries, auto by_rows) {
        (plan.by_query ? by_queries : by_rows)(kernel, request, plan, sampled, results, interrupt);
    };
    if (can_slice(kernel, request.codes, std::min(plan.tile, request.queries.n)))
        run(by_query<SlicedTile>, by_row<SlicedTile>);
    else if (request.codes.narrow())
        run(by_query<Tile<std::uint8_t>>, by_row<Tile<std::uint8_t>>);
    else
        run(by_query<Tile<std::uint16_t>>, by_row<Tile<std::uint16_t>>);
}

// Searches again, without first bounds, what a misleading sample made fail.
void search_failed(const Kernel& kernel, const TopKRequest& request, Results& results, Interrupt& interrupt) {
    const std::size_t width = request.codes.code_bytes, k = request.k;
    std::vector<std::size_t> which;
    std::vector<std::uint8_t> queries;
    for (std::size_t q = 0; q < request.queries.n; ++q)
        if (results.failed[q]) {
            which.push_back(q);
            queries.insert(queries.end(), request.queries.row(q), request.queries.row(q) + width);
        }
    if (which.empty()) return;
    std::vector<std::int64_t> rows(which.size() * k);
    std::vector<std::uint16_t> distances(rows.size());
    TopKRequest again = request;
    again.queries = {queries.data(), which.size(), width};
    Results found{rows.data(), distances.data(), std::vector<std::uint8_t>(which.size())};
    search(kernel, again, false, found, interrupt);
    for (std::size_t i = 0; i < which.size(); ++i) {
        std::copy_n(rows.data() + i * k, k, results.rows + which[i] * k);
        std::copy_n(distances.data() + i * k, k, results.distances + which[i] * k);
    }
}

}  // namespace

bool top_k(const Kernel& kernel, const TopKRequest& request, std::int64_t* rows, std::uint16_t* distances,
           Interrupt& interrupt) {
    if (request.k == 0 || request.queries.n == 0) return true;
    Results results{rows, distances, std::vector<std::uint8_t>(request.queries.n)};
    search(kernel, request, can_sample(request), results, interrupt);
    if (!interrupt.stopped()) search_failed(kernel, request, results, interrupt);
    return !interrupt.stopped();
}

}  // namespace diffhash
