"""Compilation of programs, and loading of packages."""

import os
import sys
import threading

from . import _native
from ._errors import InvalidArgument
from ._kernel import Kernel

_TARGETS = ("auto", "cpu", "cuda")
_TUNINGS = ("off", "auto", "full")
_PROCESSORS = ("baseline", "avx2", "avx512")
_SPARSITIES = ("auto", "dense", "blocks", "lists", "gathered")


class _Slot:
    """A place for a kernel, with a lock that its compilation holds."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kernel = None


_slots = {}
_slots_lock = threading.Lock()
# What else forgets kernels when `clear_cache` does.
on_clear_cache = []


def clear_cache():
    """Forgets the kernels that `compile` keeps; those in use stay valid."""
    with _slots_lock:
        _slots.clear()
    for clear in on_clear_cache:
        clear()


def _expect(name, value, kind, expected):
    # bool is an int, but no number of anything.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidArgument(
            f"expects {name} to be {expected}, but got {type(value).__name__}"
        )
    return value


def _expect_text(name, value):
    if value is not None and "\0" in _expect(name, value, str, "a string"):
        raise InvalidArgument(f"expects {name} to be a string without a NUL")
    return value


def _read_program(program):
    """The bytes of a program, and the name of its file or None."""
    if isinstance(program, str):
        if not program.strip():
            raise InvalidArgument(
                "expects a program to be MLIR text or a path, but got an empty string"
            )
        # Each program has braces around a function, or lines.
        if "{" in program or "\n" in program:
            return program.encode(), None
    elif isinstance(program, (bytes, bytearray, memoryview)):
        return bytes(program), None
    elif not isinstance(program, os.PathLike):
        raise InvalidArgument(
            "expects a program to be MLIR text, bytes of MLIR or a path, but got"
            f" {type(program).__name__}"
        )
    path = os.fspath(program)
    with open(path, "rb") as file:
        return file.read(), os.fsdecode(path)


def _names(wrt):
    """The names of inputs, of which there are some, as a tuple; none for None."""
    if wrt is None:
        return ()
    try:
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    except TypeError:
        raise InvalidArgument(
            f"expects wrt to be names of inputs, but got {type(wrt).__name__}"
        ) from None
    if not names:
        raise InvalidArgument("expects wrt to name an input, but got no name")
    for name in names:
        if name is None or not _expect_text("a name in wrt", name):
            raise InvalidArgument(f"expects wrt to name inputs, but got {name!r}")
    return names


def _log_program(text):
    """Writes a program that is about to be compiled to stderr: ATTN_LOG=mlir."""
    if "mlir" not in os.environ.get("ATTN_LOG", "").split(","):
        return
    if text.startswith(b"ML\xefR"):
        lines = [f"{len(text)} bytes of bytecode"]
    else:
        lines = text.decode(errors="replace").splitlines()
    sys.stderr.write("".join(f"attn.mlir: {line}\n" for line in lines))


def differentiate(program, entry=None, wrt=None, joint=False):
    """The program, as text, that computes the gradients of another one.

    program  as `compile` takes it
    entry    the function, by default the only public one
    wrt      the name of an input to compute the gradient with respect to, or
             several; by default all inputs of floats that the results depend
             on, except those that only masks read
    joint    whether the program computes the results and returns them too,
             instead of taking them as inputs

    Its one public function takes the inputs, the results of floats (unless
    joint) and the gradients of a loss with respect to these results. It returns
    the gradients with respect to the inputs, in the order of the inputs. The
    name of a gradient is "d" and the name of its input.

    Raises CompileError for a name that no input of floats has, and for an
    operation without a derivative.
    """
    text, path = _read_program(program)
    _expect_text("entry", entry)
    _expect("joint", joint, bool, "a bool")
    return _native.differentiate(
        text, entry=entry, name=path, wrt=_names(wrt), joint=joint
    )


def compile(
    program,
    entry=None,
    target="auto",
    *,
    processor=None,
    schedule=None,
    schedules=None,
    sparsity="auto",
    bounds_check=False,
    deterministic=None,
    opt_level=None,
    name=None,
    tune="auto",
):
    """Compiles an attention program; the same program and options give the
    same kernel.

    program       MLIR text, the path of a file, or bytes of text or bytecode.
                  A string on one line without a brace is a path.
    entry         the function, by default the only public one
    target        "cpu", "cuda", or "auto": the device of the tensors of a call
    processor     "baseline", "avx2" or "avx512" instead of this CPU
    schedule      one for all attentions, such as "#attn.schedule<tile_m = ...>",
                  or for a GPU "#hopper.schedule<tile_m = ...>"
    schedules     for a GPU, the path of a table of schedules that replaces the
                  compiler's own
    sparsity      how sparse structures run: "auto" (by a cost model), "dense"
                  (all pairs, with a predicate), "blocks" (tiles without an
                  allowed pair are skipped), "lists" (single keys), or "gathered"
                  (tiles of the keys in such lists, on a GPU)
    bounds_check  whether reads of captures are checked while the kernel runs
    deterministic  True for gradients with the same bits run after run; False lets
                  a GPU add to dq in any order, which is faster; by default as
                  the program says for each gradient
    opt_level     effort of LLVM, from 0 to 3
    name          the name of the program in messages, by default the path
    tune          "auto" for the schedules that `Kernel.tune` or `attn-run --tune`
                  has found for similar extents, if any; "off" for the compiler's
                  choice; "full" tunes, for about 30 s, at the first call with
                  extents for which there is no entry, and needs a tuning
                  database
    """
    text, path = _read_program(program)
    if _expect("target", target, str, "a string") not in _TARGETS:
        raise InvalidArgument(
            f"expects target to be one of {', '.join(_TARGETS)}, but got {target!r}"
        )
    if processor is not None and processor not in _PROCESSORS:
        raise InvalidArgument(
            f"expects processor to be one of {', '.join(_PROCESSORS)}, but got"
            f" {processor!r}"
        )
    if _expect("sparsity", sparsity, str, "a string") not in _SPARSITIES:
        raise InvalidArgument(
            f"expects sparsity to be one of {', '.join(_SPARSITIES)}, but got"
            f" {sparsity!r}"
        )
    if _expect("tune", tune, str, "a string") not in _TUNINGS:
        raise InvalidArgument(
            f"expects tune to be one of {', '.join(_TUNINGS)}, but got {tune!r}"
        )
    if tune == "full" and os.environ.get("ATTN_TUNING_DB") in ("", "0", "off"):
        raise InvalidArgument(
            'expects a tuning database for tune="full", but ATTN_TUNING_DB is'
            f" {os.environ['ATTN_TUNING_DB']!r}: what is found would be lost"
        )
    _expect_text("entry", entry)
    _expect_text("schedule", schedule)
    _expect_text("name", name)
    if schedules is not None:
        _expect("schedules", schedules, (str, os.PathLike), "a path")
        schedules = _expect_text("schedules", os.fspath(schedules))
        if tune == "full":
            raise InvalidArgument(
                'expects tune="full" or schedules, but got both: kernels by a table of'
                " schedules take none of what tuning finds"
            )
    _expect("bounds_check", bounds_check, bool, "a bool")
    if deterministic is not None:
        _expect("deterministic", deterministic, bool, "a bool")
    if opt_level is not None:
        _expect("opt_level", opt_level, int, "an int")
        if not 0 <= opt_level <= 3:
            raise InvalidArgument(
                f"expects opt_level to be from 0 to 3, but got {opt_level}"
            )
    options = {
        "entry": entry,
        "name": path if name is None else name,
        "processor": processor,
        "schedule": schedule,
        "schedules": schedules,
        "deterministic": deterministic,
        "sparsity": sparsity,
        "bounds_check": bounds_check,
        # 0 means the usual one there, and -1 none.
        "level": {None: 0, 0: -1}.get(opt_level, opt_level),
        "tuning": "off" if tune == "off" else "auto",
    }
    same = {
        "processor": processor,
        "schedules": schedules,
        "sparsity": sparsity,
        "bounds_check": bounds_check,
        "deterministic": deterministic,
        "opt_level": opt_level,
        "name": options["name"],
        "tune": tune,
    }

    def gradient(wrt):
        # A kernel for a GPU has no result for the gradient of a number.
        grad = _native.differentiate(
            text,
            entry=entry,
            name=options["name"],
            wrt=_names(wrt),
            joint=False,
            tensors_only=target != "cpu",
        )
        return compile(grad, target=target, **same)

    first, on_cuda = target, None
    if target == "auto":
        # For the CPU at once, and for a GPU when there are tensors on one.
        first = "cpu"

        def on_cuda():
            return compile(text, entry, "cuda", schedule=schedule, **same)

    def retune(views, seconds, progress):
        report = _native.tune(
            text, first, views, seconds=seconds, progress=progress, **options
        )
        return report, _native.compile_kernel(text, first, **options)

    key = (text, target, tune, tuple(options.values()))
    with _slots_lock:
        slot = _slots.setdefault(key, _Slot())
    # Threads that want the same kernel wait for the first; others go on.
    with slot.lock:
        if slot.kernel is None:
            _log_program(text)
            try:
                handle = _native.compile_kernel(text, first, **options)
            except BaseException:
                with _slots_lock:
                    if _slots.get(key) is slot:
                        del _slots[key]
                raise
            slot.kernel = Kernel(handle, first, on_cuda, gradient, retune)
            if tune == "full" and schedule is None:
                slot.kernel._tuned = set()
        return slot.kernel


def load(package):
    """Loads a kernel from a package of `Kernel.save`.

    package  its bytes, or the path of a file

    A package has no program: the kernel has no gradients and cannot be tuned.
    Raises Unsupported for bytes that are no package, or one of another version or
    processor.
    """
    if not isinstance(package, (bytes, bytearray, memoryview)):
        if not isinstance(package, (str, os.PathLike)):
            raise InvalidArgument(
                "expects a package to be bytes or a path, but got"
                f" {type(package).__name__}"
            )
        with open(package, "rb") as file:
            package = file.read()
    handle = _native.load(bytes(package))
    return Kernel(handle, _native.target(handle))
