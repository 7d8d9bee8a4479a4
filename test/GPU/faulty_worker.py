"""A worker of a tuning some of whose candidates fail, on the device that it runs on.

    faulty_worker.py ORDER WORKER...

It passes commands on to WORKER, a real one. The first candidate that is loaded
ends the worker in the middle of a run, the second one never answers, and the third
one finds no memory. The file ORDER has the packages in the order in which they came
first, as a worker that ended is followed by another one.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

FAULTS = ["good", "ends", "hangs", "lacks memory"]


def find_fault(order, package):
    known = order.read_text().split() if order.exists() else []
    if package not in known:
        known.append(package)
        order.write_text(" ".join(known))
    number = known.index(package)
    return FAULTS[number] if number < len(FAULTS) else "good"


def main(order, *command):
    order = pathlib.Path(order)
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    # Of each kernel that the worker was told to load.
    faults = []
    for line in iter(sys.stdin.readline, ""):
        name, *arguments = line.split()
        fault = "good"
        if name == "load":
            faults.append(find_fault(order, pathlib.Path(arguments[0]).name))
        elif name == "measure":
            fault = faults[int(arguments[0])]
        worker.stdin.write(line)
        if fault in ("ends", "hangs"):
            # While the kernel runs, or about to.
            time.sleep(0.001)
            worker.send_signal(signal.SIGKILL if fault == "ends" else signal.SIGSTOP)
            if fault == "ends":
                worker.wait()
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1000)
        answer = worker.stdout.readline()
        if fault == "lacks memory":
            answer = "error out of memory\n"
        print(answer, end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
