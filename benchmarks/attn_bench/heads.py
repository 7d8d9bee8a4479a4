"""python -m attn_bench.heads: few queries of heads that share keys (GQA), with tiles
of several heads, with tiles of one, and what PyTorch has."""

import argparse
import itertools
import json
import statistics

import attn

from . import measure
from .options import positive, positives

_PROGRAM = """
!q = tensor<?x{heads}x?x{dim}xbf16>
!k = tensor<?x{key_heads}x?x{dim}xbf16>
func.func @attention(%q: !q, %k: !k, %v: !k) -> (!q {{attn.name = "o"}}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
  return %o : !q
}}
"""
# What the compiler takes for few queries where no tile has several heads.
OF_ONE_HEAD = {
    64: "tile_m = 192, tile_n = 128, stages = 4, registers = 160, persistent, ping_pong",
    128: "tile_m = 128, tile_n = 128, stages = 2, registers = 232, persistent, ping_pong, "
    "q_in_registers",
    256: "tile_m = 128, tile_n = 64, stages = 2, registers = 232, persistent, ping_pong",
}
_BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
# Relative, against float64: some times what rounding of bf16 gives.
_TOLERANCE = 1e-2


def program(dim, heads, key_heads):
    """The MLIR text, for any batch and lengths."""
    return _PROGRAM.format(dim=dim, heads=heads, key_heads=key_heads)


def _kernels(dim, heads, key_heads):
    """By name: as the compiler chooses, and with tiles of one head."""
    text = program(dim, heads, key_heads)
    schedule = f"#hopper.schedule<{OF_ONE_HEAD[dim]}>"
    return {
        "ours": attn.compile(text, target="cuda"),
        "one head": attn.compile(text, target="cuda", schedule=schedule),
    }


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m attn_bench.heads",
        description="Microseconds of a call on a GPU, all in turn, each checked"
        " against float64 for one head of keys.",
    )
    add = parser.add_argument
    add("--batches", type=positives, default=[16, 64])
    add("--dim", type=int, choices=list(OF_ONE_HEAD), default=128)
    add("--heads", type=positive, default=32)
    add("--key-heads", type=positives, default=[4, 8])
    add("--queries", type=positives, default=[1, 4, 16, 64])
    add("--keys", type=positive, default=8192)
    add("--rounds", type=positive, default=20)
    add("--bandwidth", type=float, default=4800.0, help="GB/s, for the bound")
    add("--json", metavar="FILE", help="writes all measurements there")
    return parser.parse_args(arguments)


def _peer(torch, backend, q, k, v):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attention = torch.nn.functional.scaled_dot_product_attention

    def call():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return attention(q, k, v, enable_gqa=True)

    return call


def _is_right(torch, result, q, k, v):
    """Whether what is computed with the first head of keys is."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.double() for x in (q[:1, :group], k[:1, :1], v[:1, :1]))
    p = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
    expected = p @ v
    error = (result[:1, :group].double() - expected).norm() / expected.norm()
    return bool(error < _TOLERANCE) and not bool(result.isnan().any())


def main(arguments=None):
    options = _parse(arguments)
    # The options are told without it.
    import torch

    dim = options.dim
    kernels = {n: _kernels(dim, options.heads, n) for n in options.key_heads}
    names = ["ours", "one head", *_BACKENDS]
    print(f"{torch.cuda.get_device_name()}, D = {dim}, {options.keys} keys, bf16; us")
    print("| B | Hq | Hkv | Sq | bound | " + " | ".join(names) + " |")
    print("|" + "---|" * (5 + len(names)))
    timer = measure.make_timer(torch, "cuda")
    rows = []
    for batch, key_heads, queries in itertools.product(
        options.batches, options.key_heads, options.queries
    ):
        draw = lambda *shape: torch.randn(  # noqa: E731
            *shape, dim, device="cuda", dtype=torch.bfloat16
        )
        q = draw(batch, options.heads, queries)
        k, v = (draw(batch, key_heads, options.keys) for _ in range(2))
        functions = {}
        for name, kernel in kernels[key_heads].items():
            functions[name] = kernel.bind(q, k, v, out=torch.full_like(q, float("nan")))
        for name, backend in _BACKENDS.items():
            functions[name] = _peer(torch, backend, q, k, v)
        for name, function in list(functions.items()):
            try:
                right = _is_right(torch, function(), q, k, v)
            except RuntimeError:
                right = False
            if not right:
                del functions[name]
        times = measure.measure(timer, functions, options.rounds)
        medians = {
            name: 1e3 * statistics.median(samples) for name, samples in times.items()
        }
        bound = (k.nbytes + v.nbytes) / options.bandwidth / 1e3
        cells = [f"{medians[n]:.0f}" if n in medians else "-" for n in names]
        print(
            f"| {batch} | {options.heads} | {key_heads} | {queries} | {bound:.0f} | "
            + " | ".join(cells)
            + " |",
            flush=True,
        )
        rows.append(
            {"batch": batch, "key_heads": key_heads, "queries": queries, "us": medians}
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
