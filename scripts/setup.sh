#!/bin/sh
# Installs what the build needs, from Debian 12's own packages. Packages that
# are there are left alone, so running it again does nothing.
#
#   scripts/setup.sh         what building and testing need
#   scripts/setup.sh --all   also what the sanitizers, clang-tidy and the
#                            benchmarks need
set -eu

needed="clang-22 lld-22 llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools
  zlib1g-dev libzstd-dev libsqlite3-dev libgtest-dev cmake ninja-build ccache python3
  python3-numpy python3-pip clang-format-22"
optional="libclang-rt-22-dev clang-tidy-22 libopenblas-dev shellcheck"

case ${1:-} in
'') packages=$needed ;;
--all) packages="$needed $optional" ;;
*)
  echo "usage: scripts/setup.sh [--all]" >&2
  exit 2
  ;;
esac

say() { echo "setup: $*"; }
fail() {
  echo "setup: $*" >&2
  exit 1
}

# A package may be known and removed, so its state is asked for, too.
missing=
if command -v dpkg-query >/dev/null 2>&1; then
  for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) ||
      state=
    [ "$state" = installed ] || missing="$missing $package"
  done
else
  for package in $packages; do missing="$missing $package"; done
fi
if [ -z "$missing" ]; then
  say "everything is installed"
  exit 0
fi

system=unknown
# shellcheck disable=SC1091 # a file of the system
[ -r /etc/os-release ] && system=$(. /etc/os-release && echo "$ID ${VERSION_ID:-}")
case $system in
debian*) ;;
*)
  fail "expects Debian 12 or later, but this is '$system';" \
    "install by hand:$missing (LLVM and MLIR 22.1 with headers and archives)"
  ;;
esac
command -v apt-get >/dev/null 2>&1 || fail "expects apt-get, but found none"

sudo=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 ||
    fail "expects root or sudo, to install:$missing"
  sudo=sudo
fi

say "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # lists
{
  $sudo apt-get update -q
  # Without the packages that are merely recommended: those of clang alone
  # are larger than all of this.
  $sudo apt-get install -q -y --no-install-recommends $missing ||
    fail "apt-get did not install:$missing (on Debian 12, LLVM 22 comes" \
      "from bookworm-security: see /etc/apt/sources.list)"
}
say "done"
