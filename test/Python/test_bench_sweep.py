# RUN: %python %s
"""python -m attn_bench.sweep: its variants, its rows and its options."""

import os
import subprocess
import sys
import unittest

import shards

try:
    import torch
except ImportError:
    torch = None


def sweep(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "attn_bench.sweep", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Variants(unittest.TestCase):
    def test_agree_with_pytorch(self):
        import attn.torch as ours
        from attn.torch import _reference
        from attn_bench import catalogue

        catalogue.add_others()
        torch.manual_seed(0)
        for name in shards.sample(list(catalogue.VARIANTS)):
            variant = catalogue.VARIANTS[name]
            real = variant.shape(64)
            queries = 256 if real.queries == real.keys else 128
            shape = catalogue.Shape(2, 4, 4, queries, 256, 16)
            score, mask = variant.make(shape, "cpu")
            q = torch.randn(2, 4, queries, 16)
            k, v = torch.randn(2, 2, 4, 256, 16)
            blocks = mask and ours.create_block_mask(
                mask,
                2 if "b" in variant.of else None,
                4 if "h" in variant.of else None,
                queries,
                256,
                device="cpu",
            )
            options = {"ATTN": {"opt_level": 0}}
            o = ours.flex_attention(q, k, v, score, blocks, kernel_options=options)
            wanted, _ = _reference.attention(q, k, v, score, mask, None)
            with self.subTest(name):
                torch.testing.assert_close(o, wanted, rtol=1e-4, atol=1e-5)

    def test_gradients_compile_for_a_gpu(self):
        from attn import trace
        from attn_bench import catalogue

        catalogue.add_others()
        floats = torch.float32, torch.bfloat16, torch.float16
        for name in shards.sample(list(catalogue.VARIANTS), "gradients"):
            variant = catalogue.VARIANTS[name]
            score, mask = variant.make(variant.shape(64), "cpu")
            program = trace.trace(score, mask, namespace="torch")
            # A gradient with respect to a number is one of a CPU.
            wrt = "q", "k", "v", *(
                f"t{n}"
                for n in program.scored_captures()
                if program.captures[n].tensor.dim()
                and program.captures[n].tensor.dtype in floats
            )
            run = subprocess.run(
                ["attn-run", "-", "--target=cuda", "--emit=ptx", "--first-schedule"]
                + [f"--grad={','.join(wrt)}"],
                input=program.to_mlir(trace.Variant(dtype="bf16", dim=64)),
                env={**os.environ, "ATTN_PTXAS": "off"},
                capture_output=True,
                text=True,
                check=False,
            )
            with self.subTest(name):
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn(".visible .entry", run.stdout)

    def test_row(self):
        from attn_bench import sweep as module

        row = {
            "variant": "half",
            "kind": "mask",
            "dim": 128,
            "needed": 0.5,
            "shape": {"batch": 1, "queries": 64, "keys": 128},
            "ms": {"plain": 2.0, "ours": 1.2, "flex": 3.0},
        }
        line = module._line(row)
        self.assertIn("| 1 x (64, 128) | 128 | 0.500 |", line)
        self.assertIn("| 1.20 | 2.50 |  |", line)
        row["ms"]["flex"] = 1.2
        self.assertIn("| 1.00 | FlexAttention |", module._line(row))
        row["ms"]["ours"] = 1.6
        self.assertIn("of plain, FlexAttention", module._line(row))
        # It is not said of masks that leave next to nothing.
        row["needed"] = 0.01
        self.assertNotIn("of plain", module._line(row))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Program(unittest.TestCase):
    def test_unknown_variant(self):
        run = sweep("--variants=nothing")
        self.assertEqual(run.returncode, 2)
        self.assertIn("argument --variants: there is no 'nothing'", run.stderr)

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "of a machine without a GPU")
    def test_variant_that_fails_costs_its_row(self):
        run = sweep("--variants=halves,ragged", "--dims=64", "--jobs=1")
        self.assertEqual(run.returncode, 1)
        self.assertIn("halves D 64: ", run.stdout)
        self.assertIn("ragged D 64: ", run.stdout)


if __name__ == "__main__":
    unittest.main()
