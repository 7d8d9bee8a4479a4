"""Checks what ptxas says of a kernel, and the instructions of its PTX.

Usage: check.py KERNEL.mlir KERNEL.ptx PTXAS.log DIM
"""

import re
import sys


def read(path):
    with open(path) as file:
        return file.read()


def main():
    program, ptx, log = (read(path) for path in sys.argv[1:4])
    dim = int(sys.argv[4])
    schedule = re.search(r"#hopper\.schedule<tile_m = (\d+), tile_n = (\d+)", program)
    tile_m, tile_n = int(schedule[1]), int(schedule[2])
    registers = int(re.search(r"registers = (\d+)", program)[1])

    # Warnings are named C75..; C7519 only says that registers are given back.
    warnings = set(re.findall(r"C75\d\d", log)) - {"C7519"}
    if warnings:
        sys.exit(f"expects no warning, but got {sorted(warnings)}:\n{log}")
    spills = [int(n) for n in re.findall(r"(\d+) bytes (?:spill|stack)", log)]
    if len(spills) < 2 or any(spills):
        sys.exit(f"expects no spills, but got:\n{log}")

    # Scores and values of the first or last tile, and of those in the loop.
    expected = 2 * ((dim + 15) // 16) + 2 * (tile_n // 16)
    products = ptx.count("wgmma.mma_async")
    if products != expected:
        sys.exit(f"expects {expected} products with tile_n = {tile_n}, but got {products}")
    given = [int(n) for n in re.findall(r"setmaxnreg\.dec\S*\s+(\d+);", ptx)]
    taken = [int(n) for n in re.findall(r"setmaxnreg\.inc\S*\s+(\d+);", ptx)]
    if taken != [registers] or len(given) != 1:
        sys.exit(f"expects {registers} registers for consumers, but got {taken}")
    # What consumers and the producer have is what all started with.
    used = int(re.search(r"Used (\d+) registers", log)[1])
    consumers = tile_m // 64
    if given[0] + consumers * registers > (1 + consumers) * used:
        sys.exit(f"expects no more than {used} registers, but got {given} and {taken}")
    if not re.search(rf"\.maxntid {128 + 2 * tile_m}\b", ptx):
        sys.exit(f"expects {128 + 2 * tile_m} threads")


main()
