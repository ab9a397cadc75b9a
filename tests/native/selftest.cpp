// Compares every kernel that was compiled in with naive loops; no Python, so that it runs under
// sanitizers and emulators. Prints what it ran; exits with 1 at the first difference.
#include <bitset>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "bit_slices.hpp"
#include "distance_table.hpp"
#include "first_bound.hpp"
#include "join.hpp"
#include "nearest.hpp"
#include "top_k.hpp"
#include "within.hpp"

using namespace diffhash;

namespace {

std::mt19937_64 random_bits(20260101);
std::size_t checks = 0;

void expect(bool holds, const Kernel& kernel, const char* what, std::size_t code_bytes, std::size_t n,
            std::size_t k) {
    ++checks;
    if (holds) return;
    std::printf("FAILED: %s, %s, %zu bytes a code, n = %zu, k = %zu\n", kernel.name, what, code_bytes, n, k);
    std::exit(1);
}

// Few different codes, so that there are ties everywhere.
std::vector<std::uint8_t> make_codes(std::size_t n, std::size_t code_bytes, bool ties) {
    std::vector<std::uint8_t> codes(n * code_bytes);
    for (auto& byte : codes) byte = static_cast<std::uint8_t>(random_bits());
    if (ties)
        for (std::size_t i = 5 * code_bytes; i < codes.size(); ++i)
            codes[i] = static_cast<std::uint8_t>(codes[i % (5 * code_bytes)] ^ (random_bits() % 8 == 0));
    return codes;
}

unsigned naive_distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t code_bytes) {
    unsigned distance = 0;
    for (std::size_t i = 0; i < code_bytes; ++i)
        for (unsigned x = a[i] ^ b[i]; x; x &= x - 1) ++distance;
    return distance;
}

struct Problem {
    std::vector<std::uint8_t> code_bytes_, query_bytes_, filter_bytes_;
    std::vector<std::int64_t> id_values_;
    Codes codes, queries;
    Filter filter;
    const std::int64_t* ids = nullptr;
    std::vector<std::vector<Candidate>> sorted;  // per query: all allowed rows by (distance, id)

    // `near_sample`: so many rows of the sample (first_bound.hpp) are equal to one of the first three queries.
    Problem(std::size_t n, std::size_t q, std::size_t width, bool ties, bool filtered, bool shuffled,
            std::size_t near_sample = 0)
        : code_bytes_(make_codes(n, width, ties)), query_bytes_(make_codes(q, width, ties)) {
        for (std::size_t i = 0; ties && i < query_bytes_.size(); ++i)
            query_bytes_[i] = code_bytes_[i % code_bytes_.size()];
        for (std::size_t i = 0; i < near_sample; ++i)
            std::copy_n(query_bytes_.data() + i % 3 * width, width, code_bytes_.data() + sample_row(i, n) * width);
        codes = {code_bytes_.data(), n, width};
        queries = {query_bytes_.data(), q, width};
        if (filtered) {
            filter_bytes_.resize((n + 7) / 8);
            for (std::size_t r = 0; r < n; ++r)
                if (r % 64 < 32 && random_bits() % 3)
                    filter_bytes_[r / 8] |= static_cast<std::uint8_t>(1 << r % 8);
            filter.bits = filter_bytes_.data();
        }
        if (shuffled) {
            id_values_.resize(n);
            std::iota(id_values_.begin(), id_values_.end(), -10);
            std::shuffle(id_values_.begin(), id_values_.end(), random_bits);
            ids = id_values_.data();
        }
        for (std::size_t i = 0; i < q; ++i) {
            std::vector<Candidate> all;
            for (std::size_t r = 0; r < n; ++r)
                if (!filter.bits || filter.allows(r))
                    all.push_back(make_candidate(naive_distance(queries.row(i), codes.row(r), width), r));
            std::sort(all.begin(), all.end(), [this](Candidate a, Candidate b) {
                if (distance_of(a) != distance_of(b)) return distance_of(a) < distance_of(b);
                return ids ? ids[row_of(a)] < ids[row_of(b)] : row_of(a) < row_of(b);
            });
            sorted.push_back(std::move(all));
        }
    }
};

void check_top_k(const Kernel& kernel, const Problem& p, std::size_t n_threads) {
    const std::size_t reachable = p.sorted.empty() ? 0 : p.sorted[0].size(), width = p.codes.code_bytes;
    for (const std::size_t wanted : {std::size_t{1}, std::size_t{7}, reachable / 100, reachable / 2, reachable}) {
        const std::size_t k = std::min(wanted, reachable);
        if (!k) continue;
        std::vector<std::int64_t> rows(p.queries.n * k + 1);
        std::vector<std::uint16_t> distances(rows.size());
        Interrupt interrupt(nullptr);
        bool same = top_k(kernel, {p.codes, p.queries, k, p.filter, p.ids, n_threads}, rows.data(),
                          distances.data(), interrupt);
        for (std::size_t i = 0; i < p.queries.n * k; ++i)
            same = same &&
                   make_candidate(distances[i], static_cast<std::size_t>(rows[i])) == p.sorted[i / k][i % k];
        expect(same, kernel, "top_k", width, p.codes.n, k);
    }
}

void check_search(const Kernel& kernel, const Problem& p, std::size_t n_threads) {
    const std::size_t width = p.codes.code_bytes;
    check_top_k(kernel, p, n_threads);
    for (const unsigned radius : {0u, static_cast<unsigned>(3 * width), static_cast<unsigned>(8 * width)}) {
        WithinResult result;
        Interrupt interrupt(nullptr);
        bool same =
            within(kernel, {p.codes, p.queries, radius, p.filter, p.ids, n_threads}, result, interrupt);
        for (std::size_t q = 0; q < p.queries.n; ++q) {
            std::size_t at = static_cast<std::size_t>(result.offsets[q]);
            for (const Candidate c : p.sorted[q]) {
                if (distance_of(c) > radius) break;
                same = same && at < result.rows.size() &&
                       make_candidate(result.distances[at], static_cast<std::size_t>(result.rows[at])) == c;
                ++at;
            }
            same = same && at == static_cast<std::size_t>(result.offsets[q + 1]);
        }
        expect(same, kernel, "within", width, p.codes.n, radius);
    }
}

// The smallest problems that are scored in bit planes, for each number of words and of bytes in the last one.
void check_slices(const Kernel& kernel, bool brief) {
    for (std::size_t width = 1; width <= 122; width += width < 34 || width > 118 ? 1 : 7) {
        for (int variant = 0; variant < 4; ++variant) {
            const std::size_t n = kSliceRows + (variant == 2 ? 900 : variant * (width % 9));
            const Problem p(n, kMinSlicedQueries + width % 3, width, variant != 0, variant == 2, variant == 3);
            if (kernel.slices)
                expect(can_slice(kernel, p.codes, p.queries.n) == (width <= 120), kernel, "can_slice", width, n, 0);
            check_top_k(kernel, p, 1);
        }
        if (brief && width == 34) return;
    }
    // Shared between threads, by rows and by queries.
    for (const std::size_t q : {20u, 140u})
        for (int variant = 0; variant < 4 && !brief; ++variant)
            check_top_k(kernel, Problem(9000, q, 16, variant != 0, variant == 2, variant == 3), 4);
}

// First bounds from a sample that represents the rows, and from one that does not.
void check_sample(const Kernel& kernel, bool brief) {
    for (const std::size_t q : {9u, 17u})
        for (const std::size_t near : {0u, 900u})
            for (const bool shuffled : {false, true}) {
                if (brief && (q > 9 || !near)) continue;
                const Problem p(70000, q, 5, false, false, shuffled, near);
                const TopKRequest request{p.codes, p.queries, 700, p.filter, p.ids, 1};
                expect(can_sample(request), kernel, "can_sample", 5, 70000, 700);
                check_top_k(kernel, p, shuffled ? 4 : 1);
            }
}

// Rows in two buckets, with a mask that says nothing: all pairs of each bucket, once, in batches of any size.
void check_join(const Kernel& kernel, const Problem& p, std::size_t n_threads) {
    const std::size_t n = p.codes.n, width = p.codes.code_bytes, middle = n / 3;
    std::vector<std::int64_t> first(n), last(n);
    for (std::size_t r = 0; r < n; ++r) {
        first[r] = static_cast<std::int64_t>(r + 1);
        last[r] = static_cast<std::int64_t>(r < middle ? middle : n);
    }
    const std::vector<std::uint8_t> mask(width);
    // All pairs of many codes would take too much memory here.
    const auto wide = static_cast<unsigned>(n > 1000 ? 2 * width : 8 * width);
    for (const unsigned radius : {0u, static_cast<unsigned>(2 * width), wide})
        for (const std::size_t limit : {std::size_t{50}, std::size_t{1} << 20}) {
            std::vector<std::vector<std::int64_t>> found, expected;
            JoinRequest request{p.codes, p.codes,  first.data(),           last.data(), {{0, n}},
                                radius,  {mask.data(), 1, width}, limit, n_threads};
            while (!request.todo.empty()) {
                JoinResult result;
                Interrupt interrupt(nullptr);
                join(kernel, request, result, interrupt);
                for (std::size_t i = 0; i < result.size(); ++i)
                    found.push_back({result.left[i], result.right[i], result.distances[i]});
                request.todo = result.rest;
            }
            for (std::size_t r = 0; r < n; ++r)
                for (std::int64_t s = first[r]; s < last[r]; ++s) {
                    const unsigned d = naive_distance(p.codes.row(r), p.codes.row(static_cast<std::size_t>(s)), width);
                    if (d <= radius) expected.push_back({static_cast<std::int64_t>(r), s, d});
                }
            std::sort(found.begin(), found.end());
            expect(found == expected, kernel, "join", width, n, radius);
        }
}

void check_table(const Kernel& kernel, const Problem& p, std::size_t n_threads) {
    const std::size_t bins = 8 * p.codes.code_bytes + 1, n = p.codes.n;
    std::vector<std::int64_t> starts{0};
    std::vector<std::uint64_t> labels, query_labels;
    while (starts.back() < static_cast<std::int64_t>(n)) {
        starts.push_back(
            std::min<std::int64_t>(static_cast<std::int64_t>(n),
                                   starts.back() + 1 + static_cast<std::int64_t>(random_bits() % 150)));
        labels.push_back(random_bits() % 8);
        labels.push_back(random_bits() % 2);
    }
    for (std::size_t i = 0; i < 2 * p.queries.n; ++i) query_labels.push_back(random_bits() % (i % 2 ? 2 : 8));
    for (const auto& [any_bit, grades] : {std::pair<bool, std::size_t>{false, 2}, {true, 2}, {true, 4}}) {
        std::vector<std::int64_t> table(p.queries.n * bins * grades), expected(table.size());
        for (std::size_t q = 0; q < p.queries.n; ++q)
            for (std::size_t run = 0; run + 1 < starts.size(); ++run)
                for (std::int64_t r = starts[run]; r < starts[run + 1]; ++r) {
                    const std::uint64_t *a = &query_labels[2 * q], *b = &labels[2 * run];
                    const std::size_t shared =
                        std::bitset<64>(a[0] & b[0]).count() + std::bitset<64>(a[1] & b[1]).count();
                    const std::size_t grade =
                        any_bit ? std::min(shared, grades - 1) : a[0] == b[0] && a[1] == b[1];
                    const unsigned d = naive_distance(
                        p.queries.row(q), p.codes.row(static_cast<std::size_t>(r)), p.codes.code_bytes);
                    ++expected[(q * bins + d) * grades + grade];
                }
        Interrupt interrupt(nullptr);
        const bool done = distance_table(kernel,
                                         {p.codes, p.queries, starts.data(), starts.size() - 1, labels.data(),
                                          query_labels.data(), 2, any_bit, grades, n_threads},
                                         table.data(), interrupt);
        expect(done && table == expected, kernel, "distance_table", p.codes.code_bytes, n, any_bit);
    }
}

template <class Real, class Pack>
void check_pack(const Kernel& kernel, Pack pack) {
    const Real special[] = {Real(0), -Real(0), std::numeric_limits<Real>::quiet_NaN(),
                            -std::numeric_limits<Real>::infinity(), std::numeric_limits<Real>::denorm_min()};
    for (const std::size_t n_bits : {1u, 7u, 8u, 9u, 16u, 17u, 31u, 64u, 100u}) {
        const std::size_t rows = 5, width = (n_bits + 7) / 8;
        std::vector<Real> values(rows * n_bits);
        for (auto& v : values)
            v = random_bits() % 4 ? static_cast<Real>(static_cast<int>(random_bits() % 9) - 4)
                                  : special[random_bits() % 5];
        std::vector<std::uint8_t> codes(rows * width, 0xAA), expected(rows * width);
        std::vector<Real> thresholds(n_bits);
        for (auto& t : thresholds) t = static_cast<Real>(static_cast<int>(random_bits() % 3) - 1);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] >= thresholds[i % n_bits])
                expected[i / n_bits * width + i % n_bits / 8] |=
                    static_cast<std::uint8_t>(1 << i % n_bits % 8);
        pack(values.data(), rows, n_bits, thresholds.data(), codes.data());
        expect(codes == expected, kernel, "pack", n_bits, rows, sizeof(Real));
    }
}

void check_interrupt(const Kernel& kernel) {
    for (const std::size_t q : {3u, 20u}) {
        const Problem p(5000, q, 8, false, false, false);
        for (const std::size_t n_threads : {1u, 3u}) {
            Interrupt interrupt(nullptr);
            interrupt.stop();
            std::vector<std::int64_t> rows(q);
            std::vector<std::uint16_t> distances(q);
            const bool finished = top_k(kernel, {p.codes, p.queries, 1, {}, nullptr, n_threads}, rows.data(),
                                        distances.data(), interrupt);
            expect(!finished, kernel, "interrupt", 8, 5000, n_threads);
        }
    }
}

}  // namespace

int main(int argc, char**) {
    const bool brief = argc > 1;  // emulators are slow
    for (const Kernel* const* level = available_kernels(); *level; ++level) {
        const Kernel& kernel = **level;
        for (const std::size_t width : {1u,  2u,  3u,  4u,  5u,  7u,  8u,  9u,  12u, 15u,  16u,
                                        17u, 24u, 29u, 31u, 32u, 33u, 40u, 63u, 64u, 100u, 512u})
            for (const std::size_t n : {1u, 31u, 64u, 65u, 130u, 1500u}) {
                if (brief && n == 1500u && width > 33) continue;
                for (int variant = 0; variant < 4; ++variant) {
                    const Problem p(n, std::size_t{1} + (width + n) % 6, width, variant != 0, variant == 2,
                                    variant == 3);
                    check_search(kernel, p, 1);
                    if (variant == 0) check_table(kernel, p, 1);
                    if (variant < 2 && n < 1000) check_join(kernel, p, 1);
                }
            }
        // Large enough to be shared between threads, by rows and by queries.
        for (const std::size_t q : {1u, 5u, 140u}) {
            if (brief && q > 5) continue;
            for (int variant = 0; variant < 4; ++variant) {
                const Problem p(q == 140 ? 6000 : 300000 / q, q, q == 140 ? 40 : 24, variant != 0,
                                variant == 2, variant == 3);
                check_search(kernel, p, 4);
                if (variant == 0) check_table(kernel, p, 4);
            }
        }
        check_slices(kernel, brief);
        check_sample(kernel, brief);
        check_join(kernel, Problem(6000, 0, 8, false, false, false), 4);
        check_pack<float>(kernel, kernel.pack32);
        check_pack<double>(kernel, kernel.pack64);
        check_interrupt(kernel);
        std::printf("%s: the same as naive loops\n", kernel.name);
    }
    std::printf("%zu comparisons\n", checks);
}
