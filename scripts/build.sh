#!/bin/sh
# Configures and builds into build/<preset>.
#
#   scripts/build.sh [preset [target...]]
#
# The preset is one of CMakePresets.json, by default dev. JOBS is the number of
# compilers to run at a time, by default one for each processor.
set -eu
cd "$(dirname "$0")/.."

preset=${1:-dev}
[ $# -eq 0 ] || shift

# A finished configuration is left to ninja, which knows when it is stale, but
# for the presets. One that failed is made afresh, as it may have settled on
# another compiler before clang was installed.
fresh=
[ -f "build/$preset/build.ninja" ] || fresh=--fresh
if [ ! -f "build/$preset/build.ninja" ] ||
  [ -n "$(find CMakePresets.json -newer "build/$preset/build.ninja")" ]; then
  cmake $fresh --preset "$preset"
fi
exec ninja -C "build/$preset" ${JOBS:+-j "$JOBS"} "$@"
