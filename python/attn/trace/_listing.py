"""Prints programs as they were traced: ATTN_LOG=trace."""

import linecache
import sys

_NAMES = {"score": ("score", "b", "h", "q", "kv"), "mask": ("b", "h", "q", "kv")}

_seen = set()


def write_log(program):
    """Writes a program to stderr, the first time that there is one like it."""
    key = program.key()
    if key in _seen:
        return
    _seen.add(key)
    lines = []
    located = program.located()
    for name in ("score", "mask"):
        region = getattr(located, name)
        if region is not None:
            lines += _region(name, region)
    for n, capture in enumerate(program.captures):
        lines.append(f"  t{n}: {capture.type}")
    for n, slot in enumerate(program.scalars):
        lines.append(f"  x{n}: {slot.value!r}")
    sys.stderr.write("".join(f"attn.trace: {line}\n" for line in lines))


def _region(name, region):
    names = list(_NAMES[name])
    yield f"{name}({', '.join(names)})"
    last = None
    for n, (op, *operands) in enumerate(region.ops):
        place = region.places[n] if region.places else None
        if place and place[:2] != last:
            last = place[:2]
            yield f"  # {place[0]}:{place[1]}: {linecache.getline(*last).strip()}"
        if op == "constant":
            text = operands[1] if operands[0] != "F" else float.fromhex(operands[1])
        elif op == "scalar":
            text = f"x{operands[0]}"
        elif op == "load":
            text = f"t{operands[0]}[{', '.join(names[i] for i in operands[1:])}]"
        elif op == "counter":
            text = f"0 .. {operands[0] - 1}"
        elif op == "reduce":
            name, _, counter, value = operands
            text = f"{name} of {names[value]} for all {names[counter]}"
        else:
            text = f"{op}({', '.join(names[i] for i in operands)})"
        names.append(f"v{n}")
        yield f"  v{n} = {text}"
    yield f"  return {names[region.result]}"
