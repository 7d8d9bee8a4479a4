# The types of the public names of attn. What a call takes as a tensor is one of
# NumPy, PyTorch or another library, so that it is Any.

import os
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from . import trace as trace
from .trace import TraceError as TraceError

__version__: str
__all__: list[str]

class Error(Exception): ...
class InvalidArgument(Error, ValueError): ...
class CompileError(Error): ...
class OutOfMemory(Error, MemoryError): ...
class OutOfRange(Error, IndexError): ...
class Unsupported(Error, NotImplementedError): ...
class LibraryNotFound(Error, ImportError): ...

class TensorInfo(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int | None, ...]

class Bitcast:
    array: Any
    dtype: str
    def __init__(self, array: Any, dtype: str) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...

class Prepared:
    nbytes: int

class BoundCall:
    out: Any
    def __call__(self) -> Any: ...

class Kernel:
    target: Literal["cpu", "cuda"]
    entry: str
    inputs: tuple[TensorInfo, ...]
    results: tuple[TensorInfo, ...]
    def save(self, path: str | os.PathLike[str] | None = None) -> bytes | None: ...
    @property
    def report(self) -> dict[str, Any]: ...
    def gradient(self, wrt: str | list[str] | tuple[str, ...] | None = None) -> Kernel: ...
    def tune(
        self,
        *tensors: Any,
        seconds: float = 30,
        progress: Callable[[str], object] | None = None,
    ) -> dict[str, Any]: ...
    def explain(self, *tensors: Any) -> dict[str, Any]: ...
    def result_shapes(self, *tensors: Any) -> tuple[tuple[int, ...], ...]: ...
    def prepare(self, *tensors: Any, stream: Any = None, threads: int = 0) -> Prepared: ...
    def bind(
        self,
        *tensors: Any,
        out: Any = None,
        stream: Any = None,
        threads: int = 0,
        check_lists: bool = False,
        prepared: Prepared | None = None,
    ) -> BoundCall: ...
    def __call__(
        self,
        *tensors: Any,
        out: Any = None,
        stream: Any = None,
        threads: int = 0,
        check_lists: bool = False,
        prepared: Prepared | None = None,
    ) -> Any: ...

class _MaskPicture:
    pairs: Any
    tiles: Any
    tile: tuple[int, int]
    name: str
    def summary(self) -> str: ...
    def pixels(self) -> Any: ...
    def png(self) -> bytes: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...

def compile(
    program: str | bytes | os.PathLike[str],
    entry: str | None = None,
    target: Literal["auto", "cpu", "cuda"] = "auto",
    *,
    processor: Literal["baseline", "avx2", "avx512"] | None = None,
    schedule: str | None = None,
    schedules: str | os.PathLike[str] | None = None,
    sparsity: Literal["auto", "dense", "blocks", "lists", "gathered"] = "auto",
    bounds_check: bool = False,
    deterministic: bool | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    tune: Literal["off", "auto", "full"] = "auto",
) -> Kernel: ...
def load(package: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Kernel: ...
def differentiate(
    program: str | bytes | os.PathLike[str],
    entry: str | None = None,
    wrt: str | list[str] | tuple[str, ...] | None = None,
    joint: bool = False,
) -> str: ...
def attention(
    q: Any,
    k: Any,
    v: Any,
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    *,
    scale: float | None = None,
    return_lse: bool = False,
    layout: Literal["bhsd", "bshd"] = "bhsd",
    dropout_p: float = 0.0,
    seed: Any = None,
    offset: Any = 0,
    out: Any = None,
    stream: Any = None,
    threads: int = 0,
    **options: Any,
) -> Any: ...
def bitcast(array: Any, dtype: str) -> Bitcast: ...
def clear_cache() -> None: ...
def show_mask(
    mask: Any,
    q_len: int | None = None,
    kv_len: int | None = None,
    *,
    tile: int | tuple[int, int] | None = None,
    batch: int = 0,
    head: int = 0,
    inputs: Any = None,
    layout: Literal["bhsd", "bshd"] = "bhsd",
) -> _MaskPicture: ...
def version() -> str: ...
