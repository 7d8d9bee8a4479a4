"""Score functions, as trace_cases has them."""

from trace_cases import H, S, T, cast, references, scores, table


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
    return (
        lambda s, b, h, q, kv: s
        + (q - kv + 0.25) % 7.0
        - (q - kv) // 3.5
        + (s * 0 + 0.5) // 0.125
    )


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
