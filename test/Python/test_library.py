# RUN: %python %s
"""How the package finds the shared library."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from attn import LibraryNotFound, _library


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
                LibraryNotFound, f"version 0.1.0 or a later .*x.so is {name}"
            ):
                _library.check_version(number, "x.so")


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


if __name__ == "__main__":
    unittest.main()
