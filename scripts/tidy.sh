#!/bin/sh
# Runs clang-tidy over our sources, with the compile commands of a build.
#
#   scripts/tidy.sh [preset [regular expression of paths]]
set -eu
cd "$(dirname "$0")/.."

preset=${1:-dev}
paths=${2:-/(lib|tools)/.*\\.cpp$}

for name in run-clang-tidy-22 /usr/lib/llvm-22/bin/run-clang-tidy; do
  if command -v "$name" >/dev/null 2>&1; then
    # Generated headers and the precompiled header must exist.
    scripts/build.sh "$preset"
    exec "$name" -quiet -p "build/$preset" ${JOBS:+-j "$JOBS"} "$paths"
  fi
done
echo "tidy: expects clang-tidy-22, but found none; run scripts/setup.sh --all" >&2
exit 1
