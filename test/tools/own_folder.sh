# Sourced by tests: each runs in a temporary folder, which is deleted at the end. `tests` is the scripts' folder.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# quietly COMMAND...: prints the command's output only if it fails.
quietly() { "$@" > said.txt 2>&1 || fail "$* $(cat said.txt)"; }
# needs_vulkan RUN: skips the test if heddle-run (at path RUN) finds no Vulkan device.
needs_vulkan() {
  "$1" devices | grep '^vulkan:' > /dev/null && return
  echo "no Vulkan device"
  exit 77
}
