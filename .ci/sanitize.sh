#!/bin/sh
# The native core under three sanitizers: gcc's AddressSanitizer with UndefinedBehaviorSanitizer, and clang's
# ThreadSanitizer with LLVM's OpenMP, whose runtime it understands (Debian: apt install clang libomp-dev).
#
#   PYTHON=... sh .ci/sanitize.sh [address] [thread]    both unless named; CASES=2000 fuzzed fits under the first
#
# PYTHON needs the project with its extra `test` and nanobind; cmake and ninja must be found.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
CASES=${CASES:-2000}
WORK=${WORK:-build/sanitize}
export OPENBLAS_NUM_THREADS=1 PYTHONMALLOC=malloc
NATIVE_TESTS="tests/native tests/solve tests/graph tests/start tests/test_rows.py tests/test_many_clusters.py"

build() { # build KIND FLAGS [OPTION]: a copy of the package with the core built that way
    folder=$WORK/$1
    mkdir -p "$folder/package"
    cmake -G Ninja -S . -B "$folder/build" -DPython_EXECUTABLE="$PYTHON" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$2 -g -fno-omit-frame-pointer" -DCMAKE_SHARED_LINKER_FLAGS="$2" \
        -DCMAKE_MODULE_LINKER_FLAGS="$2" ${3:-} > "$folder/cmake.log" 2>&1 || { tail -20 "$folder/cmake.log"; exit 1; }
    cmake --build "$folder/build" > "$folder/build.log" 2>&1 || { tail -20 "$folder/build.log"; exit 1; }
    cp -r src/lapmodes "$folder/package/"
    rm -f "$folder"/package/lapmodes/_native*.so
    cp "$folder"/build/_native*.so "$folder/package/lapmodes/"
}

address() {
    CXX=g++ build address "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
    # CPython keeps what it allocates at import until it ends: leaks are not looked for.
    LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
    export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    export PYTHONPATH=$PWD/$WORK/address/package:$PWD OMP_NUM_THREADS=2
    "$PYTHON" -m pytest $NATIVE_TESTS -q -p no:cacheprovider
    "$PYTHON" -m fuzz fits --cases "$CASES" --seed 0 --failures "$WORK/failures"
    unset LD_PRELOAD PYTHONPATH ASAN_OPTIONS UBSAN_OPTIONS
}

thread() {
    # Threads do not depend on AVX-512, and it takes long.
    CXX=clang++ build thread "-fsanitize=thread" -DLAPMODES_AVX512=OFF
    # The sanitizer must be in the program itself: one that does nothing but run Python.
    config() { "$PYTHON" -c "import sysconfig; print(sysconfig.get_config_var('$1') or sysconfig.get_path('$1'))"; }
    printf '#include <Python.h>\nint main(int argc, char** argv) { return Py_BytesMain(argc, argv); }\n' > "$WORK/python.c"
    clang -fsanitize=thread -rdynamic -I"$(config include)" "$WORK/python.c" -o "$WORK/python" -L"$(config LIBDIR)" \
        -L"$(config LIBPL)" -lpython"$(config LDVERSION)" -Wl,-rpath,"$(config LIBDIR)" -ldl -lm -lpthread -lutil
    PYTHONHOME=$("$PYTHON" -c "import sys; print(sys.base_prefix)")
    PYTHONPATH=$PWD/$WORK/thread/package:$PWD:$(config purelib)
    # Archer tells the sanitizer how OpenMP synchronises; without it every loop looks like a race.
    OMP_TOOL_LIBRARIES=$(dirname "$(ldd "$WORK"/thread/package/lapmodes/_native*.so | awk '/libomp/ {print $3}')")/libarcher.so
    [ -e "$OMP_TOOL_LIBRARIES" ] || { echo "There is no libarcher.so beside LLVM's OpenMP."; exit 1; }
    export OMP_TOOL_LIBRARIES PYTHONHOME PYTHONPATH OMP_NUM_THREADS=8
    export TSAN_OPTIONS="suppressions=$PWD/.ci/tsan.supp exitcode=66 ignore_noninstrumented_modules=1"
    "$WORK/python" -m pytest tests/native tests/solve tests/graph -q -s -p no:cacheprovider
    unset OMP_TOOL_LIBRARIES PYTHONHOME PYTHONPATH TSAN_OPTIONS
}

for kind in "${@:-address thread}"; do
    for one in $kind; do "$one"; done
done
