"""Which numbers of a function are written in it, and which variables it read
others from, by the bytecode around the operation that uses them.

A number that is written in the source is a constant of the program; any other
one is a scalar of it at run time. A wrong guess costs a compilation and no more.
"""

import dis

LITERAL = "literal"

_CONSTANTS = (
    "LOAD_CONST",
    "LOAD_SMALL_INT",
    "LOAD_CONST_IMMORTAL",
    "LOAD_CONST_MORTAL",
)
_VARIABLES = (
    "LOAD_DEREF",
    "LOAD_GLOBAL",
    "LOAD_FAST",
    "LOAD_FAST_BORROW",
    "LOAD_FAST_CHECK",
    "LOAD_NAME",
    "LOAD_CLASSDEREF",
)
_JUMPS = {*dis.hasjrel, *getattr(dis, "hasjabs", ())}
_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BINARY = ("BINARY_", "COMPARE_OP", "INPLACE_")

# (code, offset) -> what the left and the right operand come from: LITERAL, the
# name of a variable, or None, and the symbol of a comparison; None for a call.
_sites = {}
_literals = {}


def _instructions(code):
    return [
        i
        for i in dis.get_instructions(code)
        if i.opname not in ("CACHE", "EXTENDED_ARG")
    ]


def _source(instruction):
    if instruction.opname in _CONSTANTS:
        return LITERAL
    if instruction.opname in _VARIABLES:
        return instruction.argval
    return None


def _operands(code, offset):
    """The sources of both operands of a binary operation."""
    instructions = _instructions(code)
    at = next((n for n, i in enumerate(instructions) if i.offset == offset), None)
    if at is None or not instructions[at].opname.startswith(_BINARY):
        return None
    right, symbol = at - 1, None
    if instructions[at].opname == "COMPARE_OP":
        symbol = str(instructions[at].argval).removeprefix("bool(").rstrip(")")
    # The left operand is what was on the stack before the right one, which
    # ends where the effects of its instructions add up to one value.
    depth, left = 0, right
    while left >= 0:
        instruction = instructions[left]
        if instruction.opcode in _JUMPS:
            return None, _source(instructions[right]), symbol
        try:
            effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        except ValueError:  # an instruction of a Python to come
            return None, _source(instructions[right]), symbol
        depth += effect
        left -= 1
        if depth == 1:
            break
        if depth > 1:  # one instruction that pushed both
            return None, None, symbol
    before = _source(instructions[left]) if left >= 0 else None
    return before, _source(instructions[right]), symbol


def _literals_of(code):
    return frozenset(
        (type(i.argval), i.argval)
        for i in _instructions(code)
        if i.opname in _CONSTANTS and isinstance(i.argval, (int, float))
    ) | frozenset(
        # Of tuples, such as the names and values of a call.
        (type(x), x)
        for i in _instructions(code)
        if i.opname in _CONSTANTS and isinstance(i.argval, tuple)
        for x in i.argval
        if isinstance(x, (int, float))
    )


def source(frame, position, value):
    """LITERAL, the name of the variable, or None for an operand of the
    operation that a frame is at. `position` is 0 for the left one, 1 for the right
    one, or the name of the comparison that Python has called, of the other one."""
    site = (frame.f_code, frame.f_lasti)
    sources = _sites.get(site, LITERAL)
    if sources is LITERAL:
        sources = _sites[site] = _operands(*site)
    if sources is not None:
        if position in (0, 1):
            return sources[position]
        symbol = _SYMBOLS.get(position)
        if symbol is not None and sources[2] is not None:
            # Python has swapped the operands if it had to.
            return sources[1 if sources[2] == symbol else 0]
        return LITERAL if LITERAL in sources[:2] else sources[1] or sources[0]
    # A call: any literal of the function may be the argument.
    literals = _literals.get(frame.f_code)
    if literals is None:
        literals = _literals[frame.f_code] = _literals_of(frame.f_code)
    key = (type(value), value)
    if key in literals or (type(value), -value) in literals:
        return LITERAL
    return None
