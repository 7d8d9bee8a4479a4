"""The maths of a case in float64, what eager execution makes of it, and the rule
by which a result is right: that of docs/numerics.md, with the floors that
include/attn/Reference/Check.h derives.
"""

import math
import typing

# Distances of 1 to the next number.
_EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_LARGEST = {"f16": 65504.0, "bf16": 3.3895e38, "f32": 3.4028e38}


class Sizes(typing.NamedTuple):
    max: float
    mean: float


class Attention(typing.NamedTuple):
    """Scores, probabilities and results, all as float64."""

    scores: object
    probabilities: object
    o: object
    lse: object
    largest: object
    log_sum: object


def _matmul(x, a, b):
    return x.matmul(a, b)


def _amax(x, values):
    """The maximum of each row, -inf for one without elements."""
    if values.shape[-1] == 0:
        return values.sum(-1, keepdims=True) - math.inf
    return x.amax(values, -1, keepdims=True)


def attend(backend, case, q, k, v, captures, rounded):
    """Attention on float64 copies of (batch, heads, length, dim) tensors.

    `rounded(values, what)` rounds what eager execution would keep in memory,
    where `what` is "input" for the element type and "f32" for the softmax.
    """
    x, variant = backend.x, case.variant
    group = case.heads // max(1, case.kv_heads)
    k, v = (backend.repeat_heads(tensor, group) for tensor in (k, v))
    extents = (case.batch, case.heads, case.queries, case.keys)
    b, h, i, j = (
        backend.arange(extent).reshape([-1 if at == dim else 1 for at in range(4)])
        for dim, extent in enumerate(extents)
    )
    s = rounded(_matmul(x, q, k.swapaxes(-1, -2)), "input")
    s = rounded(s * case.scale, "input")
    if variant.score_of:
        s = rounded(variant.score_of(x, s, b, h, i, j, captures), "input")
    if variant.mask_of:
        allowed = variant.mask_of(x, b, h, i, j, captures)
        s = x.where(allowed, s, -math.inf)
    largest = _amax(x, s)
    finite = x.where(x.isfinite(largest), largest, 0.0)
    p = rounded(x.exp(s - finite), "f32")
    total = p.sum(-1, keepdims=True)
    empty = total == 0
    log_sum = x.log(x.where(empty, 1.0, total))
    lse = x.where(empty, -math.inf, finite + log_sum)
    p = rounded(p / x.where(empty, 1.0, total), "input")
    o = rounded(_matmul(x, p, v), "input")
    return Attention(s, p, o, lse[..., 0], finite, log_sum)


class Reference:
    """What is right for the inputs of a case, which are float64 arrays."""

    def __init__(self, backend, case, q, k, v, captures):
        self._backend, self._case = backend, case
        self._x = backend.x

        def eager(values, what):
            return backend.round(values, case.dtype if what == "input" else "f32")

        inputs = (backend, case, q, k, v, captures)
        self.exact = attend(*inputs, lambda values, what: values)
        self.eager = attend(*inputs, eager)
        self._noise = self._make_noise(q, k, v)

    def _make_noise(self, q, k, v):
        """By result: what a correct result may err by, on the maximum and the
        mean, and what a few elements may in addition by chance."""
        x, exact, case = self._x, self.exact, self._case
        wide, narrow = _EPSILON["f32"], _EPSILON[case.dtype]
        group = case.heads // max(1, case.kv_heads)
        v2 = self._backend.repeat_heads(v, group) ** 2
        spread = _matmul(x, exact.probabilities**2, v2) ** 0.5
        finite = x.where(x.isfinite(exact.scores), exact.scores, 0.0)
        top = _amax(x, abs(finite)).clip(0.0)
        keys = (k**2).sum(-1) ** 0.5
        furthest = _amax(x, keys).clip(0.0)
        furthest = self._backend.repeat_heads(furthest, group)[..., None]
        reach = abs(case.scale) * ((q**2).sum(-1, keepdims=True) ** 0.5) * furthest
        noise = wide * (2 + top) * spread
        return {
            "o": (
                noise,
                wide * spread,
                (narrow + wide * reach) * spread,
                (2 * narrow + wide * reach) * spread,
            ),
            "lse": (
                wide * (2 + abs(exact.largest) + abs(exact.log_sum)),
                wide * (2 + abs(exact.largest) + abs(exact.log_sum)) / 2,
                wide * reach,
                wide * reach,
            ),
        }

    def _bound(self, name, eager, magnitudes, dtype):
        chance = min(1.0, 8 / math.prod(magnitudes.shape) ** 0.5)
        high, mean, chance_high, chance_mean = self._noise[name]

        def unit(magnitude):
            exponent = math.floor(math.log2(magnitude)) if magnitude else -math.inf
            return _EPSILON[dtype] * 2.0**exponent

        return Sizes(
            2 * eager.max
            + unit(float(magnitudes.max()))
            + float(high.max())
            + chance * float(chance_high.max()),
            1.1 * eager.mean
            + float(mean.mean())
            + chance
            * (unit(float(magnitudes.mean())) / 2 + float(chance_mean.mean())),
        )

    def explain(self, name, got):
        """What is wrong with a result, "o" or "lse" as float64, or None."""
        x = self._x
        dtype = self._case.dtype if name == "o" else "f32"
        exact, eager = getattr(self.exact, name), getattr(self.eager, name)
        if tuple(got.shape) != tuple(exact.shape):
            return f"{name}: expects {tuple(exact.shape)}, but got {tuple(got.shape)}"
        if math.prod(got.shape) == 0:
            return None
        exact = x.where(abs(exact) > _LARGEST[dtype], exact * math.inf, exact)
        plain = x.isfinite(exact)
        both_nan = x.isnan(got) & x.isnan(exact)
        same = x.where(plain, x.isfinite(got), (got == exact) | both_nan)
        if not bool(same.all()):
            at = _first(x, ~same)
            return (
                f"{name}: {int((~same).sum())} elements are NaN or infinite on one"
                f" side, first at {at}: expects {float(exact[at])}, but got"
                f" {float(got[at])}"
            )
        count = int(plain.sum())
        if count == 0:
            return None
        error = x.where(plain, abs(got - exact), 0.0)
        # Elements where eager execution overflows take no part in its errors.
        counted = plain & x.isfinite(eager)
        eager_error = x.where(counted, abs(eager - exact), 0.0)
        found = Sizes(float(error.max()), float(error.sum()) / count)
        allowed = Sizes(
            float(eager_error.max()), float(eager_error.sum()) / max(1, counted.sum())
        )
        bound = self._bound(name, allowed, abs(exact[plain]), dtype)
        if found.max <= bound.max and found.mean <= bound.mean:
            return None
        at = _first(x, error == error.max())
        return (
            f"{name}: max error {found.max:.4g} (eager {allowed.max:.4g}, at most"
            f" {bound.max:.4g}), mean error {found.mean:.4g} (eager"
            f" {allowed.mean:.4g}, at most {bound.mean:.4g}), largest at {at}:"
            f" expects {float(exact[at])}, but got {float(got[at])}"
        )


def _first(x, where):
    """The index of the first true element."""
    number = int(where.reshape(-1).nonzero()[0][0])
    index = []
    for extent in reversed(where.shape):
        index.append(number % extent)
        number //= extent
    return tuple(reversed(index))
