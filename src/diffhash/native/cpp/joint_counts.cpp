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

// Bits that are counted together. The additions of one bit need not wait for those of another one, which matters
// because most pairs of a fine grid are in the same few cells.
constexpr std::size_t kTogether = 4;

// For each row one word, with `factor` times the interval of each bit in 16 bits; bits that are missing have 0.
void interleave(const std::uint8_t* bins, std::size_t n_rows, std::size_t n_bits, std::uint64_t factor,
                std::uint64_t* words) {
    std::fill_n(words, n_rows, 0);
    for (std::size_t bit = 0; bit < n_bits; ++bit)
        for (std::size_t row = 0; row < n_rows; ++row)
            words[row] |= factor * bins[bit * n_rows + row] << (16 * bit);
}

bool count_together(const JointRequest& r, std::int64_t* result, Interrupt& interrupt) {
    const std::size_t n_cells = r.n_bins * r.n_bins;
    const std::size_t n_parts = (r.n_bits + kTogether - 1) / kTogether;
    const std::size_t n_workers = std::min(r.n_threads, n_parts);
    run_threads(n_workers, interrupt, [&](std::size_t worker) {
        std::vector<std::uint32_t> cells(kTogether * n_cells);
        std::vector<std::uint64_t> words_x(r.n_x), words_y(r.n_y);
        std::uint32_t *c0 = cells.data(), *c1 = c0 + n_cells, *c2 = c1 + n_cells, *c3 = c2 + n_cells;
        for (std::size_t part = worker; part < n_parts; part += n_workers) {
            const std::size_t first = part * kTogether, n_bits = std::min(kTogether, r.n_bits - first);
            interleave(r.x + first * r.n_x, r.n_x, n_bits, r.n_bins, words_x.data());
            interleave(r.y + first * r.n_y, r.n_y, n_bits, 1, words_y.data());
            std::fill(cells.begin(), cells.end(), 0);
            for (std::size_t start = 0; start < r.n_pairs; start += kStride) {
                if (worker == 0) interrupt.poll();
                if (interrupt.stopped()) return;
                const std::size_t end = std::min(start + kStride, r.n_pairs);
                for (std::size_t p = start; p < end; ++p) {
                    // The cells of all bits in one addition: there are at most 256 * 256, so none overflows.
                    const std::uint64_t at = words_x[r.i[p]] + words_y[r.j[p]];
                    ++c0[at & 0xffff];
                    ++c1[at >> 16 & 0xffff];
                    ++c2[at >> 32 & 0xffff];
                    ++c3[at >> 48];
                }
            }
            std::copy_n(cells.begin(), n_bits * n_cells, result + first * n_cells);
        }
    });
    return !interrupt.stopped();
}

}  // namespace

bool joint_counts(const JointRequest& request, double* sums, Interrupt& interrupt) {
    return count<double>(request, sums, interrupt, [&](std::size_t p) { return request.weights[p]; });
}

bool joint_counts(const JointRequest& request, std::int64_t* counts, Interrupt& interrupt) {
    // With few pairs, making words of all rows takes longer than it saves.
    if (request.n_pairs > (request.n_x + request.n_y) / 2) return count_together(request, counts, interrupt);
    // Half the bytes keep the cells of 64 intervals and the rows of one bit in the first cache.
    return count<std::uint32_t>(request, counts, interrupt, [](std::size_t) { return std::uint32_t{1}; });
}

}  // namespace diffhash
