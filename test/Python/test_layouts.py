# RUN: %python %s
"""Layouts of blocks: their properties, and a kernel that reads one.

test/Unit/Support/BlockLayoutTest.cpp has the same checksums and drawings.
"""

import inspect
import unittest
import zlib

try:
    import numpy
except ImportError:
    numpy = None
else:
    from attn import layouts

import attn
import support


def draw(layout, head=0):
    return "/".join("".join(".#"[x] for x in row) for row in layout[head].tolist())


@unittest.skipIf(numpy is None, "needs NumPy")
class Layouts(unittest.TestCase):
    def all(self):
        return [getattr(layouts, n) for n in layouts.__all__ if n != "expand"]

    def test_fixed(self):
        for options, expected in [
            ({}, "##.#.#/##.#.#/.###.#/.###.#/.#.###/.#.###"),
            ({"causal": True}, "#...../##..../.##.../.###../.#.##./.#.###"),
            (
                {"horizontal_global": True},
                "##.#.#/######/.###.#/######/.#.###/######",
            ),
        ]:
            layout = layouts.fixed(1, 96, local_blocks=2, **options)
            self.assertEqual(draw(layout), expected)
        # A last window that is short.
        self.assertEqual(
            draw(layouts.fixed(1, 80)), "#####/#####/#####/#####/...##"
        )
        self.assertEqual(draw(layouts.fixed(1, 16, global_blocks=2)), "#")

    def test_fixed_patterns(self):
        layout = layouts.fixed(4, 128, global_patterns=3)
        for head in range(4):
            self.assertEqual(
                [bool(x) for x in layout[head].all(axis=0)],
                [column % 4 == 3 - head % 3 for column in range(8)],
            )

    def test_variable(self):
        layout = layouts.variable(1, 96, local_blocks=[1, 2], global_blocks=[4, 9])
        self.assertEqual(draw(layout), "#...#./.##.#./.##.#./...##./...##./....##")
        layout = layouts.variable(
            1, 96, local_blocks=[1, 2], global_blocks=[1], global_ends=[3], causal=True
        )
        self.assertEqual(draw(layout), "#...../.#..../.##.../.###../.####./.##..#")

    def test_big_bird(self):
        layout = layouts.big_bird(1, 96, random_blocks=0)
        self.assertEqual(draw(layout), "######/###.../####../#.###./#..###/#...##")

    def test_bs_longformer(self):
        layout = layouts.bs_longformer(1, 96, global_blocks=[3], window_blocks=1)
        self.assertEqual(draw(layout), "#..#../.#.#../..##../######/...##./...#.#")

    def test_local_sliding_window(self):
        layout = layouts.local_sliding_window(1, 64)
        self.assertEqual(draw(layout), "#.../##../.##./..##")
        layout = layouts.local_sliding_window(1, 64, causal=False, window_blocks=2)
        self.assertEqual(draw(layout), "##../###./.###/..##")

    def test_what_all_have(self):
        for make in self.all():
            for causal in False, True:
                layout = make(3, 20 * 32, 32, causal=causal)
                self.assertEqual((layout.dtype, layout.shape), (bool, (3, 20, 20)))
                # Every query sees its own block.
                self.assertTrue(layout[:, range(20), range(20)].all(), make)
                self.assertTrue((layout == layout[:1]).all())
                self.assertEqual(bool((numpy.tril(layout) == layout).all()), causal)

    def test_random_blocks(self):
        options = {"random_blocks": 4, "window_blocks": 1, "global_blocks": 0}
        make = lambda **more: layouts.big_bird(3, 320, **options, **more)
        shared, layout = make(), make(per_head=True)
        self.assertTrue((shared == layout[:1]).all())
        self.assertFalse((layout[0] == layout[2]).all())
        self.assertTrue((make(per_head=True) == layout).all())
        self.assertFalse((make(seed=1) == shared).all())
        self.assertLessEqual(set(layout.sum(axis=2).flat), {4, 5})
        # All there are, where they are fewer than asked for.
        causal = make(causal=True)
        self.assertEqual(causal[0].sum(axis=1)[:4].tolist(), [1, 2, 3, 4])

    def test_checksums(self):
        """The C++ library makes the same bits."""
        for layout, expected in [
            (layouts.fixed(4, 480, global_patterns=4), 1365972526),
            (
                layouts.variable(
                    3,
                    640,
                    random_blocks=2,
                    local_blocks=[3, 5],
                    global_blocks=[2, 17],
                    global_ends=[3, 20],
                    per_head=True,
                    seed=123456789012345,
                ),
                623650919,
            ),
            (
                layouts.big_bird(
                    2, 1024, random_blocks=3, causal=True, per_head=True
                ),
                238096115,
            ),
            (layouts.bs_longformer(2, 33 * 16), 2913264994),
            (layouts.local_sliding_window(2, 21 * 16), 1244547885),
        ]:
            self.assertEqual(zlib.crc32(layout.tobytes()), expected)

    def test_errors(self):
        ends = {"global_blocks": [1, 2]}
        for make, options, message in [
            (layouts.fixed, {"heads": 0}, "heads to be at least 1, but got 0"),
            (layouts.fixed, {"length": 0}, "length to be at least 1, but got 0"),
            (layouts.fixed, {"block": 0}, "block to be at least 1, but got 0"),
            (
                layouts.big_bird,
                {"length": 70},
                "a length that is a multiple of the block of 16, but got 70",
            ),
            (
                layouts.fixed,
                {"global_blocks": 3},
                "local blocks that are a multiple of the 3 global blocks, but got 4",
            ),
            (
                layouts.fixed,
                {"global_patterns": 5},
                "global patterns to be at most 4, the choices in a window, but got 5",
            ),
            (
                layouts.fixed,
                {"causal": True, "horizontal_global": True},
                "global blocks that see all where the layout is not causal",
            ),
            (
                layouts.variable,
                {"random_blocks": 5},
                "random blocks to be at most 4, the blocks of a row, but got 5",
            ),
            (
                layouts.variable,
                {"local_blocks": []},
                "the size of a window, but got none",
            ),
            (
                layouts.variable,
                {"local_blocks": [2, 0]},
                "local blocks to be at least 1, but got 0",
            ),
            (
                layouts.variable,
                {"global_ends": [2], **ends},
                "an end for each of 2 global blocks, but got 1",
            ),
            (
                layouts.bs_longformer,
                {"global_ends": [2, 2], **ends},
                "a range of global blocks to end behind block 2, but got the end 2",
            ),
            (
                layouts.bs_longformer,
                {"global_blocks": [-1]},
                "global blocks to be at least 0, but got -1",
            ),
            (
                layouts.big_bird,
                {"window_blocks": 5},
                "window blocks to be at most 4, the blocks of a row, but got 5",
            ),
            (
                layouts.big_bird,
                {"global_blocks": -1},
                "global blocks to be at least 0, but got -1",
            ),
            (
                layouts.local_sliding_window,
                {"window_blocks": 0},
                "window blocks to be at least 1, but got 0",
            ),
        ]:
            with self.assertRaises(ValueError) as raised:
                make(**{"heads": 1, "length": 64, **options})
            self.assertEqual(str(raised.exception), "expects " + message)

    def test_documented(self):
        for make in self.all():
            for name in inspect.signature(make).parameters:
                if name not in ("heads", "length", "block", "causal", "seed"):
                    self.assertIn(name, make.__doc__, make)

    def test_kernel(self):
        """The example reads a layout at [h, i / 64, j / 64]."""
        kernel = attn.compile(support.EXAMPLES / "block-layout.mlir")
        random = numpy.random.default_rng(0)
        q, k, v = random.standard_normal((3, 2, 8, 512, 64)).astype("float16")
        layout = layouts.big_bird(8, 512, 64, per_head=True, seed=5)
        o = kernel(q, k, v, layout)
        q, k, v = (x.astype("float64") for x in (q, k, v))
        s = q @ k.swapaxes(-1, -2) / 8
        allowed = numpy.tril(layouts.expand(layout, 64))
        p = numpy.where(allowed, numpy.exp(s), 0)
        expected = p / p.sum(-1, keepdims=True) @ v
        self.assertLess(numpy.abs(o - expected).max(), 5e-3)


if __name__ == "__main__":
    unittest.main()
