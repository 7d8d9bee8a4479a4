"""Runs all kernels of a program as a GPU does: whole CTAs, some at a
time, in an order that a seed decides."""

import functools

import numpy

import block as blocks
import steps
import ptx
import shared
import tensors

# CTAs that run at the same time.
_AT_ONCE = 2


class Kernel:
    """A kernel with its arguments on a launch."""

    def __init__(self, launch, name, attributes):
        self._launch = launch
        self.entry = launch.program.entry(name)
        self._maps = {}
        # Variables lie before what the launch asks for.
        symbols, size = {}, 0
        for variable, bytes_, alignment in self.entry.variables:
            size = -(-size // alignment) * alignment
            symbols[variable] = shared.BASE + size
            size += bytes_
        size = -(-size // 1024) * 1024
        symbols["attn_shared"] = shared.BASE + size
        self._shared_bytes = size + attributes.get("shared_bytes", 0)
        arguments = launch.arguments(attributes)
        if len(arguments) != len(self.entry.parameters):
            raise ptx.PtxError(f"expects {len(self.entry.parameters)} arguments")
        parameters = zip(self.entry.parameters, arguments, attributes["params"])
        for (parameter, size), value, how in parameters:
            region = launch.memory.add(parameter, "param", size)
            symbols[parameter] = region.base
            if how["kind"] == "map":
                self._maps[region.base] = self._make_map(**how)
            else:
                bits = int(value) & ((1 << 8 * size) - 1)
                region.fill(
                    numpy.frombuffer(bits.to_bytes(size, "little"), numpy.uint8)
                )
        self._code = steps.Code(self.entry, symbols)
        # What was made of the code before holds for the same arguments.
        known = launch.program.codes.get(name)
        if known and known[1:] == (symbols, arguments):
            self._code.reuse(known[0])
        launch.program.codes[name] = self._code, symbols, arguments
        # Steps of all warps, and the instructions that do more than compute.
        self.steps, self.used = 0, set()
        self._pool = []

    def loads(self, name):
        """What the tensor engine has loaded of an operand: of each box at the first
        column, the CTA, how many boxes it had loaded before, and the first batch,
        head and row."""
        return [
            (number, before, at[:0:-1])
            for one in self._maps.values()
            for number, before, at in (one.loads if one.region.name == name else ())
            if at[0] == 0
        ]

    def _make_map(self, operand, dims, rows, columns, packed=False, **_):
        """As lib/Runtime/Cuda/Binding.cpp does: the innermost dimension first."""
        dims, box = list(dims[::-1]), [columns, rows, 1, 1]
        if packed:
            heads = self._launch.packed()
            dims[1:3] = dims[2], dims[1]
            box = [columns, heads, rows // heads, 1]
        one = self._launch.operands[operand]
        itemsize = one.itemsize
        if one.region is None:
            raise ptx.PtxError(f"expects operand {operand} to have elements")
        if not one.region.bytes.size:
            # There is nothing, but the hardware wants something: one NaN.
            region = self._launch.memory.add(f"instead of {operand}", "global", 16)
            region.fill(numpy.full(8, 0x7FFF, numpy.uint16))
            strides = [itemsize] + [16] * (len(dims) - 1)
            return tensors.TensorMap(region, itemsize, [1] * len(dims), strides, box)
        # A dimension that the operand has not is one of extent 1.
        extents = [one.shape[dim] if dim >= 0 else 1 for dim in dims]
        strides = [one.strides[dim] * itemsize for dim in dims]
        strides = [x if y > 1 else 16 for x, y in zip(strides, extents)]
        strides[0] = itemsize
        return tensors.TensorMap(one.region, itemsize, extents, strides, box)

    def run(self, count, seed, late):
        """Runs so many CTAs. Copies are late with a probability."""
        draw = numpy.random.default_rng(seed)
        make = functools.partial(
            blocks.CTA,
            self._code,
            self._launch.memory,
            self._maps,
            self._shared_bytes,
            draw=draw,
            late=late,
            pool=self._pool,
        )
        waiting, running = list(range(count)), []
        # Integers wrap, floats become infinite or NaN, all as on a GPU.
        with numpy.errstate(all="ignore"):
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    number = waiting.pop(0)
                    running.append((number, make(place=(number, count))))
                number, one = running[draw.integers(len(running))]
                try:
                    alive = one.run()
                except ptx.PtxError as error:
                    raise ptx.PtxError(f"CTA {number}, {error}") from None
                if not alive:
                    running.remove((number, one))
                    self.steps += sum(warp.steps for warp in one.warps)
                    self.used |= one.used


def run(launch, seed=0, blocks=3, late=1.0):
    """Runs the kernels of a program in their order: persistent ones as so many
    CTAs, others as many as there are tiles. Gives the main one, if there is one."""
    program = launch.program
    for name, attributes in program.prologues.items():
        table = launch.operands[attributes["elements"]]
        warps = int(numpy.prod(table.shape))
        if "rows" in attributes:
            warps //= table.shape[-1]
        if "warp_elements" in attributes:
            last = table.shape[-1]
            warps = warps // last * -(-last // attributes["warp_elements"])
        if "blocks" in attributes:
            warps *= attributes["threads"] // 32
        _run_warps(launch, name, attributes, warps, seed)
    _run_loops(launch, False, seed)
    if not program.name:
        return None
    kernel = program.kernel
    if program.schedule("rows"):
        shape = launch.operands[kernel["grid"]["operand"]].shape
        batch, heads, rows = (shape[dim] for dim in kernel["grid"]["dims"])
        count = batch * heads * -(-rows // program.schedule("rows"))
    else:
        count = launch.tiles()[1] * launch.parts
    if program.schedule("persistent"):
        count = min(count, blocks)
    main = Kernel(launch, program.name, kernel)
    main.run(count, seed, late)
    _run_loops(launch, True, seed)
    for name, attributes in program.combines.items():
        shape = launch.operands[kernel["grid"]["operand"]].shape
        rows = int(numpy.prod([shape[dim] for dim in kernel["grid"]["dims"]]))
        _run_warps(launch, name, attributes, rows * attributes["combine"], seed)
    if launch.counter.bytes.any():
        raise ptx.PtxError("expects the counter to be 0 after all CTAs")
    return main


def _run_loops(launch, isBehind, seed):
    for name, attributes in launch.program.loops.items():
        if ("behind" in attributes["vector_loop"]) == isBehind:
            _run_warps(launch, name, attributes, launch.iterations(attributes), seed)


def _run_warps(launch, name, attributes, warps, seed):
    count = -(-warps * 32 // attributes["threads"])
    if count:
        Kernel(launch, name, attributes).run(count, seed, 1.0)
