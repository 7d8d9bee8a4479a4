"""What to compare with: the backends of SDPA and FlexAttention, of PyTorch, and
FlashAttention-3 and -4."""

import importlib
import time

from . import tiles, variants

# By device, those to compare with unless the user says.
DEFAULT = {"cuda": ("cudnn", "flash", "flex"), "cpu": ("flash", "math", "flex")}
_BACKENDS = {
    "cudnn": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}
# Where the function of each FlashAttention is.
_FLASH = {"fa3": "flash_attn_interface", "fa4": "flash_attn.cute.interface"}
NAMES = (*_BACKENDS, "flex", *_FLASH)
# Peers that have the same bits run after run, of gradients alone.
_ORDERED = {"fa3-det": "fa3"}
BACKWARD_NAMES = (*NAMES, *_ORDERED)


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
    elif case.mask != "full":
        raise Unavailable("no such mask")

    def call():
        with sdpa_kernel(backend):
            return attention(q, k, v, **arguments)

    return call


def _flash(name, case):
    """https://github.com/Dao-AILab/flash-attention, installed: the folder hopper, or
    the package flash-attn-4. A function of tensors that have heads after rows."""
    module = _FLASH[name]
    try:
        function = importlib.import_module(module).flash_attn_func
    except ImportError:
        raise Unavailable(f"{module} is not installed") from None
    arguments = {}
    if case.variant == "softcap":
        arguments["softcap"] = variants.SOFTCAP
    elif case.variant != "none":
        raise Unavailable("no such variant")
    if case.mask == "causal":
        arguments["causal"] = True
    elif case.mask == "window":
        arguments["window_size"] = (variants.WINDOW - 1, 0)
    elif case.mask != "full":
        raise Unavailable("no such mask")

    def call(*rows, **more):
        result = function(*rows, **arguments, **more)
        # Some versions return the log-sum-exp as well.
        return result[0] if isinstance(result, tuple) else result

    return call


def _as_rows(*tensors):
    return [tensor.transpose(1, 2).contiguous() for tensor in tensors]


def _flash_forward(name, case, q, k, v):
    call, rows = _flash(name, case), _as_rows(q, k, v)
    return lambda: call(*rows).transpose(1, 2)


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
        batch = case.batch if case.mask in variants.OF_BATCH else None
        blocks = _flex_module().create_block_mask(
            mask, batch, None, case.length, case.length, device=q.device
        )
    return lambda: compiled(q, k, v, score_mod=score, block_mask=blocks)


# Of the pairs for which create_block_mask is called: it has all of them in memory,
# with indices of 8 bytes.
_MOST_PAIRS = 1 << 32


def _timed_blocks(torch, mask, extents, device):
    """The block mask that FlexAttention makes, not compiled, and the milliseconds
    that making it takes."""

    def create():
        blocks = _flex_module().create_block_mask(mask, *extents, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return blocks

    # The first one starts what the library needs.
    create()
    begin = time.perf_counter()
    return create(), 1e3 * (time.perf_counter() - begin)


def _blocks_by_rows(torch, mask, extents, device):
    """The same block mask, with no more than a row of blocks in memory."""
    batch, heads, length, _ = extents

    def arange(begin, end):
        return torch.arange(begin, end, device=device)

    rows = [
        (pairs.any(0).any(-1), pairs.all(0).all(-1))
        for pairs in tiles.rows(arange, mask, batch or 1, heads or 1, length)
    ]
    found = []
    for chosen in (
        torch.stack([some & ~all_ for some, all_ in rows]),
        torch.stack([all_ for _, all_ in rows]),
    ):
        chosen = chosen.view(batch or 1, heads or 1, -1, chosen.shape[-1])
        order = torch.argsort(chosen.int(), dim=-1, descending=True, stable=True)
        found += [chosen.sum(-1, dtype=torch.int32), order.int()]
    return _flex_module().BlockMask.from_kv_blocks(
        *found, BLOCK_SIZE=tiles.TILE, mask_mod=mask, seq_lengths=(length, length)
    )


def masked_flex(torch, case, q, k, v, mask, batch, heads):
    """FlexAttention under a mask that is the same in all of a batch, or all heads,
    where these are None. Its block mask is made beforehand, and how long
    create_block_mask takes for that is the attribute `make_ms` of the function, or
    None if it would take too much memory."""
    compiled = _compiled(torch)
    extents = (batch, heads, case.length, case.length)
    pairs = (batch or 1) * (heads or 1) * case.length**2
    if pairs <= _MOST_PAIRS:
        blocks, make_ms = _timed_blocks(torch, mask, extents, q.device)
    else:
        blocks, make_ms = _blocks_by_rows(torch, mask, extents, q.device), None

    def call():
        return compiled(q, k, v, block_mask=blocks)

    call.make_ms = make_ms
    return call


def make(torch, name, case, q, k, v, captures):
    """A function that computes the case; making it is not timed, and neither is
    its first call, which compiles."""
    if name == "flex":
        return _flex(torch, case, q, k, v, captures)
    if name in _FLASH:
        return _flash_forward(name, case, q, k, v)
    return _sdpa(torch, name, case, q, k, v, captures)


def make_backward(torch, name, case, q, k, v, captures, gradient):
    """A function that computes the gradients of q, k and v; the forward pass runs
    once, here."""
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    flash = _ORDERED.get(name, name)
    with torch.enable_grad():
        if flash in _FLASH:
            inputs = [x.detach().requires_grad_() for x in _as_rows(q, k, v)]
            (gradient,) = _as_rows(gradient)
            arguments = {"deterministic": True} if name in _ORDERED else {}
            output = _flash(flash, case)(*inputs, **arguments)
        else:
            if name == "flex":
                import torch._functorch.config as functorch

                # A graph that is kept for another pass has to keep its buffers.
                functorch.donated_buffer = False
            output = make(torch, name, case, *inputs, captures)()

    def call():
        found = torch.autograd.grad(output, inputs, gradient, retain_graph=True)
        return [x.transpose(1, 2) for x in found] if flash in _FLASH else found

    return call
