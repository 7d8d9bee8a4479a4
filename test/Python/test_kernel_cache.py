# RUN: %python %s
"""Kernels on disk: a second process loads what the first has compiled."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import support

PROGRAM = """
import json, sys
import attn
kernel = attn.compile(sys.argv[1], target="cpu")
print(json.dumps([stage["name"] for stage in kernel.report["stages"]]))
"""


class KernelCache(unittest.TestCase):
    def test_two_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "ATTN_CACHE_DIR": folder}

            def run():
                output = subprocess.run(
                    [sys.executable, "-c", PROGRAM, support.EXAMPLES / "causal.mlir"],
                    env=environment,
                    check=True,
                    stdout=subprocess.PIPE,
                )
                return json.loads(output.stdout)

            cold = run()
            self.assertIn("codegen", cold)
            warm = run()
            self.assertEqual(warm, ["cache", "load"])


if __name__ == "__main__":
    unittest.main()
