#!/usr/bin/env python3
"""What a call of attn.torch costs the host, next to the bars it is to meet.

  PYTHONPATH=python python3 benchmarks/torch_calls.py [--seconds=N]

The batch is empty, so that a kernel has nothing to do, and all of the time is
that of the call. In each round all kinds of calls take turns; the best round
counts, in microseconds. With a GPU, what is measured is until the call returns.
It ends after about N seconds, of which imports in fresh processes get what calls
leave; how many rounds there were is printed, and what there was no time for has no
figure.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import torch

import attn
import attn.torch
from attn.trace import trace

ROOT = pathlib.Path(__file__).resolve().parents[1]
CALLS = 20


def measure(contenders, end):
    """The best time of a call of each function, and the rounds until `end`."""
    best = dict.fromkeys(contenders, float("inf"))
    for function in contenders.values():
        function()
    rounds = 0
    while not rounds or time.perf_counter() < end:
        rounds += 1
        for name, function in contenders.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                function()
            took = (time.perf_counter() - start) / CALLS * 1e6
            best[name] = min(best[name], took)
    return best, rounds


def import_times(codes, end):
    """The best time that a fresh process takes for the last line of each code, in
    milliseconds, or None where there was no time for it."""
    path = os.pathsep.join([str(ROOT / "python"), *sys.path[1:]])
    environment = {**os.environ, "PYTHONPATH": path}
    best, took = dict.fromkeys(codes), 0.0
    while time.perf_counter() + took < end:
        start = time.perf_counter()
        for code in codes:
            before, _, last = code.rpartition("; ")
            code_of_run = (
                f"import time; {before or 'pass'}; s = time.perf_counter(); {last};"
                "print((time.perf_counter() - s) * 1e3)"
            )
            run = [sys.executable, "-W", "ignore", "-c", code_of_run]
            done = subprocess.run(run, env=environment, capture_output=True, check=True)
            figure = float(done.stdout)
            best[code] = min(best[code] or figure, figure)
        took = time.perf_counter() - start
    return best


class Bias:
    """A score function that is traced again where what it reads has changed."""

    def __init__(self, slopes):
        self.slopes = slopes

    def __call__(self, s, b, h, i, j):
        return s + self.slopes[h] * (j - i)


class Answers(Bias):
    """One that is traced at each call, as its attributes may be anything."""

    def __getattr__(self, name):
        raise AttributeError(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=25)
    end = time.perf_counter() + parser.parse_args().seconds
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q, k, v = torch.randn(3, 0, 2, 128, 64, device=device).to(dtype)
    slopes = torch.rand(2, device=device)

    def score_mod(s, b, h, i, j):
        return s + slopes[h] * (j - i)

    def mask_mod(b, h, i, j):
        return j <= i

    def score_of(s, b, h, i, j, slopes):
        return s + slopes[h] * (j - i)

    def mask_of(b, h, i, j, slopes):
        return j <= i

    flex = attn.torch.flex_attention
    mask = attn.torch.create_block_mask(mask_mod, None, None, 128, 128, device=device)
    variant = attn.torch.Variant(score_of, mask_of)
    program = trace(score_mod, mask_mod)
    text = program.to_mlir(attn.trace.Variant(dtype=attn.torch._kernels.NAMES[dtype]))
    kernel = attn.compile(text, target=device)
    bound = kernel.bind(q, k, v, *program.arguments())
    learned = q.clone().requires_grad_()
    bias, answers = Bias(slopes), Answers(slopes)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    best, rounds = measure(
        {
            "trace": lambda: trace(score_mod, mask_mod),
            "flex": lambda: flex(q, k, v, score_mod, mask),
            "object": lambda: flex(q, k, v, bias, mask),
            "traced": lambda: flex(q, k, v, answers, mask),
            "flex_grad": lambda: flex(learned, k, v, score_mod, mask),
            "variant": lambda: variant(q, k, v, slopes),
            "variant_grad": lambda: variant(learned, k, v, slopes),
            "kernel": lambda: kernel(q, k, v, *program.arguments()),
            "bound": bound,
            "sdpa": lambda: sdpa(q, k, v, is_causal=True),
        },
        time.perf_counter() + (end - time.perf_counter()) / 2,
    )
    imports = import_times(["import attn", "import torch; import attn.torch"], end)
    grads = best["flex_grad"] - best["flex"], best["variant_grad"] - best["variant"]
    for name, figure, bar, unit in [
        ("flex_attention, traced each time", best["traced"], 60, "us"),
        ("flex_attention, functions as before", best["flex"], 60, "us"),
        ("flex_attention, objects as before", best["object"], 60, "us"),
        ("  a gradient adds", grads[0], 10, "us"),
        ("Variant", best["variant"], 15, "us"),
        ("  a gradient adds", grads[1], 10, "us"),
        ("kernel.bind", best["bound"], 5, "us"),
        ("kernel", best["kernel"], None, "us"),
        ("a trace alone", best["trace"], None, "us"),
        ("PyTorch's SDPA, causal", best["sdpa"], None, "us"),
        ("import attn", imports["import attn"], 50, "ms"),
        ("import attn.torch after torch", imports["import torch; import attn.torch"], 150, "ms"),
    ]:
        bar = "" if bar is None else f"   (bar {bar})"
        figure = f"{'-':>8}" if figure is None else f"{figure:8.1f}"
        print(f"{name:36}{figure} {unit}{bar}")
    print(f"{rounds} rounds of {CALLS} calls on {device}")


main()
