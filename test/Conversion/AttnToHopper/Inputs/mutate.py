"""Breaks the protocol of a kernel in one place at a time.

Usage: mutate.py write KERNELS.mlir MUTANTS.mlir   each after a line // -----
       mutate.py check MUTANTS.mlir ERRORS.txt     each must have an error,
                                                   and kernels as they are none

Steps are left out, done twice, moved before the wait that they need, or get
another number or note; waits leave one more product in flight; loops of one role run
once more.
"""

import re
import sys

STEP = re.compile(r"hopper\.(put|get|release|post|receive|take_turn|pass_turn|wait|drain)\b")


def rename(line):
    """The line with other names for its results."""
    results = re.match(r"\s*(%[\w:]+(, )?)*( = )?", line)[0]
    return re.sub(r"%(\w+)", r"%twice\1", results) + line[len(results) :]


def mutants(lines):
    """Yields what is done to which line, and the lines that result."""
    for at, line in enumerate(lines):
        before, after = lines[:at], lines[at + 1 :]
        loop = re.search(r"scf\.for %\w+ = (%\w+) to", line)
        if loop and any("hopper." in inner for inner in body(lines, at)):
            yield "run once more", at, before + [
                re.sub(r" = %\w+ to", " = %before to", line)
            ] + after
        match = STEP.search(line)
        if not match:
            continue
        step = match[1]
        if step == "wait":
            count = int(re.search(r"in_flight (\d+)", line)[1])
            yield "leave one more in flight", at, before + [
                re.sub(r"in_flight \d+", f"in_flight {count + 1}", line)
            ] + after
            continue
        if step == "drain":
            yield "leave out", at, before + after
            continue
        yield "do twice", at, before + [line, rename(line)] + after
        if "=" not in line.split("hopper.")[0]:
            yield "leave out", at, before + after
        if "_turn" not in step:
            yield "give another number", at, before + [
                re.sub(r"\[%\w+\]", "[%before]", line, count=1)
            ] + after
        if " note %" in line:
            yield "send another note", at, before + [
                re.sub(r" note %[\w#]+", " note %before", line)
            ] + after
        if step == "release" and re.search(
            r"hopper\.(wait|drain)", lines[at - 1]
        ):
            yield "do before the wait", at, lines[: at - 1] + [
                line,
                lines[at - 1],
            ] + after


def body(lines, at):
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in lines[at + 1 :]:
        if len(line) - len(line.lstrip()) <= indent:
            return
        yield line


def write(program, path):
    with open(program) as file:
        text = file.read()
    aliases = "".join(re.findall(r"^#.*\n", text, re.MULTILINE))
    chunks = []
    for kernel in re.split(r"^(?=  gpu\.module )", text, flags=re.MULTILINE)[1:]:
        lines = (aliases + "module {\n" + kernel).rstrip().split("\n")
        # The file's module ends where its last kernel does.
        lines += ["}"] if lines[-1] != "}" else []
        # A number that no step has.
        at = next(n for n, line in enumerate(lines) if "create_channel" in line)
        lines.insert(at, "%before = arith.constant -3 : i32")
        chunks.append("// right\n" + "\n".join(lines))
        for what, number, changed in mutants(lines):
            step = lines[number].strip()
            chunks.append(f"// {what}: {step}\n" + "\n".join(changed))
    with open(path, "w") as file:
        file.write("\n// -----\n".join(chunks))


def check(path, errors):
    with open(path) as file:
        chunks = file.read().split("\n// -----\n")
    with open(errors) as file:
        text = file.read()
    errors = re.findall(r":(\d+):\d+: error: (.*)", text)
    if not all(re.match(r"'(hopper|scf)\.\w+' op ", what) for _, what in errors):
        sys.exit(f"expects no errors but those of the pass, but got:\n{text}")
    rejected = [int(line) for line, _ in errors]
    first, missed = 1, []
    for chunk in chunks:
        after = first + chunk.count("\n") + 1
        is_rejected = any(first <= line < after for line in rejected)
        if is_rejected == chunk.startswith("// right\n"):
            missed.append(chunk.split("\n")[0])
        first = after + 1
    if missed:
        sys.exit("expects another verdict of:\n" + "\n".join(missed))
    print(f"{sum(not c.startswith('// right') for c in chunks)} mutants rejected")


{"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
