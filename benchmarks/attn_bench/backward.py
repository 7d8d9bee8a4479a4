"""python -m attn_bench --backward: gradients of q, k and v, against PyTorch's.

What is timed is a backward pass alone: o and lse are there. Of ours these are the
kernels of a gradient, with the gradient of lse, which is 0; of a peer it is what
autograd runs behind its forward pass. A mask that reads data is prepared before that,
as FlexAttention's block mask is, in attn-prepared, and not in attn.
"""

import functools

import attn

from . import contest, peers, variants
from .check import Errors

# Our contenders: whether sums of dq are in one order, and masks prepared.
OURS = {
    "attn": (True, False),
    "attn-any": (False, False),
    "attn-prepared": (True, True),
}


class Judge:
    """The gradients of one head, in float64 and as eager execution makes them in
    the type of the inputs, by the rule of docs/numerics.md. Errors are parts of what
    is allowed, of the gradient that is furthest."""

    bound = Errors(1, 1)

    def __init__(self, torch, case, tensors, score, mask):
        self.torch = torch
        self.at = tuple(
            torch.randint(0, extent, ()).item() for extent in (case.batch, case.heads)
        )
        self.case, self.score, self.mask = case, score, mask
        head = [x[self.at].detach() for x in tensors]
        self.exact = self._gradients([x.double() for x in head])
        eager = self._gradients([x.clone() for x in head])
        # The noise of float32 on a score moves a probability by that part of it.
        q, k, _, _ = (x.double() for x in head)
        top = case.scale * q.norm(dim=-1).max() * k.norm(dim=-1).max()
        noise = torch.finfo(torch.float32).eps * (2 + top)
        eps = torch.finfo(head[0].dtype).eps
        self.bounds = []
        for rounded, exact in zip(eager, self.exact):
            errors, size = self._errors(rounded, exact), exact.abs()
            chance = min(1, 8 / exact.numel() ** 0.5)
            self.bounds.append(
                Errors(
                    2 * errors.max + ((eps + noise) * size.max()).item(),
                    1.1 * errors.mean + ((chance * eps + noise) * size.mean()).item(),
                )
            )

    def _gradients(self, head):
        torch, (b, h) = self.torch, self.at
        q, k, v, gradient = head
        at = torch.arange(q.shape[0], device=q.device)
        pairs = (b, h, at[:, None], at[None, :])
        with torch.enable_grad():
            inputs = [x.requires_grad_() for x in (q, k, v)]
            s = (q @ k.T) * self.case.scale
            if self.score:
                s = self.score(s, *pairs)
            if self.mask:
                s = s.masked_fill(~self.mask(*pairs), float("-inf"))
            wide = torch.float64 if s.dtype == torch.float64 else torch.float32
            o = torch.softmax(s.to(wide), -1).to(q.dtype) @ v
        return torch.autograd.grad(o, inputs, gradient)

    def _errors(self, found, exact):
        error = (found.double() - exact).abs()
        # max would not show a NaN among others.
        if not error.isfinite().all():
            return Errors(float("inf"), float("inf"))
        return Errors(error.max().item(), error.mean().item())

    def errors(self, gradients):
        found = [self._errors(x[self.at], y) for x, y in zip(gradients, self.exact)]
        parts = [
            [error / most if most else error for error, most in zip(*pair)]
            for pair in zip(found, self.bounds)
        ]
        return Errors(*map(max, zip(*parts)))

    def accepts(self, errors):
        return errors.max <= 1 and errors.mean <= 1


def _ours(torch, case, deterministic, prepares, inputs, captures, gradient):
    kernel = attn.compile(
        variants.program(case, lse=True),
        target=inputs[0].device.type,
        deterministic=deterministic,
    )
    plain = [x.detach() for x in inputs]
    results = kernel(*plain, *captures.values())
    backward = kernel.gradient(["q", "k", "v"])
    tensors = (*plain, *captures.values(), *results)
    tensors += (gradient, torch.zeros_like(results[1]))
    return backward.bind(
        *tensors,
        out=[torch.full_like(x, float("nan")) for x in plain],
        prepared=backward.prepare(*tensors) if prepares else None,
    )


def run_case(torch, case, options, timer):
    """The row of a case: for each contender its times, or why it has none."""
    device = options.device
    dtype = getattr(torch, variants.TORCH_TYPES[case.dtype])
    shape = (case.batch, case.heads, case.length, case.dim)
    q, k, v, gradient = (
        torch.randn(shape, dtype=dtype, device=device) for _ in range(4)
    )
    captures = variants.make_captures(torch, case, device)
    score, mask = (
        make(case, captures) for make in (variants.score_mod, variants.mask_mod)
    )
    judge = Judge(torch, case, (q, k, v, gradient), score, mask)
    contenders = {
        name: contest.Contender(
            functools.partial(
                *(_ours, torch, case, *how, (q, k, v), captures, gradient)
            ),
            judge,
            is_ours=True,
        )
        for name, how in OURS.items()
    }
    for name in options.peers:
        make = functools.partial(
            *(peers.make_backward, torch, name, case, q, k, v, captures, gradient)
        )
        contenders[name] = contest.Contender(make, judge)
    row, _ = contest.run(contenders, timer, options.rounds)
    ours = row["attn"].get("ms")
    for name, entry in row.items():
        if "ms" not in entry:
            continue
        # Five products, where a forward pass has two.
        entry["tflops"] = 2.5 * case.flops / entry["ms"] / 1e9
        if ours and name != "attn":
            entry["ratio"] = entry["ms"] / ours
    return row
