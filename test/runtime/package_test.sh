#!/usr/bin/env bash
# Installs Heddle into a folder and checks the contents. With HEDDLE_LONG=1, use_package.sh uses the installation.
#
#   package_test.sh SOURCE_DIR BUILD_DIR PYTHON
set -euo pipefail
source=$1 build=$2 python=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/install.log"
if grep -rlE "(^|[[:space:]\"';=:]|-[IL])$source(/|[[:space:]\"';]|$)" "$prefix/lib" --include='*.cmake' --include='*.pc'; then
  echo "installed files name a folder of the source tree (above)" >&2
  exit 1
fi
if grep -rn 'flatbuffers\|artifact_generated' "$prefix/include"; then
  echo "installed headers need flatbuffers (above)" >&2
  exit 1
fi
# The installed headers include only installed headers.
folders=(core published ranks text tokenizers data scores chat model train)
(cd "$prefix/include/heddle" && find runtime -name '*.h' | sort | sed 's|.*|#include "&"|') >"$work/headers.cpp"
for folder in "${folders[@]}"; do
  grep -q "runtime/$folder/" "$work/headers.cpp" || { echo "no header of runtime/$folder is installed" >&2; exit 1; }
done
c++ -std=c++20 -fsyntax-only -I"$prefix/include/heddle" "$work/headers.cpp"
lib=$(dirname "$(find "$prefix" -name 'libheddle.so')")
for pair in "heddle heddle-train" "heddle-train heddle"; do
  read -r name other <<<"$pair"
  grep -qx "Name: $name" "$lib/pkgconfig/$name.pc" && grep -qx "Conflicts: $other" "$lib/pkgconfig/$name.pc" ||
    { echo "$name.pc has another name, or does not conflict with $other" >&2; exit 1; }
done
for library in heddle heddle-train; do
  if nm -D --defined-only "$lib/lib$library.so" | awk '{ print $3 }' | grep -v '^heddle_' | grep -v '^_Z.*St\|^_ZT\|^$'; then
    echo "lib$library.so exports more than the C API (above)" >&2
    exit 1
  fi
done
"$prefix/bin/heddle-compile" "$source/models/numbers.toml" -o "$work/numbers.heddle" >"$work/install.log"
"$prefix/bin/heddle-inspect" "$work/numbers.heddle" >>"$work/install.log"
[ -z "${HEDDLE_LONG-}" ] || "$source/test/runtime/use_package.sh" "$source" "$prefix" "$python"
