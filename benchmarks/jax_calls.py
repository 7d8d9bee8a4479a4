#!/usr/bin/env python3
"""What calls of attn.jax cost, on small arrays, the kernel included.

  PYTHONPATH=python python3 benchmarks/jax_calls.py [--rounds=N]

In each round all kinds of calls take turns; the best round counts, in microseconds.
"""

import argparse
import time

import jax
import jax.numpy as jnp

from attn.jax import flex_attention

CALLS = 200
MANY = 20


def attend(q, slopes):
    return flex_attention(
        *(q, q, q, lambda s, b, h, i, j: s + slopes[h] * (j - i)),
        lambda b, h, i, j: j <= i,
    )


def many(q, slopes):
    for _ in range(MANY):
        q = attend(q, slopes)
    return q


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    # A GPU has gradients of elements of 16 bits.
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    q, slopes = jnp.ones((1, 1, 16, 16), dtype), jnp.ones(1)
    inner, alone, add = jax.jit(many), jax.jit(attend), jax.jit(lambda q: q + 1)
    gradient = jax.jit(jax.grad(lambda q: attend(q, slopes).sum()))
    contenders = {
        "in a program of jit": (lambda: inner(q, slopes), MANY),
        "a program of jit that is this call alone": (lambda: alone(q, slopes), 1),
        "the same that adds 1, without attn": (lambda: add(q), 1),
        "the gradient, a program of two calls": (lambda: gradient(q), 1),
        "outside of jit": (lambda: attend(q, slopes), 1),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for function, _ in contenders.values():
        jax.block_until_ready(function())
    for _ in range(rounds):
        for name, (function, count) in contenders.items():
            start = time.perf_counter()
            for _ in range(CALLS // count):
                found = function()
            jax.block_until_ready(found)
            took = (time.perf_counter() - start) / (CALLS // count * count)
            best[name] = min(best[name], took)
    print(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, microseconds")
    for name, seconds in best.items():
        print(f"{1e6 * seconds:8.1f}  {name}")


main()
