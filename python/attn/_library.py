"""Finds and opens the shared library, libattn.so.

The package has no compiled part of its own. It takes, in this order:

* the file that the variable ATTN_LIBRARY names, and no other if it is set;
* that in the package itself, as a wheel has it;
* that of an installation, with the package in PREFIX/python/attn and the
  library in PREFIX/lib or PREFIX/lib64;
* that of a build in the sources of which the package is: the newest of
  build/{dev,release,portable}/lib.
"""

import ctypes
import os
import pathlib

from . import _assembler
from ._errors import LibraryNotFound

# The oldest version that has all functions that are called here. Later ones of
# the same major version have them, too.
MINIMUM_VERSION = (0, 1, 0)

_NAME = "libattn.so"
_PRESETS = ("dev", "release", "portable")


def _mtime(path):
    try:
        return path.stat().st_mtime
    except OSError:
        return 0


def candidates(package_dir, environ):
    """The paths to try, the first that exists being the one to open."""
    named = environ.get("ATTN_LIBRARY")
    if named:
        return [pathlib.Path(named)]
    package = pathlib.Path(package_dir).resolve()
    root = package.parent.parent
    installed = [package / _NAME]
    installed += [root / lib / _NAME for lib in ("lib", "lib64")]
    built = [root / "build" / preset / "lib" / _NAME for preset in _PRESETS]
    return installed + sorted(built, key=_mtime, reverse=True)


def find(package_dir=None, environ=None):
    """The path of the library."""
    environ = os.environ if environ is None else environ
    tried = candidates(package_dir or pathlib.Path(__file__).parent, environ)
    for path in tried:
        if path.is_file():
            return path
    source = " (from ATTN_LIBRARY)" if environ.get("ATTN_LIBRARY") else ""
    raise LibraryNotFound(
        f"cannot find {_NAME}; set ATTN_LIBRARY to its path. Tried:"
        + "".join(f"\n  {path}{source}" for path in tried)
    )


def check_version(number, path):
    """Raises unless a library of this attnVersion has what is needed."""
    version = (number // 10000, number // 100 % 100, number % 100)
    if version[0] == MINIMUM_VERSION[0] and version >= MINIMUM_VERSION:
        return
    expected = ".".join(map(str, MINIMUM_VERSION))
    got = ".".join(map(str, version))
    raise LibraryNotFound(
        f"expects version {expected} or a later one of"
        f" {MINIMUM_VERSION[0]}.x, but {path} is {got}: install the library and this"
        " package of one version, or set ATTN_LIBRARY to such a library"
    )


def find_torch_operators(environ=None):
    """The path of the operators for PyTorch in C++ (lib/Torch), or None: the file
    that the variable ATTN_TORCH_LIBRARY names, none if that is "0"; or else that
    next to the library."""
    named = (os.environ if environ is None else environ).get("ATTN_TORCH_LIBRARY")
    if named:
        return None if named == "0" else pathlib.Path(named)
    path = find(environ=environ).parent / "libattn_torch.so"
    return path if path.is_file() else None


def open_torch_operators(path):
    """Takes them, which PyTorch has loaded from a path."""
    global _torch_operators
    library = ctypes.CDLL(str(path))
    for name in "attnTorchShare", "attnTorchForget":
        getattr(library, name).argtypes = [ctypes.c_int64]
        getattr(library, name).restype = None
    library.attnTorchClear.restype = None
    library.attnTorchOpen.restype = None
    # The library of this package, and none that it finds itself.
    library.attnTorchOpen(os.fsencode(find()))
    _torch_operators = library


_torch_operators = None


def torch_operators():
    """The functions of the operators in C++, or None where they are not loaded."""
    return _torch_operators


def open_library():
    """The library, with the GIL released during its functions."""
    path = find()
    _assembler.provide()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryNotFound(f"cannot open {path}: {error}") from None
    try:
        version = library.attnVersion
    except AttributeError:
        raise LibraryNotFound(f"{path} is another library of this name") from None
    version.restype = ctypes.c_uint32
    check_version(version(), path)
    return library, path
