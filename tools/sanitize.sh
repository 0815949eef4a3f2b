#!/usr/bin/env bash
# Builds the runtime, heddle-run and their host tests with sanitizers, and runs the tests: bytes, texts, devices, ranks
# and training.
#
#   tools/sanitize.sh [address,undefined | thread]...     (default: both, one after the other)
#
# The compiler is not built, because Debian's MLIR libraries are not instrumented. `cmake --preset debug` builds all of
# Heddle with the first sanitizer.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- address,undefined thread

for sanitizers in "$@"; do
  case $sanitizers in
    address,undefined | thread) ;;
    *) echo "sanitize: '$sanitizers' is none of 'address,undefined' and 'thread'" >&2; exit 2 ;;
  esac
  if ! clang++-22 "-fsanitize=$sanitizers" -x c++ -o /dev/null - 2>/dev/null <<<'int main() {}'; then
    echo "sanitize: clang++-22 cannot link with -fsanitize=$sanitizers; install the packages clang-22 and libclang-rt-22-dev" >&2
    exit 1
  fi
  build=build-${sanitizers%%,*}
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++-22 -DHEDDLE_SANITIZE="$sanitizers" -DHEDDLE_BUILD_COMPILER=OFF >/dev/null
  cmake --build "$build" --target all test/all
  # A test forks a process that has threads, and the child starts threads: by default the sanitizer kills it.
  TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 die_after_fork=0 suppressions=$PWD/test/thread-sanitizer.supp" \
    ctest --test-dir "$build" --output-on-failure -j2 -E "^tidy" # the checks are those of any other build
done
