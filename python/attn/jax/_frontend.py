"""flex_attention and dot_product_attention: what arguments mean, and checks of
them."""

import functools
import math

import jax
import jax.numpy as jnp

from .._dtypes import LONG_NAMES
from .._errors import InvalidArgument
from ..trace import Variant, capture, trace
from ..trace._program import Program, check_head_dims
from ..trace._recorder import Capture
from . import _calls

# Of what types they are.
_OPTIONS = {
    "bounds_check": bool,
    "deterministic": bool,
    "opt_level": int,
    "processor": str,
    "schedule": str,
    "sparsity": str,
}
_DEFAULT = ""
_FLOATS = ("float64", "float32", "float16", "bfloat16")


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    mask_mod=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    *,
    options=None,
):
    """softmax(score_mod(scale * query @ key^T)) @ value over the keys that mask_mod
    allows, by one kernel.

    query       [B, Hq, L, E], of float64, float32, float16 or bfloat16
    key, value  [B or 1, Hkv, S, E] and [B or 1, Hkv, S, Ev]
    score_mod   (score, b, h, q_idx, kv_idx) -> score, or None
    mask_mod    (b, h, q_idx, kv_idx) -> bool, or None for all pairs
    scale       of scores, a number, by default 1 / sqrt(E)
    enable_gqa  whether Hq may be a multiple of Hkv
    return_lse  also returns the logarithm of the sum of exponentials, [B, Hq, L],
                of float64 for that and of float32 else
    options     a dictionary of these options of attn.compile: bounds_check,
                deterministic, opt_level, processor, schedule, sparsity

    Returns [B, Hq, L, Ev]. The functions are traced by attn when this is called or
    traced by JAX. Arrays that they read are operands, and have gradients where the
    score reads them. Raises attn.TraceError for functions that cannot be a program.
    """
    query, key, value = (jnp.asarray(x) for x in (query, key, value))
    for name, x in ("query", query), ("key", key), ("value", value):
        if x.ndim != 4:
            raise InvalidArgument(
                f"expects {name} of [batch, heads, length, head dimension], but got"
                f" shape {x.shape}"
            )
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads != kv_heads and not enable_gqa:
        raise InvalidArgument(
            f"expects as many heads of key as of query, but got {kv_heads} and {heads}:"
            " enable_gqa=True lets a multiple of heads share one"
        )
    found = _attend(
        query, key, value, score_mod, mask_mod, scale, "bhsd", return_lse, options
    )
    return found if return_lse else found[0]


def _attend(
    query, key, value, score_mod, mask_mod, scale, layout, lse, options=None
):
    """The results, of arrays of 4 dimensions in an order."""
    _check(query, key, value, layout)
    program = _concrete(trace(score_mod, mask_mod, namespace="numpy"))
    variant = Variant(
        dtype=LONG_NAMES[str(query.dtype)],
        dim=query.shape[3],
        dim_v=None if value.shape[3] == query.shape[3] else value.shape[3],
        layout=layout,
        scale=_number(scale),
        shared_kv=key.shape[0] == 1 and query.shape[0] != 1,
    )
    arguments = program.arguments(variant)
    count = len(program.captures)
    tensors = query, key, value, *arguments[:count]
    options = _DEFAULT if options is None else _encode(options)
    return _calls.attend(program, variant, tensors, arguments[count:], options, lse)


def _check(query, key, value, layout):
    head, length = layout.index("h"), layout.index("s")
    if str(query.dtype) not in _FLOATS:
        raise InvalidArgument(
            f"expects query of {', '.join(_FLOATS)}, but got {query.dtype}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise InvalidArgument(
            "expects query, key and value of one dtype, but got"
            f" {query.dtype}, {key.dtype} and {value.dtype}: cast by astype"
        )
    if query.shape[3] != key.shape[3] or any(
        key.shape[dim] != value.shape[dim] for dim in (0, head, length)
    ):
        raise InvalidArgument(
            "expects shapes of query, key and value that fit together, but got"
            f" {query.shape}, {key.shape} and {value.shape}"
        )
    check_head_dims(query.shape[3], value.shape[3])
    if key.shape[0] not in (1, query.shape[0]):
        raise InvalidArgument(
            f"expects a batch of key of {query.shape[0]} or 1, but got {key.shape[0]}"
        )
    if key.shape[head] == 0 or query.shape[head] % key.shape[head]:
        raise InvalidArgument(
            "expects a multiple of the heads of key as heads of query, but got"
            f" {query.shape[head]} and {key.shape[head]}"
        )


def _encode(options):
    """A dictionary of options as lines of name=value."""
    if not isinstance(options, dict):
        raise InvalidArgument(
            f"expects options to be a dictionary, but got {type(options).__name__}"
        )
    lines = []
    for name, value in sorted(options.items()):
        kind = _OPTIONS.get(name)
        if kind is None:
            raise InvalidArgument(
                f"expects options among {', '.join(_OPTIONS)}, but got {name!r}"
            )
        if type(value) is not kind or (kind is str and "\n" in value):
            raise InvalidArgument(
                f"expects the option {name} to be of {kind.__name__}, but got"
                f" {value!r}"
            )
        lines.append(f"{name}={value if kind is str else int(value)}")
    return "\n".join(lines)


def _number(scale):
    if scale is None:
        return None
    try:
        number = float(scale)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgument(
            f"expects scale to be a finite number that JAX does not trace, but got"
            f" {scale!r}: multiply query, or the score in score_mod"
        )
    return number


def _concrete(program):
    """The program as it is for arrays of JAX, which have no float64 and int64 where
    these are not enabled, and no strides."""
    captures = []
    for capture in program.captures:
        array = jnp.asarray(capture.tensor)
        # Of other types only those that the trace itself knows get here.
        dtype = LONG_NAMES.get(str(array.dtype), capture.dtype)
        captures.append(Capture(array, dtype, array.shape, False))
    found = Program(program.score, program.mask, captures, program.scalars)
    found.relocate = lambda: _concrete(program.located())
    return found


# ===----------------------------------------------------------------------===
# Under the name of jax.nn
# ===----------------------------------------------------------------------===


def _reader(array):
    """What reads an array of 4 dimensions where those of 1 are for all."""
    wide = [extent > 1 for extent in array.shape]

    def read(*indices):
        at = tuple(x if w else 0 for x, w in zip(indices, wide))
        return capture(array)[at]

    return read


def _mask_of(mask, is_causal, query_lengths, key_lengths, window):
    """The mask function of the arguments of dot_product_attention, or None."""
    masks = [] if mask is None else [_reader(mask)]
    if is_causal:
        masks.append(lambda b, h, q, k: k <= q)
    if window is not None:
        left, right = window
        masks.append(lambda b, h, q, k: (k >= q - left) & (k <= q + right))
    if query_lengths is not None:
        masks.append(lambda b, h, q, k: q < capture(query_lengths)[b])
    if key_lengths is not None:
        masks.append(lambda b, h, q, k: k < capture(key_lengths)[b])
    if not masks:
        return None

    def mask_mod(*indices):
        return functools.reduce(lambda a, b: a & b, [x(*indices) for x in masks])

    return mask_mod


def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    *,
    scale=None,
    is_causal=False,
    query_seq_lengths=None,
    key_value_seq_lengths=None,
    local_window_size=None,
    implementation=None,
    return_residual=False,
):
    """Attention with the signature of jax.nn.dot_product_attention.

    query       [B, T, N, H] or [T, N, H]
    key, value  [B, S, K, H] or [S, K, H], where K divides N
    bias        is added to scores; broadcasts to [B, N, T, S]
    mask        of bool, which pairs take part; broadcasts to [B, N, T, S]
    scale       of scores, a number, by default 1 / sqrt(H)
    is_causal   whether a query sees no key behind its own index
    query_seq_lengths, key_value_seq_lengths  int32 [B]: what is behind takes no part
    local_window_size  (left, right) or one number for both: how many keys before
                and behind its own index a query sees
    implementation  None; others are those of JAX
    return_residual also returns the log-sum-exp, [B, T, N], without a gradient

    A query without a key gets 0, where JAX has the mean of all values.
    """
    if implementation is not None:
        raise InvalidArgument(
            "expects implementation to be None, as this is one itself, but got"
            f" {implementation!r}: jax.nn.dot_product_attention has others"
        )
    query, key, value = (jnp.asarray(x) for x in (query, key, value))
    shape = query.shape
    if not query.ndim == key.ndim == value.ndim or query.ndim not in (3, 4):
        raise InvalidArgument(
            "expects query, key and value of [batch, length, heads, head dimension] or"
            " without the batch, but got shapes"
            f" {query.shape}, {key.shape} and {value.shape}"
        )
    if query.ndim == 3:
        query, key, value = (x[None] for x in (query, key, value))
    if key.shape[0] != query.shape[0]:
        raise InvalidArgument(
            "expects as many batches of key as of query, but got"
            f" {key.shape[0]} and {query.shape[0]}"
        )
    pairs = query.shape[0], query.shape[2], query.shape[1], key.shape[1]
    bias, mask = (
        None if x is None else _pairs(name, jnp.asarray(x), pairs)
        for name, x in (("bias", bias), ("mask", mask))
    )
    if mask is not None and mask.dtype != bool:
        raise InvalidArgument(f"expects mask of bool, but got {mask.dtype}")
    lengths = [
        None if x is None else jnp.asarray(x)
        for x in (query_seq_lengths, key_value_seq_lengths)
    ]
    for x in lengths:
        if x is not None and (
            x.shape != pairs[:1] or not jnp.issubdtype(x.dtype, jnp.signedinteger)
        ):
            raise InvalidArgument(
                f"expects sequence lengths of int32 [{pairs[0]}], but got {x.dtype}"
                f" {list(x.shape)}"
            )
    window = local_window_size
    if isinstance(window, int):
        window = window, window
    score_mod = None
    if bias is not None:
        read = _reader(bias)

        def score_mod(score, *indices):
            return score + read(*indices)

    mask_mod = _mask_of(mask, is_causal, *lengths, window)
    found = _attend(
        query, key, value, score_mod, mask_mod, scale, "bshd", return_residual
    )
    out = found[0].reshape(*shape[:-1], value.shape[3])
    if not return_residual:
        return out
    residual = jax.lax.stop_gradient(found[1]).astype(key.dtype)
    return out, residual.reshape(shape[:-1])


def _pairs(name, array, pairs):
    """An array that broadcasts to the pairs, with 4 dimensions."""
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    if array.ndim != 4 or any(
        extent not in (1, whole) for extent, whole in zip(array.shape, pairs)
    ):
        raise InvalidArgument(
            f"expects {name} to broadcast to {list(pairs)}, but got"
            f" {list(array.shape)}"
        )
    return array
