// Rows of codes turned into nibble planes, with AVX2; only avx2.cpp includes this.
//
// Layout: chunk of 64 rows, then nibble (the low one of byte 0, its high one, byte 1, ...), then row.
#pragma once

#include <immintrin.h>

#include "kernel.hpp"
#include "plain.hpp"

namespace diffhash {
namespace {

using Vector = __m256i;

DIFFHASH_INLINE Vector join(std::uint64_t r0, std::uint64_t r1, std::uint64_t r16, std::uint64_t r17) {
    return _mm256_set_epi64x(static_cast<long long>(r17), static_cast<long long>(r16),
                             static_cast<long long>(r1), static_cast<long long>(r0));
}

DIFFHASH_INLINE Vector load_halves(const std::uint8_t* low, const std::uint8_t* high) {
    return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(high), reinterpret_cast<const __m128i*>(low));
}

// Eight bytes each of this row, the next, and the two that come 16 rows later.
DIFFHASH_INLINE Vector load_quarters(const std::uint8_t* row, std::size_t code_bytes) {
    const auto two = [code_bytes](const std::uint8_t* first) {
        return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)),
                                  _mm_loadl_epi64(reinterpret_cast<const __m128i*>(first + code_bytes)));
    };
    return _mm256_set_m128i(two(row + 16 * code_bytes), two(row));
}

// Eight byte columns of 32 rows; rows[i] holds rows 2i, 2i+1 (low half) and 2i+16, 2i+17 (high half).
DIFFHASH_INLINE void store_columns(Vector* rows, std::size_t columns, std::uint8_t* plane) {
    const Vector interleave = _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15,  //
                                               0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    Vector four[8], eight[8], column[8];
    for (int i = 0; i < 8; ++i) rows[i] = _mm256_shuffle_epi8(rows[i], interleave);
    for (int i = 0; i < 4; ++i) {
        four[i] = _mm256_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);  // columns 0 to 3 of rows 4i to 4i+3
        four[4 + i] = _mm256_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);  // columns 4 to 7
    }
    for (int half = 0; half < 2; ++half) {
        for (int i = 0; i < 2; ++i) {
            const Vector x = four[4 * half + 2 * i], y = four[4 * half + 2 * i + 1];
            eight[4 * half + i] = _mm256_unpacklo_epi32(x, y);
            eight[4 * half + 2 + i] = _mm256_unpackhi_epi32(x, y);
        }
    }
    for (int pair = 0; pair < 4; ++pair) {
        column[2 * pair] = _mm256_unpacklo_epi64(eight[2 * pair], eight[2 * pair + 1]);
        column[2 * pair + 1] = _mm256_unpackhi_epi64(eight[2 * pair], eight[2 * pair + 1]);
    }
    const Vector nibble = _mm256_set1_epi8(15);
    for (std::size_t c = 0; c < columns; ++c) {
        _mm256_store_si256(reinterpret_cast<Vector*>(plane + 128 * c), _mm256_and_si256(column[c], nibble));
        _mm256_store_si256(reinterpret_cast<Vector*>(plane + 128 * c + 64),
                           _mm256_and_si256(_mm256_srli_epi16(column[c], 4), nibble));
    }
}

// `codes` has 32 rows.
inline void prepare_rows(const std::uint8_t* codes, std::size_t code_bytes, std::uint8_t* plane) {
    Vector rows[8];
    std::size_t byte = 0;
    for (; byte + 8 <= code_bytes; byte += 8) {
        for (std::size_t i = 0; i < 8; ++i) {
            const std::uint8_t* low = codes + 2 * i * code_bytes + byte;
            rows[i] = code_bytes == 8 ? load_halves(low, low + 128) : load_quarters(low, code_bytes);
        }
        store_columns(rows, 8, plane + 128 * byte);
    }
    if (byte == code_bytes) return;
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint8_t* low = codes + 2 * i * code_bytes;
        const std::uint8_t* high = low + 16 * code_bytes;
        rows[i] = join(load_tail(low, code_bytes), load_tail(low + code_bytes, code_bytes),
                       load_tail(high, code_bytes), load_tail(high + code_bytes, code_bytes));
    }
    store_columns(rows, code_bytes - byte, plane + 128 * byte);
}

inline const std::uint8_t* prepare_nibble_planes(const std::uint8_t* codes, std::size_t rows,
                                                 std::size_t code_bytes, std::uint8_t* scratch) {
    std::size_t row = 0;
    for (; row + 32 <= rows; row += 32)
        prepare_rows(codes + row * code_bytes, code_bytes,
                     scratch + row / kChunk * kChunk * 2 * code_bytes + row % kChunk);
    if (row < rows) {
        // A short end is copied, so that nothing is read past the array.
        alignas(32) std::uint8_t padded[32 * kMaxCodeBytes];
        std::memcpy(padded, codes + row * code_bytes, (rows - row) * code_bytes);
        std::memset(padded + (rows - row) * code_bytes, 0, (32 - (rows - row)) * code_bytes);
        prepare_rows(padded, code_bytes, scratch + row / kChunk * kChunk * 2 * code_bytes + row % kChunk);
        row += 32;
    }
    if (row % kChunk) {
        std::uint8_t* plane = scratch + row / kChunk * kChunk * 2 * code_bytes + row % kChunk;
        for (std::size_t j = 0; j < 2 * code_bytes; ++j) std::memset(plane + 64 * j, 0, 32);
    }
    return scratch;
}

}  // namespace
}  // namespace diffhash
