"""Tunes a list of programs and shapes:

    python -m attn.tune LIST.json [--seconds=N] [--database=FILE] [--again]
                        [--plot=FILE.svg|FILE.png]

LIST.json is an array of objects:

    program   the path of a program, relative to the list
    inputs    for each input, its shape; floats are random, and integers 0
    target    "cpu", the default, or "cuda"
    entry     the function, by default the only public one
    seconds   for this object, by default the --seconds of the command line

Results go into the database. LIST.json.done, beside the list, records what is done,
so that a run that was stopped continues where it stopped; --again starts from the
beginning. --plot draws what this run has tried: the times of candidates over the
time of the search, and the best so far. With a report (attn-run --tune
--format=json) or an export of a database (attn-tune-db export) in place of a list,
nothing is tuned, and --plot draws the contents of that file.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from . import _native, _tune_plot
from ._errors import Error

if TYPE_CHECKING:

    class _Needed(TypedDict):
        program: str
        inputs: Sequence[Sequence[int]]

    class _Item(_Needed, total=False):
        target: Literal["cpu", "cuda"]
        entry: str | None
        seconds: float



def _inputs(infos, shapes, where):
    """Tensors of these shapes, as dense bytes."""
    try:
        import numpy
    except ImportError as error:
        raise Error("tuning a list draws its inputs with NumPy: install it") from error

    if len(shapes) != len(infos):
        raise ValueError(
            f"{where}: expects {len(infos)} shapes, one for each input, but got"
            f" {len(shapes)}"
        )
    random = numpy.random.default_rng(0)
    tensors = []
    for (name, dtype, expected), shape in zip(infos, shapes):
        fits = len(shape) == len(expected) and all(
            want is None or want == have for want, have in zip(expected, shape)
        )
        if not fits:
            raise ValueError(
                f"{where}: expects input '{name}' to have shape {expected}, but got"
                f" {tuple(shape)}"
            )
        values = random.standard_normal(shape, numpy.float32)
        if dtype == "bf16":
            # The upper half of the bits of an f32.
            data = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
        elif dtype in ("f64", "f32", "f16"):
            data = values.astype({"f64": "f8", "f32": "f4", "f16": "f2"}[dtype])
        else:
            size = {"i1": 1, "i8": 1, "i16": 2, "i32": 4}.get(dtype, 8)
            data = numpy.zeros(shape, f"i{size}")
        tensors.append(data)
    return tensors


def tune_one(
    item: _Item,
    folder: pathlib.Path,
    seconds: float,
    database: str | None,
    progress: Callable[[str], object],
) -> dict[str, Any]:
    """Tunes one entry of a list, and returns the report."""
    path = folder / item["program"]
    program = path.read_bytes()
    target = item.get("target", "cpu")
    options = {"entry": item.get("entry"), "name": str(path)}
    handle = _native.compile_kernel(program, target, tuning="off", **options)
    try:
        infos = _native.inputs(handle)
    finally:
        _native.release(handle)
    arrays = _inputs(infos, item["inputs"], path)
    inputs = [
        _native.HostTensor(array.ctypes.data, dtype, array.shape)
        for array, (_, dtype, _) in zip(arrays, infos)
    ]
    return _native.tune(
        program,
        target,
        inputs,
        seconds=item.get("seconds", seconds),
        database=database,
        progress=progress,
        **options,
    )


def _is_item(item):
    return (
        isinstance(item, dict)
        and isinstance(item.get("program"), str)
        and isinstance(item.get("inputs"), list)
        and isinstance(item.get("seconds", 0), (int, float))
    )


def _read_searches(content):
    """What `_tune_plot.plot` draws of a report of attn-run, or of an export of a
    database."""
    if "tuning" in content:
        extents = " ".join(
            f"{tensor['name']}={'x'.join(map(str, tensor['shape']))}"
            for tensor in content["arguments"]
        )
        title = f"{content['entry']} {extents}\n{content['tuning']['device']}"
        return [(title, content["tuning"])]
    return [
        (f"{entry['name']} {entry['extents']}\n{entry['device']}", entry)
        for entry in content["entries"]
        if entry["trials"]
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attn.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--database")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args(arguments)
    try:
        items = json.loads(args.list.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"cannot read the list: {error}")
    if args.plot:
        try:
            _tune_plot.expect_drawable(args.plot)
        except Error as error:
            parser.error(f"cannot draw: {error}")
    if args.plot and isinstance(items, dict):
        try:
            _tune_plot.plot(_read_searches(items), args.plot)
        except (KeyError, TypeError) as error:
            parser.error(
                "expects a list, a report of attn-run --tune or an export, but cannot"
                f" read it: {error!r}"
            )
        except (Error, OSError) as error:
            parser.error(f"cannot draw: {error}")
        return 0
    if not isinstance(items, list) or not all(map(_is_item, items)):
        parser.error(
            "expects a list of objects with program and inputs, and numbers as seconds"
        )
    done_path = args.list.with_name(args.list.name + ".done")
    done = {}
    if not args.again and done_path.exists():
        try:
            done = json.loads(done_path.read_text())
        except ValueError as error:
            parser.error(f"cannot read {done_path}, delete it: {error}")
    searches, failures = [], 0
    for number, item in enumerate(items, 1):
        key = json.dumps(item, sort_keys=True)
        title = f"{number} of {len(items)}: {item.get('program')}"
        if key in done:
            print(f"{title}: done before, {done[key]}", flush=True)
            continue

        def progress(step):
            if sys.stderr.isatty():
                print(f"\r\033[K{title}: {step}", end="", file=sys.stderr, flush=True)

        try:
            report = tune_one(
                item, args.list.parent, args.seconds, args.database, progress
            )
        except (Error, OSError, ValueError, KeyError) as error:
            failures += 1
            print(f"{title}: failed: {error}", flush=True)
            continue
        finally:
            progress("")
        kept = "" if report["kept"] else f"; not kept: {report['note']}"
        print(f"{title}: {report['summary']}{kept}", flush=True)
        searches.append((title, report))
        if report["kept"]:
            done[key] = report["summary"]
            # Complete or as it was, whenever this is stopped.
            new = done_path.with_name(done_path.name + ".new")
            new.write_text(json.dumps(done, indent=1))
            os.replace(new, done_path)
    if args.plot and searches:
        try:
            _tune_plot.plot(searches, args.plot)
        except OSError as error:
            failures += 1
            print(f"cannot draw: {error}", flush=True)
    elif args.plot:
        print("nothing was tuned, and there is nothing to draw", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
