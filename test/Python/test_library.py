# RUN: %python %s
"""How the package finds the shared library."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import attn
from attn import LibraryNotFound, _assembler, _library, info


def touch(path, time=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    os.utime(path, (time, time))
    return path


class Find(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.package = self.root / "python" / "attn"

    def find(self, **environ):
        return _library.find(self.package, environ)

    def test_installed(self):
        built = touch(self.root / "build/dev/lib/libattn.so")
        self.assertEqual(self.find(), built)
        self.assertEqual(self.find(), built)
        installed = touch(self.root / "lib64/libattn.so")
        self.assertEqual(self.find(), installed)
        installed = touch(self.root / "lib/libattn.so")
        self.assertEqual(self.find(), installed)

    def test_in_the_package(self):
        touch(self.root / "lib/libattn.so")
        inside = touch(self.package / "libattn.so")
        self.assertEqual(self.find(), inside)

    def test_newest_build(self):
        paths = {
            preset: touch(self.root / f"build/{preset}/lib/libattn.so", time)
            for preset, time in [("dev", 10), ("release", 30), ("portable", 20)]
        }
        touch(self.root / "build/asan/lib/libattn.so", 99)
        self.assertEqual(self.find(), paths["release"])
        os.utime(paths["portable"], (40, 40))
        self.assertEqual(self.find(), paths["portable"])

    def test_variable(self):
        touch(self.root / "lib/libattn.so")
        other = touch(self.root / "other.so")
        self.assertEqual(self.find(ATTN_LIBRARY=str(other)), other)
        self.assertEqual(self.find(ATTN_LIBRARY="").parent.name, "lib")
        with self.assertRaisesRegex(LibraryNotFound, "none.so .from ATTN_LIBRARY."):
            self.find(ATTN_LIBRARY=str(self.root / "none.so"))

    def test_nothing(self):
        with self.assertRaises(LibraryNotFound) as caught:
            self.find()
        message = str(caught.exception)
        self.assertIn("set ATTN_LIBRARY", message)
        for place in ("lib", "lib64", "build/dev/lib", "build/release/lib"):
            self.assertIn(f"{self.root}/{place}/libattn.so", message)


class Versions(unittest.TestCase):
    def test_minimum(self):
        _library.check_version(100, "x.so")
        _library.check_version(107, "x.so")
        _library.check_version(200, "x.so")
        for number, name in [(99, "0.0.99"), (10000, "1.0.0")]:
            with self.assertRaisesRegex(
                LibraryNotFound,
                f"version 0.1.0 or a later .*x.so is {name}: install .* of one version",
            ):
                _library.check_version(number, "x.so")

    def test_an_old_library(self):
        old = types.SimpleNamespace(attnVersion=mock.Mock(return_value=99))
        with mock.patch.object(_library.ctypes, "CDLL", return_value=old):
            with self.assertRaisesRegex(
                LibraryNotFound, "libattn.so is 0.0.99: .*set ATTN_LIBRARY"
            ):
                _library.open_library()


class Open(unittest.TestCase):
    """In a process of its own, as a library is opened once."""

    def run_with(self, library):
        code = """
import attn
print(attn.InvalidArgument)
try:
    attn.version()
except attn.LibraryNotFound as error:
    print("not found:", error)
"""
        environ = {**os.environ, "ATTN_LIBRARY": str(library)}
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_import_needs_no_library(self):
        self.assertIn("not found: cannot find", self.run_with("/no/such.so"))

    def test_no_library(self):
        self.assertRegex(
            self.run_with(__file__), "not found: cannot open .*test_library"
        )

    def test_another_library(self):
        maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
        for line in maps.splitlines():
            if "libc.so.6" in line:
                path = line.split(maxsplit=5)[-1].strip()
                self.assertIn("is another library", self.run_with(path))
                return
        self.skipTest("no libc.so.6")


class Assembler(unittest.TestCase):
    """Which ptxas the library is told of."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def program(self, path):
        path = touch(self.root / path)
        path.chmod(0o755)
        return str(path)

    def find(self, *folders, **environ):
        # No toolkit of this machine is in reach.
        with mock.patch.object(
            _assembler, "_is_program", lambda p: p.startswith(str(self.root)) and os.access(p, os.X_OK)
        ):
            return _assembler.find(environ, [str(self.root / f) for f in folders])

    def test_order(self):
        self.assertEqual(self.find(ATTN_PTXAS="off"), (None, "ATTN_PTXAS is off"))
        path, why = self.find("a", "b")
        self.assertIsNone(path)
        self.assertIn("nvidia-cuda-nvcc and triton", why)
        packaged = "a Python package"
        for last in (
            "b/triton/backends/nvidia/bin/ptxas",
            "b/nvidia/cuda_nvcc/bin/ptxas",
            "a/nvidia/cu12/bin/ptxas",
            "a/nvidia/cu13/bin/ptxas",
        ):
            path = self.program(last)
            self.assertEqual(self.find("a", "b"), (path, packaged))
        home = str(self.root / "cuda")
        path = self.program("cuda/bin/ptxas")
        self.assertEqual(self.find("a", CUDA_HOME=home), (path, home))
        path = self.program("bin/ptxas")
        found = self.find("a", CUDA_HOME=home, PATH=str(self.root / "bin"))
        self.assertEqual(found, (path, "PATH"))
        found = self.find("a", ATTN_PTXAS="/mine", PATH=str(self.root / "bin"))
        self.assertEqual(found, ("/mine", "ATTN_PTXAS"))

    def test_provided(self):
        with mock.patch.dict(os.environ, clear=True):
            for place, wanted in ("PATH", None), ("a Python package", "/p"):
                with mock.patch.object(_assembler, "find", return_value=("/p", place)):
                    _assembler.provide()
                self.assertEqual(os.environ.get("ATTN_PTXAS"), wanted)


class Info(unittest.TestCase):
    def test_lines(self):
        found = dict(info.collect({**os.environ, "ATTN_PTXAS": "off"}))
        self.assertIn(attn.version(), found["library"])
        self.assertEqual(found["cpu"], "available")
        self.assertEqual(found["assembler"], "none: ATTN_PTXAS is off")
        self.assertTrue(found["cuda"].startswith(("available", "not available: ")))
        found = dict(info.collect({"ATTN_PTXAS": "/none/ptxas", "ATTN_CACHE_DIR": "off"}))
        self.assertIn("does not run: ", found["assembler"])
        self.assertEqual(found["cache"], "none: ATTN_CACHE_DIR is off")

    def test_without_a_library(self):
        environ = {**os.environ, "ATTN_LIBRARY": "/none.so"}
        run = [sys.executable, "-m", "attn.info"]
        text = subprocess.run(run, env=environ, capture_output=True, text=True).stdout
        self.assertRegex(text, "library +not available: cannot find libattn.so")
        self.assertRegex(text, "torch +")


if __name__ == "__main__":
    unittest.main()
