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
             several; by default all of floats that the results depend on other
             than by a mask
    joint    whether it computes and returns the results too, and does not take
             them

    Its one public function takes the inputs, the results of floats (unless
    joint) and the gradients of a loss with respect to these, and returns the
    gradients with respect to the inputs, in their order. A gradient has the
    name of what it is of with a "d" in front.

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
    target        "cpu", "cuda", or "auto": where the tensors of a call are
    processor     "baseline", "avx2" or "avx512" instead of this CPU
    schedule      one for all attentions, such as "#attn.schedule<tile_m = ...>",
                  or for a GPU "#hopper.schedule<tile_m = ...>"
    schedules     for a GPU, the path of another table of schedules than the
                  compiler's own, by which it chooses
    sparsity      how sparse structures run: "auto" for what a model of their
                  costs says, "dense" with a predicate, "blocks" of which tiles
                  are passed over, "lists" of single keys, or "gathered", tiles
                  of the keys in such lists, on a GPU
    bounds_check  whether reads of captures are checked while the kernel runs
    deterministic  whether gradients have the same bits run after run, or, if
                  False, may add to dq in any order, where that is faster on a
                  GPU; by default as the program says of each
    opt_level     effort of LLVM, from 0 to 3
    name          that of the program in messages, by default the path
    tune          "auto" for schedules that `Kernel.tune` or `attn-run --tune` has
                  found for extents like those of a call, where there are any, or
                  "off" for what the compiler chooses; "full" tunes at the first
                  call with extents of which nothing is known, for about 30 s, and
                  needs a tuning database to keep that in
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
    """The kernel of a package that `Kernel.save` has made.

    package  its bytes, or the path of a file

    The kernel has no program, so that it has no gradients and is not tuned.
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
