"""Reads the attributes of kernels from the text of a program."""

import re


def kernels_of(text):
    """By name, in their order, the attributes of each kernel that are for the
    caller: those called hopper.NAME, by NAME."""
    kernels = {}
    for match in re.finditer(r"llvm\.func @(\w+)\(", text):
        end = text.index("\n", match.end())
        start = text.find(") attributes {", match.end(), end)
        if start < 0:
            continue
        attributes, _ = _read(text, text.index("{", start))
        if "nvvm.kernel" in attributes:
            kernels[match[1]] = {
                name.removeprefix("hopper."): value
                for name, value in attributes.items()
                if name.startswith("hopper.")
            }
    return kernels


def end_of(text, at):
    """Where the attribute ends that starts there."""
    return _read(text, at)[1]


def _read(text, at):
    """An attribute, and where it ends."""
    if text[at] == "{":
        return _read_list(text, at + 1, "}", _read_entry, dict)
    if text[at] == "[":
        return _read_list(text, at + 1, "]", _read, list)
    for pattern, value in [
        (r"(-?\d+)(?: : [iu]\w+)?", lambda m: int(m[1])),
        (r'"([^"]*)"', lambda m: m[1]),
        (
            r"array<i\d+(?:: ([^>]*))?>",
            lambda m: [int(x) for x in (m[1] or "").split(",") if x],
        ),
        # Attributes of dialects, types and the rest, as they are written.
        (r"#[\w.]+<[^>]*>|[#!]?[\w.]+", lambda m: m[0]),
    ]:
        match = re.compile(pattern).match(text, at)
        if match:
            return value(match), match.end()
    raise ValueError(f"expects an attribute: {text[at : at + 40]}")


def _read_entry(text, at):
    name = re.compile(r"[\w.]+").match(text, at)
    if text.startswith(" = ", name.end()):
        value, end = _read(text, name.end() + 3)
    else:
        value, end = True, name.end()
    return (name[0], value), end


def _read_list(text, at, close, read, make):
    items = []
    while text[at] != close:
        item, at = read(text, at)
        items.append(item)
        if text.startswith(", ", at):
            at += 2
    return make(items), at + 1
