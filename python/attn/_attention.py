"""Attention with functions of Python, traced, compiled and run."""

import threading

from . import _tensors
from ._errors import InvalidArgument
from ._compile import compile, on_clear_cache
from .trace import Variant, trace
from .trace._program import check_head_dims, number_of_scale

_OPTIONS = ("entry", "target", *compile.__kwdefaults__)
_kernels = {}
_lock = threading.Lock()
on_clear_cache.append(_kernels.clear)


def kernel_of(program, variant, **options):
    """The kernel of a traced program, which is compiled if there is none for an
    equal one yet. `options` are those of `attn.compile`."""
    key = program.key(), variant, tuple(sorted(options.items()))
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = compile(program.to_mlir(variant), **options)
        with _lock:
            kernel = _kernels.setdefault(key, kernel)
    return kernel


def _shape(value, what):
    shape = getattr(value, "shape", None)
    if shape is None:
        shape = _tensors.view_result(value, what).shape
    if len(shape) != 4:
        raise InvalidArgument(
            f"expects {what} to have 4 dimensions, but got shape {tuple(shape)}"
        )
    return shape


def _number(name, value, q, module):
    """An integer as a tensor without dimensions, where q is."""
    if not isinstance(value, int):
        return value
    if not -(1 << 63) <= value < 1 << 64:
        raise InvalidArgument(
            f"expects {name} to be an integer of 64 bits, but got {value}"
        )
    # Of 64 bits, whose sign means nothing.
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if module == "torch":
        import torch

        return torch.tensor(value, dtype=torch.int64, device=q.device)
    import numpy

    return numpy.array(value, numpy.int64)


def variant_of(q, k, v, *, layout="bhsd", scale=None, lse=False):
    """The Variant of tensors: static heads and head dimensions, free lengths."""
    q_shape, k_shape, v_shape = _shape(q, "q"), _shape(k, "k"), _shape(v, "v")
    head = layout.find("h")
    heads, kv_heads = q_shape[head], k_shape[head]
    if kv_heads == 0 or heads % kv_heads:
        raise InvalidArgument(
            "expects the heads of q to be a multiple of those of k and v, but got"
            f" {heads} and {kv_heads}"
        )
    check_head_dims(q_shape[3], v_shape[3])
    return Variant(
        dtype=_tensors.element_type(q, "q"),
        dim=q_shape[3],
        dim_v=None if v_shape[3] == q_shape[3] else v_shape[3],
        heads=heads,
        kv_heads=kv_heads,
        layout=layout,
        scale=scale,
        lse=lse,
        shared_kv=k_shape[0] == 1 and q_shape[0] != 1,
    )


def attention(
    q,
    k,
    v,
    score_mod=None,
    mask_mod=None,
    *,
    scale=None,
    return_lse=False,
    layout="bhsd",
    dropout_p=0.0,
    seed=None,
    offset=0,
    out=None,
    stream=None,
    threads=0,
    **options,
):
    """softmax(score_mod(scale * q @ k^T)) @ v over the keys that mask_mod allows.

    q           [B, Hq, Sq, D] of NumPy, PyTorch or DLPack; f64, f32, f16 or bf16
    k, v        [B or 1, Hkv, Skv, D] and [B or 1, Hkv, Skv, Dv], Hkv divides Hq
    score_mod   score_mod(score, b, h, q_idx, kv_idx) -> score, or None
    mask_mod    mask_mod(b, h, q_idx, kv_idx) -> bool, or None for all pairs
    scale       a finite number, by default 1/sqrt(D)
    return_lse  also returns the logarithm of the sum, [B, Hq, Sq], f32 or f64
    layout      "bhsd", or "bshd" for [B, S, H, D]
    dropout_p   the chance that a probability becomes 0, after the softmax; others
                are divided by 1 - dropout_p. At least 0, and less than 1
    seed, offset  which pairs are dropped depends only on these and on
                (b, h, q_idx, kv_idx): integers, or int64 tensors without
                dimensions on the device of q. Pass another offset for each
                attention of a model
    out, stream, threads  as in Kernel.__call__
    options     those of `attn.compile`

    Each call traces the functions, so that tensors and numbers that they read may
    change. A kernel is compiled at the first call that needs it.
    Raises TraceError for functions that cannot be a program.
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise InvalidArgument(
            f"expects options of attn.compile, which are {', '.join(_OPTIONS)}, but got"
            f" {', '.join(unknown)}"
        )
    module = type(q).__module__.partition(".")[0]
    program = trace(
        score_mod, mask_mod, namespace="torch" if module == "torch" else "numpy"
    )
    if dropout_p:
        if seed is None:
            raise InvalidArgument("expects a seed where dropout_p is not 0")
        given = ("seed", seed), ("offset", offset)
        drawn = [_number(name, x, q, module) for name, x in given]
        program = program.with_dropout(dropout_p, *drawn)
    if scale is not None:
        scale = number_of_scale(scale)
    variant = variant_of(q, k, v, layout=layout, scale=scale, lse=return_lse)
    kernel = kernel_of(program, variant, **options)
    arguments = program.arguments(variant)
    return kernel(q, k, v, *arguments, out=out, stream=stream, threads=threads)
