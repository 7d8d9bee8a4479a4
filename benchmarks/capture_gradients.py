#!/usr/bin/env python3
"""What the gradient of a learnable bias adds to a backward pass on a GPU.

  PYTHONPATH=python python3 benchmarks/capture_gradients.py [--flex=row,column]

Causal attention in bf16, once for each way to read a bias, in turn with the same
without one; a row is a Markdown table's. With --flex, compiled FlexAttention does
the same for those names. Each backward pass runs twice before it is timed, and
all of its gradients have to be the same bits.
"""

import argparse
import random
import statistics

import torch
import torch._functorch.config
from torch.nn.attention import flex_attention as theirs

import attn.torch as ours

_ROUNDS, _RUNS = 9, 3


def causal(b, h, i, j):
    return j <= i


def make_forms(length, heads):
    """By name: what it reads, a score function, and the bias."""

    def bias(*shape):
        return torch.randn(shape, device="cuda", requires_grad=True)

    row, column = bias(length), bias(length)
    head, scalar = bias(heads), bias()
    far, near, shared = bias(heads, 2 * length), bias(heads, 257), bias(257)
    return {
        "row": ("`a[i]`", lambda x, b, h, i, j: x + row[i], row),
        "column": ("`a[j]`", lambda x, b, h, i, j: x + column[j], column),
        "head": ("`x * a[h]`", lambda x, b, h, i, j: x * head[h], head),
        "scalar": ("`a`", lambda x, b, h, i, j: x + scalar, scalar),
        "distance": (
            "`a[h, i - j + S]`",
            lambda x, b, h, i, j: x + far[h, i - j + length],
            far,
        ),
        "clamped": (
            "`a[h, min(i - j, 256)]`",
            lambda x, b, h, i, j: x + near[h, torch.clamp(i - j, 0, 256)],
            near,
        ),
        "shared": (
            "`a[min(i - j, 256)]`",
            lambda x, b, h, i, j: x + shared[torch.clamp(i - j, 0, 256)],
            shared,
        ),
    }


def time_once(run):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(_RUNS):
        run()
    end.record()
    end.synchronize()
    return 1e3 * start.elapsed_time(end) / _RUNS


def make_backward(output, inputs, gradient):
    def run():
        return torch.autograd.grad(output, inputs, gradient, retain_graph=True)

    first, second = run(), run()
    return run, all(torch.equal(x, y) for x, y in zip(first, second))


def measure(dim, length, flex):
    heads, batch = 16, max(1, 8192 // length)
    q, k, v = (
        torch.randn(
            batch, heads, length, dim, device="cuda", dtype=torch.bfloat16
        ).requires_grad_()
        for _ in range(3)
    )
    gradient = torch.randn_like(q)
    mask = ours.create_block_mask(causal, None, None, length, length, device="cuda")
    their_mask = theirs.create_block_mask(
        causal, None, None, length, length, device="cuda"
    )
    runs, forms = {}, make_forms(length, heads)
    output = ours.flex_attention(q, k, v, block_mask=mask)
    runs["plain"], _ = make_backward(output, [q, k, v], gradient)
    for name, (_, score, bias) in forms.items():
        output = ours.flex_attention(q, k, v, score, mask)
        runs[name], is_same = make_backward(output, [q, k, v, bias], gradient)
        if not is_same:
            raise SystemExit(f"{name}: bits differ from run to run")
        if name in flex:
            compiled = torch.compile(theirs.flex_attention)
            output = compiled(q, k, v, score, their_mask)
            runs["flex " + name], _ = make_backward(
                output, [q, k, v, bias], gradient
            )
    times = {name: [] for name in runs}
    for _ in range(_ROUNDS):
        for name in random.sample(list(runs), len(runs)):
            times[name].append(time_once(runs[name]))
    median = {name: statistics.median(x[1:]) for name, x in times.items()}
    for name, (text, _, _) in forms.items():
        their = median.get("flex " + name)
        print(
            f"| {text} | {dim} | {length} | {median[name]:.0f} |"
            f" {median[name] / median['plain']:.2f} |"
            f" {f'{their / median[name]:.2f}' if their else ''} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--flex", type=lambda text: set(text.split(",")), default=set()
    )
    flex = parser.parse_args().flex
    torch.manual_seed(0)
    # A graph that is kept for another pass has to keep its buffers.
    torch._functorch.config.donated_buffer = False
    print("| reads | D | S | us | of plain | FlexAttention / ours |")
    print("|---|---|---|---|---|---|")
    for dim, length in (128, 2048), (128, 8192), (64, 8192):
        measure(dim, length, flex)


if __name__ == "__main__":
    main()
