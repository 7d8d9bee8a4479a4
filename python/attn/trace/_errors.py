"""What goes wrong while a function is traced, and where in the user's code."""

import dis
import functools
import linecache
import re
import sys

from .._errors import Error

# Frames of these packages, and of Python's own, are never the user's.
PACKAGES = ("attn", "numpy", "torch", "jax")
_LIBRARIES = {*PACKAGES, *sys.stdlib_module_names}
_internal = {}


class TraceError(Error, TypeError, RuntimeError):
    """A score or mask function that cannot become a program. It is a RuntimeError as
    what PyTorch raises for most of these.

    The text begins with the file and the line of the user's code, which are
    also `filename` and `lineno` (None if there is no such frame)."""

    __module__ = "attn"

    def __init__(self, message, frame=None):
        frame = user_frame() if frame is None else frame
        self.filename = self.lineno = None
        if frame:
            self.filename, self.lineno = frame.f_code.co_filename, frame.f_lineno
            message = f"{self.filename}:{self.lineno}: {message}"
        super().__init__(message)


# These are as well what FlexAttention raises.


class ArityError(TraceError, AssertionError):
    """A function that takes other arguments than those it is called with."""

    __module__ = "attn.trace"


class ResultError(TraceError, AssertionError, ValueError):
    """A function that returns something else than a score or a bool."""

    __module__ = "attn.trace"


@functools.lru_cache(maxsize=4096)
def is_library(module):
    """Whether a module, by its name, is none that a user wrote."""
    return module.partition(".")[0] in _LIBRARIES


def user_frame(frame=None):
    """The innermost frame that is not of a library."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        internal = _internal.get(code)
        if internal is None:
            internal = is_library(frame.f_globals.get("__name__") or "")
            _internal[code] = internal
        if not internal:
            return frame
        frame = frame.f_back
    return None


def _line(frame):
    if frame is None:
        return ""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno)


_HINTS = (
    (r"\b(min|max)\(", "use attn.trace.minimum or maximum instead of min and max"),
    (r"\bnot\b", "use ~ instead of not"),
    (r"\b(and|or)\b", "use & and | instead of and and or"),
    (r"[<>]=?[^<>()&|]+[<>]=?", "write a < b < c as (a < b) & (b < c)"),
    (r"\bin\b(?!.*:\s*$)", "use (table == x).any() instead of in"),
)


def from_jax(error):
    """An error of JAX about a traced value, as one of the trace; or None."""
    if isinstance(error, Error) or not re.search(r"<traced |attn\.trace\.", str(error)):
        return None
    # JAX leaves its frames out of tracebacks at times, and says so.
    is_of_jax = any("JAX" in note for note in getattr(error, "__notes__", ()))
    found, step = None, error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__") or ""
        is_of_jax |= module.partition(".")[0] == "jax"
        if not is_library(module):
            found = step
        step = step.tb_next
    if found is None or not is_of_jax:
        return None
    code = found.tb_frame.f_code
    made = TraceError(
        f"{code.co_filename}:{found.tb_lineno}: JAX takes no traced value here: wrap an"
        " array that the trace has not found in attn.trace.capture(array), and import"
        " functions of JAX outside of the function",
        frame=False,
    )
    made.filename, made.lineno = code.co_filename, found.tb_lineno
    made.__cause__ = error
    return made


def branch_error():
    """For a traced value where Python wants to know whether it is true."""
    frame = user_frame()
    line = _line(frame)
    hint = "use attn.trace.where(condition, a, b), or & | ~"
    for pattern, text in _HINTS:
        if re.search(pattern, line):
            hint = text
            break
    return TraceError(
        "a branch depends on a traced value, which has a different value for"
        f" each pair of a query and a key; {hint}",
        frame,
    )


def array_error():
    """For a traced value that NumPy makes an array of: an index or an argument."""
    frame = user_frame()
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame else ""
    # BINARY_SUBSCR, or BINARY_OP where Python has no other for it.
    is_index = name.startswith(("BINARY_", "STORE_SUBSCR"))
    return number_error("index" if is_index else "array of NumPy")


def number_error(wanted):
    """For a traced value where Python wants a number."""
    frame = user_frame()
    hint = "keep it as it is, or cast by .int() or .float()"
    if re.search(r"\bmath\.\w+\(", _line(frame)):
        hint = "functions of `math` take numbers: use those of NumPy, PyTorch or attn.trace"
    elif re.search(r"\brange\(", _line(frame)):
        hint = "a loop needs bounds that are the same for all pairs"
    elif wanted == "array of NumPy":
        hint = (
            "use functions of NumPy or attn.trace on it, .astype(...) for a cast, and"
            " numpy.stack(...) for a list of several"
        )
    elif "[" in _line(frame) and wanted == "index":
        hint = "wrap a table that the function reads in attn.trace.capture(table)"
    return TraceError(
        f"a traced value is no {wanted}: it has a different one for each pair of"
        f" a query and a key; {hint}",
        frame,
    )
