#!/usr/bin/env bash
# Builds selftest.cpp in the ways that the name given asks for, and runs it.
#   address   AddressSanitizer and UndefinedBehaviorSanitizer
#   thread    ThreadSanitizer
#   avx512    the AVX-512 kernel with its instructions emulated by SIMDe
#   neon      the NEON kernel for AArch64, run by QEMU
# A way whose tools are missing is skipped, and says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
native=src/diffhash/native/cpp
out=build/selftest
mkdir -p "$out"
CXX=${CXX:-g++}
common="-std=c++17 -Wall -Wextra -I$native"
avx2="-mavx2 -mbmi -mpopcnt"
avx512="$avx2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vpopcntdq -Wno-maybe-uninitialized"

# build NAME COMPILER "FLAGS" "FLAGS FOR avx2.cpp" "FLAGS FOR avx512.cpp": every file with the flags of its level.
build() {
    local name=$1 compiler=$2 flags=$3 objects=()
    for file in $native/{top_k,within,join,distance_table,dispatch,portable,avx2,avx512,neon}.cpp tests/native/selftest.cpp; do
        local level=$(basename "$file" .cpp) extra=""
        [ "$level" = avx2 ] && extra=$4
        [ "$level" = avx512 ] && extra=$5
        $compiler $common $flags $extra -c "$file" -o "$out/$name-$level.o"
        objects+=("$out/$name-$level.o")
    done
    $compiler $flags "${objects[@]}" -pthread -o "$out/$name" ${6:-}
}

for way in "$@"; do
    echo "== $way"
    # The tests are native to x86-64 or AArch64; elsewhere only the portable kernel is compiled in.
    if [ "$(uname -m)" != x86_64 ]; then avx2="" avx512=""; fi
    case $way in
    address)
        build address "$CXX" "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" "$avx2" "$avx512"
        "$out/address" ;;
    thread)
        build thread "$CXX" "-O1 -g -fsanitize=thread" "$avx2" "$avx512"
        "$out/thread" brief ;;
    avx512)
        if ! echo '#include <simde/x86/avx512.h>' | $CXX -E -x c++ - >/dev/null 2>&1; then
            echo "skipped: no SIMDe headers (Debian: libsimde-dev)"; continue
        fi
        # Only the AVX-512 file sees the emulation; the others are built as ever.
        build avx512 "$CXX" "-O2 -DDIFFHASH_EMULATED_AVX512 -Wno-psabi" "$avx2" ""
        "$out/avx512" brief ;;
    neon)
        if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
            echo "skipped: no AArch64 compiler or QEMU (Debian: g++-aarch64-linux-gnu, qemu-user-static)"; continue
        fi
        build neon aarch64-linux-gnu-g++ "-O2" "" "" -static
        qemu-aarch64-static "$out/neon" brief ;;
    *) echo "unknown: $way" >&2; exit 2 ;;
    esac
done
