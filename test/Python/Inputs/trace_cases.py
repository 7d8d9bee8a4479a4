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
