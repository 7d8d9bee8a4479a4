#!/usr/bin/env python3
"""Tunes the grid of docs/benchmarks.md, and measures what that gives.

    python3 benchmarks/tune_grid.py --out=FOLDER [--bin=build/release/bin] [--seconds=240]
                                    [--write[=lib/Tune/tuned.json]]

Each cell, a head dimension, a mask and a length, is tuned into FOLDER/tuning.db
in its share of the seconds that are left; FOLDER/tuned.json is the export, and
--write writes the table that the compiler ships of all cells in the database. Then
the tuned program runs in turn with the untuned one, in one process, on inputs of
its own: what a cell shows is no part of what its schedule was chosen by. Only
attn-run and attn-tune-db are needed, and the standard library. A cell that fails
is told, and the others go on.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from attn_bench import variants

TABLE = pathlib.Path(__file__).resolve().parent.parent / "lib" / "Tune" / "tuned.json"


class Tools:
    """The programs of the compiler, of which none uses a database unless told.
    Without a folder they are those of the bundle that this is in, or on PATH."""

    def __init__(self, folder, target):
        own = pathlib.Path(__file__).resolve().parent.parent / "bin"
        self.folder = folder or (own if (own / "attn-run").exists() else None)
        self.target = target

    def run(self, tool, *arguments, database="off"):
        if self.folder:
            tool = self.folder / tool
        command = list(map(str, (tool, *arguments)))
        environment = {**os.environ, "ATTN_TUNING_DB": str(database)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["it has failed"]
            raise RuntimeError(lines[-1])
        return done.stdout


def shapes(case, seed):
    """Arguments of attn-run."""
    shape = f"{case.batch}x{case.heads}x{case.length}x{case.dim}"
    return [f"--arg={name}=randn:{shape}" for name in "qkv"] + [f"--seed={seed}"]


def tune(tools, case, program, database, seconds):
    """The schedule of a cell, "" for the compiler's choice, and how many
    candidates were measured."""
    options = [f"--target={tools.target}", f"--tune={seconds:.2f}", "--format=json"]
    report = json.loads(
        tools.run(
            "attn-run", program, *options, *shapes(case, seed=0), database=database
        )
    )["tuning"]
    if not report["kept"]:
        raise RuntimeError(f"not kept: {report['note']}")
    tried = sum(trial["seconds"] > 0 for trial in report["trials"][1:])
    return report["schedule"], tried


def write(path, case, schedule):
    """A program with a schedule, None or "" for the compiler's choice."""
    text = variants.program(case)
    if schedule:
        text = text.replace("attn.attention", f"attn.attention schedule {schedule}", 1)
    path.write_text(text)
    return path


def compare(tools, case, program, baseline, runs):
    """The median times in seconds of two programs that run in turn."""
    report = json.loads(
        tools.run(
            "attn-run",
            program,
            f"--target={tools.target}",
            f"--bench={runs}",
            f"--baseline={baseline}",
            "--format=json",
            *shapes(case, 1),
        )
    )["bench"]
    return report["median_s"], report["baseline"]["median_s"]


def make_cases(args):
    cells = itertools.product(args.dims, args.variants, args.masks, args.lengths)
    for dim, variant, mask, length in cells:
        yield variants.make_case(args, variant, mask, length, dim)


def get_name(case):
    return case.mask if case.variant == "none" else f"{case.variant} {case.mask}"


def main(arguments=None):
    def numbers(text):
        return [int(number) for number in text.split(",")]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bin", type=pathlib.Path, help="by default that of the bundle, or PATH"
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--target", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--seconds", type=float, default=240, help="for all cells")
    parser.add_argument("--dims", type=numbers, default=[64, 128, 256])
    parser.add_argument(
        "--masks", type=lambda t: t.split(","), default=["full", "causal", "window"]
    )
    parser.add_argument(
        "--variants",
        type=lambda t: t.split(","),
        default=["none"],
        help="of attn_bench that read no captures",
    )
    parser.add_argument("--lengths", type=numbers, default=[1024, 2048, 4096, 8192])
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument(
        "--columns",
        dest="heads_total",
        type=int,
        default=2048,
        help="heads times D",
    )
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--runs", type=int, default=30, help="of each comparison")
    parser.add_argument(
        "--write", type=pathlib.Path, nargs="?", const=TABLE, metavar="FILE"
    )
    args = parser.parse_args(arguments)
    if not args.seconds > 0:
        parser.error("expects more than 0 seconds")
    if args.write and not args.write.parent.is_dir():
        parser.error(f"expects a folder to write '{args.write}' in; name another file")
    for variant in args.variants:
        known = variants.VARIANTS.get(variant)
        if known is None or known.captures:
            parser.error(f"expects a variant without captures, but got '{variant}'")
    args.out.mkdir(parents=True, exist_ok=True)
    tools = Tools(args.bin, args.target)
    database = args.out / "tuning.db"
    cases = list(make_cases(args))
    end = time.monotonic() + args.seconds
    # What a cell takes beside its tuning: starts, inputs, the comparison.
    besides = 0.0
    ratios, failures = [], 0
    print("| D | mask | S | untuned ms | tuned ms | untuned / tuned | tried | schedule |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for number, case in enumerate(cases):
        start = time.monotonic()
        share = (end - start) / (len(cases) - number)
        budget = max(share - besides, 1.0)
        stem = get_name(case).replace(" ", "-")
        program = write(args.out / f"{stem}-{case.dim}.mlir", case, "")
        name = f"| {case.dim} | {get_name(case)} | {case.length} |"
        try:
            schedule, tried = tune(tools, case, program, database, budget)
            times = None
            if schedule:
                tuned = write(program.with_suffix(".tuned.mlir"), case, schedule)
                times = compare(tools, case, tuned, program, args.runs)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            failures += 1
            print(f"{name} | | | | failed: {error} |", flush=True)
            continue
        if times:
            ratios.append(times[1] / times[0])
            ms = f"{1e3 * times[1]:.4f} | {1e3 * times[0]:.4f} | {ratios[-1]:.3f}"
        else:
            ratios.append(1.0)
            ms = "| | 1"
        print(f"{name} {ms} | {tried} | `{schedule or 'as chosen'}` |", flush=True)
        besides = max(time.monotonic() - start - budget, 0.0)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"\n{len(ratios)} cells, geometric mean {mean:.3f}, least"
            f" {min(ratios):.3f}, most {max(ratios):.3f}"
        )
        export = args.out / "tuned.json"
        tools.run("attn-tune-db", "export", f"--db={database}", export)
        if args.write:
            options = ["--table", f"--db={database}"]
            tools.run("attn-tune-db", "export", *options, args.write)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
