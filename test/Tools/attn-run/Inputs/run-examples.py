"""run-examples.py ROOT: runs each program in ROOT/docs/examples without options,
and the commands in its leading comment, such as

    //   attn-run docs/examples/alibi.mlir --arg=slopes='uniform(0.01,0.5)' \\
    //       --check

Prints each command, and the last line of its output that says PASS or FAIL."""

import os
import subprocess
import sys


def commands(path):
    command = ""
    with open(path) as file:
        for line in file:
            if not line.startswith("//"):
                return
            line = line[2:].strip()
            if command or line.startswith("attn-run "):
                command += line.rstrip("\\")
                if not line.endswith("\\"):
                    yield command
                    command = ""


os.chdir(sys.argv[1])
failed = False
for name in sorted(os.listdir("docs/examples")):
    if not name.endswith(".mlir"):
        continue
    path = "docs/examples/" + name
    for command in ["attn-run " + path, *commands(path)]:
        result = subprocess.run(command, shell=True, capture_output=True, text=True)
        lines = result.stdout.splitlines()
        print(command, *(line for line in lines if line in ("PASS", "FAIL")))
        if result.returncode != 0 or result.stderr:
            failed = True
            print(result.stdout + result.stderr)
sys.exit(failed)
