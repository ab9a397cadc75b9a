// Which rows lie within a query's limit, from bit planes and without the distances.
//
// A block of 512 codes is turned into planes: plane b has bit b of every row. A full adder takes three
// planes of the same weight and gives their sum (same weight) and carry (twice the weight) for all rows at
// once, in two instructions of AVX-512. What a query adds is that some planes are inverted before.
//
// First level: adder i takes the sum of the adder before it and bits 2i and 2i + 1. The sum is a parity. A
// query can only invert it, so it does not depend on the query otherwise, and nothing is computed for it.
// The carry depends on three bits of the query: one for each of the two planes, and the parity of the
// query's bits before them. All 8 versions of a carry are put in a table once per block. A query then loads
// one of them per two bits ("choices"), 32 planes of weight 2 for 64 bits, and adds these.
//
// Limit: let C be the number of carries of a row and p the parity of its distance, so d = 2 C + p. For an
// odd limit 2 m + 1, d <= limit means C <= m; for an even limit 2 m it means C + p <= m. With N planes,
// 2^N > C, this is the same as C + [p] + (2^N - 1 - m) < 2^N: no carry leaves the highest plane. The sum
// starts with the planes of the constant instead of zero ("biases"); with p added each of these is 0, 1, p or
// its inverse for all rows. A limit of 0 would need one more plane: it is a limit of 1, and only rows with p = 0
// may pass. Where many codes are equal, most queries soon have a limit of 0, or find no more rows at all.
#pragma once

#include "scan.hpp"

namespace diffhash {

// Adders of the first level per word, which are also the carries that a query loads per word.
constexpr std::size_t kWordAdders = 32;
// A word's 32 carries are summed in this many planes, and one carry of the next weight is left.
constexpr std::size_t kLowPlanes = 5;
// Room for the planes of one bias, and where it says which rows may pass.
constexpr std::size_t kBiasBytes = 16, kMayPass = 15;
// Fewer queries than this do not make up for the preparation of a block.
constexpr std::size_t kMinSlicedQueries = 16;

constexpr std::size_t slice_words(std::size_t code_bytes) { return (code_bytes + 7) / 8; }

// Planes above the low ones: enough to count one carry per word.
constexpr std::size_t high_planes(std::size_t words) {
    std::size_t planes = 0;
    for (; words; words /= 2) ++planes;
    return planes;
}

inline bool can_slice(const Kernel& kernel, const Codes& codes, std::size_t n_queries) {
    return kernel.slices && n_queries >= kMinSlicedQueries && codes.n >= kSliceRows &&
           codes.code_bytes <= kernel.slices->max_code_bytes;
}

// What a tile of queries chooses from the tables, in units of 8 bytes.
class SlicedQueries {
public:
    SlicedQueries(const Codes& queries, std::size_t begin, std::size_t end)
        : words_(slice_words(queries.code_bytes)),
          choices_((end - begin) * words_ * kWordAdders),
          biases_((end - begin) * kBiasBytes),
          parities_(end - begin) {
        const std::size_t n = end - begin;
        for (std::size_t q = 0; q < n; ++q) {
            const std::uint8_t* code = queries.row(begin + q);
            unsigned parity = 0;
            for (std::size_t i = 0; i < words_ * kWordAdders; ++i) {
                const unsigned pair = i / 4 < queries.code_bytes ? code[i / 4] >> (2 * (i % 4)) & 3 : 0;
                // All queries of word 0, then all of word 1, as they are read.
                choices_.data()[(i / kWordAdders * n + q) * kWordAdders + i % kWordAdders] =
                    static_cast<std::uint8_t>(8 * (4 * parity + pair));
                parity ^= (pair ^ pair >> 1) & 1;
            }
            parities_[q] = parity;
        }
    }

    // The limit may be below 0, which no row passes, or above all distances.
    void set_limit(std::size_t q, int limit) {
        const int most = static_cast<int>(64 * words_) + 1;
        // Planes 0, 1, p and its inverse, of the parities of the codes alone.
        const unsigned may_pass = limit < 0 ? 0 : limit > 0 ? 1 : parities_[q] ? 2 : 3;
        biases_.data()[q * kBiasBytes + kMayPass] = static_cast<std::uint8_t>(8 * may_pass);
        limit = std::clamp(limit, 1, most);
        const std::size_t planes = kLowPlanes + high_planes(words_);
        const unsigned even = (1u << planes) - 1 - static_cast<unsigned>(limit / 2);
        const unsigned odd = even + (limit % 2 == 0);
        // The plane of p has the parities of the codes alone.
        const unsigned without = parities_[q] ? odd : even, with = parities_[q] ? even : odd;
        for (std::size_t j = 0; j < planes; ++j) {
            const unsigned a = without >> j & 1, b = with >> j & 1;
            biases_.data()[q * kBiasBytes + j] = static_cast<std::uint8_t>(8 * (a == b ? a : 2 + a));
        }
    }

    const std::uint8_t* choices() { return choices_.data(); }
    const std::uint8_t* biases() { return biases_.data(); }

private:
    const std::size_t words_;
    Scratch choices_;
    Scratch biases_;
    std::vector<unsigned> parities_;
};

// Finds the rows within the limits of a tile of queries and hands them to `visit`, in row order.
class SlicedScanner {
public:
    SlicedScanner(const Kernel& kernel, const Codes& codes, const Filter& filter, const Codes& queries,
                  std::size_t begin, std::size_t end)
        : slices_(*kernel.slices),
          codes_(codes),
          queries_(queries),
          begin_(begin),
          n_queries_(end - begin),
          reader_(codes, filter, kSliceRows),
          sliced_(queries, begin, end),
          scratch_(slices_.scratch_bytes(codes.code_bytes, end - begin)),
          masks_((end - begin) * 64),
          which_(end - begin) {}

    void set_limit(std::size_t q, int limit) { sliced_.set_limit(q, limit); }

    // visit(query, block, positions, distances, count), the query counted within the tile.
    template <class Visit>
    void scan(std::size_t begin, std::size_t end, Interrupt& interrupt, bool caller, const Visit& visit) {
        std::uint16_t positions[kSliceRows], distances[kSliceRows];
        Block block;
        reader_.reset(begin, end);
        while (reader_.read(block)) {
            if (interrupt.stopped()) return;
            const std::uint8_t* next = block.codes + block.count * codes_.code_bytes;
            for (std::size_t line = 0; line < kSliceRows * codes_.code_bytes; line += 64)
                DIFFHASH_PREFETCH(next + line);
            const std::size_t hits =
                slices_.hits(block.codes, block.count, codes_.code_bytes, n_queries_, sliced_.choices(),
                             sliced_.biases(), scratch_.data(), which_.data(), masks_.data());
            for (std::size_t h = 0; h < hits; ++h) {
                const std::size_t q = which_[h];
                const std::size_t count =
                    slices_.expand(masks_.data() + 64 * h, block.codes, block.count, codes_.code_bytes,
                                   queries_.row(begin_ + q), positions, distances);
                visit(q, block, positions, distances, count);
            }
            if (caller) interrupt.poll();
        }
    }

private:
    const Slices& slices_;
    const Codes codes_;
    const Codes queries_;
    const std::size_t begin_, n_queries_;
    BlockReader reader_;
    SlicedQueries sliced_;
    Scratch scratch_;
    Scratch masks_;
    std::vector<std::uint32_t> which_;
};

}  // namespace diffhash
