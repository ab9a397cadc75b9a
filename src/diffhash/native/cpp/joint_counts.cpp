#include "joint_counts.hpp"

#include <algorithm>
#include <vector>

namespace diffhash {
namespace {

// Number of pairs between two checks of the interrupt flag.
constexpr std::size_t kStride = 1 << 20;

template <class Cell, class Result, class Weight>
bool count(const JointRequest& r, Result* result, Interrupt& interrupt, const Weight& weight) {
    const std::size_t n_cells = r.n_bins * r.n_bins;
    run_threads(std::min(r.n_threads, r.n_bits), interrupt, [&](std::size_t worker) {
        const std::size_t n_workers = std::min(r.n_threads, r.n_bits);
        std::vector<Cell> cells(n_cells);
        for (std::size_t bit = worker; bit < r.n_bits; bit += n_workers) {
            const std::uint8_t* x = r.x + bit * r.n_x;
            const std::uint8_t* y = r.y + bit * r.n_y;
            std::fill(cells.begin(), cells.end(), Cell{0});
            for (std::size_t start = 0; start < r.n_pairs; start += kStride) {
                if (worker == 0) interrupt.poll();
                if (interrupt.stopped()) return;
                const std::size_t end = std::min(start + kStride, r.n_pairs);
                for (std::size_t p = start; p < end; ++p) cells[x[r.i[p]] * r.n_bins + y[r.j[p]]] += weight(p);
            }
            std::copy(cells.begin(), cells.end(), result + bit * n_cells);
        }
    });
    return !interrupt.stopped();
}

}  // namespace

bool joint_counts(const JointRequest& request, double* sums, Interrupt& interrupt) {
    return count<double>(request, sums, interrupt, [&](std::size_t p) { return request.weights[p]; });
}

bool joint_counts(const JointRequest& request, std::int64_t* counts, Interrupt& interrupt) {
    // Half the bytes keep the cells of 64 intervals and the rows of one bit in the first cache.
    return count<std::uint32_t>(request, counts, interrupt, [](std::size_t) { return std::uint32_t{1}; });
}

}  // namespace diffhash
