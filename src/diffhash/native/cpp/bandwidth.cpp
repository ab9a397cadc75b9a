// Reads memory and does almost nothing with it. Benchmarks compare the scan with it.
#include "bandwidth.hpp"

#include "plain.hpp"

namespace diffhash {

std::uint64_t read_all(const std::uint8_t* data, std::size_t bytes, bool prefetch, std::size_t n_threads) {
    std::vector<std::uint64_t> sums(n_threads);
    const std::size_t share = bytes / n_threads / 64 * 64;
    Interrupt interrupt(nullptr);
    run_threads(n_threads, interrupt, [&](std::size_t worker) {
        const std::uint8_t* part = data + worker * share;
        std::uint64_t lanes[8] = {};
        for (std::size_t i = 0; i < share; i += 64) {
            if (prefetch) DIFFHASH_PREFETCH(part + i + kPrefetchBytes);
            for (int lane = 0; lane < 8; ++lane) lanes[lane] ^= load_word(part + i + 8 * lane);
        }
        for (const std::uint64_t lane : lanes) sums[worker] ^= lane;
    });
    std::uint64_t sum = 0;
    for (const std::uint64_t part : sums) sum ^= part;
    return sum;
}

}  // namespace diffhash
