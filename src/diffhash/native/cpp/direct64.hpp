// One query over unprepared codes of 64 bits, with AVX2; the files of AVX2 and AVX-512 include this.
#pragma once

#include <immintrin.h>

#include "plain.hpp"

namespace diffhash {
namespace {

DIFFHASH_INLINE unsigned least8(__m256i values) {
    const __m128i half = _mm_min_epu8(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    const __m128i words = _mm_min_epu8(half, _mm_srli_epi16(half, 8));
    return static_cast<unsigned>(
               _mm_cvtsi128_si32(_mm_minpos_epu16(_mm_and_si128(words, _mm_set1_epi16(0xFF))))) &
           0xFF;
}

// Bits that four codes do not share with the query, one sum per 64-bit lane.
DIFFHASH_INLINE __m256i four_distances(const std::uint8_t* codes, __m256i query) {
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i x = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)), query);
    const __m256i low = _mm256_shuffle_epi8(ones, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

// Scalar population counts read 13 GB/s per core, which is below the memory bandwidth; this reads 25 GB/s.
inline unsigned direct64(const std::uint8_t* codes, std::size_t rows, const std::uint8_t* word,
                         std::uint8_t* out) {
    const __m256i query = _mm256_set1_epi64x(static_cast<long long>(load_word(word)));
    const __m128i interleave = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    const __m256i pairs = _mm256_broadcastsi128_si256(interleave);
    __m256i least = _mm256_set1_epi8(-1);
    std::size_t row = 0;
    for (; row + 32 <= rows; row += 32) {
        const std::uint8_t* block = codes + 8 * row;
        for (std::size_t line = 0; line < 256; line += 64) DIFFHASH_PREFETCH(block + line + kPrefetchBytes);
        // Byte v of lane r becomes the distance of row 4 v + r.
        __m256i bytes = four_distances(block, query);
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 32, query), 8));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 64, query), 16));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 96, query), 24));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 128, query), 32));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 160, query), 40));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 192, query), 48));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi64(four_distances(block + 224, query), 56));
        least = _mm256_min_epu8(least, bytes);
        const __m256i paired = _mm256_shuffle_epi8(bytes, pairs);
        const __m128i even = _mm256_castsi256_si128(paired), odd = _mm256_extracti128_si256(paired, 1);
        _mm_store_si128(reinterpret_cast<__m128i*>(out + row), _mm_unpacklo_epi16(even, odd));
        _mm_store_si128(reinterpret_cast<__m128i*>(out + row + 16), _mm_unpackhi_epi16(even, odd));
    }
    const unsigned rest = direct_rows<1>(codes + 8 * row, rows - row, 1, word, out + row);
    const unsigned minimum = least8(least);
    return rest < minimum ? rest : minimum;
}

}  // namespace
}  // namespace diffhash
