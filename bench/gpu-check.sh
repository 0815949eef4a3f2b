#!/usr/bin/env bash
# Checks and measures Heddle on this machine's GPUs, from a pack made by bench/gpu-pack.sh. Needs only a driver.
#
#   ./gpu-check.sh [--only=PHASE,...] [--match=REGEX] [--devices=cuda,vulkan] [--out=DIR] [--repeat=N] [--minutes=N]
#
# The phases, in order: conformance repeats the calls of the conformance tests and compares the outputs with those that
# PyTorch has confirmed; sanitizer runs some of the calls under NVIDIA's compute-sanitizer; bench measures times; torch
# measures PyTorch's times for the same shapes. Each phase stops after --minutes (8), so that it can be run by itself if
# a command's time is limited. --match selects cases and benchmarks by name, to continue with the rest. A device that is
# named but absent counts as failed.
#
# DIR (./results) gets results.jsonl, with a line for each result as soon as it is known, and logs.tar, with the
# programs' output. A later run adds to both. Exit code: 0, all checks passed; 1, a check failed or was cut off.
set -uo pipefail
pack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

phases=conformance,sanitizer,bench,torch
match=.
wanted=
out=$pack/results
repeat=10
minutes=8
torch_device=cuda
for argument in "$@"; do
  case $argument in
    --only=*) phases=${argument#*=} ;;
    --match=*) match=${argument#*=} ;;
    --devices=*) wanted=${argument#*=} ;;
    --out=*) out=${argument#*=} ;;
    --repeat=*) repeat=${argument#*=} ;;
    --minutes=*) minutes=${argument#*=} ;;
    --torch-device=*) torch_device=${argument#*=} ;; # cpu, for tests
    *) echo "gpu-check.sh: unknown option '$argument'; the head of this file says which there are" >&2; exit 2 ;;
  esac
done
for phase in ${phases//,/ }; do
  case $phase in
    conformance | sanitizer | bench | torch) ;;
    *) echo "gpu-check.sh: there is no phase '$phase'; there are conformance, sanitizer, bench and torch" >&2; exit 2 ;;
  esac
done
[ -x "$pack/heddle-run" ] || { echo "gpu-check.sh: run it in a folder that bench/gpu-pack.sh made" >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=$pack/heddle-run

failed=0
row() { # PHASE WHAT DEVICE RESULT [FIGURE UNIT]
  printf '{"phase": "%s", "what": "%s", "device": "%s", "result": "%s", "figure": "%s", "unit": "%s", "date": "%s"}\n' \
    "$1" "${2//[\"\\]/}" "$3" "$4" "${5:-}" "${6:-}" "$(date -u +%FT%TZ)" >> "$out/results.jsonl"
  printf '%-12s %-44s %-8s %-8s %12s %s\n' "$1" "$2" "$3" "$4" "${5:-}" "${6:-}"
  case $4 in FAIL | 'cut off') failed=$((failed + 1)) ;; esac
}
keep() { tar -rf "$out/logs.tar" -C "$work" "$1"; } # a file of $work

begin() { # PHASE
  echo "== $1"
  deadline=$((SECONDS + minutes * 60))
}
# Runs a command in the time that is left of the phase; returns 124 if it was cut off.
limited() {
  local left=$((deadline - SECONDS))
  [ $left -gt 0 ] || return 124
  timeout -k 5 $left "$@"
}

"$run" devices > "$work/devices.txt" 2>&1
cat "$work/devices.txt"
present=
while read -r line; do
  case $line in
    cuda:* | vulkan:*) row machine "$line" "${line%% *}" ok
      [[ ,$present, = *,${line%%:*},* ]] || present+=${present:+,}${line%%:*} ;;
  esac
done < "$work/devices.txt"
devices=
wanted=${wanted:-$present}
for device in ${wanted//,/ }; do
  case ",$present," in
    *",${device%%:*},"*) devices+=${devices:+,}$device ;;
    *) row machine "is there" "$device" FAIL ;;
  esac
done
[ -n "$wanted" ] || row machine "a device" - FAIL
if command -v nvidia-smi > /dev/null; then nvidia-smi -q >> "$work/devices.txt" 2>&1; fi
keep devices.txt

# Repeats the calls of one session; standard output counts them.
replay() { # CALLS DEVICE LOG [PREFIX...]: 124 where it was cut off
  local calls=$1 device=$2 log=$3 artifact
  shift 3
  artifact=$(basename "$calls")
  (cd "$(dirname "$calls")" && limited "$@" "$run" call "${artifact%-*}.heddle" --calls --keep-going "--device=$device" \
    < "$(basename "$calls")" >> "$log" 2>&1)
}

conformance() {
  local device case name log all done code
  for device in ${devices//,/ }; do
    for case in "$pack"/golden/*/; do
      name=$(basename "$case")
      [[ $name =~ $match ]] || continue
      log=$work/conformance-${device//:/-}-$name.log
      code=0
      for calls in "$case"*.calls; do
        replay "$calls" "$device" "$log" || code=$?
      done
      all=$(cat "$case"*.calls | wc -l)
      done=$(grep -c '^call [0-9]*: done$' "$log" 2> /dev/null)
      if [ -f "$log" ]; then keep "$(basename "$log")"; fi
      if [ $code -eq 124 ]; then row conformance "$name" "$device" 'cut off' "${done:-0}/$all" calls
      elif [ $code -eq 0 ] && [ "$done" -eq "$all" ]; then row conformance "$name" "$device" ok "$done/$all" calls
      elif grep -q "has no code for" "$log"; then row conformance "$name" "$device" 'no code'
      else
        row conformance "$name" "$device" FAIL "${done:-0}/$all" calls
        grep -m 3 -E "standard input|^heddle-run" "$log"
      fi
    done
  done
}

# Checks memory accesses and races with NVIDIA's tool. Launches are started one by one, so that findings name a kernel.
# One call of each entry is enough. Kernels with 16-bit operands come first, as f32 kernels use little shared memory.
sanitizer() {
  local tool name case log code
  if [[ ,$devices, != *,cuda* ]]; then row sanitizer "a CUDA device" cuda absent; return; fi
  if ! command -v compute-sanitizer > /dev/null; then row sanitizer compute-sanitizer cuda absent; return; fi
  for tool in memcheck racecheck; do
    for name in attention-bf16 parity-base-bf16 parity-odd-widths-f16 attention-f16 parity-odd-widths attention; do
      case=$pack/golden/$name
      if [ ! -d "$case" ] || ! [[ $name =~ $match ]]; then continue; fi
      log=$work/sanitizer-$tool-$name.log
      code=0
      for calls in "$case"/*.calls; do
        # Run in the case's folder, as the lines name files there.
        awk '!seen[$2]++' "$calls" > "$work/some.calls"
        (cd "$case" && CUDA_LAUNCH_BLOCKING=1 HEDDLE_SEPARATE_VALUES=1 limited compute-sanitizer --target-processes all \
          --tool $tool --error-exitcode 9 "$run" call "$(basename "${calls%-*}").heddle" --calls --keep-going \
          --device=cuda < "$work/some.calls" >> "$log" 2>&1) || code=$?
      done
      if [ -f "$log" ]; then keep "$(basename "$log")"; fi
      case $code in
        0) row sanitizer "$tool $name" cuda ok ;;
        124) row sanitizer "$tool $name" cuda 'cut off' ;;
        *) row sanitizer "$tool $name" cuda FAIL
          grep -m 3 -E "=========|^heddle|standard input" "$log" ;;
      esac
    done
  done
}

# Kernel times are measured by the device's clock, each launch by itself, and summed over the kernels that PyTorch's
# call is compared with. Call times are measured on the host, from a call's start to its end.
bench() {
  local device artifact name stem entries entry code
  for device in ${devices//,/ }; do
    for artifact in "$pack"/bench/*.heddle; do
      name=$(basename "$artifact" .heddle)
      if [ ! -e "$artifact" ] || ! [[ $name =~ $match ]]; then continue; fi
      stem=bench-${device//:/-}-$name
      entries=()
      while read -r entry _; do entries+=(--entry "$entry"); done < "$pack/bench/$name.entries"
      limited "$run" bench "$artifact" "${entries[@]}" "--device=$device" --repeat "$repeat" --ceilings none \
        --save "$work/$stem.json" > "$work/$stem.txt" 2>&1
      code=$?
      keep "$stem.txt"
      if [ $code -eq 124 ]; then row bench "$name" "$device" 'cut off'
      elif [ $code -ne 0 ] && grep -q "has no code for" "$work/$stem.txt"; then row bench "$name" "$device" 'no code'
      elif [ $code -ne 0 ]; then
        row bench "$name" "$device" FAIL
        tail -n 3 "$work/$stem.txt"
      else
        keep "$stem.json"
        while read -r entry kind milliseconds; do
          if [ $kind = no-kernels ]; then row bench "$name,$entry's kernels" "$device" FAIL
          else row bench "$name,$entry" "$device" ok "$milliseconds" "ms, $kind"
          fi
        done < <(awk 'NR == FNR {prefix[$1] = $2; next}
                      /^[A-Za-z0-9_]+: median/ {entry = $1; sub(":", "", entry); sum = 0; print entry, "calls", $3}
                      /^  [a-z]/ && $2 ~ /^[0-9]+$/ && index($1, prefix[entry]) == 1 {sum += $3; found[entry] = 1}
                      /^  launches were timed/ {print entry, found[entry] ? "kernels" : "no-kernels", sum}
                     ' "$pack/bench/$name.entries" "$work/$stem.txt")
      fi
    done
  done
}

torch() {
  local names=() artifact name milliseconds
  if ! python3 -c "import torch, sys; sys.exit('$torch_device' == 'cuda' and not torch.cuda.is_available())" \
       > "$work/torch.log" 2>&1; then
    keep torch.log
    row torch "PyTorch with a GPU" cuda absent
    return
  fi
  for artifact in "$pack"/bench/*.entries; do
    name=$(basename "$artifact" .entries)
    if [ -e "$artifact" ] && [[ $name =~ $match ]]; then names+=("$name"); fi
  done
  while read -r name milliseconds; do
    case $name in
      exit) case $milliseconds in
          0) ;;
          124) row torch "the rest" cuda 'cut off' ;;
          *) row torch "the rest" cuda FAIL; tail -n 3 "$work/torch.log" ;;
        esac ;;
      *) row torch "$name" cuda ok "$milliseconds" ms ;;
    esac
  done < <(limited python3 "$pack/torch/torch_cuda.py" --device "$torch_device" --models "$pack/torch" --repeat "$repeat" \
             "${names[@]}" 2> "$work/torch.log"; echo "exit $?")
  keep torch.log
}

for phase in ${phases//,/ }; do
  begin $phase
  $phase
done

# Compares all results so far, for the entries that PyTorch was timed on, too.
awk -F'"' '$4 == "torch" && $16 == "ok" {torch[$8] = $20}
           $4 == "bench" && $16 == "ok" {key = $8 " on " $12 ", " substr($24, 5); time[key] = $20; what[key] = $8}
           END {for (key in time) if (what[key] in torch && time[key] > 0)
             printf "%s: %s ms, PyTorch %s ms, ratio %.3f\n", key, time[key], torch[what[key]],
               torch[what[key]] / time[key]}' "$out/results.jsonl" | sort > "$work/beside.txt"
if [ -s "$work/beside.txt" ]; then echo "== beside PyTorch (above 1: Heddle is faster)"; cat "$work/beside.txt"; fi
echo "$failed failed; $out/results.jsonl"
[ $failed -eq 0 ]
