"""attn: compiles attention programs and runs them on tensors.

    import attn
    kernel = attn.compile("docs/examples/causal.mlir")
    o = kernel(q, k, v)

Tensors are those of NumPy, PyTorch, or any library that exports DLPack or the
buffer protocol. docs/python.md is the manual.
"""

from ._compile import clear_cache, compile, differentiate, load
from ._errors import (
    CompileError,
    Error,
    InvalidArgument,
    LibraryNotFound,
    OutOfMemory,
    OutOfRange,
    Unsupported,
)
from ._kernel import BoundCall, Kernel, TensorInfo
from ._native import version
from ._prepared import Prepared
from ._tensors import Bitcast, bitcast

__version__ = "0.1.0"

__all__ = [
    "Bitcast",
    "BoundCall",
    "CompileError",
    "Error",
    "InvalidArgument",
    "Kernel",
    "LibraryNotFound",
    "OutOfMemory",
    "OutOfRange",
    "Prepared",
    "TensorInfo",
    "TraceError",
    "Unsupported",
    "attention",
    "bitcast",
    "clear_cache",
    "compile",
    "differentiate",
    "load",
    "show_mask",
    "trace",
    "version",
]

# What needs the trace, which is not loaded before it is asked for.
_TRACED = {
    "attention": "_attention",
    "show_mask": "_show",
    "trace": "trace",
    "TraceError": "trace",
}


def __getattr__(name):
    if name not in _TRACED:
        raise AttributeError(f"module 'attn' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f".{_TRACED[name]}", __name__)
    return module if name == "trace" else getattr(module, name)
