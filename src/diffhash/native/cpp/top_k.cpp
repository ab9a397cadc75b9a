#include "top_k.hpp"

#include "nearest.hpp"

namespace diffhash {
namespace {

// The nearest rows of a tile of queries, as one thread sees them.
template <class Distance>
class Tile {
public:
    Tile(const Kernel& kernel, const TopKRequest& request, std::size_t begin, std::size_t end)
        : scanner_(kernel, request.codes, request.filter, request.queries, begin, end),
          positions_(scanner_.rows_per_block()) {
        const auto n_bits = static_cast<unsigned>(8 * request.codes.code_bytes);
        const std::size_t capacity = Nearest::capacity_for(request.k, request.codes.n);
        nearest_.reserve(end - begin);
        for (std::size_t q = begin; q < end; ++q)
            nearest_.emplace_back(request.k, capacity, n_bits, request.ids);
        limits_.assign(end - begin, static_cast<int>(n_bits) + 1);
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

template <class Distance>
void by_query(const Kernel& kernel, const TopKRequest& request, const Plan& plan, std::int64_t* rows,
              std::uint16_t* distances, Interrupt& interrupt) {
    std::atomic<std::size_t> next{0};
    run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
        while (!interrupt.stopped()) {
            const std::size_t begin = next.fetch_add(plan.tile);
            if (begin >= request.queries.n) return;
            const std::size_t end = std::min(begin + plan.tile, request.queries.n);
            Tile<Distance> tile(kernel, request, begin, end);
            tile.scan(0, request.codes.n, interrupt, worker == 0);
            if (interrupt.stopped()) return;
            for (std::size_t q = begin; q < end; ++q)
                tile[q - begin].finish(true, rows + q * request.k, distances + q * request.k);
        }
    });
}

template <class Distance>
void by_row(const Kernel& kernel, const TopKRequest& request, const Plan& plan, std::int64_t* rows,
            std::uint16_t* distances, Interrupt& interrupt) {
    // Small enough that the other threads can take over the work of a slow one.
    const std::size_t share = round_up(request.codes.n / (8 * plan.n_threads) + 1, 1024);
    for (std::size_t begin = 0; begin < request.queries.n && !interrupt.stopped(); begin += plan.tile) {
        const std::size_t end = std::min(begin + plan.tile, request.queries.n);
        std::atomic<std::size_t> next{0};
        std::vector<std::unique_ptr<Tile<Distance>>> tiles(plan.n_threads);
        run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
            auto& tile = tiles[worker];
            tile = std::make_unique<Tile<Distance>>(kernel, request, begin, end);
            // A thread's shares come in increasing order, which is all that its ties need.
            for (std::size_t row = next.fetch_add(share); row < request.codes.n && !interrupt.stopped();
                 row = next.fetch_add(share))
                tile->scan(row, std::min(row + share, request.codes.n), interrupt, worker == 0);
        });
        if (interrupt.stopped()) return;
        for (std::size_t q = begin; q < end; ++q) {
            Nearest& nearest = (*tiles[0])[q - begin];
            for (std::size_t worker = 1; worker < plan.n_threads; ++worker)
                if (tiles[worker]) nearest.add((*tiles[worker])[q - begin].candidates());
            nearest.finish(false, rows + q * request.k, distances + q * request.k);
        }
    }
}

}  // namespace

bool top_k(const Kernel& kernel, const TopKRequest& request, std::int64_t* rows, std::uint16_t* distances,
           Interrupt& interrupt) {
    if (request.k == 0 || request.queries.n == 0) return true;
    // What a thread keeps for its tile stays within 32 MB as long as one query allows it.
    const std::size_t per_query = sizeof(Candidate) * Nearest::capacity_for(request.k, request.codes.n) +
                                  sizeof(std::uint32_t) * 8 * request.codes.code_bytes;
    const Plan plan =
        make_plan(request.codes, request.queries.n, request.n_threads, (std::size_t{32} << 20) / per_query);
    const auto run = plan.by_query
                         ? (request.codes.narrow() ? by_query<std::uint8_t> : by_query<std::uint16_t>)
                         : (request.codes.narrow() ? by_row<std::uint8_t> : by_row<std::uint16_t>);
    run(kernel, request, plan, rows, distances, interrupt);
    return !interrupt.stopped();
}

}  // namespace diffhash
