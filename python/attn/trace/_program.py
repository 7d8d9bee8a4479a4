"""Programs: what a trace makes, and their text in MLIR."""

import dataclasses
import math
import typing

from .._errors import InvalidArgument
from ._emit import MOST, Emitter, Value
from ._recorder import Capture
from ._region import Region, reachable, write

_SCALAR_TYPES = {"B": "i1", "I": "index", "P": "index"}
_LAYOUTS = ("bhsd", "bshd")
_FLOATS = ("f64", "f32", "f16", "bf16")
# The greatest finite numbers.
_MOST = {"f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


def number_of_scale(scale, float_type="f64"):
    """A scale as a float, of a type."""
    try:
        if math.isfinite(scale) and abs(float(scale)) <= _MOST[float_type]:
            return float(scale)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    within = "" if float_type == "f64" else f" in {float_type}"
    raise InvalidArgument(
        f"expects scale to be a finite number{within}, or None for 1/sqrt(dim), but"
        f" got {scale!r}"
    )


def check_head_dims(dim, dim_v):
    """Raises InvalidArgument for head dimensions that no program has."""
    if dim == 0 or dim_v == 0:
        raise InvalidArgument(
            f"expects head dimensions of 1 or more, but got {dim} and {dim_v}"
        )


@dataclasses.dataclass(frozen=True)
class Variant:
    """What of the tensors of a call decides its program.

    dtype            element type of q, k and v: "f64", "f32", "f16" or "bf16"
    dim, dim_v       head dimensions of q and k, and of v (None: the same)
    heads, kv_heads  numbers of heads, or None for any
    layout           order of dimensions in shapes: "bhsd" or "bshd"
    scale            a number; None for 1/sqrt(dim); or "runtime" for an f32
                     scalar that is the last input (f64 for f64)
    lse              whether there is a second result, [B, H, S] or [B, S, H]
    shared_kv        whether k and v have a batch of 1, for all batches of q
    batch, queries, keys  extents, or None for any
    name             that of the function
    """

    dtype: str = "f32"
    dim: int = 64
    dim_v: typing.Optional[int] = None
    heads: typing.Optional[int] = None
    kv_heads: typing.Optional[int] = None
    layout: str = "bhsd"
    scale: typing.Union[None, float, str] = None
    lse: bool = False
    shared_kv: bool = False
    batch: typing.Optional[int] = None
    queries: typing.Optional[int] = None
    keys: typing.Optional[int] = None
    name: str = "attention"

    def __post_init__(self):
        if self.dtype not in _FLOATS:
            raise InvalidArgument(
                f"expects a dtype of {', '.join(_FLOATS)}, but got {self.dtype!r}"
            )
        if self.layout not in _LAYOUTS:
            raise InvalidArgument(
                f"expects a layout of {', '.join(_LAYOUTS)}, but got {self.layout!r}"
            )
        is_runtime = isinstance(self.scale, str) and self.scale == "runtime"
        if self.scale is not None and not is_runtime:
            number_of_scale(self.scale, self.float_type)

    @property
    def float_type(self):
        """The type of scores, softmax and lse."""
        return "f64" if self.dtype == "f64" else "f32"

    def _type(self, batch, heads, length, dim):
        by_letter = {"b": batch, "h": heads, "s": length, "d": dim}
        extents = [by_letter[x] for x in self.layout if not (x == "d" and dim is None)]
        text = "x".join("?" if n is None else str(n) for n in extents)
        return f"tensor<{text}x{self.float_type if dim is None else self.dtype}>"


class Program:
    """Score and mask functions as operations, and the tensors and numbers that
    they read.

    score, mask  a Region, or None for scores as they are, and for all pairs
    captures     tuple of Capture, in the order of the inputs after q, k and v
    scalars      tuple of ScalarSlot, in the order of the inputs after those
    """

    # Traces again, with the places of operations.
    relocate = None
    # The probability of dropout, whose seed and offset are the last captures.
    dropout = None
    # What PyTorch has computed of captured tensors while functions were traced, and
    # whether two of the captures that these read were the same memory.
    computed, is_aliased = (), False
    # The captures, by their numbers, whose gradients would be dropped.
    detached = frozenset()

    def __init__(self, score, mask, captures, scalars, key=None):
        self.score = score
        self.mask = mask
        self.captures = tuple(captures)
        self.scalars = tuple(scalars)
        self._key = key

    def key(self):
        """What decides the program, to look kernels up by: equal for two
        programs that differ in the values of captures and scalars alone."""
        if self._key is None:
            self._key = (
                self.score and self.score[:3],
                self.mask and self.mask[:3],
                tuple([capture.spec() for capture in self.captures]),
                tuple([slot.kind for slot in self.scalars]),
                self.dropout,
            )
        return self._key

    def with_dropout(self, p, seed, offset):
        """The same with dropout of probabilities, by a seed and an offset that are
        tensors of int64 without dimensions."""
        try:
            is_known = bool(0 <= p < 1)
        except TypeError:
            is_known = False
        if not is_known:
            raise InvalidArgument(
                f"expects dropout_p to be at least 0 and less than 1, but got {p!r}"
            )
        drawn = [Capture(x, "i64", (), False) for x in (seed, offset)]
        captures = *self.captures, *drawn
        program = Program(self.score, self.mask, captures, self.scalars)
        program.dropout, program.detached = float(p), self.detached
        if self.relocate is not None:
            program.relocate = lambda: self.relocate().with_dropout(p, seed, offset)
        return program

    def reads(self, index):
        """Whether a function asks for an index: 0 is that of the batch, and 1, 2
        and 3 are those of the head, the query and the key."""
        return any(
            region is not None and index - 4 + len(region.arguments) in reachable(region)
            for region in (self.score, self.mask)
        )

    def masked_captures(self):
        """The numbers of the captures that the mask reads."""
        ops = self.mask.ops if self.mask else ()
        return tuple(sorted({op[1] for op in ops if op[0] == "load"}))

    def scored_captures(self):
        """The numbers of the captures that the score depends on."""
        if self.score is None:
            return ()
        used, first = reachable(self.score), len(self.score.arguments)
        ops = [op for n, op in enumerate(self.score.ops) if first + n in used]
        return tuple(sorted({op[1] for op in ops if op[0] == "load"}))

    def arguments(self, variant=None):
        """What a kernel takes after q, k and v: captures, then scalars. Not the
        scale, where that is an input."""
        return self.values("f32" if variant is None else variant.float_type)

    def values(self, float_type):
        """The `arguments` for scores of a type, "f32" or "f64"."""
        most = _MOST[float_type]
        values = [
            c.tensor if c.is_as_given else c.passed(c.tensor) for c in self.captures
        ]
        for kind, value in self.scalars:
            if kind == "F" and abs(value) > most:
                value = math.copysign(math.inf, value)
            values.append(value)
        return values

    def to_mlir(self, variant):
        """The text of a program with one `attn.attention`. Its inputs are q, k,
        v, `t0`, ... for the captures, `x0`, ... for the scalars, and `scale`;
        its results are `o` and `lse`."""
        program = self.located()
        names = [f"%t{n}" for n in range(len(self.captures))]
        types = [capture.type for capture in self.captures]
        names += [f"%x{n}" for n in range(len(self.scalars))]
        types += [_SCALAR_TYPES.get(s.kind, variant.float_type) for s in self.scalars]
        if variant.scale == "runtime":
            names.append("%scale")
            types.append(variant.float_type)
        return _text(program, variant, names, types)

    def located(self):
        """The same program with the places of its operations, if tracing again
        gives the same."""
        if self.relocate is None:
            return self
        try:
            located = self.relocate()
        except Exception:
            # Not the same function as the first time: only the places are lost.
            return self
        return located if located.key() == self.key() else self

    def __str__(self):
        return self.to_mlir(Variant())


# ===----------------------------------------------------------------------===
# Text
# ===----------------------------------------------------------------------===


def _region(keyword, region, program, variant, names, types):
    """`score(...) { ... }` or `mask(...) { ... }`."""
    e = Emitter(variant.float_type)
    letters = ["%s", "%b", "%h", "%i", "%j"][-len(region.arguments) :]
    values = [
        Value(name, e.float_type) if kind == "F" else Value(name, "index", 0, MOST)
        for name, kind in zip(letters, region.arguments)
    ]
    if keyword == "score" and variant.scale == "runtime":
        scale = Value("%scale", e.float_type)
        values[0] = e.op("arith.mulf", values[0], scale)
    result = write(e, region, values, program, names, types)
    result = e.to_kind(result, "F" if keyword == "score" else "B")
    results = [result]
    if keyword == "score" and program.dropout is not None:
        first = len(program.captures) - 2
        seed, offset = (
            e.load(names[n], program.captures[n], ()).name for n in (first, first + 1)
        )
        results.append(
            e.emit(
                f"attn.dropout {program.dropout:.17e} seed {seed} offset {offset} at"
                f" {', '.join(letters[1:])} : {result.type}",
                result.type,
            )
        )
    yielded = [", ".join(x) for x in zip(*[(x.name, x.type) for x in results])]
    lines = [*e.lines, f"attn.yield {' : '.join(yielded)}"]
    body = "".join(f"        {line}\n" for line in lines)
    return f"\n      {keyword}({', '.join([*letters, *names])}) {{\n{body}      }}"


def _text(program, variant, names, types):
    q = variant._type(variant.batch, variant.heads, variant.queries, variant.dim)
    dim_v = variant.dim if variant.dim_v is None else variant.dim_v
    batch = 1 if variant.shared_kv else variant.batch
    kv_heads = variant.kv_heads
    k = variant._type(batch, kv_heads, variant.keys, variant.dim)
    v = variant._type(batch, kv_heads, variant.keys, dim_v)
    o = variant._type(variant.batch, variant.heads, variant.queries, dim_v)
    lse = variant._type(variant.batch, variant.heads, variant.queries, None)
    inputs = [f"%q: {q}", f"%k: {k}", f"%v: {v}"]
    inputs += [f"{name}: {type}" for name, type in zip(names, types)]
    results = [f'{o} {{attn.name = "o"}}']
    lines, dynamic = [], []
    extents = {"b": variant.batch, "h": variant.heads, "s": variant.queries}
    for dim, letter in enumerate(variant.layout):
        if extents.get(letter, 0) is None:
            lines.append(f"  %c{dim} = arith.constant {dim} : index")
            lines.append(f"  %n{dim} = tensor.dim %q, %c{dim} : {q}")
            dynamic.append(f"%n{dim}")
    lines.append(f"  %oinit = tensor.empty({', '.join(dynamic)}) : {o}")
    outs, out_types = ["%oinit"], [o]
    if variant.lse:
        results.append(f'{lse} {{attn.name = "lse"}}')
        lines.append(f"  %linit = tensor.empty({', '.join(dynamic)}) : {lse}")
        outs.append("%linit")
        out_types.append(lse)
    values = ["%o", "%lse"][: len(outs)]
    text = [f"  {', '.join(values)} = attn.attention"]
    score = program.score
    if variant.scale == "runtime" or program.dropout is not None:
        score = score or Region("FIIII", (), 0)
    if variant.scale == "runtime":
        text.append(" scale 1.000000e+00")
    elif variant.scale is not None:
        text.append(f" scale {float(variant.scale):.17e}")
    if variant.layout != "bhsd":
        text.append(f" layout({variant.layout})")
    text.append(f"\n      ins(%q, %k, %v : {q}, {k}, {v})")
    if names:
        text.append(f"\n      captures({', '.join(names)} : {', '.join(types)})")
    text.append(f"\n      outs({', '.join(outs)} : {', '.join(out_types)})")
    for keyword, region in ("score", score), ("mask", program.mask):
        if region is not None:
            text.append(_region(keyword, region, program, variant, names, types))
    lines.append("".join(text))
    lines.append(f"  return {', '.join(values)} : {', '.join(out_types)}")
    head = f"func.func @{variant.name}({', '.join(inputs)})\n    -> ({', '.join(results)}) {{"
    return "\n".join([head, *lines, "}"]) + "\n"
