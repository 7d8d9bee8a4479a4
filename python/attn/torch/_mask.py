"""Masks: functions with lengths, of which nothing is computed until it is asked for."""

import itertools
import numbers
import weakref

import torch

from .._errors import Unsupported
from . import _compat, _kernels
from ._errors import InvalidArgument, MaskMismatch

# Pairs that are looked at at once, where a mask is evaluated.
_CHUNK = 1 << 24


def noop_mask(b, h, q_idx, kv_idx):
    """Allows all pairs."""
    return (b * 0) == 0


def _check_functions(mask_mods):
    if not all(map(callable, mask_mods)):
        raise MaskMismatch(
            f"expects functions (b, h, q_idx, kv_idx), but got {mask_mods}"
        )


def and_masks(*mask_mods):
    """The mask function that allows what all of these allow."""
    _check_functions(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = None
        for mask_mod in mask_mods:
            mask = mask_mod(b, h, q_idx, kv_idx)
            result = mask if result is None else result & mask
        return noop_mask(b, h, q_idx, kv_idx) if result is None else result

    return and_mask


def or_masks(*mask_mods):
    """The mask function that allows what some of these allow."""
    _check_functions(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = None
        for mask_mod in mask_mods:
            mask = mask_mod(b, h, q_idx, kv_idx)
            result = mask if result is None else result | mask
        return (b * 0) != 0 if result is None else result

    return or_mask


def _check_count(name, value, least):
    # In a graph it may be a symbol, of which not all is known.
    if torch.compiler.is_dynamo_compiling() or isinstance(value, torch.SymInt):
        return
    if not isinstance(value, numbers.Integral) or value < least:
        raise InvalidArgument(
            f"expects {name} to be an integer of {least} or more, but got {value!r}"
        )


def _ceil_div(a, b):
    return -(-a // b)


# ===----------------------------------------------------------------------===
# Our masks
# ===----------------------------------------------------------------------===


class Mask:
    """A mask function and what it is for, in the place of FlexAttention's
    BlockMask.

    mask_mod    (b, h, q_idx, kv_idx) -> bool
    shape       (B, H, Q_LEN, KV_LEN); a batch or a number of heads of 1 is for
                any
    BLOCK_SIZE  (queries, keys) of the blocks that `to_dense`, `sparsity`,
                `str` and lists of blocks tell of; kernels have their own
    device      where these are computed

    It takes no memory: what tells of blocks evaluates the function, each time.
    """

    def __init__(self, mask_mod, shape, block_size, device):
        self.mask_mod = mask_mod
        self._shape = tuple(shape)
        self.BLOCK_SIZE = block_size
        self.device = torch.device(device)
        self.shared = None

    def __getstate__(self):
        # A copy has a function that reads tensors of its own.
        return {**self.__dict__, "shared": None}

    @property
    def shape(self):
        return self._shape

    @property
    def seq_lengths(self):
        return self._shape[2:]

    def numel(self):
        """Pairs of a query and a key, for all heads and batches."""
        batch, heads, queries, keys = self._shape
        return batch * heads * queries * keys

    def prepare(self):
        """Says that what the function reads stays as it is, and returns the mask:
        calls with it find out once for all layers which tiles they need, and
        results have the same bits. After a change of what the function reads, call
        it again. The first call of each kind, with such shapes, prepares; that one
        may not be captured in a CUDA graph, and graphs that have captured others
        need the mask. A CPU has no use for it, and where torch.compile compiles this
        call, nothing is prepared.
        """
        if torch.compiler.is_dynamo_compiling():
            self.shared = None
            return self
        self.shared = _kernels.Shared()
        return self

    def _classes(self):
        """Which blocks have an allowed pair, and which have only such, as two
        [B, H, Q blocks, KV blocks] of bool. A block that ends behind the
        lengths is not full."""
        batch, heads, queries, keys = self._shape
        rows, columns = self.BLOCK_SIZE
        counts = batch, heads, _ceil_div(queries, rows), _ceil_div(keys, columns)
        some = torch.zeros(counts, dtype=torch.bool, device=self.device)
        full = torch.zeros_like(some)
        step = max(1, _CHUNK // max(1, batch * heads * keys * rows))
        for first in range(0, counts[2], step):
            count = min(step, counts[2] - first)
            start, end = first * rows, min((first + count) * rows, queries)

            def rest(b, h, q_idx, kv_idx, start=start):
                return self.mask_mod(b, h, q_idx + start, kv_idx)

            pairs = _compat.create_mask(
                rest, batch, heads, end - start, keys, self.device
            )
            padding = (0, counts[3] * columns - keys, 0, count * rows - (end - start))
            pairs = torch.nn.functional.pad(pairs, padding)
            pairs = pairs.view(batch, heads, count, rows, counts[3], columns)
            allowed = pairs.sum((3, 5))
            some[:, :, first : first + count] = allowed > 0
            full[:, :, first : first + count] = allowed == rows * columns
        return some, full

    def to_dense(self):
        """[B, H, Q blocks, KV blocks] of int32: 1 where some pair is allowed."""
        return self._classes()[0].int()

    def sparsity(self):
        """How many of the blocks have no allowed pair, in percent: as PyTorch 2.15
        has it, where blocks that end behind the lengths count like others."""
        some = self._classes()[0]
        return 100 * (1 - some.sum().item() / max(1, some.numel()))

    def to_string(self, grid_size=(20, 20), limit=4):
        """A drawing of the blocks of each batch and head, up to `limit` of them:
        of all, some or no pairs. It has up to `grid_size` rows and columns, or
        with -1 one for each block."""
        some, full = (x.float().cpu() for x in self._classes())
        size = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        drawings = []
        for number, at in enumerate(itertools.product(*map(range, some.shape[:2]))):
            if number == limit:
                drawings.append("...")
                break
            lines = [str(at)]
            steps = [
                1 if most == -1 else max(1, _ceil_div(count, most))
                for count, most in zip(some.shape[2:], size)
            ]
            for row in range(0, some.shape[2], steps[0]):
                line = ""
                for column in range(0, some.shape[3], steps[1]):
                    part = slice(row, row + steps[0]), slice(column, column + steps[1])
                    if full[at][part].mean() == 1:
                        line += "██"
                    else:
                        line += "░░" if some[at][part].any() else "  "
                lines.append(line)
            drawings.append("\n".join(lines) + "\n")
        return "\n".join(drawings)

    def __str__(self):
        return (
            f"Mask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n"
            f"{self.to_string().rstrip()}\n)"
        )

    def __repr__(self):
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return f"Mask({name}, shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE})"

    def __getitem__(self, index):
        """The mask of some batches, heads and rows of Q blocks: numbers, slices,
        or, of batches and heads, tensors of numbers. A number keeps its
        dimension, with 1."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise IndexError(
                f"expects up to 3 indices, of batches, heads and blocks of queries,"
                f" but got {len(index)}"
            )
        batch, heads, queries, keys = self._shape
        rows = _ceil_div(queries, self.BLOCK_SIZE[0])
        sizes = batch, heads, rows
        padded = (*index, *[slice(None)] * (3 - len(index)))
        (to_b, batch), (to_h, heads), (to_row, count) = map(_select, padded, sizes)
        start = 0
        if padded[2] != slice(None):
            chosen = range(rows)[padded[2]] if isinstance(padded[2], slice) else None
            if chosen is None or chosen.step != 1 or not chosen:
                raise Unsupported(
                    "expects a slice of consecutive blocks of queries, but got"
                    f" {padded[2]!r}"
                )
            start = chosen[0] * self.BLOCK_SIZE[0]
            queries = min(queries, (chosen[-1] + 1) * self.BLOCK_SIZE[0]) - start
        mask_mod = self.mask_mod

        def part(b, h, q_idx, kv_idx):
            return mask_mod(to_b(b), to_h(h), q_idx + start if start else q_idx, kv_idx)

        return Mask(part, (batch, heads, queries, keys), self.BLOCK_SIZE, self.device)

    def _adjust(self, new_q_len, new_kv_len):
        """The mask of other lengths, from the first query and key on."""
        _check_count("new_q_len", new_q_len, 0)
        _check_count("new_kv_len", new_kv_len, 0)
        shape = *self._shape[:2], new_q_len, new_kv_len
        return Mask(self.mask_mod, shape, self.BLOCK_SIZE, self.device)

    def to(self, device):
        """The mask with blocks on another device. Tensors that the function
        reads stay where they are."""
        return Mask(self.mask_mod, self._shape, self.BLOCK_SIZE, device)

    def to_block_mask(self):
        """FlexAttention's BlockMask, which has lists of all blocks."""
        some, full = self._classes()
        lists = [part for x in (some & ~full, full) for part in _to_lists(x)]
        return _compat.BlockMask.from_kv_blocks(
            *lists,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=self.seq_lengths,
        )


def _select(index, size):
    """What a selected index was before, as a function of it, and how many there
    are."""
    if isinstance(index, torch.Tensor):
        index = index.long()
        return (lambda x: index[x]), index.numel()
    if isinstance(index, slice):
        chosen = range(size)[index]
        if len(chosen) == size and chosen.step == 1:
            return (lambda x: x), size
        if len(chosen) != 1:
            return (lambda x: x * chosen.step + chosen.start), len(chosen)
        number = chosen[0]
    else:
        # An IndexError where there is no such number.
        number = range(size)[index]
    # Where there is one, it is for any.
    return (lambda x: x * 0 + number) if size > 1 else (lambda x: x), 1


def _to_lists(dense):
    """How many blocks each row has, and which, as FlexAttention lists them."""
    order = dense.int().argsort(dim=-1, descending=True, stable=True)
    return dense.sum(-1, dtype=torch.int32), order.int()


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=128,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The mask of a function, as torch.nn.attention.flex_attention makes it, in
    no time and no memory: see Mask.

    mask_mod        (b, h, q_idx, kv_idx) -> bool
    B, H            batches and heads, or None (or 1) where all have the same
    Q_LEN, KV_LEN   lengths
    device          of what `to_dense` and the like compute, by default the
                    accelerator, or the CPU where there is none
    BLOCK_SIZE      queries and keys of a block, one number or two

    The other arguments are FlexAttention's and mean nothing here.
    """
    if not callable(mask_mod):
        raise InvalidArgument(
            f"expects mask_mod to be a function (b, h, q_idx, kv_idx), but got"
            f" {type(mask_mod).__name__}"
        )
    if device is None:
        # PyTorch itself may be made for one that is not there.
        device = torch.accelerator.current_accelerator(check_available=True) or "cpu"
    is_pair = isinstance(BLOCK_SIZE, (tuple, list)) and len(BLOCK_SIZE) == 2
    size = tuple(BLOCK_SIZE) if is_pair else (BLOCK_SIZE, BLOCK_SIZE)
    shape = 1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN
    for name, value, least in (
        *zip(("B", "H", "Q_LEN", "KV_LEN"), shape, (0, 0, 0, 0)),
        *(("BLOCK_SIZE", value, 1) for value in size),
    ):
        _check_count(name, value, least)
    return Mask(mask_mod, shape, size, device)


# ===----------------------------------------------------------------------===
# FlexAttention's masks
# ===----------------------------------------------------------------------===

# The tables of masks, with the versions of the lists that they are made of.
_tables = weakref.WeakKeyDictionary()


def _to_table(counts, indices):
    """Lists as [B, H, Q blocks, KV blocks] of bool. What is behind the count of
    a row is anything."""
    width = indices.shape[-1]
    listed = torch.arange(width, device=indices.device) < counts.unsqueeze(-1)
    places = torch.where(listed, indices, width).long()
    table = torch.zeros(
        *indices.shape[:-1], width + 1, dtype=torch.bool, device=indices.device
    )
    table = table.scatter_(-1, places, True)[..., :width].contiguous()
    return table[(None,) * (4 - table.dim())]


def _make_tables(lists, asks):
    """The tables of blocks that the function decides on, if it is asked, and of
    those that are full; the latter may be None."""
    part = _to_table(*lists[:2])
    full = None if lists[2] is None else _to_table(*lists[2:])
    if not asks and full is not None:
        # The function allows all: blocks are there or not.
        part, full = part | full, None
    return part, full


def _find_tables(block_mask, asks):
    """Those of a BlockMask, which are made once."""
    lists = (
        block_mask.kv_num_blocks,
        block_mask.kv_indices,
        block_mask.full_kv_num_blocks,
        block_mask.full_kv_indices,
    )
    # In a graph, they are part of it. Nothing tells whether a tensor of inference
    # has changed.
    if torch.compiler.is_dynamo_compiling() or any(
        x is not None and x.is_inference() for x in lists
    ):
        return _make_tables(lists, asks)
    state = asks, *[None if x is None else (id(x), x._version) for x in lists]
    known = _tables.get(block_mask)
    if known is None or known[0] != state:
        # With the lists, so that no other tensor gets the id of one.
        known = _tables[block_mask] = state, _make_tables(lists, asks), lists
    return known[1]


def _repeat(count, wanted, what):
    """Which of `count` masks each of `wanted` batches or heads has: they repeat,
    as in FlexAttention, where they do so evenly."""
    if count == 1:
        return _compat.first
    if count >= wanted:
        return lambda x: x
    if wanted % count:
        raise MaskMismatch(
            f"expects block_mask to have 1 {what[0]} or the {wanted} of query, but got"
            f" {count} {what[1]}: create one with as many, or with None for all"
        )
    return lambda x: x % count


def from_lists(block_mask, shape):
    """The mask function of a BlockMask for so many batches and heads: what its
    lists say, and its function where they say that a block is not full."""
    mask_mod = block_mask.mask_mod
    asks = mask_mod is not _compat.noop_mask
    part, full = _find_tables(block_mask, asks)
    names = ("batch", "batches"), ("head", "heads")
    to_b, to_h = map(_repeat, part.shape[:2], shape, names)
    rows, columns = block_mask.BLOCK_SIZE

    def blocks(b, h, q_idx, kv_idx):
        at = to_b(b), to_h(h), q_idx // rows, kv_idx // columns
        if not asks:
            return part[at]
        allowed = part[at] & mask_mod(b, h, q_idx, kv_idx)
        return allowed if full is None else full[at] | allowed

    return blocks


def function_of(block_mask, shape):
    """The function of a Mask or a BlockMask, for so many batches and heads."""
    if isinstance(block_mask, Mask):
        return block_mask.mask_mod
    return from_lists(block_mask, shape)


def check(block_mask, query, key):
    """Checks that a mask is one, for such queries and keys, and returns its
    function, None if it allows all."""
    theirs = not isinstance(block_mask, Mask)
    if theirs and not isinstance(block_mask, _compat.BlockMask):
        raise InvalidArgument(
            "expects block_mask to be a Mask or a BlockMask, which create_block_mask"
            f" makes, but got {type(block_mask).__name__}"
        )
    if theirs:
        if block_mask.mask_mod is _compat.sliced_mask_mod:
            raise MaskMismatch(
                "expects a block mask with a mask_mod, but a slice of a BlockMask has"
                " none: set mask_mod of the slice"
            )
        device = block_mask.kv_num_blocks.device
        if device != query.device:
            raise MaskMismatch(
                f"expects block_mask on {query.device}, where query is, but got one on"
                f" {device}"
            )
        if tuple(block_mask.BLOCK_SIZE) == (_compat.NO_BLOCKS, _compat.NO_BLOCKS):
            mask_mod = block_mask.mask_mod
            return None if mask_mod is _compat.noop_mask else mask_mod
    _check_lengths(block_mask.shape, query.size(-2), key.size(-2))
    return function_of(block_mask, query.shape[:2])


def _check_lengths(shape, queries, keys):
    if shape[-2:] == (queries, keys):
        return
    way_out = (
        "create one for these lengths"
        if queries > shape[-2] or keys > shape[-1]
        else "create one for these lengths, or crop it with"
        f" block_mask._adjust({queries}, {keys}), which keeps the first queries and keys"
    )
    raise MaskMismatch(
        f"expects block_mask to be for {queries} queries and {keys} keys, but got the"
        f" shape {shape}: {way_out}"
    )
