"""Instructions that copy in the background: those of the tensor engine, by tensor
maps, and copies of single threads."""

import functools
import re

import numpy

from ptx import Address, PtxError
from shared import GRAIN

_LOAD = re.compile(
    r"cp\.async\.bulk\.tensor\.([1-5])d\.shared::(?:cluster|cta)\.global(?:\.tile)?"
    r"\.mbarrier::complete_tx::bytes(?:\.L2::cache_hint)?$"
)
_STORE = re.compile(
    r"cp\.(?:async|(reduce)\.async)\.bulk\.tensor\.([1-5])d\.global\.shared::cta"
    r"(?:\.add)?(?:\.tile)?\.bulk_group$"
)
_BULK_LOAD = re.compile(
    r"cp\.async\.bulk\.shared::(?:cluster|cta)\.global\.mbarrier::complete_tx::bytes$"
)
_BULK_STORE = re.compile(
    r"cp\.(?:async|(reduce)\.async)\.bulk\.global\.shared::cta\.bulk_group(?:\.add\.f32)?$"
)
_COPY = re.compile(r"cp\.async\.(ca|cg)\.shared\.global(?:\.L2::\w+)?$")


def make(code, instruction, step):
    for pattern, maker in _MAKERS:
        match = re.match(pattern, instruction.opcode)
        if match:
            return maker(code, instruction, match)
    return None


def _slice(offset, size):
    return slice(offset // GRAIN, (offset + size) // GRAIN)


class Load:
    """A copy of so many bytes to shared memory that is under way: `load()` gives
    them, and they go to `places`. It may come at any time, so that it races with
    all that its issue is not ordered after."""

    def __init__(self, warp, load, offset, size, places, barrier, text):
        self._block, self._load, self._places = warp.block, load, places
        self._offset, self._bytes = offset, size
        self._barrier, self._text = barrier, text
        self._known = warp.clock.of_async(warp.block.agents)
        self._seen = warp.clock.seen.copy()

    def complete(self):
        shared, barrier = self._block.shared, self._barrier
        try:
            shared.write(
                _slice(self._offset, self._bytes),
                barrier.agent,
                barrier.phase + 1,
                self._known,
                self._seen,
                self._text,
            )
            shared.bytes[self._places] = self._load()
            barrier.complete(self._bytes)
        except PtxError as error:
            if self._text in str(error):
                raise
            raise PtxError(f"{error}: {self._text}") from None


def _barrier_of(warp, address, text):
    one = warp.block.barrier(address, text)
    one.check(warp)
    if not one.is_fenced:
        raise PtxError(
            f"the barrier at +{one.offset} has not been fenced for the tensor engine"
        )
    return one


def _coordinates(code, address, match):
    if len(address.coordinates) != int(match[match.lastindex]):
        return None
    return [code.getter(x, "s32") for x in address.coordinates]


def _make_load(code, instruction, match):
    to, source, where, *_ = instruction.operands
    place, map_ = code.address(to, "shared"), code.address(
        Address(source.base), "param"
    )
    at = _coordinates(code, source, match)
    barrier, text = code.address(where, "shared"), instruction.text
    if at is None:
        return None

    def run(warp, mask):
        block = warp.block
        for lane in numpy.nonzero(mask)[0]:
            one = block.map(map_(warp.R)[lane], text)
            offset = block.shared.offset(place(warp.R)[lane], one.bytes, text)
            coordinates = [int(get(warp.R)[lane]) for get in at]
            load = functools.partial(one.load, coordinates)
            one.loads.append((block.number, block.boxes, tuple(coordinates)))
            block.boxes += 1
            own = _barrier_of(warp, barrier(warp.R)[lane], text)
            block.start(
                Load(warp, load, offset, one.bytes, one.places(offset), own, text)
            )

    return run


def _make_bulk_load(code, instruction, match):
    to, source, size, where = instruction.operands
    place, address = code.address(to, "shared"), code.address(source, "global")
    size, barrier = code.getter(size, "u32"), code.address(where, "shared")
    text = instruction.text

    def run(warp, mask):
        block = warp.block
        for lane in numpy.nonzero(mask)[0]:
            count, offset = _range(warp, place(warp.R)[lane], size(warp.R)[lane], text)
            addresses = _pieces(address(warp.R)[lane], count)
            load = functools.partial(_load_pieces, warp.memory, addresses, text)
            own = _barrier_of(warp, barrier(warp.R)[lane], text)
            places = slice(offset, offset + count)
            block.start(Load(warp, load, offset, count, places, own, text))

    return run


def _range(warp, address, size, text):
    """A number of bytes, and where they lie in shared memory."""
    offset = warp.block.shared.offset(address, int(size), text)
    if size % 16 or offset % 16:
        raise PtxError(f"expects a multiple of 16 bytes: {text}")
    return int(size), offset


def _pieces(address, size):
    return numpy.arange(size // 16, dtype=numpy.uint64) * numpy.uint64(16) + address


def _load_pieces(memory, addresses, text):
    return memory.load(addresses, 16, "global", text).reshape(-1)


def _make_store(code, instruction, match):
    """Stores, or adds float32."""
    to, source = instruction.operands
    map_, place = code.address(Address(to.base), "param"), code.address(
        source, "shared"
    )
    at, text = _coordinates(code, to, match), instruction.text
    if at is None:
        return None

    def run(warp, mask):
        block = warp.block
        for lane in numpy.nonzero(mask)[0]:
            one = block.map(map_(warp.R)[lane], text)
            offset = block.shared.offset(place(warp.R)[lane], one.bytes, text)
            coordinates = [int(get(warp.R)[lane]) for get in at]
            # What is outside of the tensor goes nowhere.
            grains = numpy.unique(one.places_inside(coordinates, offset) // GRAIN)
            _begin_store(warp, lane, grains, text)
            values = block.shared.bytes[one.places(offset)]
            if match[1]:
                values = _sum(one.load(coordinates), values)
            one.store(coordinates, values)

    return run


def _sum(old, new):
    return (old.view(numpy.float32) + new.view(numpy.float32)).view(numpy.uint8)


def _begin_store(warp, lane, grains, text):
    agents = warp.block.agents
    warp.block.shared.read(
        grains,
        agents.stores(warp.number),
        warp.stores.begin(lane),
        warp.clock.of_async(agents),
        text,
    )


def _make_bulk_store(code, instruction, match):
    """Stores, or adds float32."""
    to, source, size = instruction.operands
    address, place = code.address(to, "global"), code.address(source, "shared")
    size, text = code.getter(size, "u32"), instruction.text

    def run(warp, mask):
        for lane in numpy.nonzero(mask)[0]:
            count, offset = _range(warp, place(warp.R)[lane], size(warp.R)[lane], text)
            _begin_store(warp, lane, _slice(offset, count), text)
            values = warp.block.shared.bytes[offset : offset + count]
            addresses = _pieces(address(warp.R)[lane], count)
            if match[1]:
                values = _sum(_load_pieces(warp.memory, addresses, text), values)
            warp.memory.store(addresses, values.reshape(-1, 16), "global", text)

    return run


class Groups:
    """What the threads of a warp have begun in the background, in groups that
    each of them waits for by itself."""

    def __init__(self):
        # By thread, the groups that are not over; the last of them is open.
        self._open, self._closed = {}, {}
        self.count = 0

    def begin(self, lane):
        """The number of the group that the next doing of a thread is in."""
        if lane not in self._open:
            self.count += 1
            self._open[lane] = self.count
        return self._open[lane]

    def commit(self, lanes):
        for lane in lanes:
            if lane in self._open:
                self._closed.setdefault(lane, []).append(self._open.pop(lane))

    def wait(self, lanes, most):
        """The number up to which all groups are over after a wait."""
        for lane in lanes:
            groups = self._closed.get(lane, [])
            self._closed[lane] = groups[len(groups) - most :] if most else []
        rest = list(self._open.values()) + sum(self._closed.values(), [])
        return min(rest) - 1 if rest else self.count

    def finish(self, lane):
        """As if a thread had waited for all of its groups; others may be open."""
        return self.wait([lane], 0)

    def pending(self):
        return bool(self._open or any(self._closed.values()))


def _make_commit(code, instruction, match):
    bulk = bool(match[1])

    def run(warp, mask):
        groups = warp.stores if bulk else warp.copies
        groups.commit(numpy.nonzero(mask)[0].tolist())

    return run


def _make_wait(code, instruction, match):
    bulk = bool(match[1])
    operands = instruction.operands
    most = code.getter(operands[0], "u32") if operands else None

    def run(warp, mask):
        groups, agents = warp.stores if bulk else warp.copies, warp.block.agents
        lanes = numpy.nonzero(mask)[0].tolist()
        if not bulk and most is None:
            groups.commit(lanes)
        done = groups.wait(lanes, int(most(warp.R)[0]) if most else 0)
        agent = (agents.stores if bulk else agents.copies)(warp.number)
        warp.clock.seen[agent] = max(warp.clock.seen[agent], done)

    return run


def _make_copy(code, instruction, match):
    """Of a thread: `size` bytes, of which those from an optional count on are 0."""
    to, source, size, *rest = instruction.operands
    place, where = code.address(to, "shared"), code.address(source, "global")
    size, text = size.bits, instruction.text
    given = code.getter(rest[0], "u32") if rest else None

    def run(warp, mask):
        block, lanes = warp.block, numpy.nonzero(mask)[0]
        offsets = block.shared.offsets(place(warp.R)[mask], size, text)
        rows = numpy.zeros((lanes.size, size), numpy.uint8)
        counts = given(warp.R)[mask] if given else numpy.full(lanes.size, size)
        for count in set(counts.tolist()) - {0}:
            if count != size:
                raise PtxError(f"expects copies of all bytes or of none: {text}")
            own = counts == count
            rows[own] = warp.memory.load(where(warp.R)[mask][own], size, "global", text)
        for number, lane in enumerate(lanes.tolist()):
            block.shared.write(
                block.shared.grains(offsets[number : number + 1], size),
                block.agents.copies(warp.number),
                warp.copies.begin(lane),
                warp.clock.seen,
                warp.clock.seen,
                text,
            )
        block.shared.bytes[offsets[:, None] + numpy.arange(size)] = rows

    return run


class _Arrival:
    """An arrival at a barrier when all copies that a thread has begun are over."""

    def __init__(self, warp, barrier, clock, text):
        self._warp, self._barrier = warp, barrier
        self._clock, self._text = clock, text

    def complete(self):
        try:
            self._barrier.arrive_late(self._clock)
        except PtxError as error:
            raise PtxError(f"{error}: {self._text}") from None


def _make_arrival(code, instruction, match):
    address, text = code.address(instruction.operands[0], "shared"), instruction.text

    def run(warp, mask):
        agents = warp.block.agents
        for lane in numpy.nonzero(mask)[0].tolist():
            own = warp.block.barrier(address(warp.R)[lane], text)
            own.check(warp)
            warp.copies.commit([lane])
            clock = warp.clock.copy()
            agent = agents.copies(warp.number)
            done = warp.copies.finish(lane)
            clock.seen[agent] = max(clock.seen[agent], done)
            warp.block.start(_Arrival(warp, own, clock, text))
        warp.tick()

    return run


_MAKERS = [
    (_LOAD, _make_load),
    (_STORE, _make_store),
    (_BULK_LOAD, _make_bulk_load),
    (_BULK_STORE, _make_bulk_store),
    (_COPY, _make_copy),
    (r"cp\.async\.mbarrier\.arrive\.noinc\.shared(?:::cta)?\.b64$", _make_arrival),
    (r"cp\.async\.(bulk\.)?commit_group$", _make_commit),
    (r"cp\.async\.(bulk\.)?wait_(?:group|all)(?:\.read)?$", _make_wait),
]
