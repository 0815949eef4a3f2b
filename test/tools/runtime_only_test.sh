#!/usr/bin/env bash
# Builds the runtime and its programs as on a machine without LLVM, and checks that none of them wants it. BUILD_DIR lies
# beside the main build, and the flags are the same: what the main build compiled comes from the compiler cache.
#
#   runtime_only_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1
build_dir=$2

cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEDDLE_BUILD_COMPILER=OFF \
  -DHEDDLE_BUILD_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
cmake --build "$build_dir"

for program in heddle-run heddle-inspect; do
  "$build_dir/bin/$program" --help >/dev/null
  if ldd "$build_dir/bin/$program" | grep -E 'LLVM|MLIR|libvulkan|libcuda'; then
    echo "$program is linked to what it must open at run time or do without (above)" >&2
    exit 1
  fi
done
