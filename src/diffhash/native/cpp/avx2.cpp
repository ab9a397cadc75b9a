// AVX2: distances by table lookup, two queries per lookup.
//
// A block is laid out in nibble planes: nibble j of 64 rows side by side. For each nibble position a
// query needs a table of 16 entries, popcount(value ^ query nibble), and vpshufb looks up 32 rows at
// once: no xor, no population count. An entry is at most 4, so one byte holds the entries of two
// queries, A in the low half and B in the high half, and the sum of three lookups (at most 12 in each
// half) cannot carry from one half into the other. Such a sum is a "leaf". Per leaf there remain
//   - one byte addition to S, the sum of all A + 16 B modulo 256, and
//   - a mask and one vpavgb towards B: averages of multiples of 16 are exact for four levels, so a
//     tree of them sums the high halves without shifting each one down.
// In the end A = S - 16 B modulo 256. Per query and nibble that is 1.4 instructions for 32 rows,
// where a table per query takes 2.
#include "kernel.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include "direct64.hpp"
#include "nibble_planes.hpp"
#include "plain.hpp"

namespace diffhash {
namespace {

constexpr int kLanes = 2;  // vectors of 32 rows in a chunk of 64
// 60 nibbles are 240 bits: the most whole groups of 12 whose distance still fits a byte.
constexpr std::size_t kSegment = 60;

struct Sums {
    Vector both[kLanes];  // sum of A + 16 B, modulo 256
    Vector high[kLanes];  // sum of B
};

DIFFHASH_INLINE Vector load(const std::uint8_t* address) {
    return _mm256_load_si256(reinterpret_cast<const Vector*>(address));
}

DIFFHASH_INLINE Vector load_table(const std::uint8_t* address) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(address)));
}

// The sum of NIBBLES <= 3 lookups, added to `sums.both`; its high halves go to `high`.
template <int NIBBLES, bool FIRST = false>
DIFFHASH_INLINE void leaf(const std::uint8_t* plane, const std::uint8_t* table, Sums& sums, Vector* high) {
    const Vector mask = _mm256_set1_epi8(static_cast<char>(0xF0));
    Vector sum[kLanes];
    for (int j = 0; j < NIBBLES; ++j) {
        const Vector entries = load_table(table + 16 * j);
        for (int c = 0; c < kLanes; ++c) {
            const Vector found = _mm256_shuffle_epi8(entries, load(plane + 64 * j + 32 * c));
            sum[c] = j ? _mm256_add_epi8(sum[c], found) : found;
        }
    }
    for (int c = 0; c < kLanes; ++c) {
        sums.both[c] = FIRST ? sum[c] : _mm256_add_epi8(sums.both[c], sum[c]);
        high[c] = _mm256_and_si256(sum[c], mask);
    }
}

DIFFHASH_INLINE void average(Vector* into, const Vector* other) {
    for (int c = 0; c < kLanes; ++c) into[c] = _mm256_avg_epu8(into[c], other[c]);
}

// LEAVES (1, 2 or 4) leaves of NIBBLES each. Their averaged high halves are 16 B / LEAVES; the bits
// that the 16-bit shift would carry over from the neighbouring byte are zero.
template <int LEAVES, int NIBBLES, bool FIRST = false>
DIFFHASH_INLINE void group(const std::uint8_t*& plane, const std::uint8_t*& table, Sums& sums) {
    Vector first[kLanes], second[kLanes], third[kLanes];
    leaf<NIBBLES, FIRST>(plane, table, sums, first);
    if (LEAVES >= 2) {
        leaf<NIBBLES>(plane + 64 * NIBBLES, table + 16 * NIBBLES, sums, second);
        average(first, second);
    }
    if (LEAVES == 4) {
        leaf<NIBBLES>(plane + 128 * NIBBLES, table + 32 * NIBBLES, sums, second);
        leaf<NIBBLES>(plane + 192 * NIBBLES, table + 48 * NIBBLES, sums, third);
        average(second, third);
        average(first, second);
    }
    constexpr int shift = LEAVES == 4 ? 2 : LEAVES == 2 ? 3 : 4;
    for (int c = 0; c < kLanes; ++c) {
        const Vector sum = _mm256_srli_epi16(first[c], shift);
        sums.high[c] = FIRST ? sum : _mm256_add_epi8(sums.high[c], sum);
    }
    plane += 64 * LEAVES * NIBBLES;
    table += 16 * LEAVES * NIBBLES;
}

// Distances of both queries over `nibbles` <= 60 nibble planes (always an even number), as bytes.
DIFFHASH_INLINE void segment(const std::uint8_t* plane, const std::uint8_t* table, std::size_t nibbles,
                             Vector* a, Vector* b) {
    Sums sums;
    if (nibbles >= 12) {
        group<4, 3, true>(plane, table, sums);
        nibbles -= 12;
    } else {
        for (int c = 0; c < kLanes; ++c) sums.both[c] = sums.high[c] = _mm256_setzero_si256();
    }
    for (; nibbles >= 12; nibbles -= 12) group<4, 3>(plane, table, sums);
    if (nibbles == 10 || nibbles == 6) group<2, 3>(plane, table, sums), nibbles -= 6;
    if (nibbles == 8) group<4, 2>(plane, table, sums);
    if (nibbles == 4) group<2, 2>(plane, table, sums);
    if (nibbles == 2) group<1, 2>(plane, table, sums);
    const Vector mask = _mm256_set1_epi8(static_cast<char>(0xF0));
    for (int c = 0; c < kLanes; ++c) {
        a[c] = _mm256_sub_epi8(sums.both[c], _mm256_and_si256(_mm256_slli_epi16(sums.high[c], 4), mask));
        b[c] = sums.high[c];
    }
}

DIFFHASH_INLINE unsigned least16(Vector values) {
    const __m128i half = _mm_min_epu16(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    return static_cast<unsigned>(_mm_cvtsi128_si32(_mm_minpos_epu16(half))) & 0xFFFF;
}

template <int NIBBLES>  // 0: known at run time only
void score8(const std::uint8_t* planes, std::size_t rows, std::size_t runtime_nibbles,
            const std::uint8_t* table, std::uint8_t* const* out, unsigned* minimum) {
    const std::size_t nibbles = NIBBLES ? NIBBLES : runtime_nibbles;
    Vector least_a = _mm256_set1_epi8(-1), least_b = least_a;
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * nibbles) {
        Vector a[kLanes], b[kLanes];
        segment(planes, table, nibbles, a, b);
        for (int c = 0; c < kLanes; ++c) {
            _mm256_store_si256(reinterpret_cast<Vector*>(out[0] + start) + c, a[c]);
            _mm256_store_si256(reinterpret_cast<Vector*>(out[1] + start) + c, b[c]);
            least_a = _mm256_min_epu8(least_a, a[c]);
            least_b = _mm256_min_epu8(least_b, b[c]);
        }
    }
    minimum[0] = least8(least_a);
    minimum[1] = least8(least_b);
}

void distances8(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                const std::uint8_t* table, std::uint8_t* const* out, unsigned* minimum) {
    // Unrolled, 64 bits gain 10 %; 128 bits would lose as much, the compiler running out of registers.
    if (code_bytes == 8) return score8<16>(planes, rows, 16, table, out, minimum);
    return score8<0>(planes, rows, 2 * code_bytes, table, out, minimum);
}

DIFFHASH_INLINE void widen(const Vector* bytes, Vector* sums) {
    for (int c = 0; c < kLanes; ++c) {
        sums[2 * c] = _mm256_add_epi16(sums[2 * c], _mm256_cvtepu8_epi16(_mm256_castsi256_si128(bytes[c])));
        sums[2 * c + 1] =
            _mm256_add_epi16(sums[2 * c + 1], _mm256_cvtepu8_epi16(_mm256_extracti128_si256(bytes[c], 1)));
    }
}

void distances16(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                 const std::uint8_t* table, std::uint16_t* const* out, unsigned* minimum) {
    const std::size_t nibbles = 2 * code_bytes;
    Vector least[2] = {_mm256_set1_epi16(-1), _mm256_set1_epi16(-1)};
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * nibbles) {
        Vector sum[2][2 * kLanes];
        for (int v = 0; v < 2 * kLanes; ++v) sum[0][v] = sum[1][v] = _mm256_setzero_si256();
        for (std::size_t j = 0; j < nibbles; j += kSegment) {
            Vector a[kLanes], b[kLanes];
            segment(planes + kChunk * j, table + 16 * j, nibbles - j < kSegment ? nibbles - j : kSegment, a,
                    b);
            widen(a, sum[0]);
            widen(b, sum[1]);
        }
        for (int q = 0; q < 2; ++q) {
            for (int v = 0; v < 2 * kLanes; ++v) {
                _mm256_store_si256(reinterpret_cast<Vector*>(out[q] + start) + v, sum[q][v]);
                least[q] = _mm256_min_epu16(least[q], sum[q][v]);
            }
        }
    }
    minimum[0] = least16(least[0]);
    minimum[1] = least16(least[1]);
}

// --- one query ------------------------------------------------------------------------------------

unsigned direct8(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                 const std::uint8_t* query, std::uint8_t* out) {
    return code_bytes == 8 ? direct64(codes, rows, query, out) : direct(codes, rows, code_bytes, query, out);
}

// --- tables ----------------------------------------------------------------------------------

std::size_t plane_bytes(std::size_t code_bytes) { return 2 * code_bytes; }
std::size_t table_bytes(std::size_t code_bytes) { return 32 * code_bytes; }

void prepare_queries(const std::uint8_t* const* queries, std::size_t count, std::size_t code_bytes,
                     std::uint8_t* table) {
    const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i ones = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const std::uint8_t* second = queries[count - 1];  // a lone query is its own partner
    for (std::size_t j = 0; j < 2 * code_bytes; ++j) {
        const int shift = j % 2 ? 4 : 0;
        const int a = (queries[0][j / 2] >> shift) & 15, b = (second[j / 2] >> shift) & 15;
        const __m128i low =
            _mm_shuffle_epi8(ones, _mm_xor_si128(values, _mm_set1_epi8(static_cast<char>(a))));
        const __m128i high =
            _mm_shuffle_epi8(ones, _mm_xor_si128(values, _mm_set1_epi8(static_cast<char>(b))));
        _mm_store_si128(reinterpret_cast<__m128i*>(table + 16 * j),
                        _mm_or_si128(low, _mm_slli_epi16(high, 4)));
    }
}

// --- selecting and packing ------------------------------------------------------------------------

DIFFHASH_INLINE std::size_t take_bits(unsigned mask, std::size_t start, std::uint32_t* positions) {
    std::size_t found = 0;
    for (; mask; mask &= mask - 1) positions[found++] = static_cast<std::uint32_t>(start) + _tzcnt_u32(mask);
    return found;
}

std::size_t select8(const std::uint8_t* distances, std::size_t rows, unsigned limit,
                    std::uint32_t* positions) {
    const Vector bound = _mm256_set1_epi8(static_cast<char>(limit < 255 ? limit : 255));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 32) {
        const Vector d = load(distances + r);
        unsigned mask =
            static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(d, bound), d)));
        if (rows - r < 32) mask &= (1u << (rows - r)) - 1;
        found += take_bits(mask, r, positions + found);
    }
    return found;
}

std::size_t select16(const std::uint16_t* distances, std::size_t rows, unsigned limit,
                     std::uint32_t* positions) {
    const Vector bound = _mm256_set1_epi16(static_cast<short>(limit < 65535 ? limit : 65535));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 32) {
        const Vector* d = reinterpret_cast<const Vector*>(distances + r);
        const Vector low = _mm256_cmpeq_epi16(_mm256_min_epu16(d[0], bound), d[0]);
        const Vector high = _mm256_cmpeq_epi16(_mm256_min_epu16(d[1], bound), d[1]);
        const Vector bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xD8);
        unsigned mask = static_cast<unsigned>(_mm256_movemask_epi8(bytes));
        if (rows - r < 32) mask &= (1u << (rows - r)) - 1;
        found += take_bits(mask, r, positions + found);
    }
    return found;
}

void pack32(const float* values, std::size_t rows, std::size_t n_bits, const float* thresholds,
            std::uint8_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 8 <= n_bits; b += 8)
            *codes++ = static_cast<std::uint8_t>(_mm256_movemask_ps(
                _mm256_cmp_ps(_mm256_loadu_ps(values + b), _mm256_loadu_ps(thresholds + b), _CMP_GE_OQ)));
        if (b < n_bits) *codes++ = sign_byte(values + b, thresholds + b, n_bits - b);
    }
}

void pack64(const double* values, std::size_t rows, std::size_t n_bits, const double* thresholds,
            std::uint8_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 8 <= n_bits; b += 8) {
            const int low = _mm256_movemask_pd(
                _mm256_cmp_pd(_mm256_loadu_pd(values + b), _mm256_loadu_pd(thresholds + b), _CMP_GE_OQ));
            const int high = _mm256_movemask_pd(_mm256_cmp_pd(
                _mm256_loadu_pd(values + b + 4), _mm256_loadu_pd(thresholds + b + 4), _CMP_GE_OQ));
            *codes++ = static_cast<std::uint8_t>(low | high << 4);
        }
        if (b < n_bits) *codes++ = sign_byte(values + b, thresholds + b, n_bits - b);
    }
}

const Kernel kernel = {
    "avx2",     2,           plane_bytes, table_bytes,           prepare_queries, prepare_nibble_planes,
    distances8, distances16, direct8,     direct<std::uint16_t>, select8,         select16,
    pack32,     pack64,      nullptr,
};

}  // namespace

const Kernel* avx2_kernel() { return &kernel; }

}  // namespace diffhash

#else

namespace diffhash {
const Kernel* avx2_kernel() { return nullptr; }
}  // namespace diffhash

#endif
