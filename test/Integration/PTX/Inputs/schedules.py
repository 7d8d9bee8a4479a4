"""Compiles kernels with the schedules of the compiler's table, and checks them.

Usage: schedules.py PTXAS DIRECTORY SHARD/SHARDS

The schedules are those that attn-hopper-assign-schedule lists: for all head
dimensions each but those of last resort, for split-KV and for any strides,
which are for the least and the greatest that have them; and for pairs of dimensions, windows, and
biases, those that come first.
Files are written to DIRECTORY.
"""

import bisect
import itertools
import os
import re
import subprocess
import sys

import check
import program
import shards

DIMS = range(8, 257, 8)
# Where the queries', keys' and the values' dimension differ.
SOME = (8, 64, 96, 128, 192, 256)
KINDS = ("plain", "causal")
# With more dimensions a bias, documents and queries in registers together take
# more registers than there are, and a compilation takes a later schedule.
WITH_REGIONS = {
    "window": SOME,
    "window-of-size": SOME,
    "bias": SOME,
    "alibi": SOME,
    "alibi-causal": SOME,
    "alibi-documents": (8, 64, 96),
}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done


def list_schedules(directory):
    """The schedules of the table, for all cases: the kind, both dimensions, the
    schedule, and whether it is a last resort."""
    cases = [(kind, dim, dim) for kind in KINDS for dim in DIMS]
    cases += [(kind, a, b) for kind in KINDS for a in SOME for b in SOME if a != b]
    cases += [(kind, dim, dim) for kind, dims in WITH_REGIONS.items() for dim in dims]
    path = os.path.join(directory, "table.mlir")
    starts, line = [], 1
    with open(path, "w") as file:
        for number, case in enumerate(cases):
            text = program.get_program(*case, name=f"f{number}")
            starts.append(line)
            line += text.count("\n")
            file.write(text)
    remarks = run(
        [
            "attn-opt",
            path,
            "--attn-hopper-assign-schedule=list",
            "--mlir-print-op-on-diagnostic=false",
            "-o",
            os.devnull,
        ]
    ).stderr
    return [
        (*cases[bisect.bisect_right(starts, int(line)) - 1], schedule, name != "schedule")
        for line, name, schedule in re.findall(
            r":(\d+):\d+: remark: (schedule|last resort|split-KV|for any strides): (#hopper\.schedule<.*>)",
            remarks,
        )
    ]


def choose_kernels(table):
    """Kernels to compile, each with the schedule and both dimensions."""
    kernels, last = [], {}
    for kind, a, b, schedule, is_last in table:
        if not is_last:
            kernels.append((kind, a, b, schedule))
        elif a == b:
            last.setdefault((kind, schedule), []).append(a)
    for (kind, schedule), dims in last.items():
        for dim in sorted({min(dims), max(dims)}):
            kernels.append((kind, dim, dim, schedule))
    return kernels


def compile_kernel(ptxas, stem, kind, query_dim, value_dim, schedule):
    with open(stem + ".mlir", "w") as file:
        file.write(program.get_program(kind, query_dim, value_dim))
    ptx = run(
        [
            "attn-run",
            stem + ".mlir",
            "--target=cuda",
            "--emit=ptx",
            f"--schedule={schedule}",
        ],
        # Once is enough, and its words are needed here.
        env={**os.environ, "ATTN_PTXAS": "off"},
    ).stdout
    with open(stem + ".ptx", "w") as file:
        file.write(ptx)
    command = [ptxas, "-v", "-arch=sm_90a", stem + ".ptx", "-o", stem + ".cubin"]
    check.check(schedule, ptx, run(command).stderr, query_dim, value_dim)


def main():
    ptxas, directory, shard = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    table = list_schedules(directory)
    # The table has something for each.
    missing = set(itertools.product(KINDS, DIMS)) - {row[:2] for row in table}
    if missing:
        sys.exit(f"expects schedules for {sorted(missing)}")
    kernels = shards.part(shards.sample(choose_kernels(table)), shard)
    failures = []
    for number, kernel in enumerate(kernels):
        try:
            compile_kernel(ptxas, os.path.join(directory, str(number)), *kernel)
        except check.Mismatch as mismatch:
            failures.append(f"{kernel}: {mismatch}")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{len(kernels)} kernels compiled")


main()
