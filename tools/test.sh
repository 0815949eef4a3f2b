#!/usr/bin/env bash
# Builds Heddle and runs every test, the slow ones too: what continuous integration does, and what to run before a change
# is proposed. Exits non-zero when anything fails.
#
#   tools/test.sh [ctest's own options, for example -LE slow or -R lit]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stage() {
  printf '\n== %s (%d min %02d s)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}

stage "setup"
tools/setup.sh --tests

stage "configure"
cmake --preset release

stage "build"
cmake --build --preset tests

# Where there is no GPU, the one Vulkan device is Mesa's software rasteriser. Naming its driver keeps the loader from
# trying, and complaining about, drivers for hardware that is not there.
if [ -z "${VK_ICD_FILENAMES:-}${VK_DRIVER_FILES:-}" ] && ! compgen -G '/dev/dri/renderD*' >/dev/null &&
  [ ! -e /dev/nvidiactl ]; then
  software=$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1 || true)
  [ -z "$software" ] || export VK_ICD_FILENAMES="$software"
fi
export HEDDLE_VALIDATION=1

stage "test"
ctest --preset release --parallel "$(nproc)" --no-tests=error "$@" </dev/null
