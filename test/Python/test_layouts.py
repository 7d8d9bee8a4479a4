# RUN: %python %s
"""Layouts of blocks: their properties, and a kernel that reads one.

test/Unit/Support/BlockLayoutTest.cpp has the same checksums and drawings.
"""

import inspect
import types
import unittest
import zlib

try:
    import numpy
except ImportError:
    numpy = None
else:
    from attn import layouts
try:
    import torch
except ImportError:
    torch = None

import attn
import support


def draw(layout, head=0):
    return "/".join("".join(".#"[x] for x in row) for row in layout[head].tolist())


@unittest.skipIf(numpy is None, "needs NumPy")
class Layouts(unittest.TestCase):
    def all(self):
        others = "csr_lists", "expand", "from_lists", "to_lists", "top_k"
        return [getattr(layouts, n) for n in layouts.__all__ if n not in others]

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

    def test_lists(self):
        layout = numpy.zeros((2, 2, 3), bool)
        layout[0, 0, 2] = layout[0, 1, :2] = layout[1, 1, 1] = True
        for dtype in "int32", "int64":
            rows, columns = layouts.to_lists(layout, dtype)
            self.assertEqual((rows.dtype, columns.dtype), (dtype, dtype))
            self.assertEqual(rows.tolist(), [[0, 1, 3], [3, 3, 4]])
            self.assertEqual(columns.tolist(), [2, 0, 1, 1])
            again = layouts.from_lists(rows, columns, 3)
            self.assertTrue((again == layout).all())
        for shape in (4, 5), (3, 4, 5), (2, 3, 4, 5), (2, 0, 4):
            layout = numpy.random.default_rng(0).random(shape) < 0.3
            rows, columns = layouts.to_lists(layout)
            self.assertEqual(rows.shape, (*shape[:-2], shape[-2] + 1))
            again = layouts.from_lists(rows, columns, shape[-1])
            self.assertTrue((again == layout).all())
        with self.assertRaises(ValueError) as raised:
            layouts.to_lists(layout, "int16")
        self.assertEqual(
            str(raised.exception), "expects a dtype of int32 or int64, but got int16"
        )

    def test_csr_lists(self):
        first = [0, 2, 2, 3], [3, 1, 0]
        second = types.SimpleNamespace(indptr=[0, 0, 1, 3], indices=[2, 0, 3])
        for dtype in "int32", "int64":
            rows, columns = layouts.csr_lists([first, second], dtype)
            self.assertEqual((rows.dtype, columns.dtype), (dtype, dtype))
            self.assertEqual(rows.tolist(), [[0, 2, 2, 3], [3, 3, 4, 6]])
            self.assertEqual(columns.tolist(), [1, 3, 0, 2, 0, 3])
        for arguments, message in [
            (([],), "expects a matrix for each head, but got none"),
            (
                ([first, ([0, 1], [0])],),
                "expects matrices with 3 rows, as the first one has, "
                "but got 1 in matrix 1",
            ),
            (
                ([first], "int16"),
                "expects a dtype of int32 or int64, but got int16",
            ),
        ]:
            with self.assertRaises(ValueError) as raised:
                layouts.csr_lists(*arguments)
            self.assertEqual(str(raised.exception), message)

    def test_kernel_of_key_lists(self):
        kernel = attn.compile(support.EXAMPLES / "key-lists.mlir")
        random = numpy.random.default_rng(0)
        mask = random.random((4, 50, 70)) < 0.2
        q = random.standard_normal((2, 4, 50, 64)).astype("float32")
        k, v = random.standard_normal((2, 2, 2, 70, 64)).astype("float32")
        bits = [(x.view("uint32") >> 16).astype("uint16") for x in (q, k, v)]
        o, lse = kernel(
            *(attn.bitcast(x, "bf16") for x in bits), *layouts.to_lists(mask)
        )
        q, k, v = (
            (x.astype("uint32") << 16).view("float32").astype("float64") for x in bits
        )
        s = q @ k.repeat(2, 1).swapaxes(-1, -2) / 8
        s -= abs(numpy.arange(50)[:, None] - numpy.arange(70)) / 64
        p = numpy.where(mask, numpy.exp(s), 0)
        numpy.testing.assert_allclose(lse, numpy.log(p.sum(-1)), rtol=1e-5, atol=1e-5)

    # The C++ library makes the same blocks of the same scores.
    SCORES = [
        [1, 3, 2, 3],
        [4, 4, float("nan"), -float("inf")],
        [-1, -2, float("inf"), float("nan")],
    ]
    TOP = [
        (0, False, "..../..../...."),
        (1, False, ".#../#.../..#."),
        (2, False, ".#.#/##../#.#."),
        (9, False, "####/##../###."),
        (2, True, "#.../##../#.#."),
    ]

    def test_top_k(self):
        scores = numpy.array([self.SCORES], "float32")
        for count, causal, expected in self.TOP:
            layout = layouts.top_k(scores, count, causal=causal)
            self.assertEqual(layout.dtype, bool)
            self.assertEqual(draw(layout), expected)
        batches = numpy.stack([scores, scores[..., ::-1]])
        layout = layouts.top_k(batches, 2)
        self.assertEqual(layout.shape, (2, 1, 3, 4))
        self.assertTrue((layout[0] == layouts.top_k(scores, 2)).all())
        with self.assertRaises(ValueError) as raised:
            layouts.top_k(scores, -1)
        self.assertEqual(
            str(raised.exception), "expects blocks of a row to be at least 0, but got -1"
        )

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_tensors(self):
        scores = torch.tensor([self.SCORES])
        for count, causal, expected in self.TOP:
            layout = layouts.top_k(scores, count, causal=causal)
            self.assertEqual(layout.dtype, torch.bool)
            self.assertEqual(draw(layout), expected)
        layout = numpy.random.default_rng(0).random((2, 3, 4, 5)) < 0.3
        for dtype in "int32", "int64":
            expected = layouts.to_lists(layout, dtype)
            got = layouts.to_lists(torch.from_numpy(layout), dtype)
            for a, b in zip(expected, got):
                self.assertEqual(b.dtype, getattr(torch, dtype))
                self.assertEqual(a.tolist(), b.tolist())

    def check_sparse(self, kernel, layout, length, *arguments):
        """A kernel of blocks of 64 that is causal within them."""
        batch = len(layout) if layout.ndim == 4 else 2
        random = numpy.random.default_rng(0)
        q, k, v = random.standard_normal((3, batch, 8, length, 64)).astype("float16")
        o = kernel(q, k, v, *arguments)
        q, k, v = (x.astype("float64") for x in (q, k, v))
        s = q @ k.swapaxes(-1, -2) / 8
        allowed = numpy.tril(layouts.expand(layout, 64)[..., :length, :length])
        p = numpy.where(allowed, numpy.exp(s), 0)
        total = p.sum(-1, keepdims=True)
        expected = p / numpy.where(total == 0, 1, total) @ v
        self.assertLess(numpy.abs(o - expected).max(), 5e-3)

    def test_kernel_of_lists(self):
        kernel = attn.compile(support.EXAMPLES / "block-sparse.mlir")
        random = numpy.random.default_rng(1)
        big_bird = layouts.big_bird(8, 512, 64, per_head=True, seed=5)
        for layout, length in [
            (big_bird[None], 512),
            (numpy.zeros((1, 1, 8, 8), bool), 512),
            (numpy.ones((1, 1, 8, 8), bool), 500),
            # One for each batch and head, made of data.
            (layouts.top_k(random.random((2, 8, 8, 8)), 3, causal=True), 512),
        ]:
            rows, columns = layouts.to_lists(layout)
            self.check_sparse(kernel, layout, length, rows, columns)
        with self.assertRaisesRegex(attn.OutOfRange, "columns of the sparsity"):
            self.check_sparse(kernel, layout, 512, rows, columns + 8)
        with self.assertRaisesRegex(attn.InvalidArgument, "dimension 2 of rows"):
            self.check_sparse(kernel, layout, 512, rows[..., 1:], columns)

    def test_kernel_of_bits(self):
        text = (support.EXAMPLES / "block-sparse.mlir").read_text()
        text = text.replace("%rows: tensor<?x?x?xi32>, %columns: tensor<?xi32>",
                            "%bits: tensor<?x?x?x?xi1>")
        text = text.replace("%rows, %columns : tensor<?x?x?xi32>, tensor<?xi32>",
                            "%bits : tensor<?x?x?x?xi1>").replace("<lists", "<bits")
        kernel = attn.compile(text)
        scores = numpy.random.default_rng(1).random((2, 8, 8, 8))
        layout = layouts.top_k(scores, 3)
        self.check_sparse(kernel, layout, 512, layout)

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
