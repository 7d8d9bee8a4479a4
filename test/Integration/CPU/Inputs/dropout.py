"""Reads from attn-run which pairs dropout keeps: with an identity as values, the
results are the probabilities, which are 0 where a pair is dropped.

Usage: dropout.py PROGRAM
"""

import os
import subprocess
import sys
import tempfile

import numpy

_PTX = os.path.join(os.path.dirname(__file__), "..", "..", "PTX", "Inputs")
sys.path.insert(0, _PTX)
import dropout  # noqa: E402

_PROGRAM = """
!q = tensor<2x4x{queries}x16x{dtype}>
!k = tensor<2x2x{keys}x16x{dtype}>
!v = tensor<2x2x{keys}x{keys}x{dtype}>
!o = tensor<2x4x{queries}x{keys}x{dtype}>
func.func @attention(%q: !q, %k: !k, %v: !v, %seed: tensor<i64>, %offset: tensor<i64>{lists}) -> !o {{
  %init = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v)
      captures(%seed, %offset : tensor<i64>, tensor<i64>)
      {sparsity}outs(%init : !o)
      score(%s, %b, %h, %i, %j, %seeds, %offsets) {{
        %n = tensor.extract %seeds[] : tensor<i64>
        %m = tensor.extract %offsets[] : tensor<i64>
        %w = attn.dropout {p} seed %n offset %m at %b, %h, %i, %j : {accumulator}
        attn.yield %s, %w : {accumulator}, {accumulator}
      }}{mask}
  return %o : !o
}}
"""
_CAUSAL = """
      mask(%b, %h, %i, %j, %seeds, %offsets) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }"""


def _run(folder, arrays, options, **texts):
    program = os.path.join(folder, "program.mlir")
    out = os.path.join(folder, "out.npy")
    with open(program, "w") as file:
        file.write(_PROGRAM.format(**texts))
    command = ["attn-run", program, f"--out=0={out}", "--check", *options]
    for name, array in arrays.items():
        path = os.path.join(folder, f"{name}.npy")
        numpy.save(path, array)
        command.append(f"--arg={name}={path}")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return numpy.load(out)


def _lists(queries, keys):
    """The keys of each query but every third one, as CSR."""
    listed = numpy.add.outer(numpy.arange(queries), numpy.arange(keys)) % 3 > 0
    rows = numpy.append(0, numpy.cumsum(listed.sum(1)))
    return rows.astype("i4"), numpy.nonzero(listed)[1].astype("i4")


def main():
    dropout.check_known()
    draw = numpy.random.default_rng(0)
    queries, keys = 70, 90
    small = "tile_m = 16, tile_n = 24, lanes = 4, unroll_m = 1, unroll_n = 4"
    schedules = [[], [f"--schedule=#attn.schedule<{small}>"], ["--threads=2"]]
    for p, dtype, seed, offset in (
        (0.25, "f32", 5, 0),
        (0.9, "f64", -(1 << 63), (1 << 63) - 1),
        (1e-12, "f32", 1 << 40, 1 << 33),
    ):
        kind = {"f32": "f4", "f64": "f8"}[dtype]
        arrays = {"q": draw.standard_normal((2, 4, queries, 16)).astype(kind)}
        arrays["k"] = draw.standard_normal((2, 2, keys, 16)).astype(arrays["q"].dtype)
        arrays["v"] = numpy.broadcast_to(
            numpy.eye(keys, dtype=arrays["q"].dtype), (2, 2, keys, keys)
        ).copy()
        arrays["seed"] = numpy.array(seed, "i8")
        arrays["offset"] = numpy.array(offset, "i8")
        place = numpy.indices((2, 4, queries, keys), sparse=True)
        weights = dropout.weights(p, seed, offset, *place)
        texts = {
            "queries": queries,
            "keys": keys,
            "dtype": dtype,
            "accumulator": dtype,
            "p": f"{p:e}",
        }
        scale = arrays["q"].shape[-1] ** -0.5
        scores = scale * arrays["q"] @ numpy.repeat(arrays["k"], 2, 1).swapaxes(2, 3)
        rows, columns = _lists(queries, keys)
        listed = numpy.zeros((queries, keys), bool)
        listed[numpy.repeat(numpy.arange(queries), numpy.diff(rows)), columns] = True
        for kind in "full", "causal", "lists":
            given = dict(arrays)
            allowed = numpy.ones((queries, keys), bool)
            texts.update(mask="", lists="", sparsity="")
            if kind == "causal":
                allowed = numpy.tri(queries, keys, dtype=bool)
                texts["mask"] = _CAUSAL
            if kind == "lists":
                allowed = listed
                given.update(rows=rows, columns=columns)
                extents = f"tensor<{queries + 1}xi32>, tensor<?xi32>"
                texts["lists"] = (
                    f", %rows: tensor<{queries + 1}xi32>, %columns: tensor<?xi32>"
                )
                texts["sparsity"] = (
                    "sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns :"
                    f" {extents})\n      "
                )
            e = numpy.where(allowed, numpy.exp(scores), 0)
            expected = e / e.sum(-1, keepdims=True) * weights
            found = []
            for options in schedules if kind != "lists" else [[]]:
                with tempfile.TemporaryDirectory() as folder:
                    found.append(_run(folder, given, options, **texts))
            for result in found:
                assert ((result == 0) == (expected == 0)).all(), (p, kind)
                error = numpy.abs(result - expected).max()
                assert error < 1e-5 * weights.max(), (p, kind)
            print(f"{p} {dtype} {kind}: {len(found)} runs, the same pairs")
    place = numpy.indices((1, 4, 512, 512), sparse=True)
    kept = dropout.weights(0.1, 7, 8, *place) > 0
    # Six standard deviations of a fraction of 2^20 pairs.
    assert abs(kept.mean() - 0.9) < 6 * (0.09 / kept.size) ** 0.5
    other = dropout.weights(0.1, 7, 9, *place) > 0
    assert abs((kept & other).mean() - 0.81) < 6 * (0.81 * 0.19 / kept.size) ** 0.5
    print("fractions as expected")


if __name__ == "__main__":
    main()
