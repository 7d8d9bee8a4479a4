"""A test of the operators in C++, which are compiled for it. Where PyTorch is
missing, `torch` is None."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.library = cls.folder / "libattn_torch.so"
        made = subprocess.run(
            [ROOT / "scripts/torch-library", cls.library, torch.__path__[0]],
            capture_output=True,
            text=True,
        )
        if made.returncode and "2.10 or later" in made.stderr:
            raise unittest.SkipTest(made.stderr)
        if made.returncode:
            raise AssertionError(made.stderr)

    def run_python(self, code, *arguments, library="0", **more):
        environment = {
            **os.environ,
            "ATTN_TORCH_LIBRARY": str(library),
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "cache"),
            **{name: str(value) for name, value in more.items()},
        }
        command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
        found = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stderr)
        return found.stdout
