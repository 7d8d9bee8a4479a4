# The types of the public names of attn.trace. Functions that are traced get values
# that record what is done with them, which are Any.

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from .. import Error

class TraceError(Error, TypeError, RuntimeError):
    filename: str | None
    lineno: int | None

class Capture:
    tensor: Any
    dtype: str
    shape: tuple[int, ...]
    padded: bool

class ScalarSlot(NamedTuple):
    kind: str
    value: bool | int | float

class Region(NamedTuple):
    arguments: str
    ops: tuple[tuple[Any, ...], ...]
    result: int
    places: tuple[Any, ...] = ()

class Variant:
    dtype: Literal["f64", "f32", "f16", "bf16"]
    dim: int
    dim_v: int | None
    heads: int | None
    kv_heads: int | None
    layout: Literal["bhsd", "bshd"]
    scale: float | str | None
    lse: bool
    shared_kv: bool
    batch: int | None
    queries: int | None
    keys: int | None
    name: str
    def __init__(
        self,
        dtype: Literal["f64", "f32", "f16", "bf16"] = "f32",
        dim: int = 64,
        dim_v: int | None = None,
        heads: int | None = None,
        kv_heads: int | None = None,
        layout: Literal["bhsd", "bshd"] = "bhsd",
        scale: float | str | None = None,
        lse: bool = False,
        shared_kv: bool = False,
        batch: int | None = None,
        queries: int | None = None,
        keys: int | None = None,
        name: str = "attention",
    ) -> None: ...

class Program:
    score: Region | None
    mask: Region | None
    captures: tuple[Capture, ...]
    scalars: tuple[ScalarSlot, ...]
    def key(self) -> tuple[Any, ...]: ...
    def reads(self, index: int) -> bool: ...
    def arguments(self, variant: Variant | None = None) -> list[Any]: ...
    def values(self, float_type: str) -> list[Any]: ...
    def to_mlir(self, variant: Variant) -> str: ...
    def located(self) -> Program: ...

class capture:
    tensor: Any
    def __init__(self, tensor: Any) -> None: ...
    def __getitem__(self, key: Any) -> Any: ...

def trace(
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    *,
    namespace: Literal["numpy", "torch"] | None = None,
    device: Any = None,
) -> Program: ...
def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]: ...
def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]: ...

where: Callable[..., Any]
minimum: Callable[..., Any]
maximum: Callable[..., Any]
clamp: Callable[..., Any]
exp: Callable[..., Any]
exp2: Callable[..., Any]
log: Callable[..., Any]
log2: Callable[..., Any]
log1p: Callable[..., Any]
sqrt: Callable[..., Any]
rsqrt: Callable[..., Any]
sin: Callable[..., Any]
cos: Callable[..., Any]
tan: Callable[..., Any]
tanh: Callable[..., Any]
sigmoid: Callable[..., Any]
silu: Callable[..., Any]
gelu: Callable[..., Any]
relu: Callable[..., Any]
softplus: Callable[..., Any]
erf: Callable[..., Any]
floor: Callable[..., Any]
ceil: Callable[..., Any]
trunc: Callable[..., Any]
isnan: Callable[..., Any]
isinf: Callable[..., Any]
logical_and: Callable[..., Any]
logical_or: Callable[..., Any]
logical_not: Callable[..., Any]
isin: Callable[..., Any]
dot: Callable[..., Any]
