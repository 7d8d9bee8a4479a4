#!/usr/bin/env python3
"""What a tuning misses: its result against that of a search of all candidates.

    ATTN_LIBRARY=.../libattn.so python3 benchmarks/tune_regret.py \\
        [--target=cuda] [--seconds=60] [--search=600] [--length=1024] [--dim=64]

For six programs: full, causal and window masks (--masks), without a score and with
a soft-cap. The usual tuning compiles the 32 most promising candidates in its
seconds; the search compiles all that are legal, in its own. Both results then run
in turn, on a CPU in this process and on a GPU in attn-run (--bin): regret is how
many per cent longer the first one takes. It needs NumPy.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import attn
import numpy as np
import tune_grid
from attn import _native
from attn_bench import variants


def make_inputs(case):
    """Tensors of NumPy, of which those of bf16 are the upper halves of f32."""
    shape = (3, case.batch, case.heads, case.length, case.dim)
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    if case.dtype == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f32": np.float32, "f16": np.float16}[case.dtype])


def search(case, tensors, target, seconds, candidates):
    """A schedule, None for the compiler's choice, its threads, and how many
    candidates were measured."""
    inputs = [_native.HostTensor(x.ctypes.data, case.dtype, x.shape) for x in tensors]
    report = _native.tune(
        variants.program(case).encode(),
        target,
        inputs,
        seconds=seconds,
        database="",
        candidates=candidates,
    )
    tried = sum(trial["seconds"] > 0 for trial in report["trials"][1:])
    return report["schedule"] or None, report["threads"], tried


def measure_here(case, tensors, results, rounds):
    """The median seconds of each result on a CPU; they run in turn."""
    text = variants.program(case)
    calls = [
        attn.compile(text, target="cpu", schedule=schedule, tune="off").bind(
            *tensors, threads=threads
        )
        for schedule, threads, _ in results
    ]
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    # The first runs touch memory for the first time.
    return [statistics.median(own[1:]) for own in times]


def measure_on_gpu(tools, case, results, rounds):
    """The same on a GPU, by its events."""
    with tempfile.TemporaryDirectory() as folder:
        programs = [
            tune_grid.write(pathlib.Path(folder) / f"{n}.mlir", case, schedule)
            for n, (schedule, _, _) in enumerate(results)
        ]
        return tune_grid.compare(tools, case, *programs, rounds)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument(
        "--bin", type=pathlib.Path, help="by default that of the bundle, or PATH"
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--search", type=float, default=600)
    parser.add_argument("--length", type=int, help="by default 1024, on a GPU 4096")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--heads", type=int, help="by default 4, on a GPU 32")
    parser.add_argument(
        "--dtype", choices=("f32", "f16", "bf16"), help="f32, on a GPU bf16"
    )
    parser.add_argument(
        "--masks", type=lambda text: text.split(","), default=list(variants.MASKS)
    )
    parser.add_argument("--rounds", type=int, default=41)
    args = parser.parse_args(arguments)
    is_gpu = args.target == "cuda"
    dtype = args.dtype or ("bf16" if is_gpu else "f32")
    if not is_gpu and dtype == "bf16":
        parser.error("expects f32 or f16 on a CPU: NumPy has no bf16 to run with")
    tools = tune_grid.Tools(args.bin, args.target)
    print("| program | tuned | of | searched | of | regret % |")
    print("|---|---|---|---|---|---|", flush=True)
    regrets = []
    for variant in "none", "softcap":
        for mask in args.masks:
            case = variants.Case(
                variant=variant,
                mask=mask,
                dtype=dtype,
                batch=1,
                heads=args.heads or (32 if is_gpu else 4),
                length=args.length or (4096 if is_gpu else 1024),
                dim=args.dim,
            )
            tensors = make_inputs(case)
            results = (
                search(case, tensors, args.target, args.seconds, candidates=0),
                # More than there are.
                search(case, tensors, args.target, args.search, candidates=1 << 20),
            )
            regret = 0.0
            if results[0][:2] != results[1][:2]:
                first, second = (
                    measure_on_gpu(tools, case, results, args.rounds)
                    if is_gpu
                    else measure_here(case, tensors, results, args.rounds)
                )
                # A search that finds less has missed something, too.
                regret = max(100 * (first / second - 1), 0.0)
            regrets.append(regret)
            cells = [
                f"`{schedule or 'as chosen'}`"
                + (f", {threads} threads" if threads else "")
                + f" | {tried}"
                for schedule, threads, tried in results
            ]
            print(f"| {variant} {mask} | {' | '.join(cells)} | {regret:.1f} |", flush=True)
    print(f"\nmean {statistics.mean(regrets):.1f} %, most {max(regrets):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
