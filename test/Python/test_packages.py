# RUN: %python %s
# REQUIRES: numpy
"""Kernel.save and attn.load."""

import concurrent.futures
import copy
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import attn
import numpy as np
import support

CAUSAL = support.EXAMPLES / "causal.mlir"
# Loads a package in a process that compiles nothing.
OTHER = """
import sys, attn, numpy
q = numpy.load(sys.argv[2])
numpy.save(sys.argv[3], attn.load(sys.argv[1])(q, q, q))
"""


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kernel = attn.compile(CAUSAL)
        random = np.random.default_rng(0)
        self.q = random.standard_normal((1, 2, 77, 8)).astype(np.float32)
        self.o = self.kernel(self.q, self.q, self.q)

    def test_bytes(self):
        package = self.kernel.save()
        self.assertIsInstance(package, bytes)
        for given in package, bytearray(package), memoryview(package):
            kernel = attn.load(given)
            self.assertEqual(kernel.target, "cpu")
            self.assertEqual(kernel.entry, "causal")
            self.assertEqual(kernel.inputs, self.kernel.inputs)
            self.assertEqual(kernel.results, self.kernel.results)
            np.testing.assert_array_equal(kernel(self.q, self.q, self.q), self.o)
        self.assertEqual(attn.load(package).save(), package)

    def test_pickle(self):
        with self.assertRaisesRegex(attn.Unsupported, r"kernel.save\(\), .* attn.load"):
            pickle.dumps(self.kernel)
        self.assertIs(copy.deepcopy([self.kernel])[0], self.kernel)

    def test_files_and_processes(self):
        package, q, o = (self.folder / name for name in ("causal.attn", "q.npy", "o.npy"))
        self.assertIsNone(self.kernel.save(package))
        self.assertEqual([x.name for x in self.folder.iterdir()], ["causal.attn"])
        self.assertEqual(package.read_bytes(), self.kernel.save())
        name = os.fsencode(self.folder / "bytes")
        self.kernel.save(name)
        self.assertEqual(package.read_bytes(), pathlib.Path(os.fsdecode(name)).read_bytes())
        os.remove(name)
        # Threads that write the same file leave one of their packages.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(self.kernel.save, [package] * 16))
        self.assertEqual([x.name for x in self.folder.iterdir()], ["causal.attn"])
        self.assertEqual(package.read_bytes(), self.kernel.save())
        np.save(q, self.q)
        subprocess.run(
            [sys.executable, "-c", OTHER, package, q, o],
            env={**os.environ, "ATTN_CACHE_DIR": "off"},
            check=True,
        )
        np.testing.assert_array_equal(np.load(o), self.o)
        np.testing.assert_array_equal(attn.load(str(package))(self.q, self.q, self.q), self.o)

    def test_errors(self):
        kernel = attn.load(self.kernel.save())
        with self.assertRaisesRegex(attn.Unsupported, "for gradients.*a package"):
            kernel.gradient()
        with self.assertRaisesRegex(attn.Unsupported, "for tuning.*a package"):
            kernel.tune(self.q, self.q, self.q)
        with self.assertRaisesRegex(attn.InvalidArgument, "to be bytes or a path.*int"):
            attn.load(3)
        with self.assertRaises(FileNotFoundError):
            attn.load(self.folder / "none")
        with self.assertRaises(OSError):
            self.kernel.save(self.folder / "none" / "file")
        for wrong in b"", b"no package", self.kernel.save()[:-1]:
            with self.assertRaises(attn.Error):
                attn.load(wrong)


if __name__ == "__main__":
    unittest.main()
