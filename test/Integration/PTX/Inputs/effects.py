"""Instructions that touch memory or other threads, but for those of the tensor
engine and of matrices: loads and stores, atomics, votes and shuffles, barriers.

`make(code, instruction, step)` is what an instruction does to the threads `mask`
of a warp, or None; that gives true if the warp has to wait.
"""

import re

import numpy

import operations
from ptx import Immediate, PtxError, Vector
from straight import LANES
from warp import _REDUCTIONS as REDUCTIONS
from warp import _pack_bits as pack_bits
from warp import _source_lanes as source_lanes

_ACCESS = re.compile(
    r"(ld|st)(\.volatile|\.(?:relaxed|acquire|release)\.(?:cta|gpu|sys))?(?:\.weak)?"
    r"\.(param|shared|global)(?:::cta)?(?:\.nc)?(?:\.L[12]::\w+)*"
    r"(?:\.v([248]))?\.([busf]\d+)$"
)
_ATOMIC = re.compile(
    r"(atom|red)\.(?:relaxed\.|acquire\.|release\.|acq_rel\.)?(?:gpu\.|sys\.|cta\.)?"
    r"(global|shared)(?:::cta)?\.(add|min|max|and|or|xor|exch)(?:\.v([24]))?\.([busf]\d+)$"
)
_CHANGES = {
    "add": numpy.add,
    "min": numpy.minimum,
    "max": numpy.maximum,
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "exch": lambda old, new: new,
}
_NOTHING = re.compile(
    r"fence\.(acq_rel|sc)\.|fence\.proxy\.(tensormap|alias|async\.global)|membar\.|prefetch|nanosleep"
    r"|bar\.warp\.sync$|griddepcontrol"
)
_TYPE = operations.type_of


def make(code, instruction, step):
    opcode = instruction.opcode
    for pattern, maker in _MAKERS:
        match = re.match(pattern, opcode)
        if match:
            return maker(code, instruction, match)
    return None


def _make_access(code, instruction, match):
    kind, is_atomic, space, count, type_ = match.groups()
    type_, text = _TYPE(type_), instruction.text
    where, what = instruction.operands[:: 1 if kind == "st" else -1]
    elements = what.elements if isinstance(what, Vector) else (what,)
    if len(elements) != int(count or 1):
        return None
    if is_atomic and space == "shared" and kind == "st":
        return None
    address = code.address(where, space)
    size = type_.itemsize * len(elements)
    if kind == "ld":
        set_all = code.setter(Vector(elements), type_)
        if space == "param" and where.base.name in code.symbols:
            return _load_parameter(address(None), size, type_, set_all, text)

        def load(warp, mask):
            addresses = address(warp.R)[mask]
            if space == "shared":
                rows = warp.load_shared(addresses, size, mask, text, is_atomic)
            else:
                rows = warp.memory.load(addresses, size, space, text)
            values = numpy.zeros((len(elements), LANES), type_)
            values[:, mask] = rows.view(type_).T
            set_all(warp.R, values, mask)

        return load
    getters = [code.translator.getter(x, type_) for x in elements]

    def store(warp, mask):
        columns = [get(warp.R)[mask] for get in getters]
        rows = numpy.ascontiguousarray(numpy.stack(columns, 1)).view(numpy.uint8)
        addresses = address(warp.R)[mask]
        if space == "shared":
            warp.store_shared(addresses, rows, mask, text)
        else:
            warp.memory.store(addresses, rows, space, text)

    return store


def _load_parameter(addresses, size, type_, set_all, text):
    """It is always the same."""
    known = []

    def load(warp, mask):
        if not known:
            rows = warp.memory.load(addresses, size, "param", text)
            known.append(numpy.ascontiguousarray(rows.view(type_).T))
        set_all(warp.R, known[0], mask)

    return load


def _make_atomic(code, instruction, match):
    kind, space, operation, count, type_ = match.groups()
    type_, text = _TYPE(type_), instruction.text
    operands = instruction.operands
    has_result = kind == "atom"
    to = operands[0] if has_result else None
    where, what = operands[has_result : has_result + 2]
    elements = what.elements if isinstance(what, Vector) else (what,)
    address = code.address(where, space)
    getters = [code.translator.getter(x, type_) for x in elements]
    setter = code.setter(to, type_) if has_result else None
    size, change = type_.itemsize, _CHANGES[operation]

    def apply(warp, addresses, given):
        """To places that differ; gives what was there."""
        old = warp.memory.load(addresses, size, space, text).view(type_)[:, 0]
        new = change(old, given).astype(type_)
        warp.memory.store(addresses, new[:, None].view(numpy.uint8), space, text)
        return old

    def apply_shared(warp, mask):
        addresses, given = address(warp.R), getters[0](warp.R)
        old = numpy.zeros(LANES, type_)
        for lane in _lanes(mask):
            own = given[lane : lane + 1]

            def change_bytes(bytes_):
                new = change(bytes_.view(type_), own).astype(type_)
                return new.view(numpy.uint8)

            bytes_ = warp.change_shared(addresses[lane], change_bytes, text)
            old[lane] = bytes_.view(type_)[0]
        warp.part(mask)
        if setter:
            setter(warp.R, old, mask)

    if space == "shared":
        return apply_shared if size == 4 and len(elements) == 1 else None

    def run(warp, mask):
        addresses = address(warp.R)[mask]
        width = size * len(elements)
        if (addresses % numpy.uint64(width)).any():
            raise PtxError(f"an address is no multiple of {width}: {text}")
        old = numpy.zeros(LANES, type_)
        for number, get in enumerate(getters):
            places, given = addresses + numpy.uint64(size * number), get(warp.R)[mask]
            if numpy.unique(places).size == places.size:
                old[mask] = apply(warp, places, given)
                continue
            found = [
                apply(warp, places[n : n + 1], given[n : n + 1])
                for n in range(places.size)
            ]
            old[mask] = numpy.concatenate(found)
        if setter:
            setter(warp.R, old, mask)

    return run


# Threads of a warp.


def _members(code, instruction):
    operand = instruction.operands[-1]
    get = code.getter(operand, "u32")
    is_all = isinstance(operand, Immediate) and operand.bits & 0xFFFFFFFF == 0xFFFFFFFF

    def check(warp, mask):
        if not (is_all or (get(warp.R) == 0xFFFFFFFF).all()) or not mask.all():
            raise PtxError(
                f"expects all threads of the warp to take part: {instruction.text}"
            )

    return check


def _make_exchange(code, instruction, match):
    opcode, operands = instruction.opcode, instruction.operands
    parts = opcode.split(".")
    check = _members(code, instruction)
    if opcode in ("vote.sync.ballot.b32", "vote.sync.any.pred", "vote.sync.all.pred"):
        count = {"ballot": pack_bits, "any": numpy.any, "all": numpy.all}[parts[2]]
        source, result = _TYPE("pred"), _TYPE("u32" if parts[2] == "ballot" else "pred")

        def compute(warp, values):
            return numpy.full(LANES, count(values), result)

    elif re.match(
        r"redux\.sync\.(min|max|add)\.[us]32$|redux\.sync\.(and|or|xor)\.b32$", opcode
    ):
        source = result = _TYPE(parts[-1])

        def compute(warp, values):
            return numpy.full(LANES, REDUCTIONS[parts[2]](values), result)

    elif re.match(r"shfl\.sync\.(idx|bfly|up|down)\.b32$", opcode):
        source = result = _TYPE("u32")
        getters = [code.getter(x, "u32") for x in operands[2:4]]
        fixed = None
        if all(isinstance(x, Immediate) for x in operands[2:4]):
            fixed = source_lanes(parts[2], *(get(None).astype(int) for get in getters))

        def compute(warp, values):
            if fixed is not None:
                return values[fixed]
            numbers = (get(warp.R).astype(int) for get in getters)
            return values[source_lanes(parts[2], *numbers)]

    else:
        return None
    get = code.translator.getter(operands[1], source)
    put = code.setter(operands[0], result)

    def run(warp, mask):
        check(warp, mask)
        put(warp.R, compute(warp, get(warp.R)), mask)

    return run


# Barriers.


def _one(values, text):
    """The value that all threads have."""
    if (values != values[0]).any():
        raise PtxError(f"threads of a warp differ: {text}")
    return int(values[0])


def _make_named_barrier(code, instruction, match):
    operands, text = instruction.operands, instruction.text
    waits = match[1] == "sync"
    getters = [code.getter(x, "u32") for x in operands]
    if not waits and len(getters) != 2:
        return None

    def run(warp, mask):
        numbers = [_one(get(warp.R), text) for get in getters]
        block = warp.block
        barrier = block.named_barrier(numbers[0])
        if warp.generation is None:
            threads = numbers[1] if len(numbers) > 1 else block.threads
            warp.meet()
            generation = barrier.arrive(warp, threads)
            block.events += 1
            if not waits:
                return False
            warp.generation = generation
        if not barrier.is_over(warp, warp.generation):
            return True
        warp.generation = None
        return False

    return run


def _lanes(mask):
    return numpy.nonzero(mask)[0]


def _make_initialize(code, instruction, match):
    address = code.address(instruction.operands[0], "shared")
    count = code.getter(instruction.operands[1], "u32")

    def run(warp, mask):
        for lane in _lanes(mask):
            warp.block.add_barrier(
                warp, address(warp.R)[lane], int(count(warp.R)[lane]), instruction.text
            )

    return run


def _make_arrive(code, instruction, match):
    """With a state that nobody reads, or without."""
    to, where, *rest = instruction.operands
    address = code.address(where, "shared")
    expects = bool(match[1])
    number = code.getter(rest[0], "u32") if rest else None
    put = code.setter(to, numpy.dtype("u8")) if to.name != "_" else None

    def run(warp, mask):
        addresses = address(warp.R)
        clock = warp.release(mask)
        for lane in _lanes(mask):
            barrier = warp.block.barrier(addresses[lane], instruction.text)
            value = int(number(warp.R)[lane]) if number else None
            if expects:
                barrier.arrive(warp, clock, 1, value)
            else:
                barrier.arrive(warp, clock, 1 if value is None else value)
        warp.tick()
        warp.block.events += 1
        if put:
            put(warp.R, numpy.zeros(LANES, numpy.uint64), mask)

    return run


def _make_expect(code, instruction, match):
    address = code.address(instruction.operands[0], "shared")
    number = code.getter(instruction.operands[1], "u32")

    def run(warp, mask):
        for lane in _lanes(mask):
            barrier = warp.block.barrier(address(warp.R)[lane], instruction.text)
            barrier.check(warp)
            barrier.expect(int(number(warp.R)[lane]))

    return run


def _make_wait(code, instruction, match):
    """Waits as long as all of its threads have to."""
    to, where, parity, *_ = instruction.operands
    address = code.address(where, "shared")
    get = code.getter(parity, "u32")
    put = code.setter(to, numpy.dtype(bool))
    blocks = match[1] == "try"

    def run(warp, mask):
        done = numpy.zeros(LANES, bool)
        addresses, parities = address(warp.R), get(warp.R)
        for one in set(zip(addresses[mask].tolist(), parities[mask].tolist())):
            barrier = warp.block.barrier(one[0], instruction.text)
            if one[1] > 1:
                raise PtxError(f"expects a parity of 0 or 1: {instruction.text}")
            if barrier.is_over(warp, one[1]):
                done |= (addresses == one[0]) & (parities == one[1])
        if blocks and not (done & mask).any():
            return True
        put(warp.R, done, mask)
        return False

    return run


def _make_barrier_fence(code, instruction, match):
    return lambda warp, mask: warp.block.fence_barriers(warp)


def _make_proxy_fence(code, instruction, match):
    """What a warp knows of is seen by what it orders after."""

    def run(warp, mask):
        numpy.maximum(warp.clock.fenced, warp.clock.seen, warp.clock.fenced)
        warp.tick()

    return run


def _make_register_count(code, instruction, match):
    """More registers have to be there, as the block has no more in all."""
    count = instruction.operands[0].bits

    def run(warp, mask):
        if count % 8 or not 24 <= count <= 256:
            raise PtxError("expects 24 to 256 registers, a multiple of 8")
        block = warp.block
        if count - warp.registers > block.free_registers:
            return True
        block.free_registers -= count - warp.registers
        block.events += 1
        warp.registers = count
        return False

    return run


def _make_elect(code, instruction, match):
    """The first thread is it."""
    check = _members(code, instruction)
    to = instruction.operands[0]
    lane = code.setter(to.elements[0], numpy.dtype("u4"))
    chosen = code.setter(to.elements[1], numpy.dtype(bool))

    def run(warp, mask):
        check(warp, mask)
        lane(warp.R, numpy.zeros(LANES, numpy.uint32), mask)
        chosen(warp.R, numpy.arange(LANES) == 0, mask)

    return run


def _make_nothing(code, instruction, match):
    if instruction.opcode.startswith("bar.warp"):
        check = _members(code, instruction)

        def meet(warp, mask):
            check(warp, mask)
            warp.meet()

        return meet
    return lambda warp, mask: None


_MAKERS = [
    (_ACCESS, _make_access),
    (_ATOMIC, _make_atomic),
    (r"(vote|redux|shfl)\.", _make_exchange),
    (r"(?:bar|barrier(?:\.cta)?)\.(sync|arrive)(?:\.aligned)?$", _make_named_barrier),
    (r"mbarrier\.init\.shared(?:::cta)?\.b64$", _make_initialize),
    (
        r"mbarrier\.arrive(\.expect_tx)?(?:\.release\.cta)?\.shared(?:::cta)?\.b64$",
        _make_arrive,
    ),
    (r"mbarrier\.expect_tx(?:\.relaxed\.cta)?\.shared(?:::cta)?\.b64$", _make_expect),
    (
        r"mbarrier\.(try|test)_wait\.parity(?:\.acquire\.cta)?\.shared(?:::cta)?\.b64$",
        _make_wait,
    ),
    (r"fence\.mbarrier_init\.release\.cluster$", _make_barrier_fence),
    (r"fence\.proxy\.async(?:\.shared::cta)?$", _make_proxy_fence),
    (r"setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32$", _make_register_count),
    (r"elect\.sync$", _make_elect),
    (_NOTHING, _make_nothing),
]
