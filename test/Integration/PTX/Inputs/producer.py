"""Executes the warp of a CTA that copies tiles.

Copies of the tensor engine are not made but noted down, with the numbers that
are sent along in shared memory. Nobody consumes them: a wait for room ends at
once. What is checked on the way: that barriers are used in turn, that as many
bytes arrive as a barrier is told to expect, that tiles lie in shared memory, and
that vectors of captures, which all threads copy, come for partial tiles alone.
"""

import dataclasses
import typing

import numpy

import operations
import warp
from ptx import Address, PtxError

_COPY = "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
# Tiles are copied in chunks of so many bytes of each row.
_CHUNK_BYTES = 128
# Other warps, which these are for, are not there.
_NOTHING = (
    "bar.sync",
    "fence.mbarrier_init.release.cluster",
    "fence.acq_rel.gpu",
    "cp.async.commit_group",
    "cp.async.wait_group",
)


class Copy(typing.NamedTuple):
    # The operand whose tensor map it reads, and the rows of its tile.
    operand: int
    rows: int
    # From the column on: column, row, head, batch.
    coordinates: tuple
    destination: int


@dataclasses.dataclass
class Put:
    """What one barrier announces: a message, or a tile with what comes with it."""

    barrier: int
    # What was stored for it, and where.
    numbers: list
    slots: list
    bytes: int = 0
    copies: list = dataclasses.field(default_factory=list)
    # The bytes of a vector that threads have copied, and where it is.
    vector: tuple = ()


class Producer(warp.Warp):
    """`maps` has, for the parameters that are tensor maps, operand and rows."""

    def __init__(self, entry, memory, arguments, shared_bytes, maps):
        super().__init__(entry, memory, arguments, shared_bytes)
        self._maps = {
            self.symbols[entry.parameters[number][0]]: one
            for number, one in maps.items()
        }
        self.reset()

    def reset(self):
        """Before another CTA."""
        self.puts = []
        self._numbers, self._slots = [], []
        # First and past bytes that threads have copied elements to since the last
        # arrival.
        self._elements = []
        # The parities that were waited for, by barrier.
        self._waits = {}
        self._barriers = set()
        self.shared.defined[:] = False

    def check(self):
        """At the end of a CTA."""
        if self._numbers:
            raise PtxError("a number was stored and never sent")
        if self._elements:
            raise PtxError("elements were copied and never sent")
        for put in self.puts:
            got = sum(copy.rows * _CHUNK_BYTES for copy in put.copies)
            if got != put.bytes:
                raise PtxError(f"expects {put.bytes} bytes, but {got} are copied")
        for address, parities in self._waits.items():
            if parities != [(n + 1) % 2 for n in range(len(parities))]:
                raise PtxError(f"waits out of turn: {address:#x} for {parities}")
        self._check_places()

    def _check_places(self):
        """What a barrier announces has one place, which is of nothing else."""
        places = {}
        for put in self.puts:
            own = [(slot, slot + 4) for slot in put.slots]
            for copy in put.copies:
                end = copy.destination + copy.rows * _CHUNK_BYTES
                own.append((copy.destination, end))
            if put.vector:
                own.append(put.vector)
            if places.setdefault(put.barrier, own) != own:
                raise PtxError(
                    f"{put.barrier:#x} announces {places[put.barrier]}, {own}"
                )
        ranges = [(barrier, barrier + 8) for barrier in self._barriers]
        ranges = sorted(ranges + [x for own in places.values() for x in own])
        for (_, end), (start, _) in zip(ranges, ranges[1:]):
            if start < end:
                raise PtxError(f"shared memory is used twice at {start:#x}")

    def make(self, instruction):
        opcode, operands = instruction.opcode, instruction.operands
        functions = {
            _COPY: self._copy,
            "mbarrier.init.shared.b64": self._initialize,
            "mbarrier.try_wait.parity.shared.b64": self._try_wait,
            "mbarrier.arrive.expect_tx.shared.b64": self._expect,
            "mbarrier.arrive.shared::cta.b64": self._arrive,
            "cp.async.ca.shared.global": self._copy_elements,
            "cp.async.mbarrier.arrive.noinc.shared.b64": self._arrive_after,
        }
        if opcode in functions:
            return lambda active: functions[opcode](active, *operands)
        if opcode in _NOTHING or opcode.startswith("setmaxnreg.dec."):
            return lambda active: None
        return super().make(instruction)

    def stored(self, space, where, columns, active):
        if space == "shared":
            if active.sum() != 1:
                raise PtxError("expects one thread to send a number")
            self._numbers.append(int(columns[0].view(numpy.int32)[0]))
            self._slots.append(self._one(active, self.addresses(where, space)))

    def _one(self, active, value):
        """The value of the only thread that does this."""
        if active.sum() != 1:
            raise PtxError("expects one thread to do this")
        return int(value[active][0])

    def _barrier(self, active, address):
        return self._one(active, self.addresses(address, "shared"))

    def _number(self, active, operand):
        return self._one(active, self.value(operand, operations.type_of("s32")))

    def _initialize(self, active, address, count):
        self._barriers.add(self._barrier(active, address))

    def _known(self, active, address):
        barrier = self._barrier(active, address)
        if barrier not in self._barriers:
            raise PtxError(f"{barrier:#x} is no barrier")
        return barrier

    def _try_wait(self, active, to, address, parity, _hint):
        # Of threads that wait together, for the same, one stands for all.
        for value in (
            self.addresses(address, "shared"),
            self.value(parity, operations.type_of("s32")),
        ):
            if active.all() and len(numpy.unique(value)) != 1:
                raise PtxError("expects all threads to wait for the same")
        one = active.copy()
        one[1:] &= not active.all()
        barrier = self._known(one, address)
        self._waits.setdefault(barrier, []).append(self._number(one, parity))
        self.assign(to, active, active)

    def _send(self, barrier, size):
        self.puts.append(Put(barrier, self._numbers, self._slots, size))
        self._numbers, self._slots = [], []

    def _expect(self, active, _state, address, size):
        self._send(self._known(active, address), self._number(active, size))

    def _arrive(self, active, _state, address):
        self._send(self._known(active, address), 0)

    def _copy_elements(self, active, destination, _source, size, _bytes):
        if size.bits not in (4, 8):
            raise PtxError(f"expects elements of 4 or 8 bytes, but got {size.bits}")
        to = self.addresses(destination, "shared")[active].tolist()
        self._elements += [(first, first + size.bits) for first in to]

    def _arrive_after(self, active, address):
        if not active.all():
            raise PtxError("expects all threads to arrive")
        barrier = self._known(numpy.arange(len(active)) == 0, address)
        elements = sorted(self._elements)
        if any(one[1] != next[0] for one, next in zip(elements, elements[1:])):
            raise PtxError(f"expects a vector without gaps, but got {elements}")
        self._send(barrier, 0)
        self.puts[-1].vector = (elements[0][0], elements[-1][1])
        self._elements = []

    def _copy(self, active, destination, source, address):
        barrier = self._known(active, address)
        at = self._one(active, self.addresses(destination, "shared"))
        where = self._one(active, self.addresses(Address(source.base), "param"))
        if where not in self._maps:
            raise PtxError("expects the tensor map of an operand")
        operand, rows = self._maps[where]
        coordinates = tuple(self._number(active, x) for x in source.coordinates)
        if at % 128 or at + rows * _CHUNK_BYTES > self.shared.end:
            raise PtxError(f"copies a tile to {at - self.shared.base}")
        for put in reversed(self.puts):
            if put.barrier == barrier:
                put.copies.append(Copy(operand, rows, coordinates, at))
                return
        raise PtxError("copies for a barrier that expects nothing")


class Visit(typing.NamedTuple):
    """A KV block, and whether it needs the predicate, or None where the
    kernel counts tiles and does not say so."""

    first: int
    partial: typing.Optional[bool]


def run(launch, blocks):
    """Runs the producers of all CTAs, one after the other.

    Gives, by batch, head and first query, the KV blocks that are copied, by
    all parts from the last one on.
    """
    program = launch.program
    kernel = program.kernel
    maps = {
        number: (parameter["operand"], parameter["rows"])
        for number, parameter in enumerate(kernel["params"])
        if parameter["kind"] == "map"
    }
    one = Producer(
        program.entry(program.name),
        launch.memory,
        launch.arguments(kernel),
        kernel["shared_bytes"],
        maps,
    )
    visits = {}
    for block in range(blocks):
        one.reset()
        one.run(block, 0, blocks)
        one.check()
        for place, tiles in _read(launch, one.puts):
            if place in visits and launch.parts == 1:
                raise PtxError(f"visits {place} twice")
            visits[place] = tiles + visits.get(place, [])
    if launch.counter.bytes.any():
        raise PtxError("expects the counter to be 0 after all CTAs")
    return visits


def _read(launch, puts):
    """What the puts of a CTA mean: its Q blocks in order."""
    tiles, messages = [], []
    for put in puts:
        if put.vector:
            tiles[-1][-1].append(put.vector)
            continue
        if not put.copies:
            messages.append(put.numbers)
            continue
        operand = _check_chunks(put.copies)
        place = put.copies[0].coordinates[1:]
        if operand == 0:
            tiles.append((place, put.numbers, [], [], []))
        elif not tiles:
            raise PtxError("copies keys before queries")
        else:
            tiles[-1][1 + operand].append((place, put.numbers))
    if launch.program.schedule("persistent"):
        _check_messages(launch, messages, [place for place, *_ in tiles])
    elif messages:
        raise PtxError("sends messages where blocks have one tile")
    return [
        (place[::-1], _read_tile(launch, place, numbers, keys, values, vectors))
        for place, numbers, keys, values, vectors in tiles
    ]


def _check_chunks(copies):
    """A tile is its chunks of 64 columns, of one place, one behind the other."""
    first = copies[0]
    for number, copy in enumerate(copies):
        expected = Copy(
            first.operand,
            first.rows,
            (64 * number, *first.coordinates[1:]),
            first.destination + number * first.rows * _CHUNK_BYTES,
        )
        if copy != expected:
            raise PtxError(f"expects {expected}, but got {copy}")
    return first.operand


def _check_messages(launch, messages, places):
    """Consumers are told the batch, head and tile of each, and of the end."""
    rows = launch.program.schedule("tile_m")
    # The first tile may have fewer rows than others.
    expected = [[batch, head, -(-row // rows)] for row, head, batch in places]
    if not messages or messages[:-1] != expected or messages[-1][0] != -1:
        raise PtxError(f"expects messages {expected}, but got {messages}")


def _read_tile(launch, place, numbers, keys, values, vectors):
    """The KV blocks, from where they are and the codes before them."""
    _, head, batch = place
    queries, heads = (launch.operands[n].shape for n in (0, 1))
    own = (
        head // max(queries[1] // max(heads[1], 1), 1),
        0 if heads[0] == 1 else batch,
    )
    if [place for place, _ in keys] != [place for place, _ in values]:
        raise PtxError("expects the values of each KV block")
    for (_, *other), _ in keys:
        if tuple(other) != own:
            raise PtxError(f"expects keys of {own} for {place}, but got {other}")
    firsts = [first for (first, *_), _ in keys]
    if not numbers:
        return [Visit(first, None) for first in firsts]
    codes = numbers + [code for _, sent in keys for code in sent]
    if codes.pop() != -1 or [code & ~15 for code in codes] != firsts:
        raise PtxError(f"expects codes of {firsts}, but got {codes}")
    if any(code & 14 for code in codes):
        raise PtxError(f"expects one bit in codes, but got {codes}")
    # As many for each partial tile.
    partial = sum(code & 1 for code in codes)
    if len(vectors) % partial if partial else vectors:
        raise PtxError(f"expects vectors for {partial} tiles, but got {len(vectors)}")
    return [Visit(code & ~15, bool(code & 1)) for code in codes]
