#!/usr/bin/env python3
"""Attention of few queries on a CPU, as in decoding, against PyTorch's.

  ATTN_NUM_THREADS=1 PYTHONPATH=python:build/torch python3 benchmarks/cpu_decode.py
      [--rounds=N]

Results are compared with float64 first: errors are at most 1.5 times PyTorch's, or
within rounding. Then the contenders take turns. Figures are lower quartiles of the
time of a call, in milliseconds; PyTorch has as many threads as ATTN_NUM_THREADS.
"""

import argparse
import os
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

import attn.torch

# Element type, heads, heads of keys, queries, keys, head dimension.
CASES = [
    *((torch.float32, 8, 8, 1, keys, 64) for keys in (4096, 512)),
    (torch.float32, 32, 8, 1, 2048, 128),
    *((torch.bfloat16, 8, 8, 1, keys, 64) for keys in (4096, 512)),
    (torch.bfloat16, 32, 8, 1, 2048, 128),
    *((torch.float32, 8, 8, queries, 4096, 64) for queries in (2, 4, 8, 16)),
    *((torch.bfloat16, 8, 8, queries, 4096, 64) for queries in (4, 16)),
    *((torch.float32, 8, 8, queries, 2048, 128) for queries in (4, 16)),
]


def check(case, tensors, ours, theirs):
    exact = theirs(*(x.double() for x in tensors))
    error, expected = ((f(*tensors).double() - exact).abs().max() for f in (ours, theirs))
    least = torch.finfo(tensors[0].dtype).eps * exact.abs().max()
    if not error <= 1.5 * max(expected, least):
        raise SystemExit(f"{case}: error {error:.3g}, but PyTorch's {expected:.3g}")


def measure(contenders, tensors, rounds):
    times = [[] for _ in contenders]
    for _ in range(rounds):
        for function, taken in zip(contenders, times):
            function(*tensors)
            start = time.perf_counter()
            function(*tensors)
            taken.append(1e3 * (time.perf_counter() - start))
    return [sorted(taken)[rounds // 4] for taken in times]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(int(os.environ.get("ATTN_NUM_THREADS") or os.cpu_count()))
    torch.manual_seed(int(time.time()))
    print("| dtype | heads | KV heads | queries | keys | D | ours | PyTorch | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        dtype, heads, kv_heads, queries, keys, dim = case
        tensors = [
            torch.randn(1, count, length, dim).to(dtype)
            for count, length in ((heads, queries), (kv_heads, keys), (kv_heads, keys))
        ]
        grouped = heads != kv_heads

        def ours(q, k, v, grouped=grouped):
            return attn.torch.sdpa(q, k, v, enable_gqa=grouped)

        def theirs(q, k, v, grouped=grouped):
            return scaled_dot_product_attention(q, k, v, enable_gqa=grouped)

        check(case, tensors, ours, theirs)
        taken = measure((ours, theirs), tensors, rounds)
        name = str(dtype).removeprefix("torch.")
        print(
            f"| {name} | {heads} | {kv_heads} | {queries} | {keys} | {dim}"
            f" | {taken[0]:.3f} | {taken[1]:.3f} | {taken[1] / taken[0]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
