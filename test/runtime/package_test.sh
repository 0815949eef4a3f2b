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
lib=$(dirname "$(find "$prefix" -name 'libheddle.so')")
for library in heddle heddle-train; do
  if nm -D --defined-only "$lib/lib$library.so" | awk '{ print $3 }' | grep -v '^heddle_' | grep -v '^_Z.*St\|^_ZT\|^$'; then
    echo "lib$library.so exports more than the C API (above)" >&2
    exit 1
  fi
done
"$prefix/bin/heddle-compile" "$source/models/numbers.toml" -o "$work/numbers.heddle" >"$work/install.log"
"$prefix/bin/heddle-inspect" "$work/numbers.heddle" >>"$work/install.log"
[ -z "${HEDDLE_LONG-}" ] || "$source/test/runtime/use_package.sh" "$source" "$prefix" "$python"
