"""Attention of PyTorch: the backends of SDPA, and FlexAttention."""

import time

from . import variants

# By device, those to compare with unless the user says.
DEFAULT = {"cuda": ("cudnn", "flash", "flex"), "cpu": ("flash", "math", "flex")}
_BACKENDS = {
    "cudnn": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}
NAMES = (*_BACKENDS, "flex")


class Unavailable(Exception):
    """The peer does not have the variant."""


def _sdpa(torch, name, case, q, k, v, captures):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attention = torch.nn.functional.scaled_dot_product_attention
    backend = getattr(SDPBackend, _BACKENDS[name])
    variant = variants.VARIANTS[case.variant]
    arguments = {}
    if case.variant != "none":
        # Its bias excludes is_causal, and no bias is another variant.
        if variant.sdpa_bias is None or case.mask != "full":
            raise Unavailable("no such variant")
        arguments["attn_mask"] = variant.sdpa_bias(captures).expand(
            case.batch, case.heads, case.length, case.length
        )
    elif case.mask == "causal":
        arguments["is_causal"] = True

    def call():
        with sdpa_kernel(backend):
            return attention(q, k, v, **arguments)

    return call


def _flex_module():
    try:
        from torch.nn.attention import flex_attention as module
    except ImportError:
        raise Unavailable("not in this PyTorch") from None
    return module


def _compiled(torch):
    # A case after the other, each compiled for its sizes as a user would.
    torch._dynamo.reset()
    return torch.compile(_flex_module().flex_attention, dynamic=False)


def _flex(torch, case, q, k, v, captures):
    compiled = _compiled(torch)
    score = variants.score_mod(case, captures)
    mask = variants.mask_mod(case, captures)
    blocks = None
    if mask:
        batch = case.batch if case.mask == "prefix" else None
        blocks = _flex_module().create_block_mask(
            mask, batch, None, case.length, case.length, device=q.device
        )
    return lambda: compiled(q, k, v, score_mod=score, block_mask=blocks)


def _make_blocks(torch, mask, extents, device):
    """The block mask of FlexAttention, and the milliseconds that making it again
    takes."""
    plain = _flex_module().create_block_mask

    def timed(create):
        begin = time.perf_counter()
        blocks = create(mask, *extents, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return blocks, 1e3 * (time.perf_counter() - begin)

    # Compiled, it does not have all pairs in memory, but not all masks compile.
    try:
        create = torch.compile(plain)
        timed(create)
    except Exception:
        create = plain
        timed(create)
    return timed(create)


def masked_flex(torch, case, q, k, v, mask, batch, heads):
    """FlexAttention under a mask that is the same in all of a batch, or all heads,
    where these are None. Its block mask is made beforehand, and how long that
    took is the attribute `make_ms` of the function."""
    compiled = _compiled(torch)
    extents = (batch, heads, case.length, case.length)
    blocks, make_ms = _make_blocks(torch, mask, extents, q.device)

    def call():
        return compiled(q, k, v, block_mask=blocks)

    call.make_ms = make_ms
    return call


def make(torch, name, case, q, k, v, captures):
    """A function that computes the case; making it is not timed, and neither is
    its first call, which compiles."""
    if name == "flex":
        return _flex(torch, case, q, k, v, captures)
    return _sdpa(torch, name, case, q, k, v, captures)
