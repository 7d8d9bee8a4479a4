"""Attention of PyTorch: the backends of SDPA, and FlexAttention."""

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


def _flex(torch, case, q, k, v, captures):
    try:
        from torch.nn.attention import flex_attention as module
    except ImportError:
        raise Unavailable("not in this PyTorch") from None
    # A case after the other, each compiled for its sizes as a user would.
    torch._dynamo.reset()
    compiled = torch.compile(module.flex_attention, dynamic=False)
    score = variants.score_mod(case, captures)
    mask = variants.mask_mod(case, captures)
    blocks = None
    if mask:
        batch = case.batch if case.mask == "prefix" else None
        blocks = module.create_block_mask(
            mask, batch, None, case.length, case.length, device=q.device
        )
    return lambda: compiled(q, k, v, score_mod=score, block_mask=blocks)


def make(torch, name, case, q, k, v, captures):
    """A function that computes the case; making it is not timed, and neither is
    its first call, which compiles."""
    if name == "flex":
        return _flex(torch, case, q, k, v, captures)
    return _sdpa(torch, name, case, q, k, v, captures)
