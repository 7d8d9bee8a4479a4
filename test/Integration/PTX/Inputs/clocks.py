"""Who knows of what: vector clocks of warps, and of what the hardware does for
them in the background.

Each agent counts what it does. A clock says, for each agent, up to which number
its doings are known to be over. Agents are the warps, and for each warp its
products, its stores and its copies in the background, and the barriers in shared
memory, for the copies that they announce.
"""

import numpy

BARRIERS = 192
NOBODY = 0


class Agents:
    def __init__(self, warps):
        self.warps = warps
        self.count = 1 + 4 * warps + BARRIERS
        # Those whose accesses are not of the asynchronous proxy.
        self.generic = numpy.zeros(self.count, bool)
        self.generic[1 : 1 + warps] = True
        self.generic[self.copies(0) : self.barrier(0)] = True

    def warp(self, number):
        return 1 + number

    def products(self, number):
        return 1 + self.warps + number

    def stores(self, number):
        return 1 + 2 * self.warps + number

    def copies(self, number):
        return 1 + 3 * self.warps + number

    def barrier(self, number):
        return 1 + 4 * self.warps + number

    def describe(self, agent):
        if agent == NOBODY:
            return "nobody"
        agent -= 1
        if agent >= 4 * self.warps:
            return f"the tensor engine, for barrier {agent - 4 * self.warps}"
        kinds = "", "a product of ", "a bulk store of ", "a cp.async of "
        kind, warp = divmod(agent, self.warps)
        return f"{kinds[kind]}warp {warp}"


class Clock:
    """`seen` is what is over; `fenced` is what the asynchronous proxy sees of
    what others than itself have written."""

    def __init__(self, count):
        self.seen = numpy.zeros(count, numpy.int32)
        self.fenced = numpy.zeros(count, numpy.int32)

    def copy(self):
        other = Clock(0)
        other.seen, other.fenced = self.seen.copy(), self.fenced.copy()
        return other

    def join(self, other):
        numpy.maximum(self.seen, other.seen, self.seen)
        numpy.maximum(self.fenced, other.fenced, self.fenced)

    def of_async(self, agents):
        """What an access of the asynchronous proxy may rely on."""
        return numpy.where(agents.generic, self.fenced, self.seen)
