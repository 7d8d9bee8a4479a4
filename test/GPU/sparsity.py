"""Variants with explicit layouts of blocks, per batch, per head, or for all."""

from programs import Capture, Variant


def _bits(rows, columns, leading, density=0.4):
    """Random blocks; `leading` gives the extents before those of blocks."""

    def make(draw, case):
        shape = (*leading(case), -(-case.queries // rows), -(-case.keys // columns))
        return draw.random(shape) < density

    return make


SPARSITY = [
    Variant(
        "blocks-64",
        captures=(
            Capture("bits", "tensor<?x?x?xi1>", _bits(64, 64, lambda x: (x.heads,))),
        ),
        sparsity="#attn.sparsity<bits, block = 64x64>",
        mask_of=lambda x, b, h, i, j, c: c.bits[h, i // 64, j // 64] != 0,
    ),
    # Tiles of 96 or 128 keys lie in a block.
    Variant(
        "blocks-192x96-causal",
        captures=(
            Capture(
                "bits",
                "tensor<?x1x?x?xi1>",
                _bits(192, 96, lambda x: (x.batch, 1)),
            ),
        ),
        sparsity="#attn.sparsity<bits, block = 192x96>",
        mask="%p = arith.cmpi sle, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: (j <= i)
        & (c.bits[b, 0, i // 192, j // 96] != 0),
    ),
    Variant(
        "blocks-128",
        captures=(Capture("bits", "tensor<?x?xi1>", _bits(128, 128, lambda x: ())),),
        sparsity="#attn.sparsity<bits, block = 128x128>",
        mask_of=lambda x, b, h, i, j, c: (c.bits[i // 128, j // 128] != 0) & (h >= 0),
    ),
    Variant(
        "blocks-16x32-of-batches-and-heads",
        captures=(
            Capture(
                "bits",
                "tensor<?x?x?x?xi1>",
                _bits(16, 32, lambda x: (x.batch, x.heads)),
            ),
        ),
        sparsity="#attn.sparsity<bits, block = 16x32>",
        mask_of=lambda x, b, h, i, j, c: c.bits[b, h, i // 16, j // 32] != 0,
    ),
    Variant(
        "no-blocks",
        captures=(
            Capture("bits", "tensor<?x?xi1>", _bits(64, 64, lambda x: (), 0.0)),
        ),
        sparsity="#attn.sparsity<bits, block = 64x64>",
        mask_of=lambda x, b, h, i, j, c: (i < 0) & (j < 0),
    ),
]
