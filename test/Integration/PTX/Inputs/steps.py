"""The code of an entry, as steps that warps of a CTA take.

A step is a run of instructions that only compute, or one other instruction.
"""

import functools
import re

import numpy

import effects
import matrices
import operations
import straight
import transfers
from ptx import Address, Immediate, Name, PtxError, Vector

# Instructions that all threads of a warp execute together.
_TOGETHER = re.compile(
    r"(vote|redux|shfl|match|elect|wgmma|ldmatrix|stmatrix|movmatrix|setmaxnreg)\.|bar\."
    r"|barrier\.(cta\.)?(sync|arrive)\.aligned"
)


class Step:
    """What a warp does next. `run` is for runs of instructions, `perform(warp,
    mask)` for others, which gives true if the warp has to wait and try again,
    `target` for branches, with `ends` for those out of the kernel."""

    def __init__(self, start, instruction):
        self.start, self.instruction = start, instruction
        self.run = self.perform = self.target = self.guard = None
        self.ends = self.together = False
        # Registers that it reads, and writes, but for products.
        self.reads = self.writes = 0
        self.next = start + 1


class Code:
    """`arguments` are bytes, or None for tensor maps."""

    def __init__(self, entry, symbols):
        self.entry = entry
        self.layout = straight.Layout(entry)
        self.translator = straight.Translator(self.layout, symbols)
        self.symbols = symbols
        self._can = [
            x.opcode not in ("bra", "bra.uni", "ret", "exit") and self.translator.can(x)
            for x in entry.instructions
        ]
        self._targets = {x.target for x in entry.instructions if x.target is not None}
        self._steps = {}

    def reuse(self, other):
        """Steps of the code of another entry that are the same, of an entry with
        the same registers, parameters and arguments."""
        mine, theirs = self.entry.instructions, other.entry.instructions
        if self.entry.registers is not other.entry.registers:
            return
        self.layout, self.translator = other.layout, other.translator
        same = [a is b for a, b in zip(mine, theirs)]
        for at, step in other._steps.items():
            if all(same[at : step.next]) and not any(
                at < target < step.next for target in self._targets
            ):
                self._steps[at] = step

    def step(self, at):
        """The step that starts at an instruction."""
        step = self._steps.get(at)
        if step is None:
            step = self._steps[at] = self._make(at)
        return step

    def _make(self, at):
        instructions = self.entry.instructions
        if at >= len(instructions):
            raise PtxError("expects a return at the end")
        first = instructions[at]
        step = Step(at, first)
        if self._can[at]:
            end = at + 1
            while (
                end < len(instructions) and self._can[end] and end not in self._targets
            ):
                end += 1
            step.run = straight.Run(self.translator, instructions[at:end], at)
            step.reads, step.writes = step.run.reads, step.run.writes
            step.next = end
            return step
        bits = self.layout.bits
        if first.predicate:
            get = self.translator.getter(Name(first.predicate), numpy.dtype(bool))
            negated = first.negated
            step.guard = lambda R: get(R) != negated
            step.reads |= bits[first.predicate]
        if first.opcode in ("bra", "bra.uni", "ret", "exit"):
            step.target, step.ends = first.target, first.target is None
            return step
        step.together = bool(_TOGETHER.match(first.opcode))
        step.reads, step.writes = self._uses(first, step.reads)
        for module in (effects, transfers, matrices):
            step.perform = module.make(self, first, step)
            if step.perform:
                return step
        raise PtxError(f"does not know the instruction: {first.text}")

    def _uses(self, instruction, reads):
        """Those of the first operand are written, unless it is an address."""
        writes = 0
        for number, operand in enumerate(instruction.operands):
            bits = self.bits(operand)
            if number or isinstance(operand, Address):
                reads |= bits
            elif instruction.opcode.startswith("bar"):
                reads |= bits
            else:
                writes |= bits
        return reads, writes

    def bits(self, operand):
        if isinstance(operand, Vector):
            return functools.reduce(lambda x, y: x | self.bits(y), operand.elements, 0)
        if isinstance(operand, Address):
            result = self.bits(operand.base)
            for coordinate in operand.coordinates:
                result |= self.bits(coordinate)
            return result
        return self.layout.bits.get(operand.name, 0) if isinstance(operand, Name) else 0

    # What instructions need of their operands.

    def getter(self, operands, type_):
        return self.translator.getter(operands, operations.type_of(type_))

    def setter(self, operand, dtype):
        """Of a register, or of the elements of a vector, of which some may be
        of no interest."""
        if isinstance(operand, Vector):
            setters = [self.setter(x, dtype) for x in operand.elements]

            def set_all(R, values, mask):
                for one, value in zip(setters, values):
                    one(R, value, mask)

            return set_all
        if operand.name == "_":
            return lambda R, values, mask: None
        return self.translator.setter(operand.name, dtype)

    def address(self, operand, space):
        """Gives the address of each thread, as uint64."""
        if not isinstance(operand, Address):
            raise PtxError(f"expects an address: {operand}")
        base = operand.base
        if isinstance(base, Immediate):
            address = numpy.full(straight.LANES, base.bits, numpy.uint64)
            return lambda R: address
        if base.name in self.symbols:
            place = self.symbols[base.name] + base.offset
            address = numpy.full(straight.LANES, place, numpy.uint64)
            return lambda R: address
        size = self.layout.places.get(base.name, (0, 0))[0]
        # Addresses of shared memory may be in registers of 32 bits.
        short = space == "shared" and size == 4
        get = self.getter(Name(base.name), "u32" if short else "u64")
        offset = numpy.uint64(base.offset & (1 << 64) - 1)
        return lambda R: get(R).astype(numpy.uint64) + offset
