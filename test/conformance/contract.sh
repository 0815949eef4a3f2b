#!/usr/bin/env bash
# Calls that name missing rows are refused, for each family of models: contract.sh BIN CHECK MODEL
set -euo pipefail
bin=$1 check=$2 model=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "contract.sh: $*" >&2; exit 1; }
compile() { "$bin/heddle-compile" "$@" > "$dir/said.txt" 2>&1 || fail "$(cat "$dir/said.txt")"; }

small=(--set d_model=16 --set heads=2 --set d_ff=16 --set vocab_size=40 --set max_tokens=60 --set max_sequences=6
  --set max_length=20 --set explain_entry=true)
# A call that only reads prompts does not use the result of the last layer's attention.
decoder=(--set architecture=decoder --set encoder_layers=0 --set decoder_layers=2 --set logits_entry=true)
encoder=(--set architecture=encoder --set encoder_layers=1 --set decoder_layers=0 --set token_types=2 --set pooler=true
  --set head=transform)
both=(--set encoder_layers=1 --set decoder_layers=1 --set logits_entry=true --set accumulate=true)
for family in both "both --set attention_window=4 --set positions=learned" "both --fuse-attention=false" decoder encoder; do
  name=${family%% *}
  declare -n sets=$name
  compile "$model" -o "$dir/model.heddle" "${small[@]}" "${sets[@]}" ${family#"$name"}
  grep -q warning "$dir/said.txt" && fail "$family: $(cat "$dir/said.txt")"
  echo "== $family"
  "$check" "$dir/model.heddle" 60 || fail "$family"
done
compile "$(dirname "$model")/memory-network.weft" -o "$dir/model.heddle" --set classes=3 --set width=16 --set vocab_size=40 \
  --set max_tokens=60 --set max_sequences=6 --set max_length=20 --set sentences=5 --set accumulate=true
grep -q warning "$dir/said.txt" && fail "memory-network: $(cat "$dir/said.txt")"
echo "== memory-network"
"$check" "$dir/model.heddle" 60 || fail "memory-network"
for pair in "bcnn classes=3 attention=both" "coattention classes=3 attention=parallel" "mpcnn hidden=8 attention=inputs"; do
  read -r text first second <<< "$pair"
  compile "$(dirname "$model")/$text.weft" -o "$dir/model.heddle" --set "$first" --set "$second" --set width=16 --set vocab_size=40 \
    --set max_tokens=60 --set max_sequences=6 --set max_length=20 --set accumulate=true
  grep -q warning "$dir/said.txt" && fail "$text: $(cat "$dir/said.txt")"
  echo "== $text"
  "$check" "$dir/model.heddle" 60 || fail "$text"
done
compile "$(dirname "$model")/graph-attention.weft" -o "$dir/model.heddle" --set classes=3 --set width=16 --set vocab_size=40 \
  --set max_tokens=60 --set max_sequences=6 --set max_length=20 --set neighbours=5 --set accumulate=true
grep -q warning "$dir/said.txt" && fail "graph-attention: $(cat "$dir/said.txt")"
echo "== graph-attention"
"$check" "$dir/model.heddle" 60 || fail "graph-attention"
