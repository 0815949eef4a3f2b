#!/usr/bin/env bash
# Runs every ```sh block of the README and of the pages of heddle-run's commands, in order, in a temporary folder that
# looks like the repository; training runs end after a few steps. With HEDDLE_LONG=1 they run to their end, the last
# lines printed by a block are compared with the ``` block after it, and the user guides run, too. A guide starts with
# the demo's results and an empty out/; train-a-model.md and the pages of commands start with the README's out/.
#
#   readme_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$(cd "$1" && pwd)
build_dir=$(cd "$2" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tree/build" "$folder/stand-ins"
cd "$folder/tree"
for entry in CMakeLists.txt CMakePresets.json models tools test; do
  ln -s "$source_dir/$entry" "$entry"
done
if [ -n "${HEDDLE_LONG-}" ]; then
  ln -s "$build_dir/bin" build/bin
else
  mkdir build/bin
  ln -s "$build_dir"/bin/* build/bin
  rm build/bin/heddle-run
  cat >build/bin/heddle-run <<STAND_IN
#!/usr/bin/env bash
# heddle-run with few steps, a checkpoint after every second one, and scores of a few lines: a model that has learnt nothing writes without end.
words=("\$@")
for ((i = 1; i < \${#words[@]}; ++i)); do
  case \${words[i - 1]} in
    --steps) words[i]=\$((words[i] < 12 ? words[i] : 12)) ;;
    --save-every) words[i]=2 ;;
    --src | --tgt)
      if [ "\$1" = score ]; then
        head -n 8 "\${words[i]}" > "$folder/few\${words[i - 1]}"
        words[i]=$folder/few\${words[i - 1]}
      fi
      ;;
  esac
done
exec "$build_dir/bin/heddle-run" "\${words[@]}"
STAND_IN
  chmod +x build/bin/heddle-run
fi
ln -s "$build_dir/test" build/test

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# scored PERCENT OUTPUT: fails unless at least this percentage of a test's lines is answered correctly.
scored() {
  awk -v least="$1" '/^exact match/ { right = $3 + 0 >= least } END { exit !right }' "$2" || fail "less than $1%: $(cat "$2")"
}

# Stand-ins for cmake and ctest check that the presets exist: this test runs after the build, and as one of the tests.
for program in cmake ctest; do
  cat >"$folder/stand-ins/$program" <<STAND_IN
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
  chmod +x "$folder/stand-ins/$program"
done
export PATH="$folder/stand-ins:$PATH"
# mpirun asks root for confirmation, and refuses more ranks than cores by default.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# The example of a pass test is a file of the lit suite.
awk '/^```mlir$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/docs/look-inside.md" |
  diff - "$source_dir/test/tools/heddle-opt/canonicalize.mlir"

run_page() {
  local page=$1 blocks=$folder/blocks/$1
  mkdir -p "$blocks"
  # LINE.sh is the block at that line of the page. LINE.expected is the output that follows it under the same heading.
  awk -v folder="$blocks" '
    /^```sh$/ { file = sprintf("%s/%04d", folder, NR); inside = ".sh"; next }
    /^```[a-z]+$/ { inside = "other"; next }
    /^```$/ && inside { if (inside == ".sh") behind = file; inside = ""; next }
    /^```$/ && behind { inside = ".expected"; file = behind; behind = ""; next }
    inside { if (inside != "other") print > (file inside); next }
    /^#/ { behind = "" }
  ' "$source_dir/$page"
  compgen -G "$blocks/*.sh" > /dev/null || fail "$page has no sh block"
  sed -i 's/^tools\/test\.sh.*$/test -x tools\/test.sh/' "$blocks"/*.sh

  local block name line
  for block in "$blocks"/*.sh; do
    name=${block%.sh} line=$((10#$(basename "$block" .sh)))
    # A failing command, or an unset variable, ends the run at its line; the trace shows it.
    bash -euxo pipefail "$block" </dev/null > "$name.out" || fail "$page:$line: $(tail -n 20 "$name.out")"
    [ -n "${HEDDLE_LONG-}" ] || continue
    if grep -q 'heddle-run score .*--checkpoint .*--src' "$block"; then
      scored 95 "$name.out"
    fi
    [ -f "$name.expected" ] || continue
    tail -n "$(wc -l < "$name.expected")" "$name.out" > "$name.end"
    if grep -q tools/demo.sh "$block"; then
      # The demo's scores and times may differ between machines, but its words may not.
      sed -i -E 's/[0-9]+(\.[0-9]+)?/N/g' "$name.expected" "$name.end"
      scored 98 "$name.out"
      # The command that the demo proposes to try next.
      [ "$(tail -n 1 "$name.out" | bash -e 2> /dev/null)" = vierhundertzwei ] || fail "$(tail -n 1 "$name.out") answers wrongly"
    fi
    diff "$name.expected" "$name.end" || fail "$page:$line prints something else"
  done
}

run_page README.md
for command in devices train average quantize score translate explain report tokenize render call bench; do
  run_page tools/heddle-run/docs/$command.md
done
[ -n "${HEDDLE_LONG-}" ] || exit 0
run_page docs/train-a-model.md
run_page tools/heddle-run/docs/generate.md # with models that train-a-model.md trains
run_page tools/heddle-run/docs/predict.md
run_page docs/serve.md
for page in docs/published-models.md docs/devices.md docs/look-inside.md; do
  rm -rf out
  run_page "$page"
done

[ "$(ls -A)" = "$(printf '%s\n' CMakeLists.txt CMakePresets.json build models out test tools)" ] ||
  fail "the commands of the README and the guides leave files beside build/ and out/: $(ls -A)"

# The words that a reader tries first: the digits, teens, tens, a hundred and a thousand, in every writing.
build/bin/heddle-data spell {0..20} {30..100..10} 1000 > asked.tsv
cut -f 2 asked.tsv | build/bin/heddle-run translate build/demo/numbers.heddle --checkpoint build/demo/averaged > answers.txt
paste asked.tsv answers.txt | awk -F '\t' '$3 != $4 { print; wrong = 1 } END { exit wrong }' || fail "the demo's model answers wrongly"
