"""Executes the kernels of partitions.mlir, and compares what they compute.

Usage: partitions.py NVVM.mlir KERNELS.ptx
"""

import re
import sys

import numpy

import block as blocks
import memory as memories
import operations
import ptx
import shared
import steps
import tensors


def halves(draw, *shape):
    return operations.to_bf16(draw.standard_normal(shape).astype(numpy.float32))


def floats(draw, *shape):
    return draw.standard_normal(shape).astype(numpy.float32)


def wide(halves):
    return operations.from_bf16(halves).astype(numpy.float64)


def rounded(values):
    return wide(operations.to_bf16(values.astype(numpy.float32)))


class Kernel:
    """A kernel with its memory, run as one CTA."""

    def __init__(self, name):
        with open(sys.argv[1]) as file:
            attributes = file.read()
        with open(sys.argv[2]) as file:
            self._entry = ptx.parse(file.read(), name)
        pattern = rf"llvm\.func @{name}\(.*?hopper\.shared_bytes = (\d+)"
        self._shared_bytes = int(re.search(pattern, attributes, re.DOTALL)[1])
        self._memory = memories.Memory()

    def add(self, name, values):
        region = self._memory.add(name, "global", values.nbytes)
        region.fill(values)
        region.writable[:] = True
        return region

    def add_map(self, name, halves, box):
        rows, columns = halves.shape
        bytes_ = halves.nbytes
        strides = [2, 2 * columns, bytes_, bytes_]
        return tensors.TensorMap(
            self.add(name, halves), 2, [columns, rows, 1, 1], strides, [64, box, 1, 1]
        )

    def run(self, seed, *arguments):
        symbols, maps = {"attn_shared": shared.BASE}, {}
        if len(arguments) != len(self._entry.parameters):
            raise ValueError(f"expects {len(self._entry.parameters)} arguments")
        for (parameter, size), value in zip(self._entry.parameters, arguments):
            region = self._memory.add(parameter, "param", size)
            symbols[parameter] = region.base
            if isinstance(value, tensors.TensorMap):
                maps[region.base] = value
            else:
                value = getattr(value, "base", value)
                bits = int(value).to_bytes(size, "little")
                region.fill(numpy.frombuffer(bits, numpy.uint8))
        one = blocks.CTA(
            steps.Code(self._entry, symbols),
            self._memory,
            maps,
            self._shared_bytes,
            (0, 1),
            draw=numpy.random.default_rng(seed),
            late=(1.0, 0.5)[seed % 2],
            pool=[],
        )
        with numpy.errstate(all="ignore"):
            while one.run():
                pass


def expect(name, region, expected, tolerance=2e-5):
    got = region.values(numpy.dtype("f4"), -1).reshape(expected.shape)
    error = numpy.abs(got - expected).max() / numpy.abs(expected).max()
    if not error < tolerance:
        sys.exit(f"{name}: error {error}")


def in_registers(values):
    """What is for 64 rows of a matrix, m, and its columns, n, in the order of a
    warpgroup's registers."""
    t = numpy.arange(128)
    result = numpy.empty((values.shape[1] // 8, 128, 2, 2))
    for j, _, r, p in numpy.ndindex(result.shape[0], 1, 2, 2):
        n, m = 8 * j + 2 * (t % 4) + p, 16 * (t // 32) + t % 32 // 4 + 8 * r
        result[j, :, r, p] = values[m, n]
    return result.reshape(-1)


def run_same(seed, count):
    draw = numpy.random.default_rng(seed)
    queries = 80 * count
    k, q, l = halves(draw, 128, 64), halves(draw, queries, 64), floats(draw, queries)
    parts, blocks_ = floats(draw, count, 5120), floats(draw, count, 5120)
    kernel = Kernel("same")
    own_parts, own_blocks = kernel.add("parts", parts), kernel.add("blocks", blocks_)
    kernel.run(
        seed,
        kernel.add_map("k", k, 128),
        kernel.add_map("q", q, 80),
        kernel.add("l", l),
        queries,
        own_parts,
        count,
        own_blocks,
        count,
        count,
    )
    ds = rounded(wide(k) @ wide(q).T - l)
    dq = ds.T @ wide(k)
    tiles = [in_registers(dq[80 * t : 80 * t + 80].T) for t in range(count)]
    expect("parts", own_parts, parts + numpy.array(tiles))
    expect("blocks", own_blocks, blocks_ + numpy.array(tiles))


def run_unlike(seed, count):
    draw = numpy.random.default_rng(seed)
    k, q = halves(draw, 64, 64), halves(draw, 64 * count, 64)
    dv, dq = floats(draw, 1, 4096), floats(draw, count, 4096)
    kernel = Kernel("unlike")
    own_dv, own_dq = kernel.add("dv", dv), kernel.add("dq", dq)
    kernel.run(
        seed,
        kernel.add_map("k", k, 64),
        kernel.add_map("q", q, 64),
        own_dv,
        1,
        own_dq,
        count,
        count,
    )
    s = wide(k) @ wide(q).T
    p = rounded(s)
    maxima = sum(s[:, 64 * t : 64 * t + 64].max(1) for t in range(0, count, 2))
    expect("dv", own_dv, dv + in_registers(p @ wide(q) + maxima[:, None]))
    tiles = [in_registers(p[:, 64 * t : 64 * t + 64].T @ wide(k)) for t in range(count)]
    expect("dq", own_dq, dq + numpy.array(tiles))


def run_messages(seed, count):
    kernel = Kernel("messages")
    out = kernel.add("out", numpy.full((count, 4), -1, numpy.int32))
    kernel.run(seed, out, count, 4, 4, count)
    got = out.values(numpy.dtype("i4"), -1).reshape(count, 4)
    if (got != numpy.arange(count)[:, None] ** 2).any():
        sys.exit(f"messages: {got}")


def main():
    for seed in range(4):
        run_same(seed, 1 + seed)
        run_unlike(seed, 1 + seed)
        run_messages(seed, 1 + 2 * seed)
    print("right")


main()
