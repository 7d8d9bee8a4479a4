"""Compiles a program for a GPU, and runs kernels of it with the interpreter."""

import glob
import os
import re
import subprocess
import tempfile
import typing

import numpy

import attributes
import memory as memories
import ptx
import warp


class Operand(typing.NamedTuple):
    """What a kernel is told of an operand: a tensor, or a number.

    Strides are in elements. A tensor without a region is one that only the
    tensor engine reads: threads know its address and may read nothing.
    """

    shape: tuple = ()
    strides: tuple = ()
    region: typing.Optional[memories.Region] = None
    scalar: typing.Optional[int] = None
    itemsize: int = 0


_MOST_PACKED = 64


def strides_of(shape):
    """Those of a tensor whose elements lie one behind the other."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(shape[dim], 1)
    return tuple(strides)


class Program:
    """The kernels of a program, with the schedule that the compiler chooses or
    another one: those that fill tables, loops before and behind the one of the
    attention or of gradients, and the one that combines the results of parts of
    the keys, if there is one. A launch may have loops alone."""

    def __init__(self, text, schedule=None, options=()):
        with tempfile.TemporaryDirectory() as folder:
            path = _write_program(folder, text)
            options = list(options)
            options += [f"--schedule={schedule}"] if schedule else []
            ptx = _run(path, "--emit=ptx", "--first-schedule", *options)
            # The program whose translation that is.
            lowered = _run(path, "--until-after=reconcile-unrealized-casts", *options)
        self._take(ptx, lowered)

    @classmethod
    def all(cls, text, schedule=None):
        """Each launch of a program, or the one that has another schedule."""
        return [cls(text, schedule)] if schedule else cls.of_launches(text)

    @classmethod
    def of_launches(cls, text, options=()):
        """Each launch of a program, with its first schedule."""
        with tempfile.TemporaryDirectory() as folder:
            path = _write_program(folder, text)
            emit = ["--emit=package", f"--emit-to={folder}/package", "--first-schedule"]
            _run(path, *emit, f"--dump-ir={folder}/dump", *options)
            programs = []
            while True:
                start = f"launch-{len(programs)}-" if programs else ""
                paths = glob.glob(f"{folder}/dump/{start}schedule-0/*")
                if not paths:
                    return programs
                files = {}
                for name in paths:
                    with open(name) as file:
                        files[os.path.basename(name)] = file.read()
                (last,) = (x for x in files if "reconcile-unrealized-casts" in x)
                programs.append(cls.__new__(cls))
                programs[-1]._take(files["kernel.ptx"], files[last])

    def _take(self, text, lowered):
        self.ptx = text
        kernels = attributes.kernels_of(lowered)
        self.prologues = {n: x for n, x in kernels.items() if "elements" in x}
        self.combines = {n: x for n, x in kernels.items() if "combine" in x}
        self.loops = {n: x for n, x in kernels.items() if "vector_loop" in x}
        helpers = {**self.prologues, **self.combines, **self.loops}
        rest = [name for name in kernels if name not in helpers]
        if len(rest) > 1 or not kernels:
            raise ptx.PtxError(f"expects one kernel of the attention, not {rest}")
        # Loops alone know what launches share, too.
        self.name = rest[0] if rest else None
        self.kernel = kernels[rest[0]] if rest else next(iter(kernels.values()))
        self._entries = {}
        # By kernel, what has been made of its code for some arguments.
        self.codes = {}

    def entry(self, name):
        if name not in self._entries:
            self._entries[name] = ptx.parse(self.ptx, name)
        return self._entries[name]

    def set_entry(self, name, entry):
        """What runs instead of what the compiler made."""
        self._entries[name] = entry

    def schedule(self, name):
        """A number or a flag of the schedule of the attention."""
        match = re.search(rf"\b{name}\b(?: = (\d+))?", self.kernel["schedule"])
        return match and int(match[1] or 1)


def _write_program(folder, text):
    path = os.path.join(folder, "program.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


def _run(path, *options):
    command = ["attn-run", path, "--target=cuda", *options]
    # The first schedule is taken, whatever an assembler would say of it.
    environment = {**os.environ, "ATTN_PTXAS": "off"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise ptx.PtxError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


class Launch:
    """A program on operands: their memory, the tables, and the counter."""

    def __init__(self, program, parts=1):
        """The keys of a tile have so many parts, if they are shared out."""
        self.program = program
        self.parts = parts
        self.memory = memories.Memory()
        self.operands = []
        # Zero between launches, as the kernel leaves it.
        self.counter = self.memory.add("counter", "global", 8)
        self.counter.fill(numpy.zeros(2, numpy.uint32))
        self.counter.writable[:] = True

    def add_tensor(self, name, array, gap=0):
        """An operand with elements, which kernels may read; without dimensions
        a number, or a tensor of one, as parameters say. Behind each row there
        are `gap` elements that nobody may touch."""
        array = numpy.asarray(array)
        bits = None if array.ndim else int.from_bytes(array.tobytes(), "little")
        shape = array.shape
        mask = None
        if gap:
            widths = [(0, 0)] * (array.ndim - 1) + [(0, gap)]
            mask = numpy.pad(numpy.ones(shape, bool), widths)
            array = numpy.pad(array, widths)
        region = self.memory.add(name, "global", array.nbytes)
        region.fill(array, mask)
        self.operands.append(
            Operand(shape, strides_of(array.shape), region, bits, array.itemsize)
        )

    def add_shape(self, shape):
        """An operand whose elements no thread that is run may touch."""
        self.operands.append(Operand(tuple(shape), strides_of(shape)))

    def add_scalar(self, number):
        self.operands.append(Operand(scalar=number))

    def add_scratch(self):
        """Memory that launches fill for each other, after all operands."""
        self._add_tables(self.program.kernel.get("scratch"), "scratch")

    def behind(self, program):
        """The next launch, of another program on the same operands."""
        other = Launch(program, self.parts)
        other.memory, other.counter = self.memory, self.counter
        other.operands = list(self.operands)
        return other

    def add_tables(self):
        """Memory for the tables, which are operands after all others."""
        self._add_tables(self.program.kernel.get("tables"), "table")

    def _add_tables(self, tables, name):
        if not tables:
            return
        if tables["first"] != len(self.operands):
            raise ptx.PtxError(f"expects {tables['first']} operands before the tables")
        for number, table in enumerate(tables["tables"]):
            shape = tuple(self._extent(x) for x in table["extents"])
            size = int(numpy.prod(shape)) * table["bytes"]
            region = self.memory.add(f"{name} {number}", "global", size)
            if "zero" in table:
                region.fill(numpy.zeros(size, numpy.uint8))
            region.writable[:] = True
            self.operands.append(
                Operand(shape, strides_of(shape), region, itemsize=table["bytes"])
            )

    def _extent(self, extent):
        if "num_splits" in extent:
            return self.parts
        more = 0
        if "plus_rows" in extent:
            more = int(numpy.prod(self.operands[extent["plus_rows"]].shape[:-1]))
        if "extent" in extent:
            return extent["extent"] + more
        size = self.operands[extent["operand"]].shape[extent["dim"]]
        return -(-size // extent["divisor"]) + more

    def iterations(self, loop):
        """How many warps a kernel of a loop needs."""
        extents = loop["vector_loop"]["extents"]
        return int(numpy.prod([self._extent(x) for x in extents]))

    def arguments(self, kernel):
        """What each parameter is made from, by the attribute of the kernel."""
        return [self._argument(**parameter) for parameter in kernel["params"]]

    def _argument(self, kind, operand=None, dim=None, **_):
        if kind == "counter":
            return self.counter.base
        if kind == "map":
            return None
        if kind == "packed_count":
            return self.packed()
        one = self.operands[operand]
        if kind == "pointer":
            # Of an operand that nobody may touch, an address of nothing.
            return one.region.base if one.region else 8
        if kind in ("extent", "long_extent"):
            return one.shape[dim]
        if kind == "stride":
            return one.strides[dim]
        if kind == "scalar":
            return one.scalar
        raise ptx.PtxError(f"does not know the parameter {kind}")

    def run_prologues(self):
        """Fills the tables: a warp for each element, and some that have none.
        Gives them as bytes, by how the attribute lists them."""
        for name, kernel in self.program.prologues.items():
            elements = int(numpy.prod(self.operands[kernel["elements"]].shape))
            threads = kernel["threads"]
            blocks = -(-elements * warp.LANES // threads) + 1
            warp.launch(
                self.program.entry(name),
                self.memory,
                self.arguments(kernel),
                blocks,
                threads // warp.LANES,
            )
        tables = self.program.kernel.get("tables")
        if not tables:
            return []
        kinds = {size: numpy.dtype(f"i{size}") for size in (1, 2, 4, 8)}
        # Kernels that follow only read them.
        result = []
        for operand, table in zip(self.operands[tables["first"] :], tables["tables"]):
            # The kernel itself fills those of parts.
            if any("num_splits" in extent for extent in table["extents"]):
                continue
            result.append(operand.region.values(kinds[table["bytes"]], operand.shape))
            operand.region.writable[:] = False
        return result

    def packed(self):
        """How many heads a tile has: the largest power of two that divides those
        of a group, up to the queries of a warpgroup."""
        grid = self.program.kernel["grid"]
        if "key_head_dim" not in grid:
            return 1
        heads = self.operands[grid["operand"]].shape[grid["dims"][1]]
        keys = self.operands[grid["key_operand"]].shape[grid["key_head_dim"]]
        group = heads // keys if keys else 0
        return min(group & -group, _MOST_PACKED) if group else 1

    def tiles(self):
        """The number of Q blocks of each head, and of all."""
        grid = self.program.kernel["grid"]
        shape = self.operands[grid["operand"]].shape
        batch, heads, rows = (shape[dim] for dim in grid["dims"])
        packed = self.packed()
        of_head = -(-rows * packed // self.program.schedule("tile_m"))
        return of_head, batch * (heads // packed) * of_head

    def run_combine(self):
        """Runs the kernel that combines parts: so many warps for each row, and some
        that have none."""
        ((name, kernel),) = self.program.combines.items()
        grid = self.program.kernel["grid"]
        shape = self.operands[grid["operand"]].shape
        rows = int(numpy.prod([shape[dim] for dim in grid["dims"]]))
        warps = kernel["threads"] // warp.LANES
        blocks = -(-rows * kernel["combine"] // warps) + 1
        entry = self.program.entry(name)
        warp.launch(entry, self.memory, self.arguments(kernel), blocks, warps)

    def run_rows(self):
        """Runs a kernel of which each warp computes one query."""
        kernel = self.program.kernel
        grid = kernel["grid"]
        shape = self.operands[grid["operand"]].shape
        batch, heads, rows = (shape[dim] for dim in grid["dims"])
        blocks = batch * heads * -(-rows // self.program.schedule("rows"))
        return warp.launch(
            self.program.entry(self.program.name),
            self.memory,
            self.arguments(kernel),
            blocks,
            kernel["threads"] // warp.LANES,
        )
