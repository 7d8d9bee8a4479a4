"""Kernels of traced programs, each compiled when it is first needed, and their
calls on tensors of PyTorch."""

import threading

import torch

from .. import _native
from .._dtypes import CODES, LONG_NAMES, pack_scalar
from .._errors import Unsupported
from .._kernel import compile as compile_program
from .._kernel import on_clear_cache
from ..trace import Variant
from . import _compat, layout, options

NAMES = {getattr(torch, long): short for long, short in LONG_NAMES.items()}
_CODES = {dtype: CODES[name] for dtype, name in NAMES.items()}


class _Loaded:
    """A kernel, and how to call it."""

    def __init__(self, kernel):
        self.kernel = kernel
        self._is_cuda = kernel.target == "cuda"
        # The types of inputs that are numbers; a GPU reads captures without
        # dimensions from its own memory.
        self._scalars = [
            None
            if info.shape or (self._is_cuda and info.name.startswith("t"))
            else (info.dtype, CODES[info.dtype], info.name)
            for info in kernel.inputs
        ]

    def __call__(self, inputs, results):
        """Runs it on tensors and numbers. That they fit is known."""
        described, kept = [], []
        for value, scalar in zip(inputs, self._scalars):
            if scalar is not None:
                value = self._number(value, scalar)
                kept.append(value)
                described.append((value.data_ptr(), scalar[1], (), ()))
            else:
                if value.is_neg() or (self._is_cuda and not value.is_cuda):
                    value = value.resolve_neg().to(results[0].device)
                    kept.append(value)
                described.append(_describe(value))
        written = [_describe(result) for result in results]
        handle = self.kernel._handle
        if not self._is_cuda:
            _native.launch(handle, described, written)
            return
        device = results[0].device
        with torch.cuda.device(device):
            _native.launch(handle, described, written, _compat.current_stream(device))

    @staticmethod
    def _number(value, scalar):
        """A number in the memory of the CPU, where kernels take it from."""
        if isinstance(value, torch.Tensor):
            return value.detach().cpu().resolve_neg()
        data = pack_scalar(value, scalar[0], f"input '{scalar[2]}'")
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _describe(tensor):
    """A tensor as `_native.launch` takes it."""
    return tensor.data_ptr(), _CODES[tensor.dtype], tensor.shape, tensor.stride()


class Kernels:
    """The kernels of a program for tensors of one kind. `texts` are that of the
    program without the log-sum-exp as a result, and that with it."""

    def __init__(self, texts, device, compile_options):
        self._texts = texts
        self._device = device
        self._options = compile_options
        self._lock = threading.Lock()
        self._forward = {}
        self._gradients = {}

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

    def run(self, query, key, value, arguments, lse, like=None):
        """The output, and the log-sum-exp or None. The output is laid out as
        `like` is, or as the query."""
        shape = (*query.shape[:3], value.size(3))
        out = layout.empty_like(query if like is None else like, shape)
        results = [out]
        if lse:
            dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
            results.append(torch.empty(shape[:3], dtype=dtype, device=query.device))
        self.forward(lse)((query, key, value, *arguments), results)
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
        self.gradient(tuple(wrt))((*inputs, *saved, *cotangents), results)
        return tuple(results)


_kernels = {}
on_clear_cache.append(_kernels.clear)


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

        # Not the program itself, which keeps the tensors that it reads.
        texts = [
            program.to_mlir(Variant(**dict(variant), lse=lse)) for lse in (False, True)
        ]
        made = Kernels(texts, place, compile_options)
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
