"""Runs the commands that a page of documentation shows and compares output.

Usage: check_commands.py PAGE.md

Each block fenced as ```console holds commands behind `$ ` (a trailing
backslash continues one) and, below each, what it prints. In the expected text
`...` stands for any text within a line, and a line that holds only `...` for
any number of lines. The number that ends the name of a value of MLIR (%24,
%c0_11) is not compared: each change before it changes it. Commands run in the root of the sources, in a scratch copy
of nothing: they must not write into it. Their python3 is the one that runs this.
"""

import re
import shlex
import subprocess
import sys


def parse(text):
    """Yields (line number, command, expected lines) for each command."""
    lines = text.split("\n")
    inside = False
    command = None
    for number, line in enumerate(lines, 1):
        if not inside:
            inside = line.strip() == "```console"
            continue
        if line.strip() == "```":
            if command:
                yield tuple(command)
            inside, command = False, None
            continue
        if line.startswith("$ "):
            if command:
                yield tuple(command)
            command = [number, line[2:], []]
        elif command and command[1].endswith("\\") and not command[2]:
            command[1] = command[1][:-1] + line.strip()
        elif command:
            command[2].append(line)


def without_numbers(line):
    """The line with `%24` and `%c0_11` as `%` and `%c0_`."""
    return re.sub(r"(%\w*?)\d+\b", r"\1", line)


def to_pattern(expected):
    """The regular expression of the expected lines."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            pieces = [re.escape(piece) for piece in without_numbers(line).split("...")]
            parts.append(".*?".join(pieces) + r"[ \t]*\n")
    return "".join(parts)


def main():
    with open(sys.argv[1], encoding="utf-8") as page:
        commands = list(parse(page.read()))
    if not commands:
        sys.exit(f"{sys.argv[1]}: no commands")
    failures = 0
    prelude = f'python3() {{ {shlex.quote(sys.executable)} "$@"; }}\n'
    for number, command, expected in commands:
        run = subprocess.run(
            ["bash", "-c", prelude + command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        output = run.stdout
        if output and not output.endswith("\n"):
            output += "\n"
        if re.fullmatch(to_pattern(expected), without_numbers(output)):
            continue
        failures += 1
        print(f"{sys.argv[1]}:{number}: output differs: $ {command}")
        print("--- expected\n" + "\n".join(expected))
        print("--- got\n" + output)
    print(f"{len(commands) - failures} of {len(commands)} commands as shown")
    sys.exit(1 if failures else 0)


main()
