"""The argument `kernel_options` of flex_attention."""

import json
import typing
import warnings

import torch

from ._errors import InvalidArgument, OptionConflict

# What FlexAttention's kernels take. They tune kernels of another compiler, so
# that they are accepted and mean nothing here.
_THEIRS = (
    "num_warps num_stages BLOCK_M BLOCK_N BLOCK_M1 BLOCK_N1 BLOCK_M2 BLOCK_N2"
    " PRESCALE_QK ROWS_GUARANTEED_SAFE BLOCKS_ARE_CONTIGUOUS WRITE_DQ"
    " FORCE_USE_FLEX_ATTENTION USE_TMA kpack matrix_instr_nonkdim waves_per_eu BACKEND"
).split()
_KNOWN = {p + name for name in _THEIRS for p in ("", "fwd_", "bwd_")}
_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")

# Ours, under the key "ATTN": options of attn.compile.
_OURS = (
    "bounds_check",
    "deterministic",
    "fallback",
    "opt_level",
    "processor",
    "schedule",
    "sparsity",
)
_VALUES = (bool, int, str, type(None))
# What computes what no kernel does, besides an error.
_FALLBACKS = (None, "reference")


class CompileOptions(typing.NamedTuple):
    """Options of attn.compile as a key of a cache; those of `forward` alone are
    for the forward kernel. `fallback` is none of them: what computes what no
    kernel does, "reference" or None."""

    forward: tuple = ()
    common: tuple = ()
    fallback: str = None


NONE = CompileOptions()
_warned = False


def _reject_unknown(what, given, known):
    if not isinstance(given, dict):
        raise InvalidArgument(
            f"expects {what} to be a dictionary, but got {type(given).__name__}"
        )
    unknown = sorted(map(repr, set(given) - set(known)))
    if unknown:
        raise InvalidArgument(
            f"expects {what} to have keys among {', '.join(sorted(known))}, but got"
            f" {', '.join(unknown)}"
        )


def read(kernel_options, may_fall_back=False):
    """The CompileOptions in a dictionary of kernel options, or in None."""
    global _warned
    if not kernel_options:
        return NONE
    _reject_unknown("kernel_options", kernel_options, {*_KNOWN, "ATTN"})
    backend = kernel_options.get("BACKEND")
    if backend is not None:
        if kernel_options.get("FORCE_USE_FLEX_ATTENTION"):
            raise OptionConflict(
                "expects kernel_options to have BACKEND or FORCE_USE_FLEX_ATTENTION,"
                " but got both"
            )
        if backend not in _BACKENDS:
            raise InvalidArgument(
                f"expects BACKEND to be one of {', '.join(_BACKENDS)}, but got"
                f" {backend!r}"
            )
    theirs = [key for key in kernel_options if key not in ("ATTN", "BACKEND")]
    if theirs and not _warned:
        _warned = True
        warnings.warn(
            f"kernel_options {', '.join(sorted(theirs))} tune kernels of Triton and"
            " mean nothing to attn, which chooses for itself; its own options are"
            f" under the key 'ATTN': {', '.join(_OURS)}",
            stacklevel=3,
        )
    ours = kernel_options.get("ATTN") or {}
    _reject_unknown("'ATTN' in kernel_options", ours, _OURS)
    for name, value in ours.items():
        if type(value) not in _VALUES:
            raise InvalidArgument(
                f"expects {name} in 'ATTN' to be a number or text, but got"
                f" {type(value).__name__}"
            )
    ours = dict(ours)
    # Whoever asks PyTorch for the same bits each time gets them.
    if torch.are_deterministic_algorithms_enabled():
        ours.pop("deterministic", None)
    fallback = ours.pop("fallback", None)
    if fallback not in _FALLBACKS:
        raise InvalidArgument(
            f"expects fallback to be 'reference' or None, but got {fallback!r}"
        )
    if fallback and not may_fall_back:
        raise InvalidArgument(
            "expects no fallback in a Variant: it is for calls of flex_attention"
        )
    # A schedule is one of forward kernels.
    return CompileOptions(
        forward=tuple((k, v) for k, v in sorted(ours.items()) if k == "schedule"),
        common=tuple((k, v) for k, v in sorted(ours.items()) if k != "schedule"),
        fallback=fallback,
    )


def encode(compile_options):
    """CompileOptions as lines of name=value, where a value is JSON."""
    parts = compile_options.forward + compile_options.common
    return "\n".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in parts)


def decode(text):
    """CompileOptions that `encode` has written."""
    parts = [line.split("=", 1) for line in text.splitlines()]
    return read({"ATTN": {name: json.loads(value) for name, value in parts}})
