#!/usr/bin/env bash
# The second task of "Attention Is All You Need", constituency parsing, in small: writes sentences of a grammar with
# their trees, trains the model of models/parsing.toml on them, averages its last checkpoints, and scores its parses of
# unseen sentences by labelled bracket F1. Needs a built Heddle; fails below an F1 of 95. HEDDLE_DEMO_STEPS and
# HEDDLE_DEMO_SEED set the training steps and the seed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=build/bin
work=build/parsing-demo
steps=${HEDDLE_DEMO_STEPS:-3600}
seed=${HEDDLE_DEMO_SEED:-1}

rm -rf "$work"
"$bin/heddle-data" parses --out "$work"
paste -d '\n' <(head -n 2 "$work/train.txt") <(head -n 2 "$work/train.tree")
"$bin/heddle-compile" models/parsing.toml -o "$work/parsing.heddle"
"$bin/heddle-run" train "$work/parsing.heddle" --src "$work/train.txt" --tgt "$work/train.tree" \
  --valid-src "$work/valid.txt" --valid-tgt "$work/valid.tree" --checkpoint "$work/checkpoint" \
  --steps "$steps" --validate-every 200 --save-every $(((steps + 35) / 36)) --keep-last 5 --seed "$seed" \
  --log "$work/train.jsonl"
"$bin/heddle-run" average --checkpoint "$work/checkpoint" --last $((steps < 5 ? steps : 5)) --output "$work/averaged"
"$bin/heddle-run" translate "$work/parsing.heddle" --checkpoint "$work/averaged" --max-length 95 \
  < "$work/test.txt" > "$work/parsed.tree"
"$bin/heddle-data" score-parses "$work/test.tree" "$work/parsed.tree" | tee "$work/score.txt"
awk '{ for (i = 1; i < NF; ++i) if ($i == "F1" && $(i + 1) + 0 >= 95) found = 1 } END { exit !found }' \
  "$work/score.txt" || { echo "parsing-demo: the F1 is below 95" >&2; exit 1; }
