#!/usr/bin/env bash
# Checks the memory of `translate` over many lines (40,000; 100,000 with HEDDLE_LONG=1): translate_soak.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
lines=$([ -n "${HEDDLE_LONG-}" ] && echo 100000 || echo 40000)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

{
  "$bin/heddle-data" numbers --out data --train 600 --valid 10 --test 10 --maximum 999
  "$bin/heddle-compile" "$models/numbers.toml" --set d_model=8 --set heads=1 --set d_ff=8 --set encoder_layers=1 \
    --set decoder_layers=1 --set max_tokens=8192 --set max_sequences=1024 --set max_length=10 -o n.heddle
  "$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --checkpoint c --steps 2 --seed 1
} > said.txt 2>&1 || { cat said.txt; exit 1; }

# Every kind of line, repeated.
{ cat data/train.en; echo; printf 'caf\xe9\n'; } > some.txt
fed() { LC_ALL=C awk -v count="$1" '{ line[NR] = $0 } END { for (i = 0; i < count; ++i) print line[i % NR + 1] }' some.txt; }
mkfifo lines
"$bin/heddle-run" translate n.heddle --checkpoint c < lines > out.txt 2> said.txt &
translating=$!
exec 3> lines
# Waits until no more output comes, and prints the program's peak memory.
peak() {
  local before=-1 now=0
  while [ "$now" != "$before" ] || [ "$now" = 0 ]; do
    kill -0 "$translating" 2> /dev/null || { tail -n 3 said.txt >&2; exit 1; }
    before=$now
    sleep 0.3
    now=$(wc -l < out.txt)
  done
  awk '/^VmHWM/ { print $2 }' "/proc/$translating/status"
}
# Half of the lines fill every buffer; after that nothing may grow.
fed $((lines / 2)) >&3
early=$(peak)
fed $((lines - lines / 2)) >&3
late=$(peak)
exec 3>&-
wait "$translating" || { tail -n 3 said.txt; exit 1; }
[ "$(wc -l < out.txt)" = "$lines" ] || { echo "$(wc -l < out.txt) of $lines lines came out"; exit 1; }
echo "most resident memory: $early kB in the first half of $lines lines, $late kB in all"
# Two percent are allowed for the allocator: 17 bytes per line for 40,000 lines.
[ "$late" -le $((early + early / 50)) ] || { echo "FAILED: memory grows"; exit 1; }
