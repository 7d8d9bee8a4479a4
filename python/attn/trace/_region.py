"""Functions as operations, and their text in MLIR."""

import math
import typing

from ._emit import Value
from ._ops import OPS
from ._recorder import typed


class Region(typing.NamedTuple):
    """A function as operations: (name, operands...), where an operand is the
    number of a value, of which the arguments of the region are the first. Those of
    loops are among the others: they depend on the counter of the loop, which a
    "reduce" ends."""

    arguments: str  # their kinds
    ops: tuple
    result: int
    # (file, line, column) or None of each operation; () if not known.
    places: tuple = ()


def operands(record):
    """The numbers of the values that an operation takes."""
    first = {"constant": len(record), "scalar": 2, "counter": 3, "load": 2, "reduce": 3}
    return record[first.get(record[0], 1) :]


def reachable(region, result=None):
    """The numbers of the values that the result needs, or another value."""
    first = len(region.arguments)
    result = region.result if result is None else result
    used = {result}
    for n in range(result, first - 1, -1):
        if n in used:
            used.update(operands(region.ops[n - first]))
    return used


# ===----------------------------------------------------------------------===
# Text
# ===----------------------------------------------------------------------===

# What a reduction begins with: for each kind, or for all of them.
_FIRST = {
    "add": 0,
    "mul": 1,
    "logical_or": False,
    "logical_and": True,
    "maximum": {"F": -math.inf, "I": -(2**63), "B": False},
    "minimum": {"F": math.inf, "I": 2**63 - 1, "B": True},
}


def write(e, region, arguments, program, names, types):
    """The result of a region, written by an Emitter with what it needs. `names` and
    `types` are those of captures and scalars."""
    first, ops = len(arguments), region.ops
    values = [*arguments, *[None] * len(ops)]
    loops_of = _loops(region)

    def write_value(number, loops):
        """A value that is computed in `loops`, the innermost of which is the last,
        with what it needs of there."""
        for n in sorted(reachable(region, number)):
            if n < first or n in loops or not loops_of[n] <= set(loops):
                continue
            if not loops or loops[-1] in loops_of[n]:
                e.location = _place(region.places[n - first]) if region.places else ""
                record = ops[n - first]
                if record[0] == "reduce":
                    values[n] = reduce(*record[1:], loops)
                else:
                    values[n] = _operation(e, record, values, program, names, types)
        return values[number]

    def reduce(name, kind, counter, value, loops):
        location, start = e.location, _FIRST[name]
        start = _constant(e, kind, start[kind] if isinstance(start, dict) else start)

        def combine(carried, count):
            values[counter] = count
            element = e.to_kind(write_value(value, (*loops, counter)), kind)
            e.location = location
            return OPS[name].emit(e, kind, carried, element)

        return e.loop(ops[counter - first][1], start, combine)

    result = write_value(region.result, ())
    e.location = ""
    return result


def _loops(region):
    """The counters that each value depends on."""
    loops = [frozenset()] * len(region.arguments)
    for record in region.ops:
        found = frozenset().union(*[loops[n] for n in operands(record)])
        if record[0] == "counter":
            found = frozenset([len(loops)])
        elif record[0] == "reduce":
            found -= {record[3]}
        loops.append(found)
    return loops


def _place(place):
    if place is None:
        return ""
    file, line, column = place
    file = file.replace("\\", "\\\\").replace('"', '\\"')
    return f' loc("{file}":{line}:{column})'


def _constant(e, kind, value):
    return {"B": e.bool, "I": e.integer, "F": e.float}[kind](value)


def _operation(e, record, values, program, names, types):
    name = record[0]
    if name == "constant":
        _, kind, value = record
        return _constant(e, kind, float.fromhex(value) if kind == "F" else value)
    if name == "scalar":
        at = len(program.captures) + record[1]
        positive = program.scalars[record[1]].kind == "P"
        return Value(names[at], types[at], 1 if positive else None)
    if name == "load":
        indices = [values[n] for n in record[2:]]
        return e.load(names[record[1]], program.captures[record[1]], indices)
    operands = [values[n] for n in record[1:]]
    wanted, _ = typed(name, *map(_kind, operands))
    # Integers that were read are compared in their own type, but for bools: of one
    # bit with a sign, 1 is less than 0.
    if (
        name in ("eq", "ne", "lt", "le", "gt", "ge")
        and operands[0].type == operands[1].type != "i1"
    ):
        if wanted[0] == "I":
            return OPS[name].emit(e, "I", *operands)
    if not name.startswith("to_"):
        operands = [e.to_kind(x, kind) for x, kind in zip(operands, wanted)]
    return OPS[name].emit(e, wanted[-1], *operands)


def _kind(value):
    if value.type == "i1":
        return "B"
    return "I" if value.type.startswith("i") else "F"
