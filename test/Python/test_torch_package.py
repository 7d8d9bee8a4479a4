# RUN: %python %s
"""Packages of AOTInductor, which run without the package attn and without Python."""

import pathlib
import shutil
import subprocess
import unittest

from torch_library import ROOT, Case, torch

# Makes a package of a model, and tells what it computes.
PACKAGE = """
import sys, torch
import attn.torch as ours

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(2, 80))

    def forward(self, x):
        mask = ours.create_block_mask(
            lambda b, h, i, j: i - j < 5, None, None, x.shape[2], x.shape[2], "cpu"
        )
        # Without tensors and numbers that it reads, and with such.
        x = ours.sdpa(x, x, x, is_causal=True)
        return ours.flex_attention(x, x, x, lambda s, b, h, i, j: s + self.bias[h, i], mask)

model, (x, y) = Model(), (torch.randn(2, 2, n, 8) for n in (20, 33))
length = torch.export.Dim("length", min=2, max=40)
with torch.no_grad():
    program = torch.export.export(model, (x,), dynamic_shapes=({2: length},))
    torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
    torch.save([(x, model(x)), (y, model(y))], sys.argv[2])
"""

# Runs it, without the package attn.
RUN = """
import sys, torch
torch.ops.load_library(sys.argv[3])
model = torch._inductor.aoti_load_package(sys.argv[1])
for x, expected in torch.load(sys.argv[2]):
    assert torch.equal(model(x), expected)
assert not any(name.startswith("attn") for name in sys.modules)
print("the same")
"""


@unittest.skipIf(
    torch is None or not shutil.which("g++"), "needs PyTorch and a compiler"
)
class Package(Case):
    def package(self):
        """The files of a model and of what it computes."""
        files = self.folder / "model.pt2", self.folder / "expected.pt"
        if not files[1].exists():
            self.run_python(PACKAGE, *files)
        return files

    def test_without_the_package(self):
        found = self.run_python(RUN, *self.package(), self.library)
        self.assertEqual(found.strip(), "the same")

    def test_without_python(self):
        # The program of the documentation.
        package, expected = self.package()
        program, root = self.folder / "run_aoti", pathlib.Path(torch.__path__[0])
        libraries = root / "lib"
        subprocess.run(
            ["g++", "-std=c++20", ROOT / "docs/examples/run_aoti.cpp", "-o", program]
            + ["-isystem", root / "include"]
            + [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
            + [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed"]
            + ["-ltorch", "-ltorch_cpu", "-lc10", "-ldl"]
            # Those of CUDA, which are not needed here, may be missing.
            + ["-Wl,--unresolved-symbols=ignore-in-shared-libs"],
            check=True,
        )
        files = self.folder / "input.pt", self.folder / "output.pt"
        for x, wanted in torch.load(expected):
            torch.save(x, files[0])
            subprocess.run([program, package, self.library, *files], check=True)
            self.assertTrue(torch.equal(torch.load(files[1]), wanted))
        found = subprocess.run(
            [program, package, "/none.so", *files], capture_output=True, text=True
        )
        self.assertEqual(found.returncode, 1)
        self.assertIn("/none.so", found.stderr)


if __name__ == "__main__":
    unittest.main()
