"""Lists what is available to run kernels: python -m attn.info"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping

from . import _assembler, _library, _native
from ._errors import Error


def _version_of(program):
    try:
        text = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    found = [word for word in text.replace(",", " ").split() if word.startswith("V")]
    return found[-1][1:] if found else "of an unknown version"


def _package(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def collect(environ: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """(what, what there is of it) in order, with the reason for what is missing."""
    environ = os.environ if environ is None else environ
    from . import __version__

    yield "attn", f"{__version__} in {os.path.dirname(__file__)}"
    yield "python", f"{platform.python_version()} in {sys.executable}"
    # Before the library is opened, which is told of the same.
    path, place = _assembler.find(environ, sys.path)
    try:
        library = _native.library()
        yield "library", f"{_native.version()} in {_library.find()}"
        for name, device in _native._DEVICES.items():
            error = ctypes.c_void_p()
            try:
                _native.check(
                    library.attnDeviceCheck(device, ctypes.byref(error)), error
                )
                yield name, "available"
            except Error as reason:
                yield name, f"not available: {reason}"
    except Error as reason:
        yield "library", f"not available: {reason}"
    if path is None:
        yield "assembler", f"none: {place}"
    else:
        yield "assembler", f"ptxas {_version_of(path)} in {path} (from {place})"
    cache = environ.get("ATTN_CACHE_DIR")
    if not cache:
        base = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        cache = os.path.join(base, "attn")
    yield "cache", "none: ATTN_CACHE_DIR is off" if cache == "off" else cache
    for name in ("torch", "numpy", "triton"):
        yield name, _package(name)


def main() -> None:
    for what, text in collect():
        print(f"{what:10} {text}")


if __name__ == "__main__":
    main()
