#include "within.hpp"

#include "nearest.hpp"

namespace diffhash {
namespace {

using Found = std::vector<std::vector<Candidate>>;  // by query

template <class Distance>
void scan_tile(const Kernel& kernel, const WithinRequest& request, std::size_t begin, std::size_t end,
               std::atomic<std::size_t>& next, std::size_t share, Found& found, Interrupt& interrupt,
               bool caller) {
    Scanner<Distance> scanner(kernel, request.codes, request.filter, request.queries, begin, end);
    std::vector<std::uint32_t> positions(scanner.rows_per_block());
    const auto visit = [&](std::size_t q, const Block& block, const Distance* distances, unsigned minimum) {
        if (minimum > request.radius) return;
        const std::size_t count = scanner.select(distances, block.count, request.radius, positions.data());
        for (std::size_t i = 0; i < count; ++i)
            found[begin + q].push_back(make_candidate(distances[positions[i]], block.row(positions[i])));
    };
    for (std::size_t row = next.fetch_add(share); row < request.codes.n && !interrupt.stopped();
         row = next.fetch_add(share))
        scanner.scan(row, std::min(row + share, request.codes.n), interrupt, caller, visit);
}

// For rows that come in order, as one thread finds them: stable, and linear.
void sort_by_distance(std::vector<Candidate>& all, unsigned radius) {
    std::vector<std::size_t> start(radius + 2);
    for (const Candidate c : all) ++start[distance_of(c) + 1];
    for (std::size_t d = 1; d < start.size(); ++d) start[d] += start[d - 1];
    std::vector<Candidate> sorted(all.size());
    for (const Candidate c : all) sorted[start[distance_of(c)]++] = c;
    all.swap(sorted);
}

template <class Distance>
void collect(const Kernel& kernel, const WithinRequest& request, const Plan& plan, std::vector<Found>& found,
             Interrupt& interrupt) {
    if (plan.by_query) {
        std::atomic<std::size_t> next_query{0};
        run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
            while (!interrupt.stopped()) {
                const std::size_t begin = next_query.fetch_add(plan.tile);
                if (begin >= request.queries.n) return;
                const std::size_t end = std::min(begin + plan.tile, request.queries.n);
                std::atomic<std::size_t> next{0};
                scan_tile<Distance>(kernel, request, begin, end, next, request.codes.n, found[0], interrupt,
                                    worker == 0);
            }
        });
        return;
    }
    const std::size_t share = round_up(request.codes.n / (8 * plan.n_threads) + 1, 1024);
    for (std::size_t begin = 0; begin < request.queries.n && !interrupt.stopped(); begin += plan.tile) {
        const std::size_t end = std::min(begin + plan.tile, request.queries.n);
        std::atomic<std::size_t> next{0};
        run_threads(plan.n_threads, interrupt, [&](std::size_t worker) {
            scan_tile<Distance>(kernel, request, begin, end, next, share, found[worker], interrupt,
                                worker == 0);
        });
    }
}

}  // namespace

bool within(const Kernel& kernel, const WithinRequest& request, WithinResult& result, Interrupt& interrupt) {
    const std::size_t n_queries = request.queries.n;
    const Plan plan = make_plan(request.codes, n_queries, request.n_threads, 128);
    std::vector<Found> found(plan.by_query ? 1 : plan.n_threads, Found(n_queries));
    if (request.codes.narrow())
        collect<std::uint8_t>(kernel, request, plan, found, interrupt);
    else
        collect<std::uint16_t>(kernel, request, plan, found, interrupt);
    if (interrupt.stopped()) return false;

    std::size_t total = 0;
    result.offsets.assign(1, 0);
    for (std::size_t q = 0; q < n_queries; ++q) {
        for (const Found& part : found) total += part[q].size();
        result.offsets.push_back(static_cast<std::int64_t>(total));
    }
    result.rows.reserve(total);
    result.distances.reserve(total);
    for (std::size_t q = 0; q < n_queries; ++q) {
        std::vector<Candidate>& all = found[0][q];
        for (std::size_t part = 1; part < found.size(); ++part) {
            all.insert(all.end(), found[part][q].begin(), found[part][q].end());
            std::vector<Candidate>().swap(found[part][q]);
        }
        if (request.ids)
            std::sort(all.begin(), all.end(), [&](Candidate a, Candidate b) {
                const unsigned x = distance_of(a), y = distance_of(b);
                return x != y ? x < y : request.ids[row_of(a)] < request.ids[row_of(b)];
            });
        else if (found.size() > 1)
            std::sort(all.begin(), all.end());
        else
            sort_by_distance(all, request.radius);
        for (const Candidate c : all) {
            result.rows.push_back(static_cast<std::int64_t>(row_of(c)));
            result.distances.push_back(static_cast<std::uint16_t>(distance_of(c)));
        }
        std::vector<Candidate>().swap(all);
    }
    return true;
}

}  // namespace diffhash
