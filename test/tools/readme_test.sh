#!/usr/bin/env bash
# Runs every ```sh block of the README, in order, in a temporary folder that looks like the repository, with small
# settings in place of the README's so that it takes a minute.
#
#   readme_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$(cd "$1" && pwd)
build_dir=$(cd "$2" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for entry in CMakeLists.txt CMakePresets.json models tools test; do
  ln -s "$source_dir/$entry" "$entry"
done
mkdir build
ln -s "$build_dir/bin" build/bin
ln -s "$build_dir/test" build/test
export HEDDLE_DEMO_STEPS=${HEDDLE_DEMO_STEPS:-5}

# What this test is part of already: configuring, building and running the tests. The presets named must exist.
mkdir stand-ins
for program in cmake ctest; do
  cat >"stand-ins/$program" <<STAND_IN
#!/usr/bin/env bash
while [ \$# -gt 0 ]; do
  if [ "\$1" = --preset ]; then
    grep -q "\"name\": \"\$2\"" CMakePresets.json && exit 0
    echo "$program: CMakePresets.json has no preset \$2" >&2
    exit 1
  fi
  shift
done
echo "$program: this test expects --preset" >&2
exit 1
STAND_IN
  chmod +x "stand-ins/$program"
done
export PATH="$folder/stand-ins:$PATH"

blocks=$(awk '/^```sh$/ { inside = 1; print "# README.md:" NR; next } /^```/ { inside = 0 } inside' "$source_dir/README.md")
[ -n "$blocks" ] || { echo "README.md has no sh block" >&2; exit 1; }

# The README's example of a pass test is one that the lit suite runs.
awk '/^```mlir$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/README.md" |
  diff - "$source_dir/test/tools/heddle-opt/canonicalize.mlir"

# --steps 400 and the like, and the size of the data, become small; the order of two step counts is kept.
small=$(sed -E \
  -e 's/--steps ([0-9]+)00\b/--steps \1/g' \
  -e 's/(heddle-numbers .*--out [^ ]+)/\1 --train 400 --valid 40 --test 40/' \
  -e 's/^tools\/test\.sh.*$/test -x tools\/test.sh/' <<<"$blocks")

# A command that fails, or a variable that is not set, ends the run at its line, which is in the trace.
bash -euxo pipefail -c "$small" </dev/null
