"""Executes the kernel of a tile program that is not attention, two products with
a function of each element between them, and compares it with the maths.

Usage: chain.py ATTN-PROGRAM
"""

import sys

import numpy

import grid
import launch as launches
import operations


_SECOND = "partitions = {pv = second}"
_SIZES = [(1, 2, 200, 150), (2, 1, 1, 3), (1, 1, 70, 128), (1, 1, 65, 0)]


def _run(program, sizes, seed):
    """The largest error of a result, over its largest element."""
    batches, heads, queries, keys = sizes
    draw = numpy.random.default_rng(seed)
    shapes = [(batches, heads, n, 64) for n in (queries, keys, keys)]
    tensors = [
        operations.to_bf16(draw.standard_normal(shape).astype(numpy.float32))
        for shape in shapes
    ]
    launch = launches.Launch(program)
    for name, tensor in zip("qkv", tensors):
        launch.add_tensor(name, tensor)
    launch.add_tensor("out", numpy.zeros(shapes[0], "u2"))
    out = launch.operands[-1].region
    out.writable[:], out.defined[:] = True, False
    grid.run(launch, seed, blocks=2, late=1.0)
    q, k, v = (operations.from_bf16(x).astype("f8") for x in tensors)
    scores = numpy.maximum(q @ k.swapaxes(2, 3) / 8, 0) ** 2
    expected = scores @ v
    found = operations.from_bf16(out.values(numpy.dtype("u2"), shapes[0]))
    return numpy.abs(found - expected).max() / max(numpy.abs(expected).max(), 0.1)


def main(path):
    with open(path) as file:
        text = file.read()
    orders = [
        "order = [load_k, qk, act, load_v, pv]",
        "order = [load_k, qk, load_v(1), pv(1), act]",
        "order = [load_k, qk, load_v(1), pv(1), act], exclusive = [qk, pv]",
        # More stages than there may be blocks.
        "order = [load_k, qk, act(1), load_v(2), pv(2)]",
        "order = [load_k, load_v(3), pv(3), qk, act(1)], stages = 4",
        # Unlike warpgroups, of which one multiplies what the other has computed.
        f"order = [load_k, qk, act, load_v, pv], {_SECOND}",
        f"order = [load_k, qk, act(1), load_v(2), pv(2)], persistent, {_SECOND}",
        f"order = [load_k, qk, act, load_v, pv], q_in_registers, {_SECOND}",
    ]
    first = "order = [load_k, qk, load_v(1), pv(1), act]"
    if first not in text:
        sys.exit(f"expects '{first}' in {path}")
    worst, count = 0, 0
    for order in orders:
        own = text.replace(first, order)
        if _SECOND in order:
            own = own.replace("registers = 240", "registers = 112")
        program = launches.Program(own)
        for seed, sizes in enumerate(_SIZES):
            worst, count = max(worst, _run(program, sizes, seed)), count + 1
    print(f"{count} runs, largest error {worst:.4f}")
    # Two roundings to bf16: of what is multiplied, and of the result.
    sys.exit(0 if worst < 2 ** -7 else 1)


if __name__ == "__main__":
    main(sys.argv[1])
