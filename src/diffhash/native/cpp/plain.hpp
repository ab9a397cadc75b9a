// Plain C++ that each level compiles for itself.
//
// Everything here is in an unnamed namespace, and the files of the levels use no templates of the
// standard library. Otherwise the linker could keep the version of a function that was compiled for
// AVX-512, and a CPU without AVX-512 would run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prefetch.hpp"

#if defined(_MSC_VER)
#define DIFFHASH_INLINE __forceinline
#else
#define DIFFHASH_INLINE inline __attribute__((always_inline))
#endif

namespace diffhash {
namespace {

DIFFHASH_INLINE std::uint64_t load_word(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    return word;
}

// The 1 to 7 bytes at the end of a code, as the low bytes of a word. Never reads outside the code.
DIFFHASH_INLINE std::uint64_t load_tail(const std::uint8_t* code, std::size_t code_bytes) {
    const std::size_t tail = code_bytes % 8;
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (code_bytes >= 8) return load_word(code + code_bytes - 8) >> (8 * (8 - tail));
#endif
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < tail; ++b) word |= std::uint64_t{code[code_bytes - tail + b]} << (8 * b);
    return word;
}

// Word `w` of a code of any width, zeros past its end.
DIFFHASH_INLINE std::uint64_t code_word(const std::uint8_t* code, std::size_t code_bytes, std::size_t w) {
    return 8 * w + 8 <= code_bytes ? load_word(code + 8 * w) : load_tail(code, code_bytes);
}

DIFFHASH_INLINE unsigned popcount(std::uint64_t x) {
#if defined(__POPCNT__) || (defined(__GNUC__) && !defined(__x86_64__) && !defined(__i386__))
    return static_cast<unsigned>(__builtin_popcountll(x));
#else
    // A baseline x86-64 has no instruction for this, but compilers vectorise the code below.
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<unsigned>((x * 0x0101010101010101u) >> 56);
#endif
}

// --- one query over unprepared codes -----------------------------------------------------------

// Measured: with 8 codes of 8 bytes per line, the hardware prefetcher alone reaches 70 % of the
// bandwidth that it reaches with a hint this far ahead. A prefetch past the end is harmless.
constexpr std::size_t kPrefetchBytes = 4096;

template <int WORDS, class Distance>
DIFFHASH_INLINE unsigned direct_rows(const std::uint8_t* codes, std::size_t rows, std::size_t words,
                                     const std::uint8_t* query, Distance* out) {
    const std::size_t n_words = WORDS ? WORDS : words;
    unsigned minimum = ~0u;
    std::uint64_t fixed[WORDS ? WORDS : 1];
    for (int w = 0; w < WORDS; ++w) fixed[w] = load_word(query + 8 * w);
    for (std::size_t start = 0; start < rows; start += 8) {
        const std::size_t stop = start + 8 < rows ? start + 8 : rows;
        for (std::size_t line = 0; line < n_words; ++line)
            DIFFHASH_PREFETCH(codes + start * n_words * 8 + line * 64 + kPrefetchBytes);
        auto one = [&](std::size_t r) {
            const std::uint8_t* code = codes + r * n_words * 8;
            unsigned d = 0;
            for (std::size_t w = 0; w < n_words; ++w)
                d += popcount(load_word(code + 8 * w) ^
                              (WORDS ? fixed[WORDS ? w : 0] : load_word(query + 8 * w)));
            out[r] = static_cast<Distance>(d);
            if (d < minimum) minimum = d;
        };
        if (stop == start + 8) {
            for (std::size_t r = 0; r < 8; ++r) one(start + r);
        } else {
            for (std::size_t r = start; r < stop; ++r) one(r);
        }
    }
    return minimum;
}

template <class Distance>
unsigned direct(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                const std::uint8_t* query, Distance* out) {
    switch (code_bytes) {
        case 8:
            return direct_rows<1>(codes, rows, 1, query, out);
        case 16:
            return direct_rows<2>(codes, rows, 2, query, out);
        case 24:
            return direct_rows<3>(codes, rows, 3, query, out);
        case 32:
            return direct_rows<4>(codes, rows, 4, query, out);
        default:
            return direct_rows<0>(codes, rows, code_bytes / 8, query, out);
    }
}

// --- word planes: word w of 64 rows, contiguous in memory ---------------------------------------

inline std::size_t word_plane_bytes(std::size_t code_bytes) { return (code_bytes + 7) / 8 * 8; }

inline void prepare_query_words(const std::uint8_t* const* queries, std::size_t, std::size_t code_bytes,
                                std::uint8_t* table) {
    const std::size_t words = (code_bytes + 7) / 8;
    for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t word = code_word(queries[0], code_bytes, w);
        std::memcpy(table + 8 * w, &word, 8);
    }
}

// Layout: chunk of 64 rows, then word, then row.
inline const std::uint8_t* prepare_word_planes(const std::uint8_t* codes, std::size_t rows,
                                               std::size_t code_bytes, std::uint8_t* scratch) {
    const std::size_t words = (code_bytes + 7) / 8;
    if (code_bytes == 8 && rows % 64 == 0) return codes;
    std::uint8_t* plane = scratch;
    for (std::size_t start = 0; start < rows; start += 64) {
        const std::size_t count = rows - start < 64 ? rows - start : 64;
        for (std::size_t w = 0; w < words; ++w, plane += 512) {
            for (std::size_t r = 0; r < count; ++r) {
                const std::uint64_t word = code_word(codes + (start + r) * code_bytes, code_bytes, w);
                std::memcpy(plane + 8 * r, &word, 8);
            }
            std::memset(plane + 8 * count, 0, 8 * (64 - count));
        }
    }
    return scratch;
}

// --- the rest -----------------------------------------------------------------------------------

template <class Distance>
std::size_t select_plain(const Distance* distances, std::size_t rows, unsigned limit,
                         std::uint32_t* positions) {
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        positions[found] = static_cast<std::uint32_t>(r);
        found += distances[r] <= limit;
    }
    return found;
}

template <class Real>
DIFFHASH_INLINE std::uint8_t sign_byte(const Real* values, const Real* thresholds, std::size_t count) {
    unsigned byte = 0;
    for (std::size_t b = 0; b < count; ++b) byte |= static_cast<unsigned>(values[b] >= thresholds[b]) << b;
    return static_cast<std::uint8_t>(byte);
}

template <class Real>
void pack_plain(const Real* values, std::size_t rows, std::size_t n_bits, const Real* thresholds,
                std::uint8_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 8 <= n_bits; b += 8) *codes++ = sign_byte(values + b, thresholds + b, 8);
        if (b < n_bits) *codes++ = sign_byte(values + b, thresholds + b, n_bits - b);
    }
}

}  // namespace
}  // namespace diffhash
