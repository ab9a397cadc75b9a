// AVX-512 with VPOPCNTDQ and VBMI: eight codes per instruction, xor and population count.
#include "kernel.hpp"

// Under emulation (tests/native) the compiler has no AVX-512 but the headers of SIMDe stand in for it.
#if defined(DIFFHASH_EMULATED_AVX512)
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#define DIFFHASH_HAVE_AVX512
#elif defined(__AVX512VPOPCNTDQ__) && defined(__AVX512VBMI__) && defined(__AVX512BW__)
#include <immintrin.h>
#define DIFFHASH_HAVE_AVX512
#endif

#if defined(DIFFHASH_HAVE_AVX512)

#if !defined(DIFFHASH_EMULATED_AVX512)
#include "avx512_slices.hpp"
#include "direct64.hpp"
#endif
#include "plain.hpp"

namespace diffhash {
namespace {

using Vector = __m512i;

DIFFHASH_INLINE Vector load(const std::uint8_t* address) { return _mm512_loadu_si512(address); }

// Distances of eight rows, one per 64-bit lane.
template <int WORDS>
DIFFHASH_INLINE Vector eight(const std::uint8_t* plane, const std::uint8_t* table,
                             std::size_t runtime_words) {
    const std::size_t words = WORDS ? WORDS : runtime_words;
    Vector sum = _mm512_setzero_si512();
    for (std::size_t w = 0; w < words; ++w) {
        const Vector query = _mm512_set1_epi64(static_cast<long long>(load_word(table + 8 * w)));
        const Vector ones = _mm512_popcnt_epi64(_mm512_xor_si512(load(plane + 512 * w), query));
        sum = w ? _mm512_add_epi64(sum, ones) : ones;
    }
    return sum;
}

template <int WORDS>
void score8(const std::uint8_t* planes, std::size_t rows, std::size_t runtime_words,
            const std::uint8_t* table, std::uint8_t* out, unsigned* minimum) {
    const std::size_t words = WORDS ? WORDS : runtime_words;
    // Lane r of the v-th vector becomes byte v of lane r; this puts byte 8 r + v at place 8 v + r.
    alignas(64) static const std::uint8_t order[64] = {
        0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
        50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
        37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63};
    const Vector to_rows = load(order);
    Vector least = _mm512_set1_epi8(-1);
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * 8 * words) {
        Vector bytes = eight<WORDS>(planes, table, words);
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 64, table, words), 8));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 128, table, words), 16));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 192, table, words), 24));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 256, table, words), 32));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 320, table, words), 40));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 384, table, words), 48));
        bytes = _mm512_or_si512(bytes, _mm512_slli_epi64(eight<WORDS>(planes + 448, table, words), 56));
        bytes = _mm512_permutexvar_epi8(to_rows, bytes);
        _mm512_storeu_si512(out + start, bytes);
        least = _mm512_min_epu8(least, bytes);
    }
    alignas(64) std::uint8_t lanes[64];
    _mm512_storeu_si512(lanes, least);
    unsigned result = 255;
    for (int i = 0; i < 64; ++i) result = lanes[i] < result ? lanes[i] : result;
    *minimum = result;
}

void distances8(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                const std::uint8_t* table, std::uint8_t* const* out, unsigned* minimum) {
    const std::size_t words = (code_bytes + 7) / 8;
    switch (words) {
        case 1:
            return score8<1>(planes, rows, words, table, out[0], minimum);
        case 2:
            return score8<2>(planes, rows, words, table, out[0], minimum);
        default:
            return score8<0>(planes, rows, words, table, out[0], minimum);
    }
}

void distances16(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                 const std::uint8_t* table, std::uint16_t* const* out, unsigned* minimum) {
    const std::size_t words = (code_bytes + 7) / 8;
    Vector least = _mm512_set1_epi64(-1);
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * 8 * words) {
        for (std::size_t v = 0; v < 8; ++v) {
            const Vector sum = eight<0>(planes + 64 * v, table, words);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out[0] + start + 8 * v), _mm512_cvtsepi64_epi16(sum));
            least = _mm512_min_epu64(least, sum);
        }
    }
    alignas(64) std::uint64_t lanes[8];
    _mm512_storeu_si512(lanes, least);
    std::uint64_t result = ~std::uint64_t{0};
    for (int i = 0; i < 8; ++i) result = lanes[i] < result ? lanes[i] : result;
    *minimum = static_cast<unsigned>(result);
}

// One query. Vectors of 64 bytes cross a cache line with every load unless the codes begin at one, and
// NumPy's do not: they read 17 GB/s per core, scalar population counts 15, and vectors of 32 bytes 27.
unsigned direct8(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                 const std::uint8_t* query, std::uint8_t* out) {
#if !defined(DIFFHASH_EMULATED_AVX512)
    if (code_bytes == 8) return direct64(codes, rows, query, out);
#endif
    return direct(codes, rows, code_bytes, query, out);
}

DIFFHASH_INLINE std::size_t take_bits(std::uint64_t mask, std::size_t start, std::uint32_t* positions) {
    std::size_t found = 0;
    for (; mask; mask &= mask - 1)
        positions[found++] = static_cast<std::uint32_t>(start + popcount((mask & (~mask + 1)) - 1));
    return found;
}

std::size_t select8(const std::uint8_t* distances, std::size_t rows, unsigned limit,
                    std::uint32_t* positions) {
    const Vector bound = _mm512_set1_epi8(static_cast<char>(limit < 255 ? limit : 255));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 64) {
        std::uint64_t mask = _mm512_cmple_epu8_mask(load(distances + r), bound);
        if (rows - r < 64) mask &= (std::uint64_t{1} << (rows - r)) - 1;
        found += take_bits(mask, r, positions + found);
    }
    return found;
}

std::size_t select16(const std::uint16_t* distances, std::size_t rows, unsigned limit,
                     std::uint32_t* positions) {
    const Vector bound = _mm512_set1_epi16(static_cast<short>(limit < 65535 ? limit : 65535));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 32) {
        const Vector d = _mm512_loadu_si512(distances + r);
        std::uint64_t mask = _mm512_cmple_epu16_mask(d, bound);
        if (rows - r < 32) mask &= (std::uint64_t{1} << (rows - r)) - 1;
        found += take_bits(mask, r, positions + found);
    }
    return found;
}

void pack32(const float* values, std::size_t rows, std::size_t n_bits, const float* thresholds,
            std::uint8_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 16 <= n_bits; b += 16) {
            const unsigned mask =
                _mm512_cmp_ps_mask(_mm512_loadu_ps(values + b), _mm512_loadu_ps(thresholds + b), _CMP_GE_OQ);
            *codes++ = static_cast<std::uint8_t>(mask);
            *codes++ = static_cast<std::uint8_t>(mask >> 8);
        }
        for (; b < n_bits; b += 8)
            *codes++ = sign_byte(values + b, thresholds + b, n_bits - b < 8 ? n_bits - b : 8);
    }
}

void pack64(const double* values, std::size_t rows, std::size_t n_bits, const double* thresholds,
            std::uint8_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 8 <= n_bits; b += 8)
            *codes++ = static_cast<std::uint8_t>(
                _mm512_cmp_pd_mask(_mm512_loadu_pd(values + b), _mm512_loadu_pd(thresholds + b), _CMP_GE_OQ));
        if (b < n_bits) *codes++ = sign_byte(values + b, thresholds + b, n_bits - b);
    }
}

const Kernel kernel = {
    "avx512",
    1,
    word_plane_bytes,
    word_plane_bytes,
    prepare_query_words,
    prepare_word_planes,
    distances8,
    distances16,
    direct8,
    direct<std::uint16_t>,
    select8,
    select16,
    pack32,
    pack64,
#if defined(DIFFHASH_EMULATED_AVX512)
    nullptr,
#else
    &slice_functions,
#endif
};

}  // namespace

const Kernel* avx512_kernel() { return &kernel; }

}  // namespace diffhash

#else

namespace diffhash {
const Kernel* avx512_kernel() { return nullptr; }
}  // namespace diffhash

#endif
