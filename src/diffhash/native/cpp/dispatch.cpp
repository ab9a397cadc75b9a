// Which levels this CPU can run.
#include <cstring>

#include "kernel.hpp"

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace diffhash {
namespace {

#if defined(DIFFHASH_EMULATED_AVX512)
bool has_avx2() { return true; }
bool has_avx512() { return true; }
#elif defined(__GNUC__) && defined(__x86_64__)
bool has_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vpopcntdq");
}
#elif defined(_MSC_VER) && defined(_M_X64)
// The CPU may have the instructions while the operating system does not save the registers.
bool saves_registers(unsigned mask) {
    int info[4];
    __cpuid(info, 1);
    return (info[2] >> 27 & 1) && (_xgetbv(0) & mask) == mask;
}
bool has_avx2() {
    int info[4];
    __cpuidex(info, 7, 0);
    return saves_registers(0x6) && (info[1] >> 5 & 1) && (info[1] >> 3 & 1);
}
bool has_avx512() {
    int info[4];
    __cpuidex(info, 7, 0);
    const unsigned b = static_cast<unsigned>(info[1]), c = static_cast<unsigned>(info[2]);
    return has_avx2() && saves_registers(0xE6) && (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) &&
           (b >> 31 & 1) && (c >> 1 & 1) && (c >> 14 & 1);
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

struct Levels {
    const Kernel* list[5] = {};

    Levels() {
        std::size_t count = 0;
        if (avx512_kernel() && has_avx512()) list[count++] = avx512_kernel();
        if (avx2_kernel() && has_avx2()) list[count++] = avx2_kernel();
        if (neon_kernel()) list[count++] = neon_kernel();  // every AArch64 has it
        list[count] = portable_kernel();
    }
};

}  // namespace

const Kernel* const* available_kernels() {
    static const Levels levels;
    return levels.list;
}

const Kernel* find_kernel(const char* name) {
    for (const Kernel* const* level = available_kernels(); *level; ++level)
        if (!name || !*name || std::strcmp(name, (*level)->name) == 0) return *level;
    return nullptr;
}

}  // namespace diffhash
