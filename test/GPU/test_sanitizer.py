"""Small kernels under compute-sanitizer: no access outside of memory, no race in
shared memory, no misuse of barriers. It needs no PyTorch."""

import os
import shutil
import subprocess

import pytest

import cases
import programs
import running

pytestmark = pytest.mark.no_device
_LIMIT_S = 100


def _find_sanitizer():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path=f"{home}/bin"
    )


@pytest.fixture(scope="module")
def tools():
    """(compute-sanitizer, attn-run)"""
    sanitizer, runner = _find_sanitizer(), running.find_tool("attn-run")
    if sanitizer is None:
        pytest.skip("needs compute-sanitizer")
    if runner is None:
        pytest.skip("needs attn-run; ATTN_RUN may name it")
    return sanitizer, runner


# Variants, and the arguments that are not random numbers.
_PROGRAMS = {
    "full": ("bf16", 64, []),
    "causal": ("f16", 128, []),
    "alibi": ("bf16", 72, []),
    "ragged": (
        "bf16",
        64,
        ["--arg=rows=randint(0,130)", "--arg=columns=randint(0,201)"],
    ),
    # CTAs that share a multiprocessor.
    "documents": (
        "bf16",
        64,
        ["--arg=mine=randint(0,3)", "--arg=theirs=randint(0,3)"],
    ),
    # Tiles of 32 and of 8 bits.
    "bias-bhij-f32-causal": ("bf16", 64, []),
    "random-pairs-i1": ("bf16", 64, ["--arg=on=randint(0,2)"]),
}
# Variants whose gradients run too: sums in one order, of a mask's tiles, and of
# a capture.
_GRADIENTS = ("full", "causal", "alibi", "documents")
# Such that a row of bytes is a multiple of 16, too.
_SHAPES = {"q": "2x3x129", "k": "2x3x208"}
# Those of gradients under racecheck. Lane 0 of a warp arrives at an mbarrier for all of
# its lanes, after a __syncwarp. Racecheck does not see that this is for their reads, too,
# and reports what is written there next: numbers of work tiles, and lse and delta, which
# are copied without a tensor map. A program of 30 lines that does nothing else has that
# report, and none if all lanes arrive; so has FlashAttention's backward kernel
# (compute-sanitizer 2025.3). With these sizes there is one work tile, whose blocks
# of queries fit into the stages, and nothing is written twice. `mutants` of
# test/Integration/PTX leaves waits and arrivals out of kernels with more, and finds the
# races.
_RACECHECK_SHAPES = {"q": "1x1x125", "k": "1x1x104"}
_RACECHECK_SHAPES_OF_ONE_STAGE = {"q": "1x1x61", "k": "1x1x104"}
# Of each tool, how it says that all is well.
_SUMMARIES = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
    "synccheck": "ERROR SUMMARY: 0 errors",
}


# Where a maximum has grown, a warp waits for its product in a branch of its own,
# as the manual of PTX allows: wgmma.wait_group is for all threads of a warp.
# synccheck wants all warps of a warpgroup there. With these sizes, only causal
# kernels have warps that take that branch alone.
_CASES = [
    (f"{name}{kind}", tool)
    for kind, names in (("", _PROGRAMS), (" gradients", _GRADIENTS))
    for name in names
    for tool in _SUMMARIES
    if (name, tool) != ("causal", "synccheck")
]


def _shapes(name, gradients, tool):
    if not gradients or tool != "racecheck":
        return _SHAPES
    # Its slopes have a gradient, too, and the schedule for that has one stage.
    return _RACECHECK_SHAPES_OF_ONE_STAGE if name == "alibi" else _RACECHECK_SHAPES


@pytest.mark.parametrize("name, tool", _CASES)
def test_kernel(tools, tmp_path, name, tool):
    sanitizer, runner = tools
    name, _, gradients = name.partition(" ")
    dtype, dim, arguments = _PROGRAMS[name]
    path = tmp_path / f"{name}.mlir"
    path.write_text(programs.program(cases.VARIANTS[name], dtype, dim, dim))
    command = [runner, str(path), "--target=cuda", "--check", *arguments]
    command += ["--grad"] if gradients else []
    shapes = _shapes(name, gradients, tool)
    command += [f"--arg={arg}=randn:{shape}x{dim}" for arg, shape in shapes.items()]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S)
    if "cannot run on a GPU" in plain.stderr:
        pytest.skip(plain.stderr.strip())
    assert plain.returncode == 0, plain.stdout + plain.stderr
    checked = subprocess.run(
        [sanitizer, "--tool", tool, "--error-exitcode", "99", *command],
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
    )
    text = checked.stdout + checked.stderr
    assert checked.returncode == 0, text
    assert _SUMMARIES[tool] in text, text
    assert "PASS" in text, text
