#!/usr/bin/env bash
# Fuzzes the parsers of outside data with libFuzzer, under the address and undefined-behaviour sanitizers (test/fuzz).
#
#   tools/fuzz.sh [--seconds N] [TARGET...]
#
#   --seconds N   time for each target (default 60); one target runs per processor at a time
#   TARGET        of test/fuzz/CMakeLists.txt (default: all): artifact, safetensors, npy, json, gguf, gguf_parts,
#                 adapter_config, tokenizer_json, tokenizer, manifest, request, chat_template, description, text, module
#
# Inputs that reach new code stay in build-fuzz/corpus/TARGET, and the next run begins with them. An input that crashes,
# hangs or takes too much memory is written to build-fuzz/found, and the exit code is 1;
# `build-fuzz/test/bin/fuzz-TARGET FILE` runs it again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds takes a number}; shift 2 ;;
    -*) echo "fuzz: unknown option '$1'; there is --seconds" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
all=($(sed -n 's/^ *heddle_fuzz_target(\([a-z_]*\) .*/\1/p' test/fuzz/CMakeLists.txt))
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
  case " ${all[*]} " in *" $target "*) ;; *) echo "fuzz: there is no target '$target'; there are ${all[*]}" >&2; exit 2 ;; esac
done
if ! clang++-22 -fsanitize=fuzzer -x c++ -o /dev/null - 2>/dev/null <<<'extern "C" int LLVMFuzzerTestOneInput(const char *, unsigned long) { return 0; }'; then
  echo "fuzz: clang++-22 cannot link libFuzzer; install the packages clang-22 and libclang-rt-22-dev" >&2
  exit 1
fi

cmake --preset release >/dev/null && cmake --build --preset release   # which make the seeds
cmake --preset fuzz >/dev/null && cmake --build build-fuzz --target "${targets[@]/#/fuzz-}"
python=/usr/bin/python3; [ -x $python ] || python=python3
$python test/fuzz/seeds.py build/bin build-fuzz/seeds
mkdir -p build-fuzz/found

fuzz() {
  local target=$1 log=build-fuzz/found/$1.log
  mkdir -p "build-fuzz/corpus/$target"
  # No leak detection: Mesa and MLIR free little before the process ends. No user poisoning: LLVM's allocators mark
  # memory only in header code, which is instrumented here, and not in LLVM's library, which is not.
  ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 "build-fuzz/test/bin/fuzz-$target" -max_total_time="$seconds" \
    -timeout=20 -rss_limit_mb=4096 -max_len=65536 -artifact_prefix="build-fuzz/found/$target-" -print_final_stats=1 -verbosity=1 \
    "build-fuzz/corpus/$target" "build-fuzz/seeds/$target" >"$log" 2>&1 && local end=0 || local end=$?
  printf '%-15s %s inputs in %s s, %s\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$seconds" \
    "$([ "$end" = 0 ] && echo 'nothing found' || echo "FAILED: see $log")"
  return "$end"
}
export -f fuzz
export seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(env -u OMP_NUM_THREADS nproc)" -I{} bash -c 'fuzz {}'
