#include "binning.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace diffhash {
namespace {

// Rows that are binned together: their values stay in the first cache while every column is read.
constexpr std::size_t kTile = 64;

// These forms are one instruction each. With std::min and std::max compilers branch, and most of the branches are
// mispredicted on a fine grid, where about half of the values lie on either side of it.
template <class Real>
Real smaller(Real a, Real b) {
    return a < b ? a : b;
}
template <class Real>
Real larger(Real a, Real b) {
    return a > b ? a : b;
}

}  // namespace

template <class Real>
bool bin_values(const BinRequest<Real>& r, Interrupt& interrupt) {
    const std::size_t n_tiles = (r.n_rows + kTile - 1) / kTile;
    const std::size_t n_workers = std::clamp<std::size_t>(n_tiles / 64, 1, r.n_threads);
    const std::size_t n_cells = r.n_bits * r.n_bins;
    const Real last = static_cast<Real>(r.n_bins - 1);
    std::mutex merging;
    run_threads(n_workers, interrupt, [&](std::size_t worker) {
        std::vector<Real> low, high;
        if (r.low) {
            low.assign(n_cells, std::numeric_limits<Real>::infinity());
            high.assign(n_cells, -std::numeric_limits<Real>::infinity());
        }
        const std::size_t end_tile = n_tiles * (worker + 1) / n_workers;
        for (std::size_t tile = n_tiles * worker / n_workers; tile < end_tile; ++tile) {
            if (worker == 0 && tile % 1024 == 0) interrupt.poll();
            if (interrupt.stopped()) return;
            const std::size_t begin = tile * kTile, end = std::min(begin + kTile, r.n_rows);
            const std::size_t own = r.low ? std::clamp(r.n_own, begin, end) : begin;
            for (std::size_t bit = 0; bit < r.n_bits; ++bit) {
                const Real first = r.first[bit], inverse = r.inverse[bit];
                Real column[kTile], positions[kTile];
                for (std::size_t row = begin; row < end; ++row)
                    column[row - begin] = r.values[row * r.n_bits + bit];
                for (std::size_t row = 0; row < end - begin; ++row) {
                    Real position = (column[row] - first) * inverse;
                    position += Real{1};
                    positions[row] = smaller(larger(position, Real{0}), last);
                }
                std::uint8_t* bins = r.bins + bit * r.n_rows + begin;
                for (std::size_t row = 0; row < end - begin; ++row)
                    bins[row] = static_cast<std::uint8_t>(static_cast<std::int32_t>(positions[row]));
                if (own == begin) continue;
                Real* smallest = low.data() + bit * r.n_bins;
                Real* largest = high.data() + bit * r.n_bins;
                for (std::size_t row = 0; row < own - begin; ++row) {
                    const Real value = column[row];
                    const std::uint8_t bin = bins[row];
                    smallest[bin] = smaller(value, smallest[bin]);
                    largest[bin] = larger(value, largest[bin]);
                }
            }
        }
        if (r.low) {
            const std::lock_guard<std::mutex> lock(merging);
            for (std::size_t cell = 0; cell < n_cells; ++cell) {
                r.low[cell] = std::min(r.low[cell], static_cast<double>(low[cell]));
                r.high[cell] = std::max(r.high[cell], static_cast<double>(high[cell]));
            }
        }
    });
    return !interrupt.stopped();
}

void count_bins(const std::uint8_t* bins, std::size_t n_bits, std::size_t n_rows, std::size_t n_own, std::size_t n_bins,
                std::int64_t* counts) {
    // Neighbours are counted in different tables: additions to the same count would wait for one another.
    constexpr std::size_t kTables = 4;
    std::vector<std::int64_t> tables(kTables * 256);
    for (std::size_t bit = 0; bit < n_bits; ++bit) {
        std::fill(tables.begin(), tables.end(), 0);
        const std::uint8_t* column = bins + bit * n_rows;
        std::size_t row = 0;
        for (; row + kTables <= n_own; row += kTables)
            for (std::size_t table = 0; table < kTables; ++table) ++tables[table * 256 + column[row + table]];
        for (; row < n_own; ++row) ++tables[column[row]];
        for (std::size_t bin = 0; bin < n_bins; ++bin)
            counts[bit * n_bins + bin] = tables[bin] + tables[256 + bin] + tables[512 + bin] + tables[768 + bin];
    }
}

template bool bin_values<float>(const BinRequest<float>&, Interrupt&);
template bool bin_values<double>(const BinRequest<double>&, Interrupt&);

}  // namespace diffhash
