// Rows of codes turned into bit planes, with AVX-512; only avx512_slices.hpp includes this.
//
// Layout: word, then bit, then row. Lane g (64 bits) of a plane has rows 8 r + g at bit r, which is what a
// vector of eight rows gives without moving words between lanes.
#pragma once

#include <immintrin.h>

#include "kernel.hpp"
#include "plain.hpp"

namespace diffhash {
namespace {

constexpr std::size_t kPlane = 64;               // bytes of a plane of 512 rows
constexpr std::size_t kWordPlanes = 64 * kPlane;  // bytes of the planes of a word
constexpr std::size_t kMaxSliceBytes = 15 * 8;    // of a code: carries of 15 words are counted in at most four planes

// Words 0 to 3 of eight rows, one vector per word. Rows are read up to their end only.
DIFFHASH_INLINE void four_words(const std::uint8_t* codes, std::size_t code_bytes, __m512i* words) {
    const auto mask = static_cast<__mmask32>(code_bytes < 32 ? (1u << code_bytes) - 1 : ~0u);
    const auto two = [&](std::size_t first, std::size_t second) {
        return _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(mask, codes + first * code_bytes)),
            _mm256_maskz_loadu_epi8(mask, codes + second * code_bytes), 1);
    };
    const __m512i a = two(0, 2), b = two(1, 3), c = two(4, 6), d = two(5, 7);
    const __m512i low = _mm512_unpacklo_epi64(a, b), high = _mm512_unpackhi_epi64(a, b);
    const __m512i low2 = _mm512_unpacklo_epi64(c, d), high2 = _mm512_unpackhi_epi64(c, d);
    words[0] = _mm512_shuffle_i64x2(low, low2, 0x88);
    words[1] = _mm512_shuffle_i64x2(high, high2, 0x88);
    words[2] = _mm512_shuffle_i64x2(low, low2, 0xDD);
    words[3] = _mm512_shuffle_i64x2(high, high2, 0xDD);
}

// Words 0 to 7 from `codes` on; `count` bytes of a row are left.
DIFFHASH_INLINE void eight_words(const std::uint8_t* codes, std::size_t code_bytes, std::size_t count,
                                 __m512i* words) {
    const auto mask =
        static_cast<__mmask64>(count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0});
    __m512i low[4], high[4];
    for (std::size_t i = 0; i < 4; ++i) {
        const __m512i a = _mm512_maskz_loadu_epi8(mask, codes + 2 * i * code_bytes);
        const __m512i b = _mm512_maskz_loadu_epi8(mask, codes + (2 * i + 1) * code_bytes);
        low[i] = _mm512_unpacklo_epi64(a, b);
        high[i] = _mm512_unpackhi_epi64(a, b);
    }
    const auto columns = [words](const __m512i* pairs, int first) {
        const __m512i a = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0x88);
        const __m512i b = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0x88);
        const __m512i c = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0xDD);
        const __m512i d = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0xDD);
        words[first] = _mm512_shuffle_i64x2(a, b, 0x88);
        words[first + 4] = _mm512_shuffle_i64x2(a, b, 0xDD);
        words[first + 2] = _mm512_shuffle_i64x2(c, d, 0x88);
        words[first + 6] = _mm512_shuffle_i64x2(c, d, 0xDD);
    };
    columns(low, 0);
    columns(high, 1);
}

// Eight rows to vector `group` of each word.
DIFFHASH_INLINE void place_rows(const std::uint8_t* codes, std::size_t code_bytes, std::uint8_t* planes) {
    if (code_bytes == 4) {
        const __m256i rows = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
        return _mm512_store_si512(planes, _mm512_cvtepu32_epi64(rows));
    }
    if (code_bytes == 8) return _mm512_store_si512(planes, _mm512_loadu_si512(codes));
    if (code_bytes == 16) {
        const __m512i a = _mm512_loadu_si512(codes), b = _mm512_loadu_si512(codes + 64);
        const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        _mm512_store_si512(planes, _mm512_permutex2var_epi64(a, even, b));
        return _mm512_store_si512(planes + kWordPlanes, _mm512_permutex2var_epi64(a, odd, b));
    }
    const std::size_t n_words = (code_bytes + 7) / 8;
    __m512i words[8];
    for (std::size_t first = 0; first < n_words; first += 8) {
        if (n_words <= 4)
            four_words(codes, code_bytes, words);
        else
            eight_words(codes + 8 * first, code_bytes, code_bytes - 8 * first, words);
        for (std::size_t w = first; w < n_words && w < first + 8; ++w)
            _mm512_store_si512(planes + w * kWordPlanes, words[w - first]);
    }
}

// Exchanges the high halves of `a` with the low halves of `b`, in fields of 2 * SHIFT bits.
template <int SHIFT>
DIFFHASH_INLINE void exchange(__m512i& a, __m512i& b, std::uint64_t low_bits) {
    const __m512i low = _mm512_set1_epi64(static_cast<long long>(low_bits));
    const __m512i first = _mm512_ternarylogic_epi64(low, a, _mm512_slli_epi64(b, SHIFT), 0xCA);
    b = _mm512_ternarylogic_epi64(low, _mm512_srli_epi64(a, SHIFT), b, 0xCA);
    a = first;
}

// Byte j of a word comes from byte j + OFFSET of it, as vpshufb wants it: for words 0 and 1 of 16 bytes.
template <int OFFSET>
DIFFHASH_INLINE __m512i moved_bytes() {
    std::uint64_t places = 0;
    for (int j = 0; j < 8; ++j) places |= static_cast<std::uint64_t>((j + OFFSET) & 7) << (8 * j);
    const auto low = static_cast<long long>(places);
    const auto high = static_cast<long long>(places + 0x0808080808080808);
    return _mm512_set4_epi64(high, low, high, low);
}

// The same in fields of 2 * BYTES bytes, in half of the instructions; `high` are the bytes of the high halves.
template <int BYTES>
DIFFHASH_INLINE void exchange_bytes(__m512i& a, __m512i& b, __mmask64 high) {
    const __m512i first = _mm512_mask_shuffle_epi8(a, high, b, moved_bytes<-BYTES>());
    b = _mm512_mask_shuffle_epi8(b, ~high, a, moved_bytes<BYTES>());
    a = first;
}

// Vectors 0, 8, ..., 56 from `from` on: the first three of the six steps of a transposition of 64 x 64 bits.
DIFFHASH_INLINE void byte_steps(const std::uint8_t* from, std::uint8_t* planes) {
    __m512i v[8];
    for (std::size_t i = 0; i < 8; ++i) v[i] = _mm512_loadu_si512(from + i * 8 * kPlane);
    for (int i = 0; i < 4; ++i) exchange_bytes<4>(v[i], v[i + 4], 0xF0F0F0F0F0F0F0F0);
    for (int i = 0; i < 8; i += i % 2 ? 3 : 1) exchange_bytes<2>(v[i], v[i + 2], 0xCCCCCCCCCCCCCCCC);
    for (int i = 0; i < 8; i += 2) exchange_bytes<1>(v[i], v[i + 1], 0xAAAAAAAAAAAAAAAA);
    for (std::size_t i = 0; i < 8; ++i) _mm512_store_si512(planes + i * 8 * kPlane, v[i]);
}

// Eight consecutive planes: the other three steps.
DIFFHASH_INLINE void bit_steps(const std::uint8_t* planes, __m512i* v) {
    for (std::size_t i = 0; i < 8; ++i) v[i] = _mm512_load_si512(planes + i * kPlane);
    for (int i = 0; i < 4; ++i) exchange<4>(v[i], v[i + 4], 0x0F0F0F0F0F0F0F0F);
    for (int i = 0; i < 8; i += i % 2 ? 3 : 1) exchange<2>(v[i], v[i + 2], 0x3333333333333333);
    for (int i = 0; i < 8; i += 2) exchange<1>(v[i], v[i + 1], 0x5555555555555555);
}

// All but the steps of bits, which are done where the planes are used first. Rows past the end become zeros.
inline void prepare_planes(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                           std::uint8_t* planes) {
    if (code_bytes == 8 && rows == kSliceRows) {
        for (std::size_t i = 0; i < 8; ++i) byte_steps(codes + i * kPlane, planes + i * kPlane);
        return;
    }
    const std::size_t n_words = (code_bytes + 7) / 8;
    for (std::size_t row = 0; row < kSliceRows; row += 8) {
        std::uint8_t* to = planes + row / 8 * kPlane;
        if (row + 8 <= rows) {
            place_rows(codes + row * code_bytes, code_bytes, to);
        } else {
            alignas(64) std::uint8_t padded[8 * kMaxSliceBytes] = {};
            if (row < rows) std::memcpy(padded, codes + row * code_bytes, (rows - row) * code_bytes);
            place_rows(padded, code_bytes, to);
        }
    }
    for (std::size_t w = 0; w < n_words; ++w, planes += kWordPlanes)
        for (std::size_t i = 0; i < 8; ++i) byte_steps(planes + i * kPlane, planes + i * kPlane);
}

}  // namespace
}  // namespace diffhash
