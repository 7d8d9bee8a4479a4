"""Runs the tests of variants once more, with another option.

Each program of a folder is run as its first RUN line says, and with the option:
what --check compares with the reference does not read what the compiler has derived.

usage: variants.py FOLDER OPTION
"""

import pathlib
import re
import subprocess
import sys

import shards


def get_command(path, option):
    """The command of the first RUN line that checks a program, and the option."""
    text = re.sub(r"\\\n// RUN:", " ", path.read_text())
    for line in re.findall(r"^// RUN: (.*)$", text, re.MULTILINE):
        if "--check" not in line or not re.match(r"\s*(attn-run|sed )", line):
            continue
        command = line.replace("%s", str(path)).split("| FileCheck")[0]
        if "%" in command.replace("%%", ""):
            continue
        return re.sub(r"\battn-run\b", f"attn-run '{option}'", command, count=1)
    return None


def main(folder, option):
    count = failures = 0
    paths = sorted(pathlib.Path(folder).glob("*.mlir"))
    for path in shards.sample(paths):
        command = get_command(path, option)
        if command is None:
            print(f"{path.name}: no command to check it with")
            continue
        run = subprocess.run(command, shell=True, capture_output=True, text=True)
        count += 1
        if run.returncode == 0 and "PASS" in run.stdout:
            continue
        failures += 1
        print(f"{path.name}: {command}\n{run.stdout}{run.stderr}")
    print(f"{count} programs, {failures} failures")
    return failures != 0 or count == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
