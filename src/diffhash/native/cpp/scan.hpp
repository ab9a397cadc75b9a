// The main loop of every search: over blocks of rows, and for each block over all queries of a tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "kernel.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"

namespace diffhash {

// Codes of shape (n, code_bytes), contiguous in memory.
struct Codes {
    const std::uint8_t* data;
    std::size_t n;
    std::size_t code_bytes;

    const std::uint8_t* row(std::size_t r) const { return data + r * code_bytes; }
    // Distances of up to 248 bits are kept in a byte.
    bool narrow() const { return code_bytes < 32; }
};

// Which rows may be found: bit r % 8 of byte r / 8. Null: all.
struct Filter {
    const std::uint8_t* bits = nullptr;

    bool allows(std::size_t r) const { return bits[r / 8] >> (r % 8) & 1; }
};

// Bytes aligned to a cache line, as the kernels require.
class Scratch {
public:
    explicit Scratch(std::size_t bytes) : storage_(bytes + 64) {
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
        data_ = storage_.data() + (64 - address % 64) % 64;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::uint8_t* data() { return data_; }

private:
    std::vector<std::uint8_t> storage_;
    std::uint8_t* data_;
};

// Rows of a block: few enough that its planes stay in the first-level cache beside the tables.
inline std::size_t block_rows(std::size_t code_bytes) {
    return std::clamp(round_up(8192 / code_bytes, kChunk), 2 * kChunk, 16 * kChunk);
}

// Codes to score. With a filter the allowed rows are gathered, and `rows` has their row numbers.
struct Block {
    const std::uint8_t* codes;
    std::size_t count;
    std::size_t first;
    const std::uint64_t* rows;

    std::size_t row(std::size_t position) const { return rows ? rows[position] : first + position; }
};

// The allowed rows of [begin, end) as blocks.
class BlockReader {
public:
    BlockReader(const Codes& codes, const Filter& filter, std::size_t rows)
        : codes_(codes), filter_(filter), limit_(rows), gathered_(filter.bits ? rows * codes.code_bytes : 0) {
        if (filter.bits) rows_.resize(rows);
    }

    void reset(std::size_t begin, std::size_t end) {
        next_ = begin;
        end_ = end;
    }

    bool read(Block& block) {
        if (filter_.bits) return gather(block);
        if (next_ >= end_) return false;
        block = {codes_.row(next_), std::min(limit_, end_ - next_), next_, nullptr};
        next_ += block.count;
        return true;
    }

private:
    bool gather(Block& block) {
        std::size_t count = 0;
        while (next_ < end_ && count < limit_) {
            if (next_ % 8 == 0 && next_ + 8 <= end_ && !filter_.bits[next_ / 8]) {
                next_ += 8;
                continue;
            }
            if (filter_.allows(next_)) {
                rows_[count] = next_;
                std::memcpy(gathered_.data() + count * codes_.code_bytes, codes_.row(next_),
                            codes_.code_bytes);
                ++count;
            }
            ++next_;
        }
        block = {gathered_.data(), count, 0, rows_.data()};
        return count > 0;
    }

    const Codes codes_;
    const Filter filter_;
    const std::size_t limit_;
    std::size_t next_ = 0, end_ = 0;
    Scratch gathered_;
    std::vector<std::uint64_t> rows_;
};

// Scores blocks against a tile of queries and hands each query's distances to `visit`.
template <class Distance>
class Scanner {
public:
    Scanner(const Kernel& kernel, const Codes& codes, const Filter& filter, const Codes& queries,
            std::size_t begin, std::size_t end)
        : kernel_(kernel),
          codes_(codes),
          n_queries_(end - begin),
          block_rows_(block_rows(codes.code_bytes)),
          reader_(codes, filter, block_rows_),
          table_bytes_(round_up(kernel.table_bytes(codes.code_bytes), 64)),
          tables_(table_bytes_ * ((end - begin + kernel.group - 1) / kernel.group)),
          planes_(block_rows_ * kernel.plane_bytes(codes.code_bytes)),
          distances_(kMaxGroup * block_rows_ * sizeof(Distance)) {
        for (std::size_t q = 0; q < kMaxGroup; ++q)
            out_[q] = reinterpret_cast<Distance*>(distances_.data()) + q * block_rows_;
        // One query is limited by the memory bandwidth: preparing the codes would only add work.
        if (n_queries_ == 1 && codes.code_bytes % 8 == 0 && direct()) lone_ = queries.row(begin);
        const std::uint8_t* group[kMaxGroup];
        for (std::size_t q = 0, t = 0; q < n_queries_; q += kernel.group, ++t) {
            const std::size_t count = std::min(kernel.group, n_queries_ - q);
            for (std::size_t i = 0; i < count; ++i) group[i] = queries.row(begin + q + i);
            kernel.prepare_queries(group, count, codes.code_bytes, tables_.data() + t * table_bytes_);
        }
    }

    // visit(query, block, distances, minimum), the query counted within the tile.
    template <class Visit>
    void scan(std::size_t begin, std::size_t end, Interrupt& interrupt, bool caller, const Visit& visit) {
        Block block;
        reader_.reset(begin, end);
        while (reader_.read(block)) {
            if (interrupt.stopped()) return;
            if (lone_) {
                visit(0, block, out_[0],
                      direct()(block.codes, block.count, codes_.code_bytes, lone_, out_[0]));
            } else {
                score(block, visit);
            }
            if (caller) interrupt.poll();
        }
    }

    std::size_t select(const Distance* distances, std::size_t rows, unsigned limit,
                       std::uint32_t* positions) const {
        if constexpr (sizeof(Distance) == 1)
            return kernel_.select8(distances, rows, limit, positions);
        else
            return kernel_.select16(distances, rows, limit, positions);
    }

    std::size_t rows_per_block() const { return block_rows_; }

private:
    auto direct() const {
        if constexpr (sizeof(Distance) == 1)
            return kernel_.direct8;
        else
            return kernel_.direct16;
    }

    template <class Visit>
    void score(const Block& block, const Visit& visit) {
        const std::uint8_t* planes =
            kernel_.prepare_block(block.codes, block.count, codes_.code_bytes, planes_.data());
        // The next block is prefetched while this one is scored.
        const std::uint8_t* next = block.codes + block.count * codes_.code_bytes;
        for (std::size_t line = 0; line < block_rows_ * codes_.code_bytes; line += 64)
            DIFFHASH_PREFETCH(next + line);
        const std::uint8_t* table = tables_.data();
        for (std::size_t q = 0; q < n_queries_; q += kernel_.group, table += table_bytes_) {
            unsigned minimum[kMaxGroup];
            if constexpr (sizeof(Distance) == 1)
                kernel_.distances8(planes, block.count, codes_.code_bytes, table, out_, minimum);
            else
                kernel_.distances16(planes, block.count, codes_.code_bytes, table, out_, minimum);
            const std::size_t count = std::min(kernel_.group, n_queries_ - q);
            for (std::size_t i = 0; i < count; ++i) visit(q + i, block, out_[i], minimum[i]);
        }
    }

    const Kernel& kernel_;
    const Codes codes_;
    const std::size_t n_queries_;
    const std::size_t block_rows_;
    BlockReader reader_;
    const std::size_t table_bytes_;
    Scratch tables_;
    Scratch planes_;
    Scratch distances_;
    Distance* out_[kMaxGroup];
    const std::uint8_t* lone_ = nullptr;
};

// How a call is shared between threads. With many queries each thread takes tiles of them over all
// rows, and no results are merged. With few queries each takes ranges of rows for all of them.
struct Plan {
    std::size_t n_threads;
    bool by_query;
    std::size_t tile;  // queries scored together
};

inline Plan make_plan(const Codes& codes, std::size_t n_queries, std::size_t n_threads,
                      std::size_t tile_limit, std::size_t queries_per_thread = 32) {
    // Below about 100 microseconds of work another thread costs more time than it saves.
    constexpr double kWorthAThread = 1 << 20;
    const double work = static_cast<double>(codes.n) * static_cast<double>(codes.code_bytes) *
                        (1.0 + 0.05 * static_cast<double>(n_queries));
    Plan plan;
    plan.n_threads = std::clamp<std::size_t>(static_cast<std::size_t>(work / kWorthAThread), 1,
                                             std::max<std::size_t>(n_threads, 1));
    plan.by_query = plan.n_threads == 1 || n_queries >= queries_per_thread * plan.n_threads || codes.n < 4096;
    const std::size_t share = plan.by_query ? (n_queries + plan.n_threads - 1) / plan.n_threads : n_queries;
    // Tiles of at most 128 queries and of about the same size: a tile of few queries takes more time for each.
    const std::size_t n_tiles = std::max<std::size_t>((share + 127) / 128, 1);
    plan.tile = std::clamp<std::size_t>(round_up((share + n_tiles - 1) / n_tiles, kMaxGroup), kMaxGroup,
                                        std::max(tile_limit / kMaxGroup * kMaxGroup, kMaxGroup));
    return plan;
}

}  // namespace diffhash
