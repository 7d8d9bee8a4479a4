# RUN: %python %s
"""Samples of tests: turns in a row run all, and each has some of every kind."""

import pathlib
import tempfile
import unittest
from unittest import mock

import shards


class Shards(unittest.TestCase):
    def turns(self, share, choose):
        """What each of so many turns in a row runs."""
        with mock.patch.object(shards, "SHARE", share):
            for turn in range(875, 875 + share):
                with mock.patch.object(shards, "TURN", turn):
                    yield choose()

    def test_turns_run_all(self):
        for share in 1, 2, 4, 7:
            for count in 1, 3, 4, 5, 21:
                tests = [f"test {n}" for n in range(count)]
                found = list(self.turns(share, lambda: shards.sample(tests)))
                self.assertEqual({len(x) for x in found}, {-(-count // share)})
                self.assertEqual(set(sum(found, [])), set(tests))
                self.assertEqual(found[0], sorted(found[0], key=tests.index))

    def test_some_of_each_kind(self):
        tests = [("many", n) for n in range(16)] + [("two", n) for n in range(2)]
        found = list(self.turns(4, lambda: shards.sample_each(tests, lambda x: x[0])))
        for chosen in found:
            self.assertEqual([kind for kind, _ in chosen], ["many"] * 4 + ["two"])
        self.assertEqual(set(sum(found, [])), set(tests))

    def test_files_take_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            names = {"a.mlir", "b.test", "c.test", "d.mlir", "e.py", "f.mlir"}
            for name in *names, "notes.txt":
                pathlib.Path(folder, name).touch()

            def rest(*named):
                with mock.patch("sys.argv", ["lit", *named]):
                    return shards.resting(folder)

            self.assertEqual(list(self.turns(1, rest)), [set()])
            # As long as all lists have their turn.
            with mock.patch.object(shards, "SHARE", 4):
                found = []
                for turn in range(876, 888):
                    with mock.patch.object(shards, "TURN", turn):
                        found.append(names - rest())
                        self.assertNotIn("c.test", rest("PTX/c.test"))
            each = found[::4]
            self.assertEqual([len(chosen) for chosen in each], [2, 2, 2])
            self.assertEqual(set.union(*each), names)
            self.assertEqual(found, [chosen for chosen in each for _ in range(4)])

    def test_processes_share(self):
        tests, seen = list(range(10)), []
        for number in range(3):
            self.assertEqual(shards.run("x", tests, f"{number}/3", seen.append, ()), 0)
        self.assertEqual(sorted(seen), tests)

    def test_failures(self):
        def fail(test):
            raise KeyError(test)

        self.assertEqual(shards.run("x", [1], "0/1", fail, KeyError), 1)
        # Nothing to do is none of a success.
        self.assertEqual(shards.run("x", [1], "1/2", fail, KeyError), 1)


if __name__ == "__main__":
    unittest.main()
