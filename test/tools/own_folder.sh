# Sourced by tests: each works in a folder of its own, which goes with it. `tests` is where the scripts are.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# quietly COMMAND...: prints what the command says only where it fails.
quietly() { "$@" > said.txt 2>&1 || fail "$* $(cat said.txt)"; }
# needs_vulkan RUN: the test is skipped where heddle-run, of which RUN is the path, finds no Vulkan device.
needs_vulkan() {
  "$1" devices | grep '^vulkan:' > /dev/null && return
  echo "no Vulkan device"
  exit 77
}
