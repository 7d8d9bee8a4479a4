#!/usr/bin/env python3
"""A worker some of whose kernels crash, hang, are wrong, or do not load.

It runs nothing, so that its times are the same on any machine: 10 us, and less
for the kernel that is wrong. The first kernel beside the compiler's choice to
be loaded crashes, the second one hangs, and so on; a file knows the order, as a
worker that ended is followed by another.
"""

import os
import pathlib
import signal
import sys
import time

order = pathlib.Path(os.environ["BAD_WORKER_ORDER"])
kinds = ["good", "crashes", "hangs", "wrong", "does not load"]


def get_kind(package):
    """What becomes of a package, whose file is PACKAGE.attn."""
    known = order.read_text().split() if order.exists() else ["0"]
    if package not in known:
        known.append(package)
        order.write_text(" ".join(known))
    number = known.index(package)
    return kinds[number] if number < len(kinds) else "good"


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
        # What is wrong is the fastest.
        seconds = 2e-6 if kind == "wrong" else 1e-5
        return f"ok {' '.join([str(seconds)] * int(arguments[2]))}"
    if command == "compare":
        return "error result 0 is off by 1" if kind == "wrong" else "ok same"
    return "ok"


loaded = []
for line in iter(sys.stdin.readline, ""):
    command, *arguments = line.split()
    print(answer(command, arguments), flush=True)
