#!/usr/bin/env bash
# Runs every ```sh block of pages for developers, in order, in a temporary folder that looks like the repository.
#
#   pages_test.sh SOURCE_DIR BUILD_DIR PAGE...
set -euo pipefail
source_dir=$(cd "$1" && pwd)
build_dir=$(cd "$2" && pwd)
shift 2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tree/out" "$folder/stand-ins"
cd "$folder/tree"
for entry in CMakePresets.json compiler dialects models test tools; do
  ln -s "$source_dir/$entry" "$entry"
done
ln -s "$build_dir" build

# What builds Heddle has been done: its preset is there, and so is its target.
cmake=$(command -v cmake)
cat >"$folder/stand-ins/cmake" <<STAND_IN
#!/usr/bin/env bash
[ "\${1-} \${2-}" = "--build --preset" ] || exec "$cmake" "\$@"
grep -q "\"name\": \"\$3\"" CMakePresets.json || { echo "CMakePresets.json has no preset \$3" >&2; exit 1; }
[ "\${4-}" != --target ] || "$cmake" --build build --target help | grep -q "^\$5: " || { echo "there is no target \$5" >&2; exit 1; }
STAND_IN
chmod +x "$folder/stand-ins/cmake"
export PATH="$folder/stand-ins:$PATH"

for page in "$@"; do
  awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/$page" >"$folder/blocks.sh"
  [ -s "$folder/blocks.sh" ] || { echo "$page has no sh block" >&2; exit 1; }
  bash -euxo pipefail "$folder/blocks.sh" >"$folder/log" 2>&1 || { cat "$folder/log"; echo "FAILED: $page" >&2; exit 1; }
done
echo "the commands of $* work"
