#!/usr/bin/env python3
"""A worker some of whose kernels crash, hang, are wrong, or do not load.

It runs nothing, so that its times are the same on any machine. The first kernel
beside the compiler's choice to be loaded crashes, the second one hangs, and so
on; a file knows the order, as a worker that ended is followed by another. Those
that are wrong are the fastest, and more than go in the halving of the rest.
"""

import math
import os
import pathlib
import signal
import struct
import sys
import time

order = pathlib.Path(os.environ["BAD_WORKER_ORDER"])
kinds = ["good", "crashes", "hangs", "wrong", "does not load"]
kinds += ["not finite", "ends", "fast"] + 10 * ["wrong"]
microseconds = {"wrong": 2, "not finite": 3, "ends": 4, "fast": 5}


def get_kind(package):
    """What becomes of a package, whose file is PACKAGE.attn."""
    known = order.read_text().split() if order.exists() else ["0"]
    if package not in known:
        known.append(package)
        order.write_text(" ".join(known))
    number = known.index(package)
    return kinds[number] if number < len(kinds) else "good"


def write_sevens(file, shape):
    """A tensor of f32 that holds nothing but 7."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    data = struct.pack("<f", 7) * math.prod(shape)
    with open(file, "wb") as output:
        output.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        output.write(header.encode() + data)


def answer(command, arguments):
    if command == "input":
        return "ok"
    if command == "load":
        kind = get_kind(pathlib.Path(arguments[0]).stem)
        loaded.append(kind)
        return "error out of memory" if kind == "does not load" else "ok"
    kind = loaded[int(arguments[0])]
    if command == "measure":
        if kind == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "hangs":
            time.sleep(1000)
        seconds = 1e-6 * microseconds.get(kind, 10)
        return f"ok {' '.join([str(seconds)] * int(arguments[2]))}"
    if command == "compare":
        # What it differs by, or that no difference tells it.
        if kind == "not finite":
            return "error result 0 is nan at element 3, and not 1"
        if kind == "ends":
            os.kill(os.getpid(), signal.SIGSEGV)
        return "ok differ 1 1" if kind == "wrong" else "ok same"
    if command == "save":
        write_sevens(f"{arguments[1]}0.npy", (1, 2, 128, 16))
    return "ok"


loaded = []
for line in iter(sys.stdin.readline, ""):
    command, *arguments = line.split()
    print(answer(command, arguments), flush=True)
