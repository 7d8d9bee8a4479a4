"""Instructions of matrices: products of warpgroups, and moves of 8x8 matrices
between registers and shared memory."""

import re

import numpy

import operations
from ptx import PtxError, Vector
from shared import GRAIN
from straight import LANES
from tensors import swizzle

_PRODUCT = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16|f16)\.(bf16|f16)$"
)
_MOVE = re.compile(
    r"(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(?:::cta)?\.b16$"
)
_DEPTH = 16
# By the bits of a descriptor, the bytes of a row of a swizzled tile.
_WIDTHS = {0: 0, 1: 128, 2: 64, 3: 32}


def make(code, instruction, step):
    opcode = instruction.opcode
    match = _PRODUCT.match(opcode)
    if match and match[2] == match[3]:
        return _make_product(code, instruction, step, int(match[1]), match[2])
    match = _MOVE.match(opcode)
    if match:
        return _make_move(code, instruction, *match.groups())
    if opcode == "movmatrix.sync.aligned.m8n8.trans.b16":
        return _make_transpose(code, instruction)
    if opcode == "wgmma.fence.sync.aligned":
        return lambda warp, mask: warp.products.fence()
    if opcode == "wgmma.commit_group.sync.aligned":
        return lambda warp, mask: warp.products.commit()
    if opcode == "wgmma.wait_group.sync.aligned":
        most = instruction.operands[0].bits
        return lambda warp, mask: warp.products.wait(warp, most)
    return None


class Products:
    """The products of a warp that are under way, and what they use: registers as
    sets of bits."""

    def __init__(self):
        # Those of groups that are not waited for; the last is open.
        self._groups = [[0, 0]]
        self._committed = 0
        self.results = self.factors = 0
        # What others have read or written since the last fence: at first all.
        self.unfenced = -1
        # All products, which are the same for the warps of a warpgroup.
        self.history = 0

    def fence(self):
        self.unfenced = 0

    def commit(self):
        self._groups.append([0, 0])
        self._committed += 1

    def wait(self, warp, most):
        first = max(len(self._groups) - 1 - most, 0)
        self._groups = self._groups[first:]
        self._sum()
        agent = warp.block.agents.products(warp.number)
        seen = warp.clock.seen
        seen[agent] = max(seen[agent], self._committed - most)

    def _sum(self):
        self.results = self.factors = 0
        for results, factors in self._groups:
            self.results |= results
            self.factors |= factors

    def begin(self, layout, results, factors):
        """Gives the number of its group."""
        if factors & self.results:
            names = layout.names(factors & self.results)
            raise PtxError(f"{names[0]} is a result of a product under way")
        if results & self.factors:
            names = layout.names(results & self.factors)
            raise PtxError(f"{names[0]} is a factor of a product under way")
        wrong = (results | factors) & self.unfenced
        if wrong:
            names = layout.names(wrong)
            raise PtxError(f"{names[0]} is used without a wgmma.fence after it")
        self._groups[-1][0] |= results
        self._groups[-1][1] |= factors
        self._sum()
        return self._committed + 1

    def check(self, layout, reads, writes, text):
        """Of another instruction."""
        wrong = (reads | writes) & self.results or writes & self.factors
        if wrong:
            kind = "result" if wrong & self.results else "factor"
            raise PtxError(
                f"{layout.names(wrong)[0]} is a {kind} of a product under way: {text}"
            )

    def pending(self):
        return len(self._groups) > 1 or self._groups[0] != [0, 0]


class Descriptor:
    """A factor in shared memory: rows of 16 elements of the sum's dimension
    (K-major), or, transposed, 16 rows of them. Numbers are bytes."""

    def __init__(self, bits):
        self.start = (bits & 0x3FFF) << 4
        self.leading = (bits >> 16 & 0x3FFF) << 4
        self.stride = (bits >> 32 & 0x3FFF) << 4
        self.width = _WIDTHS[bits >> 62]
        if bits >> 49 & 7:
            raise PtxError("does not know descriptors with a base offset")

    def places(self, rows, is_transposed):
        """Where elements of given rows lie, relative to a multiple of 1024."""
        row, depth = rows[:, None], numpy.arange(_DEPTH)[None]
        width = self.width
        if is_transposed and width:
            own = width // 2
            place = row // own * self.leading + depth // 8 * self.stride
            place = place + depth % 8 * width + row % own * 2
        elif is_transposed:
            place = row // 8 * self.leading + depth // 8 * self.stride
            place = place + depth % 8 * 16 + row % 8 * 2
        elif width:
            place = row // 8 * self.stride + row % 8 * width + depth * 2
        else:
            place = row // 8 * self.stride + depth // 8 * self.leading
            place = place + row % 8 * 16 + depth % 8 * 2
        return swizzle(self.start % 1024 + place, width)


_PATTERNS = {}


def _pattern(bits, count, first, is_transposed):
    """Places of elements, and of grains, of a descriptor without its start."""
    key = bits & ~(0x3FC0), count, first, is_transposed
    found = _PATTERNS.get(key)
    if found is None:
        rows = numpy.arange(first, first + count)
        places = Descriptor(key[0]).places(rows, is_transposed)
        found = _PATTERNS[key] = places // 2, numpy.unique(places // GRAIN)
    return found


def _to_float(bits, type_):
    if type_ == "bf16":
        return operations.from_bf16(bits)
    return bits.view(numpy.float16).astype(numpy.float32)


def _load(warp, bits, count, first, is_transposed, type_, time, text):
    """Rows of a factor in shared memory as float32."""
    halves, grains = _pattern(bits, count, first, is_transposed)
    start = ((bits & 0x3FFF) << 4) & ~1023
    # Addresses have 18 bits here; those of the block start at a multiple.
    shared, agents = warp.block.shared, warp.block.agents
    grains = grains + start // GRAIN
    if grains[-1] * GRAIN >= shared.size:
        raise PtxError(f"a factor at +{start} is not in shared memory: {text}")
    known = warp.clock.of_async(agents)
    shared.read(grains, agents.products(warp.number), time, known, text)
    key = bits, count, first, is_transposed, type_
    cache = warp.block.factors
    if cache.get("version") != shared.version:
        cache.clear()
        cache["version"] = shared.version
    found = cache.get(key)
    if found is None:
        found = _to_float(shared.halves[halves + start // 2], type_)
        cache[key] = found
    return found


def _fragment(values):
    """A warp's 16 rows of 16 elements, from four registers of two."""
    halves = numpy.ascontiguousarray(values).view(numpy.uint16)
    halves = halves.reshape(2, 2, 8, 4, 2)
    return halves.transpose(1, 2, 0, 3, 4).reshape(16, 16)


def _make_product(code, instruction, step, columns, type_):
    results, left, right, scale, *rest = instruction.operands
    text = instruction.text
    count = columns // 2
    if not isinstance(results, Vector) or len(results.elements) != count:
        return None
    if any(x.bits & 0xFFFFFFFF not in (1, 0xFFFFFFFF) for x in rest[:2]):
        return None
    signs = [1.0 if x.bits == 1 else -1.0 for x in rest[:2]]
    in_registers = isinstance(left, Vector)
    transposes = [bool(x.bits) for x in rest[2:]]
    transpose_a = transposes[0] if not in_registers else False
    transpose_b = transposes[-1]
    names = [x.name for x in results.elements]
    get = code.getter(results.elements, "f32")
    put = code.translator.setter(names, numpy.dtype("f4"))
    get_a = code.getter(
        left.elements if in_registers else left, "u32" if in_registers else "u64"
    )
    get_b = code.getter(right, "u64")
    get_scale = code.getter(scale, "pred")
    result_bits = code.bits(results)
    factor_bits = code.bits(left) if in_registers else 0
    # What is checked as for other instructions.
    step.reads = code.bits(right) | code.bits(scale)
    step.reads |= 0 if in_registers else code.bits(left)
    step.writes = 0
    step.results = result_bits
    everything = numpy.ones(LANES, bool)

    def run(warp, mask):
        R = warp.R
        use = get_scale(R)
        if (use != use[0]).any():
            raise PtxError(f"threads of a warp differ: {text}")
        time = warp.products.begin(code.layout, result_bits, factor_bits)
        if use[0]:
            warp.check_defined(result_bits, text)
        bits_b = int(get_b(R)[0])
        bits_a = None
        first = 16 * (warp.number % 4)
        if in_registers:
            # Registers with one number are one.
            registers = numpy.broadcast_to(get_a(R), (4, LANES))
            a = _to_float(_fragment(registers), type_)
        else:
            bits_a = int(get_a(R)[0])
            a = _load(warp, bits_a, 16, first, transpose_a, type_, time, text)
        warp.block.check_same(warp, (step.start, bits_a, bits_b), text)
        b = _load(warp, bits_b, columns, 0, transpose_b, type_, time, text)
        product = (a * (signs[0] * signs[1])) @ b.T
        values = product.reshape(2, 8, columns // 8, 4, 2)
        values = values.transpose(2, 0, 4, 1, 3).reshape(count, LANES)
        if use[0]:
            values = values + get(R)
        put(R, values, everything)
        warp.defined |= result_bits

    return run


def _make_move(code, instruction, kind, number, transposes):
    """Thread 8 i + j has the address of row j of matrix i."""
    where, what = instruction.operands[:: 1 if kind == "st" else -1]
    number, text = int(number), instruction.text
    elements = what.elements if isinstance(what, Vector) else (what,)
    if len(elements) != number:
        return None
    address = code.address(where, "shared")
    if kind == "ld":
        set_all = code.setter(Vector(elements), numpy.dtype("u4"))

        def load(warp, mask):
            addresses = address(warp.R)[: 8 * number]
            rows = warp.load_shared(addresses, 16, None, text).view(numpy.uint16)
            rows = rows.reshape(number, 8, 8)
            if transposes:
                rows = rows.transpose(0, 2, 1)
            values = numpy.ascontiguousarray(rows).view(numpy.uint32)
            set_all(warp.R, values.reshape(number, LANES), mask)

        return load
    get = code.getter(elements, "u32")

    def store(warp, mask):
        # One row of registers, if all of them are the same.
        values = numpy.broadcast_to(get(warp.R), (number, LANES))
        values = numpy.ascontiguousarray(values).reshape(number, 8, 4)
        rows = values.view(numpy.uint16)
        if transposes:
            rows = rows.transpose(0, 2, 1)
        rows = numpy.ascontiguousarray(rows).reshape(8 * number, 8).view(numpy.uint8)
        warp.store_shared(address(warp.R)[: 8 * number], rows, None, text)

    return store


def _make_transpose(code, instruction):
    to, source = instruction.operands
    get, put = code.getter(source, "u32"), code.setter(to, numpy.dtype("u4"))

    def run(warp, mask):
        halves = numpy.ascontiguousarray(get(warp.R)).view(numpy.uint16).reshape(8, 8)
        put(
            warp.R,
            numpy.ascontiguousarray(halves.T).view(numpy.uint32).reshape(-1),
            mask,
        )

    return run
