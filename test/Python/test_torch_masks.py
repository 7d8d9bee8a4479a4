# RUN: %python %s
"""Masks of attn.torch, and those of PyTorch that it takes."""

import concurrent.futures
import copy
import gc
import os
import sys
import threading
import unittest
import weakref
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import torch.nn.attention.flex_attention as theirs

    import attn
    import attn.torch as ours
    from flex import causal, eager, flex_attention, qkv


def window(b, h, q_idx, kv_idx):
    return (q_idx - kv_idx).abs() < 9 + 8 * h + 20 * b


@unittest.skipIf(torch is None, "needs PyTorch")
class Lazy(unittest.TestCase):
    def pair(self, *arguments, **options):
        return [
            module.create_block_mask(*arguments, device="cpu", **options)
            for module in (ours, theirs)
        ]

    def check_blocks(self, mask, expected):
        self.assertEqual(mask.shape, expected.shape)
        self.assertEqual(tuple(mask.BLOCK_SIZE), tuple(expected.BLOCK_SIZE))
        self.assertTrue(torch.equal(mask.to_dense(), expected.to_dense()))
        # Not theirs, which counts pairs behind the lengths before PyTorch 2.15.
        blocks = expected.to_dense().double().mean().item()
        self.assertAlmostEqual(mask.sparsity(), 100 * (1 - blocks))
        self.assertEqual(mask.numel(), expected.numel())

    def test_blocks(self):
        for shape, size in [
            ((None, None, 64, 64), 16),
            ((2, 3, 70, 50), (16, 8)),
            ((1, 2, 5, 300), 128),
        ]:
            mask, expected = self.pair(window, *shape, BLOCK_SIZE=size)
            self.check_blocks(mask, expected)
            lists = mask.to_block_mask()
            for name in (
                "kv_num_blocks",
                "kv_indices",
                "full_kv_num_blocks",
                "full_kv_indices",
            ):
                self.assertTrue(
                    torch.equal(getattr(lists, name), getattr(expected, name)), name
                )

    def test_where_nothing_says_where(self):
        mask = ours.create_block_mask(causal, None, None, 20, 20, BLOCK_SIZE=10)
        here = "cuda" if torch.cuda.is_available() else "cpu"
        self.assertEqual(mask.to_dense().device.type, here)

    def test_blocks_of_many_pairs(self):
        mask, expected = self.pair(window, 2, 2, 100, 64, BLOCK_SIZE=16)
        chunk, ours._mask._CHUNK = ours._mask._CHUNK, 1
        try:
            self.check_blocks(mask, expected)
        finally:
            ours._mask._CHUNK = chunk

    def test_parts(self):
        mask, expected = self.pair(window, 3, 4, 96, 64, BLOCK_SIZE=16)
        for index in (
            1,
            (slice(None), 2),
            (slice(1, 3), slice(0, 4, 2)),
            (-1, -1),
            (torch.tensor([2, 0]), 1),
        ):
            self.check_blocks(mask[index], expected[index])
        # Theirs keeps the length, which has to be set by hand.
        rows = slice(None), slice(None), slice(2, 5)
        self.assertEqual(mask[rows].shape, (3, 4, 48, 64))
        self.assertTrue(torch.equal(mask[rows].to_dense(), expected[rows].to_dense()))
        self.check_blocks(mask[1][:, 2], expected[1][:, 2])
        mask, expected = self.pair(window, None, None, 96, 64)
        self.check_blocks(mask[0], expected[0])
        with self.assertRaises(IndexError):
            mask[3]
        with self.assertRaisesRegex(IndexError, "up to 3 indices"):
            mask[0, 0, 0, 0]
        with self.assertRaisesRegex(NotImplementedError, "consecutive blocks"):
            mask[0, 0, 0:2:2]

    def test_parts_in_attention(self):
        q, k, v = qkv((2, 3, 40, 8))
        mask = ours.create_block_mask(window, 4, 5, 64, 40, BLOCK_SIZE=8)
        part = mask[1:3, 2:, 2:7]
        o = flex_attention(q, k, v, block_mask=part)
        expected = eager(
            q, k, v, None, lambda b, h, i, j: window(b + 1, h + 2, i + 16, j)
        )[0]
        torch.testing.assert_close(o, expected)

    def test_other_lengths_and_places(self):
        mask, expected = self.pair(causal, None, None, 64, 64, BLOCK_SIZE=16)
        self.check_blocks(mask._adjust(32, 48), expected._adjust(32, 48))
        self.assertEqual(mask.to("meta").device.type, "meta")
        self.assertEqual(mask.seq_lengths, (64, 64))

    def test_drawings(self):
        mask, _ = self.pair(causal, 2, 3, 48, 48, BLOCK_SIZE=16)
        drawing = "(0, 0)\n░░    \n██░░  \n████░░\n"
        self.assertEqual(mask.to_string(limit=1), drawing + "\n...")
        self.assertTrue(mask.to_string(grid_size=1).startswith("(0, 0)\n░░\n"))
        self.assertEqual(mask[0, 0].to_string(grid_size=-1), drawing)
        self.assertTrue(
            str(mask).startswith("Mask(shape=(2, 3, 48, 48), sparsity=33.33%")
        )
        self.assertEqual(
            repr(mask), "Mask(causal, shape=(2, 3, 48, 48), BLOCK_SIZE=(16, 16))"
        )

    def test_takes_no_memory(self):
        mask = ours.create_block_mask(causal, 64, 128, 2**20, 2**20)
        self.assertEqual(mask.numel(), 2**53)
        self.assertEqual(mask.shape, (64, 128, 2**20, 2**20))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "mask_mod to be a function .* got int"):
            ours.create_block_mask(3, None, None, 4, 4)

    def test_functions_of_functions(self):
        def first(b, h, i, j):
            return j == 0

        q, k, v = qkv((1, 2, 20, 8))
        for combine, expected in [
            (ours.and_masks, lambda *x: causal(*x) & window(*x)),
            (ours.or_masks, lambda *x: first(*x) | window(*x)),
        ]:
            parts = (causal, window) if combine is ours.and_masks else (first, window)
            for mask_mod in (
                combine(*parts),
                getattr(theirs, combine.__name__)(*parts),
            ):
                mask = ours.create_block_mask(mask_mod, None, None, 20, 20)
                o = flex_attention(q, k, v, block_mask=mask)
                torch.testing.assert_close(o, eager(q, k, v, None, expected)[0])
            dense = theirs.create_mask(combine(*parts), 1, 2, 20, 20, device="cpu")
            index = torch.meshgrid(*map(torch.arange, (1, 2, 20, 20)), indexing="ij")
            self.assertTrue(torch.equal(dense, expected(*index)))
            with self.assertRaisesRegex(RuntimeError, "expects functions"):
                combine(causal, 3)
        for mask_mod, all_pairs in [
            (ours.noop_mask, True),
            (ours.and_masks(), True),
            (ours.or_masks(), False),
        ]:
            mask = ours.create_block_mask(mask_mod, None, None, 20, 20)
            o = flex_attention(q, k, v, block_mask=mask)
            expected = eager(q, k, v)[0] if all_pairs else torch.zeros_like(o)
            torch.testing.assert_close(o, expected)


@unittest.skipIf(torch is None, "needs PyTorch")
class BlockMasks(unittest.TestCase):
    """Those of PyTorch."""

    def setUp(self):
        torch.manual_seed(0)

    def lists(self, table, **options):
        """A BlockMask of the blocks that a table tells."""
        counts = table.sum(-1).int()
        # Anything is behind the count of a row.
        order = table.int().argsort(dim=-1, descending=True, stable=True).int()
        behind = torch.arange(table.shape[-1]) >= counts[..., None]
        order = order.masked_fill(behind, 77)
        return theirs.BlockMask.from_kv_blocks(
            counts, order, compute_q_blocks=False, **options
        )

    def check(self, block_mask, mask_mod, queries=32, keys=48):
        q, k, v = qkv((2, 4, queries, 8), (2, 4, keys))
        o = flex_attention(q, k, v, block_mask=block_mask)
        torch.testing.assert_close(o, eager(q, k, v, None, mask_mod)[0])

    def test_lists_by_hand(self):
        for batch, heads in [(2, 4), (1, 1), (2, 1), (1, 4), (1, 2)]:
            table = torch.rand(batch, heads, 4, 3) < 0.5
            mask = self.lists(table, BLOCK_SIZE=(8, 16))
            self.check(
                mask, lambda b, h, i, j: table[b % batch, h % heads, i // 8, j // 16]
            )

    def test_other_batches_and_heads(self):
        q, k, v = qkv((4, 4, 32, 8), (4, 4, 48))
        for batch, heads in [(4, 3), (3, 4)]:
            mask = self.lists(torch.ones(batch, heads, 4, 3), BLOCK_SIZE=(8, 16))
            wrong = "batch" if batch == 3 else "head"
            with self.assertRaisesRegex(ValueError, f"1 {wrong} or the ."):
                flex_attention(q, k, v, block_mask=mask)

    def test_lists_and_a_function(self):
        table = torch.rand(1, 1, 4, 3) < 0.7
        mask = self.lists(table, BLOCK_SIZE=(8, 16), mask_mod=window)
        self.check(
            mask, lambda b, h, i, j: table[0, 0, i // 8, j // 16] & window(b, h, i, j)
        )

    def test_full_blocks_do_not_ask(self):
        some, full = (torch.rand(1, 1, 4, 3) < 0.5 for _ in range(2))
        counts, order = (
            getattr(self.lists(full, BLOCK_SIZE=16), n)
            for n in ("kv_num_blocks", "kv_indices")
        )
        mask = self.lists(some, BLOCK_SIZE=(8, 16), mask_mod=window)
        mask.full_kv_num_blocks, mask.full_kv_indices = counts, order

        def expected(b, h, i, j):
            at = 0, 0, i // 8, j // 16
            return full[at] | (some[at] & window(b, h, i, j))

        self.check(mask, expected)
        mask.mask_mod = theirs.noop_mask
        self.check(mask, lambda b, h, i, j: (some | full)[0, 0, i // 8, j // 16])

    def test_of_functions(self):
        for size in (16, 128):
            mask = theirs.create_block_mask(
                window, 2, 4, 40, 48, device="cpu", BLOCK_SIZE=size
            )
            self.check(mask, window, 40)
        part = mask._adjust(16, 48)
        part.seq_lengths = (16, 48)
        self.check(part, window, 16)

    def test_lists_that_change(self):
        table = torch.zeros(1, 1, 4, 3, dtype=torch.bool)
        table[..., 0] = True
        mask = self.lists(table, BLOCK_SIZE=(8, 16))
        self.check(mask, lambda b, h, i, j: j < 16)
        mask.kv_num_blocks.zero_()
        self.check(mask, lambda b, h, i, j: j < 0)

    def test_no_mask(self):
        q, k, _ = qkv((2, 4, 20, 8))
        empty = theirs._create_empty_block_mask(q, k)
        self.check(empty, None)


@unittest.skipIf(torch is None, "needs PyTorch")
class Prepared(unittest.TestCase):
    def setUp(self):
        self.documents = torch.arange(60) // 25
        self.mask = ours.create_block_mask(
            lambda b, h, i, j: self.documents[i] == self.documents[j],
            *(None, None, 60, 60),
            device="cpu",
        )
        self.tensors = qkv((2, 2, 60, 16), grad=True)

    def results(self, tensors=None):
        """The output and gradients."""
        tensors = tensors or self.tensors
        out = ours.flex_attention(*tensors, block_mask=self.mask)
        return [out, *torch.autograd.grad(out.square().sum(), tensors)]

    def test_results_are_the_same(self):
        expected = self.results()
        self.assertIs(self.mask.prepare(), self.mask)
        for _ in range(3):
            for x, y in zip(self.results(), expected):
                self.assertTrue(torch.equal(x, y))
        # One for the forward, and one for the gradient.
        self.assertEqual(len(self.mask.shared._found), 2)
        with torch.no_grad():
            ours.flex_attention(*self.tensors, block_mask=self.mask)
        self.assertEqual(len(self.mask.shared._found), 3)

    def test_again_after_a_change(self):
        self.mask.prepare()
        before = self.results()[0]
        self.documents.copy_(torch.arange(60) // 10)
        self.mask.prepare()
        self.assertEqual(len(self.mask.shared._found), 0)
        after = self.results()[0]
        self.assertFalse(torch.equal(before, after))
        self.assertLess(
            (after - eager(*self.tensors, None, self.mask.mask_mod)[0]).abs().max(), 1e-9
        )

    def test_a_change_that_is_found(self):
        bias = torch.randn(2, 60, dtype=torch.float64)
        variant = ours.Variant(
            lambda s, b, h, i, j, bias, ids: s + bias[h, i],
            lambda b, h, i, j, bias, ids: ids[i] == ids[j],
        )
        with mock.patch.dict(os.environ, ATTN_CHECK_PREPARED="1"):
            self.mask.prepare()
            prepared = variant.prepare()
            for _ in range(2):
                self.results()
                # What scores read may change.
                prepared(*self.tensors, bias.add_(1), self.documents)
            self.documents[3] = 7
            for call in (
                self.results,
                lambda: prepared(*self.tensors, bias, self.documents),
            ):
                with self.assertRaisesRegex(
                    attn.InvalidArgument, r"of shape \(60,\), to hold what it held"
                ):
                    call()
            self.mask.prepare()
            self.results()
        self.documents[3] = 8
        self.results()  # without the check

    def test_other_masks_of_it_are_not(self):
        self.mask.prepare()
        self.assertIsNone(self.mask[:, :, :].shared)
        self.assertIsNone(self.mask._adjust(30, 30).shared)
        self.assertIsNone(self.mask.to("cpu").shared)
        self.assertIsNone(copy.deepcopy(self.mask).shared)
        self.assertIsNone(copy.copy(self.mask).shared)
        self.assertIsNotNone(self.mask.shared)

    def test_variants(self):
        variant = ours.Variant(
            lambda s, b, h, i, j, ids, scale: s * scale,
            lambda b, h, i, j, ids, scale: ids[i] == ids[j],
        )
        captures = self.documents, 2.0
        expected = variant(*self.tensors, *captures)
        prepared = variant.prepare()
        for _ in range(2):
            got = prepared(*self.tensors, *captures)
            self.assertTrue(torch.equal(got, expected))
            torch.autograd.grad(got.sum(), self.tensors)
        self.assertEqual(len(prepared._shared._found), 2)
        self.assertIsNone(variant._shared)
        self.documents.copy_(torch.arange(60) // 10)
        again = variant.prepare()(*self.tensors, *captures)
        self.assertFalse(torch.equal(again, expected))

    def test_a_graph_that_is_exported(self):
        if ours._compat.VERSION < (2, 10):
            self.skipTest("PyTorch 2.9 exports no closures with tensors so")
        # Another process does not know the mask: its graph shares nothing.
        q, k, v = (x.detach() for x in self.tensors)
        self.mask.prepare()

        class Layer(torch.nn.Module):
            def forward(layer, q):
                return ours.flex_attention(q, k, v, block_mask=self.mask)

        program = torch.export.export(Layer(), (q,), strict=True)
        expected = Layer()(q)
        self.assertEqual(len(self.mask.shared._found), 1)
        self.mask.shared = None
        gc.collect()
        self.assertTrue(torch.equal(program.module()(q), expected))

    def test_clear_cache(self):
        self.mask.prepare()
        # Graphs keep kernels for their gradient.
        expected = [x.detach() for x in self.results()]
        kernels = [weakref.ref(at[0]) for at in self.mask.shared._found]
        self.assertEqual(len(kernels), 2)
        attn.clear_cache()
        gc.collect()
        self.assertEqual(len(self.mask.shared._found), 0)
        self.assertEqual([kernel() for kernel in kernels], [None, None])
        for x, y in zip(self.results(), expected):
            self.assertTrue(torch.equal(x, y))

    def test_threads(self):
        expected = self.results()
        self.mask.prepare()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: self.results(), range(8)):
                self.assertTrue(torch.equal(found[0], expected[0]))
        self.assertEqual(len(self.mask.shared._found), 2)

    def test_clear_cache_while_masks_are_prepared(self):
        # Others live as long, so that all of them take a while to clear.
        masks = [copy.copy(self.mask).prepare() for _ in range(500)]
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        is_done = threading.Event()

        def prepare():
            while not is_done.is_set():
                for mask in masks:
                    mask.prepare()

        thread = threading.Thread(target=prepare)
        thread.start()
        try:
            for _ in range(300):
                attn.clear_cache()
        finally:
            is_done.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
