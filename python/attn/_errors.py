"""Exceptions, one class for each status of the C interface."""


class Error(Exception):
    """The base of all errors; the text is that of the diagnostics."""


# Each class is also the built-in one that Python programs expect there.


class InvalidArgument(Error, ValueError):
    """An argument is wrong, or tensors do not fit the kernel."""


class CompileError(Error):
    """The program does not compile."""


class OutOfMemory(Error, MemoryError):
    """Memory for intermediate results could not be allocated."""


class OutOfRange(Error, IndexError):
    """A read of a capture was outside of its tensor, in a kernel that checks
    bounds; or lists of blocks or keys are wrong."""


class Unsupported(Error, NotImplementedError):
    """The library, this machine or the kernel cannot do it."""


class LibraryNotFound(Error, ImportError):
    """The shared library is missing, or is of another version."""


# Under the name that users have for them.
for _kind in (Error, *Error.__subclasses__()):
    _kind.__module__ = "attn"


# The codes of attnStatus in attn-c/Attn.h.
_BY_STATUS = {
    1: InvalidArgument,
    2: CompileError,
    3: OutOfMemory,
    4: OutOfRange,
    5: Unsupported,
}


def from_status(status, message):
    """The exception for a status, which a newer library may have added."""
    return _BY_STATUS.get(status, Error)(message)
