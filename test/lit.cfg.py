"""Tests of the tools: files with RUN lines, checked with FileCheck."""

import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = {"Inputs", "lit.cfg.py"}
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.attn_obj_root, "test")

# attn-opt and the other tools are found before anything installed; FileCheck,
# not, split-file and count come from the LLVM that this build uses.
tool_dirs = [os.path.join(config.attn_obj_root, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(
    tool_dirs + [config.environment.get("PATH", os.environ["PATH"])]
)
config.environment["FILECHECK_OPTS"] = "--dump-input=fail"
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
# Nothing that other runs have kept decides a test.
config.environment["ATTN_CACHE_DIR"] = "off"
config.environment["ATTN_TUNING_DB"] = "off"

# Of long lists a sample is run, another one with each commit.
inputs = os.path.join(config.test_source_root, "Inputs")
config.environment["PYTHONPATH"] = inputs
if "ATTN_TEST_TURN" not in os.environ:
    commits = ["git", "-C", config.attn_src_root, "rev-list", "--count", "HEAD"]
    found = subprocess.run(commits, capture_output=True, text=True)
    os.environ["ATTN_TEST_TURN"] = found.stdout.strip() or "0"
sys.path.append(inputs)
import shards

lit_config.note(
    f"one in {shards.SHARE} of long lists: ATTN_TEST_SHARE={shards.SHARE} ATTN_TEST_TURN={shards.TURN}"
)
config.environment["ATTN_TEST_SHARE"] = str(shards.SHARE)
config.environment["ATTN_TEST_TURN"] = str(shards.TURN)
config.substitutions.append(("%random_cases", str(shards.count(60))))
# Nor does a GPU of this machine: there is no driver but the one that a test names.
config.environment["ATTN_LIBCUDA"] = "/nonexistent"

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%attn_src_root", config.attn_src_root))
config.substitutions.append(("%attn_obj_root", config.attn_obj_root))
# A CUDA driver without a GPU, in which kernels do nothing.
config.substitutions.append(
    (
        "%fake_cuda",
        os.path.join(config.attn_obj_root, "test", "Unit", "libAttnFakeCuda.so"),
    )
)
# To preload: a clock that ticks every 10 ms, and a disk that is full at a moment.
for name, library in (("coarse_clock", "CoarseClock"), ("faulty_disk", "FaultyDisk")):
    path = os.path.join(
        config.attn_obj_root, "test", "Tools", f"libAttn{library}.so"
    )
    config.substitutions.append(("%" + name, path))
config.substitutions.append(
    ("%examples", os.path.join(config.attn_src_root, "docs", "examples"))
)

# Features, for REQUIRES and UNSUPPORTED. A test that needs a GPU requires
# `cuda`, which no build offers yet.
if "address" in config.attn_sanitize:
    config.available_features.add("asan")
if config.attn_sanitize:
    config.available_features.add("sanitizer")
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            config.environment[name] = os.environ[name]
if config.attn_linkage == "static":
    config.available_features.add("portable")
if shutil.which("ptxas") or os.access("/usr/local/cuda/bin/ptxas", os.X_OK):
    config.available_features.add("ptxas")


# Pages about Python use NumPy; the tests of the package do where it is there.
if not subprocess.call(
    [config.python, "-c", "import numpy"], stderr=subprocess.DEVNULL
):
    config.available_features.add("numpy")

# Those of the system, or what scripts/torch-cpu and scripts/clients have installed.
for name in ("torch", "jax"):
    if os.path.exists(
        os.path.join(config.attn_src_root, "build", name, "attn-installed")
    ) or not subprocess.call(
        [
            config.python,
            "-c",
            f"import importlib.util as u; raise SystemExit(not u.find_spec('{name}'))",
        ]
    ):
        config.available_features.add(name)

# Kernels for a GPU are compiled to machine code where the tools are there:
# those of LLVM, with its NVPTX target, and the assembler of CUDA.
path = config.environment["PATH"]
llc = shutil.which("llc", path=path)
if llc:
    config.available_features.add("llc-native")
linker = next(filter(None, map(shutil.which, ("ld.lld-22", "ld.lld", "ld"))), None)
if linker:
    config.available_features.add("linker")
    config.substitutions.append(("%linker", linker))
if llc and b"nvptx64" in subprocess.run([llc, "--version"], capture_output=True).stdout:
    config.available_features.add("llc-nvptx")
if shutil.which("mlir-translate", path=path):
    config.available_features.add("mlir-translate")
ptxas = shutil.which("ptxas", path=path + os.pathsep + "/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))


def host_features():
    """The instruction sets that lowerings choose between, of this machine."""
    try:
        with open("/proc/cpuinfo") as info:
            flags = next((l for l in info if l.startswith("flags")), "").split()
    except OSError:
        return
    names = {
        "avx2": "avx2",
        "avx512f": "avx512",
        "avx512_bf16": "avx512bf16",
        "avx512_fp16": "avx512fp16",
        "amx_bf16": "amx",
    }
    for flag, feature in names.items():
        if flag in flags:
            yield feature


config.available_features.update(host_features())
