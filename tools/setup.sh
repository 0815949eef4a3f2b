#!/usr/bin/env bash
# Installs what building and running Heddle needs on Debian 12 or 13: only the packages that are missing, and nothing but
# packages. Safe to run again; does nothing, and needs no root, when all is there.
#
#   tools/setup.sh                 what the programs need
#   tools/setup.sh --tests         what their tests and benchmarks need, too (PyTorch, a browser, validation layers)
#   tools/setup.sh --runtime-only  what the preset `runtime-only` needs: no LLVM
#   tools/setup.sh --list          print the packages and stop; with --tests, those as well
set -euo pipefail

build=(cmake ninja-build g++ ccache)
runtime=(libflatbuffers-dev flatbuffers-compiler libvulkan-dev libvulkan-volk-dev libsentencepiece-dev nlohmann-json3-dev
         libcli11-dev libspdlog-dev zlib1g-dev libzstd-dev libxxhash-dev libutf8proc-dev libvulkan1 mesa-vulkan-drivers)
compiler=(clang-22 llvm-22-dev libmlir-22-dev mlir-22-tools libtomlplusplus-dev)
# PyTorch multiplies matrices with the BLAS that is there: without OpenBLAS at a thirtieth of the speed.
tests=(llvm-22-tools clang-format-22 clang-tidy-22 mkdocs git zstd libgtest-dev libbenchmark-dev librapidcheck-dev vulkan-validationlayers spirv-tools
       python3 python3-numpy python3-torch libopenblas0-pthread python3-pip python3-setuptools python3-wheel pkgconf openmpi-bin
       dpkg-dev file)
# Pages are tested in a browser, kernels on the Vulkan driver that comes with it (SwiftShader). Any Chromium will do; its
# headless shell is the smallest (300 MB).
[ -e /usr/lib/chromium/vk_swiftshader_icd.json ] || tests+=(chromium-headless-shell)

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

packages=("${build[@]}" "${runtime[@]}" "${compiler[@]}")
list_only=no
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${tests[@]}") ;;
    --runtime-only) packages=("${build[@]}" "${runtime[@]}") ;;
    --list) list_only=yes ;;
    *) echo "setup: unknown option '$argument'; there are --tests, --runtime-only and --list" >&2; exit 2 ;;
  esac
done
if [ "$list_only" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

distribution=unknown
codename=unknown
if [ -r /etc/os-release ]; then
  distribution=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
fi
case $distribution in
  "debian 12" | "debian 13") ;;
  *)
    fail "this is '$distribution', and only Debian 12 and 13 are set up automatically." \
         "Install a C++20 compiler, CMake 3.25, Ninja, and what these Debian packages hold, then build as the README says:" \
         "${packages[*]}"
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi
echo "setup: installing ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "not root and there is no sudo; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# Prints those of its arguments that apt knows no version of.
unavailable() {
  local package candidate
  for package in "$@"; do
    candidate=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    case $candidate in '' | '(none)') echo "$package" ;; esac
  done
}
install() {
  apt install --yes --no-install-recommends "${missing[@]}"
}

updated=no
update() {
  apt update
  updated=yes
}

[ -z "$(unavailable "${missing[@]}")" ] || update
absent=$(unavailable "${missing[@]}" | tr '\n' ' ')
if [ -n "$absent" ]; then
  case $absent in
    *llvm-22* | *mlir-22*)
      fail "apt knows no package ${absent% }." \
           "LLVM and MLIR 22 come with Debian's security suite (on Debian 13 with its later point releases, too)," \
           "which is missing from this machine's apt sources:" \
           "add the suite '$codename-security', component main, of Debian's security archive, and run this again." \
           "Without LLVM there is still the runtime: tools/setup.sh --runtime-only && cmake --preset runtime-only"
      ;;
    *) fail "apt knows no package ${absent% }; Debian's main archive for '$codename' holds it: is it in the apt sources?" ;;
  esac
fi

# Package lists may be there but old, naming files that the archive no longer has.
if ! install; then
  [ "$updated" = no ] || fail "apt-get could not install the packages; its message is above."
  update
  install || fail "apt-get could not install the packages; its message is above."
fi
echo "setup: done"
