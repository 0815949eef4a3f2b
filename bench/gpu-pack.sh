#!/usr/bin/env bash
# Makes a pack for bench/gpu-check.sh, on a machine with the compiler and PyTorch. The machine with the GPU needs only
# the pack and a driver. The pack has heddle-run with its libraries, the calls of the conformance tests with their
# inputs and the outputs that PyTorch has confirmed, artifacts to time, and the PyTorch comparisons.
#
#   bench/gpu-pack.sh OUT [--preset=lease] [--targets=NAME,...] [--cases=NAME,...|none] [--bench=NAME,...|none] [--bin=build/bin]
#                     [--device=vulkan]
#
# OUT is a folder, or an archive of it: NAME.tar.gz or NAME.tar.xz.
# --targets: by default those of the list below that the compiler supports. Artifacts have code for these targets only.
#   The expected outputs come from artifacts that are not packed: they are compiled for --device or, in bf16, for the
#   emulated CUDA driver of the tests' build.
# --cases: some of long-loops, products, attention, parity-NAME and parity-NAME-smooth (test/conformance/parity.py,
#   whose --smooth replaces ReLU by GELU), each optionally with -f16 or -bf16 at the end.
# --bench: some of matmul-N, attention-TOKENSxHEADSxWIDTH-full, the same with -causal, numbers, transformer-base and
#   transformer-big, each optionally with -bf16 or -f16 at the end. A variant may follow: @sm_80 compiles only for
#   cuda:sm_80, and @recompute-cheap and @no-producers compile with --recompute=cheap and --no-producers.
# --preset=lease: the benchmarks of bench/gpu-lease.sh in bf16 for cuda:sm_90a, and no cases. Later options override it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=build/bin
device=vulkan
targets=vulkan:nvidia,cuda:sm_80,cuda:sm_90a
cases=long-loops,products,products-f16,products-bf16,attention,attention-f16,attention-bf16
for case in base one-head odd-widths pre-norm clipped window soft-cap large-tiles; do cases+=,parity-$case; done
# In f16 the order of a sum decides on which side of 0 a ReLU's input near 0 falls. One such flip changes gradients by
# as much as the bound allows, and other inputs flip on the GPU than in the pack's outputs. So f16 uses smooth models.
cases+=,parity-base-smooth-f16,parity-odd-widths-f16,parity-large-tiles-smooth-f16,parity-base-bf16
bench=
for precision in -bf16 ''; do
  for extent in 4096 8192 1024; do bench+=matmul-$extent$precision,; done
  for width in 64 128; do bench+=attention-4096x16x$width-full$precision,attention-4096x16x$width-causal$precision,; done
  bench+=transformer-base$precision,transformer-big$precision,numbers$precision,
done
# f16 matmuls are timed on Vulkan's tensor cores; on CUDA they are as fast as bf16.
bench+=matmul-1024-f16,matmul-4096-f16,matmul-8192-f16
out=
for argument in "$@"; do
  case $argument in
    --preset=lease)
      targets=cuda:sm_90a cases=none bench=
      for width in 64 128; do
        for mask in full causal; do bench+=attention-4096x16x$width-$mask-bf16,attention-512x2x$width-$mask-bf16,; done
        bench+=attention-4096x16x$width-full-bf16@sm_80,
      done
      bench+=matmul-4096-bf16,matmul-4096-bf16@no-producers,matmul-8192-bf16,transformer-big-bf16,transformer-big-bf16@recompute-cheap,
      bench+=transformer-big-bf16@no-producers,transformer-base-bf16 ;;
    --preset=*) echo "bench/gpu-pack.sh: there is no preset '${argument#*=}'; there is lease" >&2; exit 2 ;;
    --bin=*) bin=${argument#*=} ;;
    --device=*) device=${argument#*=} ;;
    --targets=*) targets=${argument#*=} ;;
    --cases=*) cases=${argument#*=} ;;
    --bench=*) bench=${argument#*=} ;;
    -*) echo "bench/gpu-pack.sh: unknown option '$argument'; the head of this file says which there are" >&2; exit 2 ;;
    *) out=$argument ;;
  esac
done
[ "$bench" != none ] || bench=
[ "$cases" != none ] || cases=
[ -n "$out" ] || { echo "bench/gpu-pack.sh: name the folder or the archive to write" >&2; exit 2; }
python=$(command -v /usr/bin/python3 || command -v python3)
bin=$(cd "$bin" && pwd)
emulator=$(dirname "$bin")/test/cuda/lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=
if [[ $out = *.tar.gz || $out = *.tar.xz ]]; then
  archive=$out
  out=$work/heddle-gpu
elif [ -e "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -f "$out/gpu-check.sh" ]; then
  echo "bench/gpu-pack.sh: '$out' has other things in it" >&2
  exit 2
fi

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

# The program and its libraries, without the C library. lib/cxx has the C++ library, for machines whose own is older. If a
# machine's own is newer, the program must use it, because the libraries of its drivers may need it.
cp "$bin/heddle-run" "$out/bin/"
strip "$out/bin/heddle-run" 2> "$work/log" || cat "$work/log"
ldd "$bin/heddle-run" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | while read -r library; do
  case $(basename "$library") in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.*) ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$library" "$out/lib/cxx/" ;;
    *) cp -L "$library" "$out/lib/" ;;
  esac
done
newest() { grep -aoh "$1"'[0-9.]*[0-9]' "$out/bin/heddle-run" "$out"/lib/*.so* | sort -V | tail -n 1; }
cxx=$(newest GLIBCXX_)
sed "s/@GLIBCXX@/$cxx/" > "$out/heddle-run" <<'RUN'
#!/bin/sh
# Runs heddle-run with the libraries beside it; the drivers are the machine's own.
here=$(cd "$(dirname "$0")" && pwd)
path=$here/lib
system=$(find /lib /lib64 /usr/lib /usr/lib64 -name libstdc++.so.6 2> /dev/null | head -n 1)
[ -n "$system" ] && grep -aq @GLIBCXX@ "$system" || path=$path:$here/lib/cxx
LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/bin/heddle-run" "$@"
RUN
cp bench/gpu-check.sh bench/gpu-lease.sh "$out/"
chmod +x "$out/heddle-run" "$out/gpu-check.sh" "$out/gpu-lease.sh"
cp bench/torch_*.py bench/gpu_lease.py models/*.toml "$out/torch/"
git rev-parse --short HEAD > "$out/revision" 2> "$work/log" || echo unknown > "$out/revision"
# The same size as it is compiled for below.
sed -i 's/^max_tokens = .*/max_tokens = 16384/' "$out/torch/transformer-big.toml"
echo "heddle-run needs a C library with $(newest GLIBC_)"

# Run the conformance tests with heddle-compile and heddle-run replaced by a recorder of their calls.
mkdir "$work/bin"
for name in heddle-compile heddle-run; do
  ln -s "$PWD/bench/pack_calls.py" "$work/bin/$name"
done
export HEDDLE_PACK_BIN=$bin
for name in ${cases//,/ }; do
  export HEDDLE_PACK_CASE=$out/golden/$name HEDDLE_PACK_TARGETS=$known HEDDLE_PACK_DEVICE=$device HEDDLE_PACK_PRECISION=f32 HEDDLE_PACK_SMOOTH=
  libraries=${LD_LIBRARY_PATH:-}
  flags=()
  case $name in
    *-bf16) # which is for CUDA alone
      HEDDLE_PACK_PRECISION=bf16 HEDDLE_PACK_DEVICE=cuda
      HEDDLE_PACK_TARGETS=$(tr ',' '\n' <<< "$known" | grep '^cuda:' | paste -s -d ',' || true)
      libraries=$emulator${libraries:+:$libraries}
      flags=(--target cuda:sm_80)
      if [ -z "$HEDDLE_PACK_TARGETS" ] || [ ! -d "$emulator" ]; then
        echo "bench/gpu-pack.sh: $name takes a CUDA target, and the emulated driver in $emulator; --cases says which to pack" >&2
        exit 1
      fi ;;
    *-f16) HEDDLE_PACK_PRECISION=f16 ;;
  esac
  mkdir "$HEDDLE_PACK_CASE"
  flags+=(--precision "$HEDDLE_PACK_PRECISION")
  stem=${name%-f16}
  stem=${stem%-bf16}
  [[ $stem = parity-*-smooth ]] && HEDDLE_PACK_SMOOTH=1 flags+=(--smooth)
  case $stem in
    # Few steps: rounded differently, training runs drift apart.
    parity-*) [ "$stem" = "$name" ] && steps=20 || steps=4
      stem=${stem%-smooth}
      [ "$stem" != parity-large-tiles ] || steps=2
      test=(parity.py --model models/numbers.toml --case "${stem#parity-}" --steps $steps) ;;
    attention) test=(attention.py)
      # Only long sequences use the tensor cores' large tiles.
      [ "$stem" = "$name" ] || test+=(--longest 1024) ;;
    products) test=(tensor_products.py)
      [[ " ${flags[*]} " = *" --target "* ]] || test+=(--target vulkan:software) ;;
    long-loops) test=(long_loops.py) flags=() ;;
    *) echo "bench/gpu-pack.sh: there is no case '$name'" >&2; exit 2 ;;
  esac
  if ! LD_LIBRARY_PATH=$libraries PYTHONPATH=test/conformance "$python" "test/conformance/${test[0]}" --bin "$work/bin" \
       "${test[@]:1}" "${flags[@]}" > "$work/log" 2>&1
  then tail -n 20 "$work/log"; echo "bench/gpu-pack.sh: $name fails here already" >&2; exit 1
  fi
  echo "$name: $(cat "$HEDDLE_PACK_CASE"/*.calls | wc -l) calls, $(du -sh "$HEDDLE_PACK_CASE" | cut -f 1)"
done

# Cases share inputs: store equal files once.
declare -A first=()
while read -r file; do
  known_file=${first[$(basename "$file")]:-}
  if [ -n "$known_file" ]; then ln -f "$known_file" "$file"; else first[$(basename "$file")]=$file; fi
done < <(find "$out/golden" -name '*.npy' -o -name '*.safetensors')

# The artifacts to time. Beside each lies a file with a line for each entry to time, and the beginnings of the names of
# the kernels that PyTorch's call is compared with. For 16-bit operands these are the kernels between those that round
# the inputs and those that read the 16-bit result.
fill() { # TEMPLATE NAME=VALUE...
  local template=$1 value edits=()
  shift
  for value in "$@"; do edits+=(-e "s|@${value%%=*}@|${value#*=}|g"); done
  sed "${edits[@]}" "bench/models/$template" > "$work/model.mlir"
}
compile_bench() { # NAME MODEL PRECISION
  local wanted=$known taken target flags=()
  case $1 in
    *@sm_80) wanted=cuda:sm_80 ;;
    *@recompute-cheap) flags=(--recompute=cheap) ;;
    *@no-producers) flags=(--no-producers) ;;
    *@*) echo "bench/gpu-pack.sh: there is no variant '@${1#*@}'; there are @sm_80, @recompute-cheap and @no-producers" >&2; exit 2 ;;
  esac
  taken=$wanted
  if ! "$bin/heddle-compile" "$2" "${flags[@]}" --precision="$3" --target="$taken" -o "$out/bench/$1.heddle" > "$work/log" 2>&1; then
    taken= # the targets that take the precision
    for target in ${wanted//,/ }; do
      if "$bin/heddle-compile" "$2" "${flags[@]}" --precision="$3" --target="$target" -o "$work/probe.heddle" > "$work/log" 2>&1
      then taken+=${taken:+,}$target
      else echo "$1 is without $target: $(head -n 1 "$work/log")"
      fi
    done
    [ -n "$taken" ] || return 0
    "$bin/heddle-compile" "$2" "${flags[@]}" --precision="$3" --target="$taken" -o "$out/bench/$1.heddle" > "$work/log"
  fi
  echo "$1: $taken, $(du -h "$out/bench/$1.heddle" | cut -f 1)"
}
causal='mask { ^bb0(%i: i32, %j: i32): %c = arith.cmpi sle, %j, %i : i32 heddle.yield %c : i1 }'
for name in ${bench//,/ }; do
  stem=${name%@*} precision=f32 narrow= product=matmul
  case $stem in
    *-bf16) stem=${stem%-bf16} precision=bf16 ;;
    *-f16) stem=${stem%-f16} precision=f16 ;;
  esac
  [ $precision = f32 ] || narrow=-16 product=matmul_truncf
  model=$work/model.mlir
  case $stem in
    matmul-*) fill matmul$narrow.mlir.in {M,N,K}="${stem#matmul-}"
      entries="forward $product"$'\n'"input_gradient $product"$'\n'"weight_gradient $product" ;;
    attention-*x*x*-full | attention-*x*x*-causal)
      IFS=-x read -r _ tokens heads width mask <<< "$stem"
      [ $mask = causal ] && region=$causal || region=
      fill attention$narrow.mlir.in T="$tokens" T_PLUS_1=$((tokens + 1)) HEADS="$heads" WIDTH=$((heads * width)) \
        SCALE="$(awk "BEGIN { printf \"%.9e\", 1 / sqrt($width) }")" NAME=$mask "MASK=$region"
      entries="forward attention"$'\n'"backward attention" ;;
    numbers | transformer-base) entries="train_step"$'\n'"decode_step" model=models/$stem.toml ;;
    transformer-big) entries=train_step model=$out/torch/$stem.toml ;;
    *) echo "bench/gpu-pack.sh: there is no benchmark '$name'" >&2; exit 2 ;;
  esac
  echo "$entries" > "$out/bench/$name.entries"
  compile_bench "$name" "$model" $precision
done
echo "unpacked: $(du -sh "$out" | cut -f 1)"
if [ -n "$archive" ]; then
  XZ_OPT=-9 tar -caf "$archive" -C "$work" heddle-gpu # a window that spans several cases
  echo "$archive: $(stat -c %s "$archive" | awk '{printf "%.1f MiB", $1 / 1048576}')"
fi
