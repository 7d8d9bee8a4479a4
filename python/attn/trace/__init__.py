"""Score and mask functions written in Python as programs.

    program = attn.trace.trace(score_mod, mask_mod)
    program.key()                         # equal for equal programs
    program.to_mlir(attn.trace.Variant(dtype="bf16", dim=128))
    kernel(q, k, v, *program.arguments())

`score_mod(score, b, h, q_idx, kv_idx)` returns the new score of a pair, and
`mask_mod(b, h, q_idx, kv_idx)` whether a query sees a key. They are called once,
with values that record what is done with them. docs/python.md tells what they
may do.
"""

import contextlib
import functools
import os
import sys

from .. import _environ
from . import _arrays, _library  # noqa: F401 (they define functions)
from . import _functions as calls
from ._errors import ArityError, ResultError, TraceError, from_jax
from ._listing import write_log
from ._ops import NAMES
from ._program import Program, Region, Variant
from ._proxy import Array, Scalar, Table, Traced
from ._rebind import rebind
from ._recorder import MASK_KINDS, SCORE_KINDS, Capture, Recorder, ScalarSlot

__all__ = [
    "Capture",
    "Program",
    "Region",
    "ScalarSlot",
    "TraceError",
    "Variant",
    "and_masks",
    "capture",
    "or_masks",
    "trace",
]

# The trace's own spelling of functions, one argument of which is traced at least.
_HELPERS = (
    "where minimum maximum clamp exp exp2 log log2 log1p sqrt rsqrt sin cos tan tanh"
    " sigmoid silu gelu relu softplus erf floor ceil trunc isnan isinf logical_and"
    " logical_or logical_not isin dot"
).split()
__all__ += _HELPERS


def trace(score_mod=None, mask_mod=None, *, namespace=None, device=None):
    """The Program of a score and a mask function, either of which may be None.

    namespace  "numpy" or "torch": whose types `.dtype` of traced values are; by
               default PyTorch's where it is loaded
    device     what `.device` of traced values is

    Raises TraceError for what no program can do, with the line of the function.
    """
    if namespace is None:
        namespace = "torch" if "torch" in sys.modules else "numpy"
    given = score_mod, mask_mod, namespace, device
    program = trace_as(*given)
    program.relocate = functools.partial(trace_as, *given, True)
    log_program(program)
    return program


def log_program(program):
    """Writes the program where ATTN_LOG asks for that."""
    if b"ATTN_LOG" in _environ.SET and "trace" in os.environ.get("ATTN_LOG", "").split(","):
        write_log(program)


def trace_as(
    score_mod, mask_mod, namespace, device, located=False, symbols_of=lambda _: None
):
    """The same, of which nothing is written; with the places of operations if it is
    to be `located`. `symbols_of` gives what Recorder.symbol is to be."""
    recorder = Recorder(SCORE_KINDS, None, namespace, device, located)
    recorder.symbol = symbols_of(recorder)
    score = mask = None
    with _mode(recorder) as mode:
        if score_mod is not None:
            score = _run(score_mod, recorder, "score_mod")
        if mask_mod is not None:
            other = Recorder(MASK_KINDS, recorder, namespace, device, located)
            other.wants_gradient = recorder.wants_gradient
            other.symbol = symbols_of(other)
            if mode is not None:
                mode.recorder = other
            mask = _run(mask_mod, other, "mask_mod")
    program = Program(score, mask, recorder.captures, recorder.scalars)
    program.computed, program.is_aliased = recorder.computed, recorder.is_aliased
    program.detached = frozenset(recorder.detached)
    return program


def _mode(recorder):
    """The context that functions are traced in: where PyTorch is, it has the
    recorder of the current one."""
    global _make_mode
    if _make_mode is None:
        if "torch" not in sys.modules:
            return contextlib.nullcontext()
        from ._torch_mode import CaptureMode as _make_mode
    return _make_mode(recorder)


_make_mode = None


def _run(function, recorder, name):
    """The region that a function records, or None if it says nothing."""
    kinds = SCORE_KINDS if name == "score_mod" else MASK_KINDS
    values = [Scalar(recorder, n) for n in range(len(kinds))]
    traced = rebind(function, recorder)
    try:
        result = traced(*values)
    except IndexError as error:
        raise from_jax(error) or error
    except TypeError as error:
        # Of the call itself, and not of what the function does.
        if isinstance(error, TraceError) or error.__traceback__.tb_next is not None:
            raise from_jax(error) or error
        names = ("score, " if name == "score_mod" else "") + "b, h, q_idx, kv_idx"
        text = f"expects {name}({names}): {error}"
        raise at_definition(function, text, ArityError) from error
    if recorder.refused is not None:
        raise recorder.refused
    number = _result(function, result, recorder, name)
    if name == "score_mod" and number == 0:
        return None
    if name == "mask_mod" and recorder.constant_of(number) is True:
        return None
    return Region(kinds, tuple(recorder.ops), number, tuple(recorder.places))


def _result(function, result, recorder, name):
    if type(result) is not Scalar or result._recorder is not recorder:
        if isinstance(result, (bool, int, float)):
            return recorder.constant(result)
        if getattr(result, "shape", None) == ():
            result = calls.operand(recorder, result)
    if not isinstance(result, Scalar):
        what = (
            f"an array of shape {result.shape}"
            if isinstance(result, Array)
            else ("None" if result is None else type(result).__name__)
        )
        raise at_definition(
            function,
            f"expects {name} to return one value for a pair, but got {what}",
            ResultError,
        )
    kind = recorder.kinds[result._number]
    if name == "mask_mod" and kind != "B":
        raise at_definition(
            function,
            f"expects mask_mod to return a bool, but got {NAMES[kind]}:"
            " compare it, or cast it by .bool()",
            ResultError,
        )
    if name == "score_mod" and kind == "B":
        raise at_definition(
            function,
            "expects score_mod to return a score, but got a bool: pass the function"
            " as mask_mod",
            ResultError,
        )
    return result._number


def at_definition(function, message, kind=TraceError):
    """An error at the definition of a function."""
    while hasattr(function, "func"):  # a partial
        function = function.func
    code = getattr(function, "__code__", None)
    code = code or getattr(getattr(type(function), "__call__", None), "__code__", None)
    if code is None:
        return kind(message, frame=False)
    error = kind(f"{code.co_filename}:{code.co_firstlineno}: {message}", frame=False)
    error.filename, error.lineno = code.co_filename, code.co_firstlineno
    return error


# ===----------------------------------------------------------------------===
# For functions
# ===----------------------------------------------------------------------===


def and_masks(*mask_mods):
    """The mask of the pairs that all of these functions allow."""

    def mask_mod(b, h, q_idx, kv_idx):
        result = True
        for mask in mask_mods:
            result = mask(b, h, q_idx, kv_idx) & result
        return result

    return mask_mod


def or_masks(*mask_mods):
    """The mask of the pairs that any of these functions allows."""

    def mask_mod(b, h, q_idx, kv_idx):
        result = False
        for mask in mask_mods:
            result = mask(b, h, q_idx, kv_idx) | result
        return result

    return mask_mod


class capture:
    """A tensor that traced functions read, for those that the trace does not find
    by itself, such as an array of a module: `capture(tensor)[h, q_idx]`."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __getitem__(self, key):
        traced = next(
            (x for x in calls.flatten(key) if isinstance(x, Traced)), None
        )
        if traced is None:
            return self.tensor[key]
        return Table(traced._recorder, self.tensor)[key]


def _helper(name):
    def function(*args, **kwargs):
        traced = next(
            (x for x in (*args, *kwargs.values()) if isinstance(x, Traced)), None
        )
        if traced is None:
            raise TraceError(
                f"expects a traced value, but '{name}' got none: call it with one that"
                " a score or mask function gets, and a function of math or NumPy with"
                " numbers alone"
            )
        return calls.call(traced._recorder, name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of traced values."
    return function


for _name in _HELPERS:
    globals()[_name] = _helper(_name)
