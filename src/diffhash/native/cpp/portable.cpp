// The level that runs everywhere: 64-bit words and a population count in plain C++.
#include "kernel.hpp"
#include "plain.hpp"

namespace diffhash {
namespace {

template <int WORDS, class Distance>
void score(const std::uint8_t* planes, std::size_t rows, std::size_t runtime_words, const std::uint8_t* table,
           Distance* out, unsigned* minimum) {
    const std::size_t words = WORDS ? WORDS : runtime_words;
    unsigned least = ~0u;
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * 8 * words) {
        std::uint64_t sum[kChunk] = {};
        for (std::size_t w = 0; w < words; ++w) {
            const std::uint64_t query = load_word(table + 8 * w);
            for (std::size_t r = 0; r < kChunk; ++r)
                sum[r] += popcount(load_word(planes + 8 * (w * kChunk + r)) ^ query);
        }
        for (std::size_t r = 0; r < kChunk; ++r) {
            const unsigned d = static_cast<unsigned>(sum[r]);
            out[start + r] = static_cast<Distance>(d);
            least = d < least ? d : least;
        }
    }
    *minimum = least;
}

template <class Distance>
void distances(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
               const std::uint8_t* table, Distance* const* out, unsigned* minimum) {
    switch ((code_bytes + 7) / 8) {
        case 1:
            return score<1>(planes, rows, 1, table, out[0], minimum);
        case 2:
            return score<2>(planes, rows, 2, table, out[0], minimum);
        default:
            return score<0>(planes, rows, (code_bytes + 7) / 8, table, out[0], minimum);
    }
}

const Kernel kernel = {
    "portable",
    1,
    word_plane_bytes,
    word_plane_bytes,
    prepare_query_words,
    prepare_word_planes,
    distances<std::uint8_t>,
    distances<std::uint16_t>,
    nullptr,
    nullptr,
    select_plain<std::uint8_t>,
    select_plain<std::uint16_t>,
    pack_plain<float>,
    pack_plain<double>,
    nullptr,
};

}  // namespace

const Kernel* portable_kernel() { return &kernel; }

}  // namespace diffhash
