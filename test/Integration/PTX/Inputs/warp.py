"""Executes one warp of a kernel: 32 threads, each value an array of 32.

Threads that are at the same instruction go on together, those that are least
far in the text first, so that they meet again where branches do. Instructions
in which the threads of a warp take part together wait until all 32 are there.
"""

import re

import numpy

import operations
from ptx import Address, Immediate, Name, PtxError, Vector

LANES = 32
# A loop that nothing ends is an error, after so many instructions.
LIMIT = 5_000_000
_ALL = numpy.ones(LANES, bool)
_LANE = numpy.arange(LANES)
_TOGETHER = re.compile(r"(vote|redux|shfl|match|activemask)\.|bar\.warp")
_ACCESS = re.compile(
    r"(?:(ld|st)\.(param|shared|global)(?:\.nc)?(?:\.v([24]))?\.([busf]\d+))$"
)
_REDUCTIONS = {
    "min": numpy.min,
    "max": numpy.max,
    "add": lambda x: x.sum(dtype=x.dtype),
    "and": numpy.bitwise_and.reduce,
    "or": numpy.bitwise_or.reduce,
    "xor": numpy.bitwise_xor.reduce,
}


# The type, and what memory becomes.
_ATOMICS = {
    "atom.global.add.u32": ("u4", numpy.add),
    "atom.global.min.u64": ("u8", numpy.minimum),
}


class Warp:
    """An entry with its arguments, of which warps are run one at a time.

    Each argument is a number, or None for one that the kernel may not read but
    knows the address of, as it does of a tensor map.
    """

    def __init__(self, entry, memory, arguments, shared_bytes=0):
        self.entry, self.memory = entry, memory
        self.symbols = {}
        self.count = 0
        self._operations = [None] * len(entry.instructions)
        if len(arguments) != len(entry.parameters):
            raise PtxError(f"expects {len(entry.parameters)} arguments")
        for (name, size), value in zip(entry.parameters, arguments):
            region = memory.add(name, "param", size)
            self.symbols[name] = region.base
            if value is not None:
                bits = int(value) & ((1 << 8 * size) - 1)
                region.fill(
                    numpy.frombuffer(bits.to_bytes(size, "little"), numpy.uint8)
                )
        self.shared = memory.add("attn_shared", "shared", shared_bytes)
        self.shared.writable[:] = True
        self.symbols["attn_shared"] = self.shared.base

    def run(self, block=0, warp=0, blocks=1):
        """Runs a warp of a CTA to its end."""
        self.registers = {
            "%tid.x": numpy.arange(LANES, dtype=numpy.uint32)
            + numpy.uint32(LANES * warp),
            "%ctaid.x": numpy.full(LANES, block, numpy.uint32),
            "%nctaid.x": numpy.full(LANES, blocks, numpy.uint32),
            "%ntid.x": numpy.full(LANES, self.entry.threads, numpy.uint32),
            "%laneid": numpy.arange(LANES, dtype=numpy.uint32),
        }
        # Which threads are at which instruction.
        waiting = {0: _ALL.copy()}
        # Integers wrap, floats become infinite or NaN, all as on a GPU.
        with numpy.errstate(all="ignore"):
            while waiting:
                at = self._next(waiting)
                self._advance(at, waiting.pop(at), waiting)

    def _next(self, waiting):
        for at in sorted(waiting):
            if not self._is_together(at) or waiting[at].all():
                return at
        texts = [self.entry.instructions[at].text for at in sorted(waiting)]
        raise PtxError(f"threads wait for others that do not come: {'; '.join(texts)}")

    def _is_together(self, at):
        instructions = self.entry.instructions
        return at < len(instructions) and _TOGETHER.match(instructions[at].opcode)

    def _advance(self, at, active, waiting):
        """Runs threads until they meet others, part, wait, or end."""
        first = min(waiting, default=None)
        while True:
            if at >= len(self.entry.instructions):
                raise PtxError("expects a return at the end")
            self.count += 1
            if self.count > LIMIT:
                raise PtxError(f"does not end after {LIMIT} instructions")
            instruction = self.entry.instructions[at]
            chosen = active
            if instruction.predicate:
                on = self.value(Name(instruction.predicate), operations.type_of("pred"))
                chosen = active & (on != instruction.negated)
            opcode = instruction.opcode
            if opcode in ("bra", "bra.uni", "ret", "exit"):
                left = active & ~chosen
                if chosen.any() and left.any():
                    self._wait(waiting, at + 1, left)
                    if instruction.target is not None:
                        self._wait(waiting, instruction.target, chosen)
                    return
                if chosen.any() and instruction.target is None:
                    return
                at = instruction.target if chosen.any() else at + 1
            else:
                if chosen.any():
                    operation = self._operations[at]
                    if operation is None:
                        operation = self._operations[at] = self._make(instruction)
                    operation(chosen)
                at += 1
            if (first is not None and at >= first) or self._is_together(at):
                self._wait(waiting, at, active)
                return

    @staticmethod
    def _wait(waiting, at, threads):
        waiting[at] = waiting.get(at, False) | threads

    # Operands.

    def value(self, operand, type_):
        """An operand as an array of a type; of a wider register the low bits."""
        if isinstance(operand, Immediate):
            bits = operand.bits & ((1 << 8 * type_.itemsize) - 1)
            if type_ == numpy.bool_:
                return numpy.full(LANES, bits != 0)
            unsigned = numpy.full(LANES, bits, f"u{type_.itemsize}")
            return unsigned.view(type_)
        if not isinstance(operand, Name):
            raise PtxError(f"expects a number or a register: {operand}")
        if operand.name in self.symbols:
            address = self.symbols[operand.name] + operand.offset
            return numpy.full(LANES, address, numpy.uint64).astype(type_)
        values = self.registers.get(operand.name)
        if values is None:
            raise PtxError(f"nobody wrote {operand.name}")
        if (values.dtype == numpy.bool_) != (type_ == numpy.bool_):
            raise PtxError(f"{operand.name} is no {type_}")
        if values.itemsize > type_.itemsize:
            values = values.astype(f"u{type_.itemsize}")
        elif values.itemsize < type_.itemsize:
            raise PtxError(f"{operand.name} is no {type_}")
        return values.view(type_)

    def assign(self, operand, values, active):
        """Values become wider as their type has it, with their sign or without."""
        name = operand.name
        if name == "_":
            return
        if name not in self.entry.registers:
            raise PtxError(f"does not know the register {name}")
        type_ = numpy.dtype(self.entry.registers[name])
        if (values.dtype == numpy.bool_) != (type_ == numpy.bool_):
            raise PtxError(f"{name} is no {values.dtype}")
        if values.dtype.kind == "f":
            values = values.view(f"u{values.itemsize}")
        values = values.astype(type_, copy=False)
        if not active.all():
            old = self.registers.get(name, numpy.zeros(LANES, type_))
            values = numpy.where(active, values, old)
        self.registers[name] = values

    def addresses(self, operand, space):
        if not isinstance(operand, Address) or not isinstance(operand.base, Name):
            raise PtxError(f"expects an address: {operand}")
        base = operand.base
        if base.name in self.symbols:
            return numpy.full(
                LANES, self.symbols[base.name] + base.offset, numpy.uint64
            )
        # Addresses of shared memory may be in registers of 32 bits.
        register = self.registers.get(base.name)
        short = space == "shared" and register is not None and register.itemsize == 4
        values = self.value(
            Name(base.name), operations.type_of("u32" if short else "u64")
        )
        return values.astype(numpy.uint64) + numpy.uint64(base.offset & (1 << 64) - 1)

    # Instructions.

    def _make(self, instruction):
        """What an instruction does to the threads that it is given."""
        if instruction.opcode.startswith("griddepcontrol"):
            # Kernels run one after the other here.
            return lambda active: None
        found = self.make(instruction)
        if found is None:
            raise PtxError(f"does not know the instruction: {instruction.text}")

        def run(active):
            try:
                found(active)
            except PtxError as error:
                if instruction.text in str(error):
                    raise
                raise PtxError(f"{error}: {instruction.text}") from None

        return run

    def make(self, instruction):
        opcode, operands = instruction.opcode, instruction.operands
        access = _ACCESS.match(opcode)
        if access:
            return self._make_access(access, operands, instruction.text)
        if opcode.split(".")[0] in ("vote", "redux", "shfl", "bar"):
            return self._make_together(opcode, operands)
        if opcode == "cvta.param.u64":
            opcode = "mov.b64"
        if opcode in _ATOMICS:
            return lambda active: self._change_atomically(
                *_ATOMICS[opcode], operands, active, instruction.text
            )
        if opcode.startswith("mov.b") and any(isinstance(x, Vector) for x in operands):
            return self._make_parts(operands, int(opcode[5:]))
        found = operations.find(opcode)
        if not found or len(operands) != 1 + len(found[0]):
            return None
        types, function = found
        to, *sources = operands

        def compute(active):
            values = [self.value(x, type_) for x, type_ in zip(sources, types)]
            self.assign(to, function(*values), active)

        return compute

    def _make_parts(self, operands, width):
        """Moves between a register and the halves or quarters of it."""
        to, source = operands
        split = isinstance(to, Vector)
        parts = (to if split else source).elements
        part = numpy.dtype(f"u{width // 8 // len(parts)}")
        whole = numpy.dtype(f"u{width // 8}")

        def take_apart(active):
            values = self.value(source, whole)
            for number, element in enumerate(parts):
                shift = whole.type(number * part.itemsize * 8)
                self.assign(element, (values >> shift).astype(part), active)

        def join(active):
            values = numpy.zeros(LANES, whole)
            for number, element in enumerate(parts):
                shift = whole.type(number * part.itemsize * 8)
                values |= self.value(element, part).astype(whole) << shift
            self.assign(to, values, active)

        return take_apart if split else join

    def _make_access(self, access, operands, text):
        kind, space, count, type_ = access.groups()
        type_ = operations.type_of(type_)
        where, what = operands if kind == "st" else operands[::-1]
        elements = what.elements if isinstance(what, Vector) else (what,)
        if len(elements) != int(count or 1):
            return None

        def load(active):
            addresses = self.addresses(where, space)[active]
            size = type_.itemsize * len(elements)
            rows = self.memory.load(addresses, size, space, text).view(type_)
            for number, element in enumerate(elements):
                values = numpy.zeros(LANES, type_)
                values[active] = rows[:, number]
                self.assign(element, values, active)

        def store(active):
            columns = [self.value(x, type_)[active] for x in elements]
            rows = numpy.stack(columns, 1).view(numpy.uint8)
            self.memory.store(self.addresses(where, space)[active], rows, space, text)
            self.stored(space, where, columns, active)

        return load if kind == "ld" else store

    def stored(self, space, where, columns, active):
        """Called after threads have written to memory."""

    def _change_atomically(self, type_, change, operands, active, text):
        to, where, what = operands
        type_ = numpy.dtype(type_)
        addresses = self.addresses(where, "global")
        given = self.value(what, type_)
        old = numpy.zeros(LANES, type_)
        for lane in numpy.nonzero(active)[0]:
            one, only = addresses[lane : lane + 1], slice(lane, lane + 1)
            bytes_ = self.memory.load(one, type_.itemsize, "global", text)
            old[only] = bytes_.view(type_)[0]
            new = change(old[only], given[only]).astype(type_)
            self.memory.store(one, new.view(numpy.uint8)[None], "global", text)
        self.assign(to, old, active)

    def _make_together(self, opcode, operands):
        u32, parts = operations.type_of("u32"), opcode.split(".")
        members = operands[-1]

        def check(active):
            if (self.value(members, u32) != 0xFFFFFFFF).any() or not active.all():
                raise PtxError("expects all threads of the warp to take part")

        if opcode == "bar.warp.sync":
            return check
        if opcode in (
            "vote.sync.ballot.b32",
            "vote.sync.any.pred",
            "vote.sync.all.pred",
        ):
            count = {"ballot": _pack_bits, "any": numpy.any, "all": numpy.all}[parts[2]]
            type_ = u32 if parts[2] == "ballot" else numpy.dtype(bool)
            source = operations.type_of("pred")

            def compute(values):
                return numpy.full(LANES, count(values), type_)

        elif re.match(
            r"redux\.sync\.(min|max|add)\.[us]32$|redux\.sync\.(and|or|xor)\.b32$",
            opcode,
        ):
            source = operations.type_of(parts[-1])

            def compute(values):
                return numpy.full(LANES, _REDUCTIONS[parts[2]](values), values.dtype)

        elif re.match(r"shfl\.sync\.(idx|bfly|up|down)\.b32$", opcode):
            source = u32

            def compute(values):
                by, clamp = (self.value(x, u32).astype(int) for x in operands[2:4])
                return values[_source_lanes(parts[2], by, clamp)]

        else:
            return None

        def run(active):
            check(active)
            self.assign(operands[0], compute(self.value(operands[1], source)), active)

        return run


def _pack_bits(values):
    return numpy.packbits(values, bitorder="little").view(numpy.uint32)[0]


def _source_lanes(kind, by, clamp):
    """Whose value each thread gets, as the manual of PTX defines it."""
    by, segment, clamp = by & 31, clamp >> 8 & 31, clamp & 31
    last = _LANE & segment | clamp & ~segment
    if kind == "up":
        lanes = _LANE - by
        return numpy.where(lanes >= last, lanes, _LANE)
    lanes = {
        "idx": _LANE & segment | by & ~segment,
        "bfly": _LANE ^ by,
        "down": _LANE + by,
    }[kind]
    return numpy.where(lanes <= last, lanes, _LANE)


def launch(entry, memory, arguments, blocks, warps):
    """Runs warps of a kernel that share nothing, one after the other."""
    warp = Warp(entry, memory, arguments)
    for block in range(blocks):
        for number in range(warps):
            warp.run(block, number, blocks)
    return warp
