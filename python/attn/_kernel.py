"""Kernels, and calls of them."""

import contextlib
import os
import threading
import typing
import weakref

from . import _native, _streams, _tensors
from ._errors import CompileError, InvalidArgument, Unsupported
from ._prepared import Prepared

_tuned_lock = threading.Lock()


class TensorInfo(typing.NamedTuple):
    """The description of an input or a result.

    `dtype` is spelled as in MLIR ("bf16"); a dynamic extent is None.
    """

    name: str
    dtype: str
    shape: tuple

    def __str__(self):
        extents = ["?" if extent is None else str(extent) for extent in self.shape]
        return f"{self.name}: {'x'.join([*extents, self.dtype])}"


def _unpack(values):
    return values[0] if len(values) == 1 else values


def _kinds(count, kind):
    return f"{count} {kind}" + ("" if count == 1 else "s")


def _check_threads(threads):
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise InvalidArgument(
            f"expects threads to be an int, but got {type(threads).__name__}"
        )
    if not 0 <= threads < 2**31:
        raise InvalidArgument(
            f"expects threads from 0 to {2**31 - 1}, but got {threads}"
        )


class BoundCall:
    """A kernel with the tensors of a call; calling it runs the kernel.

    It may be called again after the contents of the tensors changed. It returns
    `out`.
    """

    def __init__(
        self, kernel, inputs, results, out, stream, threads, check_lists, prepared
    ):
        self._kernel = kernel
        self._prepared = prepared
        prepared = prepared and prepared._handle
        self._call = _native.Call(
            inputs, results, stream, threads, check_lists, prepared
        )
        self.out = out

    def __call__(self):
        handle = self._kernel._handle
        if self._prepared is not None and self._prepared._kernel is self._kernel:
            # That was tuned since, maybe.
            handle = self._prepared._code
        self._call.run(handle)
        return self.out


class Kernel:
    """Compiled code, from `compile` or `load`. Several threads may call it at once."""

    def __init__(self, handle, target, on_cuda=None, gradient=None, retune=None):
        self._own(handle)
        # Tunes the program on host tensors, and gives the handle of a kernel
        # that knows the result.
        self._retune = retune
        # Of each extents of a call that were seen to be tuned, for tune="full".
        self._tuned = None
        # Makes the same kernel for a GPU.
        self._on_cuda = on_cuda
        # Makes the kernel of gradients with respect to named inputs.
        self._gradient = gradient
        self.target = target
        self.entry = _native.entry(handle)
        self.inputs = tuple(TensorInfo(*info) for info in _native.inputs(handle))
        self.results = tuple(TensorInfo(*info) for info in _native.results(handle))

    def save(self, path=None):
        """Serialises the kernel to a package: bytes from which `load` makes the
        same kernel without compiling, in another process or on another machine.
        A package for a CPU needs the same kind of processor, a package for a GPU
        runs on any host. A kernel with the target "auto" is saved for the CPU.

        With `path`, writes the bytes to that file and returns None.
        """
        package = _native.save(self._handle)
        if path is None:
            return package
        # Complete or as it was, for those who read it meanwhile.
        new = f"{os.fsdecode(path)}.{os.urandom(8).hex()}.new"
        try:
            with open(new, "xb") as file:
                file.write(package)
            os.replace(new, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(new)
            raise

    def __reduce__(self):
        raise Unsupported(
            "expects kernel.save(), of whose bytes attn.load makes the same kernel, but"
            " got pickle"
        )

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _expect_program(self, function, what):
        if function is None:
            raise Unsupported(
                f"expects a kernel that attn.compile has made for {what}, but got one"
                " of a package, which has no program"
            )
        return function

    @property
    def report(self):
        """The report of the compilation, a dict with `target`, `milliseconds`,
        `stages`, `remarks`, `warnings` and `objectSize`, as attnKernelReport."""
        return _native.report(self._handle)

    def __repr__(self):
        inputs = ", ".join(map(str, self.inputs))
        results = ", ".join(map(str, self.results))
        return f"<attn.Kernel @{self.entry}({inputs}) -> ({results}) for {self.target}>"

    def gradient(self, wrt=None):
        """The kernel that computes gradients, compiled with the same options except
        for the schedule.

        Its inputs are those of this kernel, then its results of floats, then
        the gradients of a loss with respect to these results: "do" for a result
        "o". Its results are the gradients with respect to the inputs that `wrt`
        names, a name or several; by default all inputs of floats, on a GPU
        without scalars. They come in the order of the inputs; the gradient of
        "q" is "dq".

        Raises CompileError for a name that no input of floats has, and for an
        operation without a derivative, and Unsupported for a kernel of a package.
        """
        return self._expect_program(self._gradient, "gradients")(wrt)

    def tune(self, *tensors, seconds=30, progress=None):
        """Measures which schedule is fastest for tensors like these.

        Takes about `seconds` seconds, in child processes, and keeps the result in
        the tuning database (ATTN_TUNING_DB), where this kernel and later kernels
        of the program find it. `progress` is a function that is called with
        messages on the progress.

        Returns a dict: `summary`, `schedule`, `threads`, `seconds`,
        `untunedSeconds`, `kept`, `note` if the result was not kept, `trials` for
        each candidate, and `turns` for each measurement, with the time in the
        search and the measured time.

        Raises CompileError if there is nothing to tune, as for a program that
        has a schedule, InvalidArgument for a time that is not above 0, and
        Unsupported for a kernel of a package.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise InvalidArgument(
                f"expects seconds to be a number, but got {type(seconds).__name__}"
            )
        self._expect_program(self._retune, "tuning")
        views = self._view_inputs(tensors, None)
        _, device, _ = self._first_tensor(tensors, views)
        if device[0] == _native.CUDA and self._on_cuda is not None:
            return self._on_cuda().tune(*tensors, seconds=seconds, progress=progress)
        if device[0] != _native.CPU:
            # The worker has memory of its own.
            tensors = [
                value.cpu() if hasattr(value, "cpu") else value for value in tensors
            ]
            views = self._view_inputs(tensors, None)
        # What does not fit the program is told before anything is compiled.
        ranks = [len(info.shape) for info in self.results]
        _native.result_shapes(self._handle, _native.Tensors(views), ranks)
        report, handle = self._retune(views, seconds, progress)
        self._own(handle)
        return report

    def explain(self, *tensors):
        """Which code a call with these tensors runs, and why, as a dict.

        source    "exact" or "nearest" if a tuning database has an entry for these
                  or for similar extents, "other-version" if that entry is of
                  another driver or compiler, otherwise "model"
        choice    the same in words
        measuredSeconds  if the kernel was tuned for such extents
        schedules on a CPU: the `schedule` of each attention, its `reason`, and
                  whether it runs (`isTaken`), rather than a tuned schedule
        tuned     the entries of a tuning database for this program and device: the
                  `schedule`, "" for the compiler's, `threads`, `extents`,
                  `version`, `seconds`, `untunedSeconds`, and `isTaken`
        kernels   on a GPU: the schedule of each variant, its `registers`,
                  `spillBytes`, `sharedBytes`, `ctasPerSm` and `threads`, whether
                  calls with these tensors take it (`isTaken`), and if known
                  `predictedSeconds` by the cost model, `measuredSeconds` and
                  `rooflineShare`, the least possible time over the actual time
        masks     what the predicate of each mask costs in partial tiles, and what
                  would be cheaper
        ruledOut  on a GPU: how many rows of the table of schedules each
                  condition has ruled out
        rejected  each schedule that the compiler has tried and rejected, and why
        """
        views = self._view_inputs(tensors, None)
        _, device, _ = self._first_tensor(tensors, views)
        if device[0] == _native.CUDA and self._on_cuda is not None:
            return self._on_cuda().explain(*tensors)
        return _native.explain(self._handle, _native.Tensors(views))

    def _tune_once(self, tensors, views):
        """Tunes for extents that nothing is known of, the first time."""
        key = tuple(view.shape for view in views)
        with _tuned_lock:
            if key in self._tuned:
                return
            self._tuned.add(key)
        if self.explain(*tensors)["source"] != "exact":
            try:
                self.tune(*tensors)
            except CompileError:
                # There is one schedule, and calls run with it.
                pass

    def _view_call(self, tensors, stream):
        """The views of the inputs of a call, and the first tensor, its device and
        the name of that. Tunes first where that is due."""
        views = self._view_inputs(tensors, stream)
        first = self._first_tensor(tensors, views)
        if self._tuned is not None:
            self._tune_once(tensors, views)
        return views, *first

    def _own(self, handle):
        """Makes a handle the one of calls. Those before stay until the kernel
        goes, as calls in other threads may be running them."""
        self._handle = handle
        release = weakref.finalize(self, _native.release, handle)
        # Threads that outlive the interpreter may still be running it.
        release.atexit = False

    def result_shapes(self, *tensors):
        """The shapes of the results for these inputs, as a tuple of tuples."""
        inputs = _native.Tensors(self._view_inputs(tensors, None))
        ranks = [len(info.shape) for info in self.results]
        return _native.result_shapes(self._handle, inputs, ranks)

    def prepare(self, *tensors, stream=None, threads=0):
        """Computes once what many calls share: which tiles the mask needs, and bits
        of lists. Returns a `Prepared`, for the argument `prepared` of these calls.
        They do not compute it again, and give the same bits.

        The inputs of these calls must have the same shapes, and the inputs that
        masks and sparsities read must hold the same values; otherwise results are
        undefined. The calls run the code that is current now, also if tuning finds
        another schedule later.

        Calls compare shapes and numbers. If ATTN_CHECK_PREPARED=1 was in the
        environment during `prepare`, they also compare the contents of tensors,
        and wait for the stream. A difference raises InvalidArgument.

        On a GPU the work is on `stream`, which may not be captured; calls on other
        streams wait for it, and a graph may capture calls. On a CPU nothing is
        computed ahead, and the result is empty.
        """
        _check_threads(threads)
        stream = _streams.to_handle(stream)
        views, _, device, _ = self._view_call(tensors, stream)
        if device[0] == _native.CUDA and self._on_cuda is not None:
            return self._on_cuda().prepare(*tensors, stream=stream)
        if stream is None and device[0] != _native.CPU:
            stream = _streams.current(device)
        inputs = _native.Tensors(views)
        code = self._handle
        return Prepared(self, code, _native.prepare(code, inputs, stream, threads))

    def bind(
        self,
        *tensors,
        out=None,
        stream=None,
        threads=0,
        check_lists=False,
        prepared=None,
    ):
        """Checks and converts the arguments of a call once, for many runs."""
        _check_threads(threads)
        if prepared is not None and not isinstance(prepared, Prepared):
            raise InvalidArgument(
                "expects prepared to be what Kernel.prepare makes, but got"
                f" {type(prepared).__name__}"
            )
        stream = _streams.to_handle(stream)
        views, first, device, device_name = self._view_call(tensors, stream)
        if device[0] == _native.CUDA and self._on_cuda is not None:
            kernel = self._on_cuda()
            return kernel.bind(
                *tensors,
                out=out,
                stream=stream,
                threads=threads,
                check_lists=check_lists,
                prepared=prepared,
            )
        if stream is None and device[0] != _native.CPU:
            stream = _streams.current(device)
        inputs = _native.Tensors(views)
        if out is None:
            ranks = [len(info.shape) for info in self.results]
            shapes = _native.result_shapes(self._handle, inputs, ranks)
            outs = tuple(
                _tensors.new_like(first, device, shape, info.dtype)
                for info, shape in zip(self.results, shapes)
            )
            out = _unpack(outs)
        else:
            outs = self._split_out(out)
        views = [
            _tensors.view_result(value, f"result '{info.name}'", stream)
            for info, value in zip(self.results, outs)
        ]
        for view in views:
            self._check_device(view, device, device_name)
        results = _native.Tensors(views)
        return BoundCall(
            self, inputs, results, out, stream, threads, check_lists, prepared
        )

    def __call__(
        self,
        *tensors,
        out=None,
        stream=None,
        threads=0,
        check_lists=False,
        prepared=None,
    ):
        """Runs the kernel on one argument for each input.

        Returns the result, or a tuple if there are several: new tensors of the
        library of the first input, or those of `out`. `threads` limits the
        threads of a CPU; 0 means all. `stream` is a stream of the GPU, by default
        PyTorch's current one. With `check_lists` a GPU checks the lists of a
        sparsity before it runs, as a CPU always does: the call then waits for the
        stream, which may not be captured, and wrong lists raise OutOfRange.
        `prepared` is the result of `prepare` for such inputs.
        """
        return self.bind(
            *tensors,
            out=out,
            stream=stream,
            threads=threads,
            check_lists=check_lists,
            prepared=prepared,
        )()

    def _view_inputs(self, tensors, stream):
        if len(tensors) != len(self.inputs):
            names = ", ".join(info.name for info in self.inputs)
            raise InvalidArgument(
                f"@{self.entry} expects {_kinds(len(self.inputs), 'input')} ({names}),"
                f" but got {len(tensors)}"
            )
        return [
            _tensors.view_input(value, info, f"input '{info.name}'", stream)
            for info, value in zip(self.inputs, tensors)
        ]

    def _first_tensor(self, tensors, views):
        """The first that is no scalar, and the device that all are on."""
        first, device, name = None, None, None
        for info, value, view in zip(self.inputs, tensors, views):
            if not info.shape:
                continue
            if device is None:
                first, device, name = value, view.device, view.device_name
            self._check_device(view, device, name)
        return first, device or (_native.CPU, 0), name or "cpu"

    @staticmethod
    def _check_device(view, device, device_name):
        if view.device != device:
            raise InvalidArgument(
                f"expects {view.what} on {device_name}, where the first input is,"
                f" but got one on {view.device_name}"
            )

    def _split_out(self, out):
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(outs) != len(self.results):
            names = ", ".join(info.name for info in self.results)
            raise InvalidArgument(
                f"expects out to have {_kinds(len(self.results), 'result')}"
                f" ({names}), but got {len(outs)}"
            )
        return outs
