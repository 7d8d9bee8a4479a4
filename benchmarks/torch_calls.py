#!/usr/bin/env python3
"""What a call of attn.torch costs the host, next to the kernel itself.

  PYTHONPATH=python python3 benchmarks/torch_calls.py [--calls=N] [--rounds=N]

Shapes are tiny, so that almost all of the time is that of the call; the best of
several rounds, in microseconds.
"""

import argparse
import time

import torch

import attn
import attn.torch
from attn.trace import trace


def measure(function, calls, rounds):
    function()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=20, help="calls of a round")
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q, k, v = torch.randn(3, 1, 2, 8, 64, device=device).to(dtype)
    slopes = torch.rand(2, device=device)

    def score_mod(s, b, h, i, j):
        return s + slopes[h] * (j - i)

    def mask_mod(b, h, i, j):
        return j <= i

    def score_of(s, b, h, i, j, slopes):
        return s + slopes[h] * (j - i)

    def mask_of(b, h, i, j, slopes):
        return j <= i

    mask = attn.torch.create_block_mask(mask_mod, None, None, 8, 8, device=device)
    variant = attn.torch.Variant(score_of, mask_of)
    program = trace(score_mod, mask_mod)
    text = program.to_mlir(attn.trace.Variant(dtype=attn.torch.kernels.NAMES[dtype]))
    kernel = attn.compile(text, target=device)
    bound = kernel.bind(q, k, v, *program.arguments())
    learned = q.clone().requires_grad_()
    contenders = {
        "trace of the functions alone": lambda: trace(score_mod, mask_mod),
        "flex_attention": lambda: attn.torch.flex_attention(q, k, v, score_mod, mask),
        "flex_attention, with a gradient": lambda: attn.torch.flex_attention(
            learned, k, v, score_mod, mask
        ),
        "Variant": lambda: variant(q, k, v, slopes),
        "Variant, with a gradient": lambda: variant(learned, k, v, slopes),
        "kernel": lambda: kernel(q, k, v, *program.arguments()),
        "kernel.bind": bound,
        "PyTorch's SDPA, causal": lambda: (
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        ),
    }
    for name, function in contenders.items():
        print(f"{name:34}{measure(function, options.calls, options.rounds):8.1f} us")


main()
