#!/usr/bin/env python3
"""Scores with a sum of products of captured rows, on a GPU: a decoupled position term.

  PYTHONPATH=python python3 benchmarks/row_products.py [--rounds=N]

`s + (a[b, h, i] * c[b, j]).sum()` of rows of some elements, against the same
attention without the sum, and against PyTorch's attention of tensors that are
concatenated for it. In f16 the last case keeps its sum in a loop for each pair, as
f16 holds no multiple of the rows without rounding. Results and gradients are compared
with float64 first; contenders take turns, and medians count.
"""

import argparse

import torch

from attn.torch import flex_attention

# bf16 and f16 have rounding errors of 2^-9 and 2^-12.
CASES = [
    (torch.bfloat16, 64, 16),
    (torch.bfloat16, 64, 32),
    (torch.bfloat16, 128, 16),
    (torch.bfloat16, 128, 32),
    (torch.float16, 128, 16),
]
BOUNDS = {torch.bfloat16: 0.006, torch.float16: 0.0008}


def make(dtype, batch, heads, length, dim, rank):
    shapes = [(batch, heads, length, dim)] * 3
    shapes += [(batch, heads, length, rank), (batch, length, rank)]
    return [
        torch.randn(shape, dtype=dtype, device="cuda", requires_grad=True)
        for shape in shapes
    ]


def product(q, k, v, a, c):
    return flex_attention(
        q, k, v, lambda s, b, h, i, j: s + 0.25 * (a[b, h, i] * c[b, j]).sum(-1)
    )


def concatenated(q, k, v, a, c):
    scale = q.shape[-1] ** -0.5
    columns = c[:, None].expand(*a.shape)
    return torch.nn.functional.scaled_dot_product_attention(
        torch.cat([q, a * (0.25 / scale)], -1),
        torch.cat([k, columns], -1),
        v,
        scale=scale,
    )


def check(case):
    """The largest mean error of a result over the mean of its elements."""
    dtype, dim, rank = case
    inputs = make(dtype, 1, 2, 700, dim, rank)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    q, k, v, a, c = exact
    scores = q @ k.mT * dim**-0.5 + 0.25 * torch.einsum("bhir,bjr->bhij", a, c)
    results = product(*inputs), scores.softmax(-1) @ v
    grad = torch.randn_like(results[0])
    found = results[0], *torch.autograd.grad(results[0], inputs, grad)
    wanted = results[1], *torch.autograd.grad(results[1], exact, grad.double())
    error = max(
        float((x - y).abs().mean() / y.abs().mean()) for x, y in zip(found, wanted)
    )
    if error > BOUNDS[dtype]:
        raise SystemExit(f"{case}: expects an error of {BOUNDS[dtype]}, got {error}")


def measure(contenders, rounds, repeats):
    """Milliseconds of each, the median of rounds."""
    times = {name: [] for name in contenders}
    for function in contenders.values():
        function()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, function in contenders.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(repeats):
                function()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) / repeats)
    return {name: sorted(all_)[len(all_) // 2] for name, all_ in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    print(f"{torch.cuda.get_device_name()}, milliseconds, 2 x 8192 tokens, H x D = 2048")
    print("dtype D rank | sum, without, concatenated | gradients: sum, without")
    for case in CASES:
        check(case)
        dtype, dim, rank = case
        inputs = make(dtype, 2, 2048 // dim, 8192, dim, rank)
        with torch.no_grad():
            forward = measure(
                {
                    "sum": lambda: product(*inputs),
                    "without": lambda: flex_attention(*inputs[:3]),
                    "concatenated": lambda: concatenated(*inputs),
                },
                rounds,
                5,
            )
        results = {
            "sum": (product(*inputs), inputs),
            "without": (flex_attention(*inputs[:3]), inputs[:3]),
        }
        grad = torch.randn_like(inputs[0])
        backward = measure(
            {
                name: lambda o=o, wrt=wrt: torch.autograd.grad(
                    o, wrt, grad, retain_graph=True
                )
                for name, (o, wrt) in results.items()
            },
            rounds,
            2,
        )
        name = str(dtype).rpartition(".")[2]
        times = [*forward.values(), *backward.values()]
        print(name, dim, rank, "|", *(f"{time:.2f}" for time in times), flush=True)


main()
