#!/usr/bin/env bash
# Checks and measures Heddle on this machine's GPUs, from a folder that bench/gpu-pack.sh made: the calls of the
# conformance tests on CUDA and on Vulkan, then benchmarks, then PyTorch on the same shapes where there is one. Needs a
# driver and nothing else. Ends with a table, and results.json.
#
#   ./gpu-check.sh [--devices=cuda,vulkan] [--repeat=N] [--out=DIR] [--no-bench] [--no-torch] [--no-sanitizer]
#
# A device that is named and absent counts as failed. Exit code: 0, everything there was to check is right; 1, it is not.
set -uo pipefail
pack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

devices=
repeat=10
out=
bench=yes
torch=yes
sanitizer=yes
for argument in "$@"; do
  case $argument in
    --devices=*) devices=${argument#*=} ;;
    --repeat=*) repeat=${argument#*=} ;;
    --out=*) out=${argument#*=} ;;
    --no-bench) bench=no ;;
    --no-torch) torch=no ;;
    --no-sanitizer) sanitizer=no ;;
    *) echo "gpu-check.sh: unknown option '$argument'; the head of this file says which there are" >&2; exit 2 ;;
  esac
done
if [ ! -x "$pack/heddle-run" ]; then
  echo "gpu-check.sh: run it in a folder that bench/gpu-pack.sh made" >&2
  exit 2
fi
out=${out:-$pack/results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=$pack/heddle-run

rows=()  # "part|what|device|result|figure|unit"
failed=0
row() { rows+=("$1|$2|$3|$4|${5:-}|${6:-}"); [ "$4" != FAIL ] || failed=$((failed + 1)); }

echo "== devices"
"$run" devices | tee "$out/devices.txt"
present=
for backend in cuda vulkan; do
  if grep -q "^$backend:" "$out/devices.txt"; then present+=${present:+,}$backend; fi
done
wanted=${devices:-$present}
devices=
for device in ${wanted//,/ }; do
  case ",$present," in
    *",${device%%:*},"*) devices+=${devices:+,}$device ;;
    *) row devices "is there" "$device" FAIL ;;
  esac
done
[ -n "$wanted" ] || row devices "a device" - FAIL

# Replays one case; the log has what heddle-run printed.
replay() { # CASE DEVICE LOG [PREFIX...]
  local golden=$1 device=$2 log=$3 number=0 wrong=0 line words
  shift 3
  while read -r -a words; do
    number=$((number + 1))
    local command=(call "$golden/${words[0]}" --entry "${words[1]}" --tolerance "${words[2]}" "--device=$device") word
    for word in "${words[@]:3}"; do
      case $word in
        in:*) word=${word#in:}; command+=("--input=${word%%=*}=@$golden/${word#*=}") ;;
        expect:*) word=${word#expect:}; command+=("--expect=${word%%=*}=@$golden/${word#*=}") ;;
        result:*) command+=(--expect-variables "$golden/${word#result:}") ;;
        seed:*) command+=(--seed "${word#seed:}") ;;
        variables:*) command+=(--variables "$golden/${word#variables:}") ;;
        saved:*) command+=(--variables "$work/${word#saved:}.safetensors") ;;
        save) command+=(--save-variables "$work/$number.safetensors") ;;
      esac
    done
    echo "-- call $number: ${words[1]}" >> "$log"
    "$@" "$run" "${command[@]}" < /dev/null >> "$log" 2>&1 || { wrong=$((wrong + 1)); echo "-- FAILED" >> "$log"; }
  done < "$golden/calls.txt"
  replayed=$number
  rm -f "$work"/*.safetensors
  return $((wrong > 250 ? 250 : wrong))
}

for device in ${devices//,/ }; do
  echo "== conformance on $device"
  for golden in "$pack"/golden/*/; do
    name=$(basename "$golden")
    log=$out/conformance-${device//:/-}-$name.log
    : > "$log"
    replay "${golden%/}" "$device" "$log"
    wrong=$?
    if [ $wrong -eq 0 ]; then result=ok; else result=FAIL; fi
    # bf16 is for CUDA alone.
    if [ "$(grep -c "has no code for" "$log")" -eq "$replayed" ]; then
      echo "$name: no code for this device"
      row conformance "$name" "$device" "no code"
      continue
    fi
    echo "$name: $((replayed - wrong)) of $replayed calls right"
    [ $wrong -eq 0 ] || grep -m 1 "^heddle-run call: " "$log"
    row conformance "$name" "$device" $result "$((replayed - wrong))/$replayed" calls
  done
done

# Memory and races, as NVIDIA's tool sees them, with launches started one by one so that what it finds names a kernel.
if [ $sanitizer = yes ] && [[ ,$devices, == *,cuda* ]] && command -v compute-sanitizer > /dev/null; then
  golden=
  for name in parity-odd-widths attention; do
    if [ -z "$golden" ] && [ -d "$pack/golden/$name" ]; then golden=$pack/golden/$name; fi
  done
  for tool in ${golden:+memcheck racecheck}; do
    echo "== compute-sanitizer $tool"
    log=$out/sanitizer-$tool.log
    : > "$log"
    if CUDA_LAUNCH_BLOCKING=1 replay "$golden" cuda "$log" compute-sanitizer --target-processes all --tool $tool --error-exitcode 9
    then row sanitizer $tool cuda ok; else row sanitizer $tool cuda FAIL; fi
  done
fi

if [ "$bench" = yes ]; then
  for device in ${devices//,/ }; do
    echo "== benchmarks on $device"
    for artifact in "$pack"/bench/*.heddle; do
      [ -e "$artifact" ] || continue
      name=$(basename "$artifact" .heddle)
      stem=$out/bench-${device//:/-}-$name
      entries=()
      for entry in $(cat "$pack/bench/$name.entries"); do entries+=(--entry "$entry"); done
      if ! "$run" bench "$artifact" "${entries[@]}" "--device=$device" --repeat "$repeat" --ceilings none \
             --save "$stem.json" > "$stem.txt" 2> "$stem.log"; then
        # A GPU that an artifact has no code for is told as that, and fails nothing.
        if grep -q "has no code for" "$stem.log"; then row bench "$name" "$device" "no code"
        else cat "$stem.log"; row bench "$name" "$device" FAIL; fi
        continue
      fi
      while read -r entry milliseconds; do
        echo "$name $entry: $milliseconds ms"
        row bench "$name $entry" "$device" ok "$milliseconds" ms
      done < <(sed -n 's/^\([A-Za-z0-9_]*\): median \([0-9.]*\) ms.*/\1 \2/p' "$stem.txt")
    done
  done
fi

if [ "$torch" = yes ] && [[ ,$devices, == *,cuda* ]]; then
  if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' > "$work/torch" 2>&1; then
    echo "== PyTorch"
    if python3 "$pack/torch/torch_cuda.py" --models "$pack/torch" --repeat "$repeat" > "$out/torch.txt" 2> "$out/torch.log"; then
      while read -r what milliseconds; do
        echo "$what: $milliseconds ms"
        row torch "${what//,/ }" cuda ok "$milliseconds" ms
      done < "$out/torch.txt"
    else tail -n 3 "$out/torch.log"; row torch "the comparisons" cuda FAIL; fi
  else
    echo "== PyTorch is not there, or sees no GPU"
    row torch "the comparisons" cuda absent
  fi
fi

{
  printf '{"date": "%s", "devices": [' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  separator=
  while IFS= read -r line; do
    line=${line//\\/\\\\}
    printf '%s"%s"' "$separator" "${line//\"/\\\"}"
    separator=', '
  done < "$out/devices.txt"
  printf '],\n "failed": %d,\n "rows": [' $failed
  separator=
  for entry in "${rows[@]}"; do
    IFS='|' read -r part what device result figure unit <<< "$entry"
    printf '%s\n  {"part": "%s", "what": "%s", "device": "%s", "result": "%s", "figure": "%s", "unit": "%s"}' \
      "$separator" "$part" "$what" "$device" "$result" "$figure" "$unit"
    separator=,
  done
  printf '\n ]}\n'
} > "$out/results.json"

echo
printf '%-12s %-40s %-10s %-8s %12s %s\n' part what device result figure unit
for entry in "${rows[@]}"; do
  IFS='|' read -r part what device result figure unit <<< "$entry"
  printf '%-12s %-40s %-10s %-8s %12s %s\n' "$part" "$what" "$device" "$result" "$figure" "$unit"
done
echo "$failed failed; $out/results.json"
[ $failed -eq 0 ]
