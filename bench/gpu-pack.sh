#!/usr/bin/env bash
# Packs what bench/gpu-check.sh needs into a folder, on a machine with the compiler and PyTorch; a GPU machine needs no
# more than this folder and a driver: heddle-run with its libraries, artifacts for all targets, the calls of the conformance
# tests with inputs and the outputs that PyTorch has confirmed, artifacts to time, and the PyTorch comparisons.
#
#   bench/gpu-pack.sh OUT [--bin=build/bin] [--device=vulkan] [--targets=NAME,...] [--cases=NAME,...] [--no-bench]
#
# --device makes the expected outputs; those of bf16 are made by the emulated CUDA driver, which the tests' build has.
# --targets: those of the list below that the compiler knows. --cases: of long-loops, attention and parity-NAME
# (test/conformance/parity.py), the latter with -f16 or -bf16 at its end perhaps.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=build/bin
device=vulkan
targets=vulkan:software,vulkan:nvidia,cuda:sm_80,cuda:sm_90a
cases=long-loops,attention,parity-base,parity-one-head,parity-odd-widths,parity-pre-norm,parity-clipped,parity-window,parity-base-f16,parity-odd-widths-f16,parity-base-bf16
bench=yes
out=
for argument in "$@"; do
  case $argument in
    --bin=*) bin=${argument#*=} ;;
    --device=*) device=${argument#*=} ;;
    --targets=*) targets=${argument#*=} ;;
    --cases=*) cases=${argument#*=} ;;
    --no-bench) bench=no ;;
    -*) echo "bench/gpu-pack.sh: unknown option '$argument'; the head of this file says which there are" >&2; exit 2 ;;
    *) out=$argument ;;
  esac
done
[ -n "$out" ] || { echo "bench/gpu-pack.sh: name the folder to write" >&2; exit 2; }
if [ -e "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -f "$out/gpu-check.sh" ]; then
  echo "bench/gpu-pack.sh: '$out' has other things in it" >&2
  exit 2
fi
python=$(command -v /usr/bin/python3 || command -v python3)
bin=$(cd "$bin" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

known=
for target in ${targets//,/ }; do
  if "$bin/heddle-compile" test/tools/heddle-compile/scale.mlir --target="$target" -o "$work/probe.heddle" > "$work/log" 2>&1
  then known+=${known:+,}$target
  else echo "without $target: $(head -n 1 "$work/log")"
  fi
done
[ -n "$known" ] || { echo "bench/gpu-pack.sh: the compiler knows none of $targets" >&2; exit 1; }

rm -rf "$out"
mkdir -p "$out"/{bin,lib/cxx,golden,bench,torch}
out=$(cd "$out" && pwd)

# The program and what it needs beside the C library. The C++ library is for machines that have none.
cp "$bin/heddle-run" "$out/bin/"
ldd "$bin/heddle-run" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | while read -r library; do
  case $(basename "$library") in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.*) ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$library" "$out/lib/cxx/" ;;
    *) cp -L "$library" "$out/lib/" ;;
  esac
done
cat > "$out/heddle-run" <<'RUN'
#!/bin/sh
# heddle-run with the libraries beside it; the drivers are the machine's.
here=$(cd "$(dirname "$0")" && pwd)
path=$here/lib
[ -n "$(find /lib /lib64 /usr/lib /usr/lib64 -name 'libstdc++.so.6' 2> /dev/null | head -n 1)" ] || path=$path:$here/lib/cxx
LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/bin/heddle-run" "$@"
RUN
cp bench/gpu-check.sh "$out/"
chmod +x "$out/heddle-run" "$out/gpu-check.sh"
cp bench/torch_*.py models/*.toml "$out/torch/"

# The conformance tests with heddle-compile and heddle-run replaced by what notes their calls.
mkdir "$work/bin"
for name in heddle-compile heddle-run; do
  ln -s "$PWD/bench/pack_calls.py" "$work/bin/$name"
done
export HEDDLE_PACK_BIN=$bin
emulator=$(dirname "$bin")/test/cuda/lib
for name in ${cases//,/ }; do
  export HEDDLE_PACK_CASE=$out/golden/$name HEDDLE_PACK_TARGETS=$known HEDDLE_PACK_DEVICE=$device HEDDLE_PACK_PRECISION=f32
  libraries=${LD_LIBRARY_PATH:-}
  case $name in
    *-f16) HEDDLE_PACK_PRECISION=f16 ;;
    *-bf16) # which is for CUDA alone
      HEDDLE_PACK_PRECISION=bf16 HEDDLE_PACK_DEVICE=cuda
      HEDDLE_PACK_TARGETS=$(tr ',' '\n' <<< "$known" | grep '^cuda:' | paste -s -d ',' || true)
      libraries=$emulator${libraries:+:$libraries}
      if [ -z "$HEDDLE_PACK_TARGETS" ] || [ ! -d "$emulator" ]; then
        echo "without $name: it takes a CUDA target, and the emulated driver in $emulator"
        continue
      fi ;;
  esac
  mkdir "$HEDDLE_PACK_CASE"
  precise=(--precision "$HEDDLE_PACK_PRECISION" --target "${HEDDLE_PACK_TARGETS%%,*}")
  case $name in
    parity-*-f16 | parity-*-bf16)
      test=(parity.py --model models/numbers.toml --case "$(sed 's/^parity-//; s/-b*f16$//' <<< "$name")" "${precise[@]}"
            --steps 4) ;;
    parity-*) test=(parity.py --model models/numbers.toml --case "${name#parity-}") ;;
    attention) test=(attention.py) ;;
    long-loops) test=(long_loops.py) ;;
    *) echo "bench/gpu-pack.sh: there is no case '$name'" >&2; exit 2 ;;
  esac
  if ! LD_LIBRARY_PATH=$libraries PYTHONPATH=test/conformance "$python" "test/conformance/${test[0]}" --bin "$work/bin" "${test[@]:1}" > "$work/log" 2>&1
  then tail -n 20 "$work/log"; echo "bench/gpu-pack.sh: $name fails here already" >&2; exit 1
  fi
  rm -f "$HEDDLE_PACK_CASE/state.json"
  echo "$name: $(wc -l < "$HEDDLE_PACK_CASE/calls.txt") calls, $(du -sh "$HEDDLE_PACK_CASE" | cut -f 1)"
done

# What is timed: each artifact for the targets that take it, with its entries in a file beside it.
pack() { # NAME ENTRIES MODEL FLAG...
  local name=$1 entries=$2 model=$3 taken= target
  shift 3
  for target in ${known//,/ }; do
    # Too much for a processor to do while somebody waits.
    if [[ $target = vulkan:software && $name =~ 4096|8192|big ]]; then continue; fi
    if "$bin/heddle-compile" "$model" "$@" --target="$target" -o "$work/probe.heddle" > "$work/log" 2>&1
    then taken+=${taken:+,}$target
    else echo "$name is without $target: $(head -n 1 "$work/log")"
    fi
  done
  if [ -z "$taken" ]; then return; fi
  "$bin/heddle-compile" "$model" "$@" --target="$taken" -o "$out/bench/$name.heddle" > "$work/log"
  echo "$entries" > "$out/bench/$name.entries"
  echo "$name: $taken, $(du -h "$out/bench/$name.heddle" | cut -f 1)"
}
fill() { # TEMPLATE NAME=VALUE...
  local template=$1 value
  shift
  local edits=()
  for value in "$@"; do edits+=(-e "s|@${value%%=*}@|${value#*=}|g"); done
  sed "${edits[@]}" "bench/models/$template" > "$work/model.mlir"
}
if [ "$bench" = yes ]; then
  causal='mask { ^bb0(%i: i32, %j: i32): %c = arith.cmpi sle, %j, %i : i32 heddle.yield %c : i1 }'
  # As PyTorch trains it beside this: $out/torch has the same descriptions.
  sed -i 's/^max_tokens = .*/max_tokens = 16384/' "$out/torch/transformer-big.toml"
  for precision in f32 bf16 f16; do
    flag=--precision=$precision
    [ $precision = f32 ] && suffix= || suffix=-$precision
    for extent in 1024 4096 8192; do
      fill matmul.mlir.in M=$extent N=$extent K=$extent
      pack "matmul-$extent$suffix" "" "$work/model.mlir" $flag
    done
    [ $precision != f16 ] || continue # its products are for Vulkan's tensor cores; CUDA's are those of bf16
    for width in 64 128; do
      for mask in full causal; do
        [ $mask = causal ] && region=$causal || region=
        fill attention.mlir.in T=4096 T_PLUS_1=4097 HEADS=16 WIDTH=$((16 * width)) NAME=$mask "MASK=$region"
        pack "attention-4096x16x$width-$mask$suffix" "" "$work/model.mlir" $flag
      done
    done
    pack "numbers$suffix" "train_step decode_step" models/numbers.toml $flag
    pack "transformer-base$suffix" "train_step decode_step" models/transformer-base.toml $flag
    pack "transformer-big$suffix" "train_step" "$out/torch/transformer-big.toml" $flag
  done
fi
du -sh "$out"
