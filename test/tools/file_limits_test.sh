#!/usr/bin/env bash
# With a limit on file sizes, every program ends with an error and leaves no partial file, whether or not the file
# existed before: file_limits_test.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"

# refuses KIB COMMAND...: under the limit the command exits with 1 and gives the reason; no file here is new or has
# changed.
refuses() {
  local limit=$1 got=0
  shift
  find . -type f ! -name said.txt ! -name before.txt -exec cksum {} + | sort > before.txt
  (ulimit -f "$limit"; "$@") > said.txt 2>&1 || got=$?
  [ "$got" = 1 ] || fail "exit code $got instead of 1: $* $(cat said.txt)"
  grep -q "File too large" said.txt || fail "$* says $(cat said.txt)"
  ! grep -qE "Stack dump|LLVM ERROR|PLEASE submit" said.txt || fail "$* crashes: $(cat said.txt)"
  find . -type f ! -name said.txt ! -name before.txt -exec cksum {} + | sort | diff before.txt - || fail "$* leaves a file"
}
# The same for standard output.
refusesToPrint() {
  local limit=$1 got=0
  shift
  (ulimit -f "$limit"; "$@" > printed.txt) 2> said.txt || got=$?
  [ "$got" = 1 ] && grep -q "cannot write" said.txt || fail "$* gives $got and says $(cat said.txt)"
  ! grep -qE "Stack dump|LLVM ERROR|PLEASE submit" said.txt || fail "$* crashes: $(cat said.txt)"
}

small=(--set d_model=32 --set d_ff=64 --set encoder_layers=1 --set decoder_layers=1)
compile=("$bin/heddle-compile" "$models/numbers.toml" "${small[@]}")
echo before > there.heddle
refuses 64 "${compile[@]}" -o new.heddle
refuses 64 "${compile[@]}" -o there.heddle
refuses 8 "${compile[@]}" --compile-to=import -o new.mlir
refusesToPrint 8 "${compile[@]}" --compile-to=import -o -
quietly "${compile[@]}" --compile-to=import -o model.mlir
refuses 8 "$bin/heddle-opt" model.mlir -o new.mlir
refusesToPrint 8 "$bin/heddle-opt" model.mlir
got=0
(ulimit -f 8; "${compile[@]}" --compile-to=import --dump-phases dumps -o /dev/null) > said.txt 2>&1 || got=$?
[ "$got" = 1 ] && grep -q "dumps.*File too large" said.txt || fail "--dump-phases gives $got: $(cat said.txt)"
[ -z "$(ls dumps)" ] || fail "--dump-phases leaves $(ls dumps)"
quietly "${compile[@]}" -o n.heddle
refusesToPrint 8 "$bin/heddle-inspect" n.heddle
refusesToPrint 8 "$bin/heddle-inspect" n.heddle --json
refuses 8 "$bin/heddle-data" numbers --out numbers --train 3000 --valid 1 --test 1
refusesToPrint 8 "$bin/heddle-data" spell $(seq 1 900)
mkdir parses
for part in test valid; do # are written before
  quietly "$bin/heddle-data" parses --out parses --train 1 --valid 1 --test 1 --seed 1
done
refuses 8 "$bin/heddle-data" parses --out parses --train 3000 --valid 1 --test 1 --seed 1
for step in $(seq 1 300); do
  echo "{\"step\":$step,\"loss\":1.5,\"learning_rate\":0.1,\"seconds\":1,\"source_tokens\":5,\"target_tokens\":5}"
done > log.jsonl
refuses 4 "$bin/heddle-run" report log.jsonl --html page.html
quietly "$bin/heddle-run" report log.jsonl --html page.html
refuses 4 "$bin/heddle-run" report log.jsonl --html page.html
for program in compile run opt inspect data; do
  "$bin/heddle-$program" --version > said.txt 2>&1 || fail "heddle-$program --version: $(cat said.txt)"
  grep -qx "heddle-$program [0-9]*\.[0-9]*\.[0-9]*" said.txt || fail "heddle-$program --version says $(cat said.txt)"
done
echo "all as expected"
