#!/usr/bin/env bash
# Packs a few small cases and runs every phase of bench/gpu-check.sh on the emulated CUDA driver and on software Vulkan.
# Without HEDDLE_LONG=1 it packs one case and runs the first phase: gpu_pack_test.sh SOURCE BIN EMULATOR_FOLDER
set -euo pipefail
source=$1 bin=$2 emulator=$3
source "$source/test/tools/own_folder.sh"
export PATH=$source/test/bench/Inputs/gpu:/usr/bin:$PATH PYTHONPATH=$source/test/bench/Inputs/gpu

cases=parity-one-head bench=matmul-128,attention-64x2x64-full-bf16
if [ -n "${HEDDLE_LONG-}" ]; then
  cases+=,parity-one-head-smooth-f16,attention-bf16 bench+=,matmul-128-bf16,attention-64x2x64-causal-bf16,numbers
fi
"$source/bench/gpu-pack.sh" "$PWD/pack.tar.gz" --bin="$bin" --targets=vulkan:software,cuda:sm_90a --cases=$cases --bench=$bench
tar -xf pack.tar.gz
cd heddle-gpu

check() { # EXIT_CODE FLAG...
  local expected=$1 code=0
  shift
  LD_LIBRARY_PATH=$emulator ./gpu-check.sh --repeat=1 "$@" > out.txt 2>&1 || code=$?
  [ $code = "$expected" ] || fail "gpu-check.sh $*: exit code $code instead of $expected: $(cat out.txt)"
}
has() { # PHASE WHAT DEVICE RESULT, in the folder of results
  grep -q "\"phase\": \"$1\", \"what\": \"$2\", \"device\": \"$3\", \"result\": \"$4\"" "$results/results.jsonl" ||
    fail "no row '$*' in $(cat "$results/results.jsonl")"
}

# A check that runs out of time is reported and fails, and so do a missing device and unknown phases.
results=short
check 1 --out=short --only=conformance --devices=vulkan --match=parity --minutes=0
has conformance parity-one-head vulkan "cut off"
check 1 --out=short --only=conformance --devices=metal
has machine "is there" metal FAIL
check 2 --only=speed
# The lease script writes its rows, except PyTorch's, which need a GPU. It fails if an error exceeds the bound, which is
# 0 in the second run.
LD_LIBRARY_PATH=$emulator ./gpu-lease.sh --part=1 --out=lease --repeat=1 --torch-device=cpu --match=attention > out.txt 2>&1 ||
  fail "gpu-lease.sh: $(cat out.txt)"
for row in '"what": "attention-64x2x64-full-bf16 of 33", "variant": "default", "result": "ok"' \
  '"what": "attention-64x2x64-full-bf16,forward", "variant": "default", "result": "ok"' \
  '"what": "attention-64x2x64-full-bf16,backward", "variant": "default", "result": "ok"'; do
  grep -qF "$row" lease/lease.jsonl || fail "no row $row in $(cat lease/lease.jsonl)"
done
sed -i 's/^LARGEST_ERROR = .*/LARGEST_ERROR = 0/' torch/gpu_lease.py
if LD_LIBRARY_PATH=$emulator ./gpu-lease.sh --out=lease --repeat=1 --torch-device=cpu --match=attention > out.txt 2>&1; then
  fail "gpu-lease.sh finds no error where none is allowed"
fi

if [ -z "${HEDDLE_LONG-}" ]; then
  results=all
  check 0 --out=all --only=conformance
  for device in cuda vulkan; do has conformance parity-one-head $device ok; done
  exit
fi

# Each phase by itself; the results accumulate.
results=all
check 0 --out=all --only=conformance
check 0 --out=all --only=sanitizer --match=attention
check 0 --out=all --only=bench --match='matmul|attention'
check 0 --out=all --only=bench --match=numbers --devices=vulkan
check 0 --out=all --only=torch --torch-device=cpu
grep -q "numbers,train_step on vulkan, kernels: .* PyTorch .* ratio" out.txt || fail "nothing is beside PyTorch: $(cat out.txt)"
for device in cuda vulkan; do
  has conformance parity-one-head $device ok
  has conformance parity-one-head-smooth-f16 $device ok
done
grep -q -- "--entry accumulate_step --tolerance 0.01 " golden/parity-one-head-smooth-f16/*.calls ||
  fail "gradients without ReLUs are not within 1e-2"
has conformance attention-bf16 cuda ok
has conformance attention-bf16 vulkan "no code"
for tool in memcheck racecheck; do has sanitizer "$tool attention-bf16" cuda ok; done
for entry in forward input_gradient weight_gradient; do
  has bench matmul-128-bf16,$entry cuda ok
  for device in cuda vulkan; do has bench matmul-128,$entry $device ok; done
  has torch matmul-128,$entry cuda ok
done
for entry in forward backward; do
  has bench attention-64x2x64-causal-bf16,$entry cuda ok
  has torch attention-64x2x64-causal-bf16,$entry cuda ok
done
has bench numbers,train_step vulkan ok
has torch numbers,train_step cuda ok
[ "$(ls all | wc -l)" -le 6 ] || fail "too many files: $(ls all)"
tar -tf all/logs.tar | grep conformance-cuda-parity-one-head.log > /dev/null || fail "a log is missing: $(tar -tf all/logs.tar)"
tar -tf all/logs.tar | grep bench-cuda-matmul-128-bf16.json > /dev/null || fail "times by kernel are missing: $(tar -tf all/logs.tar)"

# A wrong value is found: here the last number of the logits.
calls=$(ls golden/parity-one-head/*.calls)
wrong=golden/parity-one-head/$(grep -o -m 1 -- '--expect=logits=@[^ ]*' "$calls" | sed 's/.*@//')
size=$(stat -c %s "$wrong")
printf '\x00\x00\x80\x42' | dd of="$wrong" bs=1 seek=$((size - 4)) conv=notrunc status=none # 64
results=wrong
check 1 --out=wrong --only=conformance --match='parity-one-head$'
for device in cuda vulkan; do has conformance parity-one-head $device FAIL; done
grep -q "output 'logits'" out.txt || fail "the output is not named: $(cat out.txt)"
echo "all as expected"
