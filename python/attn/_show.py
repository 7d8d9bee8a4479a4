"""Pictures of masks: which pairs of a query and a key an attention needs, and which
tiles of them."""

import base64
import html
import operator
import os
import struct
import zlib

from ._attention import kernel_of
from ._compile import compile
from ._errors import InvalidArgument
from ._kernel import Kernel
from .trace import Variant, trace

# More pairs than this take long, and cannot be seen.
_MOST_PAIRS = 1 << 28
# Pixels of a picture, at most, and about how many if there are few pairs.
_MOST_PIXELS, _USUAL_PIXELS = 768, 256
# Keys that are asked for at once.
_CHUNK = 128
# Colors: a tile that is skipped; in a tile of which pairs are needed, one that is
# masked and one that is not; and a tile of which all are. Then lines.
_COLORS = ((255, 255, 255), (222, 235, 247), (107, 174, 214), (8, 81, 156), (189, 189, 189))


def _tiled(array, tile, reduce, numpy):
    """[rows / tile, columns / tile], what `reduce` makes of each tile. What is
    behind the end does not count."""
    for axis, step in enumerate(tile):
        array = reduce.reduceat(array, numpy.arange(0, array.shape[axis], step), axis)
    return array


class MaskPicture:
    """What `show_mask` returns. It is a picture in a notebook, and text elsewhere.

    pairs  [queries, keys] of bool: whether a query sees a key
    tile   (queries, keys) of a tile
    tiles  [Q tiles, KV tiles] of int: 0 where no pair of a tile is allowed, so
           that kernels skip it, 1 where some are, and 2 where all are, so that no
           mask is applied. The last tiles may extend past the lengths.
    """

    def __init__(self, pairs, tile, name):
        import numpy

        self.pairs = pairs
        self.tile = tile
        self.name = name
        some = _tiled(pairs, tile, numpy.logical_or, numpy)
        full = _tiled(pairs, tile, numpy.logical_and, numpy)
        self.tiles = some.astype(int) + full

    def summary(self):
        """One line: how many pairs and tiles there are, and are needed."""
        (rows, columns), (height, width) = self.pairs.shape, self.tile
        full, some = (self.tiles == 2).sum(), (self.tiles == 1).sum()
        return (
            f"{self.name}: {rows} x {columns} pairs, {100 * self.pairs.mean():.1f} %"
            f" allowed; {self.tiles.size} tiles of {height} x {width}: {full} full,"
            f" {some} in part, {self.tiles.size - full - some} skipped"
        )

    def __str__(self):
        signs = "  ", "\u2591\u2591", "\u2588\u2588"
        lines = ["".join(signs[x] for x in row).rstrip() for row in self.tiles]
        return "\n".join([self.summary(), *lines])

    __repr__ = __str__

    def pixels(self):
        """[height, width] of numbers of colors."""
        import numpy

        rows, columns = self.pairs.shape
        scale = max(1, _USUAL_PIXELS // max(rows, columns))
        step = -(-max(rows, columns) // _MOST_PIXELS)
        # Of each pair, then of squares of pairs.
        classes = self.tiles.repeat(self.tile[0], 0)[:rows]
        classes = classes.repeat(self.tile[1], 1)[:, :columns]
        colors = numpy.where(classes == 1, 1 + self.pairs, (classes > 0) * 3)
        colors = _tiled(colors, (step, step), numpy.maximum, numpy)
        colors = colors.repeat(scale, 0).repeat(scale, 1).astype(numpy.uint8)
        for axis, extent in enumerate((rows, columns)):
            lines = numpy.arange(self.tile[axis], extent, self.tile[axis])
            # Where tiles are too small for lines, these would hide them.
            if len(lines) and self.tile[axis] * scale // step >= 8:
                at = [slice(None)] * 2
                at[axis] = lines * scale // step
                colors[tuple(at)] = 4
        return numpy.pad(colors, 1, constant_values=4)

    def png(self):
        """The picture in the format PNG, as bytes."""
        pixels = self.pixels()
        height, width = pixels.shape
        # Each line begins with its filter, none.
        lines = b"".join(b"\0" + line.tobytes() for line in pixels)
        chunks = [
            (b"IHDR", struct.pack(">2I5B", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", bytes(x for color in _COLORS for x in color)),
            (b"IDAT", zlib.compress(lines, 9)),
            (b"IEND", b""),
        ]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )

    def save(self, path):
        """Writes the picture to a file, as PNG."""
        with open(path, "wb") as file:
            file.write(self.png())

    def _repr_png_(self):
        return self.png()

    def _repr_html_(self):
        data = base64.b64encode(self.png()).decode()
        return (
            f'<figure><img src="data:image/png;base64,{data}"'
            f' alt="mask"><figcaption>{html.escape(self.summary())}</figcaption></figure>'
        )


def _index(value):
    """An integer, of NumPy or whatever is one, as an int; -1 for all else."""
    try:
        return -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return -1


def _length(name, given, known):
    if given is None and known is None:
        raise InvalidArgument(f"expects {name} for a mask that has no lengths of its own")
    given = known if given is None else given
    length = _index(given)
    if length < 1:
        raise InvalidArgument(f"expects {name} to be 1 or more, but got {given!r}")
    return length


def _tile(tile, known, lengths):
    if tile is None:
        tile = known
    if tile is None:
        # Such that there are 8 to 16 of them, as far as kernels have such.
        tile = min(128, max(8, (1 << max(lengths).bit_length()) >> 4))
    pair = tile if isinstance(tile, (tuple, list)) else (tile, tile)
    sizes = tuple(map(_index, pair))
    if len(sizes) != 2 or min(sizes) < 1:
        raise InvalidArgument(
            f"expects tile to be one or two numbers of 1 or more, but got {tile!r}"
        )
    return sizes


def _ask(call, lengths, dim, numpy):
    """[queries, keys] of bool, by `call(values)`, which returns an output [queries,
    dim] of values [keys, dim]: those keys that are not 0 in a column have weight
    if the output is not."""
    queries, keys = lengths
    pairs = numpy.zeros((queries, keys), bool)
    for first in range(0, keys, dim):
        count = min(dim, keys - first)
        values = numpy.zeros((keys, dim), numpy.float32)
        # Weights may be small, and elements of 16 bits.
        values[first + numpy.arange(count), numpy.arange(count)] = 2.0**14
        pairs[:, first : first + count] = call(values)[:, :count] != 0
    return pairs


def _of_function(mask_mod, lengths, batch, head, numpy):
    program = trace(None, mask_mod)
    variant = Variant(dtype="f32", dim=8, dim_v=_CHUNK)
    kernel = kernel_of(program, variant, target="cpu", opt_level=0)
    arguments = [x.cpu() if hasattr(x, "cpu") else x for x in program.arguments(variant)]
    lead = batch + 1, head + 1
    q, k = (numpy.zeros((*lead, n, 8), numpy.float32) for n in lengths)

    def call(values):
        values = numpy.ascontiguousarray(numpy.broadcast_to(values, (*lead, *values.shape)))
        return kernel(q, k, values, *arguments)[batch, head]

    return _ask(call, lengths, _CHUNK, numpy)


def _of_kernel(kernel, lengths, batch, head, inputs, layout, numpy):
    infos = {info.name: info for info in kernel.inputs}
    wanted = [name for name in infos if name not in ("q", "k", "v")]
    if not {"q", "k", "v"} <= set(infos) or sorted(wanted) != sorted(inputs):
        raise InvalidArgument(
            f"expects a program of q, k and v, and what else it reads as inputs"
            f" ({', '.join(wanted) or 'nothing'}), but got inputs of"
            f" {', '.join(infos)} and values for {', '.join(inputs) or 'none'}"
        )
    # As [batch, heads, length, head dimension], whatever the layout.
    axes = [layout.index(letter) for letter in "bhsd"]
    shapes = {}
    for name, length in ("q", lengths[0]), ("k", lengths[1]), ("v", lengths[1]):
        shape = infos[name].shape
        if len(shape) == 4:
            shape = [shape[axis] for axis in axes]
        if len(shape) != 4 or shape[2] not in (None, length) or shape[3] is None:
            raise InvalidArgument(
                f"expects {name} of {length} rows and a static head dimension in the"
                f" layout {layout}, but got {infos[name]}"
            )
        lead = [b + 1 if n is None else n for n, b in zip(shape, (batch, head))]
        shapes[name] = *lead, length, shape[3]
    if batch >= shapes["q"][0] or head >= shapes["q"][1]:
        raise InvalidArgument(
            f"expects a batch and a head of {shapes['q'][:2]}, but got {batch}, {head}"
        )

    def tensor(name, values=0.0):
        values = numpy.broadcast_to(numpy.float32(values), shapes[name])
        values = numpy.ascontiguousarray(values.transpose(["bhsd".index(x) for x in layout]))
        dtype = infos[name].dtype
        if dtype == "bf16":
            from ._tensors import bitcast

            bits = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
            return bitcast(bits, "bf16")
        return values.astype({"f64": "f8", "f32": "f4", "f16": "f2"}[dtype])

    def call(values):
        given = {"q": tensor("q"), "k": tensor("k"), "v": tensor("v", values), **inputs}
        found = kernel(*[given[name] for name in infos])
        found = found[0] if isinstance(found, tuple) else found
        found = getattr(found, "array", found)
        return found.transpose(axes)[batch, head]

    return _ask(call, lengths, shapes["v"][3], numpy)


def show_mask(
    mask,
    q_len=None,
    kv_len=None,
    *,
    tile=None,
    batch=0,
    head=0,
    inputs=None,
    layout="bhsd",
):
    """A picture of a mask: which pairs are allowed, and which tiles kernels skip or
    compute without a mask. It needs NumPy.

    mask           a function (b, h, q_idx, kv_idx) -> bool, a mask of
                   create_block_mask (ours or PyTorch's), or a program: MLIR text,
                   a path, or a Kernel for a CPU. The mask of a program is found
                   by running it with q and k of 0: a pair is allowed if it has
                   weight in the first result, `o`.
    q_len, kv_len  lengths; by default those of the mask, and kv_len is q_len
    tile           queries and keys of a tile, one number or two; by default the
                   blocks of the mask, or such that there are about 10
    batch, head    the batch and the head that are shown
    inputs         for a program, its inputs besides q, k and v, by name
    layout         for a program, "bhsd" or "bshd"

    Returns a MaskPicture, which notebooks show: str() of it is text, `save(path)`
    writes a PNG.

    >>> attn.show_mask(lambda b, h, q_idx, kv_idx: kv_idx <= q_idx, 64, tile=16)
    """
    import numpy

    known, size, shape = (None, None), None, None
    name = getattr(mask, "__name__", type(mask).__name__)
    is_program = isinstance(mask, (str, bytes, os.PathLike, Kernel))
    if not is_program and hasattr(mask, "mask_mod"):
        known, size, shape = tuple(mask.seq_lengths), mask.BLOCK_SIZE, mask.shape
        name = getattr(mask.mask_mod, "__name__", name)
    elif not is_program and not callable(mask):
        raise InvalidArgument(
            f"expects a mask to be a function, a block mask or a program, but got {name}"
        )
    q_len = _length("q_len", q_len, known[0])
    kv_len = _length("kv_len", kv_len, q_len if known[1] is None else known[1])
    lengths = q_len, kv_len
    tile = _tile(tile, size, lengths)
    if q_len * kv_len > _MOST_PAIRS:
        raise InvalidArgument(
            f"expects up to {_MOST_PAIRS} pairs, but got {q_len} x {kv_len}: show a part,"
            " by q_len and kv_len"
        )
    for what, number in ("batch", batch), ("head", head):
        if _index(number) < 0:
            raise InvalidArgument(f"expects {what} to be 0 or more, but got {number!r}")
    batch, head = _index(batch), _index(head)
    if is_program:
        if layout not in ("bhsd", "bshd"):
            raise InvalidArgument(
                f"expects layout to be 'bhsd' or 'bshd', but got {layout!r}"
            )
        kernel = mask if isinstance(mask, Kernel) else compile(mask, target="cpu")
        name = kernel.entry
        pairs = _of_kernel(kernel, lengths, batch, head, inputs or {}, layout, numpy)
    else:
        if inputs:
            raise InvalidArgument("expects inputs for a program alone")
        if shape is not None:
            from .torch._mask import function_of

            # A batch or a head of 1 is for all.
            if any(n != 1 and at >= n for n, at in zip(shape, (batch, head))):
                raise InvalidArgument(
                    f"expects a batch and a head of {tuple(shape[:2])}, but got {batch},"
                    f" {head}"
                )
            mask = function_of(mask, shape[:2])
        pairs = _of_function(mask, lengths, batch, head, numpy)
    return MaskPicture(pairs, tile, name)
