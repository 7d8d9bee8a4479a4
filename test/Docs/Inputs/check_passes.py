"""Runs the examples of passes on a page of the reference.

Usage: check_passes.py PAGE.md

A section of a pass may have a block of IR after a line `Before...:` and another
after `After:`. The pass makes the second of the first. In the second, `...`
stands for any text within a line, and a line that holds only `...` for any
number of lines; names of values may be others. An example that leaves out parts
of the first block is not run.
"""

import re
import subprocess
import sys

SECTION = re.compile(r"^### `-([\w-]+)`$", re.MULTILINE)
EXAMPLE = re.compile(
    r"^Before[^\n]*:\n\n```mlir\n(.*?)^```\n\nAfter:\n\n```mlir\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
VALUE = re.compile(r"(%[\w-]+(?:#\d+)?|\.\.\.)")


def to_pattern(line, names):
    """A pattern of a line, and which of its groups are names."""
    pattern, new = "", []
    for part in VALUE.split(" ".join(line.split())):
        if part == "...":
            pattern += ".*"
        elif part in names:
            pattern += re.escape(names[part])
        elif part in new:
            pattern += rf"(?:\{new.index(part) + 1})"
        elif part.startswith("%"):
            new.append(part)
            pattern += r"(%[\w-]+(?:#\d+)?)"
        else:
            pattern += re.escape(part)
    return re.compile(pattern), new


def compare(expected, lines):
    """The first line of `expected` that is not in `lines`, or None."""
    names, at, skips = {}, 0, True
    for line in expected:
        if line.strip() == "...":
            skips = True
            continue
        pattern, new = to_pattern(line, names)
        while at < len(lines):
            match = pattern.fullmatch(lines[at])
            at += 1
            if match:
                names.update(zip(new, match.groups()))
                break
            if not skips:
                return line
        else:
            return line
        skips = False
    return None


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    sections = SECTION.split(text)
    count = 0
    for name, body in zip(sections[1::2], sections[2::2]):
        for before, after in EXAMPLE.findall(body):
            if "..." in before:
                continue
            made = subprocess.run(
                ["attn-opt", f"--{name}", "--cse"],
                input=before, capture_output=True, text=True,
            )
            if made.returncode:
                sys.exit(f"{name}: {made.stderr}")
            lines = [" ".join(line.split()) for line in made.stdout.split("\n")]
            wrong = compare(after.rstrip("\n").split("\n"), lines)
            if wrong is not None:
                sys.exit(f"{name}: expects '{wrong.strip()}', but got\n{made.stdout}")
            count += 1
    if not count:
        sys.exit(f"expects an example on {sys.argv[1]}")


main()
