#include "binning.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

namespace diffhash {
namespace {

// Rows that are binned together: their values stay in the first cache while every column is read.
constexpr std::size_t kTile = 64;

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
                const Real* column = r.values + bit;
                std::uint8_t* bins = r.bins + bit * r.n_rows;
                for (std::size_t row = begin; row < end; ++row) {
                    Real position = (column[row * r.n_bits] - first) * inverse;
                    position += Real{1};
                    bins[row] = static_cast<std::uint8_t>(std::min(std::max(position, Real{0}), last));
                }
                if (own == begin) continue;
                Real* smallest = low.data() + bit * r.n_bins;
                Real* largest = high.data() + bit * r.n_bins;
                for (std::size_t row = begin; row < own; ++row) {
                    const Real value = column[row * r.n_bits];
                    const std::uint8_t bin = bins[row];
                    smallest[bin] = std::min(smallest[bin], value);
                    largest[bin] = std::max(largest[bin], value);
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

template bool bin_values<float>(const BinRequest<float>&, Interrupt&);
template bool bin_values<double>(const BinRequest<double>&, Interrupt&);

}  // namespace diffhash
