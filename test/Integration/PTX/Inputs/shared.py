"""Shared memory of a CTA, which knows who has read and written what.

An access that is not ordered with an earlier one of the same bytes is a race, if
one of them writes; so is one of the asynchronous proxy after a write without
a fence between them. Bytes are told apart in grains of four.
"""

import numpy

from clocks import NOBODY
from ptx import PtxError

BASE = 1 << 20
GRAIN = 4


class SharedMemory:
    def __init__(self, size, agents):
        self.size, self.agents = size, agents
        grains = -(-size // GRAIN)
        self.bytes = numpy.zeros(grains * GRAIN, numpy.uint8)
        self.halves = self.bytes.view(numpy.uint16)
        # Counts writes, for what is kept of the contents.
        self.version = 0
        self._writer = numpy.zeros(grains, numpy.int16)
        self._written = numpy.zeros(grains, numpy.int32)
        # By agent, when it has last read each grain.
        self._read = {}
        # Where the last write was an atomic one; by agent, when each grain was
        # last changed and looked at by atomics.
        self._is_atomic = numpy.zeros(grains, bool)
        self._changed, self._looked = {}, {}
        self._is_barrier = numpy.zeros(grains, bool)
        # The last accesses and writes of each agent.
        self._accesses, self._writes = {}, {}

    def offset(self, address, size, text):
        """Where an address is; it has to be a multiple of the size."""
        offset = int(address) - BASE
        if not 0 <= offset <= self.size - size:
            raise PtxError(
                f"{size} bytes at {offset:+} are not in shared memory: {text}"
            )
        if size <= 16 and offset % size:
            raise PtxError(f"an address is no multiple of {size}: {text}")
        return offset

    def offsets(self, addresses, size, text):
        offsets = addresses.astype(numpy.int64) - BASE
        if (offsets < 0).any() or (offsets > self.size - size).any():
            self.offset(
                addresses[(offsets < 0) | (offsets > self.size - size)][0], size, text
            )
        if (offsets % size).any():
            raise PtxError(f"an address is no multiple of {size}: {text}")
        return offsets

    @staticmethod
    def grains(offsets, size):
        """Those of so many bytes from each offset on."""
        if size <= GRAIN:
            return offsets // GRAIN
        return (offsets[:, None] // GRAIN + numpy.arange(size // GRAIN)).reshape(-1)

    def add_barrier(self, offset):
        self._is_barrier[offset // GRAIN : offset // GRAIN + 2] = True

    def read(self, grains, agent, time, known, text):
        """`known` is when which agent is known to be done."""
        writer = self._writer[grains]
        late = self._written[grains] > numpy.where(writer == NOBODY, -1, known[writer])
        if late.any():
            self._fail("reads", grains, late, text)
        self._check_atomics("reads", self._changed, grains, known, text)
        self._mark(self._read, grains, agent, time, text)

    def _mark(self, rows, grains, agent, time, text):
        row = rows.get(agent)
        if row is None:
            row = rows[agent] = numpy.zeros(self._writer.size, numpy.int32)
        row[grains] = time
        self._accesses[agent] = text

    def write(self, grains, agent, time, known, seen, text):
        """`known` is of writes before, `seen` of reads."""
        writer = self._writer[grains]
        late = self._written[grains] > known[writer]
        if late.any():
            self._fail("writes", grains, late, text)
        for rows in self._changed, self._looked:
            self._check_atomics("writes", rows, grains, known, text)
        self._check_reads(grains, agent, seen, text)
        self._is_atomic[grains] = False
        self._set(grains, agent, time, text)

    def change(self, grains, agent, time, seen, text):
        """An atomic operation, which others of its kind need not be ordered with."""
        self.look(grains, agent, time, seen, text)
        self._check_reads(grains, agent, seen, text)
        self._mark(self._changed, grains, agent, time, text)
        self._is_atomic[grains] = True
        self._set(grains, agent, time, text)

    def look(self, grains, agent, time, seen, text):
        """A load that is atomic."""
        writer = self._writer[grains]
        late = self._written[grains] > numpy.where(writer == NOBODY, -1, seen[writer])
        late &= ~self._is_atomic[grains]
        if late.any():
            self._fail("reads", grains, late, text)
        self._mark(self._looked, grains, agent, time, text)

    def _check_atomics(self, what, rows, grains, known, text):
        for agent, row in rows.items():
            late = row[grains] > known[agent]
            if late.any():
                at = self._first(grains, late)
                raise PtxError(
                    f"race: {what} shared memory at +{at * GRAIN} without being ordered"
                    f" after the atomics of {self.agents.describe(agent)}, as in"
                    f" '{self._accesses[agent]}': {text}"
                )

    def _check_reads(self, grains, agent, seen, text):
        for reader, row in self._read.items():
            if reader != agent:
                late = row[grains] > seen[reader]
                if late.any():
                    at = self._first(grains, late)
                    raise PtxError(
                        f"race: writes shared memory at +{at * GRAIN}, which"
                        f" {self.agents.describe(reader)} may still read, as in"
                        f" '{self._accesses[reader]}': {text}"
                    )
        if self._is_barrier[grains].any():
            at = self._first(grains, self._is_barrier[grains])
            raise PtxError(f"writes over the barrier at +{at * GRAIN}: {text}")

    def _set(self, grains, agent, time, text):
        self._writer[grains] = agent
        self._written[grains] = time
        self._writes[agent] = text
        self.version += 1

    @staticmethod
    def _first(grains, late):
        at = int(numpy.argmax(late))
        return grains.start + at if isinstance(grains, slice) else int(grains[at])

    def _fail(self, what, grains, late, text):
        at = self._first(grains, late)
        who = int(self._writer[at])
        if who == NOBODY:
            raise PtxError(
                f"reads shared memory at +{at * GRAIN} that nobody wrote: {text}"
            )
        raise PtxError(
            f"race: {what} shared memory at +{at * GRAIN} without being ordered after,"
            f" or fenced from, the write of {self.agents.describe(who)}, as in"
            f" '{self._writes[who]}': {text}"
        )
