"""Score and mask functions, each in the spelling of NumPy and of PyTorch.

A case is a function of `xp`, which is either library, that makes a score and a
mask function of arrays of it. Both also run on arrays of indices, which is what
the reference does. The sizes of a call are B, H, S and T.
"""

import functools

import numpy

B, H, S, T, D = 2, 4, 96, 96, 8

_random = numpy.random.default_rng(7)
_tables = {
    "slopes": _random.standard_normal(H).astype("f4"),
    "bias": _random.standard_normal((B, H, S, T)).astype("f4"),
    "square": _random.standard_normal((S, T)).astype("f4"),
    "distances": _random.standard_normal((H, 2 * S)).astype("f4"),
    "wide": _random.standard_normal((H, 2 * S)),
    "half": _random.standard_normal((H, 2 * S)).astype("f2"),
    "rows": _random.standard_normal((B, H, S, 4)).astype("f4"),
    "columns": _random.standard_normal((B, 1, T, 4)).astype("f4"),
    "documents": numpy.sort(_random.integers(0, 4, (B, S)), axis=1).astype("i4"),
    "stack": numpy.repeat(numpy.arange(4), (20, 30, 6, 40)).astype("i8"),
    "offsets": numpy.array([0, 20, 50, 56, 96]),
    "lengths": numpy.array([50, 96], "i4"),
    "padding": _random.random((B, T)) < 0.8,
    "layout": _random.random((H, 6, 6)) < 0.4,
    "order": _random.permutation(T).astype("i2"),
    "spans": numpy.array([[0, 40], [20, 60], [60, 96]], "i4"),
    "vocabulary": _random.integers(0, 9, (B, 3)).astype("i8"),
    "tokens": _random.integers(0, 9, T).astype("i8"),
    "windows": numpy.array([4, 16, 40, 96], "i8"),
    "small": _random.integers(-3, 3, T).astype("i1"),
    "scale": numpy.array(0.7, "f4"),
}

CASES = {}


# Of cases whose functions do not run on arrays of indices: the score function
# that the reference takes.
REFERENCES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def references(name):
    return lambda function: REFERENCES.setdefault(name, function)


def table(xp, name):
    """A captured array of either library."""
    array = _tables[name]
    return xp.asarray(array.copy()) if xp is not numpy else array


def cast(xp, x, dtype):
    return x.astype(dtype) if xp is numpy else x.to(getattr(xp, dtype))


def scores(function):
    """A case with a score function only."""
    return case(functools.wraps(function)(lambda xp: (function(xp), None)))


def masks(function):
    return case(functools.wraps(function)(lambda xp: (None, function(xp))))


def causal(b, h, q, kv):
    return q >= kv


# ===----------------------------------------------------------------------===
# Scores
# ===----------------------------------------------------------------------===


@scores
def identity(xp):
    return lambda s, b, h, q, kv: s


@scores
def causal_score(xp):
    return lambda s, b, h, q, kv: xp.where(q >= kv, s, -float("inf"))


@scores
def inverse_causal(xp):
    return lambda s, b, h, q, kv: xp.where(q <= kv, s, -float("inf"))


@scores
def relative(xp):
    return lambda s, b, h, q, kv: s + (q - kv) * 0.1


@scores
def relative_causal(xp):
    return lambda s, b, h, q, kv: xp.where(q <= kv, s + (q - kv), -1e6)


@scores
def alibi(xp):
    heads = H

    def score(s, b, h, q, kv):
        scale = xp.exp2(-((h + 1) * 8.0 / heads))
        return s + (kv - q) * scale

    return score


@scores
def alibi_table(xp):
    slopes = table(xp, "slopes")
    return lambda s, b, h, q, kv: s + slopes[h] * (q - kv) * 0.1


@scores
def twice(xp):
    return lambda s, b, h, q, kv: s * 2


@scores
def squared(xp):
    return lambda s, b, h, q, kv: s * s


@scores
def scaled_by_heads(xp):
    slopes = table(xp, "slopes")
    return lambda s, b, h, q, kv: s * slopes[h] + slopes[h]


@scores
def trigonometry(xp):
    return lambda s, b, h, q, kv: xp.sin(xp.cos(s)) + xp.tan(b / 4)


@scores
def trigonometry_of_tables(xp):
    slopes = table(xp, "slopes")

    def score(s, b, h, q, kv):
        z = xp.sin(xp.cos(s) * slopes[h])
        return z + xp.sinh(z) - xp.arctan(z)

    return score


@scores
def dense_bias(xp):
    bias = table(xp, "bias")
    return lambda s, b, h, q, kv: s + bias[b, h, q, kv]


@scores
def shared_bias(xp):
    square = table(xp, "square")
    return lambda s, b, h, q, kv: s + square[q, kv]


@scores
def distances_that_wrap(xp):
    # q - kv is negative for half of all pairs, and counts from the end then.
    distances = table(xp, "distances")
    return lambda s, b, h, q, kv: s + distances[h, q - kv]


@scores
def distances_of_doubles(xp):
    wide = table(xp, "wide")
    return lambda s, b, h, q, kv: s + wide[h, q - kv + S]


@scores
def distances_of_halves(xp):
    half = table(xp, "half")
    return lambda s, b, h, q, kv: s + half[h, q - kv + S]


@scores
def two_reads_of_a_table(xp):
    square = table(xp, "square")
    return lambda s, b, h, q, kv: s + square[q, kv] * square[kv, q]


@scores
def chained_reads(xp):
    bias = table(xp, "bias")
    return lambda s, b, h, q, kv: s + bias[b][h][q][kv] - bias[0][h, q][3]


@references("chained_reads")
def _(xp):
    bias = table(xp, "bias")
    return lambda s, b, h, q, kv: s + bias[b, h, q, kv] - bias[0, h, q, 3]


@scores
def slices_and_new_dimensions(xp):
    bias, square = table(xp, "bias"), table(xp, "square")

    def score(s, b, h, q, kv):
        return (
            s
            + bias[b, h, 1:][xp.clip(q, 1, S) - 1, kv]
            + bias[b, -1, ..., :-1][q, xp.clip(kv, 0, T - 2)]
            + bias[..., q, kv][b, h]
            + square[None, ::2][0, q // 2, kv]
            + square[q, None, kv][0]
        )

    return score


@references("slices_and_new_dimensions")
def _(xp):
    bias, square = table(xp, "bias"), table(xp, "square")

    def score(s, b, h, q, kv):
        return (
            s
            + bias[b, h, xp.clip(q, 1, S), kv]
            + bias[b, -1, q, xp.clip(kv, 0, T - 2)]
            + bias[b, h, q, kv]
            + square[q // 2 * 2, kv]
            + square[q, kv]
        )

    return score


@scores
def views(xp):
    square, rows = table(xp, "square"), table(xp, "rows")
    turned, last = square.T, rows[..., 2]
    return lambda s, b, h, q, kv: s + turned[q, kv] + last[b, h, q]


@scores
def reads_at_reads(xp):
    distances, documents = table(xp, "distances"), table(xp, "documents")
    return lambda s, b, h, q, kv: s + distances[h, documents[b, q] - documents[b, kv]]


@scores
def scalar_tensor(xp):
    scale = table(xp, "scale")
    return lambda s, b, h, q, kv: s * scale + scale


@scores
def softcap(xp):
    cap = 20
    return lambda s, b, h, q, kv: cap * xp.tanh(s / cap)


@scores
def rope_product(xp):
    rows, columns = table(xp, "rows"), table(xp, "columns")
    group = 2 * H
    return lambda s, b, h, q, kv: (
        s + (rows[b, h, q] * columns[b, h // group, kv]).sum(-1) * 0.5
    )


@scores
def row_reductions(xp):
    rows = table(xp, "rows")

    def score(s, b, h, q, kv):
        row = xp.abs(rows[b, h, q])
        return s + xp.sqrt(xp.sum(row * row, -1)) + row.mean(-1) + xp.prod(row, -1)

    return score


@scores
def extremes_of_rows(xp):
    rows = table(xp, "rows")
    return lambda s, b, h, q, kv: (
        s + xp.amax(rows[b, h, q], -1) - xp.amin(rows[b, h, kv], -1)
    )


@scores
def roots_and_powers(xp):
    def score(s, b, h, q, kv):
        x = xp.abs(s) + 1
        y = x**2 + x**0.5 + x**-1 + 2 ** (-h / 2.0) + xp.sqrt(x) + x**3
        return s + 0.1 * y + 0.01 * (kv % 5) ** 2

    return score


@scores
def logarithms(xp):
    def score(s, b, h, q, kv):
        d = xp.abs(q - kv)
        return s - xp.log(d + 1.0) + xp.log2(d + 2) + xp.log1p(xp.exp(-xp.abs(s)))

    return score


@scores
def hyperbolas(xp):
    return lambda s, b, h, q, kv: (
        xp.cosh(s / 8) + xp.arcsinh(s) + xp.expm1(s / 9) + xp.tanh(s) * xp.exp(-s * s)
    )


@scores
def roundings(xp):
    return lambda s, b, h, q, kv: (
        xp.floor(s * 2) / 2 + xp.ceil(s) - xp.trunc(s) + xp.sign(s) * s
    )


@scores
def remainders_of_floats(xp):
    return lambda s, b, h, q, kv: s + (q - kv + 0.25) % 7.0 - (q - kv) // 3.5


@scores
def divisions_of_integers(xp):
    # Down, as Python has it, whatever the signs.
    def score(s, b, h, q, kv):
        d = q - kv
        return s + 0.1 * (d // 3 + d % 3 + d // -5 - d % -5 + (-d) % 7)

    return score


@scores
def true_division_of_integers(xp):
    return lambda s, b, h, q, kv: s + (q - kv) / 32


@scores
def clips(xp):
    return lambda s, b, h, q, kv: xp.clip(s, -0.5, 0.5) + xp.clip(q - kv, -8, 8) * 0.05


@scores
def buckets(xp):
    # Like those of T5.
    distances = table(xp, "distances")

    def score(s, b, h, q, kv):
        d = xp.clip(q - kv, 0, S)
        far = 8 + cast(xp, xp.log(cast(xp, d, "float32") + 0.5) * 4, "int64")
        return s + distances[h, xp.where(d < 8, d, xp.clip(far, 0, 31))]

    return score


@scores
def finite_classes(xp):
    def score(s, b, h, q, kv):
        x = xp.where(q == kv, float("nan"), xp.where(q < kv, float("inf"), s))
        good = xp.isfinite(x)
        return xp.where(good, s, xp.where(xp.isnan(x), 1.0, -1.0)) + xp.isinf(x)

    return score


@scores
def bools_as_numbers(xp):
    return lambda s, b, h, q, kv: s + (q > kv) * 0.5 + cast(xp, h == 1, "float32")


@scores
def small_integers(xp):
    small = table(xp, "small")
    return lambda s, b, h, q, kv: s + small[q] * 0.25 - small[kv] // 2


# ===----------------------------------------------------------------------===
# Masks
# ===----------------------------------------------------------------------===


@masks
def all_pairs(xp):
    return lambda b, h, q, kv: (q == q) | True


@masks
def no_pair(xp):
    return lambda b, h, q, kv: (q >= 0) & False


@masks
def causal_mask(xp):
    return causal


@masks
def sliding_window(xp):
    window = 17
    return lambda b, h, q, kv: (q - kv <= window) & (q >= kv)


@masks
def window_on_both_sides(xp):
    left, right = 9, 5
    return lambda b, h, q, kv: (q - left <= kv) & (kv <= q + right)


@masks
def windows_of_heads(xp):
    windows = table(xp, "windows")
    return lambda b, h, q, kv: (q >= kv) & (q - kv < windows[h])


@masks
def dilated_window(xp):
    window, dilation = 24, 3

    def mask(b, h, q, kv):
        d = xp.abs(q - kv)
        return (d <= window) & (d % dilation == 0)

    return mask


@masks
def attention_sink(xp):
    sink, window = 4, 16
    return lambda b, h, q, kv: (q >= kv) & ((kv < sink) | (q - kv < window))


@masks
def prefix_lm(xp):
    prefix = 30
    return lambda b, h, q, kv: (kv < prefix) | (q >= kv)


@masks
def documents(xp):
    ids = table(xp, "documents")
    return lambda b, h, q, kv: (ids[b, q] == ids[b, kv]) & causal(b, h, q, kv)


@masks
def stacked_documents(xp):
    stack, offsets = table(xp, "stack"), table(xp, "offsets")

    def mask(b, h, q, kv):
        x, y = q - offsets[stack[q]], kv - offsets[stack[kv]]
        return (stack[q] == stack[kv]) & (x >= y) & (x - y < 12)

    return mask


@masks
def padded(xp):
    padding = table(xp, "padding")
    return lambda b, h, q, kv: padding[b, kv] & (q >= kv)


@masks
def lengths(xp):
    numbers = table(xp, "lengths")
    return lambda b, h, q, kv: (q < numbers[b]) & (kv < numbers[b])


@masks
def chunks(xp):
    chunk = 32
    return lambda b, h, q, kv: (q // chunk == kv // chunk) & (q >= kv)


@masks
def batches(xp):
    size = 24
    return lambda b, h, q, kv: (q // size == kv // size) & causal(
        b, h, q % size, kv % size
    )


@masks
def block_table(xp):
    layout = table(xp, "layout")
    return lambda b, h, q, kv: layout[h, q // 16, kv // 16]


@masks
def neighborhood(xp):
    width, height, reach = 12, 8, 2

    def mask(b, h, q, kv):
        qx, qy, kx, ky = q // width, q % width, kv // width, kv % width
        x = xp.clip(qx, reach, height - 1 - reach)
        y = xp.clip(qy, reach, width - 1 - reach)
        return (xp.abs(x - kx) <= reach) & (xp.abs(y - ky) <= reach)

    return mask


@masks
def tiled_neighborhood(xp):
    width, height, tile, reach = 12, 8, 4, 3

    def place(index):
        number, inner = index // (tile * tile), index % (tile * tile)
        y, x = number // (width // tile), number % (width // tile)
        return x * tile + inner % tile, y * tile + inner // tile

    def mask(b, h, q, kv):
        (qx, qy), (kx, ky) = place(q), place(kv)
        x = xp.clip(qx, reach, width - 1 - reach)
        y = xp.clip(qy, reach, height - 1 - reach)
        return (xp.abs(x - kx) <= reach) & (xp.abs(y - ky) <= reach)

    return mask


@masks
def morton_neighborhood(xp):
    def even_bits(code):
        code = code & 0x55555555
        code = (code | (code >> 1)) & 0x33333333
        code = (code | (code >> 2)) & 0x0F0F0F0F
        code = (code | (code >> 4)) & 0x00FF00FF
        return (code | (code >> 8)) & 0x0000FFFF

    def mask(b, h, q, kv):
        x = even_bits(q) - even_bits(kv)
        y = even_bits(q >> 1) - even_bits(kv >> 1)
        return (xp.abs(x) <= 2) & (xp.abs(y) <= 3)

    return mask


@masks
def sliding_tiles(xp):
    across, tile, kernel, text = 4, 16, 3, 16
    vision = T - text

    def mask(b, h, q, kv):
        qi, qj = q // tile // across, q // tile % across
        ki, kj = kv // tile // across, kv // tile % across
        near = (xp.abs(qi - ki) <= kernel // 2) & (xp.abs(qj - kj) <= kernel // 2)
        both = (q < vision) & (kv < vision)
        return (both & near) | (q >= vision) | ((q < vision) & (kv >= vision))

    return mask


@masks
def video_in_space(xp):
    prompt, frame, width = 10, 20, 2
    return lambda b, h, q, kv: (
        (q < prompt) | (kv < prompt + frame) | (xp.abs(q - kv) < width * frame // 16 * 16)
    )


@masks
def video_in_time(xp):
    prompt, frame = 10, 20

    def mask(b, h, q, kv):
        near = xp.abs((q - prompt) % frame - (kv - prompt) % frame) < 4
        return (q < prompt) | (kv < prompt) | near

    return mask


@masks
def images_of_texts(xp):
    spans, image = table(xp, "spans"), xp.asarray(numpy.repeat([0, 1, 2], 32))
    return lambda b, h, q, kv: (
        (q >= spans[image[kv], 0]) & (q < spans[image[kv]][..., 1])
    )


@masks
def words_of_a_list(xp):
    words, tokens = table(xp, "vocabulary"), table(xp, "tokens")
    if xp is numpy:
        return lambda b, h, q, kv: (words[b] == tokens[kv][..., None]).any(-1)
    return lambda b, h, q, kv: (words[b] == tokens[kv].unsqueeze(-1)).any(dim=-1)


@masks
def pages(xp):
    order = table(xp, "order")
    return lambda b, h, q, kv: (order[kv] >= 0) & (q >= order[kv])


@masks
def lower_right(xp):
    shift = T - S + 7
    return lambda b, h, q, kv: q + shift >= kv


@masks
def checkerboard(xp):
    return lambda b, h, q, kv: ((q + kv) % 2 == 0) ^ (h == 1)


@masks
def negations(xp):
    return lambda b, h, q, kv: ~((q < kv) | (kv == 3)) & xp.logical_not(q != q)


@masks
def logic(xp):
    return lambda b, h, q, kv: xp.logical_and(
        q >= kv, xp.logical_or(h > 0, xp.logical_xor(b == 0, kv > 9))
    )


@masks
def bits(xp):
    return lambda b, h, q, kv: (((q ^ kv) & 6) == 0) | ((1 << h) >= (kv | 7))


@masks
def steps_between_heads(xp):
    # A partial, a default and a function of the module.
    def mask(b, h, q, kv, *, window, heads=H // 2):
        return causal(b, h, q, kv) & ((h < heads) | (q - kv < window))

    return functools.partial(mask, window=11)


@case
def score_and_mask(xp):
    distances, ids = table(xp, "distances"), table(xp, "documents")
    return (
        lambda s, b, h, q, kv: xp.tanh(s / 5.0) * 5.0 + distances[h, q - kv],
        lambda b, h, q, kv: (q >= kv) & (ids[b, q] == ids[b, kv]),
    )


# ===----------------------------------------------------------------------===
# The reference
# ===----------------------------------------------------------------------===


def inputs(dtype="float32"):
    q, k, v = numpy.random.default_rng(3).standard_normal((3, B, H, S, D))
    return [x.astype(dtype) for x in (q, k[:, ::2], v[:, ::2])]


def reference(xp, q, k, v, score=None, mask=None, scale=None):
    """In float64, on arrays of indices; o and lse."""
    q, k, v = (xp.asarray(x, dtype=xp.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (x[:, [h // group for h in range(q.shape[1])]] for x in (k, v))
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    places = [xp.asarray(x) for x in numpy.indices(tuple(s.shape))]
    if score is not None:
        s = score(s, *places) + s * 0.0
    if mask is not None:
        s = xp.where(mask(*places), s, xp.asarray(-numpy.inf, dtype=xp.float64))
    s = numpy.asarray(s)
    most = s.max(-1, keepdims=True)
    p = numpy.exp(s - numpy.where(numpy.isfinite(most), most, 0.0))
    total = p.sum(-1, keepdims=True)
    o = p @ numpy.asarray(v) / numpy.where(total > 0, total, 1)
    with numpy.errstate(divide="ignore"):
        return o, (numpy.log(total) + most)[..., 0]
