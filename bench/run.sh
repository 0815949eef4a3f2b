#!/usr/bin/env bash
# Builds Heddle, measures single ops and whole entries of transformer-base, and writes bench/results/DATE-DEVICE.json
# and .md. Nothing else should run on the machine meanwhile.
#
#   bench/run.sh [--device=vulkan:0] [--repeat=N] [--filter=REGEX] [--torch] [--out=DIR]
#
# --torch also measures PyTorch on this processor (bench/torch_cpu.py): a step of transformer-base takes it minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=vulkan
repeat=5
filter=.
torch=no
out=bench/results
for argument in "$@"; do
  case $argument in
    --device=*) device=${argument#*=} ;;
    --repeat=*) repeat=${argument#*=} ;;
    --filter=*) filter=${argument#*=} ;;
    --out=*) out=${argument#*=} ;;
    --torch) torch=yes ;;
    *) echo "bench/run.sh: unknown option '$argument'; the head of this file says which there are" >&2; exit 2 ;;
  esac
done

bin=build/bin
work=build/bench/run
cmake --preset release
cmake --build --preset release
cmake --build --preset release --target heddle_bench_models heddle-bench-kernels
rm -rf "$work"
mkdir -p "$work" "$out"

[ "$device" != vulkan ] || export HEDDLE_TARGET=${HEDDLE_TARGET-vulkan:software}
"$bin/heddle-bench-kernels" --device="$device" --repeat="$repeat" --benchmark_filter="$filter" \
  --benchmark_out="$work/kernels.json" --benchmark_out_format=json
"$bin/heddle-compile" models/transformer-base.toml -o "$work/base.heddle" --report="$work/report.json"
"$bin/heddle-compile" models/numbers.toml -o "$work/numbers.heddle"
bench() {
  local name=$1
  shift
  "$bin/heddle-run" bench "$@" --device="$device" --repeat "$repeat" --warmup 1 --save "$work/$name.json" | tee "$work/$name.txt"
}
bench transformer-base-train_step "$work/base.heddle" --entry train_step
bench transformer-base-decode_step "$work/base.heddle" --entry decode_step
bench transformer-base-decode_step-1 "$work/base.heddle" --entry decode_step --sequences 1
bench numbers-train_step "$work/numbers.heddle" --entry train_step --sequences 64
if [ "$torch" = yes ]; then
  for threads in 1 "$(nproc)"; do
    bench/torch_cpu.py models/numbers.toml --threads "$threads" --sequences 64 | tee "$work/torch-numbers-$threads.json"
  done
  bench/torch_cpu.py models/transformer-base.toml --threads "$(nproc)" --memory | tee "$work/torch-base-memory.json"
fi
python3 bench/collect.py "$work" "$out"
