# RUN: %python %s
"""Gradients on a CPU of masks that are read from data: which tiles of queries and keys
are visited, by what a NaN in one row of a tile reaches, and that numbers are right."""

import re
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import attn

PROGRAM = """
!q = tensor<?x2x?x{dim}xf32>
!v = tensor<?x2x?x8xf32>
!l = tensor<?x2x?xf32>
!t = tensor<?x?xi32>
func.func @f(%q: !q {{attn.name = "q"}}, %k: !q {{attn.name = "k"}},
             %v: !v {{attn.name = "v"}}, %ids: !t {{attn.name = "ids"}},
             %w: tensor<?xf32> {{attn.name = "w"}})
    -> (!v {{attn.name = "o"}}, !l {{attn.name = "lse"}}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %n) : !v
  %linit = tensor.empty(%b, %n) : !l
  %o:2 = attn.attention ins(%q, %k, %v : !q, !q, !v)
      captures(%ids, %w : !t, tensor<?xf32>) outs(%init, %linit : !v, !l)
      score(%s, %b0, %h, %i, %j, %t, %u) {{
        %x = tensor.extract %u[%j] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }}
      mask(%b0, %h, %i, %j, %t, %u) {{
{mask}
        attn.yield %p : i1
      }}
  return %o#0, %o#1 : !v, !l
}}
"""
DOCUMENTS = """
        %mine = tensor.extract %t[%b0, %i] : !t
        %other = tensor.extract %t[%b0, %j] : !t
        %p = arith.cmpi eq, %mine, %other : i32"""
# The number of a batch is the only one of its row.
PREFIX = """
        %zero = arith.constant 0 : index
        %n32 = tensor.extract %t[%b0, %zero] : !t
        %n0 = arith.index_cast %n32 : i32 to index
        %causal = arith.cmpi sle, %j, %i : index
        %queryIn = arith.cmpi slt, %i, %n0 : index
        %keyIn = arith.cmpi slt, %j, %n0 : index
        %both = arith.andi %queryIn, %keyIn : i1
        %p = arith.ori %causal, %both : i1"""
# Each query has a limit of its own, which is in no order.
LIMITS = """
        %limit32 = tensor.extract %t[%b0, %i] : !t
        %limit = arith.index_cast %limit32 : i32 to index
        %p = arith.cmpi slt, %j, %limit : index"""


def blocks(length, size):
    return [slice(i, min(i + size, length)) for i in range(0, length, size)]


@unittest.skipIf(numpy is None, "needs NumPy")
class Gradients(unittest.TestCase):
    LENGTH = 331

    def setUp(self):
        random = numpy.random.default_rng(0)
        self.random = random
        n = self.LENGTH
        i, j = numpy.arange(n)[:, None], numpy.arange(n)[None, :]
        sorted_ids = numpy.sort(random.integers(0, 7, (2, n)), axis=1)
        prefix = numpy.repeat([[150], [0]], n, axis=1)
        limits = random.integers(0, n // 2, (2, n))
        # Queries without a key, a whole tile of them too.
        limits[:, 60:200] = 0
        self.masks = {
            "documents": (
                *(DOCUMENTS, sorted_ids),
                numpy.stack([x[:, None] == x[None, :] for x in sorted_ids]),
            ),
            "prefix": (
                *(PREFIX, prefix),
                numpy.stack([(j <= i) | ((i < x[0]) & (j < x[0])) for x in prefix]),
            ),
            "limits": (
                *(LIMITS, limits),
                numpy.stack([j < x[:, None] for x in limits]),
            ),
        }

    def make(self, name, dim, wrt, shift=0.0):
        """The kernel of the gradients, its inputs by name, and the mask."""
        text, ids, mask = self.masks[name]
        program = PROGRAM.format(dim=dim, mask=text)
        kernel = attn.compile(program, opt_level=0, processor="baseline")
        draw = self.random.standard_normal
        n = self.LENGTH
        inputs = {
            "q": draw((2, 2, n, dim)) + shift,
            "k": draw((2, 2, n, dim)) - shift,
            "v": draw((2, 2, n, 8)),
            "ids": ids,
            "w": draw(n),
        }
        inputs = {x: y.astype("i4" if x == "ids" else "f4") for x, y in inputs.items()}
        o, lse = kernel(*inputs.values())
        inputs |= {"o": o, "lse": lse}
        inputs |= {"do": draw(o.shape).astype("f4"), "dlse": numpy.zeros_like(lse)}
        return kernel.gradient(wrt), inputs, mask

    def check_visits(self, name, poisoned, wrt, dim=16):
        """With NaN in a row of one tile after the other, all rows of the gradient
        in the tiles that have met it are NaN, and no others."""
        gradient, inputs, mask = self.make(name, dim, wrt)
        remarks = " ".join(gradient.report["remarks"])
        own, other = re.search(r"tile_m = (\d+), tile_n = (\d+)", remarks).groups()
        others, owns = blocks(self.LENGTH, int(other)), blocks(self.LENGTH, int(own))
        self.assertGreater(min(len(others), len(owns)), 4)
        of_queries = poisoned == "do"
        for number, other in enumerate(others):
            given = {x: y.copy() for x, y in inputs.items()}
            given[poisoned][:, :, other.stop - 1] = numpy.nan
            results = gradient(*given.values())
            result = results if isinstance(results, numpy.ndarray) else results[-1]
            isnan = numpy.isnan(result).any(axis=-1)
            for b in range(2):
                for part in owns:
                    pairs = mask[b][other, part] if of_queries else mask[b][part, other]
                    got = isnan[b, :, part]
                    place = f"{name}, {wrt}: tile {number} of batch {b}, {part}"
                    self.assertTrue((got == pairs.any()).all(), place)

    def test_keys_meet_the_queries_that_they_need(self):
        for name in self.masks:
            # In one pass over parts of the keys, and by themselves.
            for wrt in ["q", "k", "v"], ["k", "v"]:
                self.check_visits(name, "do", wrt)
            self.check_visits(name, "do", ["q", "k", "v"], dim=10)

    def test_queries_meet_the_keys_that_they_need(self):
        for name in self.masks:
            self.check_visits(name, "k", ["q"])

    def test_numbers(self):
        wrt = ["q", "k", "v", "w"]
        # Where scores are far below 0, a key that is not there must not have one.
        for name in self.masks:
            for dim, shift in (16, 0), (10, 0), (16, 6):
                gradient, inputs, mask = self.make(name, dim, wrt, shift)
                results = gradient(*inputs.values())
                expected = self.expected(inputs, mask)
                for x, got, want in zip(wrt, results, expected):
                    error = abs(got - want).max() / abs(want).max()
                    self.assertLess(error, 1e-4, f"{name}, {dim}, {shift}: {x}")

    def expected(self, inputs, mask):
        """In float64, with all pairs."""
        q, k, v, w, do = (inputs[x].astype("f8") for x in ("q", "k", "v", "w", "do"))
        scale = q.shape[-1] ** -0.5
        mask = mask[:, None]
        s = numpy.where(mask, scale * q @ k.swapaxes(2, 3) + w, -numpy.inf)
        most = s.max(axis=-1, keepdims=True)
        p = numpy.where(mask, numpy.exp(s - numpy.where(most > -1e9, most, 0)), 0)
        p /= numpy.maximum(p.sum(axis=-1, keepdims=True), 1e-300)
        dp = do @ v.swapaxes(2, 3)
        ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True))
        return (
            scale * ds @ k,
            scale * ds.swapaxes(2, 3) @ q,
            p.swapaxes(2, 3) @ do,
            ds.sum(axis=(0, 1, 2)),
        )


if __name__ == "__main__":
    unittest.main()
