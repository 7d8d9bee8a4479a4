# RUN: %python %s
# REQUIRES: numpy
"""attn.show_mask: pictures of masks."""

import pathlib
import struct
import tempfile
import unittest
import zlib

import attn
import numpy as np
import support

try:
    import torch
except ImportError:
    torch = None

I, J = np.arange(100)[:, None], np.arange(130)


def causal(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx


def decode(png):
    """[height, width, 3] of a PNG that has a palette and no filters."""
    chunks, at = {}, 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        (check,) = struct.unpack_from(">I", png, at + 8 + size)
        assert check == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, *format_ = struct.unpack(">2I5B", chunks[b"IHDR"])
    assert format_ == [8, 3, 0, 0, 0], format_
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    lines = lines.reshape(height, width + 1)
    assert not lines[:, 0].any()
    return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[lines[:, 1:]]


class Pictures(unittest.TestCase):
    def test_functions(self):
        ends = np.array([[130, 60], [20, 0]])
        cases = [
            (causal, {}, J <= I),
            (lambda b, h, i, j: j < ends[b, h], {"batch": 1}, (J < 20) & (I >= 0)),
            (lambda b, h, i, j: j < ends[b, h], {"batch": 1, "head": 1}, (J < 0) & (I >= 0)),
            (lambda b, h, i, j: j < ends[b, h], {}, (J < 130) & (I >= 0)),
            (lambda b, h, i, j: (i - j) % 7 == 0, {}, (I - J) % 7 == 0),
        ]
        for mask, named, wanted in cases:
            picture = attn.show_mask(mask, 100, 130, tile=(16, 32), **named)
            np.testing.assert_array_equal(picture.pairs, wanted)
            for at in np.ndindex(7, 5):
                part = wanted[at[0] * 16 : at[0] * 16 + 16, at[1] * 32 : at[1] * 32 + 32]
                self.assertEqual(picture.tiles[at], int(part.any()) + int(part.all()))

    def test_text(self):
        picture = attn.show_mask(causal, 64, tile=16)
        summary = (
            "causal: 64 x 64 pairs, 50.8 % allowed; 16 tiles of 16 x 16: 6 full, 4 in"
            " part, 6 skipped"
        )
        self.assertEqual(
            str(picture), summary + "\n░░\n██░░\n████░░\n██████░░"
        )
        self.assertEqual(repr(picture), str(picture))
        html = attn.show_mask(lambda b, h, i, j: j <= i, 8)._repr_html_()
        self.assertIn("&lt;lambda&gt;: 8 x 8 pairs", html)
        self.assertIn('src="data:image/png;base64,', html)

    def test_pixels(self):
        picture = attn.show_mask(causal, 32, tile=8)
        pixels = decode(picture.png())
        # 8 pixels for each pair, and a frame.
        self.assertEqual(pixels.shape, (258, 258, 3))
        white, light, middle, dark = (255,) * 3, (222, 235, 247), (107, 174, 214), (8, 81, 156)
        for (row, column), color in {
            (4, 20): white,
            (4, 6): light,
            (6, 4): middle,
            (20, 3): dark,
            (31, 31): middle,
        }.items():
            found = pixels[1 + 8 * row + 4, 1 + 8 * column + 4]
            self.assertEqual(tuple(found), color, (row, column))
        self.assertEqual(picture._repr_png_(), picture.png())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mask.png"
            picture.save(path)
            self.assertEqual(path.read_bytes(), picture.png())
        # Of many pairs, one pixel is some of them.
        large = attn.show_mask(lambda b, h, i, j: (j <= i) & (i - j < 100), 2000)
        self.assertEqual(large.tile, (128, 128))
        self.assertEqual(decode(large.png()).shape, (669, 669, 3))
        of_numpy = attn.show_mask(causal, np.int64(9), tile=np.int32(4), head=np.int8(1))
        self.assertEqual((of_numpy.pairs.shape, of_numpy.tile), ((9, 9), (4, 4)))
        small = attn.show_mask(causal, 1)
        self.assertEqual((small.tiles.tolist(), small.tile), ([[2]], (8, 8)))

    def test_programs(self):
        text = (support.EXAMPLES / "causal.mlir").read_text()
        for program in text, attn.compile(text):
            picture = attn.show_mask(program, 50, 60)
            np.testing.assert_array_equal(picture.pairs, J[:60] <= I[:50])
            self.assertEqual(picture.name, "causal")
        path = support.EXAMPLES / "sliding-window.mlir"
        near = attn.show_mask(path, 40, inputs={"window": 5}, layout="bshd", head=3).pairs
        wanted = attn.show_mask(lambda b, h, i, j: (j <= i) & (i - j < 5), 40).pairs
        np.testing.assert_array_equal(near, wanted)
        program = attn.trace.trace(None, causal)
        text = program.to_mlir(attn.trace.Variant(dtype="bf16", dim=16))
        np.testing.assert_array_equal(attn.show_mask(text, 40).pairs, J[:40] <= I[:40])

    def test_errors(self):
        path = support.EXAMPLES / "sliding-window.mlir"
        for message, arguments, named in [
            ("q_len for a mask", (causal,), {}),
            ("q_len to be 1 or more, but got 0", (causal, 0), {}),
            ("kv_len to be 1 or more, but got 1.5", (causal, 8, 1.5), {}),
            ("tile to be one or two", (causal, 8), {"tile": (1, 2, 3)}),
            ("tile to be one or two", (causal, 8), {"tile": 0}),
            ("tile to be one or two .* True", (causal, 8), {"tile": True}),
            ("tile to be one or two .* 3.5", (causal, 8), {"tile": 3.5}),
            ("head to be 0 or more, but got 1.0", (causal, 8), {"head": 1.0}),
            ("pairs, but got 20000 x 20000", (causal, 20000), {}),
            ("batch to be 0 or more, but got -1", (causal, 8), {"batch": -1}),
            ("inputs for a program alone", (causal, 8), {"inputs": {"window": 1}}),
            ("a function, a block mask or a program, but got int", (3, 8), {}),
            ("of q, k and v, .*reads as inputs .window", (path, 8), {}),
            ("layout to be", (path, 8), {"inputs": {"window": 1}, "layout": "sdbh"}),
            ("rows and a static", (path, 9), {"inputs": {"window": 1}}),
            ("a batch and a head of .*, but got 0, 9", (support.EXAMPLES / "causal.mlir", 9), {"head": 9}),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                attn.show_mask(*arguments, **named)
        with self.assertRaisesRegex(attn.TraceError, "to return a bool"):
            attn.show_mask(lambda b, h, i, j: i - j, 8)

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_block_masks(self):
        import attn.torch
        import torch.nn.attention.flex_attention as theirs

        ends = torch.tensor([50, 20])

        def padded(b, h, q_idx, kv_idx):
            return (kv_idx <= q_idx) & (kv_idx < ends[b])

        for module in attn.torch, theirs:
            mask = module.create_block_mask(
                padded, 2, None, 100, 130, device="cpu", BLOCK_SIZE=32
            )
            picture = attn.show_mask(mask, batch=1)
            self.assertEqual((picture.name, picture.tile), ("padded", (32, 32)))
            np.testing.assert_array_equal(picture.pairs, (J <= I) & (J < 20))
            self.assertEqual(attn.show_mask(mask, 32, 64, tile=8).tiles.shape, (4, 8))
            # A number of heads of 1 is for any.
            self.assertTrue((attn.show_mask(mask, head=7).pairs[:, :50] == (J <= I)[:, :50]).all())
            with self.assertRaisesRegex(attn.InvalidArgument, r"of \(2, 1.*, but got 2, 0"):
                attn.show_mask(mask, batch=2)


if __name__ == "__main__":
    unittest.main()
