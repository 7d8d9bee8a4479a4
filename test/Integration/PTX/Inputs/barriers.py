"""Barriers: those in shared memory, which count arrivals and bytes in phases,
and the named ones of the hardware."""

from clocks import Clock
from ptx import PtxError


class MemoryBarrier:
    """Phases are numbered from 0; one is over when all have arrived and all of
    the bytes are there."""

    def __init__(self, offset, count, agent, agents, initializer, time):
        self.offset, self.count, self.agent = offset, count, agent
        self.phase = 0
        self.pending, self.bytes = count, 0
        self._clock = Clock(agents.count)
        self._done = self._clock
        self._made = initializer, time
        self.is_fenced = False
        # Warps that wait for a phase to be over, with its number.
        self.waiting = {}

    def check(self, warp):
        """Others have to know that it is initialized."""
        agent, time = self._made
        if warp.clock.seen[agent] < time:
            raise PtxError(
                f"the barrier at +{self.offset} is not known to be initialized"
            )

    def is_made_by(self, warp):
        return self._made[0] == warp.agent

    def arrive(self, warp, clock, count=1, bytes_=0):
        """Of a thread of a warp."""
        self.check(warp)
        self.arrive_late(clock, count, bytes_)

    def arrive_late(self, clock, count=1, bytes_=0):
        """Of a thread that has known what the clock says."""
        self._clock.join(clock)
        self.bytes += bytes_
        self.pending -= count
        if self.pending < 0:
            raise PtxError(
                f"phase {self.phase} of the barrier at +{self.offset} gets more than"
                f" {self.count} arrivals"
            )
        self._advance()

    def expect(self, bytes_):
        self.bytes += bytes_
        self._advance()

    def complete(self, bytes_):
        """Bytes have come."""
        self.bytes -= bytes_
        self._advance()

    def _advance(self):
        if self.pending:
            return
        if self.bytes < 0:
            raise PtxError(
                f"phase {self.phase} of the barrier at +{self.offset} gets"
                f" {-self.bytes} bytes more than it expects"
            )
        if self.bytes:
            return
        self._clock.seen[self.agent] = self.phase + 1
        self._done = self._clock.copy()
        for warp, phase in self.waiting.items():
            if phase < self.phase:
                raise PtxError(
                    f"overrun: the barrier at +{self.offset} completes phase"
                    f" {self.phase} before warp {warp} has seen the end of {phase}"
                )
        self.phase += 1
        self.pending = self.count

    def is_over(self, warp, parity):
        """Whether the phase of a parity is over, as a wait sees it."""
        self.check(warp)
        if self.phase & 1 == parity:
            self.waiting.setdefault(warp.number, self.phase)
            return False
        self.waiting.pop(warp.number, None)
        warp.clock.join(self._done)
        return True


class NamedBarrier:
    def __init__(self, number, agents):
        self.number, self._agents = number, agents
        self.generation = 0
        self._threads = None
        self.arrived = {}
        self._clock = Clock(agents.count)
        # By generation, what those who wait for it learn.
        self._done = {}

    def arrive(self, warp, threads):
        """Gives the generation that the warp is of."""
        if self._threads not in (None, threads):
            raise PtxError(
                f"barrier {self.number} is used with {self._threads} threads and with"
                f" {threads} at once"
            )
        if warp.number in self.arrived:
            raise PtxError(
                f"warp {warp.number} arrives twice at barrier {self.number} before"
                f" {threads} threads have"
            )
        self._threads = threads
        self.arrived[warp.number] = True
        self._clock.join(warp.clock)
        warp.tick()
        generation = self.generation
        if 32 * len(self.arrived) == threads:
            self._done[generation] = self._clock.copy()
            self._done.pop(generation - 4, None)
            self.generation += 1
            self.arrived, self._threads = {}, None
        return generation

    def is_over(self, warp, generation):
        if self.generation == generation:
            return False
        warp.clock.join(self._done[generation])
        return True
