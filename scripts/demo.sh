#!/bin/sh
# From a fresh machine to a checked and measured kernel: installs what is
# missing, builds attn-run, compiles one attention variant (a tanh soft-cap
# under a causal mask, with grouped heads) for this processor, compares its
# result with the float64 reference, and times it.
#
#   scripts/demo.sh [example.mlir [arguments of attn-run]]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ $# -eq 0 ]; then
  set -- "$root/docs/examples/softcap-causal-gqa.mlir" --check --bench
fi

"$root/scripts/setup.sh"
"$root/scripts/build.sh" release attn-run
exec "$root/build/release/bin/attn-run" "$@"
