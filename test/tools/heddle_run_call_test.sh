#!/usr/bin/env bash
# Tests `heddle-run call` and errors of the command line, on a small artifact: call_test.sh HEDDLE_RUN ARTIFACT_WRITER
set -euo pipefail
run=$1
write=$2
source "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
"$write"

# expect CODE TEXT COMMAND...: fails unless the command exits with CODE and prints TEXT.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > out.txt 2>&1 < /dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat out.txt)"
  grep -qF -- "$text" out.txt || fail "'$text' is not printed by: $* $(cat out.txt)"
}

call=("$run" call adder.heddle --entry add)
needs_vulkan "$run"
expect 0 "device vulkan:" "${call[@]}" --input=a=@a.npy --input=b=@b.npy --output=sum=@sum.npy
cmp sum.npy expected.npy || fail "sum.npy is wrong"
expect 0 "sum f32[4] = 11 22 33 44" "${call[@]}" --input=a=@a.npy --input=b=@b.npy --expect=sum=@expected.npy
expect 1 "4 of 4 values are wrong" "${call[@]}" --input=a=@a.npy --input=b=@a.npy --expect=sum=@expected.npy
expect 0 "largest absolute error 36" \
  "${call[@]}" --input=a=@a.npy --input=b=@a.npy --expect=sum=@expected.npy --tolerance=100
expect 1 "no output 'mean'; its outputs: sum" "${call[@]}" --input=a=@a.npy --input=b=@b.npy --output=mean=@x.npy
expect 1 "'none.npy'" "${call[@]}" --input=a=@none.npy --input=b=@b.npy
expect 1 "no entry 'mul'" "$run" call adder.heddle --entry mul
expect 2 "NAME=@FILE.npy" "${call[@]}" --input=a.npy
# Inputs are not overwritten.
cksum *.npy *.heddle > before.txt
added=("${call[@]}" --input=a=@a.npy --input=b=@b.npy)
expect 1 "--output 'a.npy' would replace a file that is read" "${added[@]}" --output=sum=@a.npy
ln -s expected.npy link.npy
expect 1 "--output 'link.npy' would replace 'expected.npy', which is read" "${added[@]}" --expect=sum=@expected.npy \
  --output=sum=@link.npy
expect 1 "--profile './adder.heddle' would replace 'adder.heddle'" "${added[@]}" --profile ./adder.heddle
rm link.npy
cksum *.npy *.heddle | diff before.txt - || fail "a file that is read is another one"

# Variables: three calls add three times, and saved variables can be loaded.
expect 0 "" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --repeat 3 --save-variables total.safetensors
expect 0 "" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --variables total.safetensors \
  --save-variables again.safetensors
cmp -s total.safetensors again.safetensors && fail "a fourth call changed nothing"
expect 0 "" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --repeat 4 --save-variables four.safetensors
cmp again.safetensors four.safetensors || fail "loaded variables are not those that were saved"

expect 0 "largest relative error 0" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --repeat 4 \
  --expect-variables four.safetensors
expect 1 "variable 'total' (0.25)" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --repeat 3 \
  --expect-variables four.safetensors
expect 0 "largest relative error 0.25" "$run" call adder.heddle --entry accumulate --input=a=@full.npy --repeat 3 \
  --expect-variables four.safetensors --tolerance 0.3

# A call per line, in a single session: variables keep their values.
cp full.npy "a full one.npy"
lines=("$run" call adder.heddle --calls)
expect_lines() {
  local code=$1 text=$2 got=0
  shift 2
  printf '%s\n' "$@" | "${lines[@]}" > out.txt 2>&1 || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $* $(cat out.txt)"
  grep -qF -- "$text" out.txt || fail "'$text' is not printed for: $* $(cat out.txt)"
}
accumulate="--entry accumulate '--input=a=@a full one.npy'"
expect_lines 0 "call 3: done" "$accumulate --repeat 2" "$accumulate" "$accumulate --expect-variables four.safetensors"
expect_lines 0 "sum f32[4] = 11 22 33 44" "--entry add --input=a=@a.npy --input=b=@b.npy --expect=sum=@expected.npy"
expect_lines 1 "line 2 of standard input: not as expected" "$accumulate --variables four.safetensors" \
  "$accumulate --expect-variables four.safetensors"
grep -q "call 1: done" out.txt || fail "the first line is not answered: $(cat out.txt)"
expect_lines 1 "line 1 of standard input: there is no flag '--imput'; the nearest is '--input'" "--entry add --imput=a=@a.npy"
expect_lines 1 "line 2 of standard input: --entry is required" "$accumulate" "--repeat 2"
expect_lines 1 "no entry 'mul'" "--entry mul"
expect_lines 1 "line 1 of standard input: there is no flag '--help'" "--help"
expect_lines 1 "would replace a file that is read" "--entry add --input=a=@a.npy --input=b=@b.npy --output=sum=@b.npy"
"${lines[@]}" < /dev/null > out.txt 2>&1 || fail "no lines are an error: $(cat out.txt)"
expect 2 "--entry excludes --calls" "${lines[@]}" --entry add
lines+=(--keep-going)
expect_lines 1 "1 of 3 calls failed" "$accumulate" "$accumulate --expect-variables four.safetensors" "$accumulate --repeat 2"
grep -q "call 2: failed" out.txt || fail "the second line's failure is not told: $(cat out.txt)"
grep -q "line 2 of standard input: not as expected" out.txt || fail "the reason is not told: $(cat out.txt)"
grep -q "call 3: done" out.txt || fail "the third line is not answered: $(cat out.txt)"
expect_lines 0 "call 2: done" "$accumulate" "$accumulate"
expect 2 "--keep-going requires --calls" "${call[@]}" --keep-going
expect 2 "--entry, or --calls, is required" "$run" call adder.heddle

# A warning tells if weights are zero because nobody gave them. There is none for variables that start at zero.
lookup=("$run" call adder.heddle --entry lookup --input=index=@index.npy --input=lengths=@lengths.npy)
expect 0 "all weights that the entry 'lookup' uses are zero, 'weight': give --variables FILE" "${lookup[@]}"
expect 0 "" "${lookup[@]}" --seed 1
! grep -q "are zero" out.txt || fail "weights are given: $(cat out.txt)"
expect 0 "" "$run" call adder.heddle --entry accumulate --input=a=@full.npy
! grep -q "are zero" out.txt || fail "no weight is used: $(cat out.txt)"

bench=("$run" bench adder.heddle --ceilings none)
expect 1 "'adder.heddle' has no entry 'ad'. Its entries are: add, chain, " "${bench[@]}" --entry ad
expect 0 "median" "${bench[@]}" --entry add --repeat 3
# Adds 1000 floats.
expect 0 '"flops":1000.0,"model_flops":0.0,"bytes":12000.0' "${bench[@]}" --entry add --repeat 3 --json
expect 0 "median" "${bench[@]}" --entry add --repeat 2 --profile trace.json
grep -q '"traceEvents"' trace.json || fail "trace.json is no trace"
expect 0 "chain" "${bench[@]}" --repeat 1 --warmup 0
for entry in add chain accumulate lookup; do
  grep -q "^$entry: median" out.txt || fail "no table of entry $entry: $(cat out.txt)"
done
expect 1 "--save 'adder.heddle' would replace" "${bench[@]}" --entry add --save adder.heddle
expect 1 "no entry 'none'" "${bench[@]}" --entry add --entry none
expect 1 "is not fma_*, long_*, copy_* or read_*" "$run" bench adder.heddle --ceilings adder.heddle
expect 1 "cuda" "$run" call adder.heddle --entry add --device=cuda
expect 1 "has no 'vocab_size'" "$run" train adder.heddle --src s --tgt t --checkpoint ck

# Wrong command lines exit with 2 and give the reason.
expect 2 "a command is missing" "$run"
expect 2 "--entry" "$run" call adder.heddle
expect 2 "--src" "$run" train adder.heddle --checkpoint ck
expect 2 "--beam" "$run" translate adder.heddle --checkpoint ck --beam=0
translate=("$run" translate adder.heddle --checkpoint ck)
expect 2 "leave --n-best out" "${translate[@]}" --sample --n-best 2
expect 2 "--temperature: 'nan' is not 0 or a number from 0.001 to 1000" "${translate[@]}" --sample --temperature nan
expect 2 "--top-p: 'nan' is not a number from 1e-06 to 1" "${translate[@]}" --sample --top-p nan
expect 2 "--length-penalty: 'inf' is not a number of at least 0" "${translate[@]}" --length-penalty inf
expect 2 "--seed: '-1' is not a whole number" "${translate[@]}" --sample --seed -1
expect 2 "--repetition-penalty: 'nan'" "$run" generate adder.heddle --checkpoint ck --repetition-penalty nan
expect 2 "--port: '99999' is larger than 65535" "$run" serve adder.heddle --checkpoint ck --port 99999
expect 2 "--decay: 'nan' is not a number from 0 to 1" "$run" average --checkpoint ck --output mean --decay nan
train=("$run" train adder.heddle --src s --tgt t --checkpoint ck)
expect 2 "--seed: '-1' is not a whole number" "${train[@]}" --seed -1
expect 2 "--patience: '-1' is not a whole number" "${train[@]}" --patience -1
expect 2 "--steps: '99999999999999999999' is larger than 9223372036854775807" "${train[@]}" --steps 99999999999999999999
expect 2 "--transport: 'foo' is none of auto, nccl and mpi" "${train[@]}" --transport foo
expect 2 "no flag '--stepz'; the nearest is '--steps'" "$run" train adder.heddle --src s --tgt t --checkpoint ck --stepz 3
expect 2 "no flag '--step'; the nearest is '--steps' of 'train'" "$run" --step 3
expect 0 "Usage" "$run" train --help
expect 0 "heddle-run 0." "$run" --version
expect 1 "'none.heddle'" "$run" call none.heddle --entry add
ln -s loop loop
expect 1 "there is no folder 'nope'." "$run" average --checkpoint nope --output mean
expect 1 "cannot read the folder 'loop': Too many levels of symbolic links." \
  "$run" average --checkpoint loop --output mean
expect 1 "there is no folder 'nope'." "$run" tokenize nope
head -c 100 adder.heddle > cut.heddle
expect 1 "cut.heddle" "$run" call cut.heddle --entry add
echo "all as expected"
