#!/usr/bin/env bash
# Tests tensor cores on Vulkan (cooperative matrices) without a GPU: runs the tests that need them on lavapipe from
# Debian's unstable branch, and that branch's spirv-val on the kernels for NVIDIA GPUs. Debian 12's Mesa and spirv-val
# do not support cooperative matrices. Run it as root, as the packages are installed into a separate folder:
#
#   test/conformance/newer_mesa.sh FOLDER [BIN]
#
# debootstrap creates FOLDER if it does not exist (1 GB). BIN is the programs' folder, build/bin by default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[ $# -ge 1 ] || { echo "newer_mesa.sh: name the folder for the packages" >&2; exit 2; }
root=$1
bin=$(cd "${2:-build/bin}" && pwd)
if [ ! -e "$root/usr/share/vulkan" ]; then
  command -v debootstrap > /dev/null || { echo "newer_mesa.sh: it takes debootstrap; apt-get install debootstrap" >&2; exit 2; }
  debootstrap --variant=minbase --include=mesa-vulkan-drivers,vulkan-validationlayers,spirv-tools unstable "$root"
fi
root=$(cd "$root" && pwd)
libraries=$root/usr/lib/$(uname -m)-linux-gnu
loader=$(ls "$libraries"/ld-linux-*.so.* | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|\"library_path\": *\"|&$libraries/|" "$root/usr/share/vulkan/icd.d/lvp_icd.json" > "$work/lavapipe.json"

# Runs programs with the folder's libraries, and with this machine's where the folder has none.
export VK_ICD_FILENAMES=$work/lavapipe.json VK_LAYER_PATH=$root/usr/share/vulkan/explicit_layer.d HEDDLE_VALIDATION=1
wrap() { # NAME PROGRAM
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" \
    "$libraries:/usr/lib/$(uname -m)-linux-gnu" "$2" > "$work/$1"
  chmod +x "$work/$1"
}
wrap heddle-run "$bin/heddle-run"
wrap spirv-val "$root/usr/bin/spirv-val"
ln -s "$bin/heddle-compile" "$bin/heddle-inspect" "$work/"
"$work/heddle-run" devices

python=$(command -v /usr/bin/python3 || command -v python3)
matrices=(--bin "$work" --target vulkan:software-matrices --precision f16)
failed=0
check() { # NAME COMMAND...: prints what failed, and a line
  local name=$1 log=$work/log
  shift
  if "$@" > "$log" 2>&1; then
    echo "$name: $(grep -c '^ok' "$log") checks, 0 failed"
  else
    grep -v '^ok' "$log" || true
    echo "$name: FAILED"
    failed=1
  fi
}
for case in base odd-widths window soft-cap; do
  check "parity $case" "$python" test/conformance/parity.py "${matrices[@]}" --model models/numbers.toml --case $case --smooth
done
# Attention by itself: masks and widths of heads, then score regions and dropout. The first run takes minutes, because
# lavapipe compiles.
check attention "$python" test/conformance/attention.py "${matrices[@]}"
check "attention's scores" "$python" test/conformance/attention_score.py "${matrices[@]}"
PATH=$work:$PATH "$python" test/conformance/spirv_val.py --bin "$work" --model models/numbers.toml \
  --target vulkan:nvidia --precision f16 --set accumulate=true --set dropout=0.1 --set attention_dropout=0.1 | tail -n 1
PATH=$work:$PATH "$python" test/conformance/spirv_val.py --bin "$work" --model models/transformer-base.toml \
  --target vulkan:nvidia --precision f16 --set dropout=0.1 --set attention_dropout=0.1 | tail -n 1
exit $failed
