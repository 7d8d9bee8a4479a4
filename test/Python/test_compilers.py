# RUN: %python %s
"""Next to other compilers that are made of LLVM, in one process: each compiles, in
whatever order they are loaded, also where the symbols of all are seen by all.

The others may be in build/compilers:

  pip install --no-deps --target build/compilers triton==3.9.0 iree-base-compiler==3.13.0

Nothing of it needs a GPU: Triton compiles for one, and IREE for a CPU.
"""

import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from attn import _library

try:
    import torch
except ImportError:
    torch = None

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "compilers"
sys.path.append(str(FOLDER))
COMPILERS = "attn", "triton", "iree"

# Loads them in the order of the arguments, and then lets each compile something. What
# Triton compiles has to be in a file.
PROGRAM = '''
import os, sys

order, is_global = sys.argv[1].split(","), sys.argv[2] == "global"
if is_global:
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
for name in order:
    if name == "torch":
        import torch
    elif name == "attn":
        import attn
        attn.version()
    elif name == "triton":
        import triton, triton.language
        from triton._C import libtriton
    else:
        from iree.compiler import api, ir
        api.Session()

def attn_compiles():
    import attn
    kernel = attn.compile("""
    func.func @f(%q: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
      %e = tensor.empty() : tensor<1x1x4x8xf32>
      %o = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
        tensor<1x1x4x8xf32>) outs(%e : tensor<1x1x4x8xf32>)
      return %o : tensor<1x1x4x8xf32>
    }""", target="cpu")
    data = [1.0] * 32
    q = memoryview(bytearray(__import__("struct").pack("32f", *data))).cast("f", (1, 1, 4, 8))
    o = kernel(q)
    assert bytes(getattr(o, "array", o)) == bytes(q)

def twice(x, y, n: "tl.constexpr"):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i) * 2)

def triton_compiles():
    import triton
    from triton.backends.compiler import GPUTarget
    global tl
    import triton.language as tl
    types = {"x": "*fp32", "y": "*fp32", "n": "constexpr"}
    source = triton.compiler.ASTSource(triton.jit(twice), signature=types, constexprs={"n": 128})
    assert triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]

def iree_compiles():
    from iree.compiler import api
    session = api.Session()
    session.set_flags("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    invocation = session.invocation()
    assert invocation.parse_source(api.Source.wrap_buffer(session, b"""
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.addf %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }\\0"""))
    assert invocation.execute()
    invocation.output_vm_bytecode(api.Output.open_membuffer())

for name in reversed(order):
    if name != "torch":
        globals()[name + "_compiles"]()
# Once more, after the others.
attn_compiles()
print("compiled", *order)
'''


def has_own_llvm():
    """Whether libattn.so has LLVM in it, as that of a wheel has, and shows it to
    nobody. That of a build for developers takes the shared library of the system."""
    needed = subprocess.run(["ldd", _library.find()], capture_output=True, text=True)
    return "libLLVM" not in needed.stdout


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@unittest.skipUnless(
    is_there("triton") and is_there("iree.compiler"), "needs Triton and IREE's compiler"
)
class Compilers(unittest.TestCase):
    def run_in(self, order, flags):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(PROGRAM)
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(FOLDER)]),
                "TRITON_CACHE_DIR": folder,
                "ATTN_CACHE_DIR": "off",
            }
            command = [sys.executable, "-W", "ignore", program, ",".join(order), flags]
            run = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(
            (run.returncode, run.stdout.split()), (0, ["compiled", *order]), run.stderr[-2000:]
        )

    def test_orders(self):
        first = () if torch is None else ("torch",)
        for number, order in enumerate(itertools.permutations(COMPILERS)):
            with self.subTest(order):
                self.run_in((*first, *order) if number % 2 else (*order, *first), "local")

    @unittest.skipUnless(has_own_llvm(), "needs a libattn.so with LLVM in it")
    def test_seen_by_all(self):
        for order in COMPILERS, COMPILERS[::-1]:
            with self.subTest(order):
                self.run_in(order, "global")


if __name__ == "__main__":
    unittest.main()
