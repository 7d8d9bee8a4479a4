"""Masks that are in no other table: layouts as lists, of captures that are
drawn for tests of tiles, and the sizes that go with them."""

import os
import sys
import typing

import numpy

ROOT = os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)
sys.path.append(os.path.join(ROOT, "GPU"))

from cases import VARIANTS  # noqa: E402
from programs import Capture, Variant  # noqa: E402


def split(draw, batch, length, mean):
    """Documents of some `mean` tokens, in the order of their numbers, of which
    some are left out."""
    return numpy.cumsum((draw.random((batch, length)) < 1 / mean) * 2, 1)


def _shuffled(draw, batch, length, mean):
    """Documents whose numbers are in no order."""
    documents = split(draw, batch, length, mean)
    return draw.permutation(documents.max(initial=0) + 1)[documents]


def _one(draw, batch, length, mean):
    return numpy.full((batch, length), 7)


def _documents(name, make, mean, of="documents"):
    """The variant with documents that queries and keys share."""

    def capture(extent):
        def draw_documents(draw, case):
            # Both are drawn with the same numbers.
            own = numpy.random.default_rng(case.seed)
            longest = max(case.queries, case.keys)
            return make(own, case.batch, longest, mean)[:, : extent(case)]

        return draw_documents

    mine, theirs = VARIANTS[of].captures
    return VARIANTS[of]._replace(
        name=name,
        captures=(
            mine._replace(make=capture(lambda case: case.queries)),
            theirs._replace(make=capture(lambda case: case.keys)),
        ),
    )


def _bits(name, block, density, causal=False):
    """Blocks of heads: none of the first one, all of the second."""

    def make(draw, case):
        shape = (case.heads, -(-case.queries // block), -(-case.keys // block))
        bits = draw.random(shape) < density
        bits[:1], bits[1:2] = False, True
        return bits

    return Variant(
        name,
        captures=(Capture("bits", "tensor<?x?x?xi1>", make),),
        sparsity=f"#attn.sparsity<bits, block = {block}x{block}>",
        mask="%p = arith.cmpi sle, %j, %i : index" if causal else "",
        mask_of=lambda x, b, h, i, j, c: (c.bits[h, i // block, j // block] != 0)
        & (not causal or j <= i),
    )


VARIANTS = {
    **VARIANTS,
    **{
        variant.name: variant
        for variant in [
            _documents("documents-sorted", split, 300),
            _documents("documents-shuffled", _shuffled, 200),
            _documents("one-document", _one, 0),
            _documents("documents-sorted-causal", split, 300, "documents-causal"),
            Variant(
                "dilated-blocks",
                mask="""%size = arith.constant 256 : index
                        %four = arith.constant 4 : index
                        %zero = arith.constant 0 : index
                        %m = arith.divui %i, %size : index
                        %n = arith.divui %j, %size : index
                        %d = arith.subi %m, %n : index
                        %rest = arith.remsi %d, %four : index
                        %same = arith.cmpi eq, %rest, %zero : index
                        %causal = arith.cmpi sle, %j, %i : index
                        %p = arith.andi %same, %causal : i1""",
                mask_of=lambda x, b, h, i, j, c: ((i // 256 - j // 256) % 4 == 0)
                & (j <= i),
            ),
            _bits("bits-64", 64, 0.3),
            _bits("bits-128-causal", 128, 0.3, causal=True),
        ]
    },
}


class Lists(typing.NamedTuple):
    """A layout of blocks as lists, with a causal mask."""

    block: int
    density: float

    @property
    def name(self):
        return f"lists-{self.block}-{self.density}"

    def draw(self, draw, case):
        """The blocks, the ends of rows, and the columns, which are in any order
        and in part there twice or out of range."""
        shape = (
            case.heads,
            -(-case.queries // self.block),
            -(-case.keys // self.block),
        )
        bits = draw.random(shape) < self.density
        rows = numpy.zeros((shape[0], shape[1] + 1), numpy.int32)
        columns = []
        for h in range(shape[0]):
            rows[h, 0] = len(columns)
            for row in range(shape[1]):
                own = list(numpy.nonzero(bits[h, row])[0])
                own += own[:1] + [shape[2] + 3, -1] * (row % 2)
                columns += [int(x) for x in draw.permutation(own)]
                rows[h, row + 1] = len(columns)
        return bits, rows, numpy.array(columns, numpy.int32)

    def program(self, heads, kv_heads, dim):
        return _LISTS.format(heads=heads, kv_heads=kv_heads, dim=dim, block=self.block)


_LISTS = """
!q = tensor<?x{heads}x?x{dim}xbf16>
!k = tensor<?x{kv_heads}x?x{dim}xbf16>
func.func @attention(%q: !q, %k: !k, %v: !k, %rows: tensor<{heads}x?xi32>, %columns: tensor<?xi32>) -> !q {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%b, %s) : !q
  %o = attn.attention
      ins(%q, %k, %v : !q, !k, !k)
      sparsity(#attn.sparsity<lists, block = {block}x{block}> %rows, %columns : tensor<{heads}x?xi32>, tensor<?xi32>)
      outs(%oi : !q)
      mask(%mb, %h, %i, %j) {{
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }}
  return %o : !q
}}
"""
