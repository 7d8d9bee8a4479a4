"""Times a cold compilation: a fresh process, an empty cache, from the text of a
program to the end of its first launch on a GPU. Prints medians in seconds. With
--backward that of its gradients, whose forward kernel has been compiled before.

  PYTHONPATH=python python3 benchmarks/cold_compile.py [--rounds=N] [--dims=64,128,256]
    [--backward]

The driver's context and PyTorch have started before.
"""

import argparse
import os
import statistics
import subprocess
import sys

from attn_bench import variants
from attn_bench.options import positive, positives

# A variant and a mask, as variants.py has them.
PROGRAMS = {
    "full": ("none", "full"),
    "causal": ("none", "causal"),
    "causal, soft-cap": ("softcap", "causal"),
    "window of 1024": ("none", "window"),
}

CHILD = """
import sys, time
import torch, attn
dim, backward = int(sys.argv[1]), sys.argv[2] == "backward"
q = torch.randn(1, 8, 2048, dim, device="cuda", dtype=torch.bfloat16)
text = sys.stdin.read()
make = lambda: attn.compile(text, target="cuda")
inputs = (q, q, q)
if backward:
    kernel = make()
    o, lse = kernel(*inputs)
    inputs += (o, lse, q, torch.zeros_like(lse))
    make = kernel.gradient
torch.cuda.synchronize()
start = time.perf_counter()
make()(*inputs)
torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


def measure(text, dim, backward):
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(dim), "backward" if backward else "forward"],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, "ATTN_CACHE_DIR": "off"},
    )
    if run.returncode != 0:
        sys.exit(f"cold_compile: error: {run.stderr.strip().splitlines()[-1]}")
    return float(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--dims", type=positives, default=[64, 128, 256])
    parser.add_argument("--backward", action="store_true")
    options = parser.parse_args()
    print(f"| D | {' | '.join(PROGRAMS)} |")
    print("|---" * (len(PROGRAMS) + 1) + "|")
    for dim in options.dims:
        cells = []
        for variant, mask in PROGRAMS.values():
            case = variants.Case(variant, mask, "bf16", 1, 8, 2048, dim)
            text = variants.program(case, lse=options.backward)
            times = [
                measure(text, dim, options.backward) for _ in range(options.rounds)
            ]
            cells.append(f"{statistics.median(times):.2f}")
        print(f"| {dim} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
