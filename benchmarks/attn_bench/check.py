"""Errors against float64, on a sample of the rows of a result.

The rule is that of attn-run --check (docs/numerics.md): at most 1.1 times the
mean and 2 times the largest error of the same maths done eagerly in the type of
the inputs, with scores and probabilities in memory and the softmax in float32,
and beyond that the floors that include/attn/Reference/Check.h derives.
"""

import typing


class Errors(typing.NamedTuple):
    max: float
    mean: float


class Judge:
    """The exact rows of a case, and what eager execution makes of them.

    `score` and `mask` are functions as FlexAttention has them, or None. A row
    without an allowed key is 0. There are as many queries as keys unless `queries`
    says how many.
    """

    def __init__(self, torch, case, q, k, v, score, mask, rows, queries=None):
        self.torch = torch
        device = q.device
        self.at = [
            torch.randint(0, extent, (rows,)).tolist()
            for extent in (case.batch, case.heads, queries or case.length)
        ]
        keys = torch.arange(case.length, device=device)
        exact, eager, floors = [], [], []
        for b, h, i in zip(*self.at):
            row = (q[b, h, i], k[b, h], v[b, h])
            allowed = mask(b, h, i, keys) if mask else None

            def attend(dtype):
                query, key, value = (x.to(dtype) for x in row)
                s = (key @ query) * case.scale
                if score:
                    s = score(s, b, h, i, keys)
                if allowed is not None:
                    s = s.masked_fill(~allowed, float("-inf"))
                wide = dtype if dtype == torch.float64 else torch.float32
                p = torch.softmax(s.to(wide), -1).to(dtype)
                if allowed is not None:
                    p = p.masked_fill(~allowed, 0)
                return s, p, p @ value

            s, p, o = attend(torch.float64)
            exact.append(o)
            eager.append(attend(q.dtype)[2])
            floors.append(self._floor(case, s, p, *row))
        self.exact = torch.stack(exact)
        self.eager = self._errors(torch.stack(eager))
        self.bound = self._bound(torch.finfo(q.dtype).eps, floors)

    def _floor(self, case, s, p, query, key, value):
        """Of a row: the noise of float32 on the maximum and the mean, and the
        roots of sum_j (p_j v_j)^2 and that times the range of a score."""
        eps = self.torch.finfo(self.torch.float32).eps
        a = ((p * p) @ value.double() ** 2).sqrt()
        top = s.masked_fill(~s.isfinite(), 0).abs().max()
        reach = case.scale * query.double().norm() * key.double().norm(dim=-1).max()
        return [eps * (2 + top) * a, eps * a, a, eps * reach * a]

    def _bound(self, eps, floors):
        high, mean, a, reach = (self.torch.stack(x) for x in zip(*floors))
        chance = min(1, 8 / self.exact.numel() ** 0.5)
        ulps = eps * self.exact.abs()
        return Errors(
            2 * self.eager.max
            + (ulps.max() + high.max() + chance * (eps * a + reach).max()).item(),
            1.1 * self.eager.mean
            + (
                mean.mean() + chance * (ulps.mean() / 2 + (2 * eps * a + reach).mean())
            ).item(),
        )

    def _errors(self, rows):
        error = (rows.double() - self.exact).abs()
        # max would not show a NaN among others.
        if not error.isfinite().all():
            return Errors(float("inf"), float("inf"))
        return Errors(error.max().item(), error.mean().item())

    def errors(self, o):
        """Of a whole result."""
        return self._errors(o[tuple(self.at)])

    def accepts(self, errors):
        return errors.max <= self.bound.max and errors.mean <= self.bound.mean
