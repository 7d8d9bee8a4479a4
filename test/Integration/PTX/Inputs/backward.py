"""Executes kernels of gradients that are written by hand, as steps of a loop or as
programs of tiles, with several schedules each, and compares dq, dk and dv with the
maths in float64.

Usage: backward.py PROGRAM.mlir [--schedule=...] [--save-ptx=FILE] [--no-run]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy

import attributes
import grid
import launch as launches
import operations
import ptx

_HERE = os.path.dirname(os.path.abspath(__file__))
_MEMBER = r"(\w+) = (\d+|\[[^]]*\]|\{[^}]*\})"
_TARGET = "-O3 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx81 --fp-contract=fast"


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ptx.PtxError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


class Program:
    """What a launch needs to know of a kernel that is written by hand."""

    def __init__(self, text):
        with tempfile.TemporaryDirectory() as folder:
            names = ("program.mlir", "nvvm.mlir", "kernels.mlir", "kernels.ll")
            files = [os.path.join(folder, name) for name in names]
            self._write(files[0], text)
            passes = ["--attn-hopper-to-nvvm"]
            if "attn.tile_loop" in text:
                passes.insert(0, "--attn-hopper-outline")
            lowered = _run("attn-opt", files[0], *passes)
            self._write(files[1], lowered)
            kernels = _run(sys.executable, f"{_HERE}/kernels.py", files[1])
            self._write(files[2], kernels)
            self._write(files[3], _run("mlir-translate", "--mlir-to-llvmir", files[2]))
            options = [*_TARGET.split(), "--nvptx-short-ptr"]
            self.ptx = _run("llc", *options, files[3], "-o", "-")
        ((self.name, self.kernel),) = attributes.kernels_of(lowered).items()
        self.codes = {}
        self._entry = ptx.parse(self.ptx, self.name)

    @staticmethod
    def _write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def entry(self, name):
        return self._entry


class Shape:
    """What a program is written for: its head dimension, the keys of a work tile
    and the queries of a block."""

    def __init__(self, text):
        sizes = r"tile_m = (\d+), tile_n = (\d+)"
        self.keys, self.queries = map(int, re.search(sizes, text).groups())
        self.width = int(re.search(r"(?:map<\d+x|tensor<\?x\?x\?x)(\d+)xbf16", text)[1])
        self.hasParts = "%dqlast" in text
        # What a warpgroup adds is 64 columns of dq, of all queries of a block; or 64
        # queries, of all columns or of 64.
        self.areColumns = self.keys != self.queries
        self.rows = self.queries if self.areColumns else self.width
        if self.hasParts:
            self.rows = 64
        self.isCausal = "attn.mask_tile" in text or "hopper.mask" in text


def _from_registers(values, rows):
    """Blocks of a result whose part of a warpgroup is 64 rows m, and `rows` columns
    n, in the order of registers: [..., block, part, n, m]."""
    t = numpy.arange(128)
    result = numpy.empty((*values.shape[:-1], rows, 64))
    parts = values.reshape(*values.shape[:-1], rows // 8, 128, 2, 2)
    for j, r, p in numpy.ndindex(rows // 8, 2, 2):
        n, m = 8 * j + 2 * (t % 4) + p, 16 * (t // 32) + t % 32 // 4 + 8 * r
        result[..., n, m] = parts[..., j, :, r, p]
    return result


def _join(blocks):
    """[batch, head, block, row, part, column] as rows and columns."""
    batches, heads, count, rows, parts, columns = blocks.shape
    return blocks.reshape(batches, heads, count * rows, parts * columns)


def _gradients(q, k, v, do, isCausal):
    """In float64, dq without its scale, and the log-sum-exp in base 2."""
    scale = q.shape[-1] ** -0.5
    scores = scale * q @ k.swapaxes(2, 3)
    if isCausal:
        i, j = numpy.indices(scores.shape[2:])
        scores = numpy.where(j <= i, scores, -numpy.inf)
    largest = scores.max(-1, keepdims=True, initial=-1e30)
    exponentials = numpy.exp(scores - largest)
    sums = exponentials.sum(-1, keepdims=True)
    p = exponentials / sums
    delta = (do * (p @ v)).sum(-1)
    ds = p * (do @ v.swapaxes(2, 3) - delta[..., None])
    lse = (largest + numpy.log(sums))[..., 0] * numpy.log2(numpy.e)
    dk = scale * ds.swapaxes(2, 3) @ q
    return ds @ k, dk, p.swapaxes(2, 3) @ do, lse, delta


def _check(name, found, expected):
    error = numpy.abs(found - expected).max(initial=0)
    error /= max(numpy.abs(expected).max(initial=0), 0.1)
    if not error < 0.01:
        raise ptx.PtxError(f"{name}: error {error}")
    return error


def _execute(program, shape, sizes, seed):
    """The largest error of a gradient, over its largest element."""
    batches, heads, queries, keys = sizes
    draw = numpy.random.default_rng(seed)
    extents = [keys, keys, queries, queries]
    tensors = [
        operations.to_bf16(
            draw.standard_normal((batches, heads, n, shape.width)).astype("f4")
        )
        for n in extents
    ]
    k, v, q, do = (operations.from_bf16(x).astype("f8") for x in tensors)
    dq, dk, dv, lse, delta = _gradients(q, k, v, do, shape.isCausal)
    count = -(-queries // shape.queries)
    padding = [(0, 0), (0, 0), (0, count * shape.queries - queries)]
    launch = launches.Launch(program)
    for name, tensor in zip(("k", "v", "q", "do"), tensors):
        launch.add_tensor(name, tensor)
    launch.add_tensor("lse", numpy.pad(lse, padding, constant_values=numpy.inf).astype("f4"))
    launch.add_tensor("delta", numpy.pad(delta, padding).astype("f4"))
    dq_shape = (batches, heads, count, 2, 64 * shape.rows)
    launch.add_tensor("dq", numpy.zeros(dq_shape, "f4"))
    for name in "dk", "dv":
        launch.add_tensor(name, numpy.zeros(k.shape, "u2"))
    last = (batches, heads, count, 128 * shape.queries)
    if shape.hasParts:
        launch.add_tensor("dqlast", numpy.zeros(last, "f4"))
    results = [operand.region for operand in launch.operands[6:]]
    for region in results:
        region.writable[:] = True
    for region in results[1:3]:
        region.defined[:] = False
    tiles = batches * heads * -(-keys // shape.keys)
    grid.Kernel(launch, program.name, program.kernel).run(tiles, seed, late=1.0)
    found = results[0].values(numpy.dtype("f4"), dq_shape).astype("f8")
    parts = _from_registers(found, shape.rows)
    if shape.hasParts:
        # Rows are queries; columns are in two parts of 64 and one of 128.
        more = results[3].values(numpy.dtype("f4"), last).astype("f8")[:, :, :, None]
        parts = [parts, _from_registers(more, 128)]
        parts = [_join(x.transpose(0, 1, 2, 5, 3, 4)) for x in parts]
        found = numpy.concatenate(parts, axis=-1)
    else:
        order = (0, 1, 2, 4, 3, 5) if shape.areColumns else (0, 1, 2, 3, 5, 4)
        found = parts.transpose(order).reshape(batches, heads, -1, shape.width)
    worst = _check("dq", found[:, :, :queries], dq)
    for name, region, expected in zip(("dk", "dv"), results[1:3], (dk, dv)):
        found = operations.from_bf16(region.values(numpy.dtype("u2"), k.shape))
        worst = max(worst, _check(name, found, expected))
    return worst


def _places(steps):
    """`a, b(1)` as a list of places."""
    places = []
    for name, stage in re.findall(r"([\w.]+)(?:\((\d)\))?", steps):
        places.append(f'#hopper.place<"{name}", {stage or 0}>')
    return f"schedule [{', '.join(places)}]"


def _replace(text, pattern, new):
    text, count = re.subn(pattern, lambda _: new, text, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"expects one '{pattern}', but got {count}")
    return text


def _vary(text, line):
    """A program with another order, exclusive steps, and members of its
    schedule."""
    order, exclusive, members = (x.strip() for x in (line + ";;").split(";")[:3])
    if order and "attn.tile_loop" in text:
        members = f"order = [{order}], exclusive = [{exclusive}], {members}"
        members = members.replace("exclusive = [], ", "")
        text = re.sub(r",\s*exclusive = \[[^]]*\]", "", text)
    elif order:
        names = ", ".join(f'"{x.strip()}"' for x in exclusive.split(",") if x.strip())
        new = _places(order) + (f" exclusive [{names}]" if names else "")
        text = _replace(text, r"schedule \[.*?\](?: exclusive \[.*?\])?(?= :)", new)
    for name, value in re.findall(_MEMBER, members):
        member = f"{name} = {value}"
        if f"{name} = " in text:
            pattern = rf"(?<=[<, ]){name} = (?:\d+|\[[^]]*\])(?=[,>])"
            text = _replace(text, pattern, member)
        else:
            text = text.replace("head_swizzle = 1", f"head_swizzle = 1, {member}", 1)
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument(
        "--schedule",
        action="append",
        default=[],
        help="another one than that of the program, such as"
        " 'load_q, qk, dk(1); exp, dp; in_flight = 3': the order, exclusive steps and"
        " members of the schedule",
    )
    parser.add_argument("--save-ptx", help="write that of the program as it is")
    parser.add_argument("--no-run", action="store_true")
    options = parser.parse_args()
    with open(options.program) as file:
        text = file.read()
    lines = ["", *options.schedule]
    shape = Shape(text)
    rows, keys = shape.queries, shape.keys
    sizes = [
        (1, 2, 2 * rows + 7, keys + 9),
        (2, 1, 1, 3),
        (1, 1, rows, keys),
        (1, 1, 4 * rows - 1, keys - 1),
        (1, 1, 0, 5),
    ]
    worst, count = 0, 0
    for line in lines:
        program = Program(_vary(text, line))
        if options.save_ptx and line == lines[0]:
            Program._write(options.save_ptx, program.ptx)
        for seed, size in enumerate([] if options.no_run else sizes):
            try:
                worst = max(worst, _execute(program, shape, size, seed))
            except ptx.PtxError as error:
                sys.exit(f"{line or 'as it is written'}, {size}: {error}")
            count += 1
    print(f"{len(lines)} schedules, {count} runs, largest error {worst:.4f}")


if __name__ == "__main__":
    main()
