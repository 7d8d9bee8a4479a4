"""Prints the kernels of a program, as --attn-to-nvvm leaves it, as a module
that mlir-translate knows.

Usage: kernels.py PROGRAM.mlir
"""

import re
import sys

import attributes

HEADER = """module attributes {
  llvm.target_triple = "nvptx64-nvidia-cuda",
  llvm.data_layout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
} {"""


def body_of(text, start):
    """What is between the braces that open at or after `start`."""
    start = text.index("{", start)
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start + 1 : end]
    raise ValueError("expects braces to be closed")


def without_attributes(text):
    """Without attributes for the runtime, of a dialect that mlir-translate has
    not."""
    parts, at = [], 0
    for match in re.finditer(r"hopper\.\w+ = ", text):
        if match.start() < at:
            continue
        parts.append(text[at : match.start()])
        at = attributes.end_of(text, match.end())
        at += len(", ") if text.startswith(", ", at) else 0
    return "".join([*parts, text[at:]])


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    text = without_attributes(text)
    print("\n".join(line for line in text.split("\n") if line.startswith("#")))
    print(HEADER)
    for module in re.finditer(r"^ *gpu\.module ", text, re.MULTILINE):
        print(body_of(text, module.start()))
    print("}")


main()
