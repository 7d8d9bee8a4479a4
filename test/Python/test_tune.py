# RUN: %python %s
# REQUIRES: numpy
"""Kernel.tune, Kernel.explain, attn.compile(tune=...) and python -m attn.tune."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import attn
import numpy as np
from attn import _tune_plot

PROGRAM = """
func.func @small(%q: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x16xf32>
  %init = tensor.empty(%n) : tensor<1x2x?x16xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%init : tensor<1x2x?x16xf32>)
  return %o : tensor<1x2x?x16xf32>
}
"""


def query(length=64):
    return np.random.default_rng(0).standard_normal((1, 2, length, 16), np.float32)


class Tuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # The candidates are the same in each test.
        cls.cache = folder.name

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        variables = {
            "ATTN_TUNING_DB": str(self.folder / "tuning.db"),
            "ATTN_CACHE_DIR": self.cache,
        }
        patch = unittest.mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)
        attn.clear_cache()

    def test_tune(self):
        kernel = attn.compile(PROGRAM)
        q = query()
        before = kernel(q)
        self.assertEqual(kernel.explain(q)["source"], "model")
        steps = []
        report = kernel.tune(q, seconds=1, progress=steps.append)
        self.assertTrue(report["kept"], report)
        self.assertGreater(report["seconds"], 0)
        self.assertEqual(report["trials"][0]["schedule"], "the compiler's choice")
        self.assertEqual(report["turns"][0]["trial"], 0)
        elapsed = [turn["elapsed"] for turn in report["turns"]]
        self.assertEqual(elapsed, sorted(elapsed))
        measured = [step for step in steps if step.startswith("measuring")]
        self.assertTrue(measured, steps)
        for step in measured:
            self.assertRegex(step, r"^measuring \d+ of \d+, best so far \d+\.\d\dx$")
        self.assertEqual(kernel.explain(q)["source"], "exact")
        explained = kernel.explain(query(90))
        self.assertEqual(explained["source"], "nearest")
        self.assertEqual([entry["isTaken"] for entry in explained["tuned"]], [True])
        self.assertEqual(explained["tuned"][0]["untunedSeconds"], report["untunedSeconds"])
        self.assertIn("vector registers", explained["schedules"][0]["reason"])
        self.assertEqual(kernel.explain(query(5000))["source"], "model")
        np.testing.assert_allclose(kernel(q), before, rtol=1e-5, atol=1e-5)
        # Another kernel of the program finds it, whatever names are in it.
        other = attn.compile(PROGRAM.replace("@small", "@large").replace("%q", "%x"))
        self.assertEqual(other.explain(q)["source"], "exact")
        off = attn.compile(PROGRAM, tune="off")
        self.assertEqual(off.explain(q)["source"], "model")
        np.testing.assert_allclose(off(q), before, rtol=1e-5, atol=1e-5)

    def test_full(self):
        kernel = attn.compile(PROGRAM, target="cpu", tune="full")
        # So that this is quick.
        tune = kernel.tune
        calls = []

        def quick(*tensors):
            calls.append(tensors)
            return tune(*tensors, seconds=0.5)

        kernel.tune = quick
        kernel(query())
        kernel(query())
        self.assertEqual(len(calls), 1)
        self.assertEqual(kernel.explain(query())["source"], "exact")
        for value in "off", "0", "":
            with unittest.mock.patch.dict(os.environ, ATTN_TUNING_DB=value):
                with self.assertRaisesRegex(attn.InvalidArgument, "a tuning database"):
                    attn.compile(PROGRAM, tune="full")
        with self.assertRaisesRegex(attn.InvalidArgument, "or schedules, but got both"):
            attn.compile(PROGRAM, target="cuda", tune="full", schedules="table.json")

    def test_prepared_and_tuned(self):
        """What was prepared runs the code that prepared it, before and after."""
        kernel = attn.compile(PROGRAM, target="cpu", tune="full")
        tune = kernel.tune
        with unittest.mock.patch.object(
            kernel, "tune", side_effect=lambda *x: tune(*x, seconds=0.5)
        ) as calls:
            prepared = kernel.prepare(query())
            before = kernel(query(), prepared=prepared)
            self.assertEqual(calls.call_count, 1)
        bound = kernel.bind(query(), prepared=prepared)
        tune(query(), seconds=0.5)
        np.testing.assert_array_equal(bound(), before)
        np.testing.assert_array_equal(kernel(query(), prepared=prepared), before)
        other = attn.compile(PROGRAM, target="cpu", tune="off")
        with self.assertRaisesRegex(attn.InvalidArgument, "itself has prepared"):
            other(query(), prepared=prepared)

    def test_that_workers_find_the_package(self):
        """Wherever it lies, without a change to the environment of this process."""
        before = dict(os.environ)
        seen = []
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("PYTHONPATH", None)
            without = dict(os.environ)
            report = attn.compile(PROGRAM).tune(
                query(), seconds=0.5, progress=lambda _: seen.append(dict(os.environ))
            )
        self.assertTrue(report["kept"], report)
        self.assertGreater(len(seen), 0)
        self.assertTrue(all(found == without for found in seen))
        self.assertEqual(dict(os.environ), before)

    def test_errors(self):
        kernel = attn.compile(PROGRAM)
        for seconds in (0, -1, float("nan")):
            with self.assertRaisesRegex(attn.InvalidArgument, "more than 0 seconds"):
                kernel.tune(query(), seconds=seconds)
        with self.assertRaisesRegex(attn.InvalidArgument, "to be a number"):
            kernel.tune(query(), seconds="1")
        with self.assertRaisesRegex(attn.InvalidArgument, "1 input"):
            kernel.tune()
        with self.assertRaisesRegex(attn.InvalidArgument, "to have shape"):
            kernel.tune(np.zeros((1, 3, 32, 16), np.float32))

        def stop(step):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            kernel.tune(query(), seconds=0.5, progress=stop)
        with self.assertRaisesRegex(attn.InvalidArgument, "tune to be one of"):
            attn.compile(PROGRAM, tune="maybe")
        schedule = (
            "#attn.schedule<tile_m = 16, tile_n = 16, lanes = 4, unroll_m = 1,"
            " unroll_n = 4>"
        )
        with self.assertRaisesRegex(attn.CompileError, "expects no schedule"):
            attn.compile(PROGRAM, schedule=schedule).tune(query())

    def test_damaged_database(self):
        (self.folder / "tuning.db").write_text("this is no database at all, but text")
        kernel = attn.compile(PROGRAM)
        self.assertIn("is damaged", kernel.report["warnings"])
        report = kernel.tune(query(), seconds=0.5)
        self.assertFalse(report["kept"])
        self.assertIn("is damaged", report["note"])

    def test_list(self):
        (self.folder / "small.mlir").write_text(PROGRAM)
        scaled = PROGRAM.replace("(%q:", "(%number: index, %q:")
        (self.folder / "scaled.mlir").write_text(scaled)
        items = [
            {"program": "small.mlir", "inputs": [[1, 2, 32, 16]]},
            {"program": "small.mlir", "inputs": [[1, 3, 32, 16]]},
            {"program": "none.mlir", "inputs": []},
            {"program": "small.mlir", "inputs": [[1, 2, 256, 16]], "seconds": 0.5},
            {"program": "scaled.mlir", "inputs": [[], [1, 2, 32, 16]]},
        ]
        path = self.folder / "list.json"
        path.write_text(json.dumps(items))

        def run(*options):
            return subprocess.run(
                [sys.executable, "-m", "attn.tune", path, "--seconds=0.5", *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        first = run()
        self.assertEqual(first.returncode, 1, first.stderr)
        lines = first.stdout.splitlines()
        self.assertRegex(lines[0], "^1 of 5: small.mlir: .*candidates measured")
        self.assertRegex(lines[1], r"^2 of 5: .*failed: .*input 'q' to have shape")
        self.assertRegex(lines[2], "^3 of 5: none.mlir: failed: ")
        self.assertRegex(lines[3], "^4 of 5: small.mlir: .*candidates measured")
        self.assertRegex(lines[4], "^5 of 5: scaled.mlir: .*candidates? measured")
        # What was done is not done again.
        second = run()
        self.assertRegex(second.stdout, "1 of 5: small.mlir: done before")
        self.assertRegex(second.stdout, "4 of 5: small.mlir: done before")
        done = path.with_name("list.json.done")
        done.write_text("{")
        self.assertRegex(run().stderr, "delete it")
        for text in "no list", "{}", '[{"program": "a", "inputs": [], "seconds": "x"}]':
            path.write_text(text)
            self.assertEqual(run().returncode, 2)

    def test_options(self):
        with self.assertRaisesRegex(attn.InvalidArgument, "cannot read the schedules"):
            attn.compile(PROGRAM, target="cuda", schedules=self.folder / "none.json")
        for keyword in {"schedules": 3}, {"deterministic": 1}:
            with self.assertRaises(attn.InvalidArgument):
                attn.compile(PROGRAM, **keyword)
        kernel = attn.compile(PROGRAM, deterministic=False)
        self.assertIsNot(kernel, attn.compile(PROGRAM))
        np.testing.assert_array_equal(kernel(query()), attn.compile(PROGRAM)(query()))

    def test_best_so_far(self):
        times = [(3.0, ""), (0.0, "crashed"), (2.0, "slower"), (1.0, "wrong"), (2.5, "")]
        trials = [dict(schedule="", seconds=s, verdict=v) for s, v in times]
        self.assertEqual(_tune_plot.best_so_far(trials), [3, 3, 2, 2, 2])

    def test_best_of_turns(self):
        trials = [{"verdict": v} for v in ("", "slower", "gives other results")]
        turns = [(0, 5.0), (2, 1.0), (0, 3.0), (1, 2.0), (1, 6.0)]
        turns = [dict(elapsed=0.1, trial=t, seconds=s) for t, s in turns]
        self.assertEqual(_tune_plot.best_of_turns(trials, turns), [5, 5, 4, 2, 4])

    def test_plot(self):
        (self.folder / "small.mlir").write_text(PROGRAM)
        path = self.folder / "list.json"
        path.write_text('[{"program": "small.mlir", "inputs": [[1, 2, 32, 16]]}]')
        export = self.folder / "export.json"
        trials = [{"schedule": "", "seconds": 1e-3, "verdict": ""}]
        entry = {"name": "small", "extents": "q=1", "device": "cpu", "trials": trials}
        export.write_text(json.dumps({"version": 1, "entries": [entry]}))

        def run(file, picture):
            return subprocess.run(
                [sys.executable, "-m", "attn.tune", file, "--seconds=0.5"]
                + [f"--plot={self.folder / picture}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        self.assertRegex(run(export, "a.gif").stderr, "end in .svg or .png, but got")
        export_of_none = self.folder / "none.json"
        export_of_none.write_text('{"version": 1, "entries": []}')
        # What is wrong is told before anything is tuned.
        wrong = run(path, "a.gif")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertRegex(wrong.stderr, "end in .svg or .png, but got")
        other = self.folder / "other.json"
        other.write_text('{"program": "small.mlir"}')
        if importlib.util.find_spec("matplotlib") is None:
            self.assertRegex(run(export, "a.svg").stderr, "needs Matplotlib")
            return
        self.assertRegex(run(export_of_none, "a.svg").stderr, "but there is none")
        self.assertRegex(run(other, "a.svg").stderr, "expects a list, a report of")
        report = self.folder / "report.json"
        argument = {"name": "q", "shape": [1, 2, 32, 16]}
        turns = [{"elapsed": 0.1, "trial": 0, "seconds": 1e-3}]
        tuning = {"device": "cpu", "trials": trials, "turns": turns}
        content = {"entry": "small", "arguments": [argument], "tuning": tuning}
        report.write_text(json.dumps(content))
        for file, picture, start in (
            (path, "list.svg", b"<?xml"),
            (export, "export.png", b"\x89PNG"),
            (report, "report.svg", b"<?xml"),
        ):
            done = run(file, picture)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.folder / picture).read_bytes().startswith(start))
        drawn = (self.folder / "report.svg").read_text()
        self.assertIn("small q=1x2x32x16", drawn)
        again = run(path, "again.svg")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("nothing to draw", again.stdout)
        path.write_text('[{"program": "none.mlir", "inputs": []}]')
        self.assertEqual(run(path, "failed.svg").returncode, 1)
        # A tuning of which no candidate ran.
        report = {"trials": [{**trials[0], "seconds": 0}], "turns": []}
        _tune_plot.plot([("none", report)], self.folder / "b.svg")
        self.assertTrue((self.folder / "b.svg").read_bytes().startswith(b"<?xml"))


if __name__ == "__main__":
    unittest.main()
