"""Checks what ptxas says of a kernel, and the instructions of its PTX.

Usage: check.py KERNEL.mlir KERNEL.ptx PTXAS.log DIM
"""

import re
import sys


class Mismatch(Exception):
    """What a kernel is expected to have, and what it has."""


def expect(condition, message):
    if not condition:
        raise Mismatch("expects " + message)


def check_log(log, most=0):
    """No function has spills of more than `most` bytes, and there is no warning that
    something is made slower."""
    # Warnings are named C75..; C7519 only says that registers are given back.
    warnings = set(re.findall(r"C75\d\d", log)) - {"C7519"}
    expect(not warnings, f"no warning, but got {sorted(warnings)}:\n{log}")
    spills = [int(n) for n in re.findall(r"(\d+) bytes (?:spill|stack)", log)]
    # Three numbers for each function: that of the attention, and those of tables.
    expect(
        spills and max(spills) <= most,
        f"no spills of more than {most} bytes, but got:\n{log}",
    )


def check_code(schedule, ptx, query_dim, value_dim):
    """The products and copies of one tile, the first or last and those in the
    loop, of chunks of 64 columns."""
    tile_m, tile_n = (
        int(re.search(rf"{name} = (\d+)", schedule)[1]) for name in ("tile_m", "tile_n")
    )

    def expect_count(instruction, count):
        got = ptx.count(instruction)
        expect(got == count, f"{count} {instruction} with {schedule}, but got {got}")

    def divide(a, b):
        return (a + b - 1) // b

    steps = divide(query_dim, 16) + tile_n // 16
    if "bias_in_product" in schedule:
        steps += 1
    expect_count("wgmma.mma_async", 2 * steps)
    # Where a maximum has grown there is one more.
    expect_count("wgmma.wait_group", 5)
    query_chunks, value_chunks = divide(query_dim, 64), divide(value_dim, 64)
    loads, stores = 3 * query_chunks + 2 * value_chunks, value_chunks
    if "capture_stages" in schedule:
        loads += 2 * divide(tile_n, 64)
    if "strided" in schedule:
        loads = stores = 0
    # Threads write what a part of the keys gives.
    if "split_kv" in schedule:
        stores = 0
    expect_count("cp.async.bulk.tensor.4d.shared", loads)
    expect_count("cp.async.bulk.tensor.4d.global", stores)
    threads = 128 + 2 * tile_m
    expect(re.search(rf"\.maxntid {threads}\b", ptx), f"{threads} threads")


def check_registers(schedule, ptx, log):
    """What consumers and the producer have is what all started with."""
    registers = int(re.search(r"registers = (\d+)", schedule)[1])
    consumers = int(re.search(r"tile_m = (\d+)", schedule)[1]) // 64
    given = [int(n) for n in re.findall(r"setmaxnreg\.dec\S*\s+(\d+);", ptx)]
    taken = [int(n) for n in re.findall(r"setmaxnreg\.inc\S*\s+(\d+);", ptx)]
    expect(
        taken == [registers] and len(given) == 1,
        f"{registers} registers for consumers, but got {taken}",
    )
    used = int(re.search(r"Used (\d+) registers", log)[1])
    expect(
        given[0] + consumers * registers <= (1 + consumers) * used,
        f"no more than {used} registers, but got {given} and {taken}",
    )


def check(schedule, ptx, log, query_dim, value_dim):
    check_log(log)
    check_code(schedule, ptx, query_dim, value_dim)
    check_registers(schedule, ptx, log)


def main():
    program, ptx, log = (open(path).read() for path in sys.argv[1:4])
    schedule = re.search(r"#hopper\.schedule<[^>]*>", program)[0]
    dim = int(sys.argv[4])
    try:
        check(schedule, ptx, log, dim, dim)
    except Mismatch as mismatch:
        sys.exit(str(mismatch))


if __name__ == "__main__":
    main()
