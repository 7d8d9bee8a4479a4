"""attn: compiles attention programs and runs them on tensors.

    import attn
    kernel = attn.compile("docs/examples/causal.mlir")
    o = kernel(q, k, v)

Tensors are those of NumPy or PyTorch, or whatever exports DLPack or a buffer.
docs/python.md tells the rest.
"""

from ._errors import (
    CompileError,
    Error,
    InvalidArgument,
    LibraryNotFound,
    OutOfMemory,
    OutOfRange,
    Unsupported,
)
from ._kernel import BoundCall, Kernel, TensorInfo, clear_cache, compile
from ._native import version
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
    "TensorInfo",
    "Unsupported",
    "bitcast",
    "clear_cache",
    "compile",
    "version",
]
