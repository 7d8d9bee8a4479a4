"""Executes the GPU kernels of a program on the CPU, whole CTAs with all
of their warps, and compares the results with those of the CPU target.

Prints the largest errors, or the first access or wait that is wrong: a race, a
barrier that nobody completes, registers of a product under way, memory that
nobody wrote. The exit code is 1 for these, and for errors above the tolerance.

  run_kernel.py causal.mlir --arg q=randn:1x2x200x64
  run_kernel.py causal.mlir --schedule '#hopper.schedule<...>' --seeds 5
  run_kernel.py causal.mlir --arg q=randn:1x2x200x64 --grad

attn-run is taken from PATH. Sizes should be small: 200 queries and keys take
some seconds.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy

import grid
import launch as launches
import operations
import ptx

_TYPES = {
    "f64": "f8",
    "f32": "f4",
    "f16": "f2",
    "bf16": "u2",
    "i64": "i8",
    "index": "i8",
    "i32": "i4",
    "i16": "i2",
    "i8": "i1",
    "i1": "?",
}


def _encode(values, dtype):
    if dtype == "bf16":
        return operations.to_bf16(numpy.asarray(values, numpy.float32))
    return numpy.asarray(values).astype(_TYPES[dtype])


def numpy_type(dtype):
    return numpy.dtype(_TYPES[dtype])


def decode(array, dtype):
    return (operations.from_bf16(array) if dtype == "bf16" else array).astype("f8")


def _draw(source, shape, dtype, draw):
    """An argument by how attn-run calls its source."""
    match = re.match(r"(\w+)\((.*)\)$", source)
    name, numbers = (match[1], match[2].split(",")) if match else (source, [])
    numbers = [float(x) for x in numbers]
    if source.endswith(".npy"):
        return numpy.load(source).view(_TYPES[dtype]).reshape(shape)
    if name == "randn":
        return _encode(draw.standard_normal(shape), dtype)
    if name == "uniform":
        return _encode(draw.uniform(*numbers, shape), dtype)
    if name == "randint":
        return _encode(draw.integers(*map(int, numbers), shape), dtype)
    if name == "blocks":
        return draw.random(shape) < numbers[0]
    if name == "arange":
        return _encode(numpy.arange(math.prod(shape)).reshape(shape), dtype)
    if name == "full":
        return _encode(numpy.full(shape, numbers[0]), dtype)
    return _encode(numpy.full(shape, float(source)), dtype)


def _attn_run(cache, path, *options):
    command = ["attn-run", path, "--target=cpu", *options]
    environment = {**os.environ, "ATTN_CACHE_DIR": cache}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise ptx.PtxError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


class Inputs:
    """The arguments of a program, and what they result in on a CPU."""

    def __init__(self, path, specs, seed, options=()):
        draw = numpy.random.default_rng(seed)
        values = [f"--arg={spec}" for spec in specs]
        with tempfile.TemporaryDirectory() as folder:
            # The second run takes the kernel of the first one.
            self._run(folder, path, values, draw, options)

    def _run(self, folder, path, values, draw, options):
        cache = os.path.join(folder, "cache")
        told = json.loads(_attn_run(cache, path, "--format=json", *values, *options))
        self.arguments = [
            (x["name"], x["dtype"], _draw(x["source"], x["shape"], x["dtype"], draw))
            for x in told["arguments"]
        ]
        self.results = [(x["name"], x["dtype"], x["shape"]) for x in told["results"]]
        values, outs = [], []
        for number, (_, _, array) in enumerate(self.arguments):
            file = os.path.join(folder, f"{number}.npy")
            numpy.save(file, array)
            values.append(f"--arg={number}={file}")
        for number in range(len(self.results)):
            outs.append(f"--out={number}={folder}/out{number}.npy")
        _attn_run(cache, path, *values, *outs, *options)
        self.expected = []
        for number, (_, dtype, _) in enumerate(self.results):
            array = numpy.load(f"{folder}/out{number}.npy")
            array = array.view("u2") if dtype == "bf16" else array
            self.expected.append(decode(array, dtype))

    def launch(self, program, parts):
        launch = launches.Launch(program, parts)
        for name, dtype, array in self.arguments:
            launch.add_tensor(name, array)
        regions = []
        for name, dtype, shape in self.results:
            launch.add_tensor(name, numpy.zeros(shape, _TYPES[dtype]))
            region = launch.operands[-1].region
            region.writable[:], region.defined[:] = True, False
            regions.append(region)
        launch.add_scratch()
        return launch, regions


def compare(name, found, expected, tolerance):
    """A line on a result, and whether it is right."""
    special = ~numpy.isfinite(expected)
    same = numpy.where(special, (found == expected) | numpy.isnan(expected), True)
    error = numpy.abs(
        numpy.where(special, 0, found - numpy.where(special, 0, expected))
    )
    worst = error.max(initial=0)
    if not same.all() or not numpy.isfinite(error).all():
        at = tuple(numpy.argwhere(~same | ~numpy.isfinite(error))[0].tolist())
        return f"{name}: {found[at]} at {at} instead of {expected[at]}", False
    at = numpy.unravel_index(int(error.argmax()), error.shape) if error.size else ()
    at = tuple(int(x) for x in at)
    return f"{name}: max error {worst:.3g} at {at}", worst <= tolerance


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="a value or a shape, as of attn-run",
    )
    parser.add_argument("--entry", help="the function, of several")
    parser.add_argument(
        "--launches",
        action="store_true",
        help="run all launches of the program, each with its first schedule",
    )
    parser.add_argument(
        "--grad", nargs="?", const="", help="compute gradients too, as attn-run does"
    )
    parser.add_argument("--schedule", help="instead of the compiler's first one")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        help="another option of attn-run for a GPU, such as --sparsity=gathered",
    )
    parser.add_argument("--ptx", help="execute this PTX instead of the compiler's")
    parser.add_argument("--save-ptx", help="write the PTX to a file")
    parser.add_argument(
        "--seed", type=int, default=0, help="of inputs and of the order"
    )
    parser.add_argument("--seeds", type=int, default=1, help="so many orders")
    parser.add_argument(
        "--late",
        type=float,
        default=1.0,
        help="how likely copies are not to come before they have to",
    )
    parser.add_argument(
        "--blocks", type=int, default=2, help="CTAs of a persistent kernel"
    )
    parser.add_argument(
        "--num-splits", type=int, default=2, help="parts of the keys with split_kv"
    )
    parser.add_argument("--tolerance", type=float, default=0.03)
    options = parser.parse_args()
    options.entry = [f"--entry={options.entry}"] if options.entry else []
    if options.grad is not None:
        options.entry.append(f"--grad={options.grad}" if options.grad else "--grad")
        options.launches = True
    try:
        status = _execute(options)
    except ptx.PtxError as error:
        print(f"error: {error}")
        status = 1
    sys.exit(status)


def _execute(options):
    inputs = Inputs(options.program, options.arg, options.seed, options.entry)
    with open(options.program) as file:
        text = file.read()
    own = options.entry + options.option
    if options.launches:
        programs = launches.Program.of_launches(text, own)
    else:
        programs = [launches.Program(text, options.schedule, own)]
    program = programs[0]
    if options.save_ptx:
        with open(options.save_ptx, "w") as file:
            file.write(program.ptx)
    if options.ptx:
        with open(options.ptx) as file:
            program.ptx = file.read()
    for one in programs:
        print(one.kernel.get("schedule", "elements"))
    parts = options.num_splits if program.combines else 1
    status = 0
    for seed in range(options.seed, options.seed + options.seeds):
        start = time.time()
        launch, regions = inputs.launch(program, parts)
        steps = 0
        for one in programs:
            own = launch.behind(one)
            own.add_tables()
            kernel = grid.run(own, seed, options.blocks, options.late)
            steps += kernel.steps if kernel else 0
        for region, result, expected in zip(regions, inputs.results, inputs.expected):
            name, dtype, shape = result
            found = region.values(numpy_type(dtype), tuple(shape))
            line, is_right = compare(
                name, decode(found, dtype), expected, options.tolerance
            )
            print(line if is_right else f"wrong: {line}")
            status |= not is_right
        print(f"seed {seed}: {steps} steps, {time.time() - start:.1f} s")
    return status


if __name__ == "__main__":
    main()
