#!/bin/sh
# Packs the portable build: an archive that runs on any Linux with a glibc at
# least as new as this machine's, with no LLVM installed.
#
#   scripts/package.sh        prints the name of the archive
set -eu
cd "$(dirname "$0")/.."

scripts/build.sh portable >&2
scripts/check-linkage build/portable >&2
cmake --build build/portable --target package >&2
ls build/portable/attn-*.tar.xz
