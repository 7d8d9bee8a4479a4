# RUN: %python %s
"""python -m attn_bench: its programs, and the program itself."""

import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

import attn
import shards
from attn_bench import peers, split_kv, variants
from attn_bench.variants import Case


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "attn_bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def bench_small(*arguments):
    """A run of small cases on a CPU, and its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.json"
        run = bench(
            "--device=cpu",
            "--dims=16",
            "--lengths=40",
            "--tokens=80",
            "--heads-total=32",
            "--rounds=2",
            f"--json={path}",
            *arguments,
        )
        rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return run, rows


class Programs(unittest.TestCase):
    def test_all_compile(self):
        cases = [
            Case(name, mask, dtype, 2, 4, 32, 16)
            for name, variant in variants.VARIANTS.items()
            for mask in variant.masks or variants.MASKS
            for dtype in variants.TORCH_TYPES
        ]
        for case in shards.sample_each(cases, lambda case: case.variant):
            kernel = attn.compile(variants.program(case), opt_level=0)
            names = [info.name for info in kernel.inputs]
            captures = variants.VARIANTS[case.variant].captures
            wanted = ["q", "k", "v", *(capture.name for capture in captures)]
            self.assertEqual(names, wanted, str(case))
            self.assertEqual(kernel.results[0].dtype, case.dtype)

    def test_log_sum_exp(self):
        case = Case("documents", "documents", "bf16", 2, 4, 32, 16)
        kernel = attn.compile(variants.program(case, lse=True), opt_level=0)
        self.assertEqual([info.name for info in kernel.results], ["o", "lse"])

    def test_one_kernel_for_all_lengths(self):
        programs = {
            variants.program(Case("rel-bias", "causal", "bf16", 2, heads, length, 64))
            for heads, length in [(1, 100), (8, 200)]
        }
        self.assertEqual(len(programs), 1)

    def test_parts(self):
        options = types.SimpleNamespace(dtype="bf16", dims=[64], lengths=[512])
        cases = list(split_kv.cases(options))
        self.assertEqual({case.queries for case in cases}, {1, 16, 128, 512})
        for case in cases[0], cases[-1]:
            kernel = attn.compile(split_kv.program(case), target="cuda")
            schedules = [each["schedule"] for each in kernel.report["kernels"]]
            self.assertEqual(sum("split_kv" in each for each in schedules), 1)
            self.assertNotIn("split_kv", split_kv.whole_schedule(kernel))

    def test_flops(self):
        full = Case("none", "full", "f32", 2, 3, 4, 5)
        self.assertEqual(full.flops, 4 * 2 * 3 * 16 * 5)
        causal = Case("none", "causal", "f32", 2, 3, 4, 5)
        self.assertEqual(2 * causal.flops, full.flops)


class Rows:
    """A tensor as a peer sees it."""

    def transpose(self, a, b):
        return self

    def contiguous(self):
        return self


class FlashAttention3(unittest.TestCase):
    def calls(self, variant, mask):
        """What flash_attn_func is called with for a case."""
        module, found = types.ModuleType("flash_attn_interface"), []

        def flash_attn_func(*tensors, **arguments):
            found.append(arguments)
            return tensors[0], None

        module.flash_attn_func = flash_attn_func
        case, rows = Case(variant, mask, "bf16", 1, 1, 64, 64), Rows()
        with mock.patch.dict(sys.modules, {"flash_attn_interface": module}):
            call = peers.make(None, "fa3", case, rows, rows, rows, {})
            self.assertIs(call(), rows)
        return found[0]

    def test_arguments(self):
        self.assertEqual(self.calls("none", "full"), {})
        self.assertEqual(self.calls("none", "causal"), {"causal": True})
        self.assertEqual(self.calls("none", "window"), {"window_size": (1023, 0)})
        self.assertEqual(self.calls("softcap", "causal"), {"softcap": 20.0, "causal": True})

    def test_unavailable(self):
        for variant, mask in ("alibi", "causal"), ("prefix", "prefix"):
            with self.assertRaises(peers.Unavailable):
                self.calls(variant, mask)
        with mock.patch.dict(sys.modules, {"flash_attn_interface": None}):
            with self.assertRaisesRegex(peers.Unavailable, "not installed"):
                peers.make(None, "fa3", Case("none", "full", "bf16", 1, 1, 64, 64), *[Rows()] * 3, {})


class Program(unittest.TestCase):
    def test_options(self):
        for arguments, message in [
            (["--variants=none,fast"], "got 'fast'"),
            (["--masks=diagonal"], "expects some of full, causal, window, but got"),
            (["--peers=pallas"], "got 'pallas'"),
            (["--dims=64,x"], "expects a positive number, but got 'x'"),
            (["--rounds=0"], "expects a positive number, but got '0'"),
            (["--peers=fa3-det"], "--peers: expects --backward for 'fa3-det'"),
            (["--backward", "--split-kv"], "argument --backward: expects variants"),
            (["--split-kv", "--device=cpu"], "argument --split-kv: expects a GPU"),
        ]:
            run = bench(*arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn(message, run.stderr)

    @unittest.skipIf(torch is not None, "needs a Python without PyTorch")
    def test_without_pytorch(self):
        run = bench()
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, "^attn_bench: error: expects PyTorch")

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_run(self):
        run, rows = bench_small(
            *("--variants=none,alibi,head-bias,prefix", "--peers=math"),
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(len(rows), 7)
        for row in rows:
            ours, peer = row["contenders"]["attn"], row["contenders"]["math"]
            self.assertTrue(ours["ok"])
            self.assertEqual(len(ours["samples"]), 2)
            biased = row["variant"] == "head-bias"
            if row["variant"] == "none" or (biased and row["mask"] == "full"):
                self.assertAlmostEqual(peer["ratio"], peer["ms"] / ours["ms"])
            else:
                self.assertEqual(peer, {"note": "no such variant"})

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_run_backward(self):
        run, rows = bench_small(
            *("--backward", "--variants=none,softcap,documents", "--masks=causal"),
            "--peers=flash,fa3-det",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(rows), 3)
        for row in rows:
            found = row["contenders"]
            for name in "attn", "attn-any", "attn-prepared":
                self.assertTrue(found[name]["ok"])
                self.assertEqual(len(found[name]["samples"]), 2)
            self.assertIn("note", found["fa3-det"])
            if row["variant"] == "none":
                ratio = found["flash"]["ms"] / found["attn"]["ms"]
                self.assertAlmostEqual(found["flash"]["ratio"], ratio)
                self.assertTrue(found["flash"]["ok"])
            else:
                self.assertEqual(found["flash"], {"note": "no such variant"})


class TestTimers(unittest.TestCase):
    """What the timer of a GPU enqueues, on one that only takes notes."""

    def run_rounds(self, is_cold):
        from attn_bench import measure

        notes = []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                notes.append("event")

            def elapsed_time(self, end):
                return 2.0

        class Flush:
            def zero_(self):
                notes.append("flush")

        class Cuda:
            def synchronize():
                notes.append("wait")

            def _sleep(cycles):
                notes.append("sleep")

        class Torch:
            cuda = Cuda
            int8 = None

            def empty(size, dtype, device):
                return Flush()

        Cuda.Event = Event
        functions = {"a": lambda: notes.append("a"), "b": lambda: notes.append("b")}
        timer = measure.make_timer(Torch, "cuda", is_cold)
        times = measure.measure(timer, functions, rounds=2)
        self.assertEqual(times, {"a": [2.0, 2.0], "b": [2.0, 2.0]})
        return " ".join(notes[notes.index("wait") + 1 :])

    def test_warm(self):
        self.assertEqual(
            self.run_rounds(is_cold=False),
            "sleep event a event event b event wait"
            " sleep event b event event a event wait",
        )

    def test_cold(self):
        self.assertEqual(
            self.run_rounds(is_cold=True),
            "sleep flush sleep event a event flush sleep event b event wait"
            " sleep flush sleep event b event flush sleep event a event wait",
        )


@unittest.skipIf(torch is None, "needs PyTorch")
class Check(unittest.TestCase):
    """A result with a flaw in it is not timed."""

    def test_flaws(self):
        from attn_bench.check import Judge

        torch.manual_seed(0)
        case = Case("alibi", "causal", "bf16", 1, 2, 64, 16)
        q, k, v = (torch.randn(1, 2, 64, 16).bfloat16() for _ in range(3))
        captures = variants.make_captures(torch, case, "cpu")
        score, mask = (
            make(case, captures) for make in (variants.score_mod, variants.mask_mod)
        )
        judge = Judge(torch, case, q, k, v, score, mask, 64)
        kernel = attn.compile(variants.program(case))
        good = kernel(q, k, v, *captures.values())
        self.assertTrue(judge.accepts(judge.errors(good)))
        without = kernel(q, k, v, torch.zeros(2))
        self.assertFalse(judge.accepts(judge.errors(without)))
        self.assertFalse(judge.accepts(judge.errors(good * 1.05)))
        self.assertFalse(judge.accepts(judge.errors(good * float("nan"))))

    def test_flaws_of_gradients(self):
        from attn_bench.backward import Judge

        torch.manual_seed(0)
        case = Case("none", "causal", "f32", 1, 2, 64, 16)
        q, k, v, d = (torch.randn(1, 2, 64, 16) for _ in range(4))
        mask = variants.mask_mod(case, {})
        judge = Judge(torch, case, (q, k, v, d), None, mask)
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        o = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
        good = torch.autograd.grad(o, inputs, d)
        self.assertTrue(judge.accepts(judge.errors(good)))
        for i in range(3):
            for factor in 1.01, float("nan"):
                bad = [x * factor if i == n else x for n, x in enumerate(good)]
                self.assertFalse(judge.accepts(judge.errors(bad)))

    def test_rows_without_keys(self):
        from attn_bench.check import Judge

        torch.manual_seed(0)
        case = Case("none", "full", "f32", 1, 1, 8, 16)
        q, k, v = (torch.randn(1, 1, 8, 16) for _ in range(3))
        judge = Judge(torch, case, q, k, v, None, lambda b, h, i, j: j < 0, 4)
        self.assertTrue(judge.accepts(judge.errors(torch.zeros(1, 1, 8, 16))))
        self.assertFalse(judge.accepts(judge.errors(v)))


if __name__ == "__main__":
    unittest.main()
