"""Compiles all spellings of a mask, and compares what they become.

Usage: compare.py TARGET DIM [FAMILY...]

TARGET is `cpu` for the program after attn-tile, `cuda` for PTX, or `cuda-grad`
for that of gradients.
"""

import os
import re
import subprocess
import sys
import tempfile

import spellings

PROGRAM = """
func.func @attention(%q: {q}, %k: {q}, %v: {q}{parameters}) -> {q} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : {q}
  %h = tensor.dim %q, %c1 : {q}
  %s = tensor.dim %q, %c2 : {q}
  %init = tensor.empty(%b, %h, %s) : {q}
  %o = attn.attention ins(%q, %k, %v : {q}, {q}, {q})
{captures}      outs(%init : {q})
      mask({arguments}) {{
{body}      }}
  return %o : {q}
}}
"""


def get_program(family, spelling, dim, element):
    captures = spellings.get_captures(family)
    names = [name for name, _ in captures]
    types = ", ".join(type_ for _, type_ in captures)
    return PROGRAM.format(
        q=f"tensor<?x?x?x{dim}x{element}>",
        parameters="".join(f", {name}: {type_}" for name, type_ in captures),
        captures=f"      captures({', '.join(names)} : {types})\n" if captures else "",
        arguments=", ".join(["%b", "%h", "%i", "%j", *names]),
        body=spellings.get_body(spelling),
    )


def compile_program(target, text):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        ptx = ["--target=cuda", "--emit=ptx", "--first-schedule"]
        options = {
            "cpu": ["--until-after=attn-tile"],
            "cuda": ptx,
            "cuda-grad": [*ptx, "--grad=q,k,v"],
        }[target]
        done = subprocess.run(
            ["attn-run", file.name, *options],
            capture_output=True,
            text=True,
            env={**os.environ, "ATTN_PTXAS": "off"},
        )
        if done.returncode != 0:
            sys.exit(f"{done.stderr}\n{text}")
        # Names of files, which locations may have. What is said of captures that
        # are too small names the line that reads, which is that of a spelling.
        return re.sub(
            r"(?ms)^  func\.func @attention\.shapes\(.*?^  }$",
            "",
            done.stdout.replace(file.name, ""),
        )


def main():
    target, dim = sys.argv[1], int(sys.argv[2])
    families = sys.argv[3:] or list(spellings.FAMILIES)
    element = "f32" if target == "cpu" else "bf16"
    wrong = 0
    for family in families:
        texts = spellings.FAMILIES[family][1]
        expected = None
        for text in texts:
            program = get_program(family, text, dim, element)
            code = compile_program(target, program)
            expected = expected or code
            if code != expected:
                wrong += 1
                print(f"{family}: differs from the first spelling: {text}")
        print(f"{family}: {len(texts)} spellings")
    sys.exit(1 if wrong else 0)


main()
