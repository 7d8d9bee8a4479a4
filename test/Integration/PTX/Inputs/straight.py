"""Translates runs of instructions that only compute into functions of Python.

A function computes a run for all threads of a warp. Instructions of one kind
that do not depend on each other become one operation on several registers.
"""

import numpy

import operations
from ptx import Immediate, Name, PtxError, Vector

LANES = 32
# Numbers that no instruction writes.
SPECIAL = ("%tid.x", "%ctaid.x", "%nctaid.x", "%ntid.x", "%laneid")
# From so many registers on an operation on all of them is faster.
_LEAST = 3
# Functions of one array of numbers at a time.
_SINGLE = ("popc.", "clz.", "mul.hi.")


class Layout:
    """Where the registers of an entry are: for each name the bytes of a value,
    and the row in the array of those of that size. Predicates have size 0."""

    def __init__(self, entry):
        self.places = {}
        self.counts = {}
        types = {name: numpy.uint32 for name in SPECIAL}
        for name, type_ in {**types, **entry.registers}.items():
            type_ = numpy.dtype(type_)
            size = 0 if type_ == numpy.bool_ else type_.itemsize
            self.places[name] = size, self.counts.get(size, 0)
            self.counts[size] = self.counts.get(size, 0) + 1
        # A bit for each, for sets of them.
        self.bits = {name: 1 << n for n, name in enumerate(self.places)}

    def names(self, bits):
        return [name for name, bit in self.bits.items() if bits & bit]


class Registers:
    """The registers of one warp, as arrays `i4_` of all of a size and a kind,
    and as lists `i4` of them."""

    def __init__(self, layout):
        for size, count in layout.counts.items():
            kinds = {0: "b", 1: "ui", 2: "uif", 4: "uif", 8: "uif"}[size]
            dtype = numpy.bool_ if size == 0 else f"u{size}"
            array = numpy.zeros((count, LANES), dtype)
            for kind in kinds:
                view = array if size == 0 else array.view(f"{kind}{size}")
                setattr(self, f"{kind}{max(size, 1)}_", view)
                setattr(self, f"{kind}{max(size, 1)}", list(view))


def _kind(dtype):
    return f"{dtype.kind}{dtype.itemsize}"


class Run:
    """A run: which registers it reads before it writes them, which it writes,
    and a function for all threads and one for some."""

    def __init__(self, translator, instructions, start):
        self.start, self.instructions = start, instructions
        self._translator = translator
        self.reads = self.writes = 0
        for instruction in instructions:
            reads, writes = translator.uses(instruction)
            self.reads |= reads & ~self.writes
            self.writes |= writes
        self.touches = self.reads | self.writes
        self.all = translator.compile(instructions, masked=False)
        self._some = None

    @property
    def some(self):
        if self._some is None:
            self._some = self._translator.compile(self.instructions, masked=True)
        return self._some


class Translator:
    """`symbols` are addresses by name."""

    def __init__(self, layout, symbols):
        self._layout, self._symbols = layout, symbols
        self._values = {"numpy": numpy, "copyto": numpy.copyto, "where": numpy.where}
        self._names = {}

    def can(self, instruction):
        return self._find(instruction) is not None

    def _find(self, instruction):
        """The types of operands, a function, and the type of the result."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "cvta.param.u64":
            opcode = "mov.b64"
        if any(isinstance(x, Vector) for x in operands):
            return "parts" if opcode.startswith("mov.b") else None
        found = operations.find(opcode)
        if not found or len(operands) != 1 + len(found[0]):
            return None
        return found

    def uses(self, instruction):
        """The registers that an instruction reads, and those that it writes."""
        to, *sources = instruction.operands
        bits = self._layout.bits

        def collect(operand):
            if isinstance(operand, Vector):
                result = 0
                for element in operand.elements:
                    result |= collect(element)
                return result
            return bits.get(operand.name, 0) if isinstance(operand, Name) else 0

        reads = 0
        for source in sources:
            reads |= collect(source)
        if instruction.predicate:
            reads |= bits[instruction.predicate]
        return reads, collect(to)

    # Text.

    def _constant(self, value, key=None):
        if isinstance(value, numpy.ndarray):
            key = (value.dtype.str, value.shape, value.tobytes())
        name = self._names.setdefault(key or value, f"c{len(self._names)}")
        self._values[name] = value
        return name

    def _number(self, operand, dtype):
        """The number that an operand is, or None for a register."""
        if isinstance(operand, Immediate):
            if dtype == numpy.bool_:
                return numpy.bool_(operand.bits & 1)
            bits = operand.bits & ((1 << 8 * dtype.itemsize) - 1)
            return numpy.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
        if not isinstance(operand, Name):
            raise PtxError(f"expects a number or a register: {operand}")
        if operand.name in self._symbols:
            address = self._symbols[operand.name] + operand.offset
            return numpy.array(address, numpy.uint64).astype(dtype)[()]
        if operand.name not in self._layout.places:
            raise PtxError(f"does not know the register {operand.name}")
        return None

    def _place(self, operand, dtype):
        size, row = self._layout.places[operand.name]
        if (size == 0) != (dtype == numpy.bool_) or 0 < size < dtype.itemsize:
            raise PtxError(f"{operand.name} is no {dtype}")
        return size, row

    def _rows(self, rows):
        if len(rows) > 1 and rows == list(range(rows[0], rows[0] + len(rows))):
            return f"{rows[0]}:{rows[0] + len(rows)}"
        return self._constant(numpy.array(rows))

    def _source(self, operands, dtype):
        """The text of an operand of several instructions."""
        dtype = numpy.dtype(dtype)
        numbers = [self._number(x, dtype) for x in operands]
        if all(x is not None for x in numbers):
            if len({x.tobytes() for x in numbers}) == 1:
                return self._constant(numpy.full(LANES, numbers[0], dtype))
            column = numpy.array(numbers, dtype)[:, None]
            return self._constant(numpy.repeat(column, LANES, 1))
        if any(x is not None for x in numbers):
            return None
        places = [self._place(x, dtype) for x in operands]
        size = places[0][0]
        if any(x != size for x, _ in places):
            return None
        rows = [row for _, row in places]
        kind = _kind(dtype) if size in (0, dtype.itemsize) else f"u{size}"
        if len(set(rows)) == 1:
            text = f"R.{kind}[{rows[0]}]"
        else:
            text = f"R.{kind}_[{self._rows(rows)}]"
        if size > dtype.itemsize:
            text += f".astype('u{dtype.itemsize}').view('{_kind(dtype)}')"
        return text

    def _store(self, names, value, dtype, masked):
        """Statements that write a value; values become wider with their sign."""
        places = [self._layout.places[name] for name in names]
        size = places[0][0]
        if (size == 0) != (dtype == numpy.bool_):
            raise PtxError(f"{names[0]} is no {dtype}")
        kind = "b1"
        if size:
            kind = f"{'i' if dtype.kind == 'i' else 'u'}{size}"
            if dtype.itemsize == size:
                kind = _kind(dtype)
            elif dtype.kind == "f":
                value = f"({value}).view('u{dtype.itemsize}')"
            if dtype.itemsize > size:
                value = f"({value}).astype('{kind}')"
        rows = [row for _, row in places]
        if len(rows) == 1:
            to = f"R.{kind}[{rows[0]}]"
        else:
            text = self._rows(rows)
            to = f"R.{kind}_[{text}]"
            if masked and ":" not in text:
                return [f"{to} = where({masked}, {value}, {to})"]
        if masked:
            return [f"copyto({to}, {value}, where={masked})"]
        if len(rows) == 1:
            return [f"{to}[...] = {value}"]
        return [f"{to} = {value}"]

    def _emit(self, group, masked):
        first = group[0]
        mask = "m" if masked else ""
        if first.predicate:
            row = self._layout.places[first.predicate][1]
            mask = ("~" if first.negated else "") + f"R.b1[{row}]"
            mask = f"({mask} & m)" if masked else mask
        found = self._find(first)
        if found == "parts":
            return self._emit_parts(first, mask)
        types, function = found
        names = [instruction.operands[0].name for instruction in group]
        for name in names:
            if name not in self._layout.places:
                raise PtxError(f"does not know the register {name}")
        sources = []
        for number, dtype in enumerate(types, 1):
            sources.append(self._source([x.operands[number] for x in group], dtype))
        if None in sources:
            return sum((self._emit([x], masked) for x in group), [])
        if first.opcode.startswith("mov."):
            return self._store(names, sources[0], types[0], mask)
        with numpy.errstate(all="ignore"):
            result = function(*(numpy.ones(1, x) for x in types)).dtype
        called = self._constant(function, ("function", id(function)))
        size, row = self._layout.places[names[0]]
        if isinstance(function, numpy.ufunc) and not mask:
            rows = [self._layout.places[name][1] for name in names]
            text = str(row) if len(rows) == 1 else self._rows(rows)
            if size in (0, result.itemsize) and (len(rows) == 1 or ":" in text):
                to = f"R.{_kind(result)}" + ("" if len(rows) == 1 else "_")
                return [f"{called}({', '.join(sources)}, {to}[{text}])"]
        return self._store(names, f"{called}({', '.join(sources)})", result, mask)

    def _emit_parts(self, instruction, mask):
        """Moves between a register and the halves or quarters of it."""
        to, source = instruction.operands
        width = int(instruction.opcode[5:])
        split = isinstance(to, Vector)
        parts = (to if split else source).elements
        part = numpy.dtype(f"u{width // 8 // len(parts)}")
        whole = numpy.dtype(f"u{width // 8}")
        shifts = [whole.type(8 * part.itemsize * n) for n in range(len(parts))]
        if not split:
            values = [
                f"({self._source([x], part)}.astype('{_kind(whole)}')"
                f" << {self._constant(numpy.full(LANES, shift))})"
                for x, shift in zip(parts, shifts)
            ]
            return self._store([to.name], " | ".join(values), whole, mask)
        lines = [f"t = {self._source([source], whole)}.copy()"]
        for element, shift in zip(parts, shifts):
            if element.name != "_":
                shift = self._constant(numpy.full(LANES, shift))
                value = f"(t >> {shift}).astype('{_kind(part)}')"
                lines += self._store([element.name], value, part, mask)
        return lines

    # One operand of another instruction.

    def getter(self, operands, dtype):
        """A function of registers: an array of an operand, or of several."""
        many = not isinstance(operands, (Name, Immediate))
        text = self._source(list(operands) if many else [operands], dtype)
        if text is None:
            raise PtxError(f"expects registers of one size: {operands}")
        if many and len(operands) == 1:
            text = f"({text})[None]"
        return eval(f"lambda R: {text}", self._values)

    def setter(self, names, dtype):
        """A function of registers, values and threads, for one or several."""
        many = not isinstance(names, str)
        names = list(names) if many else [names]
        for name in names:
            if name not in self._layout.places:
                raise PtxError(f"does not know the register {name}")
        value = "v[0]" if many and len(names) == 1 else "v"
        lines = self._store(names, value, numpy.dtype(dtype), "m")
        exec("def run(R, v, m):\n    " + "\n    ".join(lines), self._values)
        return self._values.pop("run")

    # Order.

    def compile(self, instructions, masked):
        lines = []
        for group in self._groups(instructions):
            lines += self._emit(group, masked)
        text = "def run(R, m):\n    " + "\n    ".join(lines or ["pass"])
        exec(compile(text, "<ptx>", "exec"), self._values)
        return self._values.pop("run")

    def _groups(self, instructions):
        """Instructions by how many others they have to wait for, in groups of
        one kind."""
        groups = {}
        # By register, the level after which it may be read, and written.
        written, read = {}, {}
        for instruction in instructions:
            reads, writes = self._operands(instruction)
            level = 0
            for name in reads:
                level = max(level, written.get(name, 0))
            for name in writes:
                level = max(level, written.get(name, 0), read.get(name, 0))
            for name in reads:
                read[name] = max(read.get(name, 0), level + 1)
            for name in writes:
                written[name] = level + 1
            groups.setdefault((level, self._signature(instruction)), []).append(
                instruction
            )
        for key in sorted(groups, key=lambda key: key[0]):
            group = groups[key]
            if len(group) < _LEAST or self._is_single(group[0]):
                yield from ([x] for x in group)
            else:
                group.sort(key=lambda x: self._layout.places[x.operands[0].name][1])
                yield group

    @staticmethod
    def _is_single(instruction):
        return (
            instruction.predicate is not None
            or any(isinstance(x, Vector) for x in instruction.operands)
            or instruction.opcode.startswith(_SINGLE)
        )

    def _signature(self, instruction):
        """What one operation has in common."""
        places = self._layout.places
        return instruction.opcode, *(
            places[x.name][0] if isinstance(x, Name) and x.name in places else None
            for x in instruction.operands
        )

    def _operands(self, instruction):
        def collect(operand):
            if isinstance(operand, Vector):
                return [name for x in operand.elements for name in collect(x)]
            return [operand.name] if isinstance(operand, Name) else []

        to, *sources = instruction.operands
        reads = [name for x in sources for name in collect(x)]
        writes = collect(to)
        if instruction.predicate:
            # What it does not write stays.
            reads += [instruction.predicate] + writes
        return reads, writes
