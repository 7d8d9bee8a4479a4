# RUN: %python %s
"""The operators in C++ (lib/Torch), which processes without Python run."""

import os
import shutil
import subprocess
import sys
import unittest

from torch_library import ROOT, Case, torch

# What both kinds of operators are given, printed as results.
CALLS = """
import gc, torch
import attn.torch as ours
from attn import _library

print("in C++" if _library.torch_operators() else "in Python")
torch.manual_seed(0)
window, scale, ids = 3, 1.25, torch.arange(40) // 9
limit, flags = torch.tensor(0.5), torch.rand(2, 40) > 0.2

def call(q, k, v, bias):
    mask = ours.create_block_mask(
        lambda b, h, i, j: (ids[i] == ids[j]) & (i - j < window) & flags[h, j],
        *(None, None, 40, 40, "cpu"),
    )
    score_mod = lambda s, b, h, i, j: torch.minimum(s * scale + bias[h, i], limit + 9)
    # No test is about speed.
    options = {"ATTN": {"opt_level": 0, "deterministic": False}}
    return ours.flex_attention(q, k, v, score_mod, mask, enable_gqa=True, kernel_options=options)

for dtype, transposed in [(torch.float32, True), (torch.float64, False), (torch.bfloat16, True)]:
    q, k, v = (torch.randn(2, h, 40, 8).to(dtype) for h in (2, 1, 1))
    if transposed:  # elements that are not next to each other, and another order
        q = q.transpose(1, 2).contiguous().transpose(1, 2)
        k = k.mT.contiguous().mT
    bias = torch.randn(2, 40)
    wrt = q, k, v, bias
    for x in wrt:
        x.requires_grad_()
    expected = call(*wrt)
    found = torch.compile(call, fullgraph=True, backend="aot_eager")(*wrt)
    assert found.stride() == expected.stride()
    for a, b in zip(
        (found, *torch.autograd.grad(found.square().sum(), wrt)),
        (expected, *torch.autograd.grad(expected.square().sum(), wrt)),
    ):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()

# What is prepared.
mask = ours.create_block_mask(lambda b, h, i, j: ids[i] == ids[j], None, None, 40, 40, "cpu")
layer = lambda q: ours.flex_attention(q, q, q, block_mask=mask.prepare())
q = torch.randn(1, 1, 40, 8)
for _ in range(2):
    assert torch.equal(torch.compile(layer, backend="aot_eager")(q), layer(q))
attn = __import__("attn")
attn.clear_cache()
assert torch.equal(torch.compile(layer, backend="aot_eager")(q), layer(q))
del mask, layer
gc.collect()

for arguments in (
    ([q, q, q], [0], [], "func.func @f() { x }", ""),
    ([q, q], [0], [], "func.func @f() { x }", ""),
    ([q, q, q], [0], [], "func.func @f() { x }", "unknown=3"),
):
    try:
        torch.ops.attn.forward(*arguments)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
print(torch.ops.attn.forward.default._schema)
print(torch.ops.attn.backward.default._schema)
"""

# Of a library with a hook: two threads, of which one waits in the hook.
THREADS = """
import ctypes, sys, threading, torch

hooked = ctypes.CDLL(sys.argv[2])
operators = ctypes.CDLL(sys.argv[1])
torch.ops.load_library(sys.argv[1])
told, go_on, held = threading.Event(), threading.Event(), []
q = torch.randn(1, 1, 2, 8)

@ctypes.CFUNCTYPE(None, ctypes.c_char_p)
def hook(what):
    if what.decode() in ("slow", "prepare"):
        told.set()
        # The limit is for a test that fails; else nothing takes so long.
        held.append(go_on.wait(60))

def call(program, mask=0):
    torch.ops.attn.forward([q, q, q], [mask], [], program, "")

ctypes.c_void_p.in_dll(hooked, "hook").value = ctypes.cast(hook, ctypes.c_void_p).value
operators.attnTorchShare(ctypes.c_int64(1))
operators.attnTorchShare(ctypes.c_int64(2))
call("known")
for slow in (("slow",), ("known", 1)):
    told.clear()
    go_on.clear()
    thread = threading.Thread(target=call, args=slow)
    thread.start()
    told.wait()
    # While that waits, other calls do not.
    call("known")
    call(f"new for {slow[0]}")
    go_on.set()
    thread.join()
call("known", 2)
print(held)
"""


@unittest.skipIf(
    torch is None or not shutil.which("g++"), "needs PyTorch and a compiler"
)
class Library(Case):
    def test_as_those_in_python(self):
        where, *lines = self.run_python(CALLS, library=self.library).splitlines()
        self.assertEqual(where, "in C++")
        there, *theirs = self.run_python(CALLS).splitlines()
        self.assertEqual(there, "in Python")
        # The same schemas; an error has the same text, and the class of C++.
        self.assertEqual(lines[-2:], theirs[-2:])
        self.assertIn("attn.torch:1:1", lines[0])
        self.assertEqual(lines[0].partition(" ")[2], theirs[0].partition(" ")[2])
        self.assertIn("expects a query, a key, a value", lines[1])
        self.assertIn("options that attn.compile has, but got 'unknown'", lines[2])

    def test_calls_wait_for_their_own_kernels_only(self):
        hooked = self.folder / "hooked.so"
        source = ROOT / "test/Python/Inputs/hooked-library.c"
        subprocess.run(
            ["g++", "-x", "c", "-fPIC", "-shared", f"-I{ROOT}/include", source, "-o", hooked],
            check=True,
        )
        found = self.run_python(THREADS, self.library, hooked, ATTN_LIBRARY=hooked)
        self.assertEqual(found.strip(), "[True, True, True]")

    def test_nothing_else_is_exported(self):
        command = ["nm", "-D", "--defined-only", self.library]
        found = subprocess.run(command, capture_output=True, text=True).stdout
        names = [line.split()[-1] for line in found.splitlines()]
        self.assertTrue(names)
        self.assertEqual([x for x in names if not x.startswith("attnTorch")], [])

    def test_without_libattn(self):
        code = """
import sys, torch
torch.ops.load_library(sys.argv[1])
q = torch.randn(1, 1, 2, 8)
torch.ops.attn.forward([q, q, q], [0], [], "", "")
"""
        environment = {**os.environ, "ATTN_LIBRARY": "/nowhere/libattn.so"}
        found = subprocess.run(
            [sys.executable, "-c", code, self.library],
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertIn("set ATTN_LIBRARY to its path: /nowhere", found.stderr)


if __name__ == "__main__":
    unittest.main()
