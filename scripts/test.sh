#!/bin/sh
# Everything that must hold of a change: it builds without a warning, all tests
# pass, sources are laid out, reference pages are current, and no program mixes
# two kinds of linkage.
#
#   scripts/test.sh            from any state of the machine
#   scripts/test.sh --fast     build and test only
#   PRESET=asan scripts/test.sh [--fast]     with another preset than dev
set -eu
cd "$(dirname "$0")/.."
preset=${PRESET:-dev}

fast=
case ${1:-} in
'') ;;
--fast) fast=1 ;;
*)
  echo "usage: scripts/test.sh [--fast]" >&2
  exit 2
  ;;
esac

# The one that tests run in: Debian's own, if it is there.
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3

step() { echo "== $*"; }

if [ -z "$fast" ]; then
  step "setup"
  scripts/setup.sh
  step "format"
  scripts/format-check.sh
fi

step "build ($preset)"
scripts/build.sh "$preset" all attn-test-depends

if [ -z "$fast" ]; then
  step "reference pages"
  scripts/build.sh "$preset" attn-doc-check
  step "linkage"
  scripts/check-linkage "build/$preset"
fi

# The tests of attn.torch skip themselves without PyTorch; none of Python run
# under a sanitizer.
case $preset in
asan | tsan) wants_torch= ;;
*) wants_torch=1 ;;
esac
if [ -z "$fast" ] && [ "$wants_torch" ] &&
  ! "$python" -c 'import torch' 2>/dev/null; then
  step "PyTorch"
  "$python" scripts/torch-cpu
fi
if [ -z "$fast" ] && [ "$wants_torch" ]; then
  step "clients"
  scripts/clients
fi

step "tests"
scripts/build.sh "$preset" check-attn
step "passed"
