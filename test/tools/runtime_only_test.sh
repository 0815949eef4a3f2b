#!/usr/bin/env bash
# Checks that the runtime's programs need neither LLVM nor a driver: those of the main build and, with HEDDLE_LONG=1,
# those of a separate build configured as on a machine without LLVM: by gcc, without clang.
#
#   runtime_only_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1
build_dir=$2

if [ -n "${HEDDLE_LONG-}" ]; then
  build_dir+=-of-runtime-only
  cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DHEDDLE_BUILD_COMPILER=OFF \
    -DHEDDLE_BUILD_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
  cmake --build "$build_dir"
fi

for program in heddle-run heddle-inspect; do
  "$build_dir/bin/$program" --help >/dev/null
  if ldd "$build_dir/bin/$program" | grep -E 'LLVM|MLIR|libvulkan|libcuda'; then
    echo "$program is linked to what it must open at run time or do without (above)" >&2
    exit 1
  fi
done
