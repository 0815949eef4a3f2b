#!/usr/bin/env bash
# Tests a first build: installs a bare Debian in a folder, clones this repository's last commit into it, and runs
# tools/demo.sh and tools/test.sh there. Needs root, debootstrap and the network.
#
#   test/bare.sh debian-12|debian-13 [--folder DIR] [--cache DIR] [--no-shm] [--mirror URL] [-- COMMAND...]
#   test/bare.sh debian-12|debian-13 --package FILE.deb ...
#
#   --folder DIR   where the root goes, and stays: the next run goes on in it with a new clone. About 8 GB.
#                  Default: /var/tmp/heddle-debian-12 (or 13)
#   --cache DIR    a folder for the compiler cache. By default there is no cache from outside, and the build is cold
#   --no-shm       leaves /dev/shm out, as some containers do
#   --mirror URL   Debian's archive to install from. Default: debootstrap's own
#   COMMAND        runs in the clone in place of `tools/demo.sh && tools/test.sh`
#   --package FILE a package of Heddle (docs/embed.md says how it is made). No clone then: the root is new each time, gets the package and
#                  what the examples are built with, and test/runtime/use_package.sh runs there. The folder's name ends in -package
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
  printf 'bare: %s\n' "$1" >&2
  exit "${2:-1}"
}

case ${1:-} in
  debian-12) codename=bookworm ;;
  debian-13) codename=trixie ;;
  *) sed -n '2,16s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
folder=/var/tmp/heddle-$1
shift
cache=
shm=yes
mirror=
package=
while [ $# -gt 0 ]; do
  case $1 in
    --folder) folder=${2:?--folder takes a folder}; shift 2 ;;
    --cache) cache=$(realpath -m "${2:?--cache takes a folder}"); shift 2 ;;
    --no-shm) shm=no; shift ;;
    --package) package=$(realpath -e "${2:?--package takes a file}"); shift 2 ;;
    --mirror) mirror=${2:?--mirror takes an address}; shift 2 ;;
    --) shift; break ;;
    *) fail "unknown option '$1'; test/bare.sh without arguments prints the options" 2 ;;
  esac
done
command=("$@")
if [ -n "$package" ]; then
  folder+=-package
  rm -rf "$folder"
  # Installs the package with its dependencies, Vulkan's loader and a driver, and then the build tools for the examples
  # and the plug-in.
  command=(bash -exc 'apt-get update -qq
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -qq --yes --no-install-recommends ./heddle.deb libvulkan1 mesa-vulkan-drivers >installed.log
    apt-get install -qq --yes --no-install-recommends g++ cmake ninja-build pkgconf nlohmann-json3-dev libsentencepiece-dev libutf8proc-dev \
      libxxhash-dev zlib1g-dev libzstd-dev libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools python3-numpy python3-pip python3-setuptools python3-wheel \
      >>installed.log
    exec test/runtime/use_package.sh "$PWD" /usr /usr/bin/python3')
elif [ ${#command[@]} -eq 0 ]; then
  command=(bash -c 'tools/demo.sh && tools/test.sh')
fi
[ "$(id -u)" -eq 0 ] || fail "needs root, for debootstrap and chroot" 2
command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap" 2

if [ ! -e "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates "$codename" "$folder" ${mirror:+"$mirror"} > "$folder.log" ||
    fail "debootstrap failed; its messages are in $folder.log"
  mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$folder/etc/apt/sources.list" | head -n 1)
  # LLVM 22 is in the security suite, which debootstrap leaves out.
  cat > "$folder/etc/apt/sources.list" <<LIST
deb $mirror $codename main
deb $mirror $codename-updates main
deb ${mirror%/debian}/debian-security $codename-security main
LIST
  # Uses this machine's way to reach the archive (a proxy, for example) there, too.
  apt-config dump | grep -E '^Acquire::(http|https)::' > "$folder/etc/apt/apt.conf.d/80host" || true
  touch "$folder/ready"
fi
cp /etc/resolv.conf "$folder/etc/resolv.conf"
cp /etc/hosts "$folder/etc/hosts"
# Copies the certificate authorities that this machine trusts, including a proxy's.
authorities=/etc/ssl/certs/ca-certificates.crt
[ ! -e "$authorities" ] || cp -L "$authorities" "$folder$authorities"

rm -rf "$folder/heddle"
if [ -n "$package" ]; then
  mkdir "$folder/heddle"
  (cd "$repository" && cp -r --parents runtime/c/examples runtime/session/example runtime/train/example runtime/python compiler/examples test/lit.py test/runtime/use_package.sh "$folder/heddle")
  cp "$package" "$folder/heddle/heddle.deb"
else
  git clone --quiet --no-hardlinks "$repository" "$folder/heddle"
fi
[ -z "$cache" ] || mkdir -p "$cache" "$folder/cache"

# All mounts are in a separate namespace and disappear with it.
export folder cache shm
exec unshare --mount --pid --fork --kill-child bash -euc '
  mount -t proc proc "$folder/proc"
  mount -t tmpfs -o mode=755 tmpfs "$folder/dev"
  for device in null zero full random urandom tty; do
    touch "$folder/dev/$device"
    mount --bind "/dev/$device" "$folder/dev/$device"
  done
  ln -s /proc/self/fd "$folder/dev/fd"
  ln -s fd/0 "$folder/dev/stdin"
  ln -s fd/1 "$folder/dev/stdout"
  ln -s fd/2 "$folder/dev/stderr"
  if [ "$shm" = yes ]; then
    mkdir "$folder/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
  fi
  environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "CI=${CI:-}")
  if [ -n "$cache" ]; then
    mount --bind "$cache" "$folder/cache"
    environment+=(CCACHE_DIR=/cache CCACHE_COMPILERCHECK=content)
  fi
  exec chroot "$folder" env -i "${environment[@]}" bash -euc "cd /heddle && exec \"\$@\"" bash "$@"
' bash "${command[@]}"
