"""Checks the table of variants where there is no GPU: each kernel compiles for
one, and each variant is, on a CPU, the maths that the table says.

Usage: check_table.py ptx|cpu|torch SHARD/COUNT

`torch` is `cpu` with PyTorch in place of NumPy.
"""

import sys

import attn
import backends
import cases
import running
import shards


def check_ptx(number, count):
    kernels = list(dict.fromkeys(case.kernel for case in cases.all_cases()))
    kernels = shards.sample_each(kernels, lambda kernel: kernel[0].name)
    for kernel in kernels[number::count]:
        running.compile_kernel(kernel, "cuda")
        attn.clear_cache()
    return len(kernels[number::count]), []


def check_cpu(backend, number, count):
    problems = []
    chosen = cases.small_cases()[number::count]
    for case in chosen:
        problem = running.check(backend, case)
        if problem:
            problems.append(f"{case}: {problem}")
    return len(chosen), problems


def main():
    what, (number, count) = sys.argv[1], map(int, sys.argv[2].split("/"))
    if what == "ptx":
        total, problems = check_ptx(number, count)
    else:
        backend = backends.make("numpy" if what == "cpu" else "cpu")
        total, problems = check_cpu(backend, number, count)
    print("\n".join(problems + [f"{what}: {total} checked, {len(problems)} wrong"]))
    return 1 if problems or total == 0 else 0


sys.exit(main())
