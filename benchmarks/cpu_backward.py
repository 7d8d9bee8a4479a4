#!/usr/bin/env python3
"""Gradients of attention on a CPU, against PyTorch's fused attention.

  PYTHONPATH=python:build/torch python3 benchmarks/cpu_backward.py [--rounds=N]
      [--lengths=A,B] [--dims=A,B] [--dtype=T] [--heads=N] [--kv-heads=N] [--threads=N]

In each round the contenders take turns: the backward pass of autograd, and the
kernels by themselves, ours and PyTorch's. The figure is the least time of the
processor that a process took on all of its threads, in milliseconds, so that a
machine that does other work can be measured on: a thread that waits takes little
of it, one that does not get a core takes none. Before each timed run there is a
pause, in which waiting threads of the contender before go to sleep, and a run
that is not timed. The last columns are the least times that passed, which count on
a machine that does nothing else. GFLOP/s are those of five products, for each
thread; of causal attention, half of them.
"""

import argparse
import time

import torch

import attn.torch

PAUSE = 0.1
aten = torch.ops.aten


def contenders(length, dim, causal, options):
    """Functions that compute all three gradients, by name."""
    dtype = getattr(torch, options.dtype)

    def tensor(heads):
        x = torch.randn(1, heads, length, dim).to(dtype)
        return x.requires_grad_()

    kv_heads = options.kv_heads or options.heads
    q, k, v = tensor(options.heads), tensor(kv_heads), tensor(kv_heads)
    d_out = tensor(options.heads).detach()
    grouped = kv_heads != options.heads
    theirs = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=grouped
    )
    ours = attn.torch.sdpa(q, k, v, is_causal=causal, enable_gqa=grouped)

    def backward(out):
        return lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)

    found = {"theirs": backward(theirs), "ours": backward(ours)}
    for a, b in zip(found["theirs"](), found["ours"]()):
        torch.testing.assert_close(b, a, rtol=2e-2, atol=2e-2)
    node = ours.grad_fn
    inputs = [x.detach() for x in (q, k, v)]
    out, lse = node.saved_tensors[-2:]
    d_lse = torch.zeros_like(lse)
    kernels, numbers = node.rest
    found["our kernel"] = lambda: kernels.run_gradient(
        (*inputs, *numbers), (out, lse), (d_out, d_lse), (True, True, True)
    )
    if not grouped:
        o, l = aten._scaled_dot_product_flash_attention_for_cpu(*inputs, 0.0, causal)
        found["their kernel"] = (
            lambda: aten._scaled_dot_product_flash_attention_for_cpu_backward(
                d_out, *inputs, o, l, 0.0, causal
            )
        )
    return found


def measure(functions, rounds):
    """The least time on processors and the least that passed, in ms, by name."""
    best = {}
    for _ in range(rounds):
        for name, function in functions.items():
            time.sleep(PAUSE)
            function()
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            before = best.get(name, (float("inf"), float("inf")))
            best[name] = (min(before[0], cpu * 1e3), min(before[1], wall * 1e3))
    return best


def main():
    def numbers(text):
        return [int(x) for x in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lengths", type=numbers, default=[1024, 2048, 4096])
    parser.add_argument("--dims", type=numbers, default=[64, 128])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--kv-heads", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(
        "| D | S | mask | theirs ms | ours ms | theirs / ours | kernels, theirs ms "
        "| ours ms | theirs / ours | theirs GFLOP/s | ours GFLOP/s | passed, theirs ms "
        "| ours ms | theirs / ours |\n|" + "---|" * 14
    )
    for dim in options.dims:
        for causal in (False, True):
            for length in options.lengths:
                functions = contenders(length, dim, causal, options)
                best = measure(functions, options.rounds)
                (theirs, _), (ours, _) = best["theirs"], best["ours"]
                their_kernel, their_wall = best.get("their kernel", best["theirs"])
                our_kernel, our_wall = best["our kernel"]
                work = 10 * options.heads * length**2 * dim * (0.5 if causal else 1)
                print(
                    f"| {dim} | {length} | {'causal' if causal else 'full'} "
                    f"| {theirs:.1f} | {ours:.1f} | **{theirs / ours:.2f}** "
                    f"| {their_kernel:.1f} | {our_kernel:.1f} "
                    f"| **{their_kernel / our_kernel:.2f}** "
                    f"| {work / their_kernel / 1e6:.0f} | {work / our_kernel / 1e6:.0f} "
                    f"| {their_wall:.1f} | {our_wall:.1f} "
                    f"| {their_wall / our_wall:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
