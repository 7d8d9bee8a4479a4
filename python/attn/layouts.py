"""Explicit layouts of sparse blocks, as arrays of NumPy.

    from attn import layouts
    layout = layouts.big_bird(heads=8, length=4096, block=64)

A layout is an array of bool, [heads, length / block, length / block]: which
blocks of `block` queries and `block` keys take part in attention, head by head.
A kernel takes it as the sparsity of its attention: as a tensor of i1 if the
sparsity has bits, or as the two tensors `rows, columns = to_lists(layout)` if it
has lists, as in docs/examples/block-sparse.mlir. Or a mask reads it at
[h, i / block, j / block], as docs/examples/block-layout.mlir does.

    scores = ...  # how much blocks matter, [batch, heads, rows, columns]
    rows, columns = layouts.to_lists(layouts.top_k(scores, 8, causal=True))

top_k makes a layout from data. top_k and to_lists take arrays of NumPy or tensors
of PyTorch, with any dimensions before the two of blocks, and return the same kind,
on the same device.

These are the layouts of DeepSpeed's sparse attention. Each number has the same
meaning, with two differences: a causal layout (DeepSpeed: unidirectional) has no
block above the diagonal, not even random or global ones; and random blocks come
from a seed. include/attn/Builder/BlockLayout.h makes the same bits from the same
numbers.

Numbers that do not fit are a ValueError that names them. All functions need a
`length` that is a multiple of `block`, by default 16 tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    class _Matrix(Protocol):
        @property
        def indptr(self) -> ArrayLike: ...
        @property
        def indices(self) -> ArrayLike: ...


__all__ = [
    "big_bird",
    "bs_longformer",
    "csr_lists",
    "expand",
    "fixed",
    "from_lists",
    "local_sliding_window",
    "to_lists",
    "top_k",
    "variable",
]

# ===----------------------------------------------------------------------===
# Checks
# ===----------------------------------------------------------------------===


def _at_least(name, value, least):
    if value < least:
        raise ValueError(f"expects {name} to be at least {least}, but got {value}")


def _at_most(name, value, most, what):
    if value > most:
        raise ValueError(
            f"expects {name} to be at most {most}, {what}, but got {value}"
        )


def _make(heads, length, block):
    """A layout without blocks."""
    for name, value in ("heads", heads), ("length", length), ("block", block):
        _at_least(name, value, 1)
    if length % block:
        raise ValueError(
            f"expects a length that is a multiple of the block of {block}, "
            f"but got {length}"
        )
    return numpy.zeros((heads, length // block, length // block), bool)


def _count(layout, name, value, least):
    """Checks a number of blocks of a row."""
    _at_least(name, value, least)
    _at_most(name, value, layout.shape[1], "the blocks of a row")


def _check_horizontal(horizontal, causal):
    if horizontal and causal:
        raise ValueError(
            "expects global blocks that see all where the layout is not causal"
        )


def _ranges(blocks, ends):
    """The ranges of global blocks."""
    blocks = list(blocks)
    for block in blocks:
        _at_least("global blocks", block, 0)
    if ends is None:
        return [(block, block + 1) for block in blocks]
    ends = list(ends)
    if len(ends) != len(blocks):
        raise ValueError(
            f"expects an end for each of {len(blocks)} global blocks, "
            f"but got {len(ends)}"
        )
    for block, end in zip(blocks, ends):
        if end <= block:
            raise ValueError(
                f"expects a range of global blocks to end behind block {block}, "
                f"but got the end {end}"
            )
    return list(zip(blocks, ends))


# ===----------------------------------------------------------------------===
# Random numbers
# ===----------------------------------------------------------------------===


def _philox(counter, key):
    """Philox4x32-10 (Salmon et al., 2011)."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b = y >> 32 ^ b ^ k, y & 0xFFFFFFFF
        c, d = x >> 32 ^ d ^ l, x & 0xFFFFFFFF
        k, l = k + 0x9E3779B9 & 0xFFFFFFFF, l + 0xBB67AE85 & 0xFFFFFFFF
    return a, b, c, d


def _random_below(seed, stream, number, limit):
    """A random number of a stream, as RandomStream of the C++ library has it."""
    index = number // 2
    low = 0xFFFFFFFF
    words = _philox(
        (index & low, index >> 32, stream & low, stream >> 32),
        (seed & low, seed >> 32 & low),
    )
    bits = words[number % 2 * 2] | words[number % 2 * 2 + 1] << 32
    return bits * limit >> 64


def _add_random(layout, head, count, causal, seed):
    """Distinct blocks of each row (Floyd, in Bentley, 1987)."""
    blocks = layout.shape[1]
    for row in range(blocks):
        size = row + 1 if causal else blocks
        chosen = []
        for last in range(max(0, size - count), size):
            stream = head * blocks + row
            column = _random_below(seed, stream, len(chosen), last + 1)
            chosen.append(last if column in chosen else column)
        layout[head, row, chosen] = True


def _finish(layout, causal, per_head=True):
    if not per_head:
        layout[1:] = layout[0]
    return numpy.tril(layout) if causal else layout


def _add_window(layout, blocks):
    """A window around the diagonal, of all heads."""
    row, column = numpy.indices(layout.shape[1:])
    layout |= abs(row - column) <= blocks // 2


# ===----------------------------------------------------------------------===
# Layouts
# ===----------------------------------------------------------------------===


def fixed(
    heads: int,
    length: int,
    block: int = 16,
    *,
    local_blocks: int = 4,
    global_blocks: int = 1,
    horizontal_global: bool = False,
    global_patterns: int = 1,
    causal: bool = False,
) -> NDArray[numpy.bool_]:
    """Adjacent windows in which all blocks see each other, with some global blocks
    in each window, which all blocks see (Child et al., "Generating long sequences
    with sparse transformers", 2019).

    local_blocks       blocks of a window
    global_blocks      so many last blocks of a window are global; divides
                       local_blocks
    horizontal_global  whether global blocks of queries see all keys, too; not
                       with `causal`
    global_patterns    with n patterns, the global blocks of head h end
                       h % n times global_blocks blocks before the end of a
                       window; at most local_blocks / global_blocks
    """
    layout = _make(heads, length, block)
    for name, value in (
        ("local blocks", local_blocks),
        ("global blocks", global_blocks),
        ("global patterns", global_patterns),
    ):
        _at_least(name, value, 1)
    if local_blocks % global_blocks:
        raise ValueError(
            f"expects local blocks that are a multiple of the {global_blocks} "
            f"global blocks, but got {local_blocks}"
        )
    _at_most(
        "global patterns",
        global_patterns,
        local_blocks // global_blocks,
        "the choices in a window",
    )
    _check_horizontal(horizontal_global, causal)
    blocks = layout.shape[1]
    for head in range(heads):
        for begin in range(0, blocks, local_blocks):
            end = begin + local_blocks
            layout[head, begin:end, begin:end] = True
            first = end - (1 + head % global_patterns) * global_blocks
            # A last window that is short has them as far back as it needs.
            if end > blocks:
                first = max(0, min(first, blocks - global_blocks))
            layout[head, :, first : first + global_blocks] = True
            if horizontal_global:
                layout[head, first : first + global_blocks] = True
    return _finish(layout, causal)


def variable(
    heads: int,
    length: int,
    block: int = 16,
    *,
    random_blocks: int = 0,
    local_blocks: Iterable[int] = (4,),
    global_blocks: Iterable[int] = (0,),
    global_ends: Iterable[int] | None = None,
    horizontal_global: bool = False,
    per_head: bool = False,
    causal: bool = False,
    seed: int = 0,
) -> NDArray[numpy.bool_]:
    """Windows of several sizes, global blocks anywhere, and random blocks.

    random_blocks      random blocks in each row
    local_blocks       the sizes of the first windows, in blocks; the last size
                       repeats
    global_blocks      blocks of keys that all queries see; blocks past the end
                       are ignored
    global_ends        if given, global blocks are ranges, from global_blocks[n]
                       up to and without global_ends[n]
    horizontal_global  whether global blocks of queries see all keys, too; not
                       with `causal`
    per_head           whether each head has random blocks of its own
    """
    layout = _make(heads, length, block)
    _count(layout, "random blocks", random_blocks, 0)
    local_blocks = list(local_blocks)
    if not local_blocks:
        raise ValueError("expects the size of a window, but got none")
    for size in local_blocks:
        _at_least("local blocks", size, 1)
    ranges = _ranges(global_blocks, global_ends)
    _check_horizontal(horizontal_global, causal)
    for head in range(heads if per_head else 1):
        _add_random(layout, head, random_blocks, causal, seed)
        begin, sizes = 0, iter(local_blocks)
        while begin < layout.shape[1]:
            size = next(sizes, local_blocks[-1])
            layout[head, begin : begin + size, begin : begin + size] = True
            begin += size
        for begin, end in ranges:
            layout[head, :, begin:end] = True
            if horizontal_global:
                layout[head, begin:end] = True
    return _finish(layout, causal, per_head)


def big_bird(
    heads: int,
    length: int,
    block: int = 16,
    *,
    random_blocks: int = 1,
    window_blocks: int = 3,
    global_blocks: int = 1,
    per_head: bool = False,
    causal: bool = False,
    seed: int = 0,
) -> NDArray[numpy.bool_]:
    """A sliding window, the first blocks as global blocks, and random blocks
    (Zaheer et al., "Big Bird: transformers for longer sequences", 2020).

    random_blocks  random blocks in each row
    window_blocks  the size of the window in blocks, centred at the query's
                   block; an even number counts as the next odd one
    global_blocks  so many first blocks see all blocks, and all blocks see them
    per_head       whether each head has random blocks of its own
    """
    layout = _make(heads, length, block)
    _count(layout, "random blocks", random_blocks, 0)
    _count(layout, "window blocks", window_blocks, 1)
    _count(layout, "global blocks", global_blocks, 0)
    for head in range(heads if per_head else 1):
        _add_random(layout, head, random_blocks, causal, seed)
    layout[:, :global_blocks] = True
    layout[:, :, :global_blocks] = True
    _add_window(layout, window_blocks)
    return _finish(layout, causal, per_head)


def bs_longformer(
    heads: int,
    length: int,
    block: int = 16,
    *,
    window_blocks: int = 3,
    global_blocks: Iterable[int] = (0,),
    global_ends: Iterable[int] | None = None,
    causal: bool = False,
) -> NDArray[numpy.bool_]:
    """A sliding window and global blocks, which see all blocks and which all blocks
    see (Beltagy et al., "Longformer: the long-document transformer", 2020; by
    blocks).

    window_blocks               as in big_bird
    global_blocks, global_ends  as in variable
    """
    layout = _make(heads, length, block)
    _count(layout, "window blocks", window_blocks, 1)
    ranges = _ranges(global_blocks, global_ends)
    _add_window(layout, window_blocks)
    for begin, end in ranges:
        layout[:, begin:end] = True
        layout[:, :, begin:end] = True
    return _finish(layout, causal)


def local_sliding_window(
    heads: int,
    length: int,
    block: int = 16,
    *,
    window_blocks: int = 3,
    causal: bool = True,
) -> NDArray[numpy.bool_]:
    """A sliding window, causal by default.

    window_blocks  as in big_bird; a causal layout has only the past half of the
                   window
    """
    layout = _make(heads, length, block)
    _count(layout, "window blocks", window_blocks, 1)
    _add_window(layout, window_blocks)
    return _finish(layout, causal)


# ===----------------------------------------------------------------------===
# Layouts that depend on data
# ===----------------------------------------------------------------------===


def _torch_of(value):
    """PyTorch, if `value` is a tensor of it."""
    return sys.modules["torch"] if type(value).__module__ == "torch" else None


# Arrays come first, so that those who have no PyTorch see what they get.
@overload
def top_k(
    scores: NDArray[Any], count: int, *, causal: bool = False
) -> NDArray[numpy.bool_]: ...
@overload
def top_k(scores: Tensor, count: int, *, causal: bool = False) -> Tensor: ...
def top_k(scores: Any, count: int, *, causal: bool = False) -> Any:
    """The `count` blocks of each row with the highest scores, as a layout.

    scores  the score of each block, [..., rows, columns]. Of blocks with equal
            scores the first are taken. Blocks whose score is NaN or -inf are
            never taken, so that a row may have fewer than `count`
    causal  whether no blocks above the diagonal are taken
    """
    _at_least("blocks of a row", count, 0)
    torch = _torch_of(scores)
    if torch:
        allowed = scores > -float("inf")
        if causal:
            allowed = allowed.tril()
        scores = scores.float().masked_fill(~allowed, -float("inf"))
        order = scores.sort(dim=-1, descending=True, stable=True).indices
        layout = torch.zeros_like(allowed)
        return layout.scatter_(-1, order[..., :count], True) & allowed
    scores = numpy.asarray(scores)
    allowed = scores > -numpy.inf
    if causal:
        allowed = numpy.tril(allowed)
    order = numpy.argsort(-numpy.where(allowed, scores, -numpy.inf), kind="stable")
    layout = numpy.zeros(scores.shape, bool)
    numpy.put_along_axis(layout, order[..., :count], True, -1)
    return layout & allowed


# ===----------------------------------------------------------------------===
# Lists
# ===----------------------------------------------------------------------===


@overload
def to_lists(
    layout: NDArray[Any], dtype: Literal["int32"] = "int32"
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]: ...
@overload
def to_lists(
    layout: NDArray[Any], dtype: Literal["int64"]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]: ...
@overload
def to_lists(
    layout: Tensor, dtype: Literal["int32", "int64"] = "int32"
) -> tuple[Tensor, Tensor]: ...
def to_lists(layout: Any, dtype: str = "int32") -> tuple[Any, Any]:
    """A layout as lists: the row offsets, [..., rows + 1], and the columns,
    [blocks]. The offsets say where the blocks of each row start in the columns,
    and where the last row ends.

    dtype  "int32" or "int64"
    """
    if dtype not in ("int32", "int64"):
        raise ValueError(f"expects a dtype of int32 or int64, but got {dtype}")
    torch = _torch_of(layout)
    if torch:
        counts = torch.nn.functional.pad(layout.sum(-1), (1, 0))
        rows = counts.flatten().cumsum(0).reshape(counts.shape)
        columns = layout.nonzero()[:, -1]
        return tuple(x.to(getattr(torch, dtype)) for x in (rows, columns))
    layout = numpy.asarray(layout)
    # A head starts where the last one ended.
    counts = layout.sum(-1, dtype=numpy.int64)
    counts = numpy.pad(counts, [(0, 0)] * (counts.ndim - 1) + [(1, 0)])
    rows = counts.cumsum().reshape(counts.shape)
    return rows.astype(dtype), layout.nonzero()[-1].astype(dtype)


@overload
def csr_lists(
    matrices: Iterable[_Matrix | tuple[ArrayLike, ArrayLike]],
    dtype: Literal["int32"] = "int32",
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]: ...
@overload
def csr_lists(
    matrices: Iterable[_Matrix | tuple[ArrayLike, ArrayLike]],
    dtype: Literal["int64"],
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]: ...
def csr_lists(matrices: Iterable[Any], dtype: str = "int32") -> tuple[Any, Any]:
    """Sparse matrices in the CSR format, one for each head, as lists of single keys:
    the row offsets, [heads, queries + 1], and the columns, [pairs], which
    docs/examples/key-lists.mlir takes. The elements of a matrix are the pairs of a
    query and a key that take part; their values do not matter. For a dense mask,
    an array of bool, use to_lists.

    A matrix is `(indptr, indices)`, or has these attributes, as matrices of
    scipy.sparse do. Columns are sorted if they are not.

    dtype  "int32" or "int64"
    """
    if dtype not in ("int32", "int64"):
        raise ValueError(f"expects a dtype of int32 or int64, but got {dtype}")
    rows, columns, start = [], [], 0
    for number, matrix in enumerate(matrices):
        if hasattr(matrix, "indptr"):
            matrix = matrix.indptr, matrix.indices
        indptr, indices = (numpy.asarray(x, numpy.int64) for x in matrix)
        if rows and len(indptr) != len(rows[0]):
            raise ValueError(
                f"expects matrices with {len(rows[0]) - 1} rows, as the first one "
                f"has, but got {len(indptr) - 1} in matrix {number}"
            )
        of_row = numpy.repeat(numpy.arange(len(indptr) - 1), numpy.diff(indptr))
        columns.append(indices[numpy.lexsort((indices, of_row))])
        rows.append(indptr + start)
        start += len(indices)
    if not rows:
        raise ValueError("expects a matrix for each head, but got none")
    return numpy.stack(rows).astype(dtype), numpy.concatenate(columns).astype(dtype)


def from_lists(
    rows: ArrayLike, columns: ArrayLike, width: int
) -> NDArray[numpy.bool_]:
    """The layout of lists, as an array of NumPy with `width` columns."""
    rows, columns = numpy.asarray(rows), numpy.asarray(columns)
    layout = numpy.zeros((*rows.shape[:-1], rows.shape[-1] - 1, width), bool)
    for at in numpy.ndindex(layout.shape[:-1]):
        begin, end = rows[at], rows[(*at[:-1], at[-1] + 1)]
        layout[at][columns[begin:end]] = True
    return layout


def expand(layout: NDArray[numpy.bool_], block: int) -> NDArray[numpy.bool_]:
    """Which pairs of a query and a key a layout allows, [heads, queries, keys]:
    the definition, for small sizes."""
    return layout.repeat(block, -2).repeat(block, -1)
