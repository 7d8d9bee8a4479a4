# RUN: env ATTN_PTXAS=off %python %s
"""python -m attn_bench --sparsity: its programs, what they leave of the pairs, and
what is said of times."""

import argparse
import contextlib
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

import attn
import shards
from attn_bench import check, contest, measure, peers, sparse, sparsity, tiles
from attn_bench.variants import Case

# The patterns of the table, in sizes that leave something of 512 tokens.
SMALL = {
    "window": sparsity.window(100),
    "documents": sparsity.documents(6, per=512),
    "documents-causal": sparsity.documents(6, causal=True, per=512),
    "prefix": sparsity.prefix(),
    "dilated": sparsity.dilated(32),
    "big-bird": sparsity.big_bird(32),
    "blocks": sparsity.random_blocks(64, 0.2),
    # Some rows of blocks are empty.
    "few-blocks": sparsity.random_blocks(128, 0.1),
    "keys": sparsity.random_keys(95),
    "shared": sparsity.shared_keys(10),
}
ALL = [
    (family, name, pattern)
    for family, patterns in sparsity.FAMILIES.items()
    for name, pattern in patterns.items()
]


def make_case(name, length=512):
    return Case("none", name, "f32", 2, 3, length, 16)


def options(**changes):
    defaults = {
        "sparsity": ["masks", "blocks", "keys"],
        "dims": None,
        "lengths": None,
        "tokens": 16384,
        "heads_total": 2048,
        "dtype": "bf16",
        "bandwidth": 1000,
        "device": "cpu",
    }
    return argparse.Namespace(**{**defaults, **changes})


class Programs(unittest.TestCase):
    def programs(self, dtype, dims):
        """(name, text) of each program, once."""
        found = {}
        for (_, name, pattern), dim in itertools.product(ALL, dims):
            for form in pattern.forms:
                case = Case("none", name, dtype, 1, 1, 1, dim)
                text = pattern.program(case, form)
                found.setdefault(text, (f"{name} {form} {dim}", pattern, form))
        return found

    def test_inputs(self):
        for text, (name, pattern, form) in self.programs("f32", [16]).items():
            kernel = attn.compile(text, target="cpu", opt_level=0)
            names = [name for name, _ in pattern.forms[form].inputs]
            self.assertEqual([x.name for x in kernel.inputs], [*"qkv", *names], name)

    def test_gpu(self):
        """All compile for one, and no mask is left to be evaluated everywhere."""
        programs = self.programs("bf16", [64, 128])
        self.assertEqual(len(programs), 20)
        chosen = shards.sample(list(programs.items()))
        for text, (name, pattern, _) in chosen:
            remarks = "\n".join(attn.compile(text, target="cuda").report["remarks"])
            if pattern.lengths != (4096,):
                self.assertRegex(remarks, "remark: (classified|lifted)", name)


@unittest.skipIf(numpy is None, "needs NumPy")
class Patterns(unittest.TestCase):
    """Each program, its function on arrays, and its tiles say the same."""

    def pairs(self, pattern, case, values):
        """[batch, heads, queries, keys]"""
        at = numpy.arange(case.length)
        allowed = pattern.allowed(values)
        rows = [
            [allowed(b, h, at[:, None], at[None]) for h in range(case.heads)]
            for b in range(case.batch)
        ]
        return numpy.array(rows)

    def test_programs(self):
        draw = numpy.random.default_rng(0)
        for name, pattern in SMALL.items():
            case = make_case(name)
            values = sparse.make_values(pattern, case, 7)
            pairs = self.pairs(pattern, case, values)
            shape = (3, case.batch, case.heads, case.length, case.dim)
            q, k, v = draw.standard_normal(shape, "float32")
            s = numpy.where(pairs, q @ k.swapaxes(-1, -2) * case.scale, -numpy.inf)
            p = numpy.exp(s - s.max(-1, keepdims=True, initial=-1e30))
            total = p.sum(-1, keepdims=True)
            exact = p / numpy.where(total == 0, 1, total) @ v
            for form in pattern.forms:
                kernel = attn.compile(pattern.program(case, form), target="cpu")
                o = kernel(q, k, v, *pattern.operands(values, form))
                numpy.testing.assert_allclose(
                    o, exact, rtol=0, atol=1e-5, err_msg=f"{name} {form}"
                )

    def test_patterns(self):
        """What they leave, counted."""
        case = make_case("x")
        found = {}
        for name, pattern in SMALL.items():
            values = sparse.make_values(pattern, case, 7)
            found[name] = values, self.pairs(pattern, case, values)[1]
        rows = found["window"][1].sum(-1)
        self.assertTrue((rows == numpy.minimum(numpy.arange(512) + 1, 100)).all())
        for ids in found["documents"][0]["ids"]:
            self.assertEqual(list(numpy.unique(ids)), list(range(6)))
        lengths = numpy.bincount(found["documents"][0]["ids"][1])
        self.assertEqual(found["documents"][1][0].sum(), (lengths**2).sum())
        causal = found["documents-causal"][1]
        self.assertFalse(numpy.triu(causal, 1).any())
        self.assertEqual(found["prefix"][1][0, 0].sum(), 128)
        self.assertEqual(found["dilated"][1][0, -1].sum(), 4 * 32)
        for name, density in [("blocks", 0.2), ("few-blocks", 0.1), ("keys", 0.05)]:
            self.assertAlmostEqual(found[name][1].mean(), density, delta=0.1)

    def test_visited(self):
        """Against all pairs at once."""
        for name, pattern in SMALL.items():
            for length, tile in [(512, 128), (384, 96)]:
                case = make_case(name, length)
                values = sparse.make_values(pattern, case, 7)
                pairs = self.pairs(pattern, case, values)
                n = length // tile
                shape = (case.batch, case.heads, n, tile, n, tile)
                expected = pairs.reshape(shape).any((3, 5)).mean()
                extents = [x or 1 for x in pattern.extents(case)]
                allowed = pattern.allowed(values)
                found = tiles.visited(numpy.arange, allowed, *extents, length, tile)
                self.assertAlmostEqual(found, expected, msg=name)

    def test_visited_at_the_end(self):
        def allowed(b, h, i, j):
            return (i == 0) & (j == 299) | (i < 0)

        found = tiles.visited(numpy.arange, allowed, 1, 1, 300)
        self.assertAlmostEqual(found, 1 / 9)

    def test_values_are_their_own(self):
        case = make_case("keys", 64)
        first, second = (
            sparse.make_values(SMALL["keys"], case, 3)["columns"] for _ in range(2)
        )
        self.assertTrue((first == second).all())
        other = sparse.make_values(SMALL["keys"], case, 4)["columns"]
        self.assertFalse(numpy.array_equal(first, other))


class Cases(unittest.TestCase):
    def test_default_sizes(self):
        found = [
            (family, case.mask, case.batch, case.heads, case.length, case.dim)
            for family, case in sparse.cases(options())
        ]
        self.assertIn(("masks", "window-1024", 1, 16, 131072, 128), found)
        self.assertIn(("masks", "documents-64-causal", 1, 32, 131072, 64), found)
        self.assertIn(("blocks", "blocks-64-5", 2, 16, 8192, 128), found)
        self.assertIn(("keys", "keys-99", 4, 32, 4096, 64), found)
        self.assertEqual(len(found), len(set(found)))

    def test_names(self):
        chosen = options(sparsity=["prefix", "keys"], dims=[8], lengths=[100])
        names = [case.mask for _, case in sparse.cases(chosen)]
        self.assertEqual(names, ["prefix", *(f"keys-{n}" for n in (50, 70, 80, 90, 95, 97, 99))])


class Summaries(unittest.TestCase):
    def summarize(self, family, name, facts, times):
        case = Case("none", name, "bf16", 1, 2, 100, 64)
        row = {x: {"ms": ms} if ms else {"note": "no"} for x, ms in times.items()}
        found = sparse.summarize(family, case, facts, row, options())
        text = "\n".join(sparse.lines(family, case, found, row))
        self.assertEqual(len(text.splitlines()[0]), len(sparse.head(family)), "columns")
        return found, text

    def test_masks(self):
        times = {"attn": 1.0, "flex": 1.4, "dense": 4.0}
        found, text = self.summarize("masks", "prefix", {"visited": 0.25}, times)
        self.assertEqual((found["efficiency"], found["efficiency_met"]), (1.0, True))
        self.assertEqual((found["flex_ratio"], found["flex_met"]), (1.4, False))
        self.assertAlmostEqual(found["tflops"], 4 * 2 * 100 * 100 * 64 / 4 / 1e9)
        self.assertRegex(text, r"^prefix bf16 B1 H2 S100 D64 .* yes .* no +-$")

    def test_nothing(self):
        """A dash for all that is not there."""
        times = {"attn": 1.0, "flex": None, "dense": None}
        found, text = self.summarize("masks", "prefix", {"visited": 0.25}, times)
        self.assertIsNone(found["efficiency_met"])
        self.assertRegex(text, r"25.00 +1.0000( +-){1} +0.0( +-){6}\n")
        self.assertIn("\n  flex: no\n  dense: no", text)
        times["attn"] = None
        found, text = self.summarize("masks", "prefix", {"visited": 0.25}, times)
        self.assertRegex(text, r"25.00( +-){9}\n")

    def test_blocks(self):
        facts = {"density": 0.1, "visited": 0.3}
        times = {"bits": 1.66, "lists": 1.64, "dense": 10.0}
        found, _ = self.summarize("blocks", "blocks-64-10", facts, times)
        self.assertAlmostEqual(found["bits_over"], 1.66)
        self.assertEqual((found["bits_met"], found["lists_met"]), (False, True))

    def test_keys(self):
        facts = {"density": 0.1, "listed": 10**6}
        found, _ = self.summarize(
            "keys", "keys-90", facts, {"attn": 0.512, "dense": 1.024}
        )
        # 256 bytes a pair at 1000 GB/s.
        self.assertAlmostEqual(found["bytes_ms"], 0.256)
        self.assertAlmostEqual(found["over_bytes"], 2)
        self.assertAlmostEqual(found["speedup"], 2)

    def test_shared(self):
        facts = {"density": 0.1, "union": 0.12}
        times = {"gathered": 0.5, "rows": 2.0, "predicate": 1.5, "dense": 1.0}
        found, _ = self.summarize("shared", "shared-10", facts, times)
        self.assertEqual((found["rows_ratio"], found["predicate_ratio"]), (4, 3))
        self.assertAlmostEqual(found["union_percent"], 12)

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_union(self):
        bits = numpy.zeros((1, 100, 10), bool)
        bits[0, :64, :5] = bits[0, 70, 3] = True
        self.assertAlmostEqual(sparsity.mean_union(bits), (0.5 + 0.1) / 2)

    def test_kernels(self):
        row = {"attn": {"ms": 1.0, "kernels": {"f_prologue0": 0.25, "f": 0.75}}}
        lines = sparse.lines("keys", make_case("keys-90"), {}, row)
        self.assertEqual(lines[1], "  attn, ms of kernels: f_prologue0 0.2500, f 0.7500")


class Judge:
    """Accepts "right" only."""

    bound = check.Errors(1, 1)

    def errors(self, result):
        wrong = float(result != "right")
        return check.Errors(wrong, wrong)

    def accepts(self, errors):
        return errors.max == 0


def raising(error):
    def make():
        raise error

    return make


class Contest(unittest.TestCase):
    def test_failures(self):
        class Timer:
            def synchronize(self):
                pass

            start_round = synchronize

            def start(self, function):
                function()
                return 3.0

            def finish(self, handle):
                return handle

        def contender(result, **kind):
            return contest.Contender(lambda: lambda: result, Judge(), **kind)

        out_of_memory = MemoryError("out of memory\nand more")
        row, functions = contest.run(
            {
                "attn": contender("right", is_ours=True),
                "wrong": contender("wrong", is_ours=True),
                "peer": contender("wrong"),
                "big": contest.Contender(raising(out_of_memory), Judge()),
            },
            Timer(),
            rounds=2,
        )
        self.assertEqual(list(functions), ["attn", "peer"])
        self.assertEqual(row["attn"]["samples"], [3.0, 3.0])
        self.assertRegex(row["wrong"]["note"], "^WRONG: max error 1, mean 1")
        self.assertFalse(row["peer"]["ok"])
        self.assertEqual(row["big"], {"note": "out of memory"})


class Flex(unittest.TestCase):
    def test_timed_blocks(self):
        """Made twice, the second time is measured."""
        calls = []

        def create(mask, *extents, device):
            calls.append(extents)
            return extents

        module = argparse.Namespace(create_block_mask=create)
        fake = mock.Mock()
        device = argparse.Namespace(type="cuda")
        with mock.patch.object(peers, "_flex_module", lambda: module):
            blocks, ms = peers._timed_blocks(fake, None, (1, None, 8, 8), device)
        self.assertEqual(blocks, (1, None, 8, 8))
        self.assertEqual(calls, [blocks] * 2)
        self.assertGreaterEqual(ms, 0)
        self.assertEqual(fake.cuda.synchronize.call_count, 2)

    def make_by_size(self, length):
        """What masked_flex makes the block mask with."""
        names = ["_timed_blocks", "_blocks_by_rows"]
        case = argparse.Namespace(length=length)
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(peers, "_compiled"))
            makers = [
                stack.enter_context(
                    mock.patch.object(peers, name, return_value=(name, 2.5))
                )
                for name in names
            ]
            tensors = [mock.Mock()] * 3
            call = peers.masked_flex(None, case, *tensors, None, None, 2)
        called = [name for name, maker in zip(names, makers) if maker.called]
        return called, call.make_ms

    def test_large_masks_are_made_by_rows(self):
        self.assertEqual(self.make_by_size(4096), (["_timed_blocks"], 2.5))
        self.assertEqual(self.make_by_size(65536), (["_blocks_by_rows"], None))

    @unittest.skipUnless(torch, "needs PyTorch")
    def test_blocks_by_rows(self):
        starts = torch.tensor([[0, 300, 300], [0, 128, 129]])

        def mask(b, h, i, j):
            of = starts[b, h]
            return (i >= of) & (j <= i) | (j < h)

        extents, device = (2, 3, 640, 640), torch.device("cpu")
        found = peers._blocks_by_rows(torch, mask, extents, device)
        expected = peers._flex_module().create_block_mask(mask, *extents, device="cpu")
        self.assertTrue(torch.equal(found.to_dense(), expected.to_dense()))
        for name in ("kv_num_blocks", "full_kv_num_blocks"):
            self.assertTrue(
                torch.equal(getattr(found, name), getattr(expected, name)), name
            )


class Kernels(unittest.TestCase):
    def profile(self, events):
        class Profile:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                pass

            def key_averages(self):
                return events

        fake = mock.MagicMock()
        fake.profiler.profile.return_value = Profile()
        function = mock.Mock()
        times = measure.kernels(fake, function, calls=4)
        self.assertEqual(function.call_count, 4)
        return times

    def test_times(self):
        events = [
            argparse.Namespace(key="f", self_device_time_total=8000),
            argparse.Namespace(key="cudaDeviceSynchronize", self_device_time_total=0),
        ]
        self.assertEqual(self.profile(events), {"f": 2.0})

    def test_unknown(self):
        self.assertEqual(self.profile([argparse.Namespace(key="f")]), {})


class Program(unittest.TestCase):
    def test_option(self):
        run = subprocess.run(
            [sys.executable, "-m", "attn_bench", "--sparsity=stripes"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 2)
        self.assertIn("expects some of masks, blocks, keys, shared, window-1024", run.stderr)

    def test_rows_that_fail(self):
        """One is no reason to lose the next."""
        good = {"attn": {"ms": 1.0}, "dense": {"ms": 2.0}}
        facts = {"density": 0.1, "listed": 10}
        rows = []
        with (
            mock.patch.object(
                sparse,
                "_run_case",
                side_effect=[MemoryError("too large"), (good, facts)],
            ),
            mock.patch("builtins.print") as printed,
        ):
            chosen = options(sparsity=["keys-90", "keys-99"])
            failed = sparse.run(None, chosen, None, rows.append)
        self.assertTrue(failed)
        self.assertEqual(rows[0]["contenders"], {"attn": {"note": "too large"}})
        self.assertEqual(
            (rows[1]["mask"], rows[1]["summary"]["speedup"]), ("keys-99", 2)
        )
        self.assertIn("\n  attn: too large", printed.call_args_list[1][0][0])
        # One head for the family.
        self.assertEqual(printed.call_count, 3)

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            names = "masks,blocks-64-20,keys-90"
            run = subprocess.run(
                [
                    *(sys.executable, "-m", "attn_bench", f"--sparsity={names}"),
                    *("--device=cpu", "--dims=16", "--lengths=256", "--tokens=512"),
                    *("--heads-total=32", "--rounds=2", "--peers=math", "--seed=1"),
                    f"--json={path}",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
            rows = json.loads(path.read_text())["rows"]
        self.assertEqual(len(rows), 11)
        for row in rows:
            for entry in row["contenders"].values():
                self.assertTrue(entry["ok"])
                self.assertEqual(len(entry["samples"]), 2)
        self.assertEqual(list(rows[-2]["contenders"]), ["bits", "lists", "dense"])


if __name__ == "__main__":
    unittest.main()
