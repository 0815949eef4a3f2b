#!/usr/bin/env bash
# Builds Heddle and runs its tests. The exit code is not zero if anything fails.
#
#   tools/test.sh           the gate, which continuous integration runs: run it before you propose a change; 7 to 21 minutes on two cores
#   tools/test.sh --long    the tests that the gate leaves out: whole training runs, packs, packages, a second build. A release needs both
#   tools/test.sh [--long] CTEST'S OWN OPTIONS, for example -R lit
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stage() {
  printf '\n== %s (%d min %02d s)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}

tests=(-LE long)
if [ "${1-}" = --long ]; then
  tests=(-L long)
  shift
fi
# The time budget applies to the whole gate.
budget=()
[ "${tests[0]}" = -L ] || [ $# -gt 0 ] || budget=(--budget)

stage "setup"
tools/setup.sh --tests

stage "configure"
cmake --preset release

stage "build"
cmake --build --preset tests

# Without a GPU the only Vulkan device is Mesa's software rasteriser. Naming its driver keeps the loader from trying,
# and complaining about, drivers for missing hardware.
if [ -z "${VK_ICD_FILENAMES:-}${VK_DRIVER_FILES:-}" ] && ! compgen -G '/dev/dri/renderD*' >/dev/null &&
  [ ! -e /dev/nvidiactl ]; then
  software=$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1 || true)
  [ -z "$software" ] || export VK_ICD_FILENAMES="$software"
fi

stage "test"
code=0
test/tools/gate.py "${budget[@]}" build "${tests[@]}" --parallel "$(env -u OMP_NUM_THREADS nproc)" --no-tests=error "$@" || code=$?
stage "done"
exit $code
