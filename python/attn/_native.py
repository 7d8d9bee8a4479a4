"""The C interface (attn-c/Attn.h) through ctypes.

Here are its structs and functions known, and where calls of PyTorch's tensors run
(_places.py). `Call` hands tensors to a kernel, so a device that the C interface
learns to serve needs changes in these two only: the rest of the package passes
the device of each tensor and the stream through.
"""

import ctypes
import functools
import json
import os
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p

from . import _dtypes, _interrupts, _library
from ._errors import Unsupported, from_status

# Kinds of devices, as in DLPack.
CPU, CUDA = 1, 2

# attnDevice
_DEVICES = {"cpu": 0, "cuda": 1}
# attnTuning
_TUNINGS = {"auto": 0, "off": 1}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int64),
        ("shape", c_void_p),
        ("strides", c_void_p),
    ]


class _TensorInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("dtype", c_int32),
        ("rank", c_int64),
        ("shape", POINTER(c_int64)),
    ]


class _CompileOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("entry", c_char_p),
        ("buffer_name", c_char_p),
        ("target", c_char_p),
        ("schedule", c_char_p),
        ("bounds_check", c_int32),
        ("opt_level", c_int32),
        ("dump_ir", c_void_p),
        ("dump_llvm", c_void_p),
        ("dump_user", c_void_p),
        ("device", c_int32),
        ("tuning", c_int32),
        ("sparsity", c_char_p),
        ("schedules", c_char_p),
        ("deterministic", c_int32),
        ("reserved", c_int32),
    ]


_DUMP = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_size_t)


class _TuneOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("seconds", ctypes.c_double),
        ("worker", POINTER(c_char_p)),
        ("num_worker", c_size_t),
        ("database", c_char_p),
        ("progress", _DUMP),
        ("progress_user", c_void_p),
        ("max_candidates", c_size_t),
    ]


class _DifferentiateOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("entry", c_char_p),
        ("buffer_name", c_char_p),
        ("wrt", POINTER(c_char_p)),
        ("num_wrt", c_size_t),
        ("joint", c_int32),
        ("tensors_only", c_int32),
    ]


class _RunOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_int32),
        ("pool", c_void_p),
        ("stream", c_void_p),
        ("check_lists", c_int32),
        ("reserved", c_int32),
        ("prepared", c_void_p),
    ]


_STATUS = c_int32
_ERROR = POINTER(c_void_p)
_FUNCTIONS = {
    "attnVersionString": (c_char_p, []),
    "attnErrorMessage": (c_char_p, [c_void_p]),
    "attnErrorDestroy": (None, [c_void_p]),
    "attnStringData": (c_void_p, [c_void_p]),
    "attnStringSize": (c_size_t, [c_void_p]),
    "attnStringDestroy": (None, [c_void_p]),
    "attnKernelCompile": (
        _STATUS,
        [c_char_p, c_size_t, POINTER(_CompileOptions), POINTER(c_void_p), _ERROR],
    ),
    "attnDifferentiate": (
        _STATUS,
        [c_char_p, c_size_t, POINTER(_DifferentiateOptions), POINTER(c_void_p), _ERROR],
    ),
    "attnTune": (
        _STATUS,
        [
            c_char_p,
            c_size_t,
            POINTER(_CompileOptions),
            c_void_p,
            c_size_t,
            POINTER(_TuneOptions),
            POINTER(c_void_p),
            _ERROR,
        ],
    ),
    "attnTuneWorker": (None, []),
    "attnDeviceCheck": (_STATUS, [c_int32, _ERROR]),
    "attnKernelDevice": (c_int32, [c_void_p]),
    "attnKernelRelease": (None, [c_void_p]),
    "attnKernelEntry": (c_char_p, [c_void_p]),
    "attnKernelNumInputs": (c_size_t, [c_void_p]),
    "attnKernelNumResults": (c_size_t, [c_void_p]),
    "attnKernelInputInfo": (
        _STATUS,
        [c_void_p, c_size_t, POINTER(_TensorInfo), _ERROR],
    ),
    "attnKernelResultInfo": (
        _STATUS,
        [c_void_p, c_size_t, POINTER(_TensorInfo), _ERROR],
    ),
    "attnKernelSave": (_STATUS, [c_void_p, POINTER(c_void_p), _ERROR]),
    "attnKernelLoad": (_STATUS, [c_void_p, c_size_t, POINTER(c_void_p), _ERROR]),
    "attnKernelReport": (_STATUS, [c_void_p, POINTER(c_void_p), _ERROR]),
    "attnKernelExplain": (
        _STATUS,
        [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), _ERROR],
    ),
    "attnKernelResultShapes": (
        _STATUS,
        [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, _ERROR],
    ),
    "attnKernelRun": (
        _STATUS,
        [
            c_void_p,
            c_void_p,
            c_size_t,
            c_void_p,
            c_size_t,
            POINTER(_RunOptions),
            _ERROR,
        ],
    ),
    "attnKernelPrepare": (
        _STATUS,
        [
            c_void_p,
            c_void_p,
            c_size_t,
            POINTER(_RunOptions),
            POINTER(c_void_p),
            _ERROR,
        ],
    ),
    "attnPreparedSize": (c_size_t, [c_void_p]),
    "attnPreparedDestroy": (None, [c_void_p]),
}

_lock = threading.Lock()
_opened = None


def library():
    """The library, which the first call opens."""
    global _opened
    if _opened is None:
        with _lock:
            if _opened is None:
                opened, _ = _library.open_library()
                for name, (result, arguments) in _FUNCTIONS.items():
                    function = getattr(opened, name)
                    function.restype = result
                    function.argtypes = arguments
                _opened = opened
    return _opened


def check(status, error):
    """Raises the exception for a status and destroys the error."""
    if status == 0:
        return
    text = library().attnErrorMessage(error).decode("utf-8", "replace")
    library().attnErrorDestroy(error)
    raise from_status(status, text)


def _encode(text):
    return None if text is None else text.encode()


def version():
    """The version of the library, such as "0.1.0"."""
    return library().attnVersionString().decode()


def _take(string):
    """The bytes of a string of the library, which goes."""
    try:
        data = library().attnStringData(string)
        return ctypes.string_at(data, library().attnStringSize(string))
    finally:
        library().attnStringDestroy(string)


def differentiate(program, *, entry, name, wrt, joint, tensors_only=False):
    """The text of a program that computes gradients."""
    names = (c_char_p * len(wrt))(*map(_encode, wrt))
    options = _DifferentiateOptions(
        struct_size=ctypes.sizeof(_DifferentiateOptions),
        entry=_encode(entry),
        buffer_name=_encode(name),
        wrt=names,
        num_wrt=len(wrt),
        joint=joint,
        tensors_only=tensors_only,
    )
    text, error = c_void_p(), c_void_p()
    check(
        library().attnDifferentiate(
            program, len(program), byref(options), byref(text), byref(error)
        ),
        error,
    )
    return _take(text).decode()


# ===----------------------------------------------------------------------===
# Kernels
# ===----------------------------------------------------------------------===


def _compile_options(
    target,
    *,
    entry=None,
    name=None,
    processor=None,
    schedule=None,
    schedules=None,
    sparsity="auto",
    bounds_check=False,
    deterministic=None,
    level=0,
    tuning="auto",
):
    """attnCompileOptions; `level` is that of the C struct."""
    return _CompileOptions(
        struct_size=ctypes.sizeof(_CompileOptions),
        entry=_encode(entry),
        buffer_name=_encode(name),
        target=_encode(processor),
        schedule=_encode(schedule),
        sparsity=_encode(sparsity),
        bounds_check=bool(bounds_check),
        opt_level=level,
        device=_DEVICES[target],
        tuning=_TUNINGS[tuning],
        schedules=_encode(schedules),
        deterministic={None: 0, True: 1, False: 2}[deterministic],
    )


def compile_kernel(program, target, **options):
    """A handle of a kernel, for `release`."""
    options = _compile_options(target, **options)
    kernel, error = c_void_p(), c_void_p()
    check(
        library().attnKernelCompile(
            program, len(program), byref(options), byref(kernel), byref(error)
        ),
        error,
    )
    return kernel.value


def save(kernel):
    """The bytes of a package."""
    string, error = c_void_p(), c_void_p()
    check(library().attnKernelSave(kernel, byref(string), byref(error)), error)
    return _take(string)


def load(package):
    """A handle of the kernel in the bytes of a package, for `release`."""
    kernel, error = c_void_p(), c_void_p()
    check(
        library().attnKernelLoad(package, len(package), byref(kernel), byref(error)),
        error,
    )
    return kernel.value


def target(kernel):
    """What a kernel runs on, "cpu" or "cuda"."""
    device = library().attnKernelDevice(kernel)
    return next(name for name, number in _DEVICES.items() if number == device)


def release(kernel):
    library().attnKernelRelease(kernel)


def entry(kernel):
    return library().attnKernelEntry(kernel).decode()


def _infos(kernel, count, get):
    infos = []
    for index in range(count):
        info, error = _TensorInfo(ctypes.sizeof(_TensorInfo)), c_void_p()
        check(get(kernel, index, byref(info), byref(error)), error)
        if info.dtype >= len(_dtypes.NAMES):
            raise Unsupported(
                f"expects an element type that this package knows, but '"
                f"{info.name.decode()}' has number {info.dtype}"
            )
        shape = tuple(
            None if info.shape[dim] < 0 else info.shape[dim] for dim in range(info.rank)
        )
        infos.append((info.name.decode(), _dtypes.NAMES[info.dtype], shape))
    return infos


def inputs(kernel):
    """(name, element type, extents or None) of each input."""
    count = library().attnKernelNumInputs(kernel)
    return _infos(kernel, count, library().attnKernelInputInfo)


def results(kernel):
    count = library().attnKernelNumResults(kernel)
    return _infos(kernel, count, library().attnKernelResultInfo)


def report(kernel):
    string, error = c_void_p(), c_void_p()
    check(library().attnKernelReport(kernel, byref(string), byref(error)), error)
    return json.loads(_take(string))


# ===----------------------------------------------------------------------===
# Calls
# ===----------------------------------------------------------------------===


class Tensors:
    """An array of attnTensor, with what its pointers point to."""

    def __init__(self, views):
        self.views = views
        self.count = len(views)
        numbers = []
        for view in views:
            numbers += view.shape
            if view.strides is not None:
                numbers += view.strides
        self._numbers = (c_int64 * len(numbers))(*numbers)
        at = ctypes.addressof(self._numbers)
        self.array = (Tensor * len(views))()
        for tensor, view in zip(self.array, views):
            rank = len(view.shape)
            tensor.struct_size = ctypes.sizeof(Tensor)
            tensor.data = view.data
            tensor.dtype = _dtypes.CODES[view.dtype]
            tensor.rank = rank
            tensor.shape = at
            at += 8 * rank
            if view.strides is not None:
                tensor.strides = at
                at += 8 * rank


def explain(kernel, inputs):
    string, error = c_void_p(), c_void_p()
    check(
        library().attnKernelExplain(
            kernel, inputs.array, inputs.count, byref(string), byref(error)
        ),
        error,
    )
    return json.loads(_take(string))


class HostTensor:
    """What `Tensors` needs of a dense tensor in the memory of the host."""

    strides = None

    def __init__(self, data, dtype, shape):
        self.data, self.dtype, self.shape = data, dtype, tuple(shape)


_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The program of a child process, which runs what a tuning measures. It finds this
# package wherever that lies.
_WORKER = """import sys
sys.path.insert(0, {folder!r})
from attn import _native
_native.library().attnTuneWorker()"""


def tune(
    program,
    target,
    inputs,
    *,
    seconds,
    database=None,
    progress=None,
    candidates=0,
    **options,
):
    """The report of a tuning on inputs in the memory of the host, of at most so
    many candidates, 0 for the usual number."""
    worker = [sys.executable, "-c", _WORKER.format(folder=_FOLDER)]
    options = _compile_options(target, **options)
    tensors = Tensors(inputs)

    raised = []

    def tell(_, stage, step, size):
        # C cannot pass on what is raised, such as by Ctrl-C.
        try:
            if not raised:
                progress(step.decode())
        except BaseException as exception:
            raised.append(exception)

    tuning = _TuneOptions(
        struct_size=ctypes.sizeof(_TuneOptions),
        seconds=seconds,
        worker=(c_char_p * len(worker))(*map(_encode, worker)),
        num_worker=len(worker),
        database=_encode(database),
        progress=_DUMP(tell) if progress else _DUMP(),
        max_candidates=candidates,
    )
    report, error = c_void_p(), c_void_p()
    with _interrupts.postponed(raised):
        status = library().attnTune(
            program,
            len(program),
            byref(options),
            tensors.array,
            tensors.count,
            byref(tuning),
            byref(report),
            byref(error),
        )
    if raised:
        if not status:
            _take(report)
        raise raised[0]
    check(status, error)
    return json.loads(_take(report))


def result_shapes(kernel, inputs, ranks):
    """The shape of each result, of which the ranks are given."""
    extents, error = (c_int64 * sum(ranks))(), c_void_p()
    check(
        library().attnKernelResultShapes(
            kernel, inputs.array, inputs.count, extents, len(extents), byref(error)
        ),
        error,
    )
    shapes, at = [], 0
    for rank in ranks:
        shapes.append(tuple(extents[at : at + rank]))
        at += rank
    return tuple(shapes)


def _check_places(kernel, stream, *lists):
    """Checks that `Tensors` are where a kernel runs."""
    is_cuda = library().attnKernelDevice(kernel) == _DEVICES["cuda"]
    wanted = CUDA if is_cuda else CPU
    for tensors in lists:
        for view in tensors.views:
            # Kernels for a GPU take scalars from the memory of the CPU.
            if view.device[0] != wanted and (view.shape or not is_cuda):
                place = "a GPU" if is_cuda else "the CPU"
                way_out = "cpu" if is_cuda else "cuda"
                raise Unsupported(
                    f"expects {view.what} to be in the memory of {place}, where the"
                    f" kernel runs, but got one on {view.device_name}; move it, or"
                    f" compile with target={way_out!r}"
                )
    if stream is not None and not is_cuda:
        raise Unsupported("expects no stream, as kernels for a CPU have none")


@functools.lru_cache(maxsize=None)
def kernel_run():
    """attnKernelRun for arguments that have the types of C, which it does not
    convert."""
    return library()["attnKernelRun"]


def run_options(stream=None, threads=0, check_lists=False, prepared=None):
    size = ctypes.sizeof(_RunOptions)
    return _RunOptions(size, threads, None, stream, bool(check_lists), 0, prepared)


def prepare(kernel, inputs, stream=None, threads=0):
    """The handle of what calls with `inputs`, which are `Tensors`, share."""
    _check_places(kernel, stream, inputs)
    return prepare_array(kernel, inputs.array, inputs.count, stream, threads)


def prepare_array(kernel, array, count, stream, threads=0):
    prepared, error = c_void_p(), c_void_p()
    check(
        library().attnKernelPrepare(
            kernel,
            array,
            count,
            byref(run_options(stream, threads)),
            byref(prepared),
            byref(error),
        ),
        error,
    )
    return prepared.value


def prepared_size(prepared):
    """The bytes of memory that it takes."""
    return library().attnPreparedSize(prepared)


def destroy_prepared(prepared):
    """Ends the life of what `prepare` has made."""
    library().attnPreparedDestroy(prepared)


class Call:
    """A call on `Tensors`, which kernels for one device may run many times.

    On a CPU the results are written when it has run. On a GPU they are when its
    stream, an integer or None for the default one, has come to that; with
    `check_lists` it waits for the stream and for a check of lists first.
    `prepared` is a handle that `prepare` has made with such inputs.
    """

    def __init__(
        self, inputs, results, stream=None, threads=0, check_lists=False, prepared=None
    ):
        self._places = stream, inputs, results
        self._is_checked = False
        self._run = kernel_run()
        self._arguments = (
            *(inputs.array, c_size_t(inputs.count)),
            *(results.array, c_size_t(results.count)),
            byref(run_options(stream, threads, check_lists, prepared)),
        )

    def run(self, kernel):
        if not self._is_checked:
            _check_places(kernel, *self._places)
            self._is_checked = True
        error = c_void_p()
        status = self._run(c_void_p(kernel), *self._arguments, byref(error))
        if status:
            check(status, error)
