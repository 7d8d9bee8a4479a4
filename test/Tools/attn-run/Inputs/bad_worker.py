#!/usr/bin/env python3
"""A worker some of whose kernels crash, hang, are wrong, or do not load."""

import os
import signal
import subprocess
import sys
import time

worker = subprocess.Popen(
    ["attn-run", "--tune-worker"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
# Which package a kernel is of: 1.attn is the first candidate.
packages = []
for line in iter(sys.stdin.readline, ""):
    command, *arguments = line.split()
    answer = None
    if command == "load":
        packages.append(os.path.basename(arguments[0]).split(".")[0])
        if packages[-1] == "4":
            answer = "error out of memory\n"
            line = "load /nonexistent\n"
    elif command != "input":
        package = packages[int(arguments[0])]
        if package == "1":
            os.kill(os.getpid(), signal.SIGSEGV)
        if package == "2" and command == "measure":
            worker.kill()
            time.sleep(1000)
        if package == "3" and command == "compare":
            answer = "error result 0 is off by 1\n"
    worker.stdin.write(line)
    worker.stdin.flush()
    theirs = worker.stdout.readline()
    if command == "measure" and packages[int(arguments[0])] == "3":
        # What is wrong is the fastest.
        times = " ".join(str(float(time) / 4) for time in theirs.split()[1:])
        answer = f"ok {times}\n"
    sys.stdout.write(answer or theirs)
    sys.stdout.flush()
