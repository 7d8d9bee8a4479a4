# RUN: %python %s
"""python -m attn_bench.heads: its program and its options."""

import subprocess
import sys
import unittest

import attn
from attn_bench import heads


class Heads(unittest.TestCase):
    def test_program(self):
        kernel = attn.compile(heads.program(64, 8, 2), target="cpu")
        self.assertEqual([info.name for info in kernel.inputs], ["q", "k", "v"])

    def test_schedule(self):
        for dim, members in heads.OF_ONE_HEAD.items():
            schedule = f"#hopper.schedule<{members}>"
            attn.compile(heads.program(dim, 8, 2), target="cuda", schedule=schedule)

    def test_help(self):
        run = subprocess.run(
            [sys.executable, "-m", "attn_bench.heads", "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 0)
        self.assertIn("--key-heads", run.stdout)


if __name__ == "__main__":
    unittest.main()
