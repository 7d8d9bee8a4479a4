# RUN: %python %s
"""attn.torch.flex_attention on a CPU: results, layouts, arguments and errors."""

import gc
import unittest
import warnings
import weakref

try:
    import torch
except ImportError:
    torch = None

import attn

if torch is not None:
    import torch.nn.attention.flex_attention as theirs

    import attn.torch as ours
    import flex
    from flex import FAST, causal, eager, flex_attention, qkv


@unittest.skipIf(torch is None, "needs PyTorch")
class Results(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True

    def check(self, tensors, score_mod=None, mask_mod=None, bound=1e-13, **options):
        """Against PyTorch's operations; returns both outputs."""
        q, k, v = tensors
        expected = eager(q, k, v, score_mod, mask_mod, wide=torch.float64)
        mask = None
        if mask_mod is not None:
            mask = ours.create_block_mask(
                mask_mod, q.size(0), None, q.size(2), k.size(2), device="cpu"
            )
        got = flex_attention(
            q, k, v, score_mod, mask, return_aux=ours.AuxRequest(lse=True), **options
        )
        for a, b in zip((got[0], got[1].lse), expected):
            torch.testing.assert_close(a.double(), b, rtol=bound, atol=bound)
        return got[0], expected[0]

    def test_as_theirs(self):
        slopes = torch.rand(4, dtype=torch.float64)
        table = torch.randn(4, 80, dtype=torch.float64)
        functions = [
            (lambda s, b, h, i, j: s + slopes[h] * (j - i), causal),
            (lambda s, b, h, i, j: 2 * torch.tanh(s / 2) + table[h, i - j + 37], None),
            (
                lambda s, b, h, i, j: torch.where(j > i, -float("inf"), s) * (b + 1),
                lambda b, h, i, j: (i - j < 9) | (j < 2 + h),
            ),
        ]
        q, k, v = qkv()
        for score_mod, mask_mod in functions:
            # Their mask, their result; and both masks give ours.
            mask = mask_mod and theirs.create_block_mask(
                mask_mod, 2, 4, 37, 37, device="cpu", BLOCK_SIZE=16
            )
            expected = theirs.flex_attention(q, k, v, score_mod, mask)
            o = flex_attention(q, k, v, score_mod, mask)
            torch.testing.assert_close(o, expected, rtol=1e-12, atol=1e-12)
            mask = mask_mod and ours.create_block_mask(mask_mod, 2, 4, 37, 37)
            o = flex_attention(q, k, v, score_mod, mask)
            torch.testing.assert_close(o, expected, rtol=1e-12, atol=1e-12)

    def test_types(self):
        def capped(s, b, h, i, j):
            return 5 * torch.tanh(s / 5)

        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            q, k, v = qkv((1, 3, 130, 24), dtype=dtype)
            exact, exact_lse = eager(q, k, v, capped, causal, wide=torch.float64)
            rounded, rounded_lse = eager(q, k, v, capped, causal)
            mask = ours.create_block_mask(causal, None, None, 130, 130)
            o, aux = flex_attention(
                q, k, v, capped, mask, return_aux=ours.AuxRequest(lse=True)
            )
            self.assertEqual((o.dtype, aux.lse.dtype), (dtype, torch.float32))
            flex.check_errors(self, o, exact, rounded, dtype)
            flex.check_errors(self, aux.lse, exact_lse, rounded_lse, dtype)

    def test_head_dimensions(self):
        for dim, dim_v in [(1, 1), (3, 7), (16, 5), (65, 33), (127, 129), (576, 512)]:
            self.check(qkv((1, 2, 20, dim), dim_v=dim_v))
        # The stride of a dimension of 1 is any number.
        q, k, v = (x.as_strided(x.shape, (40, 20, 1, 5)) for x in qkv((1, 2, 20, 1)))
        self.check((q, k, v))

    def test_lengths(self):
        several = [(1, 1), (17, 127), (129, 3), (128, 128), (2, 4097), (5, 0), (0, 5)]
        for queries, keys in several:
            q, k, v = qkv((1, 2, queries, 8), (1, 2, keys))
            o, _ = self.check((q, k, v))
            self.assertEqual(o.shape, q.shape)
        self.assertTrue((flex_attention(*qkv((1, 2, 5, 8), (1, 2, 0))) == 0).all())

    def test_groups_of_heads(self):
        for heads, kv_heads in [(6, 2), (5, 1), (7, 7)]:
            q, k, v = qkv((2, heads, 9, 8), (2, kv_heads, 11))
            by_head = torch.randn(heads, dtype=torch.float64)
            self.check((q, k, v), lambda s, b, h, i, j: s * by_head[h], enable_gqa=True)

    def test_a_batch_of_keys_for_all(self):
        lengths = torch.tensor([3, 11, 0])
        self.check(
            qkv((3, 2, 9, 8), (1, 2, 11)), None, lambda b, h, i, j: j < lengths[b]
        )

    def test_scale(self):
        q, k, v = qkv()
        for scale in (1.0, 0.3, 0, -0.5, torch.tensor(0.25)):
            o = flex_attention(q, k, v, scale=scale)
            torch.testing.assert_close(o, eager(q, k, v, scale=scale)[0])

    def test_rows_without_a_key(self):
        q, k, v = qkv()
        mask = ours.create_block_mask(lambda b, h, i, j: j < i - 2, None, None, 37, 37)
        o, aux = flex_attention(
            q, k, v, block_mask=mask, return_aux=ours.AuxRequest(lse=True)
        )
        self.assertTrue((o[:, :, :3] == 0).all() and o.isfinite().all())
        self.assertTrue((aux.lse[:, :, :3] == -torch.inf).all())
        self.assertTrue(aux.lse[:, :, 3:].isfinite().all())

    def test_what_is_returned(self):
        q, k, v = qkv()
        o = flex_attention(q, k, v)
        self.assertIsInstance(o, torch.Tensor)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            pair = flex_attention(q, k, v, return_lse=True)
        self.assertIsInstance(pair, tuple)
        torch.testing.assert_close(pair[0], o)
        self.assertEqual(pair[1].shape, (2, 4, 37))
        o, aux = flex_attention(q, k, v, return_aux=ours.AuxRequest(lse=True))
        torch.testing.assert_close(aux.lse, pair[1])
        self.assertIsNone(aux.max_scores)
        o, aux = flex_attention(q, k, v, return_aux=theirs.AuxRequest())
        self.assertEqual((aux.lse, aux.max_scores), (None, None))

    def test_largest_scores(self):
        def score_mod(s, b, h, i, j):
            return s * 3 - (i - j).abs() * slopes[h]

        def mask_mod(b, h, i, j):
            return (j < i) & (i != 5)

        slopes = torch.rand(4, dtype=torch.float64, requires_grad=True)
        mask = ours.create_block_mask(mask_mod, None, None, 37, 37, "cpu")
        index = torch.meshgrid(*[torch.arange(n) for n in (2, 4, 37, 37)], indexing="ij")
        for dtype, bound in (torch.float64, 1e-12), (torch.float32, 1e-6):
            q, k, v = qkv(dtype=dtype, grad=True)
            for named in {}, {"score_mod": score_mod, "block_mask": mask, "scale": 1.5}:
                for lse in (True, False):
                    wanted = ours.AuxRequest(lse=lse, max_scores=True)
                    _, aux = flex_attention(q, k, v, return_aux=wanted, **named)
                    got = aux.max_scores
                    self.assertEqual(got.dtype, dtype)
                    self.assertFalse(got.requires_grad)
                    self.assertEqual(aux.lse is not None, lse)
                    s = q.double() @ k.double().mT * named.get("scale", 0.25)
                    if named:
                        s = score_mod(s, *index).masked_fill(~mask_mod(*index), -torch.inf)
                    torch.testing.assert_close(
                        got.double(), s.amax(-1).detach(), rtol=bound, atol=bound
                    )

    def test_numbers_of_closures(self):
        q, k, v = qkv()
        window, factor = 1, 1.0

        def mask_mod(b, h, i, j):
            return (i - j).abs() <= window

        def score_mod(s, b, h, i, j):
            return s * factor

        seen = set()
        for window, factor in [(1, 1.0), (5, 0.5), (30, -2.0)]:
            self.check((q, k, v), score_mod, mask_mod)
            seen.add(len(ours._kernels._kernels))
        # What changed compiled nothing.
        self.assertEqual(len(seen), 1)


@unittest.skipIf(torch is None, "needs PyTorch")
class Layouts(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def layouts(self):
        packed = torch.randn(2, 9, 3, 4, 8)
        return {
            "contiguous": torch.randn(2, 4, 9, 8),
            "by length": torch.randn(2, 9, 4, 8).transpose(1, 2),
            "of packed": packed[:, :, 1].transpose(1, 2),
            "by head": torch.randn(4, 2, 9, 8).transpose(0, 1),
            "expanded": torch.randn(1, 4, 9, 8).expand(2, 4, 9, 8),
            "part": torch.randn(2, 6, 12, 20)[:, 1:5, 2:11, 4:12],
            "transposed": torch.randn(2, 4, 8, 9).transpose(2, 3),
            "all": torch.randn(8, 9, 4, 2).permute(3, 2, 1, 0),
            "of one": torch.randn(1, 1, 1, 8),
        }

    def test_strides_are_those_of_theirs(self):
        theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
        for name, q in self.layouts().items():
            if name in ("expanded", "transposed", "all") and ours._compat.VERSION < (2, 10):
                continue  # The last dimension was not the innermost one.
            for dim_v in (8, 4):
                k = torch.randn(q.shape)
                v = torch.randn(*q.shape[:3], dim_v)
                expected = theirs.flex_attention(q, k, v)
                o = flex_attention(q, k, v)
                self.assertEqual(o.stride(), expected.stride(), name)
                self.assertEqual(o.storage_offset(), 0)
                torch.testing.assert_close(o, expected)

    def test_inputs_may_be_laid_out_in_any_way(self):
        k, v = torch.randn(2, 2, 4, 9, 8)
        q = torch.randn(2, 4, 9, 8)
        for name, x in self.layouts().items():
            if x.shape != q.shape:
                continue
            for tensors in ((x, k, v), (q, x, v), (q, k, x)):
                o = flex_attention(*tensors)
                torch.testing.assert_close(o, eager(*tensors)[0], msg=name)

    def test_heads_are_next_to_each_other(self):
        q = torch.randn(2, 9, 4, 8).transpose(1, 2)
        o = flex_attention(q, q, q)
        flat = o.transpose(1, 2).reshape(2, 9, 32)
        self.assertEqual(flat.data_ptr(), o.data_ptr())

    def test_nothing_behind_the_end_is_read(self):
        storage = torch.full((2, 4, 40, 8), torch.nan)
        storage[:, :, :9] = torch.randn(2, 4, 9, 8)
        x = storage[:, :, :9]
        dense = x.contiguous()
        self.assertTrue(
            torch.equal(flex_attention(x, x, x), flex_attention(dense, dense, dense))
        )


@unittest.skipIf(torch is None, "needs PyTorch")
class Captures(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.tensors = qkv((2, 4, 19, 8))

    def check(self, score_mod):
        o = flex_attention(*self.tensors, score_mod)
        expected = eager(*self.tensors, score_mod)[0]
        torch.testing.assert_close(o, expected, rtol=1e-12, atol=1e-12)

    def test_of_any_kind(self):
        bias = torch.randn(4, 19, 19, dtype=torch.float64)
        self.check(lambda s, b, h, i, j: s + bias[h, i, j])
        self.check(lambda s, b, h, i, j: s + bias.permute(1, 2, 0)[i, j, h])
        self.check(lambda s, b, h, i, j: s + bias[h, -1 - i, j])
        half = bias.half()
        self.check(lambda s, b, h, i, j: s + half[h, i, j])
        number = torch.tensor(0.5, dtype=torch.float64)
        self.check(lambda s, b, h, i, j: s * number)
        kinds = torch.randint(0, 3, (2, 19))
        values = torch.randn(3, dtype=torch.float64)
        self.check(lambda s, b, h, i, j: s + values[kinds[b, j]])
        flags = torch.rand(19) < 0.5
        self.check(lambda s, b, h, i, j: torch.where(flags[j], s, -s))

    def test_changes_take_effect(self):
        bias = torch.zeros(4, dtype=torch.float64)
        for _ in range(2):
            self.check(lambda s, b, h, i, j: s + bias[h] * j)
            bias += 1

    def test_are_not_kept(self):
        bias = torch.zeros(4, dtype=torch.float64)
        kept = weakref.ref(bias)
        flex_attention(*self.tensors, lambda s, b, h, i, j: s - bias[h])
        del bias
        gc.collect()
        self.assertIsNone(kept())

    def test_on_another_device(self):
        bias = torch.zeros(4, device="meta")
        with self.assertRaisesRegex(attn.InvalidArgument, r"on cpu, .* on meta"):
            flex_attention(*self.tensors, lambda s, b, h, i, j: s + bias[h])


@unittest.skipIf(torch is None, "needs PyTorch")
class Errors(unittest.TestCase):
    def reject(self, kind, text, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            flex_attention(*arguments, **options)
        self.assertIsInstance(caught.exception, attn.Error)

    def test_tensors(self):
        q, k, v = qkv(dtype=torch.float32)
        for kind, text, tensors in [
            (ValueError, "to be a tensor of PyTorch, but got list", ([1], k, v)),
            (ValueError, "one dtype, but got float32, float16 and", (q, k.half(), v)),
            (ValueError, "one device, but got cpu, meta and cpu", (q, k.to("meta"), v)),
            (ValueError, "2 dimensions or more, but got 1", (q[0, 0, 0], k, v)),
            (ValueError, "same head dimension, but got 16 and 8", (q, k[..., :8], v)),
            (ValueError, "a CPU or a GPU", tuple(x.to("meta") for x in (q, k, v))),
            (
                ValueError,
                "float64, .* but got int32",
                tuple(x.int() for x in (q, k, v)),
            ),
            (NotImplementedError, "3, 3 and 3 dimensions", (q[0], k[0], v[0])),
            (ValueError, "heads and length, .* 37", (q, k, v[:, :, 1:])),
            (ValueError, "heads, but got 4 and 2: enable_gqa", (q, k[:, :2], v[:, :2])),
            (ValueError, "same batch, or key one of 1", (q[:1], k, v)),
            (ValueError, "expects a block_mask where", (q, k[:1], v[:1])),
            (ValueError, "1 or more, but got 16 and 0", (q, k, v[..., :0])),
        ]:
            self.reject(kind, text, *tensors)
        self.reject(
            ValueError, "multiple .* 4 and 3", q, k[:, :3], v[:, :3], enable_gqa=True
        )
        nested = torch.nested.nested_tensor([q[0], q[1]])
        self.reject(NotImplementedError, "nested", nested, nested, nested)
        sparse, blocked = q.to_sparse(), q.float().to_mkldnn()
        self.reject(NotImplementedError, "layout sparse_coo", sparse, k, v)
        self.reject(NotImplementedError, "layout _mkldnn", blocked, blocked, blocked)

    def test_what_to_return(self):
        q, k, v = qkv()
        both = {"return_lse": True, "return_aux": ours.AuxRequest(lse=True)}
        self.reject(ValueError, "return_lse or return_aux", q, k, v, **both)

    def test_masks(self):
        q, k, v = qkv()

        def reject(kind, text, mask, batch=2):
            self.reject(kind, text, q, k[:batch], v[:batch], block_mask=mask)

        for create in (theirs.create_block_mask, ours.create_block_mask):
            for kind in (RuntimeError, ValueError):
                mask = create(causal, None, None, 37, 20, device="cpu")
                reject(kind, r"37 queries and 37 keys, .*37, 20\): create", mask)
                mask = create(causal, None, None, 64, 64, device="cpu")
                reject(kind, r"crop it with block_mask._adjust\(37, 37\)", mask)
            mask = create(causal, 1, None, 37, 37, device="cpu")
            reject(ValueError, "the batch 2 of query", mask, batch=1)
        mask = theirs.create_block_mask(causal, 2, 4, 37, 37, device="cpu")
        # In PyTorch 2.9, a slice keeps the function of the whole.
        if ours._compat.VERSION >= (2, 10):
            reject(RuntimeError, "a slice of a BlockMask has none", mask[0])
        reject(RuntimeError, "block_mask on cpu, .* on meta", mask.to("meta"))
        reject(ValueError, "a Mask or a BlockMask, .*but got function", causal)

    def test_functions(self):
        q, k, v = qkv()

        def branches(s, b, h, i, j):
            if i > j:
                return s
            return -s

        line = branches.__code__.co_firstlineno + 1
        self.reject(
            attn.TraceError, f"test_torch_flex.py:{line}: .*branch", q, k, v, branches
        )
        mask = ours.create_block_mask(lambda b, h, i: i > 0, None, None, 37, 37)
        for kind in (attn.TraceError, AssertionError):
            self.reject(kind, "b, h, q_idx, kv_idx", q, k, v, block_mask=mask)
            self.reject(kind, "score, b, h, q_idx", q, k, v, lambda s, b, h, i: s)
        table = torch.zeros(37)
        for kind in (attn.TraceError, RuntimeError):
            self.reject(
                kind, "not write to tensors", q, k, v, lambda s, b, h, i, j: table.add_(1)
            )
        limit = torch.tensor([3.0], requires_grad=True)
        mask = ours.create_block_mask(
            lambda b, h, i, j: j < limit[0], None, None, 37, 37
        )
        self.reject(
            AssertionError,
            r"mask to read tensors that need no",
            q,
            k,
            v,
            block_mask=mask,
        )

    def test_what_theirs_refuse(self):
        """A score that is none of the product, and a mask without lists of queries."""
        q, k, v = (x.requires_grad_() for x in qkv(dtype=torch.float32))
        o = flex_attention(q, k, v, lambda s, b, h, i, j: (i - j) * 0.5)
        grads = torch.autograd.grad(o.sum(), (q, k, v))
        self.assertFalse(grads[0].any() or grads[1].any())
        self.assertTrue(grads[2].any())
        full = theirs.create_block_mask(causal, None, None, 37, 37, device="cpu")
        lists = full.kv_num_blocks, full.kv_indices
        lists += full.full_kv_num_blocks, full.full_kv_indices
        given = {"mask_mod": causal, "seq_lengths": (37, 37)}
        half = theirs.BlockMask.from_kv_blocks(*lists, compute_q_blocks=False, **given)
        for x, y in zip(
            *(
                torch.autograd.grad(
                    flex_attention(q, k, v, block_mask=mask).square().sum(), (q, k, v)
                )
                for mask in (full, half)
            )
        ):
            self.assertTrue(torch.equal(x, y))

    def test_kernel_options(self):
        q, k, v = qkv()
        for kind, text, given in [
            (
                ValueError,
                "among .*BLOCK_M.*, but got 'BLOCK_X', 'tile'",
                {"BLOCK_X": 1, "tile": 2},
            ),
            (ValueError, "BACKEND to be one of AUTO.*'CUTE'", {"BACKEND": "CUTE"}),
            (
                RuntimeError,
                "got both",
                {"BACKEND": "AUTO", "FORCE_USE_FLEX_ATTENTION": True},
            ),
            (ValueError, "'ATTN' .*dictionary, but got int", {"ATTN": 3}),
            (
                ValueError,
                "'ATTN' .*opt_level.* but got 'speed'",
                {"ATTN": {"speed": 3}},
            ),
            (ValueError, "opt_level to be from 0 to 3", {"ATTN": {"opt_level": 7}}),
        ]:
            self.reject(kind, text, q, k, v, kernel_options=given)
        expected = flex_attention(q, k, v)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                theirs_too = {
                    "BLOCK_M": 64,
                    "fwd_num_warps": 4,
                    "BACKEND": "FLASH",
                    **FAST,
                }
                o = flex_attention(q, k, v, kernel_options=theirs_too)
        self.assertTrue(torch.equal(o, expected))
        texts = [str(w.message) for w in caught if "kernel_options" in str(w.message)]
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts[0], "BLOCK_M, fwd_num_warps .*'ATTN': bounds_check")

    def test_autocast(self):
        q, k, v = qkv(dtype=torch.float32)
        with torch.autocast("cpu", torch.bfloat16):
            o = flex_attention(q, k, v)
            with torch.autocast("cpu", enabled=False):
                self.assertEqual(flex_attention(q, k, v).dtype, torch.float32)
        self.assertEqual(o.dtype, torch.bfloat16)
        expected = flex_attention(*(x.bfloat16() for x in (q, k, v)))
        self.assertTrue(torch.equal(o, expected))


if __name__ == "__main__":
    unittest.main()
