#!/usr/bin/env bash
# Builds the extension with a sanitizer, and runs through Python the tests and the attack that call it.
#   sanitize_python.sh PYTHON WAY...
#   address   AddressSanitizer and UndefinedBehaviorSanitizer
#   thread    ThreadSanitizer
# Needs nanobind in the environment of PYTHON, and GCC with its sanitizers.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1
shift
native=src/diffhash/native/cpp
out=build/sanitize-python
mkdir -p "$out"
CXX=${CXX:-g++}
nanobind=$($python -c 'import nanobind, pathlib; print(pathlib.Path(nanobind.include_dir()).parent)')
headers=$($python -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$($python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
common="-std=c++17 -fPIC -fvisibility=hidden -fno-strict-aliasing -O1 -g -I$native -I$headers -I$nanobind/include -I$nanobind/ext/robin_map/include"
avx2="-mavx2 -mbmi -mpopcnt"
avx512="$avx2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vpopcntdq -Wno-maybe-uninitialized"
if [ "$(uname -m)" != x86_64 ]; then avx2="" avx512=""; fi

build() {
    local way=$1 flags=$2 objects=()
    for file in "$nanobind/src/nb_combined.cpp" $native/*.cpp; do
        local level=$(basename "$file" .cpp) extra=""
        [ "$level" = avx2 ] && extra=$avx2
        [ "$level" = avx512 ] && extra=$avx512
        $CXX $common $flags $extra -c "$file" -o "$out/$way-$level.o"
        objects+=("$out/$way-$level.o")
    done
    mkdir -p "$out/$way"
    $CXX -shared $flags "${objects[@]}" -pthread -o "$out/$way/_kernels$suffix"
}

# The runtime of the sanitizer must be the first library. The interpreter itself leaks on purpose.
# Tests that start processes of their own would run the installed extension: they are left out.
run() {
    local way=$1 runtime=$2 cases=$3
    local preload="$($CXX -print-file-name=$runtime) $($CXX -print-file-name=libstdc++.so.6)"
    export DIFFHASH_SANITIZED="$PWD/$out/$way/_kernels$suffix" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0 PYTHONMALLOC=malloc
    # Without fixed addresses ThreadSanitizer of older compilers cannot find room for its shadow.
    setarch -R env LD_PRELOAD="$preload" "$python" -m pytest -q -p tests.native.sanitized_kernels -p no:cacheprovider \
        tests/native tests/search/test_index.py tests/attack/test_metamorphic.py \
        -k "not forked and not ctrl_c and not cannot_be_started and not collection"
    setarch -R env LD_PRELOAD="$preload" "$python" -m tests.native.sanitized_kernels "$cases"
}

for way in "$@"; do
    echo "== $way"
    case $way in
    address)
        build address "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
        run address libasan.so 20000 ;;
    thread)
        build thread "-fsanitize=thread"
        run thread libtsan.so 5000 ;;
    *) echo "unknown: $way" >&2; exit 2 ;;
    esac
done
