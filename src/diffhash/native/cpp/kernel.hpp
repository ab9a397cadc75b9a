// The interface between the algorithms and the instruction sets: one table of functions per level.
//
// A block of codes is prepared once (in the layout of the level) and then scored against many
// queries while it stays in cache. Distances go to a small buffer, one byte each while a code has
// fewer than 256 bits and two bytes above, with their minimum beside them: as long as the minimum
// is not below a query's bound, the buffer is not read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diffhash {

// Every kernel works on whole chunks of this many rows. Results past the real rows are meaningless.
constexpr std::size_t kChunk = 64;
// 4096 bits: distances fit 16 bits, and a chunk of codes fits the stack.
constexpr std::size_t kMaxCodeBytes = 512;
// Queries scored together by one call of `distances`; a level may use fewer, never more.
constexpr std::size_t kMaxGroup = 2;

// Rows of a block that is scored in bit planes (bit_slices.hpp).
constexpr std::size_t kSliceRows = 512;

// Finds the rows within the limit of each query, from bit planes; see bit_slices.hpp.
struct Slices {
    // Codes of more bytes cannot be scored.
    std::size_t max_code_bytes;
    std::size_t (*scratch_bytes)(std::size_t code_bytes, std::size_t n_queries);

    // Scores up to kSliceRows codes. For each query with a row within its limit, `which` gets the query and
    // `masks` 64 bytes that say which rows; both have room for all queries. Returns how many there are.
    // Rows past the end may be among them.
    std::size_t (*hits)(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                        std::size_t n_queries, const std::uint8_t* choices, const std::uint8_t* biases,
                        std::uint8_t* scratch, std::uint32_t* which, std::uint8_t* masks);

    // Positions below `rows` that are in a mask, in increasing order, and their distances to the query.
    std::size_t (*expand)(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t rows,
                          std::size_t code_bytes, const std::uint8_t* query, std::uint16_t* positions,
                          std::uint16_t* distances);
};

struct Kernel {
    const char* name;
    std::size_t group;  // queries per table

    // Bytes of a prepared block, per row; bytes of the table of one group of queries.
    std::size_t (*plane_bytes)(std::size_t code_bytes);
    std::size_t (*table_bytes)(std::size_t code_bytes);

    // `queries` holds `count` <= group pointers; a table is always complete.
    void (*prepare_queries)(const std::uint8_t* const* queries, std::size_t count, std::size_t code_bytes,
                            std::uint8_t* table);

    // Lays out `rows` codes; returns `scratch`, or `codes` itself if they are used as they are.
    const std::uint8_t* (*prepare_block)(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                                         std::uint8_t* scratch);

    // Distances of the group's queries to the prepared rows: out[q] has room for whole chunks.
    void (*distances8)(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                       const std::uint8_t* table, std::uint8_t* const* out, unsigned* minimum);
    void (*distances16)(const std::uint8_t* planes, std::size_t rows, std::size_t code_bytes,
                        const std::uint8_t* table, std::uint16_t* const* out, unsigned* minimum);

    // One query over codes without preparing them, if that is faster; may be null.
    unsigned (*direct8)(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                        const std::uint8_t* query, std::uint8_t* out);
    unsigned (*direct16)(const std::uint8_t* codes, std::size_t rows, std::size_t code_bytes,
                         const std::uint8_t* query, std::uint16_t* out);

    // Positions in increasing order of all distances <= limit; `positions` has room for `rows`.
    std::size_t (*select8)(const std::uint8_t* distances, std::size_t rows, unsigned limit,
                           std::uint32_t* positions);
    std::size_t (*select16)(const std::uint16_t* distances, std::size_t rows, unsigned limit,
                            std::uint32_t* positions);

    // Bit b of a row is (values[b] >= thresholds[b]); padding bits are 0, NaN gives 0.
    void (*pack32)(const float* values, std::size_t rows, std::size_t n_bits, const float* thresholds,
                   std::uint8_t* codes);
    void (*pack64)(const double* values, std::size_t rows, std::size_t n_bits, const double* thresholds,
                   std::uint8_t* codes);

    // May be null.
    const Slices* slices;
};

// Null if the level was not compiled in. dispatch.cpp checks whether the CPU can run it.
const Kernel* portable_kernel();
const Kernel* avx2_kernel();
const Kernel* avx512_kernel();
const Kernel* neon_kernel();

// The levels that can run here, best first; the list ends with null.
const Kernel* const* available_kernels();
// By name; null if it does not exist or cannot run here. An empty name means the best.
const Kernel* find_kernel(const char* name);

inline std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

}  // namespace diffhash
