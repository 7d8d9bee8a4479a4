"""Random masks by brute force: chains of captures, unions, coordinates in two
dimensions, flags, tables for each head. Of each, attn-run compares results with
the reference, and counts the tiles that a kernel visits, and those that it takes
for full, against those that are needed and full, pair by pair.

  masks.py COUNT SEED FOLDER

Prints what is wrong, and the tiles that are visited in excess.
"""

import json
import random
import subprocess
import sys

import numpy

TILE = 16
SCHEDULE = (
    f"#attn.schedule<tile_m = {TILE}, tile_n = {TILE}, lanes = 16, unroll_m = 1,"
    " unroll_n = 1>"
)
# As a type, and how it is drawn.
CAPTURES = {
    "id": "tensor<?x?xi32>",
    "lo": "tensor<?xi32>",
    "hi": "tensor<?xi32>",
    "flag": "tensor<?xi1>",
    "reach": "tensor<?xi32>",
    "length": "tensor<?xi32>",
    "sees": "tensor<?x?xi1>",
}


class Body:
    """Operations of a mask, which name their results themselves."""

    def __init__(self, draw, width):
        self.lines, self.count = [], 0
        self.draw, self.width = draw, width

    def add(self, text):
        self.count += 1
        self.lines.append(f"%x{self.count} = {text}")
        return f"%x{self.count}"

    def compare(self, predicate, a, b):
        return self.add(f"arith.cmpi {predicate}, {a}, {b} : index")

    def read(self, name, *places):
        element = CAPTURES[name].rstrip(">").rsplit("x", 1)[1]
        value = self.add(
            f"tensor.extract %{name}[{', '.join(places)}] : {CAPTURES[name]}"
        )
        if element == "i1":
            return value
        return self.add(f"arith.index_cast {value} : {element} to index")

    def number(self, value):
        return self.add(f"arith.constant {value} : index")

    def both(self, a, b):
        return self.add(f"arith.andi {a}, {b} : i1")

    def either(self, a, b):
        return self.add(f"arith.ori {a}, {b} : i1")

    def near(self, a, b, reach):
        distance = self.add(f"arith.subi {a}, {b} : index")
        least = self.number(-reach)
        return self.both(
            self.compare("sge", distance, least),
            self.compare("sle", distance, self.number(reach)),
        )

    # What a mask is made of.

    def causal(self):
        return self.compare("sle", "%j", "%i")

    def document(self):
        return self.compare("eq", self.read("id", "%b", "%i"), self.read("id", "%b", "%j"))

    def chain(self):
        own = self.read("id", "%b", "%i")
        return self.both(
            self.compare("sge", "%j", self.read("lo", own)),
            self.compare("slt", "%j", self.read("hi", own)),
        )

    def grid(self):
        width = self.number(self.width)
        parts = []
        for operation in "divui", "remui":
            places = [self.add(f"arith.{operation} {x}, {width} : index") for x in ("%i", "%j")]
            parts.append(self.near(*places, self.draw.randrange(1, 4)))
        return self.both(*parts)

    def flags(self):
        return self.read("flag", self.draw.choice(["%i", "%j"]))

    def window(self):
        distance = self.add("arith.subi %i, %j : index")
        return self.both(self.causal(), self.compare("sle", distance, self.read("reach", "%h")))

    def lengths(self):
        return self.compare("slt", "%j", self.read("length", "%b"))

    def pairs(self):
        return self.read("sees", self.read("id", "%b", "%i"), self.read("id", "%b", "%j"))

    def tree(self, depth):
        if depth == 0:
            kinds = "causal document chain grid flags window lengths pairs".split()
            return getattr(self, self.draw.choice(kinds))()
        parts = self.tree(depth - 1), self.tree(self.draw.randrange(depth))
        return self.draw.choice([self.both, self.either])(*parts)


def make_program(body, result):
    names = ", ".join(f"%{name}" for name in CAPTURES)
    types = ", ".join(CAPTURES.values())
    arguments = ", ".join(f"%{name}: {type}" for name, type in CAPTURES.items())
    lines = "\n        ".join(body.lines)
    return f"""
!t = tensor<?x?x?x16xf32>
func.func @f(%q: !t, %k: !t, %v: !t, {arguments}) -> !t {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures({names} : {types}) outs(%init : !t)
      mask(%b, %h, %i, %j, {names}) {{
        {lines}
        attn.yield {result} : i1
      }}
  return %o : !t
}}
"""


def draw_captures(draw, batch, heads, length):
    numbers = numpy.random.default_rng(draw.randrange(2**32))
    count = draw.randrange(1, 9)
    ids = numbers.integers(0, count, (batch, length))
    if draw.random() < 0.8:
        ids.sort(axis=1)
    lo = numbers.integers(0, length, count)
    return {
        "id": ids.astype("i4"),
        "lo": lo.astype("i4"),
        "hi": (lo + numbers.integers(0, length, count)).astype("i4"),
        "flag": numbers.random(length) < draw.choice([0.02, 0.5]),
        "reach": numbers.integers(0, length, heads).astype("i4"),
        "length": numbers.integers(0, length + 1, batch).astype("i4"),
        "sees": numbers.random((count, count)) < 0.3,
    }


def run(path, captures, batch, heads, length, folder, *options):
    command = ["attn-run", path, "--target=cpu", f"--schedule={SCHEDULE}"]
    command += [f"--arg={x}=randn:{batch}x{heads}x{length}x16" for x in "qkv"]
    for name, array in captures.items():
        numpy.save(f"{folder}.{name}.npy", array)
        command.append(f"--arg={name}={folder}.{name}.npy")
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check(number, seed, folder):
    """The tiles of a mask: all, needed, and visited beyond; and what is wrong."""
    draw = random.Random(f"{seed}/{number}")
    batch, heads = draw.choice([(1, 1), (2, 1), (1, 2), (1, 4), (2, 5)])
    length = draw.choice([1, 15, 16, 96, 121, 160])
    body = Body(draw, draw.choice([4, 10, 16]))
    program = make_program(body, body.tree(draw.randrange(4)))
    path = f"{folder}.mlir"
    with open(path, "w") as file:
        file.write(program)
    captures = draw_captures(draw, batch, heads, length)
    shape = captures, batch, heads, length, folder
    code, _, errors = run(path, *shape, "--check")
    if code:
        return 0, 0, 0, f"{program}{errors}"
    code, out, errors = run(
        path, *shape, "--show-mask", f"--mask-block={TILE}x{TILE}", "--format=json"
    )
    if code:
        return 0, 0, 0, f"{program}{errors}"
    (mask,) = json.loads(out)["masks"]
    compiler, needed = mask["compiler"], mask["all"] - mask["empty"]
    # Nothing is known of a mask that is none.
    if compiler is None:
        return mask["all"], needed, 0, f"{program}{mask['compiler_unknown']}"
    wrong = ""
    if compiler["needed"] != needed or compiler["visited"] < needed:
        wrong = f"{program}{compiler}, but {needed} are needed"
    if compiler["full"] > mask["full"]:
        wrong = f"{program}{compiler}, but {mask['full']} are full"
    return mask["all"], needed, compiler["visited"] - needed, wrong


def main(count, seed, folder):
    totals, wrong = [0, 0, 0], 0
    for number in range(int(count)):
        *tiles, text = check(number, seed, folder)
        totals = [a + b for a, b in zip(totals, tiles)]
        if text:
            wrong += 1
            print(f"mask {number}: {text}")
    print("{} tiles, {} needed, {} visited beyond".format(*totals))
    print(f"{count} masks, {wrong} wrong")
    # Of what intervals cannot tell.
    assert totals[2] <= 0.1 * totals[1], "too many tiles are visited"


if __name__ == "__main__":
    main(*sys.argv[1:])
