"""Kernels of traced programs, each compiled when it is first needed, and their
calls on tensors of PyTorch."""

import array
import math
import os
import secrets
import struct
import threading
import weakref

import torch

from .. import _environ, _library
from .._dtypes import CODES, LONG_NAMES, pack_scalar
from .._errors import InvalidArgument, Unsupported
from .._compile import compile as compile_program
from .._compile import on_clear_cache
from .._places import Places
from .._prepared import Prepared
from ..trace import Variant
from . import _compat, _layout, _options

NAMES = {getattr(torch, long): short for long, short in LONG_NAMES.items()}
_CODES = {dtype: CODES[name] for dtype, name in NAMES.items()}
# Numbers in 8 bytes, for `struct`.
_FORMATS = {"i1": "?7x", "i32": "i4x", "i64": "q", "f32": "f4x", "f64": "d"}
# Of so many shapes and strides of calls a kernel knows; then all are forgotten.
_MOST_LAYOUTS = 512
_all_shared = weakref.WeakValueDictionary()


class Shared:
    """What kernels have prepared for calls with one mask. Graphs know it by its
    `number`, which is that of no other one, in whatever process."""

    def __init__(self):
        self._lock = threading.Lock()
        self._found = {}
        self._read = {}
        self.number = 1 + secrets.randbits(62)
        _all_shared[self.number] = self
        operators = _library.torch_operators()
        if operators is not None:
            operators.attnTorchShare(self.number)
            weakref.finalize(self, operators.attnTorchForget, self.number)

    def clear(self):
        """Forgets it; calls prepare again."""
        with self._lock:
            self._found.clear()
            self._read.clear()

    def check(self, program, tensors):
        """Checks that what the mask of a program reads holds what it held in the
        first call. Kernels for a GPU do so themselves."""
        now = [x.detach().reshape(-1).view(torch.uint8).clone() for x in tensors]
        before = self._read.setdefault(program, now)
        for number, (x, y) in enumerate(zip(before, now)):
            if not torch.equal(x, y):
                raise InvalidArgument(
                    f"expects tensor {number} of those that the mask reads, of shape"
                    f" {tuple(tensors[number].shape)}, to hold what it held when the"
                    " mask was prepared: prepare again after a change"
                )

    def find(self, at, prepare):
        """What there is for a kind of call, which the first one prepares."""
        found = self._found.get(at)
        if found is None:
            with self._lock:
                found = self._found.get(at)
                if found is None:
                    found = self._found[at] = prepare()
        return found


def shared_of(number):
    """That of a number, or None if there is none any more."""
    return _all_shared.get(number)


class _Layout:
    """What calls have in common whose tensors have the same types, shapes and
    strides.

    results  (shape, strides, dtype) of each
    copied   places of inputs whose elements are not next to each other
    places   what the C interface takes but for addresses
    """

    __slots__ = ("copied", "places", "results")

    def __init__(self, results, copied, places):
        self.results = results
        self.copied = copied
        self.places = places


class _Loaded:
    """A kernel, and how to call it. `results_of(inputs)` is (shape, strides,
    dtype) of each result."""

    def __init__(self, kernel, results_of, name):
        self.kernel = kernel
        self._name = name
        self.input_names = [info.name for info in kernel.inputs]
        self._results_of = results_of
        self._is_cuda = kernel.target == "cuda"
        # Inputs that are numbers, and what puts them in memory: 8 bytes for each.
        self._numbers = [
            place
            for place, info in enumerate(kernel.inputs)
            if not info.shape and not info.name.startswith("t")
        ]
        self.count_tensors = len(kernel.inputs) - len(self._numbers)
        self._pack = struct.Struct(
            "=" + "".join(_FORMATS[kernel.inputs[n].dtype] for n in self._numbers)
        ).pack
        self._layouts = {}
        # The last one and what it is of: most calls are as the one before, and to
        # compare that takes less than to look it up.
        self._last = None, None
        self._new = _compat.empty_strided(kernel.target)

    def profiled(self, inputs, shared=None):
        """The same as an entry of a profile."""
        with torch.profiler.record_function(self._name):
            return self.call(inputs, shared)

    def call(self, inputs, shared=None, given=None):
        """The results for tensors and numbers. That they fit is known. `shared`
        has what calls with the same mask have prepared. `given` are the results of
        other inputs as (shape, strides, dtype), where these are copies of such."""
        at, addresses, is_cuda = [], [], self._is_cuda
        if is_cuda:
            device = inputs[0].device
            if not _compat.is_current(device):
                with torch.cuda.device(device):
                    return self.call(inputs, shared, given)
        # Lives until the call has returned.
        kept = None
        for value in inputs:
            if isinstance(value, torch.Tensor):
                if value.is_cuda is not is_cuda or value.is_neg():
                    value = value.resolve_neg().to(inputs[0].device)
                    kept = value, kept
                at += value.dtype, value.shape, value.stride()
                addresses.append(value.data_ptr())
            else:
                addresses.append(0)
        if given is not None:
            at += given
        last, found = self._last
        if at != last:
            found = self._find_layout(at, inputs, given)
        if found.copied:
            copies = list(inputs)
            for place in found.copied:
                copies[place] = _layout.with_unit_stride(inputs[place])
            return self.call(copies, shared, found.results)
        if self._numbers:
            numbers = array.array("q", self._in_memory(inputs))
            address, _ = numbers.buffer_info()
            for place in self._numbers:
                addresses[place] = address
                address += 8
        new, results = self._new, []
        for shape, strides, dtype in found.results:
            result = new(shape, strides, dtype)
            results.append(result)
            addresses.append(result.data_ptr())
        stream = _compat.current_stream(device) if is_cuda else None
        if shared is None:
            found.places.run(self.kernel._handle, addresses, stream)
        else:
            at = *at, result.device
            self._run_shared(found.places, at, addresses, stream, shared)
        return results

    def _run_shared(self, places, at, addresses, stream, shared):
        handle = self.kernel._handle
        # What decides which tiles run.
        at = self, handle, at, tuple([address % 16 for address in addresses])
        prepared = shared.find(
            at,
            lambda: Prepared(
                self.kernel, handle, places.prepare(handle, addresses, stream)
            ),
        )
        places.run(handle, addresses, stream, prepared._handle)

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

    def _find_layout(self, at, inputs, specs):
        key = tuple(at)
        found = self._layouts.get(key)
        if found is None:
            found = self._make_layout(key, inputs, specs)
        self._last = at, found
        return found

    def _make_layout(self, at, inputs, specs):
        results = self._results_of(inputs) if specs is None else specs
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        given = iter(
            [(_CODES[at[n]], at[n + 1], at[n + 2]) for n in range(0, 3 * len(tensors), 3)]
        )
        read = [
            (
                next(given)
                if isinstance(value, torch.Tensor)
                else (CODES[info.dtype], (), ())
            )
            for value, info in zip(inputs, self.kernel.inputs)
        ]
        copied = [
            place
            for place, (_, shape, strides) in enumerate(read)
            if shape and strides[-1] != 1 and shape[-1] > 1
        ]
        written = [(_CODES[dtype], shape, strides) for shape, strides, dtype in results]
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        made = _Layout(results, copied, Places(read, written))
        self._layouts[at] = made
        return made


def _forward_results(inputs):
    """The output, laid out as the query is, and the log-sum-exp."""
    query, value = inputs[0], inputs[2]
    shape = (*query.shape[:3], value.size(3))
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    lse = tuple(shape[:3])
    return [
        (shape, _layout.strides_like(query, shape), query.dtype),
        (lse, _layout.dense_strides(lse), dtype),
    ]


def _gradient_result(x, place):
    """Of q, k and v laid out like these, and of captures in order."""
    of = _layout.strides_like(x, x.shape) if place < 3 else _layout.dense_strides(x.shape)
    return tuple(x.shape), of, x.dtype


# Types of numbers that the operators take among their floats.
FLOATS = ("f64", "f32", "f16", "bf16")


class Kernels:
    """The kernels of a program for tensors of one kind. `texts` are that of the
    program without the log-sum-exp as a result, and that with it.
    `reads_batch` is whether results may depend on the number of the batch, and
    `masked` the numbers of the captures that the mask reads."""

    def __init__(self, texts, device, compile_options, reads_batch=True, masked=()):
        self.reads_batch = reads_batch
        self._masked = masked
        self._texts = texts
        self._device = device
        self._options = compile_options
        self._lock = threading.Lock()
        self._forward = {}
        self._gradients = {}
        self._shared = None

    def sharing(self, shared):
        """The same kernels, whose calls prepare once for all that share this."""
        # copy.copy takes three times as long.
        same = object.__new__(Kernels)
        same.__dict__.update(self.__dict__)
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
            count = 2 if lse else 1
            self._forward[lse] = _Loaded(
                kernel, lambda x: _forward_results(x)[:count], "attn::forward"
            )
        return self._forward[lse]

    def forward(self, lse):
        """The kernel that returns `o`, and `lse` if that is wanted."""
        found = self._forward.get(lse)
        return found or self._compile(lambda: self._make_forward(lse))

    def count_tensors(self):
        """How many of the inputs are tensors. Numbers come behind these."""
        return (self._forward.get(True) or self.forward(True)).count_tensors

    def gradient(self, wrt):
        """The kernel of gradients with respect to inputs of these names."""
        found = self._gradients.get(wrt)
        return found or self._compile(lambda: self._make_gradient(wrt))

    def _make_gradient(self, wrt):
        if wrt not in self._gradients:
            kernel = self._make_forward(True).kernel.gradient(wrt)
            names = [info.name for info in kernel.inputs]
            places = [names.index(name) for name in names if name in wrt]
            self._gradients[wrt] = _Loaded(
                kernel,
                lambda x: [_gradient_result(x[n], n) for n in places],
                "attn::backward",
            )
        return self._gradients[wrt]

    def _check_shared(self, captures):
        """Finds changes of what is prepared, where that is asked for."""
        if (
            self._device == "cpu"
            and b"ATTN_CHECK_PREPARED" in _environ.SET
            and os.environ["ATTN_CHECK_PREPARED"] != "0"
        ):
            self._shared.check(self._texts[0], [captures[n] for n in self._masked])

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

    def run(self, inputs, lse):
        """The output, and the log-sum-exp or None, of (q, k, v, arguments). The
        output is laid out as the query is."""
        kernel = self._forward.get(lse) or self.forward(lse)
        if self._shared is not None:
            self._check_shared(inputs[3:])
        run = kernel.profiled if _compat.is_profiled() else kernel.call
        results = run(inputs, self._shared)
        return tuple(results) if lse else (results[0], None)

    def run_gradient(self, inputs, saved, cotangents, wanted):
        """The gradients with respect to those inputs (q, k, v, arguments) that
        are `wanted`. `saved` and `cotangents` are of the output and the
        log-sum-exp."""
        names = self.forward(True).input_names
        wrt = tuple([name for name, want in zip(names, wanted) if want])
        kernel = self._gradients.get(wrt) or self.gradient(wrt)
        if self._shared is not None:
            self._check_shared(inputs[3:])
        run = kernel.profiled if _compat.is_profiled() else kernel.call
        return tuple(run((*inputs, *saved, *cotangents), self._shared))

    def _as_operands(self, inputs):
        """Inputs as the operators attn::forward and attn::backward take them; and
        the program and its options."""
        count = self.count_tensors()
        infos = self.forward(True).kernel.inputs[count:]
        numbers = [(info.dtype in FLOATS, x) for x, info in zip(inputs[count:], infos)]
        mask = self._shared.number if self._shared else 0
        operands = as_operands(
            inputs[:count], numbers, mask, self._texts[True], self._options
        )
        return operands[:3], operands[3:]

    def run_operator(self, inputs):
        """The output and the log-sum-exp by attn::forward, which modes of PyTorch
        see, such as those that make graphs or count operations."""
        operands, program = self._as_operands(inputs)
        return torch.ops.attn.forward(*operands, *program)

    def run_gradient_operator(self, inputs, saved, cotangents, wanted):
        """The same of `run_gradient`, by attn::backward."""
        operands, program = self._as_operands(inputs)
        wanted = list(wanted)[: len(operands[0])]
        return tuple(
            torch.ops.attn.backward(*operands, *saved, *cotangents, *program, wanted)
        )


_kernels = {}


def _clear():
    _kernels.clear()
    # References are listed at once, to which other threads may add.
    for reference in _all_shared.valuerefs():
        shared = reference()
        if shared is not None:
            shared.clear()
    operators = _library.torch_operators()
    if operators is not None:
        operators.attnTorchClear()


on_clear_cache.append(_clear)


def _check_scale(scale):
    """The scale as a float, or None."""
    if scale is None or type(scale) is float and math.isfinite(scale):
        return scale
    try:
        if isinstance(scale, (str, bytes)) or getattr(scale, "requires_grad", False):
            raise ValueError
        number = float(scale)
        if math.isfinite(number):
            return number
    except (TypeError, ValueError, RuntimeError):
        pass
    raise InvalidArgument(
        f"expects scale to be a finite number that needs no gradient, but got {scale!r}"
    )


def as_operands(tensors, numbers, mask, text, compile_options):
    """What attn::forward takes: (tensors, integers, floats, program, options).
    `numbers` are (whether it is a float, a number) in the order of the program;
    `mask` is the number of what calls share, or 0."""
    _compat.register_flops()
    ints, floats = [mask], []
    for is_float, x in numbers:
        if is_float:
            floats.append(float(x))
        else:
            # A symbol of a graph stays one.
            ints.append(x if isinstance(x, torch.SymInt) else int(x))
    # In one line: code that Inductor makes has it in a comment, too.
    text = " ".join(text.splitlines())
    return list(tensors), ints, floats, text, _options.encode(compile_options)


def variant_of(query, key, value, scale):
    """What of tensors decides programs, as arguments of trace.Variant."""
    return (
        ("dtype", NAMES[query.dtype]),
        # Of a graph with dynamic shapes, a guard.
        ("dim", int(query.shape[3])),
        ("dim_v", int(value.shape[3])),
        ("scale", _check_scale(scale)),
        ("shared_kv", _is_one(key.shape[0]) and not _is_one(query.shape[0])),
    )


def _is_one(extent):
    return extent == 1 if type(extent) is int else _compat.is_known(extent == 1)


def lookup(program, query, key, value, scale, compile_options):
    """The kernels of a program for such tensors."""
    at = (
        *(program.key(), query.dtype, query.shape[3], value.shape[3]),
        scale if scale is None else _check_scale(scale),
        key.shape[0] == 1 and query.shape[0] != 1,
        *(query.is_cuda, compile_options),
    )
    found = _kernels.get(at)
    if found is None:
        variant = variant_of(query, key, value, scale)
        place = query.device.type
        program = program.located()
        # Not the program itself, which keeps the tensors that it reads.
        texts = [
            program.to_mlir(Variant(**dict(variant), lse=lse)) for lse in (False, True)
        ]
        masked = program.masked_captures()
        # Which pairs are dropped depends on the batch, too.
        reads_batch = program.reads(0) or program.dropout is not None
        made = Kernels(texts, place, compile_options, reads_batch, masked)
        found = _kernels.setdefault(at, made)
    return found


def of_text(text, place, compile_options):
    """The kernels of a program that is text, with the log-sum-exp as a result,
    for a device and options as JSON."""
    at = text, place, compile_options
    found = _kernels.get(at)
    if found is None:
        made = Kernels((text, text), place, _options.decode(compile_options))
        found = _kernels.setdefault(at, made)
    return found
