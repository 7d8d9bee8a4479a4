# RUN: %python %s
"""run-flex-tests on a checkout that is made here, and on none."""

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

RUNNER = pathlib.Path(__file__).with_name("run-flex-tests")

TESTS = """
import unittest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def causal(b, h, i, j):
    return j <= i


class Tests(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.qkv = torch.randn(3, 1, 2, 40, 16)

    def test_results(self):
        mask = create_block_mask(causal, None, None, 40, 40, device="cpu")
        found = torch.compile(flex_attention, backend="aot_eager")(
            *self.qkv, lambda s, b, h, i, j: s * 2, mask
        )
        expected = flex_attention(*self.qkv, lambda s, b, h, i, j: s * 2, mask)
        torch.testing.assert_close(found, expected)

    def test_error(self):
        q, k, v = self.qkv
        call = torch.compile(flex_attention, backend="aot_eager")
        with self.assertRaisesRegex(Exception, "not a text of ours"):
            call(q, k[..., :3], v)

    def test_of_ours(self):
        # Theirs has no such option.
        call = torch.compile(flex_attention, backend="aot_eager")
        call(*self.qkv, **{"kernel_" "options": {"ATTN": {"opt_level": 0}}})

    def test_error_of_a_call(self):
        # Theirs takes any option.
        with self.assertRaisesRegex(ValueError, "not a text of ours"):
            flex_attention(*self.qkv, **{"kernel_" "options": {"TILE": 1}})

    def run_paged_attention(self):
        raise AssertionError("not reached")

    def test_part(self):
        self.test_results()
        self.run_paged_attention()
        raise AssertionError("nor is what follows")

    def test_code(self):
        FileCheck().check("triton")

    def test_paged(self):
        raise AssertionError("PagedAttention(")

    def test_of_masks(self):
        create_block_mask(causal, None, None, 40, 40, device="cpu")

    if not torch.cuda.is_available():
        @unittest.skipUnless(False, "on a GPU")
        def test_on_a_gpu(self):
            q = torch.randn(1, 2, 40, 16, device="cuda", requires_grad=True)
            call = torch.compile(flex_attention, backend="aot_eager")
            found, expected = (
                torch.autograd.grad(f(q, q, q).sum(), q)[0] for f in (call, flex_attention)
            )
            torch.testing.assert_close(found, expected)
"""
WRONG = """
    def test_wrong(self):
        raise AssertionError("no flex_attention")

    def test_not_compiled(self):
        def function(q, k, v):
            torch._dynamo.graph_break()
            call = torch._dynamo.disable(flex_attention)
            return call(q, k, v)

        torch.compile(function, backend="aot_eager")(*self.qkv)
"""
ON_CPU = 0 if torch is None or torch.cuda.is_available() else 1


@unittest.skipIf(torch is None, "needs PyTorch")
class Runner(unittest.TestCase):
    def run_on(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            if text is not None:
                file = pathlib.Path(folder, "test/inductor/test_flex_attention.py")
                file.parent.mkdir(parents=True)
                file.write_text(text, encoding="utf-8")
            return subprocess.run(
                [sys.executable, "-W", "ignore", RUNNER, folder, *arguments],
                capture_output=True,
                text=True,
                check=False,
                env=os.environ,
            )

    def test_what_applies_runs(self):
        run = self.run_on(TESTS)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"{5 + ON_CPU} tests apply, 3 do not", run.stdout)
        self.assertIn("left out, reads generated code: test_code", run.stdout)
        self.assertRegex(run.stdout, "left out, calls no attention, .*: test_of_masks")
        self.assertIn(f"{5 + ON_CPU} of {5 + ON_CPU} passed, 0 failed", run.stdout)

    def test_failures_count(self):
        run = self.run_on(TESTS + WRONG, "-k", "results|wrong|not_compiled")
        self.assertEqual(run.returncode, 1)
        self.assertIn("1 of 3 passed, 2 failed", run.stdout)
        self.assertIn("expects one graph, but a call of ours is in none", run.stderr)
        self.assertNotIn("passed", self.run_on(TESTS + WRONG, "--list").stdout)

    def test_no_checkout(self):
        run = self.run_on(None)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, "expects a checkout of PyTorch, but there is no /")


if __name__ == "__main__":
    unittest.main()
