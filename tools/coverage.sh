#!/usr/bin/env bash
# Shows which lines the tests run, by folder: builds Heddle with clang's coverage and runs its tests.
#
#   tools/coverage.sh [--runtime-only] [--gate | --long | ctest's own options, for example -R lit]
#
#   --gate           the gate's tests (default)
#   --long           the gate's tests and the long ones
#   --runtime-only   without the compiler, which takes most of the time
#
# Prints the table to standard output, and writes every line's count to build-coverage/lines (a page per file).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD build=$PWD/build-coverage
options=()
if [ "${1-}" = --runtime-only ]; then
  options=(-DHEDDLE_BUILD_COMPILER=OFF)
  build+=-runtime
  shift
fi
case ${1---gate} in
  --gate) set -- -LE long ;;
  --long) set -- ;;
esac
tools=/usr/lib/llvm-22/bin
command -v clang++-22 >/dev/null && [ -x $tools/llvm-cov ] ||
  { echo "coverage: needs Debian's packages clang-22, llvm-22 and libclang-rt-22-dev" >&2; exit 1; }

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_CXX_FLAGS="-fprofile-instr-generate -fcoverage-mapping -Wno-pass-failed" "${options[@]}" >/dev/null
cmake --build "$build" --target all test/all
if [ -z "${VK_ICD_FILENAMES:-}" ]; then
  software=$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1 || true)
  [ -z "$software" ] || export VK_ICD_FILENAMES="$software"
fi
rm -rf "$build/profiles" "$build/lines"
failed=0 # tests that fail are told by ctest, and what they ran still counts
LLVM_PROFILE_FILE="$build/profiles/%8m.profraw" ctest --test-dir "$build" -j"$(nproc)" "$@" || failed=1

# A process that a test kills may leave a damaged profile.
$tools/llvm-profdata merge -sparse -failure-mode=all "$build"/profiles/*.profraw -o "$build/tests.profdata"
mapfile -t programs < <(find "$build/bin" "$build/test/bin" "$build/dialects" "$build/runtime" "$build/test/cuda" -type f \
  \( -perm -u+x -o -name '*.so*' \) 2>/dev/null | while read -r file; do $tools/llvm-readelf -S "$file" 2>/dev/null | grep __llvm_covmap >/dev/null && echo "$file"; done)
objects=()
for program in "${programs[@]:1}"; do objects+=(-object "$program"); done
cover() { $tools/llvm-cov "$@" -instr-profile="$build/tests.profdata" "${programs[0]}" "${objects[@]}" -ignore-filename-regex="^/usr|^$root/(build|test/)"; }
cover export -summary-only 2>/dev/null >"$build/summary.json"
cover show -format=html -output-dir="$build/lines" 2>/dev/null || true
python=/usr/bin/python3; [ -x $python ] || python=python3
$python - "$build/summary.json" "$root" <<'END'
import collections, json, os, sys
folders = collections.defaultdict(lambda: [0, 0])
for file in json.load(open(sys.argv[1]))["data"][0]["files"]:
    path = os.path.relpath(file["filename"], sys.argv[2])
    if path.startswith(".."):
        continue
    lines = file["summary"]["lines"]
    for folder in {"/".join(path.split("/")[:-1][:3 if path.startswith("compiler/") else 2]), "all"}:
        folders[folder][0] += lines["count"]
        folders[folder][1] += lines["covered"]
print(f"{'folder':32}{'lines':>8}{'run':>8}")
for folder, (count, covered) in sorted(folders.items(), key=lambda item: (item[0] == "all", item[0])):
    print(f"{folder:32}{count:8}{100 * covered / count:7.1f}%")
END
exit $failed
