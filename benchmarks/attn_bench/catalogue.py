"""Variants as functions of PyTorch: what models use, and what tests masks and
scores. Those of docs/gallery, masks.py and scores.py are some of them.

Each makes a score function and a mask function, either of which may be None, of a
`Shape` and a device. FlexAttention takes them, and so does attn.torch.
"""

import dataclasses
import math
import pathlib
import sys
import typing

import torch

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "docs" / "gallery"


@dataclasses.dataclass(frozen=True)
class Shape:
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    dim: int

    @property
    def scale(self):
        return self.dim**-0.5


def _tokens(batch, length):
    """Heads of 2048 columns in all."""

    def make(dim):
        heads = max(1, 2048 // dim)
        return Shape(batch, heads, heads, length, length, dim)

    return make


ONE, TWO, EIGHT = _tokens(1, 16384), _tokens(2, 8192), _tokens(8, 2048)


class Variant(typing.NamedTuple):
    """`kind` is what it is compared with: a "mask" with a kernel that has none, for
    the tiles it needs; a "bias", a "vector" by row or column, a dense bias ("pair"),
    an "index" for each pair of a table with a kernel without them; a "function" of
    scores with none. `of` names what its mask depends on besides positions."""

    name: str
    kind: str
    make: typing.Callable
    shape: typing.Callable = ONE
    of: str = ""


VARIANTS = {}


def variant(kind, shape=ONE, of=""):
    def add(function):
        name = function.__name__.replace("_", "-")
        VARIANTS[name] = Variant(name, kind, function, shape, of)
        return function

    return add


def _random(shape, device, dtype=torch.float32, seed=0):
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device).to(dtype)


def _ends(length, count, seed=1):
    """Where documents of random lengths end."""
    generator = torch.Generator().manual_seed(seed)
    cuts = torch.randperm(length - 1, generator=generator)[: count - 1] + 1
    return torch.cat([cuts.sort().values, torch.tensor([length])])


def _ids(length, count, device):
    at = torch.arange(length)
    return torch.bucketize(at, _ends(length, count), right=True).int().to(device)


def _causal(b, h, i, j):
    return j <= i


# Scores


@variant("function")
def times_two(s, device):
    return lambda x, b, h, i, j: x * 2, None


@variant("function")
def squared(s, device):
    return lambda x, b, h, i, j: x * x, None


@variant("function")
def causal_as_score(s, device):
    return lambda x, b, h, i, j: torch.where(j <= i, x, -float("inf")), None


@variant("bias")
def distance(s, device):
    return lambda x, b, h, i, j: x + (i - j), None


@variant("bias")
def distance_causal(s, device):
    return lambda x, b, h, i, j: x + (i - j), _causal


@variant("bias")
def distance_anticausal(s, device):
    return lambda x, b, h, i, j: x + (i - j), lambda b, h, i, j: i <= j


@variant("bias")
def alibi_both_sides(s, device):
    slopes = torch.exp2(-8 * (1 + torch.arange(s.heads, device=device)) / s.heads)
    return lambda x, b, h, i, j: x - slopes[h] * (i - j).abs(), None


@variant("bias")
def alibi_full(s, device):
    slopes = torch.exp2(-8 * (1 + torch.arange(s.heads, device=device)) / s.heads)
    return lambda x, b, h, i, j: x + slopes[h] * (j - i), None


@variant("vector")
def head_scale(s, device):
    w = _random(s.heads, device)
    return lambda x, b, h, i, j: x * w[h], None


@variant("function", TWO)
def trigonometric(s, device):
    return lambda x, b, h, i, j: torch.sin(torch.cos(x)) + torch.tan(b * 1.0), None


@variant("function", TWO)
def trigonometric_twice(s, device):
    return lambda x, b, h, i, j: (
        torch.cos(x) * torch.sin(x) + torch.tan(b * 1.0)
    ), None


@variant("vector", TWO)
def row_bias(s, device):
    bias = _random((s.batch, s.queries), device)
    return lambda x, b, h, i, j: x + bias[b, i], None


@variant("vector", TWO)
def row_bias_of_four(s, device):
    bias = _random((4, s.batch, s.heads, s.queries), device)
    return lambda x, b, h, i, j: x + bias[0, b, h, i], None


@variant("vector", TWO)
def row_bias_at_a_captured_place(s, device):
    bias = _random((s.batch, s.heads, 4, s.queries), device)
    place = torch.tensor(2, device=device)
    return lambda x, b, h, i, j: x + bias[b, h, place, i], None


@variant("vector")
def key_bias(s, device):
    bias = _random(s.keys, device)
    return lambda x, b, h, i, j: x + bias[j], None


@variant("vector")
def row_and_key_bias(s, device):
    row, key = _random(s.queries, device), _random(s.keys, device, seed=1)
    return lambda x, b, h, i, j: x + row[i] + key[j], None


@variant("vector")
def row_and_key_factors(s, device):
    row, key = _random(s.queries, device), _random(s.keys, device, seed=1)
    return lambda x, b, h, i, j: x * row[i] * key[j], None


@variant("vector", TWO)
def bias_of_each_index(s, device):
    row = _random(s.queries, device, torch.bfloat16)
    batch, head = _random(s.batch, device), _random(s.heads, device, torch.float16)
    return lambda x, b, h, i, j: x + row[i] + batch[b] + head[h], None


@variant("pair", EIGHT)
def pair_bias_2d(s, device):
    bias = _random((s.queries, s.keys), device, torch.bfloat16)
    return lambda x, b, h, i, j: x + bias[i, j], None


@variant("pair", EIGHT)
def pair_bias_of_batches(s, device):
    bias = _random((s.batch, s.queries, s.keys), device, torch.bfloat16)
    return lambda x, b, h, i, j: x + bias[b, i, j], None


@variant("pair", EIGHT)
def pair_bias_of_heads(s, device):
    bias = _random((s.heads, s.queries, s.keys), device, torch.bfloat16)
    return lambda x, b, h, i, j: x + bias[h, i, j], None


@variant("pair", EIGHT)
def pair_bias_4d(s, device):
    bias = torch.randn(
        s.batch, s.heads, s.queries, s.keys, device=device, dtype=torch.bfloat16
    )
    return lambda x, b, h, i, j: x + bias[b, h, i, j], None


@variant("index", EIGHT)
def table_by_pair(s, device):
    """An index for each pair, of a table with a row for each head."""
    table = _random((s.heads, 64), device)
    index = torch.randint(0, 64, (s.queries, s.keys), device=device).int()
    return lambda x, b, h, i, j: x + table[h, index[i, j]], None


@variant("bias")
def table_by_clipped_distance(s, device):
    table = _random((s.heads, 257), device)
    return lambda x, b, h, i, j: (
        x + table[h, (i - j).clamp(min=-128, max=128) + 128]
    ), None


@variant("bias", TWO)
def relative_columns(s, device):
    """Of a picture with eight columns, for each query a bias for each row of it."""
    bias = _random((s.batch, s.heads, s.queries, 2 * s.keys // 8), device)[..., ::2]
    return lambda x, b, h, i, j: x + bias[b, h, i, j // 8], None


@variant("bias")
def relative_table(s, device):
    table = _random(2 * s.keys, device)
    return lambda x, b, h, i, j: x + table[(i - j) + s.keys], None


@variant("function")
def floor_division(s, device):
    return lambda x, b, h, i, j: x - i // (1 + j), None


@variant("function")
def silu(s, device):
    return lambda x, b, h, i, j: x * torch.sigmoid(x), None


@variant("function", TWO)
def bounded_scores(s, device):
    most = torch.tensor([1.0, 2.0], device=device)
    return lambda x, b, h, i, j: torch.where(x <= most[b], x, -float("inf")), _causal


@variant("vector")
def captured_scalar(s, device):
    c = torch.tensor(0.7, device=device)
    return lambda x, b, h, i, j: x * c, None


@variant("function")
def soft_cap_full(s, device):
    return lambda x, b, h, i, j: 30 * torch.tanh(x / 30), None


@variant("bias")
def euclidean_decay(s, device):
    at = _random((3, s.queries), device)
    length = _random(s.heads, device).abs() + 1

    def score_mod(x, b, h, i, j):
        d0, d1, d2 = (at[n, i] - at[n, j] for n in range(3))
        return x * torch.exp(-torch.sqrt(d0 * d0 + d1 * d1 + d2 * d2) / length[h])

    return score_mod, None


@variant("bias")
def documents_and_distance(s, device):
    """Causal documents with a linear bias."""
    ids = _ids(s.keys, 16, device)
    slopes = torch.exp2(-8 * (1 + torch.arange(s.heads, device=device)) / s.heads)
    return (
        lambda x, b, h, i, j: x + slopes[h] * (j - i),
        lambda b, h, i, j: (ids[i] == ids[j]) & (j <= i),
    )


# Masks


@variant("mask")
def anticausal(s, device):
    return None, lambda b, h, i, j: i <= j


@variant("mask")
def documents_of_256(s, device):
    return None, lambda b, h, i, j: (i // 256 == j // 256) & (j <= i)


@variant("mask")
def even_keys(s, device):
    return None, lambda b, h, i, j: j % 2 == 0


@variant("mask")
def halves(s, device):
    second = torch.arange(s.keys, device=device) >= s.keys // 2
    return None, lambda b, h, i, j: second[i] == second[j]


@variant("mask", TWO, of="b")
def prefixes(s, device):
    n = torch.tensor([s.keys // 5, s.keys // 2], device=device)
    return None, lambda b, h, i, j: (j <= i) | ((i <= n[b]) & (j <= n[b]))


@variant("mask")
def cross_window(s, device):
    """Rows or columns nearby of a picture with 64 columns."""

    def mask_mod(b, h, i, j):
        across = (i % 64 - j % 64).abs() <= 3
        return across | ((i // 64 - j // 64).abs() <= 3)

    return None, mask_mod


@variant("mask")
def causal_window(s, device):
    return None, lambda b, h, i, j: (j <= i) & (i - j <= 512)


@variant("mask")
def ragged(s, device):
    """Positions within documents, by what offset each begins at."""
    ends = _ends(s.keys, 16)
    ids = _ids(s.keys, 16, device)
    begin = torch.cat([torch.zeros(1), ends[:-1]]).int().to(device)

    def mask_mod(b, h, i, j):
        return (ids[i] == ids[j]) & (j - begin[ids[j]] <= i - begin[ids[i]])

    return None, mask_mod


@variant("mask", lambda dim: Shape(32, 32, 8, 256, 2048, dim))
def grouped_heads(s, device):
    shift = s.keys - s.queries
    return None, lambda b, h, i, j: j <= i + shift


def _odd(dim):
    heads = 2048 // dim
    return Shape(1, heads, heads, 16383, 16383, dim)


@variant("mask", _odd)
def odd_length(s, device):
    return None, _causal


@variant("mask")
def half_of_the_rows(s, device):
    return None, lambda b, h, i, j: i < s.queries // 2


@variant("mask", TWO, of="b")
def one_batch(s, device):
    return None, lambda b, h, i, j: (j <= i) & (b % 2 == 0)


@variant("mask", TWO, of="b")
def random_rows(s, device):
    drop = _random((s.batch, s.queries), device) > 0
    return None, lambda b, h, i, j: ~drop[b, i]


@variant("mask", TWO, of="b")
def padding_of_both(s, device):
    n = torch.tensor([s.keys * 5 // 8, s.keys], device=device)
    return None, lambda b, h, i, j: (i < n[b]) & (j < n[b])


@variant("mask", TWO, of="b")
def batch_offset(s, device):
    offset = torch.tensor([0, 7], device=device)
    return None, lambda b, h, i, j: i + 128 * offset[b] >= j


@variant("mask")
def split_range(s, device):
    return None, lambda b, h, i, j: (j < 256) | (j >= s.keys // 2)


@variant("mask", of="h")
def all_heads_but_one(s, device):
    return None, lambda b, h, i, j: (j <= i) & (h != 0)


def _bottom(dim):
    heads = 2048 // dim
    return Shape(1, heads, heads, 8192, 16384, dim)


@variant("mask", _bottom)
def bottom_right(s, device):
    shift = s.keys - s.queries
    return None, lambda b, h, i, j: j <= i + shift


@variant("mask", _bottom)
def bottom_right_window(s, device):
    shift = s.keys - s.queries
    return None, lambda b, h, i, j: (
        (i + shift - 1024 <= j) & (j <= i + shift + 256)
    )


@variant("mask")
def documents_16(s, device):
    ids = _ids(s.keys, 16, device)
    return None, lambda b, h, i, j: ids[i] == ids[j]


@variant("mask")
def range_of_a_range(s, device):
    """An interval of keys for each document."""
    ends, ids = _ends(s.keys, 16), _ids(s.keys, 16, device)
    first = torch.cat([torch.zeros(1), ends[:-1]]).int().to(device)
    last = ends.int().to(device)
    return None, lambda b, h, i, j: (first[ids[i]] <= j) & (j < last[ids[i]])


@variant("mask")
def two_ranges(s, device):
    """Two intervals of keys for each document: its own, and one of all."""
    ends, ids = _ends(s.keys, 16), _ids(s.keys, 16, device)
    first = torch.cat([torch.zeros(1), ends[:-1]]).int().to(device)
    last = ends.int().to(device)
    other = torch.randperm(16, generator=torch.Generator().manual_seed(2)).to(device)
    other_first, other_last = first[other].clone(), last[other].clone()

    def mask_mod(b, h, i, j):
        d = ids[i]
        own = (first[d] <= j) & (j < last[d])
        return own | ((other_first[d] <= j) & (j < other_last[d]))

    return None, mask_mod


@variant("mask")
def documents_that_see(s, device):
    """A table says which document sees which."""
    ids = _ids(s.keys, 16, device)
    generator = torch.Generator().manual_seed(3)
    sees = (torch.rand(16, 16, generator=generator) < 0.2) | torch.eye(16).bool()
    sees = sees.to(device)
    return None, lambda b, h, i, j: sees[ids[i], ids[j]]


@variant("mask")
def dense_mask(s, device):
    """A bit for each pair."""
    ids = _ids(s.keys, 16, device)
    table = ids[:, None] == ids[None, :]
    return None, lambda b, h, i, j: table[i, j]


@variant("mask")
def order_of_floats(s, device):
    """Keys whose number is not below the query's."""
    at = torch.arange(s.queries, device=device) / s.queries
    row = at + 0.9
    return None, lambda b, h, i, j: row[i] <= at[j]


@variant("mask")
def neighbours_clamped(s, device):
    """Neighbours of a grid of 128 columns; windows stay inside."""

    def near(x, y, count):
        middle = x.clamp(min=6, max=count - 7)
        return (middle - y).abs() <= 6

    def mask_mod(b, h, i, j):
        rows = near(i // 128, j // 128, s.keys // 128)
        return rows & near(i % 128, j % 128, 128)

    return None, mask_mod


@variant("mask")
def tiles_in_three_dimensions(s, device):
    """A grid of 16 x 32 x 32, tiles of 4 x 8 x 8, and those nearby."""

    def tile(n):
        return n // 4096, n // 256 % 4, n % 32 // 8

    def mask_mod(b, h, i, j):
        near = [(x - y).abs() <= 1 for x, y in zip(tile(i), tile(j))]
        return near[0] & near[1] & near[2]

    return None, mask_mod


@variant("mask")
def flags_or_window(s, device):
    flag = torch.zeros(s.keys, dtype=torch.bool, device=device)
    flag[:: s.keys // 16] = True
    return None, lambda b, h, i, j: (j <= i) & (flag[j] | (i - j < 1024))


@variant("mask")
def blocks_of_training(s, device):
    """Block diffusion: a noisy half and a clean half, in blocks of 32."""
    half = s.keys // 2

    def mask_mod(b, h, i, j):
        clean_i, clean_j = i >= half, j >= half
        block_i, block_j = (i % half) // 32, (j % half) // 32
        own = (clean_i == clean_j) & (block_i == block_j)
        before = ~clean_i & clean_j & (block_i > block_j)
        return own | before | (clean_i & clean_j & (block_i >= block_j))

    return None, mask_mod


def _rows(dim):
    return Shape(256, 4, 4, 256, 256, dim)


@variant("pair", _rows, of="b")
def many_short_rows(s, device):
    """A bias for each pair that batches share, and a mask of keys of each."""
    bias = _random((s.heads, s.queries, s.keys), device, torch.bfloat16)
    keep = torch.rand(s.batch, s.keys, device=device) < 0.9
    return (
        lambda x, b, h, i, j: x + bias[h, i, j],
        lambda b, h, i, j: keep[b, j],
    )


# Of docs/gallery: what they are compared with, their shapes and what they depend on.
_OF_GALLERY = {
    "alibi": ("bias", ONE, ""),
    "decay": ("bias", ONE, ""),
    "soft_cap": ("function", ONE, ""),
    "relative_positions": ("bias", ONE, ""),
    "buckets": ("bias", ONE, ""),
    "pair_bias": ("pair", EIGHT, ""),
    "padding": ("mask", TWO, "b"),
    "windows_by_head": ("mask", ONE, "h"),
}


def add_others():
    """Adds those of masks.py, scores.py, and docs/gallery where it is beside this
    folder."""
    from . import masks, scores

    del masks, scores
    add_gallery()


def add_gallery():
    if not GALLERY.is_dir():
        return
    sys.path.insert(0, str(GALLERY))
    import variants

    for _, _, function in variants.VARIANTS:
        kind, shape, of = _OF_GALLERY.get(function.__name__, ("mask", ONE, ""))
        name = "gallery-" + function.__name__.replace("_", "-")

        def make(s, device, function=function):
            return function(s.keys, s.heads, device)

        VARIANTS[name] = Variant(name, kind, make, shape, of)


def target(kind, dim):
    """The most that a time may be of what it is compared with, or None."""
    small = dim < 128
    return {
        "mask": 1.5 if small else 1.35,
        "bias": 1.5 if small else 1.3,
        "vector": 1.1,
        "pair": math.inf if small else 1.3,
        "index": math.inf if small else 1.8,
    }.get(kind, math.inf)
