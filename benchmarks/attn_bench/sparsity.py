"""Masks and explicit sparsity, each as MLIR and as a function on arrays.

The function is what FlexAttention takes as `mask_mod`. On arrays of NumPy or
tensors of PyTorch it is also the reference, and says which tiles are needed.
NumPy is needed where inputs are made.
"""

import typing

from . import variants

# What numbers of documents refer to.
_TOKENS = 16384


class Form(typing.NamedTuple):
    """A program. `inputs` are (name, type) of what it takes next to q, k and v:
    captures of its mask, or the operands of its sparsity."""

    inputs: tuple
    sparsity: str = ""
    # How a sparse structure runs, as attn.compile has it.
    choice: str = "auto"


class Pattern(typing.NamedTuple):
    """What of all pairs takes part.

    `make(draw, case)` gives arrays of NumPy and numbers, by name: the inputs,
    and what else `allowed(values)` needs, which is a function of b, h, i and j.
    """

    make: typing.Callable
    allowed: typing.Callable
    # By the name of a contender: programs that say the same.
    forms: dict
    # The body of the region that all of them have.
    body: str = ""
    per_batch: bool = False
    per_head: bool = False
    # The part of the pairs that is asked for, if any.
    density: float = None
    # On a GPU, unless the user says.
    lengths: tuple = (_TOKENS,)

    def program(self, case, name):
        form = self.forms[name]
        return variants.text(case, form.inputs, mask=self.body, sparsity=form.sparsity)

    def operands(self, values, name):
        return [values[input_] for input_, _ in self.forms[name].inputs]

    def extents(self, case):
        """The sequences and the heads that differ."""
        return (
            case.batch if self.per_batch else None,
            case.heads if self.per_head else None,
        )


# ===----------------------------------------------------------------------===
# Masks
# ===----------------------------------------------------------------------===

_CAUSAL = "%causal = arith.cmpi sle, %j, %i : index\n        "
_IDS = Form((("ids", "tensor<?x?xi32>"),))


def window(size):
    """Each query and the keys less than `size` before it."""

    def allowed(values):
        reach = values["size"]
        return lambda b, h, i, j: (j <= i) & (i - j < reach)

    return Pattern(
        lambda draw, case: {"size": size},
        allowed,
        {"attn": Form((("size", "index"),))},
        _CAUSAL
        + """%d = arith.subi %i, %j : index
        %near = arith.cmpi slt, %d, %size : index
        %p = arith.andi %causal, %near : i1""",
        lengths=(8192, 32768, 131072),
    )


def documents(count, causal=False, per=_TOKENS):
    """`count` documents of random lengths in each `per` tokens."""

    def make(draw, case):
        import numpy

        begins = numpy.zeros((case.batch, case.length), "int32")
        number = min(case.length, max(1, count * case.length // per))
        for row in begins:
            row[1 + draw.permutation(case.length - 1)[: number - 1]] = 1
        return {"ids": begins.cumsum(1, dtype="int32")}

    def allowed(values):
        ids = values["ids"]
        if causal:
            return lambda b, h, i, j: (ids[b, i] == ids[b, j]) & (j <= i)
        return lambda b, h, i, j: ids[b, i] == ids[b, j]

    compare = "arith.cmpi eq, %mine, %other : i32"
    return Pattern(
        make,
        allowed,
        {"attn": _IDS},
        """%mine = tensor.extract %ids[%b, %i] : tensor<?x?xi32>
        %other = tensor.extract %ids[%b, %j] : tensor<?x?xi32>
        """
        + (
            f"%same = {compare}\n        {_CAUSAL}%p = arith.andi %same, %causal : i1"
            if causal
            else f"%p = {compare}"
        ),
        per_batch=True,
        lengths=(_TOKENS, 131072),
    )


def prefix():
    """A quarter of each sequence is a prefix that all see; causal behind it."""

    def make(draw, case):
        import numpy

        return {"prefix": numpy.full(case.batch, case.length // 4, "int32")}

    def allowed(values):
        ends = values["prefix"]
        return lambda b, h, i, j: (j <= i) | (j < ends[b])

    return Pattern(
        make,
        allowed,
        {"attn": Form((("prefix", "tensor<?xi32>"),))},
        variants.BODIES["prefix"],
        per_batch=True,
    )


def dilated(block, step=4):
    """Every `step`-th block before that of the query; causal."""

    def allowed(values):
        return lambda b, h, i, j: ((i // block - j // block) % step == 0) & (j <= i)

    return Pattern(
        lambda draw, case: {},
        allowed,
        {"attn": Form(())},
        _CAUSAL
        + f"""%size = arith.constant {block} : index
        %step = arith.constant {step} : index
        %zero = arith.constant 0 : index
        %m = arith.divui %i, %size : index
        %n = arith.divui %j, %size : index
        %d = arith.subi %m, %n : index
        %rest = arith.remsi %d, %step : index
        %nth = arith.cmpi eq, %rest, %zero : index
        %p = arith.andi %nth, %causal : i1""",
    )


# ===----------------------------------------------------------------------===
# Explicit sparsity
# ===----------------------------------------------------------------------===


def _bits(block):
    return Form(
        (("bits", "tensor<?x?x?xi1>"),),
        f"#attn.sparsity<bits, block = {block}x{block}>",
    )


def _lists(block):
    return Form(
        (("rows", "tensor<?x?xi32>"), ("columns", "tensor<?xi32>")),
        f"#attn.sparsity<lists, block = {block}x{block}>",
    )


def _of_blocks(block):
    def allowed(values):
        bits = values["bits"]
        return lambda b, h, i, j: bits[h, i // block, j // block]

    return allowed


def _random_bits(block, density):
    def make(draw, case):
        import numpy

        from attn import layouts

        count = -(-case.length // block)
        bits = numpy.empty((case.heads, count, count), bool)
        # Head by head, so that the random numbers take little memory.
        for head in bits:
            head[...] = draw.random(head.shape, "float32") < density
        rows, columns = layouts.to_lists(bits)
        return {"bits": bits, "rows": rows, "columns": columns}

    return make


def big_bird(block):
    """BigBird: 3 blocks of a window, 2 global ones, and 3 random ones of each head."""

    def make(draw, case):
        from attn import layouts

        count = -(-case.length // block)
        bits = layouts.big_bird(
            case.heads,
            count * block,
            block,
            random_blocks=min(3, count),
            window_blocks=min(3, count),
            global_blocks=min(2, count),
            per_head=True,
            seed=int(draw.integers(2**32)),
        )
        return {"bits": bits}

    return Pattern(
        make,
        _of_blocks(block),
        {"attn": _bits(block)},
        per_head=True,
    )


def random_blocks(block, density):
    """Blocks of each head, as bits and as lists."""
    return Pattern(
        _random_bits(block, density),
        _of_blocks(block),
        {"bits": _bits(block), "lists": _lists(block)},
        per_head=True,
        density=density,
        lengths=(8192,),
    )


def random_keys(sparsity):
    """Lists of single keys of each query and head: a sparse matrix as CSR has it.

    Next to what the compiler chooses, `attn`, each of the forms.
    """
    density = 1 - sparsity / 100
    return Pattern(
        _random_bits(1, density),
        _of_blocks(1),
        {
            "attn": _lists(1),
            "rows": _lists(1)._replace(choice="lists"),
            "predicate": _lists(1)._replace(choice="dense"),
        },
        per_head=True,
        density=density,
        lengths=(4096,),
    )


# Queries next to each other that have keys in common.
SHARING_QUERIES = 64


def _shared_bits(density, own=2):
    def make(draw, case):
        import numpy

        from attn import layouts

        tiles = -(-case.length // SHARING_QUERIES)
        bits = numpy.empty((case.heads, case.length, case.length), bool)
        for head in bits:
            common = draw.random((tiles, case.length), "float32") < density
            head[...] = numpy.repeat(common, SHARING_QUERIES, 0)[: case.length]
            head &= draw.random(head.shape, "float32") < 0.9
            head |= draw.random(head.shape, "float32") < own / case.length
        rows, columns = layouts.to_lists(bits)
        return {"bits": bits, "rows": rows, "columns": columns}

    return make


def mean_union(bits):
    """The part of all keys that some query of a block has, over all blocks."""
    tiles = [
        head[first : first + SHARING_QUERIES].any(0).mean()
        for head in bits
        for first in range(0, len(head), SHARING_QUERIES)
    ]
    return float(sum(tiles) / len(tiles))


def shared_keys(percent):
    """Lists of single keys of each query and head, which have most of them in common
    with the other queries of a block of 64: a part of all keys that the block draws,
    of which a query has nine in ten, and two keys of its own.

    Each of the forms that lists may have.
    """
    return Pattern(
        _shared_bits(percent / 100),
        _of_blocks(1),
        {
            "gathered": _lists(1)._replace(choice="gathered"),
            "rows": _lists(1)._replace(choice="lists"),
            "predicate": _lists(1)._replace(choice="dense"),
        },
        per_head=True,
        density=percent / 100,
        lengths=(4096,),
    )


# By family and name.
FAMILIES = {
    "masks": {
        "window-1024": window(1024),
        "documents-8": documents(8),
        "documents-64": documents(64),
        "documents-8-causal": documents(8, causal=True),
        "documents-64-causal": documents(64, causal=True),
        "prefix": prefix(),
        "dilated-256": dilated(256),
        "big-bird-64": big_bird(64),
        "big-bird-128": big_bird(128),
    },
    "blocks": {
        f"blocks-{block}-{percent}": random_blocks(block, percent / 100)
        for block in (64, 128)
        for percent in (5, 10, 20, 30, 50)
    },
    "keys": {f"keys-{percent}": random_keys(percent) for percent in (50, 70, 80, 90, 95, 97, 99)},
    "shared": {f"shared-{percent}": shared_keys(percent) for percent in (2, 5, 10, 20, 35, 50)},
}
NAMES = (*FAMILIES, *(name for family in FAMILIES.values() for name in family))
