#include "error_shares.hpp"

#include <algorithm>
#include <vector>

namespace diffhash {
namespace {

// Sums over all cells that are below both thresholds or in their row and column.
template <class Count>
void sum_below(const Count* counts, std::size_t n_bins, Count* column_sums, Count* below) {
    std::fill_n(column_sums, n_bins, Count{0});
    for (std::size_t u = 0; u < n_bins; ++u) {
        Count sum{0};
        for (std::size_t v = 0; v < n_bins; ++v) {
            column_sums[v] += counts[u * n_bins + v];
            sum += column_sums[v];
            below[u * n_bins + v] = sum;
        }
    }
}

}  // namespace

template <class Count>
void error_shares(const ErrorRequest<Count>& r) {
    const std::size_t n = r.n_bins, n_cells = n * n, n_edges = n - 1;
    std::vector<Count> columns(n), positive(n_cells), negative(n_cells);
    for (std::size_t bit = 0; bit < r.n_bits; ++bit) {
        sum_below(r.positive + bit * n_cells, n, columns.data(), positive.data());
        sum_below(r.negative + bit * n_cells, n, columns.data(), negative.data());
        const Count *p_end = positive.data() + n_edges * n, *n_end = negative.data() + n_edges * n;
        const Count p_total = p_end[n_edges], n_total = n_end[n_edges];
        // Without pairs every share is 0.
        const double p_all = p_total > 0 ? static_cast<double>(p_total) : 1.0;
        const double n_all = n_total > 0 ? static_cast<double>(n_total) : 1.0;
        double* costs = r.costs + bit * n_edges * n_edges;
        for (std::size_t u = 0; u < n_edges; ++u) {
            const Count *p = positive.data() + u * n, *q = negative.data() + u * n;
            for (std::size_t v = 0; v < n_edges; ++v) {
                const Count p_agree = 2 * p[v] + p_total - p[n_edges] - p_end[v];
                const Count q_agree = 2 * q[v] + n_total - q[n_edges] - n_end[v];
                costs[u * n_edges + v] = r.miss_weight * (static_cast<double>(p_total - p_agree) / p_all) +
                                         static_cast<double>(q_agree) / n_all;
            }
        }
    }
}

template void error_shares<double>(const ErrorRequest<double>&);
template void error_shares<std::int64_t>(const ErrorRequest<std::int64_t>&);

}  // namespace diffhash
