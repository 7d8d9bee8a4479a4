"""What the tests of attn.torch share: kernels that compile soon, and attention in
float64 and as eager code has it, both by PyTorch's own operations."""

import functools

import torch

import attn.torch as ours

# No test is about speed.
FAST = {"ATTN": {"opt_level": 0}}

flex_attention = functools.partial(ours.flex_attention, kernel_options=FAST)


def causal(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx


def qkv(q=(2, 4, 37, 16), kv=None, dtype=torch.float64, dim_v=None, grad=False):
    """Random q, k and v; `kv` are the batch, the heads and the length of k."""
    kv = q[:3] if kv is None else kv
    shapes = q, (*kv, q[3]), (*kv, q[3] if dim_v is None else dim_v)
    return [torch.randn(s).to(dtype).requires_grad_(grad) for s in shapes]


def eager(q, k, v, score_mod=None, mask_mod=None, scale=None, wide=None):
    """The output and the log-sum-exp. `score_mod` and `mask_mod` get tensors of
    all pairs. With `wide`, everything is computed in that dtype; else scores and
    probabilities are rounded to that of q, as eager code does."""
    dtype = q.dtype if wide is None else wide
    heads = q.size(1) // k.size(1)
    q, k, v = (x.to(dtype) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads, 1).expand(q.size(0), -1, -1, -1) for x in (k, v))
    scale = q.size(-1) ** -0.5 if scale is None else scale
    s = (q @ k.transpose(-1, -2)) * scale
    index = torch.meshgrid(*[torch.arange(n) for n in s.shape], indexing="ij")
    if wide is None and dtype != torch.float64:
        s = s.float()
    if score_mod is not None:
        s = score_mod(s, *index)
    if mask_mod is not None:
        s = s.masked_fill(~mask_mod(*index), -torch.inf)
    lse = s.logsumexp(-1)
    # Where no key is allowed, neither the result nor the gradient is NaN.
    empty = (s == -torch.inf).all(-1, keepdim=True)
    p = s.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return p.to(dtype) @ v, lse


def check_errors(test, got, expected, rounded, what=""):
    """The rule of docs/numerics.md: `got` is as near to `expected`, which is
    float64, as what eager code has rounded."""
    wrong, theirs = ((x.double() - expected).abs() for x in (got, rounded))
    floor = 4 * torch.finfo(got.dtype).eps * expected.abs().mean()
    test.assertLessEqual(wrong.mean(), 1.1 * theirs.mean() + floor / 4, what)
    test.assertLessEqual(wrong.max(), 2 * theirs.max() + 4 * floor, what)
