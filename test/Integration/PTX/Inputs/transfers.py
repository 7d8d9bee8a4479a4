"""Instructions that copy in the background: those of the tensor engine, by tensor
maps, and copies of single threads."""

import re

import numpy

from ptx import Address, PtxError
from shared import BASE, GRAIN

_LOAD = re.compile(
    r"cp\.async\.bulk\.tensor\.([1-5])d\.shared::(?:cluster|cta)\.global(?:\.tile)?"
    r"\.mbarrier::complete_tx::bytes(?:\.L2::cache_hint)?$"
)
_STORE = re.compile(
    r"cp\.(?:async|(reduce)\.async)\.bulk\.tensor\.([1-5])d\.global\.shared::cta"
    r"(?:\.add)?(?:\.tile)?\.bulk_group$"
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
    """A copy of a box to shared memory that is under way. It may come at any
    time, so that it races with all that its issue is not ordered after."""

    def __init__(self, warp, map_, coordinates, offset, barrier, text):
        self._block, self._map = warp.block, map_
        self._coordinates, self._offset = coordinates, offset
        self._barrier, self._text = barrier, text
        self._known = warp.clock.of_async(warp.block.agents)
        self._seen = warp.clock.seen.copy()
        if offset < 0 or offset + map_.bytes > self._block.shared.size:
            raise PtxError(f"a box at {offset:+} is not in shared memory: {text}")
        self._places = map_.places(offset)

    def complete(self):
        shared, barrier = self._block.shared, self._barrier
        try:
            values = self._map.load(self._coordinates)
        except PtxError as error:
            raise PtxError(f"{error}: {self._text}") from None
        shared.write(
            _slice(self._offset, self._map.bytes),
            barrier.agent,
            barrier.phase + 1,
            self._known,
            self._seen,
            self._text,
        )
        shared.bytes[self._places] = values
        try:
            barrier.complete(self._map.bytes)
        except PtxError as error:
            raise PtxError(f"{error}: {self._text}") from None


def _coordinates(code, address, match):
    if len(address.coordinates) != int(match[match.lastindex]):
        return None
    return [code.getter(x, "s32") for x in address.coordinates]


def _make_load(code, instruction, match):
    to, source, where, *_ = instruction.operands
    place, map_ = code.address(to, "shared"), code.address(Address(source.base), "param")
    at = _coordinates(code, source, match)
    barrier, text = code.address(where, "shared"), instruction.text
    if at is None:
        return None

    def run(warp, mask):
        block = warp.block
        for lane in numpy.nonzero(mask)[0]:
            one = block.barrier(barrier(warp.R)[lane], text)
            one.check(warp)
            if not one.is_fenced:
                raise PtxError(
                    f"the barrier at +{one.offset} has not been fenced for the tensor"
                    f" engine: {text}"
                )
            block.start(
                Load(
                    warp,
                    block.map(map_(warp.R)[lane], text),
                    [int(get(warp.R)[lane]) for get in at],
                    int(place(warp.R)[lane]) - BASE,
                    one,
                    text,
                )
            )

    return run


def _make_store(code, instruction, match):
    to, source = instruction.operands
    map_, place = code.address(Address(to.base), "param"), code.address(source, "shared")
    at, text = _coordinates(code, to, match), instruction.text
    if at is None or match[1]:
        return None

    def run(warp, mask):
        block = warp.block
        for lane in numpy.nonzero(mask)[0]:
            one = block.map(map_(warp.R)[lane], text)
            offset = int(place(warp.R)[lane]) - BASE
            if offset < 0 or offset + one.bytes > block.shared.size:
                raise PtxError(f"a box at {offset:+} is not in shared memory: {text}")
            block.shared.read(
                _slice(offset, one.bytes),
                block.agents.stores(warp.number),
                warp.stores.begin(lane),
                _readable(warp),
                text,
            )
            values = block.shared.bytes[one.places(offset)]
            try:
                one.store([int(get(warp.R)[lane]) for get in at], values)
            except PtxError as error:
                raise PtxError(f"{error}: {text}") from None

    return run


def _readable(warp):
    return warp.clock.of_async(warp.block.agents)


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
        groups, agents = (warp.stores, warp.block.agents) if bulk else (warp.copies, warp.block.agents)
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


_MAKERS = [
    (_LOAD, _make_load),
    (_STORE, _make_store),
    (_COPY, _make_copy),
    (r"cp\.async\.(bulk\.)?commit_group$", _make_commit),
    (r"cp\.async\.(bulk\.)?wait_(?:group|all)(?:\.read)?$", _make_wait),
]
