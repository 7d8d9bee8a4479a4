# RUN: %python %s
"""What arguments of attn.torch may not be, besides tensors and masks that do not fit
(test_torch_flex): each is an error that says what was expected and found."""

import unittest

try:
    import torch
except ImportError:
    torch = None

import attn

LENGTH = 11

if torch is not None:
    import attn.torch as ours
    from attn.torch import Variant, create_block_mask, flex_attention, sdpa, varlen
    from flex import FAST, causal

    learned = torch.ones(LENGTH, requires_grad=True)


@unittest.skipIf(torch is None, "needs PyTorch")
class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.tensors = torch.randn(3, 1, 2, LENGTH, 8)

    def reject(self, text, call, *arguments, kinds=(ValueError,), **named):
        with self.assertRaisesRegex(attn.Error, text) as caught:
            call(*arguments, **named)
        for kind in kinds:
            self.assertIsInstance(caught.exception, kind)
        return caught.exception


class Calls(Case):
    def test_after_a_call_that_fits(self):
        """That arguments fit is known of calls before, but of none that differ."""

        def call(mask_length=LENGTH, enable_gqa=False, **others):
            mask = create_block_mask(causal, 1, 1, LENGTH, mask_length, device="cpu")
            tensors = {**dict(zip(("query", "key", "value"), self.tensors)), **others}
            return flex_attention(
                **tensors, block_mask=mask, enable_gqa=enable_gqa, kernel_options=FAST
            )

        q, k, v = self.tensors
        twice = q.repeat(1, 2, 1, 1)
        call()
        call(query=twice, enable_gqa=True)
        nested = torch.nested.nested_tensor([*v])
        layouts = v.to_sparse(), v.to_mkldnn(), v.contiguous().to_sparse_csr()
        self.assertTrue(all(type(x) is torch.Tensor for x in (nested, *layouts)))
        for text, wrong in [
            ("but got a nested one", {"value": nested}),
            *[("one of the layout", {"key": x}) for x in layouts],
            ("but got list", {"key": k.tolist()}),
            ("have one dtype", {"key": k.double()}),
            ("be on one device", {"value": v.to("meta")}),
            ("4 dimensions|2 dimensions", {"query": q[0]}),
            ("same head dimension", {"query": q[..., :4]}),
            ("same batch, heads and length", {"value": v[:, :, :-1]}),
            ("for 11 queries and 11 keys", {"mask_length": LENGTH + 1}),
            ("to be for 11 queries and 10 keys", {"key": k[:, :, 1:], "value": v[:, :, 1:]}),
            ("same number of heads", {"query": twice}),
        ]:
            with self.subTest(text):
                self.reject(text, call, kinds=(), **wrong)
                # Nor is what did not fit.
                self.reject(text, call, kinds=(), **wrong)
        short = create_block_mask(causal, 1, 1, LENGTH, LENGTH + 1, device="cpu")
        short = short._adjust(LENGTH, LENGTH)
        flex_attention(*self.tensors, block_mask=short, kernel_options=FAST)
        short._shape = (1, 1, LENGTH, LENGTH + 1)
        text = "for 11 queries and 11 keys"
        self.reject(
            *(text, flex_attention, *self.tensors), block_mask=short, kernel_options=FAST
        )

    def test_scale(self):
        for scale in (
            "x",
            "1",
            1j,
            float("nan"),
            -float("inf"),
            torch.ones(2),
            torch.ones((), device="meta"),
            torch.ones((), requires_grad=True),
        ):
            text = "expects scale to be a finite number that needs no gradient, but got "
            self.reject(text, flex_attention, *self.tensors, scale=scale)
            self.reject(text, Variant(scale=scale), *self.tensors)
            self.reject(text, sdpa, *self.tensors, scale=scale)

    def test_what_to_return(self):
        text = "expects return_aux to be an AuxRequest, but got bool"
        self.reject(text, flex_attention, *self.tensors, return_aux=True)
        packed, ends = torch.randn(LENGTH, 2, 8), torch.tensor([0, LENGTH])
        self.reject(text, varlen, *[packed] * 3, ends, ends, return_aux=True)

    def test_options(self):
        for options, text in [
            (["BLOCK_M"], "expects kernel_options to be a dictionary, but got list"),
            ({3: 1, "TILE": 2}, "keys among ATTN, .*, but got 'TILE', 3"),
            ({"ATTN": {"sparsity": []}}, "sparsity in 'ATTN' .* text, but got list"),
            ({"ATTN": {"fallback": {}}}, "fallback in 'ATTN' .* text, but got dict"),
        ]:
            self.reject(text, flex_attention, *self.tensors, kernel_options=options)
            self.reject(text, Variant, kernel_options=options)

    def test_sdpa(self):
        text = "expects attn_mask to be a tensor, but got list"
        self.reject(text, sdpa, *self.tensors, attn_mask=[True])
        for p in (1.0, -0.1, "x"):
            text = "expects dropout_p to be at least 0 and less than 1, but got "
            self.reject(text + repr(p), sdpa, *self.tensors, dropout_p=p)


class Masks(Case):
    def test_lengths(self):
        for place, value in [(0, -1), (1, "2"), (2, 1.5), (3, -7), (2, None)]:
            arguments = [None, None, LENGTH, LENGTH]
            arguments[place] = value
            name = ("B", "H", "Q_LEN", "KV_LEN")[place]
            text = f"expects {name} to be an integer of 0 or more, but got {value!r}"
            self.reject(text, create_block_mask, causal, *arguments, device="cpu")
        mask = create_block_mask(causal, None, None, LENGTH, LENGTH, device="cpu")
        self.reject("new_q_len to be an integer of 0 or more", mask._adjust, -1, LENGTH)

    def test_blocks(self):
        for size in (0, -1, 1.5, (1,), (1, 2, 3), (16, 0), "16"):
            self.reject(
                "expects BLOCK_SIZE to be an integer of 1 or more, but got ",
                *(create_block_mask, causal, None, None, LENGTH, LENGTH),
                device="cpu",
                BLOCK_SIZE=size,
            )

    def test_functions(self):
        for make in (ours.and_masks, ours.or_masks):
            self.reject(r"expects functions \(b, h, q_idx, kv_idx\)", make, causal, None)
        text = "expects mask_mod to be a function .*, but got NoneType"
        self.reject(text, create_block_mask, None, None, None, 3, 3, device="cpu")


class Variants(Case):
    def test_arguments_of_functions(self):
        """With as many captures as calls have."""

        def score_mod(score, b, h, q_idx, kv_idx, slopes):
            return score + slopes[h]

        kinds = AssertionError, RuntimeError, attn.TraceError
        slopes = torch.ones(2)
        for captures, names in [((), "kv_idx"), ((slopes, 3), "kv_idx, capture_0, capture_1")]:
            text = rf"expects score_mod\(score, b, h, q_idx, {names}\): .*positional"
            variant = Variant(score_mod, kernel_options=FAST)
            error = self.reject(text, variant, *self.tensors, *captures, kinds=kinds)
            line = score_mod.__code__.co_firstlineno
            self.assertRegex(str(error), f"test_torch_arguments.py:{line}: ")
        variant = Variant(None, lambda b, h, q_idx: True)
        text = r"expects mask_mod\(b, h, q_idx, kv_idx\): "
        self.reject(text, variant, *self.tensors, kinds=kinds)

    def test_errors_of_functions(self):
        variant = Variant(lambda s, b, h, i, j, x: s + len(3))
        with self.assertRaisesRegex(TypeError, "has no len") as caught:
            variant(*self.tensors, learned)
        self.assertNotIsInstance(caught.exception, attn.Error)

    def test_a_mask_that_is_learned(self):
        text = r"a mask to read tensors that need no gradient, but got one of \(11,\)"
        kinds = AssertionError, RuntimeError, ValueError
        variant = Variant(None, lambda b, h, i, j, x: x[i] > 0, kernel_options=FAST)
        self.reject(text, variant, *self.tensors, learned, kinds=kinds)
        # Also where the kernels are there.
        variant(*self.tensors, learned.detach())
        self.reject(text, variant, *self.tensors, learned, kinds=kinds)
        scores = Variant(lambda s, b, h, i, j, x: s * x[i], kernel_options=FAST)
        self.assertTrue(scores(*self.tensors, learned).requires_grad)

    def test_captures(self):
        variant = Variant(lambda s, b, h, i, j, x: s + x[i, j])
        self.reject(
            "expects captures to be dense, but got one of the layout sparse_coo",
            *(variant, *self.tensors, torch.eye(LENGTH).to_sparse()),
        )
        for capture in ("x", None, [1.0]):
            text = f"captures to be tensors and numbers, but got {type(capture).__name__}"
            self.reject(text, variant, *self.tensors, capture)
        elsewhere = torch.ones(LENGTH, LENGTH, device="meta")
        text = r"on cpu, where query is, but got one of \(11, 11\) on meta"
        self.reject(text, variant, *self.tensors, elsewhere, kinds=(RuntimeError,))


if __name__ == "__main__":
    unittest.main()
