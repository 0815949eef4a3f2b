#!/usr/bin/env bash
# Memory of `translate` over many lines, 10,000 or with HEDDLE_LONG=1 100,000: translate_soak.sh BIN MODELS
set -euo pipefail
bin=$1
models=$2
lines=$([ -n "${HEDDLE_LONG-}" ] && echo 100000 || echo 10000)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

{
  "$bin/heddle-numbers" --out data --train 600 --valid 10 --test 10 --maximum 999
  "$bin/heddle-compile" "$models/numbers.toml" --set d_model=8 --set heads=1 --set d_ff=8 --set encoder_layers=1 \
    --set decoder_layers=1 --set max_tokens=8192 --set max_sequences=1024 --set max_length=10 -o n.heddle
  "$bin/heddle-run" train n.heddle --src data/train.en --tgt data/train.de --checkpoint c --steps 2 --seed 1
} > said.txt 2>&1 || { cat said.txt; exit 1; }

# Every kind of line, again and again.
{ cat data/train.en; echo; printf 'caf\xe9\n'; } > some.txt
fed() { while true; do cat some.txt; done | head -n "$lines"; }
: > out.txt # which is read before the program below may have made it
"$bin/heddle-run" translate n.heddle --checkpoint c < <(fed) > out.txt 2> said.txt &
translating=$!
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$translating/status" 2> /dev/null || true; }
early=0 late=0
while kill -0 "$translating" 2> /dev/null; do
  done=$(wc -l < out.txt)
  now=$(resident)
  if [ -n "$now" ]; then
    # A fifth of the lines fills every buffer; from then on nothing may grow.
    if [ "$done" -lt $((lines / 5)) ]; then
      early=$((now > early ? now : early))
    else
      late=$((now > late ? now : late))
    fi
  fi
  sleep 0.05
done
wait "$translating" || { tail -n 3 said.txt; exit 1; }
[ "$(wc -l < out.txt)" = "$lines" ] || { echo "$(wc -l < out.txt) of $lines lines came out"; exit 1; }
echo "resident memory: $early kB in the first fifth of $lines lines, $late kB at most after it"
# One percent, for what allocators do.
[ "$early" -gt 0 ] && [ "$late" -gt 0 ] && [ "$late" -le $((early + early / 100)) ] || { echo "FAILED: memory grows"; exit 1; }
