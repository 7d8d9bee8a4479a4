"""Executes a CTA: warps in turn, each until it has to wait.

Copies of the tensor engine come as late as they may, or at any time, as a
random generator has it. That all orders are right is what the vector clocks of
shared memory are for: they find what is not ordered in whatever order it runs.
"""

import numpy

from barriers import MemoryBarrier, NamedBarrier
from clocks import Agents, Clock
from matrices import Products
from ptx import PtxError
from shared import SharedMemory
from straight import LANES, SPECIAL, Registers
from transfers import Groups

_ALL = numpy.ones(LANES, bool)
# A loop that nothing ends is an error, after so many steps of a warp.
LIMIT = 2_000_000
# Of a multiprocessor.
_REGISTERS = 65536


class Warp:
    def __init__(self, block, number, registers):
        self.block, self.number, self.memory = block, number, block.memory
        self.code, self.R = block.code, registers
        self.agent = block.agents.warp(number)
        self.clock = Clock(block.agents.count)
        self.clock.seen[self.agent] = 1
        self.products, self.stores, self.copies = Products(), Groups(), Groups()
        # Which threads are at which instruction; sets of registers are bits.
        self.groups = {0: _ALL}
        self.defined = 0
        for name in SPECIAL:
            self.defined |= self.code.layout.bits[name]
        # How many registers its threads have.
        self.registers = 0
        # Of a named barrier that it waits for.
        self.generation = None
        # The number of the event that it has last looked for a change at.
        self.blocked = -1
        self.steps = 0
        # Which threads have accessed shared memory together, and have not released
        # it since; up to when each thread knows of all that others have done.
        self._apart, self._together = [], 0
        # Whether some threads have jumped back while others wait for them.
        self._loops = False

    def tick(self):
        """What follows is not ordered by what was."""
        self.clock.seen[self.agent] += 1

    def meet(self):
        """All threads know what each has done."""
        if self._apart:
            self._apart, self._together = [], int(self.clock.seen[self.agent])
            self.tick()

    def part(self, mask):
        """Threads access shared memory together."""
        if not (self._apart and self._apart[-1] is mask):
            self._apart.append(mask)

    def release(self, mask):
        """What some of the threads know, and make known. It is not what others
        did in the same instruction as one of them; apart from that no threads of
        a warp are told from each other."""
        rest = [own & ~mask for own in self._apart]
        is_apart = any(
            (own & mask).any() and other.any() for own, other in zip(self._apart, rest)
        )
        self._apart = [other for other in rest if other.any()]
        if not is_apart:
            return self.clock
        clock = self.clock.copy()
        clock.seen[self.agent] = self._together
        clock.fenced[self.agent] = min(clock.fenced[self.agent], self._together)
        return clock

    # Steps.

    def advance(self, most):
        """Takes steps until all threads wait or have ended, or loop."""
        self._loops = False
        while self.groups:
            if not self._advance():
                self.blocked = self.block.events
                return
            most -= 1
            if most < 0 or self._loops:
                return

    def _advance(self):
        """Takes steps of the threads that are least far in the text, of those
        that need not wait. False if all have to."""
        is_blocked = False
        for at in sorted(self.groups):
            mask = self.groups[at]
            step = self.code.step(at)
            if step.together and mask is not _ALL and not mask.all():
                continue
            del self.groups[at]
            if self._take(step, mask):
                return True
            is_blocked = True
        if not is_blocked:
            texts = [self.code.step(at).instruction.text for at in sorted(self.groups)]
            raise PtxError(
                f"threads wait for others that do not come: {'; '.join(texts)}"
            )
        return False

    def _take(self, step, mask):
        """Steps of some threads until they meet others or part; false if they
        have to wait at once."""
        others = min(self.groups, default=None)
        if mask is not _ALL and mask.all():
            mask = _ALL
        code, first, performed = self.code, True, None
        while True:
            self.steps += 1
            if self.steps > LIMIT:
                raise PtxError(f"does not end after {LIMIT} steps")
            reads, writes = step.reads, step.writes
            products = self.products
            if (reads | writes) & products.results or writes & products.factors:
                self._check_products(step)
            if reads & ~self.defined:
                self._check_defined(step)
            run = step.run
            if run is not None:
                if mask is _ALL:
                    run.all(self.R, None)
                else:
                    run.some(self.R, mask)
                at = step.next
            elif step.perform is None:
                chosen = mask
                if step.guard is not None:
                    chosen = step.guard(self.R) & mask
                left = mask & ~chosen if chosen is not mask else None
                if left is not None and left.any():
                    if chosen.any():
                        self._wait(step.next, left)
                        if not step.ends:
                            self._wait(step.target, chosen)
                        return True
                    at = step.next
                elif step.ends:
                    return True
                else:
                    at = step.target
            else:
                chosen = mask
                if step.guard is not None:
                    chosen = step.guard(self.R) & mask
                performed = step
                if chosen.any():
                    self.block.used.add(step.start)
                    if self._perform(step, chosen):
                        self._wait(step.start, mask)
                        return not first
                at = step.next
            self.defined |= writes
            products.unfenced |= reads | writes
            first = False
            # Threads that loop while others wait for them, or that look again at
            # what other CTAs write, let other warps run: what they wait for may
            # come from there.
            if at <= step.start and (
                others is not None
                or (performed and ".acquire.gpu" in performed.instruction.text)
            ):
                self._loops = True
                self._wait(at, mask)
                return True
            step = code.step(at)
            if (others is not None and at >= others) or (
                step.together and mask is not _ALL
            ):
                self._wait(at, mask)
                return True

    def _perform(self, step, mask):
        try:
            return step.perform(self, mask)
        except PtxError as error:
            if step.instruction.text in str(error):
                raise
            raise PtxError(f"{error}: {step.instruction.text}") from None

    def _wait(self, at, mask):
        if at in self.groups:
            mask = self.groups[at] | mask
        self.groups[at] = mask

    # Registers.

    def _parts(self, step):
        """The instructions of a step, with what each reads and writes."""
        if step.run is None:
            return [(step.instruction, step.reads, step.writes)]
        uses = self.code.translator.uses
        return [(x, *uses(x)) for x in step.run.instructions]

    def _check_products(self, step):
        for instruction, reads, writes in self._parts(step):
            self.products.check(self.code.layout, reads, writes, instruction.text)

    def _check_defined(self, step):
        defined = self.defined
        for instruction, reads, writes in self._parts(step):
            if reads & ~defined:
                name = self.code.layout.names(reads & ~defined)[0]
                raise PtxError(f"nobody wrote {name}: {instruction.text}")
            defined |= writes

    def check_defined(self, bits, text):
        if bits & ~self.defined:
            name = self.code.layout.names(bits & ~self.defined)[0]
            raise PtxError(f"nobody wrote {name}: {text}")

    # Shared memory.

    def load_shared(self, addresses, size, mask, text, is_atomic=False):
        """The bytes at each address, as rows. `mask` is which threads load them,
        or None if all together do."""
        if mask is not None:
            self.part(mask)
        shared = self.block.shared
        offsets = shared.offsets(addresses, size, text)
        seen = self.clock.seen
        read = shared.look if is_atomic else shared.read
        read(shared.grains(offsets, size), self.agent, seen[self.agent], seen, text)
        return shared.bytes[offsets[:, None] + numpy.arange(size)]

    def store_shared(self, addresses, rows, mask, text):
        if mask is not None:
            self.part(mask)
        shared, size = self.block.shared, rows.shape[1]
        offsets = shared.offsets(addresses, size, text)
        seen = self.clock.seen
        shared.write(
            shared.grains(offsets, size), self.agent, seen[self.agent], seen, seen, text
        )
        shared.bytes[offsets[:, None] + numpy.arange(size)] = rows

    def change_shared(self, address, change, text):
        """Four bytes, in one; gives what was there."""
        shared = self.block.shared
        offset = shared.offset(address, 4, text)
        seen = self.clock.seen
        grains = slice(offset // 4, offset // 4 + 1)
        shared.change(grains, self.agent, seen[self.agent], seen, text)
        old = shared.bytes[offset : offset + 4].copy()
        shared.bytes[offset : offset + 4] = change(old)
        return old

    def describe(self):
        steps = [self.code.step(at).instruction.text for at in sorted(self.groups)]
        return f"warp {self.number} is at {'; '.join(steps)}"


class CTA:
    """`maps` are tensor maps by address. Copies are late, with a probability."""

    def __init__(self, code, memory, maps, shared_bytes, place, draw, late, pool):
        self.code, self.memory, self._maps = code, memory, maps
        self.number = place[0]
        # The instructions, by number, that do more than compute.
        self.used = set()
        self.threads = code.entry.threads
        self._draw, self._late = draw, late
        # How many boxes it has loaded.
        self.boxes = 0
        count = -(-self.threads // LANES)
        self.agents = Agents(count)
        self.shared = SharedMemory(shared_bytes, self.agents)
        # Factors in shared memory as numbers.
        self.factors = {}
        # Registers are given to all threads alike, and then change hands. Both
        # are counted for one of the 32 threads of a warp.
        given = _REGISTERS // code.entry.blocks // self.threads // 8 * 8
        self.free_registers = 0
        # Counts what may end a wait.
        self.events = 0
        self._barriers, self._named, self._copies = {}, {}, []
        self._histories = {}
        self.warps = []
        for number in range(count):
            registers = pool.pop() if pool else Registers(code.layout)
            self.warps.append(Warp(self, number, registers))
            self.warps[-1].registers = given
            tid = numpy.arange(LANES) + LANES * number
            block, blocks = place
            values = tid, block, blocks, self.threads, numpy.arange(LANES)
            for name, value in zip(SPECIAL, values):
                registers.u4[code.layout.places[name][1]][...] = value
        self._pool = pool

    def run(self):
        """Takes some steps; false when all is done."""
        alive = [warp for warp in self.warps if warp.groups]
        if not alive:
            self._finish()
            return False
        able = [warp for warp in alive if warp.blocked != self.events]
        if self._copies and (not able or self._draw.random() > self._late):
            self._complete()
        elif not able:
            where = "; ".join(warp.describe() for warp in alive)
            raise PtxError(f"deadlock: {where}{self._describe_barriers()}")
        else:
            warp = able[self._draw.integers(len(able))]
            try:
                warp.advance(int(self._draw.integers(1, 200)))
            except PtxError as error:
                raise PtxError(f"warp {warp.number}: {error}") from None
        return True

    def _describe_barriers(self):
        waits = [
            f"; the barrier at +{one.offset} is in phase {one.phase}, and lacks"
            f" {one.pending} of {one.count} arrivals and {one.bytes} bytes"
            for one in self._barriers.values()
            if one.waiting
        ]
        waits += [
            f"; barrier {one.number} has only warps {sorted(one.arrived)}"
            for one in self._named.values()
            if one.arrived
        ]
        return "".join(waits)

    def _finish(self):
        if self._copies:
            raise PtxError("ends while a copy to shared memory is under way")
        for warp in self.warps:
            if warp.stores.pending():
                raise PtxError(
                    f"warp {warp.number} ends before its bulk stores have read"
                    " shared memory"
                )
            if warp.products.pending():
                raise PtxError(f"warp {warp.number} ends before its products do")
            if warp.copies.pending():
                raise PtxError(f"warp {warp.number} ends before its copies do")
        for one in self._barriers.values():
            if one.bytes:
                raise PtxError(
                    f"ends while the barrier at +{one.offset} expects {one.bytes} bytes"
                )
        self._pool += [warp.R for warp in self.warps]

    # What instructions use.

    def start(self, copy):
        self._copies.append(copy)

    def _complete(self):
        """One of the copies that are under way comes."""
        self._copies.pop(self._draw.integers(len(self._copies))).complete()
        self.events += 1

    def map(self, address, text):
        found = self._maps.get(int(address))
        if found is None:
            raise PtxError(f"expects the address of a tensor map: {text}")
        return found

    def add_barrier(self, warp, address, count, text):
        offset = self.shared.offset(address, 8, text)
        if offset in self._barriers:
            raise PtxError(f"initializes the barrier at +{offset} again: {text}")
        if count < 1:
            raise PtxError(f"expects a barrier to count something: {text}")
        agent = self.agents.barrier(len(self._barriers))
        time = warp.clock.seen[warp.agent]
        self._barriers[offset] = MemoryBarrier(
            offset, count, agent, self.agents, warp.agent, time
        )
        self.shared.add_barrier(offset)

    def barrier(self, address, text):
        offset = self.shared.offset(address, 8, text)
        if offset not in self._barriers:
            raise PtxError(f"there is no barrier at +{offset}: {text}")
        return self._barriers[offset]

    def fence_barriers(self, warp):
        for one in self._barriers.values():
            one.is_fenced |= one.is_made_by(warp)

    def named_barrier(self, number):
        if not 0 <= number < 16:
            raise PtxError(f"there is no barrier {number}")
        if number not in self._named:
            self._named[number] = NamedBarrier(number, self.agents)
        return self._named[number]

    def check_same(self, warp, product, text):
        """The warps of a warpgroup make the same products."""
        history = self._histories.setdefault(warp.number // 4, [])
        number = warp.products.history
        warp.products.history += 1
        if number == len(history):
            history.append(product)
        elif history[number] != product:
            raise PtxError(f"the warps of a warpgroup make different products: {text}")
