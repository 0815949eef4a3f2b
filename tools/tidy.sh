#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, over Heddle's code. Needs a build made by clang++-22 (the preset
# `release`, if that is installed): its precompiled headers cut the time per compiler file from thirty seconds to ten.
#
#   tools/tidy.sh [--analyze] [--build DIR] [--latest N | FILE.cpp...]
#
#   --latest N   the N files changed last in the commit history, and all uncommitted changes
#   FILE.cpp     default: all files, which takes about twenty minutes on two cores
#   --analyze    run the static analyzer, too
#   --build DIR  default: build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
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
  # Files that no longer exist, or that a shallow history lacks, are left out below.
  mapfile -t files < <({ git diff --name-only HEAD; git log --name-only --format=; } | awk '/\.cpp$/ && !seen[$0]++' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done | awk -v most="$latest" 'NR <= most')
elif [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.cpp')
fi
# Files that this build does not compile (other platforms, examples outside the tree) have no compile command.
python=/usr/bin/python3; [ -x $python ] || python=python3
mapfile -t files < <($python -c 'import json, os, sys
made = {os.path.relpath(entry["file"]) for entry in json.load(open(sys.argv[1]))}
print("\n".join(file for file in sys.argv[2:] if os.path.relpath(file) in made))' "$build/compile_commands.json" "${files[@]}")
[ -n "${files[0]}" ] || { echo "tidy: the build makes none of these files" >&2; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -P "$(env -u OMP_NUM_THREADS nproc)" -n 1 clang-tidy-22 -p "$build" --quiet "${checks[@]}" 2>/dev/null ||
  { echo "tidy: of ${#files[@]} files some have findings, above" >&2; exit 1; }
echo "tidy: ${#files[@]} files, nothing found"
