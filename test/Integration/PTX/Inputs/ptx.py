"""Parses the text of a PTX kernel into instructions.

What an instruction does is not known here, only how it is written: so kernels
with instructions that nothing interprets can be parsed, and parts of them run.
"""

import re
import typing

import numpy


class PtxError(Exception):
    """What is wrong with a kernel, or with what it does."""


class Immediate(typing.NamedTuple):
    """A number; that of a float is its bits."""

    bits: int


class Name(typing.NamedTuple):
    """A register, a parameter or another symbol, with a number added to it."""

    name: str
    offset: int = 0


class Address(typing.NamedTuple):
    """What is in square brackets, with coordinates where a tensor map is."""

    base: typing.Union[Name, Immediate]
    coordinates: tuple = ()


class Vector(typing.NamedTuple):
    """What is in braces."""

    elements: tuple


class Instruction(typing.NamedTuple):
    opcode: str
    operands: tuple
    # The register that it depends on, or None, and whether on its being false.
    predicate: typing.Optional[str]
    negated: bool
    # The index of the instruction that a branch goes to.
    target: typing.Optional[int]
    text: str


class Entry(typing.NamedTuple):
    name: str
    # Name and size in bytes of each.
    parameters: list
    threads: int
    # The type of elements of each register.
    registers: dict
    instructions: list
    # How many CTAs a multiprocessor is to have room for.
    blocks: int
    # Names and sizes in bytes of what lies in shared memory, with alignments.
    variables: list


REGISTER_TYPES = {
    "pred": numpy.bool_,
    "b8": numpy.uint8,
    "b16": numpy.uint16,
    "b32": numpy.uint32,
    "b64": numpy.uint64,
    "f32": numpy.uint32,
}
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
_IDENTIFIER = r"[%$A-Za-z_][\w$.]*"


def parse(text, name):
    """The entry of that name in the text of a module."""
    text = re.sub(r"//[^\n]*", "", text)
    start = re.search(rf"\.entry\s+{re.escape(name)}\s*\(", text)
    if not start:
        raise PtxError(f"expects an entry {name}")
    open_ = text.index("{", start.end())
    head = text[start.end() : open_]
    parameters, _, directives = head.partition(")")
    threads = re.search(r"\.maxntid\s+(\d+)", directives)
    blocks = re.search(r"\.minnctapersm\s+(\d+)", directives)
    body = _Body()
    body.read(text, open_)
    return Entry(
        name,
        _parse_parameters(parameters),
        int(threads[1]) if threads else 32,
        body.registers,
        body.finish(),
        int(blocks[1]) if blocks else 1,
        body.variables,
    )


def _parse_parameters(text):
    parameters = []
    for number, declaration in enumerate(filter(str.strip, text.split(","))):
        match = re.search(
            rf"\.[a-z](8|16|32|64)\b.*?({_IDENTIFIER})(?:\[(\d+)\])?\s*$", declaration
        )
        if not match:
            raise PtxError(f"does not know parameter {number}: {declaration.strip()}")
        parameters.append((match[2], _SIZES[match[1]] * int(match[3] or 1)))
    return parameters


class _Body:
    """The statements between braces. Inline assembly has braces of its own,
    with registers and labels that are known only inside."""

    def __init__(self):
        self.registers = {}
        self.variables = []
        # Labels by scope and name, and scopes by what opened them.
        self._labels = {}
        self._scopes = []
        self._opened = 0
        # Instructions whose labels may follow.
        self._raw = []

    def read(self, text, at):
        """Statements from the open brace at `at` on to the one that closes it."""
        while True:
            at = re.compile(r"[\s;]*").match(text, at).end()
            if at == len(text):
                raise PtxError("expects braces to be closed")
            label = re.compile(rf"({_IDENTIFIER})\s*:(?!:)").match(text, at)
            if text[at] == "{":
                self._opened += 1
                self._scopes.append((self._opened, {}))
                at += 1
            elif text[at] == "}":
                self._scopes.pop()
                at += 1
                if not self._scopes:
                    return
            elif label:
                self._labels[self._scopes[-1][0], label[1]] = len(self._raw)
                at = label.end()
            else:
                end = text.find(";", at)
                if end < 0:
                    raise PtxError("expects statements to end")
                self._read_statement(" ".join(text[at:end].split()))
                at = end + 1

    def _read_statement(self, text):
        if text.startswith(".reg"):
            self._declare(text)
        elif text.startswith(".pragma"):
            pass
        elif text.startswith(".shared"):
            self._declare_variable(text)
        elif text.startswith("."):
            raise PtxError(f"does not know the directive: {text}")
        else:
            self._raw.append(self._read_instruction(text))

    def _declare(self, text):
        match = re.match(r"\.reg\s+\.(\w+)\s+(.*)", text)
        if not match or match[1] not in REGISTER_TYPES:
            raise PtxError(f"does not know the registers: {text}")
        scope, own = self._scopes[-1]
        for name in match[2].split(","):
            name, count = re.match(r"\s*([%\w]+)(?:<(\d+)>)?", name).groups()
            names = [f"{name}{n}" for n in range(int(count))] if count else [name]
            for name in names:
                # Those of inline assembly may have the name of others.
                own[name] = name if len(self._scopes) == 1 else f"{name}#{scope}"
                self.registers[own[name]] = REGISTER_TYPES[match[1]]

    def _declare_variable(self, text):
        match = re.match(r"\.shared(?: \.align (\d+))? \.b8 ([\w$]+)\[(\d+)\]$", text)
        if not match:
            raise PtxError(f"does not know the variable: {text}")
        self.variables.append((match[2], int(match[3]), int(match[1] or 1)))

    def _read_instruction(self, text):
        match = re.match(r"(?:@(!?)([%\w]+)\s+)?([a-z][\w.:]*)\s*(.*)$", text)
        if not match:
            raise PtxError(f"does not know the statement: {text}")
        negated, predicate, opcode, rest = match.groups()
        scopes = [scope for scope, _ in reversed(self._scopes)]
        operands = tuple(self._read_operand(x, text) for x in _split(rest))
        if predicate:
            predicate = self._rename(predicate)
        return opcode, operands, predicate, bool(negated), scopes, text

    def _rename(self, name):
        for _, own in reversed(self._scopes):
            if name in own:
                return own[name]
        return name

    def _read_operand(self, text, context):
        if text.startswith("{"):
            return Vector(
                tuple(self._read_operand(x, context) for x in _split(text[1:-1]))
            )
        if text.startswith("["):
            base, *coordinates = _split(text[1:-1])
            if len(coordinates) == 1 and coordinates[0].startswith("{"):
                coordinates = self._read_operand(coordinates[0], context).elements
            elif coordinates:
                raise PtxError(f"does not know the address: {context}")
            return Address(self._read_operand(base, context), tuple(coordinates))
        if "|" in text:
            return Vector(
                tuple(self._read_operand(x, context) for x in text.split("|"))
            )
        if re.match(r"0[fd][0-9A-Fa-f]+$", text):
            return Immediate(int(text[2:], 16))
        if re.match(r"-?(0x[0-9A-Fa-f]+|\d+)$", text):
            return Immediate(int(text, 0))
        match = re.match(rf"({_IDENTIFIER})(?:\+(-?\d+))?$", text)
        if not match:
            raise PtxError(f"does not know the operand {text}: {context}")
        return Name(self._rename(match[1]), int(match[2] or 0))

    def finish(self):
        return [self._resolve(*raw) for raw in self._raw]

    def _resolve(self, opcode, operands, predicate, negated, scopes, text):
        target = None
        if opcode.split(".")[0] == "bra":
            found = [
                self._labels[scope, operands[0].name]
                for scope in scopes
                if (scope, operands[0].name) in self._labels
            ]
            if not found:
                raise PtxError(f"does not know the label: {text}")
            target = found[0]
        return Instruction(opcode, operands, predicate, negated, target, text)


def _split(text):
    """What commas outside of brackets separate."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [x.strip() for x in parts + [part] if x.strip()]
