"""Compiles programs of the benchmarks, and the examples, with their schedules.

Usage: programs.py PTXAS DIRECTORY EXAMPLES SHARD/SHARDS

A schedule that the compiler tries first for a program, and ptxas spills with or
makes slow, is a failure: the table promises what the program does not get.
Files are written to DIRECTORY.
"""

import os
import pathlib
import re
import subprocess
import sys

import check
import shards
from attn.bench import split_kv, sparsity, variants

DIMS = (64, 128)


def make_case(variant, mask, dim):
    return variants.Case(variant, mask, "bf16", 1, 8, 16384, dim)


def get_programs(examples):
    """Texts by name."""
    programs = {}
    for dim in DIMS:
        for name, variant in variants.VARIANTS.items():
            for mask in variant.masks or variants.MASKS:
                case = make_case(name, mask, dim)
                programs[f"{name}-{mask}-{dim}"] = variants.program(case)
        for name, pattern in sparsity.FAMILIES["masks"].items():
            case = make_case("none", name, dim)
            programs[f"{name}-{dim}"] = pattern.program(case, next(iter(pattern.forms)))
        programs[f"global-{dim}"] = split_kv.program(make_case("none", "global", dim))
    for path in sorted(pathlib.Path(examples).glob("*.mlir")):
        # Others are for a CPU, which has no products of f32.
        if re.search(r"x(bf16|f16)>", path.read_text()):
            programs[path.stem] = path.read_text()
    return programs


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise check.Mismatch(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done


def main():
    ptxas, directory, examples, shard = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    programs = get_programs(examples)

    def check_program(name):
        stem = os.path.join(directory, name)
        with open(stem + ".mlir", "w") as file:
            file.write(programs[name])
        text = run(
            ["attn-run", stem + ".mlir", "--target=cuda", "--emit=ptx", "--variant=all"],
            # Nothing is rejected unseen.
            env={**os.environ, "ATTN_PTXAS": "off"},
        ).stdout
        # As "// variant 0 of 3: #hopper.schedule<...>"; one alone has no heading.
        texts = re.split(r"^// (variant \d+ of .*|checks of lists)$", text, flags=re.M)
        headings, texts = (texts[1::2], texts[2::2]) if texts[1:] else ([""], texts)
        problems = []
        for number, (heading, ptx) in enumerate(zip(headings, texts)):
            path = f"{stem}-{number}.ptx"
            with open(path, "w") as file:
                file.write(ptx)
            log = run([ptxas, "-v", "-arch=sm_90a", path, "-o", os.devnull]).stderr
            # A few bytes of rows are what more warps cost.
            if "row_schedule" in heading:
                continue
            try:
                check.check_log(log)
            except check.Mismatch as mismatch:
                problems.append(f"{heading}: {mismatch}")
        if problems:
            raise check.Mismatch("\n".join(problems))

    sys.exit(
        shards.run("programs", list(programs), shard, check_program, check.Mismatch)
    )


main()
