#!/usr/bin/env bash
# clang-tidy, with the checks of .clang-tidy, over Heddle's own code. Needs a build, made by clang++-22 (the preset `release` where that is
# installed): its precompiled headers make a file of the compiler a matter of ten seconds instead of thirty.
#
#   tools/tidy.sh [--analyze] [--build DIR] [--latest N | FILE.cpp...]
#
#   --latest N   the N files that were changed last, by the history of commits; those changed and not committed besides
#   FILE.cpp     default: all files, which takes some twenty minutes on two cores
#   --analyze    the static analyzer, too
#   --build DIR  default: build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build

checks=()
files=()
while [ $# -gt 0 ]; do
  case $1 in
    --analyze) checks=(--checks='clang-analyzer-*'); shift ;;
    --latest) latest=${2:?--latest takes a number}; shift 2 ;;
    --build) build=${2:?--build takes a folder}; shift 2 ;;
    -*) echo "tidy: unknown option '$1'; there are --analyze, --latest and --build" >&2; exit 2 ;;
    *) files+=("$1"); shift ;;
  esac
done
command -v clang-tidy-22 >/dev/null || { echo "tidy: clang-tidy-22 is not there; it is Debian's package of that name" >&2; exit 1; }
grep -q 'clang++-22' "$build/compile_commands.json" ||
  { echo "tidy: $build was not made by clang++-22, whose precompiled headers are needed" >&2; exit 1; }

if [ -n "${latest-}" ]; then
  git log -1 >/dev/null 2>&1 || { echo "tidy: there is no history of commits here" >&2; exit 77; } # a test is skipped then
  # A file of a history that is cut off, or that went, is left out below.
  mapfile -t files < <({ git diff --name-only HEAD; git log --name-only --format=; } | awk '/\.cpp$/ && !seen[$0]++' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done | awk -v most="$latest" 'NR <= most')
elif [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.cpp')
fi
# Files that this build does not make (of another platform or an example out of the tree) have no command.
python=/usr/bin/python3; [ -x $python ] || python=python3
mapfile -t files < <($python -c 'import json, os, sys
made = {os.path.relpath(entry["file"]) for entry in json.load(open(sys.argv[1]))}
print("\n".join(file for file in sys.argv[2:] if os.path.relpath(file) in made))' "$build/compile_commands.json" "${files[@]}")
[ -n "${files[0]}" ] || { echo "tidy: the build makes none of these files" >&2; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -P "$(env -u OMP_NUM_THREADS nproc)" -n 1 clang-tidy-22 -p "$build" --quiet "${checks[@]}" 2>/dev/null ||
  { echo "tidy: of ${#files[@]} files some have findings, above" >&2; exit 1; }
echo "tidy: ${#files[@]} files, nothing found"
