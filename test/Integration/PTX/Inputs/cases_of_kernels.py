"""Runs a case of the tests for GPUs, a variant on tensors of given sizes, in the
interpreter, and applies the same rule to the results."""

import types
import zlib

import numpy

import grid
import launch as launches
import layouts  # noqa: F401, for the path of the next ones
import operations
from programs import Case, Variant, program
from ptx import PtxError
from reference import Reference

_TYPES = {
    "f32": "f4",
    "f16": "f2",
    "bf16": "u2",
    "i64": "i8",
    "i32": "i4",
    "i8": "i1",
    "i1": "?",
}


class Wrong(Exception):
    """What is wrong with a result."""


class _Backend:
    """What the reference needs, of NumPy."""

    x = numpy

    @staticmethod
    def arange(count):
        return numpy.arange(count)

    @staticmethod
    def repeat_heads(tensor, count):
        return tensor.repeat(count, 1)

    @staticmethod
    def round(values, dtype):
        return decode(encode(values, dtype), dtype)


def encode(values, dtype):
    if dtype == "bf16":
        return operations.to_bf16(numpy.asarray(values).astype(numpy.float32))
    return numpy.asarray(values).astype(_TYPES[dtype])


def decode(array, dtype):
    """Floats as float64; integers and booleans as they are in maths."""
    if dtype == "bf16":
        array = operations.from_bf16(array)
    if dtype == "i1":
        return array
    return array.astype("i8" if dtype.startswith("i") else "f8")


def _from_heads_first(array, layout):
    """Between the layout of a program and (batch, heads, length, ...)."""
    return array.swapaxes(1, 2) if layout == "bshd" else array


def case_of_lists(lists, dim, sizes):
    """Of blocks that come as lists, with a causal mask."""
    block = lists.block
    variant = Variant(
        lists.name,
        mask_of=lambda x, b, h, i, j, c: c.bits[h, i // block, j // block] & (j <= i),
        lse=False,
        heads=sizes[1:3],
    )
    return Case(variant, "bf16", dim, dim, *sizes)


class Setting:
    """A case with its operands, or one of lists."""

    def __init__(self, case, lists=None):
        self.case = case
        seed = zlib.crc32(str(case).encode())
        draw = numpy.random.default_rng([case.seed, seed])
        variant = case.variant
        self._operands, values = [], []
        for heads, length, dim in [
            (case.heads, case.queries, case.dim),
            (case.kv_heads, case.keys, case.dim),
            (case.kv_heads, case.keys, case.value_dim),
        ]:
            numbers = draw.standard_normal((case.batch, heads, length, dim))
            array = encode(case.amplitude * numbers, case.dtype)
            values.append(decode(array, case.dtype))
            self._operands.append(_from_heads_first(array, variant.layout))
        captures = types.SimpleNamespace()
        for capture in variant.captures:
            value = capture.make(draw, case)
            type_ = capture.type.replace("{t}", case.dtype)
            dtype = capture.element_type(case.dtype) if "tensor" in type_ else type_
            if dtype == "index":
                dtype = "i64"
            array = encode(value, dtype)
            self._operands.append(array)
            setattr(captures, capture.name, decode(array, dtype))
        if lists:
            captures.bits, *arrays = lists.draw(draw, case)
            self._operands += arrays
        self._reference = Reference(_Backend, case, *values, captures)

    def run(self, compiled, seed, parts=1, blocks=2, late=1.0):
        """Gives the kernel that has run."""
        case = self.case
        launch = launches.Launch(compiled, parts if compiled.combines else 1)
        for array in self._operands:
            if array.ndim:
                launch.add_tensor(f"operand {len(launch.operands)}", array)
            else:
                launch.add_scalar(int.from_bytes(array.tobytes(), "little"))
        shapes = [("o", case.dtype, (case.value_dim,))]
        if case.variant.lse:
            shapes.append(("lse", "f32", ()))
        regions = []
        for name, dtype, rest in shapes:
            shape = (case.batch, case.heads, case.queries)
            if case.variant.layout == "bshd":
                shape = (case.batch, case.queries, case.heads)
            launch.add_tensor(name, numpy.zeros((*shape, *rest), _TYPES[dtype]))
            region = launch.operands[-1].region
            region.writable[:], region.defined[:] = True, False
            regions.append((region, launch.operands[-1].shape))
        launch.add_tables()
        kernel = grid.run(launch, seed, blocks, late)
        for (name, dtype, _), (region, shape) in zip(shapes, regions):
            found = decode(region.values(_TYPES[dtype], shape), dtype)
            found = _from_heads_first(found, case.variant.layout)
            with numpy.errstate(all="ignore"):
                problem = self._reference.explain(name, found)
            if problem:
                raise Wrong(problem)
        return kernel


def compile_case(case, schedule=None, lists=None, options=()):
    if lists:
        text = lists.program(case.heads, case.kv_heads, case.dim)
    else:
        text = program(case.variant, case.dtype, case.dim, case.value_dim)
    return launches.Program(text, schedule, options)


FAILURES = (Wrong, PtxError)
