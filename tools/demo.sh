#!/usr/bin/env bash
# From nothing to a translator of number words: builds Heddle, writes the data, compiles the model, trains it, and
# scores it on numbers that it was never trained on. All files go to build/demo. The demo fails if any step fails.
# HEDDLE_DEMO_STEPS sets the number of training steps.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=build/bin
work=build/demo
steps=${HEDDLE_DEMO_STEPS:-500}

say() { printf '\n== %s\n' "$*"; }

say "Preparing and building"
tools/setup.sh
cmake --preset release
cmake --build --preset release --target heddle-compile heddle-run

say "Writing the data"
rm -rf "$work"
mkdir -p "$work"
"$bin/heddle-data" numbers --out "$work" --train 64000 --valid 500 --test 500 --maximum 999999 --seed 1
# A number has only one German spelling, so the German files show whether a number is in both parts.
if [ -n "$(sort "$work/test.de" | comm -12 - <(sort "$work/train.de"))" ]; then
  echo "demo: a test number is among the training numbers" >&2
  exit 1
fi
head -n 2 "$work/train.en" "$work/train.de"

say "Compiling the model"
"$bin/heddle-compile" models/numbers.toml -o "$work/numbers.heddle"

say "Training for $steps steps"
started=$(date +%s)
"$bin/heddle-run" train "$work/numbers.heddle" --src "$work/train.en" --tgt "$work/train.de" \
  --valid-src "$work/valid.en" --valid-tgt "$work/valid.de" --checkpoint "$work/checkpoint" \
  --steps "$steps" --validate-every 100 --save-every $(((steps + 24) / 25)) --keep-last 5 --seed 1 --log "$work/train.jsonl"
echo "training took $(($(date +%s) - started)) s"

say "Averaging its last five checkpoints"
"$bin/heddle-run" average --checkpoint "$work/checkpoint" --last $((steps < 5 ? steps : 5)) --output "$work/averaged"

say "Translating"
sed -n 3,5p "$work/test.en" > "$work/sample.en"
"$bin/heddle-run" translate "$work/numbers.heddle" --checkpoint "$work/averaged" \
  < "$work/sample.en" > "$work/sample.de"
paste -d '|' "$work/sample.en" "$work/sample.de" | sed 's/|/ -> /'

say "Scoring numbers that it has never seen"
"$bin/heddle-run" score "$work/numbers.heddle" --checkpoint "$work/averaged" \
  --src "$work/test.en" --tgt "$work/test.de" > "$work/score.txt" 2>&1 || { cat "$work/score.txt" >&2; exit 1; }
grep '^exact match' "$work/score.txt"

say "Try next"
echo "echo 'four hundred and two' | $bin/heddle-run translate $work/numbers.heddle --checkpoint $work/averaged"
