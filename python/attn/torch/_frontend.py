"""flex_attention: the arguments, and which of them is wrong."""

import warnings

import torch
from torch import overrides

from .._errors import Unsupported
from ..trace._reuse import program_of
from . import (
    _autograd,
    _captures,
    _compat,
    _compiled,
    _kernels,
    _layout,
    _mask,
    _options,
    _reference,
    _sharded,
)
from ._compat import AuxOutput
from ._errors import InvalidArgument

_PLAIN = {torch.Tensor, torch.nn.Parameter}
DEVICES = ("cpu", "cuda")
TYPES = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
_ARGUMENTS = (torch.Tensor, int, float)
# What `_kind` says of arguments that fit, and of the last ones, to compare with which
# takes less than to look it up. Of so many that is known; then all are forgotten.
_MOST_KNOWN = 4096
_fitting = set()
_last_fitting = None
_warned = False


def _name(dtype):
    return str(dtype).rsplit(".", 1)[-1]


def is_plain(tensor):
    """Whether it is a dense tensor of PyTorch's own class, or one without contents."""
    return (
        (type(tensor) in _PLAIN or _compat.is_fake(tensor))
        and not tensor.is_nested
        and tensor.layout is torch.strided
    )


def check_tensors(query, key, value, may_be_sharded=False):
    """Checks types, devices and ranks."""
    for name, tensor in ("query", query), ("key", key), ("value", value):
        if is_plain(tensor) or (may_be_sharded and _sharded.is_sharded(tensor)):
            continue
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(
                f"expects {name} to be a tensor of PyTorch, but got"
                f" {type(tensor).__name__}"
            )
        if tensor.is_nested:
            raise Unsupported(
                f"expects {name} to be a dense tensor, but got a nested one:"
                " attn.torch.varlen takes sequences of several lengths"
            )
        what = type(tensor).__name__
        if tensor.layout is not torch.strided:
            what = f"one of the layout {str(tensor.layout).removeprefix('torch.')}"
        raise Unsupported(f"expects {name} to be a plain tensor, but got {what}")
    if not query.dtype == key.dtype == value.dtype:
        raise InvalidArgument(
            "expects query, key and value to have one dtype, but got"
            f" {_name(query.dtype)}, {_name(key.dtype)} and {_name(value.dtype)}"
        )
    if not query.device == key.device == value.device:
        raise InvalidArgument(
            "expects query, key and value to be on one device, but got"
            f" {query.device}, {key.device} and {value.device}"
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise InvalidArgument(
            "expects query, key and value to have 2 dimensions or more, but got"
            f" {query.dim()}, {key.dim()} and {value.dim()}"
        )
    if query.size(-1) != key.size(-1):
        raise InvalidArgument(
            "expects query and key to have the same head dimension, but got"
            f" {query.size(-1)} and {key.size(-1)}"
        )
    if query.device.type not in DEVICES:
        raise InvalidArgument(
            f"expects tensors on a CPU or a GPU of CUDA, but got {query.device}"
        )
    if query.dtype not in TYPES:
        raise InvalidArgument(
            "expects query, key and value of float64, float32, float16 or bfloat16,"
            f" but got {_name(query.dtype)}"
        )


def check_shapes(query, key, value, block_mask, enable_gqa, any_batch=False):
    """Checks that the tensors fit each other. A batch of keys of 1 is for all:
    in FlexAttention, where there is a mask."""
    if not query.dim() == key.dim() == value.dim() == 4:
        raise Unsupported(
            "expects query, key and value of [batch, heads, length, head dimension],"
            f" but got {query.dim()}, {key.dim()} and {value.dim()} dimensions"
        )
    (batch, heads, _, _), (kv_batch, kv_heads, keys, _) = query.shape, key.shape
    if tuple(value.shape[:3]) != (kv_batch, kv_heads, keys):
        raise InvalidArgument(
            "expects key and value to have the same batch, heads and length, but got"
            f" {tuple(key.shape[:3])} and {tuple(value.shape[:3])}"
        )
    if heads != kv_heads:
        if not enable_gqa:
            raise InvalidArgument(
                "expects query and key to have the same number of heads, but got"
                f" {heads} and {kv_heads}: enable_gqa=True lets heads of queries share"
                " those of keys"
            )
        if kv_heads == 0 or heads % kv_heads:
            raise InvalidArgument(
                "expects the number of heads of query to be a multiple of that of"
                f" key, but got {heads} and {kv_heads}"
            )
    if query.size(-1) == 0 or value.size(-1) == 0:
        raise InvalidArgument(
            "expects head dimensions of 1 or more, but got"
            f" {query.size(-1)} and {value.size(-1)}"
        )
    if batch != kv_batch:
        if kv_batch != 1:
            raise InvalidArgument(
                "expects query and key to have the same batch, or key one of 1, but"
                f" got {batch} and {kv_batch}"
            )
        if any_batch:
            return
        if block_mask is None:
            raise InvalidArgument(
                "expects a block_mask where query and key have other batches, but got"
                f" none and batches of {batch} and 1"
            )
        if block_mask.shape[0] != batch:
            raise InvalidArgument(
                f"expects block_mask to have the batch {batch} of query where key has"
                f" 1, but got the shape {tuple(block_mask.shape)}"
            )


def _kind(query, key, value, block_mask, enable_gqa):
    """All that decides whether arguments fit each other, or None where that is not
    soon told: of tensors and masks of other classes, and in graphs."""
    if (
        not (type(query) in _PLAIN and type(key) in _PLAIN and type(value) in _PLAIN)
        or not (block_mask is None or type(block_mask) is _mask.Mask)
        or torch.compiler.is_dynamo_compiling()
    ):
        return None
    try:
        return (
            *(query.shape, query.dtype, query.device, query.layout),
            *(key.shape, key.dtype, key.device, key.layout),
            *(value.shape, value.dtype, value.device, value.layout),
            not enable_gqa,
            block_mask and block_mask._shape,
        )
    except RuntimeError:  # a nested tensor has no shape
        return None


def _check(query, key, value, block_mask, enable_gqa, may_be_sharded):
    """Checks the arguments, and returns the function of the mask."""
    global _last_fitting
    kind = _kind(query, key, value, block_mask, enable_gqa)
    if kind is not None and (kind == _last_fitting or kind in _fitting):
        _last_fitting = kind
        return block_mask and block_mask.mask_mod
    check_tensors(query, key, value, may_be_sharded)
    check_shapes(query, key, value, block_mask, enable_gqa)
    mask_mod = None if block_mask is None else _mask.check(block_mask, query, key)
    if kind is not None:
        if len(_fitting) >= _MOST_KNOWN:
            _fitting.clear()
        _fitting.add(kind)
    return mask_mod


def check_request(return_aux):
    """Checks that this says what to return besides the output."""
    if not isinstance(return_aux, _compat.AuxRequest):
        raise InvalidArgument(
            f"expects return_aux to be an AuxRequest, but got {type(return_aux).__name__}"
        )


def dtype_of_cast(query):
    """The dtype that an autocast region casts to, or None where it does not."""
    device = query.device.type
    if query.dtype == torch.float64 or not torch.is_autocast_enabled(device):
        return None
    return torch.get_autocast_dtype(device)


def cast(query, key, value):
    """The tensors in the dtype of an autocast region, if they are in one."""
    if not _compat.may_cast() or not all(
        [isinstance(x, torch.Tensor) for x in (query, key, value)]
    ):
        return query, key, value
    dtype = dtype_of_cast(query)
    if dtype is None:
        return query, key, value
    return query.to(dtype), key.to(dtype), value.to(dtype)


def arguments(program, query):
    """What kernels take behind q, k and v."""
    return [
        x
        if isinstance(x, _ARGUMENTS)
        else torch.as_tensor(x, device="cpu")
        for x in program.values("f64" if query.dtype == torch.float64 else "f32")
    ]


def call(found, query, key, value, captured, wants_lse):
    """Runs kernels, with a gradient where one is wanted."""
    _captures.check_tangents((query, key, value, *captured))
    if _compat.is_transformed():
        return _autograd.Transformed.apply(found, query, key, value, *captured)
    if torch.is_grad_enabled() and (
        query.requires_grad
        or key.requires_grad
        or value.requires_grad
        or any([isinstance(x, torch.Tensor) and x.requires_grad for x in captured])
    ):
        # Copies are made here, if any, as gradients need them as well.
        if not query.stride(-1) == key.stride(-1) == value.stride(-1) == 1:
            query, key, value = map(_layout.with_unit_stride, (query, key, value))
        return _autograd.Attention.apply(found, query, key, value, *captured)
    return found.run((query, key, value, *captured), wants_lse)


def dispatch(
    what, wants_lse, compile_options, kernel_options=None, shared=None, dropout=None
):
    """The output and the log-sum-exp, which may be None if it is not wanted.
    `what` is (query, key, value, score_mod, mask_mod, scale). `kernel_options` are
    `compile_options` where these cannot be read yet; `shared` is what calls with
    the mask have prepared. `dropout` is (p, seed, offset), or None."""
    if torch.compiler.is_dynamo_compiling():
        return _compiled.dispatch(*what, kernel_options, shared, dropout)
    if compile_options.fallback is None:
        return _run(what, wants_lse, compile_options, shared, dropout=dropout)
    without = compile_options._replace(fallback=None)
    try:
        return _run(
            what, wants_lse, without, shared, gradients_at_once=True, dropout=dropout
        )
    except _reference.REASONS as error:
        if dropout is not None:
            raise
        _reference.warn(error)
        return _reference.attention(*what)


def _run(
    what, wants_lse, compile_options, shared, gradients_at_once=False, dropout=None
):
    """The same by kernels. With `gradients_at_once`, those that gradients need are
    compiled before anything runs, so that what they cannot do is an error here."""
    query, key, value, score_mod, mask_mod, scale = what
    # torch.func takes Functions of PyTorch apart, and no operators.
    if _compat.wants_operator(query) and not _compat.is_transformed():
        functions = score_mod, mask_mod
        mask = 0 if shared is None else shared.number
        return _compiled.by_kernel(
            query, key, value, functions, scale, compile_options, mask, dropout
        )
    program = program_of(score_mod, mask_mod, query.device)
    if dropout is not None:
        program = program.with_dropout(*dropout)
    if program.captures:
        _captures.check(program, query)
    found = _kernels.lookup(program, query, key, value, scale, compile_options)
    if shared is not None:
        found = found.sharing(shared)
    captured = arguments(program, query)
    if gradients_at_once and torch.is_grad_enabled():
        found.prepare_gradient((query, key, value, *captured))
    return call(found, query, key, value, captured, wants_lse)


def check_dropout(dropout_p):
    if not isinstance(dropout_p, (int, float)) or not 0 <= dropout_p < 1:
        raise InvalidArgument(
            f"expects dropout_p to be at least 0 and less than 1, but got {dropout_p!r}"
        )


def draw(dropout_p, device):
    """The dropout of a call: the probability, a seed, and an offset of 0. None where
    nothing is dropped."""
    if not dropout_p:
        return None
    most = (1 << 63) - 1
    seed = torch.randint(-most, most, (), dtype=torch.int64, device=device)
    return dropout_p, seed, torch.zeros_like(seed)


def max_scores(
    lse,
    query,
    key,
    value,
    score_mod,
    mask_mod,
    scale,
    compile_options,
    kernel_options=None,
):
    """The largest score of each query, [B, Hq, L], -inf where there is none.

    Kernels return no maximum, but the log-sum-exp `lse` is above it by no more
    than the logarithm of the number of keys. That of the differences to it, times
    a number, is nearer by this number; the second time there is nothing left but
    rounding. Greater numbers at once are more than exponents can be computed of.
    """
    query, key, value, largest = (x.detach() for x in (query, key, value, lse))
    steep = 2.0**40 if query.dtype == torch.float64 else 2.0**24
    with torch.no_grad():
        for factor in 2.0**10, steep:
            near = largest.masked_fill(largest == -torch.inf, 0.0)

            def score_of(score, b, h, q_idx, kv_idx, near=near, factor=factor):
                if score_mod is not None:
                    score = score_mod(score, b, h, q_idx, kv_idx)
                return (score - near[b, h, q_idx]) * factor

            what = query, key, value, score_of, mask_mod, scale
            _, lse = dispatch(what, True, compile_options, kernel_options)
            largest = near + lse / factor
    return largest


def _warn_of_lse():
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "return_lse is deprecated in PyTorch: return_aux=AuxRequest(lse=True)"
            " says the same",
            FutureWarning,
            stacklevel=3,
        )


def with_dropout(
    query,
    key,
    value,
    score_mod,
    block_mask,
    scale,
    enable_gqa,
    kernel_options,
    dropout_p,
):
    """flex_attention, of plain tensors, whose probabilities are dropped as those of
    `sdpa` are. Returns the output, and the log-sum-exp, in which nothing is."""
    check_dropout(dropout_p)
    compile_options = _options.NONE
    if not torch.compiler.is_dynamo_compiling():
        compile_options = _options.read(kernel_options, may_fall_back=True)
        query, key, value = cast(query, key, value)
    mask_mod = _check(query, key, value, block_mask, enable_gqa, False)
    what = query, key, value, score_mod, mask_mod, scale
    shared = getattr(block_mask, "shared", None)
    dropout = draw(dropout_p, query.device)
    return dispatch(what, True, compile_options, kernel_options, shared, dropout)


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Attention with a score function and a mask, as
    torch.nn.attention.flex_attention.flex_attention has it.

    query           [B, Hq, L, E], of float64 (on a CPU), float32, float16 or
                    bfloat16
    key, value      [B or 1, Hkv, S, E] and [.., Ev], of the same dtype
    score_mod       (score, b, h, q_idx, kv_idx) -> score, on numbers: the score
                    is float32 (float64 for float64), indices are integers
    block_mask      what create_block_mask makes, ours or PyTorch's; its lists of
                    blocks count
    scale           of scores, by default 1 / sqrt(E)
    enable_gqa      whether Hq may be a multiple of Hkv
    return_lse      whether to return the log-sum-exp, too
    kernel_options  those of FlexAttention, which mean nothing here; and under
                    "ATTN" options of attn.compile: bounds_check, deterministic
                    (False lets the last bits of gradients differ from run to
                    run, unless PyTorch is asked for deterministic algorithms),
                    opt_level, processor, schedule, sparsity; and
                    fallback="reference", which computes by PyTorch's own
                    operations, with a warning, what there is no kernel for
    return_aux      an AuxRequest for the log-sum-exp, and for the largest score
                    of each query, which costs two more launches

    Returns [B, Hq, L, Ev], laid out in memory in the order of query; with
    return_lse, also [B, Hq, L] of float32 (float64); with return_aux, also an
    AuxOutput of such. Rows without an allowed key are 0, with a log-sum-exp and a
    largest score of -inf. The latter has no gradient, and is NaN where a score is
    infinite.

    The functions are traced at each call, but for those that can read nothing
    else than before, and kernels compiled when there is none for what they do.
    Results have gradients with respect to the tensors and to those that
    score_mod reads.

    Raises ValueError, RuntimeError and NotImplementedError where PyTorch does,
    all of them attn.Error, and attn.TraceError for a function that cannot be
    traced.
    """
    if _compat.is_overridden((query, key, value)):
        return overrides.handle_torch_function(
            flex_attention,
            (query, key, value),
            *(query, key, value, score_mod, block_mask, scale, enable_gqa),
            *(return_lse, kernel_options),
            return_aux=return_aux,
        )
    wants_lse = return_lse
    if return_aux is not None:
        if return_lse:
            raise InvalidArgument(
                "expects return_lse or return_aux, but got both:"
                " return_aux=AuxRequest(lse=True) is enough"
            )
        check_request(return_aux)
        wants_lse = return_aux.lse
    has_parts = type(query) not in _PLAIN and _sharded.is_sharded(query)
    if not torch.compiler.is_dynamo_compiling():
        query, key, value = cast(query, key, value)
    mask_mod = _check(query, key, value, block_mask, enable_gqa, has_parts)
    if has_parts:

        def part(query, key, value, score_mod, block_mask):
            return flex_attention(
                *(query, key, value, score_mod, block_mask, scale, enable_gqa),
                *(return_lse, kernel_options),
                return_aux=return_aux,
            )

        return _sharded.call(part, query, key, value, score_mod, mask_mod)
    compile_options, shared = _options.NONE, getattr(block_mask, "shared", None)
    if not torch.compiler.is_dynamo_compiling():
        if return_lse:
            _warn_of_lse()
        compile_options = _options.read(kernel_options, may_fall_back=True)
    arguments = query, key, value, score_mod, mask_mod, scale
    wants_max = return_aux is not None and return_aux.max_scores
    given = compile_options, kernel_options
    out, lse = dispatch(arguments, wants_lse or wants_max, *given, shared)
    if return_aux is not None:
        largest = max_scores(lse, *arguments, *given) if wants_max else None
        return out, AuxOutput(lse=lse if wants_lse else None, max_scores=largest)
    return (out, lse) if return_lse else out
