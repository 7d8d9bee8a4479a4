"""Runs of a case, and what must hold of them."""

import os
import pathlib
import shutil
import zlib

import attn
import numpy

from backends import embed, namespace
from programs import program
from reference import Reference


def compile_kernel(kernel, target):
    """The kernel of `Case.kernel`, which attn.compile keeps."""
    variant = kernel[0]
    return attn.compile(program(*kernel), target=target, name=variant.name)


def find_tool(name):
    """A program, None if there is none: beside attn-run where ATTN_RUN names that,
    or the library, or in PATH."""
    named, library = os.environ.get("ATTN_RUN"), os.environ.get("ATTN_LIBRARY")
    if named and name == "attn-run":
        return named
    folders = []
    if named:
        folders.append(pathlib.Path(named).resolve().parent)
    if library:
        folders.append(pathlib.Path(library).resolve().parent.parent / "bin")
    for folder in folders:
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name)


class Inputs:
    """The tensors of a case: q, k, v and captures, and what they hold.

    `tensors` are (tensor, element type) in the order of the kernel's inputs, in
    the layout of the program; a scalar has no element type.
    """

    def __init__(self, backend, case):
        self.backend, self.case = backend, case
        seed = zlib.crc32(str(case).encode())
        draw = numpy.random.default_rng([case.seed, seed])
        variant = case.variant
        self.tensors, values = [], []
        for heads, length, dim in [
            (case.heads, case.queries, case.dim),
            (case.kv_heads, case.keys, case.dim),
            (case.kv_heads, case.keys, case.value_dim),
        ]:
            numbers = draw.standard_normal(self.shape(heads, length, dim), "float32")
            tensor = backend.tensor(case.amplitude * numbers, case.dtype)
            self.tensors.append((tensor, case.dtype))
            values.append(self.logical(backend.double(tensor, case.dtype)))
        captures = {}
        for capture in variant.captures:
            value = capture.make(draw, case)
            if "tensor" not in capture.type:
                self.tensors.append((value, None))
                captures[capture.name] = value
                continue
            dtype = capture.element_type(case.dtype)
            tensor = backend.tensor(value, dtype)
            self.tensors.append((tensor, dtype))
            captures[capture.name] = backend.double(tensor, dtype)
        self.values = values, namespace(captures)

    def shape(self, heads, length, *dims):
        """Of a tensor in the layout of the program."""
        middle = (heads, length)
        if self.case.variant.layout == "bshd":
            middle = (length, heads)
        return (self.case.batch, *middle, *dims)

    def logical(self, tensor):
        """(batch, heads, length, ...)"""
        return tensor.swapaxes(1, 2) if self.case.variant.layout == "bshd" else tensor

    def reference(self):
        values, captures = self.values
        with numpy.errstate(all="ignore"):
            return Reference(self.backend, self.case, *values, captures)

    def poisoned_results(self):
        """(tensor full of NaN, element type) of each result."""
        case = self.case
        shape = self.shape(case.heads, case.queries, case.value_dim)
        results = [(self.backend.full(shape, float("nan"), case.dtype), case.dtype)]
        if case.variant.lse:
            shape = self.shape(case.heads, case.queries)
            results.append((self.backend.full(shape, float("nan"), "f32"), "f32"))
        return results

    def arguments(self, tensors):
        return [
            value if dtype is None else self.backend.argument(value, dtype)
            for value, dtype in tensors
        ]

    def run(self, kernel, tensors=None, results=None, **options):
        """The results of a call, as (tensor, element type)."""
        tensors = self.tensors if tensors is None else tensors
        results = self.poisoned_results() if results is None else results
        out = tuple(self.arguments(results))
        kernel(*self.arguments(tensors), out=out, **options)
        self.backend.synchronize()
        return results

    def explain(self, results, reference):
        """What is wrong with the results, or None."""
        problems = []
        with numpy.errstate(all="ignore"):
            for name, (tensor, dtype) in zip(("o", "lse"), results):
                got = self.logical(self.backend.double(tensor, dtype))
                problems.append(reference.explain(name, got))
        return "; ".join(filter(None, problems)) or None


def _run_embedded(inputs, kernel):
    """The results of a run on tensors inside of poisoned ones, and whether what
    is around the results is untouched."""
    backend = inputs.backend
    tensors = []
    for tensor, dtype in inputs.tensors:
        if dtype is not None:
            tensor = embed(backend, tensor, dtype)[1]
        tensors.append((tensor, dtype))
    outers, results = [], []
    for tensor, dtype in inputs.poisoned_results():
        outer, inner = embed(backend, tensor, dtype)
        outers.append(outer)
        results.append((inner, dtype))
    inputs.run(kernel, tensors, results)
    untouched = True
    for outer, (inner, dtype) in zip(outers, results):
        kept = backend.copy(inner)
        inner[...] = backend.full((), float("nan"), dtype)
        around = backend.full(outer.shape, float("nan"), dtype)
        untouched &= backend.same_bits(outer, around)
        inner[...] = kept
    return results, untouched


def check(backend, case):
    """Runs a case on plain and on embedded tensors; a text if it is wrong."""
    kernel = compile_kernel(case.kernel, backend.target)
    inputs = Inputs(backend, case)
    results = inputs.run(kernel)
    problem = inputs.explain(results, inputs.reference())
    if problem:
        return problem
    embedded, untouched = _run_embedded(inputs, kernel)
    for (tensor, dtype), (other, _) in zip(results, embedded):
        if not backend.same_bits(tensor, other):
            return f"the result of {dtype} depends on what is around the tensors"
    return None if untouched else "memory around the results was written"
