#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace diffhash {

// The xor of all words. Each thread reads its share; up to 63 bytes at the end of a share are skipped.
std::uint64_t read_all(const std::uint8_t* data, std::size_t bytes, bool prefetch, std::size_t n_threads);

}  // namespace diffhash
