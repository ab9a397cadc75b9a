// The rows within a limit from bit planes (bit_slices.hpp), with AVX-512; only avx512.cpp includes this.
#pragma once

#include "bit_planes.hpp"

namespace diffhash {
namespace {

constexpr std::size_t kVersions = 8 * kPlane;       // bytes of the versions of a carry
constexpr std::size_t kCarryTable = 32 * kVersions;  // of a word: half of the first-level cache
constexpr std::size_t kLow = 5;                     // planes in which the carries of a word are summed
constexpr std::size_t kBias = 16;                   // bytes of a query's bias; the last one says which rows may pass

DIFFHASH_INLINE __m512i load_plane(const std::uint8_t* plane) { return _mm512_load_si512(plane); }

// The sum replaces `a`; returns the carry.
DIFFHASH_INLINE __m512i full_adder(__m512i& a, __m512i b, __m512i c) {
    const __m512i carry = _mm512_ternarylogic_epi64(a, b, c, 0xE8);
    a = _mm512_ternarylogic_epi64(a, b, c, 0x96);
    return carry;
}

DIFFHASH_INLINE __m512i half_adder(__m512i& a, __m512i b) {
    const __m512i carry = _mm512_and_si512(a, b);
    a = _mm512_xor_si512(a, b);
    return carry;
}

// The truth table of a carry with some inputs inverted: bit 0 of `version` the second, 1 the third, 2 the first.
constexpr int carry_of(int version) {
    int table = 0;
    for (int i = 0; i < 8; ++i) {
        const int a = (i >> 2 ^ version >> 2) & 1, b = (i >> 1 ^ version) & 1, c = (i ^ version >> 1) & 1;
        if (a + b + c >= 2) table |= 1 << i;
    }
    return table;
}

template <int VERSION>
DIFFHASH_INLINE void store_version(std::uint8_t* table, __m512i a, __m512i b, __m512i c) {
    _mm512_store_si512(table + VERSION * kPlane, _mm512_ternarylogic_epi64(a, b, c, carry_of(VERSION)));
}

// All versions of a carry; `parity` is that of the bits before, and becomes that of the bits so far.
DIFFHASH_INLINE void build_carry(__m512i x, __m512i y, __m512i& parity, std::uint8_t* table) {
    store_version<0>(table, parity, x, y);
    store_version<1>(table, parity, x, y);
    store_version<2>(table, parity, x, y);
    store_version<3>(table, parity, x, y);
    store_version<4>(table, parity, x, y);
    store_version<5>(table, parity, x, y);
    store_version<6>(table, parity, x, y);
    store_version<7>(table, parity, x, y);
    parity = _mm512_ternarylogic_epi64(parity, x, y, 0x96);
}

// All versions of the carries of a word; `parity` is that of the bits before, and returned for those after.
inline __m512i build_carries(const std::uint8_t* planes, std::size_t adders, __m512i parity,
                             std::uint8_t* table) {
    for (std::size_t i = 0; i < adders; ++i, planes += 2 * kPlane, table += kVersions)
        build_carry(load_plane(planes), load_plane(planes + kPlane), parity, table);
    return parity;
}

// The same for an only word whose planes still need the steps of bits.
inline __m512i build_only_carries(const std::uint8_t* planes, std::size_t adders, std::uint8_t* table) {
    __m512i v[8], parity = _mm512_setzero_si512();
    for (std::size_t i = 0; i < adders; i += 4, planes += 8 * kPlane) {
        bit_steps(planes, v);
        for (std::size_t j = 0; j < 8; j += 2, table += kVersions) build_carry(v[j], v[j + 1], parity, table);
    }
    return parity;
}

// Finishes the planes of all words; returns the parities of the rows.
inline __m512i finish_planes(std::uint8_t* planes, std::size_t words) {
    __m512i v[8], parity = _mm512_setzero_si512();
    for (std::size_t i = 0; i < 8 * words; ++i, planes += 8 * kPlane) {
        bit_steps(planes, v);
        for (std::size_t j = 0; j < 8; j += 2) {
            parity = _mm512_ternarylogic_epi64(parity, v[j], v[j + 1], 0x96);
            _mm512_store_si512(planes + j * kPlane, v[j]);
            _mm512_store_si512(planes + (j + 1) * kPlane, v[j + 1]);
        }
    }
    return parity;
}

// Adds COUNT chosen carries to the planes `sum` and returns the carry that leaves them.
template <int COUNT>
DIFFHASH_INLINE __m512i add_chosen(__m512i* sum, const std::uint8_t* table, const std::uint8_t* choices) {
    if constexpr (COUNT == 2) {
        return full_adder(sum[0], load_plane(table + 8 * std::size_t{choices[0]}),
                          load_plane(table + kVersions + 8 * std::size_t{choices[1]}));
    } else {
        constexpr int half = COUNT / 2, level = COUNT == 4 ? 1 : COUNT == 8 ? 2 : COUNT == 16 ? 3 : 4;
        const __m512i a = add_chosen<half>(sum, table, choices);
        const __m512i b = add_chosen<half>(sum, table + half * kVersions, choices + half);
        return full_adder(sum[level], a, b);
    }
}

struct Pass {
    std::size_t n_queries, words, word;
    const std::uint8_t* table;
    const std::uint8_t* constants;  // planes 0, 1, p, not p
    const std::uint8_t* choices;
    const std::uint8_t* biases;
    std::uint8_t* sums;  // between the words of a query: low planes, then one carry per word
    std::uint32_t* which;
    std::uint8_t* masks;
};

// The carries of all words, summed over the HIGH planes of the bias: where nothing overflows is a hit.
template <int HIGH>
DIFFHASH_INLINE __m512i rows_within(const Pass& pass, const std::uint8_t* bias, const std::uint8_t* carries,
                                    __m512i last) {
    __m512i sum[HIGH], overflow = _mm512_setzero_si512();
    for (int j = 0; j < HIGH; ++j) sum[j] = load_plane(pass.constants + 8 * std::size_t{bias[kLow + j]});
    const auto add_from = [&](int level, __m512i carry) {
        for (int j = level; j < HIGH; ++j) carry = half_adder(sum[j], carry);
        overflow = _mm512_or_si512(overflow, carry);
    };
    std::size_t w = 0;
    for (; w + 2 < pass.words; w += 2)
        add_from(1, full_adder(sum[0], load_plane(carries + w * kPlane), load_plane(carries + (w + 1) * kPlane)));
    if (w + 2 == pass.words)
        add_from(1, full_adder(sum[0], load_plane(carries + w * kPlane), last));
    else
        add_from(0, last);
    return _mm512_andnot_si512(overflow, load_plane(pass.constants + 8 * std::size_t{bias[kBias - 1]}));
}

// One word of all queries. HIGH: planes above the low ones if it is the last word, else 0.
template <bool FIRST, int HIGH, int ADDERS>
std::size_t add_word(const Pass& pass) {
    const std::uint8_t* choices = pass.choices + pass.word * pass.n_queries * 32;
    const std::uint8_t* bias = pass.biases;
    std::uint8_t* sums = pass.sums;
    std::size_t hits = 0;
    for (std::size_t q = 0; q < pass.n_queries; ++q, choices += 32, bias += kBias) {
        __m512i sum[kLow];
        for (std::size_t j = 0; j < kLow; ++j)
            sum[j] = load_plane(FIRST ? pass.constants + 8 * std::size_t{bias[j]} : sums + j * kPlane);
        __m512i carry = add_chosen<ADDERS>(sum, pass.table, choices);
        if (ADDERS == 16) carry = half_adder(sum[4], carry);
        std::uint8_t* carries = sums + kLow * kPlane;
        if (HIGH) {
            const __m512i hit = rows_within<HIGH ? HIGH : 1>(pass, bias, carries, carry);
            // No branch: whether there is a hit cannot be predicted.
            _mm512_store_si512(pass.masks + hits * kPlane, hit);
            pass.which[hits] = static_cast<std::uint32_t>(q);
            hits += _mm512_test_epi64_mask(hit, hit) != 0;
        } else {
            for (std::size_t j = 0; j < kLow; ++j) _mm512_store_si512(sums + j * kPlane, sum[j]);
            _mm512_store_si512(carries + pass.word * kPlane, carry);
        }
        sums += (kLow + pass.words) * kPlane;
    }
    return hits;
}

// A last word of up to 32 bits has half of the carries.
template <int ADDERS>
std::size_t add_last_word(const Pass& pass) {
    if (pass.words == 1) return add_word<true, 1, ADDERS>(pass);
    if (pass.words < 4) return add_word<false, 2, ADDERS>(pass);
    if (pass.words < 8) return add_word<false, 3, ADDERS>(pass);
    return add_word<false, 4, ADDERS>(pass);
}

// --- the interface ----------------------------------------------------------------------------------

std::size_t slice_scratch_bytes(std::size_t code_bytes, std::size_t n_queries) {
    const std::size_t words = (code_bytes + 7) / 8;
    return kCarryTable + 4 * kPlane + words * kWordPlanes + n_queries * (kLow + words) * kPlane;
}

std::size_t slice_hits(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                       std::size_t n_queries, const std::uint8_t* choices, const std::uint8_t* biases,
                       std::uint8_t* scratch, std::uint32_t* which, std::uint8_t* masks) {
    const std::size_t words = (code_bytes + 7) / 8;
    std::uint8_t* table = scratch;
    std::uint8_t* constants = table + kCarryTable;
    std::uint8_t* planes = constants + 4 * kPlane;
    const bool half = (code_bytes + 7) % 8 < 4;  // 1 to 4 bytes in the last word
    const std::size_t adders = half ? 16 : 32;
    prepare_planes(codes, rows, code_bytes, planes);
    const __m512i none = _mm512_setzero_si512(), all = _mm512_set1_epi64(-1);
    const __m512i parity = words == 1 ? build_only_carries(planes, adders, table) : finish_planes(planes, words);
    _mm512_store_si512(constants, none);
    _mm512_store_si512(constants + kPlane, all);
    _mm512_store_si512(constants + 2 * kPlane, parity);
    _mm512_store_si512(constants + 3 * kPlane, _mm512_xor_si512(parity, all));

    Pass pass{n_queries, words,  0,     table, constants, choices, biases, planes + words * kWordPlanes,
              which,     masks};
    __m512i before = none;
    for (; pass.word + 1 < words; ++pass.word) {
        before = build_carries(planes + pass.word * kWordPlanes, 32, before, table);
        if (pass.word == 0)
            add_word<true, 0, 32>(pass);
        else
            add_word<false, 0, 32>(pass);
    }
    if (words > 1) build_carries(planes + pass.word * kWordPlanes, adders, before, table);
    return half ? add_last_word<16>(pass) : add_last_word<32>(pass);
}

// From lane g, bit r to bit 8 r + g: bytes first, then 8 x 8 bits in each word.
DIFFHASH_INLINE __m512i in_row_order(__m512i mask) {
    alignas(64) static const std::uint8_t order[64] = {
        0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
        50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
        37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63};
    __m512i x = _mm512_permutexvar_epi8(_mm512_load_si512(order), mask), t;
    const auto flip = [&](int shift, long long bits) {
        const __m512i field = _mm512_set1_epi64(bits);
        t = _mm512_and_si512(_mm512_xor_si512(x, _mm512_srli_epi64(x, static_cast<unsigned>(shift))), field);
        x = _mm512_ternarylogic_epi64(x, t, _mm512_slli_epi64(t, static_cast<unsigned>(shift)), 0x96);
    };
    flip(7, 0x00AA00AA00AA00AA);
    flip(14, 0x0000CCCC0000CCCC);
    flip(28, 0x00000000F0F0F0F0);
    return x;
}

template <int WORDS>  // 0: any width
DIFFHASH_INLINE std::size_t expand_rows(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t rows,
                                        std::size_t code_bytes, const std::uint8_t* query,
                                        std::uint16_t* positions, std::uint16_t* distances) {
    const std::size_t width = WORDS ? 8 * WORDS : code_bytes, words = (width + 7) / 8;
    const __m512i ordered = in_row_order(_mm512_load_si512(mask));
    alignas(64) std::uint64_t bits[8];
    _mm512_store_si512(bits, ordered);
    std::size_t count = 0;
    for (unsigned lanes = _mm512_test_epi64_mask(ordered, ordered); lanes; lanes &= lanes - 1) {
        const std::size_t start = 64 * static_cast<std::size_t>(_tzcnt_u32(lanes));
        for (std::uint64_t left = bits[start / 64]; left; left &= left - 1) {
            const std::size_t row = start + static_cast<std::size_t>(_tzcnt_u64(left));
            if (row >= rows) return count;
            unsigned distance = 0;
            for (std::size_t w = 0; w < words; ++w)
                distance += WORDS ? popcount(load_word(codes + row * width + 8 * w) ^ load_word(query + 8 * w))
                                  : popcount(code_word(codes + row * width, width, w) ^ code_word(query, width, w));
            positions[count] = static_cast<std::uint16_t>(row);
            distances[count++] = static_cast<std::uint16_t>(distance);
        }
    }
    return count;
}

std::size_t slice_expand(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t rows,
                         std::size_t code_bytes, const std::uint8_t* query, std::uint16_t* positions,
                         std::uint16_t* distances) {
    if (code_bytes == 8) return expand_rows<1>(mask, codes, rows, 8, query, positions, distances);
    if (code_bytes == 16) return expand_rows<2>(mask, codes, rows, 16, query, positions, distances);
    return expand_rows<0>(mask, codes, rows, code_bytes, query, positions, distances);
}

const Slices slice_functions = {kMaxSliceBytes, slice_scratch_bytes, slice_hits, slice_expand};

}  // namespace
}  // namespace diffhash
