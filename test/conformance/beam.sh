#!/usr/bin/env bash
# Compares beam search on the device with one on the host: beam.sh BIN CHECK MODEL [--set key=value ...]
set -euo pipefail
bin=$1 check=$2 model=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bin/heddle-compile" "$model" -o "$dir/model.heddle" --entries=inference --set logits_entry=true --set max_length=16 "$@" > "$dir/said.txt" 2>&1 || { cat "$dir/said.txt"; exit 1; }
"$check" "$dir/model.heddle"
