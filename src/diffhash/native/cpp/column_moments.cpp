#include "column_moments.hpp"

#include <algorithm>
#include <vector>

namespace diffhash {
namespace {

// Rows that are summed together in the type of the values. The version in NumPy has the same number, so that both round
// alike; only a single column is added in another order there.
constexpr std::size_t kFewRows = 256;

template <class Real>
void add_sums(const Real* __restrict row, const Real* __restrict shift, std::size_t n, Real* __restrict sums) {
    for (std::size_t c = 0; c < n; ++c) sums[c] += row[c] - shift[c];
}

template <class Real>
void add_moments(const Real* __restrict row, const Real* __restrict shift, std::size_t n, Real* __restrict sums,
                 Real* __restrict squares, Real* __restrict low, Real* __restrict high) {
    for (std::size_t c = 0; c < n; ++c) {
        const Real value = row[c], apart = value - shift[c];
        sums[c] += apart;
        squares[c] += apart * apart;
        low[c] = value < low[c] ? value : low[c];
        high[c] = value > high[c] ? value : high[c];
    }
}

}  // namespace

template <class Real>
void column_moments(const ColumnRequest<Real>& r) {
    const std::size_t n = r.n_columns;
    std::vector<Real> sums(n), squares(r.squares ? n : 0);
    for (std::size_t begin = 0; begin < r.n_rows; begin += kFewRows) {
        const std::size_t end = std::min(begin + kFewRows, r.n_rows);
        std::fill(sums.begin(), sums.end(), Real{0});
        std::fill(squares.begin(), squares.end(), Real{0});
        for (std::size_t row = begin; row < end; ++row) {
            const Real* values = r.values + row * n;
            if (r.squares)
                add_moments(values, r.shift, n, sums.data(), squares.data(), r.low, r.high);
            else
                add_sums(values, r.shift, n, sums.data());
        }
        for (std::size_t c = 0; c < n; ++c) r.total[c] += sums[c];
        for (std::size_t c = 0; c < squares.size(); ++c) r.squares[c] += squares[c];
    }
}

template void column_moments<float>(const ColumnRequest<float>&);
template void column_moments<double>(const ColumnRequest<double>&);

}  // namespace diffhash
