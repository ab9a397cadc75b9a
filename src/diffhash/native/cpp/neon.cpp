// NEON (AArch64): byte planes, and the instruction that counts the bits of 16 bytes.
//
// Byte b of 64 rows lies side by side, so a row's distance is a column sum of vcnt(plane ^ query
// byte): three instructions per byte of code for 16 rows, and no horizontal sums.
#include "kernel.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

#include "plain.hpp"

namespace diffhash {
namespace {

// 31 bytes are 248 bits: the most whole bytes whose distance fits a byte.
constexpr std::size_t kSegment = 31;

DIFFHASH_INLINE void segment(const std::uint8_t* plane, const std::uint8_t* query, std::size_t bytes,
                             uint8x16_t* sum) {
    for (int v = 0; v < 4; ++v) sum[v] = vdupq_n_u8(0);
    for (std::size_t b = 0; b < bytes; ++b, plane += kChunk) {
        const uint8x16_t byte = vdupq_n_u8(query[b]);
        for (int v = 0; v < 4; ++v)
            sum[v] = vaddq_u8(sum[v], vcntq_u8(veorq_u8(vld1q_u8(plane + 16 * v), byte)));
    }
}

template <int BYTES>
DIFFHASH_INLINE void score8(const std::uint8_t* planes, std::size_t rows, std::size_t runtime_bytes,
                            const std::uint8_t* table, std::uint8_t* out, unsigned* minimum) {
    const std::size_t bytes = BYTES ? BYTES : runtime_bytes;
    uint8x16_t least = vdupq_n_u8(255);
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * bytes) {
        uint8x16_t sum[4];
        segment(planes, table, bytes, sum);
        for (int v = 0; v < 4; ++v) {
            vst1q_u8(out + start + 16 * v, sum[v]);
            least = vminq_u8(least, sum[v]);
        }
    }
    *minimum = vminvq_u8(least);
}

void distances8(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                const std::uint8_t* table, std::uint8_t* const* out, unsigned* minimum) {
    switch (code_bytes) {
        case 8:
            return score8<8>(planes, rows, 8, table, out[0], minimum);
        case 16:
            return score8<16>(planes, rows, 16, table, out[0], minimum);
        default:
            return score8<0>(planes, rows, code_bytes, table, out[0], minimum);
    }
}

void distances16(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                 const std::uint8_t* table, std::uint16_t* const* out, unsigned* minimum) {
    uint16x8_t least = vdupq_n_u16(65535);
    for (std::size_t start = 0; start < rows; start += kChunk, planes += kChunk * code_bytes) {
        uint16x8_t total[8];
        for (int v = 0; v < 8; ++v) total[v] = vdupq_n_u16(0);
        for (std::size_t b = 0; b < code_bytes; b += kSegment) {
            uint8x16_t sum[4];
            segment(planes + kChunk * b, table + b, code_bytes - b < kSegment ? code_bytes - b : kSegment,
                    sum);
            for (int v = 0; v < 4; ++v) {
                total[2 * v] = vaddw_u8(total[2 * v], vget_low_u8(sum[v]));
                total[2 * v + 1] = vaddw_high_u8(total[2 * v + 1], sum[v]);
            }
        }
        for (int v = 0; v < 8; ++v) {
            vst1q_u16(out[0] + start + 8 * v, total[v]);
            least = vminq_u16(least, total[v]);
        }
    }
    *minimum = vminvq_u16(least);
}

// --- preparing ----------------------------------------------------------------------------------

std::size_t plane_bytes(std::size_t code_bytes) { return code_bytes; }

void prepare_queries(const std::uint8_t* const* queries, std::size_t, std::size_t code_bytes,
                     std::uint8_t* table) {
    std::memcpy(table, queries[0], code_bytes);
}

DIFFHASH_INLINE uint8x16_t zip32(uint8x16_t x, uint8x16_t y, bool high) {
    const uint32x4_t a = vreinterpretq_u32_u8(x), b = vreinterpretq_u32_u8(y);
    return vreinterpretq_u8_u32(high ? vzip2q_u32(a, b) : vzip1q_u32(a, b));
}

DIFFHASH_INLINE uint8x16_t zip64(uint8x16_t x, uint8x16_t y, bool high) {
    const uint64x2_t a = vreinterpretq_u64_u8(x), b = vreinterpretq_u64_u8(y);
    return vreinterpretq_u8_u64(high ? vzip2q_u64(a, b) : vzip1q_u64(a, b));
}

// Eight byte columns of 16 rows; words[r] holds the eight bytes of row r.
DIFFHASH_INLINE void store_columns(const std::uint64_t* words, std::size_t columns, std::uint8_t* plane) {
    uint16x8_t two[8];
    uint8x16_t four[8], eight[8];
    for (int i = 0; i < 8; ++i) {
        const uint8x8_t even = vcreate_u8(words[2 * i]), odd = vcreate_u8(words[2 * i + 1]);
        two[i] = vreinterpretq_u16_u8(vzip1q_u8(vcombine_u8(even, even), vcombine_u8(odd, odd)));
    }
    for (int i = 0; i < 4; ++i) {
        four[i] = vreinterpretq_u8_u16(vzip1q_u16(two[2 * i], two[2 * i + 1]));      // columns 0 to 3
        four[4 + i] = vreinterpretq_u8_u16(vzip2q_u16(two[2 * i], two[2 * i + 1]));  // columns 4 to 7
    }
    for (int half = 0; half < 2; ++half) {
        for (int i = 0; i < 2; ++i) {
            const uint8x16_t x = four[4 * half + 2 * i], y = four[4 * half + 2 * i + 1];
            eight[4 * half + i] = zip32(x, y, false);
            eight[4 * half + 2 + i] = zip32(x, y, true);
        }
    }
    for (std::size_t c = 0; c < columns; ++c)
        vst1q_u8(plane + kChunk * c, zip64(eight[c / 2 * 2], eight[c / 2 * 2 + 1], c % 2 != 0));
}

const std::uint8_t* prepare_block(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                                  std::uint8_t* scratch) {
    for (std::size_t row = 0; row < round_up(rows, kChunk); row += 16) {
        const std::size_t real = row >= rows ? 0 : rows - row < 16 ? rows - row : 16;
        std::uint8_t* plane = scratch + row / kChunk * kChunk * code_bytes + row % kChunk;
        for (std::size_t byte = 0; byte < code_bytes; byte += 8) {
            std::uint64_t words[16] = {};
            for (std::size_t r = 0; r < real; ++r)
                words[r] = code_word(codes + (row + r) * code_bytes, code_bytes, byte / 8);
            store_columns(words, code_bytes - byte < 8 ? code_bytes - byte : 8, plane + kChunk * byte);
        }
    }
    return scratch;
}

// --- selecting and packing ------------------------------------------------------------------------

// Skipping sixteen rows at a time is enough: a block is looked at only when something is in it.
std::size_t select8(const std::uint8_t* distances, std::size_t rows, unsigned limit,
                    std::uint32_t* positions) {
    const uint8x16_t bound = vdupq_n_u8(static_cast<std::uint8_t>(limit < 255 ? limit : 255));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 16) {
        if (!vmaxvq_u8(vcleq_u8(vld1q_u8(distances + r), bound))) continue;
        for (std::size_t i = r; i < rows && i < r + 16; ++i) {
            positions[found] = static_cast<std::uint32_t>(i);
            found += distances[i] <= limit;
        }
    }
    return found;
}

std::size_t select16(const std::uint16_t* distances, std::size_t rows, unsigned limit,
                     std::uint32_t* positions) {
    const uint16x8_t bound = vdupq_n_u16(static_cast<std::uint16_t>(limit < 65535 ? limit : 65535));
    std::size_t found = 0;
    for (std::size_t r = 0; r < rows; r += 8) {
        if (!vmaxvq_u16(vcleq_u16(vld1q_u16(distances + r), bound))) continue;
        for (std::size_t i = r; i < rows && i < r + 8; ++i) {
            positions[found] = static_cast<std::uint32_t>(i);
            found += distances[i] <= limit;
        }
    }
    return found;
}

void pack32(const float* values, std::size_t rows, std::size_t n_bits, const float* thresholds,
            std::uint8_t* codes) {
    const std::uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint32x4_t low = vld1q_u32(bits), high = vld1q_u32(bits + 4);
    for (std::size_t r = 0; r < rows; ++r, values += n_bits) {
        std::size_t b = 0;
        for (; b + 8 <= n_bits; b += 8) {
            const uint32x4_t first =
                vandq_u32(vcgeq_f32(vld1q_f32(values + b), vld1q_f32(thresholds + b)), low);
            const uint32x4_t second =
                vandq_u32(vcgeq_f32(vld1q_f32(values + b + 4), vld1q_f32(thresholds + b + 4)), high);
            *codes++ = static_cast<std::uint8_t>(vaddvq_u32(vorrq_u32(first, second)));
        }
        if (b < n_bits) *codes++ = sign_byte(values + b, thresholds + b, n_bits - b);
    }
}

const Kernel kernel = {
    "neon",      1,       plane_bytes, plane_bytes, prepare_queries, prepare_block, distances8,
    distances16, nullptr, nullptr,     select8,     select16,        pack32,        pack_plain<double>,
    nullptr,
};

}  // namespace

const Kernel* neon_kernel() { return &kernel; }

}  // namespace diffhash

#else

namespace diffhash {
const Kernel* neon_kernel() { return nullptr; }
}  // namespace diffhash

#endif
