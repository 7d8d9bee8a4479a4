"""Kernels of traced programs, each compiled when it is first needed, and their
calls on tensors of PyTorch."""

import copy
import ctypes
import struct
import threading
import weakref

import torch

from .. import _native
from .._dtypes import CODES, LONG_NAMES, pack_scalar
from .._errors import Unsupported
from .._kernel import compile as compile_program
from .._kernel import on_clear_cache
from .._prepared import Prepared
from ..trace import Variant
from . import _compat, layout, options

NAMES = {getattr(torch, long): short for long, short in LONG_NAMES.items()}
_CODES = {dtype: CODES[name] for dtype, name in NAMES.items()}
# Numbers in 8 bytes, for `struct`.
_FORMATS = {"i1": "?7x", "i32": "i4x", "i64": "q", "f32": "f4x", "f64": "d"}
# Of so many shapes and strides of calls a kernel knows; then all are forgotten.
_MOST_PLACES = 512
_all_shared = weakref.WeakSet()


class Shared:
    """What kernels have prepared for calls with one mask."""

    def __init__(self):
        self._lock = threading.Lock()
        self._found = {}
        _all_shared.add(self)

    def clear(self):
        """Forgets it; calls prepare again."""
        with self._lock:
            self._found.clear()

    def find(self, at, prepare):
        """What there is for a kind of call, which the first one prepares."""
        found = self._found.get(at)
        if found is None:
            with self._lock:
                found = self._found.get(at)
                if found is None:
                    found = self._found[at] = prepare()
        return found


class _Loaded:
    """A kernel, and how to call it."""

    def __init__(self, kernel):
        self.kernel = kernel
        self._is_cuda = kernel.target == "cuda"
        # Inputs that are numbers, and what puts them in memory: 8 bytes for each.
        self._numbers = [
            place
            for place, info in enumerate(kernel.inputs)
            if not info.shape and not info.name.startswith("t")
        ]
        self._pack = struct.Struct(
            "=" + "".join(_FORMATS[kernel.inputs[n].dtype] for n in self._numbers)
        ).pack
        self._places = {}

    def __call__(self, inputs, results, shared=None):
        """Runs it on tensors and numbers. That they fit is known. `shared` has
        what calls with the same mask have prepared."""
        at, read, kept, is_cuda = [], [], [], self._is_cuda
        for value in inputs:
            if not isinstance(value, torch.Tensor):
                read.append(0)
                continue
            if value.is_neg() or value.is_cuda is not is_cuda:
                value = value.resolve_neg().to(results[0].device)
                kept.append(value)
            at += value.dtype, value.shape, value.stride()
            read.append(value.data_ptr())
        written = []
        for value in results:
            at += value.dtype, value.shape, value.stride()
            written.append(value.data_ptr())
        if self._numbers:
            numbers = ctypes.create_string_buffer(self._in_memory(inputs))
            address = ctypes.addressof(numbers)
            for place in self._numbers:
                read[place] = address
                address += 8
        at = tuple(at)
        places = self._places.get(at)
        if places is None:
            places = self._make_places(at, inputs, results)
        if not is_cuda:
            self._run(places, at, read, written, None, shared)
            return
        device = results[0].device
        with _compat.on_device(device):
            stream = _compat.current_stream(device)
            self._run(places, (device, *at), read, written, stream, shared)

    def _run(self, places, at, read, written, stream, shared):
        handle = self.kernel._handle
        if shared is None:
            places.run(handle, read, written, stream)
            return
        # What decides which tiles run.
        at = self, handle, at, tuple(address % 16 for address in read + written)
        prepared = shared.find(
            at,
            lambda: Prepared(
                self.kernel, handle, places.prepare(handle, read, stream)
            ),
        )
        places.run(handle, read, written, stream, prepared._handle)

    def _in_memory(self, inputs):
        """The bytes of numbers as kernels take them from the memory of the CPU."""
        values = [inputs[place] for place in self._numbers]
        try:
            return self._pack(*values)
        except (struct.error, OverflowError):
            infos = [self.kernel.inputs[place] for place in self._numbers]
            # This says what is wrong.
            return b"".join(
                pack_scalar(x, info.dtype, f"input '{info.name}'").ljust(8, b"\0")
                for x, info in zip(values, infos)
            )

    def _make_places(self, at, inputs, results):
        tensors = [
            (_CODES[dtype], shape, strides)
            for dtype, shape, strides in zip(at[::3], at[1::3], at[2::3])
        ]
        first = len(tensors) - len(results)
        given, written = iter(tensors[:first]), tensors[first:]
        read = [
            (
                next(given)
                if isinstance(value, torch.Tensor)
                else (CODES[info.dtype], (), ())
            )
            for value, info in zip(inputs, self.kernel.inputs)
        ]
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        made = self._places[at] = _native.Places(read, written)
        return made


class Kernels:
    """The kernels of a program for tensors of one kind. `texts` are that of the
    program without the log-sum-exp as a result, and that with it.
    `reads_batch` is whether functions of the program may ask for the batch."""

    def __init__(self, texts, device, compile_options, reads_batch=True):
        self.reads_batch = reads_batch
        self._texts = texts
        self._device = device
        self._options = compile_options
        self._lock = threading.Lock()
        self._forward = {}
        self._gradients = {}
        self._shared = None

    def sharing(self, shared):
        """The same kernels, whose calls prepare once for all that share this."""
        same = copy.copy(self)
        same._shared = shared
        return same

    def _compile(self, make):
        if self._device == "cuda" and torch.cuda.is_current_stream_capturing():
            raise Unsupported(
                "expects a kernel that is compiled where a CUDA graph is captured:"
                " call it once before, with the same functions and dtypes"
            )
        with self._lock:
            return make()

    def _make_forward(self, lse):
        if lse not in self._forward:
            kernel = compile_program(
                self._texts[lse],
                target=self._device,
                name="attn.torch",
                **dict(self._options.forward + self._options.common),
            )
            self._forward[lse] = _Loaded(kernel)
        return self._forward[lse]

    def forward(self, lse):
        """The kernel that returns `o`, and `lse` if that is wanted."""
        found = self._forward.get(lse)
        return found or self._compile(lambda: self._make_forward(lse))

    def gradient(self, wrt):
        """The kernel of gradients with respect to inputs of these names."""
        found = self._gradients.get(wrt)
        return found or self._compile(lambda: self._make_gradient(wrt))

    def _make_gradient(self, wrt):
        if wrt not in self._gradients:
            kernel = self._make_forward(True).kernel.gradient(wrt)
            self._gradients[wrt] = _Loaded(kernel)
        return self._gradients[wrt]

    def prepare_gradient(self, inputs):
        """Compiles what gradients with respect to those of the inputs need that
        require one."""
        wrt = tuple(
            info.name
            for info, x in zip(self.forward(True).kernel.inputs, inputs)
            if isinstance(x, torch.Tensor) and x.requires_grad
        )
        if wrt:
            self.gradient(wrt)

    def run(self, query, key, value, arguments, lse, like=None):
        """The output, and the log-sum-exp or None. The output is laid out as
        `like` is, or as the query."""
        shape = (*query.shape[:3], value.size(3))
        out = layout.empty_like(query if like is None else like, shape)
        results = [out]
        if lse:
            dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
            results.append(query.new_empty(shape[:3], dtype=dtype))
        kernel = self.forward(lse)
        with _compat.profiled("attn::forward"):
            kernel((query, key, value, *arguments), results, self._shared)
        return out, results[1] if lse else None

    def run_gradient(self, inputs, saved, cotangents, wanted):
        """The gradients with respect to those inputs (q, k, v, arguments) that
        are `wanted`. `saved` and `cotangents` are of the output and the
        log-sum-exp."""
        wrt, results = [], []
        names = [info.name for info in self.forward(True).kernel.inputs]
        for number, (name, x) in enumerate(zip(names, inputs)):
            if not wanted[number]:
                continue
            wrt.append(name)
            if number < 3:
                results.append(layout.empty_like(x, x.shape))
            else:
                results.append(torch.empty(x.shape, dtype=x.dtype, device=x.device))
        kernel = self.gradient(tuple(wrt))
        given = *inputs, *saved, *cotangents
        with _compat.profiled("attn::backward"):
            kernel(given, results, self._shared)
        return tuple(results)


_kernels = {}


def _clear():
    _kernels.clear()
    for shared in list(_all_shared):
        shared.clear()


on_clear_cache.append(_clear)


def variant_of(query, key, value, scale):
    """What of tensors decides programs, as arguments of trace.Variant."""
    return (
        ("dtype", NAMES[query.dtype]),
        ("dim", query.shape[3]),
        ("dim_v", value.shape[3]),
        ("scale", None if scale is None else float(scale)),
        ("shared_kv", key.shape[0] == 1 and query.shape[0] != 1),
    )


def lookup(program, query, key, value, scale, compile_options):
    """The kernels of a program for such tensors."""
    variant = variant_of(query, key, value, scale)
    place = query.device.type
    at = program.key(), variant, place, compile_options
    found = _kernels.get(at)
    if found is None:
        program = program.located()
        # Not the program itself, which keeps the tensors that it reads.
        texts = [
            program.to_mlir(Variant(**dict(variant), lse=lse)) for lse in (False, True)
        ]
        made = Kernels(texts, place, compile_options, program.reads(0))
        found = _kernels.setdefault(at, made)
    return found


def of_text(text, place, compile_options):
    """The kernels of a program that is text, with the log-sum-exp as a result,
    for a device and options as JSON."""
    at = text, place, compile_options
    found = _kernels.get(at)
    if found is None:
        made = Kernels((text, text), place, options.decode(compile_options))
        found = _kernels.setdefault(at, made)
    return found
