#!/usr/bin/env python3
"""What a tuning misses: its result against that of a search of all candidates.

    ATTN_LIBRARY=.../libattn.so PYTHONPATH=python benchmarks/tune_regret.py \\
        [--seconds=60] [--search=600] [--length=1024] [--dim=64]

For six programs on the CPU: full, causal and window masks (--masks), without a score
and with a soft-cap. The usual tuning compiles the 32 most promising candidates in its
seconds; the search compiles all that are legal, in its own. Both results then run
in turn in this process: regret is how many per cent longer the first one takes.
"""

import argparse
import statistics
import sys
import time

import attn
import numpy as np
from attn import _native
from attn_bench import variants


def search(text, tensors, seconds, candidates):
    """A schedule, None for the compiler's choice, its threads, and how many
    candidates were measured."""
    inputs = [_native.HostTensor(x.ctypes.data, "f32", x.shape) for x in tensors]
    report = _native.tune(
        text.encode(),
        "cpu",
        inputs,
        seconds=seconds,
        database="",
        candidates=candidates,
    )
    tried = sum(trial["seconds"] > 0 for trial in report["trials"][1:])
    return report["schedule"] or None, report["threads"], tried


def measure(calls, rounds):
    """The median seconds of each call; they run in turn."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    # The first runs touch memory for the first time.
    return [statistics.median(own[1:]) for own in times]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--search", type=float, default=600)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument(
        "--masks", type=lambda text: text.split(","), default=list(variants.MASKS)
    )
    parser.add_argument("--rounds", type=int, default=41)
    args = parser.parse_args(arguments)
    shape = (1, args.heads, args.length, args.dim)
    tensors = np.random.default_rng(0).standard_normal((3, *shape), np.float32)
    print("| program | tuned | of | searched | of | regret % |")
    print("|---|---|---|---|---|---|", flush=True)
    regrets = []
    for variant in "none", "softcap":
        for mask in args.masks:
            case = variants.Case(
                variant, mask, "f32", 1, args.heads, args.length, args.dim
            )
            text = variants.program(case)
            usual = search(text, tensors, args.seconds, candidates=0)
            # More than there are.
            every = search(text, tensors, args.search, candidates=1 << 20)
            regret = 0.0
            if usual[:2] != every[:2]:
                calls = [
                    attn.compile(text, target="cpu", schedule=schedule, tune="off").bind(
                        *tensors, threads=threads
                    )
                    for schedule, threads, _ in (usual, every)
                ]
                first, second = measure(calls, args.rounds)
                # A search that finds less has missed something, too.
                regret = max(100 * (first / second - 1), 0.0)
            regrets.append(regret)
            cells = [f"`{s or 'as chosen'}`, {t} threads | {n}" if t else
                     f"`{s or 'as chosen'}` | {n}" for s, t, n in (usual, every)]
            print(f"| {variant} {mask} | {' | '.join(cells)} | {regret:.1f} |", flush=True)
    print(f"\nmean {statistics.mean(regrets):.1f} %, most {max(regrets):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
