# RUN: %python %s
"""attn.torch in torch.compile and torch.export, and its operators."""

import io
import shutil
import tempfile
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import torch._dynamo.testing
    import torch.nn.attention.flex_attention as theirs

    import attn.torch as ours
    from flex import FAST, causal, flex_attention, qkv

    class Model(torch.nn.Module):
        """Reads a parameter twice, a buffer, and a number."""

        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(2, 80))
            self.register_buffer("scales", torch.rand(2, 3)[:, 1])

        def forward(self, x, window=12):
            def score_mod(s, b, h, i, j):
                s = s * self.scales[h] + self.bias[h, i - j + 40]
                return s + 0.5 * torch.tanh(self.bias[h, j])

            def mask_mod(b, h, i, j):
                return (i - j).abs() < window

            length = x.shape[2]
            mask = ours.create_block_mask(mask_mod, None, None, length, length, "cpu")
            o = ours.flex_attention(
                x, x * 2, x + 1, score_mod, mask, kernel_options=FAST
            )
            return o.sin()


@unittest.skipIf(torch is None, "needs PyTorch")
class Compiled(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def compile(self, function, backend="aot_eager", **options):
        """The function in one graph, and how often that was made."""
        counter = torch._dynamo.testing.CompileCounterWithBackend(backend)
        compiled = torch.compile(function, backend=counter, fullgraph=True, **options)
        return compiled, counter

    def check(self, function, *arguments, wrt=(), backend="aot_eager"):
        compiled, counter = self.compile(function, backend)
        results = [f(*arguments) for f in (compiled, function)]
        results = [
            [x for x in torch.utils._pytree.tree_leaves(r) if x is not None]
            for r in results
        ]
        self.assertEqual(*map(len, results))
        for x, y in zip(*results):
            torch.testing.assert_close(x, y)
            self.assertEqual(x.stride(), y.stride())
        if wrt:
            a, b = (torch.autograd.grad(sum(x.sum() for x in r), wrt) for r in results)
            for x, y in zip(a, b):
                torch.testing.assert_close(x, y)
        self.assertEqual(counter.frame_count, 1)

    def test_a_model(self):
        model = Model()
        for backend in ("eager", "aot_eager", "cudagraphs"):
            torch._dynamo.reset()
            x = torch.randn(2, 2, 20, 8, requires_grad=True)
            self.check(model, x, wrt=(x, model.bias), backend=backend)

    def test_lengths_and_numbers_that_change(self):
        model = Model()
        compiled, counter = self.compile(model)
        for length in (20, 24, 31, 40):
            x = torch.randn(2, 2, length, 8, requires_grad=True)
            torch.testing.assert_close(compiled(x), model(x))
        # One for the first length, one for any.
        self.assertEqual(counter.frame_count, 2)
        for window in (3, 5, 7):
            torch.testing.assert_close(compiled(x, window), model(x, window))
        self.assertLessEqual(counter.frame_count, 4)

    def test_floats_that_change(self):
        """They are symbols after one compilation more, whatever reads them."""
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32, grad=True)
        variant = ours.Variant(
            lambda s, b, h, i, j, w: s * w, lambda b, h, i, j, w: (i - j) * w < 5
        )

        def both(q, w):
            mask = ours.create_block_mask(
                lambda b, h, i, j: (i - j) * w < 5.0, *(None, None, 9, 9, "cpu")
            )
            return flex_attention(q * w, k, v, lambda s, b, h, i, j: s + w * j, mask)

        def score(q, w):
            return flex_attention(
                q, k, v, lambda s, b, h, i, j: w * torch.tanh(s / w) + max(w, 2.0) * j
            )

        for function in (both, score, lambda q, w: variant(q, k, v, w)):
            for backend in ("eager", "aot_eager"):
                torch._dynamo.reset()
                compiled, counter = self.compile(function, backend)
                for w in (0.5, 1.5, 1.75, 1.25, 1.625):
                    results = [f(q, w) for f in (compiled, function)]
                    torch.testing.assert_close(*results)
                    grads = (torch.autograd.grad(x.sin().sum(), q)[0] for x in results)
                    torch.testing.assert_close(*grads)
                # One is made twice where PyTorch finds that it has to.
                self.assertLessEqual(counter.frame_count, 3)

    def test_attributes_that_differ(self):
        class Layer(torch.nn.Module):
            def __init__(self, cap):
                super().__init__()
                self.cap = cap

            def forward(self, q):
                return flex_attention(
                    q, q, q, lambda s, b, h, i, j: self.cap * torch.tanh(s / self.cap)
                )

        (q, _, _) = qkv((1, 2, 9, 8))
        for cap in (5.0, 50.0, 0.5):
            layer = Layer(cap)
            expected = layer(q)
            layer.compile(backend="aot_eager", fullgraph=True)
            torch.testing.assert_close(layer(q), expected)

    def test_dropout_that_changes(self):
        q, k, v = qkv((1, 2, 9, 8))
        compiled, counter = self.compile(lambda q, p: ours.sdpa(q, k, v, dropout_p=p))
        for p in (0.1, 0.2, 0.3):
            results = []
            for function in (compiled, lambda q, p: ours.sdpa(q, k, v, dropout_p=p)):
                torch.manual_seed(3)
                results.append(function(q, p))
            torch.testing.assert_close(*results)
        # It is part of the program.
        self.assertGreaterEqual(counter.frame_count, 3)

    def test_rows_whose_length_is_dynamic(self):
        """What is summed up has a length that is a guard."""

        def model(q, table):
            def score_mod(s, b, h, i, j):
                row = table[i]
                s = s + (row * table[j]).sum(-1) + row.mean() - row.max()
                return s + torch.dot(row, table[0])

            return flex_attention(q, q, q, score_mod)

        compiled, _ = self.compile(model, dynamic=True)
        for length, width in ((12, 5), (17, 5), (17, 7)):
            q, table = torch.randn(1, 2, length, 8), torch.randn(length, width)
            torch.testing.assert_close(compiled(q, table), model(q, table))

    def test_lengths_that_are_marked(self):
        model = Model()
        compiled, counter = self.compile(model)
        for length in (20, 24, 31):
            x = torch.randn(2, 2, length, 8, requires_grad=True)
            torch._dynamo.mark_dynamic(x, 2)
            torch.testing.assert_close(compiled(x), model(x))
        self.assertEqual(counter.frame_count, 1)

    def test_what_functions_compute_of_lengths(self):
        """A number that the graph of a function computes is a symbol, too."""

        def model(q, documents):
            def mask_mod(b, h, i, j):
                last = documents.shape[0] - 1
                return documents[i.clamp(0, last)] == documents[j.clamp(max=last)]

            def score_mod(s, b, h, i, j):
                return s + j / (documents.shape[0] + 1) - (documents.shape[0] - 2 > i)

            length = q.shape[2]
            mask = ours.create_block_mask(mask_mod, None, None, length, length, "cpu")
            return flex_attention(q, q, q, score_mod, mask)

        compiled, counter = self.compile(model)
        for length in (20, 24, 31):
            q = torch.randn(1, 2, length, 8, requires_grad=True)
            documents = torch.arange(length) // 7
            out, expected = (f(q, documents) for f in (compiled, model))
            torch.testing.assert_close(out, expected)
            grads = (torch.autograd.grad(x.sin().sum(), q)[0] for x in (out, expected))
            torch.testing.assert_close(*grads)
        self.assertEqual(counter.frame_count, 2)

    def test_all_lengths_are_dynamic(self):
        """Head dimensions are guards, as types of programs have them."""
        model = Model()
        compiled, counter = self.compile(model, dynamic=True)
        for length in (20, 24):
            x = torch.randn(2, 2, length, 8, requires_grad=True)
            torch.testing.assert_close(compiled(x), model(x))
        self.assertEqual(counter.frame_count, 1)

    def test_lengths_that_nothing_tells(self):
        """Of sizes without an example, and of those that the graph computes, there
        is one graph."""

        def model(x, chooses):
            x = x[:, x.abs().sum((0, 2, 3)) > 0] if chooses else x
            o = flex_attention(x, x, x, lambda s, b, h, i, j: s + i / (j + 1))
            by_length = x.transpose(1, 2)
            return o.sin(), flex_attention(by_length, by_length, by_length)

        unbacked = torch._dynamo.decorators.mark_unbacked
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            for chooses in (False, True):
                compiled, counter = self.compile(model, dynamic=True)
                for length in (12, 9, 14):
                    x = torch.randn(1, length, 5, 8, requires_grad=True)
                    if not chooses:
                        unbacked(x, 1)
                    else:
                        x = x * (torch.arange(length) % 3 > 0)[:, None, None]
                    results = [f(x, chooses) for f in (compiled, model)]
                    grads = [
                        torch.autograd.grad(sum(o.sum() for o in r), x)[0]
                        for r in results
                    ]
                    for got, expected in zip(*results):
                        torch.testing.assert_close(got, expected)
                        self.assertEqual(got.stride(), expected.stride())
                    torch.testing.assert_close(*grads)
                self.assertEqual(counter.frame_count, 1)

    def test_what_is_returned(self):
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        aux = ours.AuxRequest(lse=True)
        self.check(lambda q: flex_attention(q, k, v, return_aux=aux), q, wrt=(q, k))
        both = ours.AuxRequest(lse=True, max_scores=True)
        bias = torch.randn(9, dtype=torch.float64, requires_grad=True)

        def call(q):
            aux = flex_attention(
                q, k, v, lambda s, b, h, i, j: s + bias[j], return_aux=both
            )[1]
            return aux.lse + aux.max_scores

        self.check(call, q, wrt=(q, k, bias))
        self.check(lambda q: flex_attention(q, k, v, scale=0.5), q)
        q = torch.randn(2, 9, 3, 8, dtype=torch.float64).transpose(1, 2)
        self.check(lambda q: flex_attention(q, q, q), q)

    def test_shared_heads(self):
        q, k, v = qkv((3, 4, 9, 8), (1, 2, 11), grad=True)
        lengths = torch.tensor([11, 3, 0])

        def call(q, k, v):
            mask = ours.create_block_mask(
                lambda b, h, i, j: j < lengths[b], 3, None, 9, 11, "cpu"
            )
            return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

        self.check(call, q, k, v, wrt=(q, k, v))

    def test_a_mask_from_outside(self):
        q, k, v = qkv((1, 2, 40, 8))
        for module in (theirs, ours):
            mask = module.create_block_mask(
                causal, 1, 2, 40, 40, device="cpu", BLOCK_SIZE=16
            )
            self.check(lambda q: flex_attention(q, k, v, block_mask=mask), q)
            self.check(
                lambda q, mask: flex_attention(q, k, v, block_mask=mask), q, mask
            )

    def test_an_element_at_a_constant_place(self):
        q, k, v = qkv((1, 2, 5, 8))
        for m in torch.randn(2), torch.randn(1), torch.randn(2, requires_grad=True):
            wrt = (m,) if m.requires_grad else ()
            self.check(
                lambda q, m: flex_attention(q, k, v, lambda s, *_: s * m[0]),
                q,
                m,
                wrt=wrt,
            )
        for mask in torch.randn(1, 1), torch.ones(1, 1, dtype=torch.bool):
            self.check(lambda q, mask: ours.sdpa(q, k, v, mask), q, mask)

    def test_a_prepared_mask(self):
        q, k, v = qkv((1, 2, 60, 8))
        q.requires_grad_()
        documents = torch.arange(60) // 25

        def layers(q, mask):
            out = flex_attention(q, k, v, block_mask=mask)
            return flex_attention(out, k, v, block_mask=mask)

        variant = ours.Variant(mask_mod=lambda b, h, i, j, ids: ids[i] == ids[j])
        compiled, count = self.compile(layers)
        for step in range(4):
            # Another mask each step, as in training.
            mask = ours.create_block_mask(
                lambda b, h, i, j: documents[i] == documents[j],
                *(None, None, 60, 60, "cpu"),
            )
            expected = layers(q, mask)
            mask.prepare()
            got = compiled(q, mask)
            self.assertTrue(torch.equal(got, expected))
            # The second layer, and the gradient of it, find what there is.
            got.sum().backward()
            self.assertEqual(len(mask.shared._found), 2)
            prepared = variant.prepare()
            got = self.compile(lambda q: prepared(q, k, v, documents))[0](q)
            self.assertTrue(torch.equal(got, variant(q, k, v, documents)))
            self.assertEqual(len(prepared._shared._found), 1)
        # Numbers of masks are no reason to compile each time.
        self.assertLessEqual(count.frame_count, 2)

    def test_bytes_without_a_sign(self):
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        ids = torch.randint(0, 256, (9,), dtype=torch.uint8)
        mask = ours.create_block_mask(
            lambda b, h, i, j: ids[i] >= ids[j], *(None, None, 9, 9, "cpu")
        )
        for backend in ("eager", "aot_eager"):
            torch._dynamo.reset()
            self.check(
                lambda q: flex_attention(
                    q, k, v, lambda s, b, h, i, j: s + ids[i] / 255, mask
                ),
                q,
                wrt=(q,),
                backend=backend,
            )
        variant = ours.Variant(lambda s, b, h, i, j, x: s + x[i] / 255)
        torch.testing.assert_close(variant(q, k, v, ids), variant(q, k, v, ids.long()))

    def test_masks_that_are_prepared_in_a_graph(self):
        """Nothing is prepared there, and what was before is no longer."""
        q, k, v = qkv((1, 2, 9, 8))
        ids = torch.arange(9) // 4
        same = lambda b, h, i, j: ids[i] == ids[j]
        make = lambda: ours.create_block_mask(same, None, None, 9, 9, "cpu")
        self.check(lambda q: flex_attention(q, k, v, None, make().prepare()), q)
        mask = make().prepare()
        self.check(lambda q: flex_attention(q, k, v, None, mask.prepare()), q)
        variant = ours.Variant(mask_mod=lambda b, h, i, j, x: x[i] == x[j])
        self.check(lambda q: variant.prepare()(q, k, v, ids), q)

    def test_errors(self):
        q, k, v = qkv((1, 4, 9, 8), (1, 2, 9))
        mask = ours.create_block_mask(causal, None, None, 8, 8, "cpu")
        for text, call in [
            ("enable_gqa=True", lambda q: ours.flex_attention(q, k, v)),
            ("block_mask to be for 9", lambda q: flex_attention(q, q, q, None, mask)),
        ]:
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, text):
                self.compile(call)[0](q)

    def test_no_second_gradient(self):
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        compiled, _ = self.compile(lambda q: flex_attention(q, k, v), "eager")
        (dq,) = torch.autograd.grad(compiled(q).sin().sum(), q, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "has no second one"):
            dq.square().sum().backward()

    def test_where_as_a_method(self):
        q, k, v = qkv((1, 2, 9, 8))
        mask = ours.create_block_mask(
            lambda b, h, i, j: (i >= j).where(j > 3, i < 5), *(None, None, 9, 9, "cpu")
        )
        self.check(
            lambda q: flex_attention(
                q, k, v, lambda s, b, h, i, j: s.where(i > j, s * 2), mask
            ),
            q,
        )

    def test_other_names(self):
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)
        self.check(lambda q: ours.sdpa(q, k, v, is_causal=True), q)
        bias = torch.randn(9, 9)
        self.check(lambda q: ours.sdpa(q, k, v, bias), q)
        ends = torch.tensor([0, 4, 9])
        q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))
        self.check(lambda q: ours.varlen(q, k, v, ends, ends, window_size=(2, 0)), q)

    def test_variants(self):
        variant = ours.Variant(
            lambda s, b, h, i, j, slopes, left: s + slopes[h] * (j - i),
            lambda b, h, i, j, slopes, left: i - j < left,
            kernel_options=FAST,
        )
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        slopes = torch.randn(2, dtype=torch.float64, requires_grad=True)
        self.check(lambda q, s: variant(q, k, v, s, 5), q, slopes, wrt=(q, slopes))

    def test_that_of_pytorch_stays(self):
        theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
        q, k, v = qkv((1, 2, 9, 8))
        self.check(lambda q: theirs.flex_attention(q, k, v), q)

    def test_export(self):
        model = Model()
        x = torch.randn(2, 2, 20, 8)
        length = torch.export.Dim("length", min=2, max=40)
        with torch.no_grad():
            program = torch.export.export(model, (x,), dynamic_shapes=({2: length},))
            file = io.BytesIO()
            torch.export.save(program, file)
            file.seek(0)
            module = torch.export.load(file).module()
            for n in (20, 33):
                x = torch.randn(2, 2, n, 8)
                torch.testing.assert_close(module(x), model(x))


    def test_strict_export(self):
        if ours._compat.VERSION < (2, 10):
            self.skipTest("PyTorch 2.9 exports no closures with tensors so")
        q, k, v = qkv((1, 2, 9, 8))
        bias, ids = torch.randn(2, 9), torch.arange(9) // 4

        def score_mod(s, b, h, i, j):
            return torch.where((i - j).abs() < 5, torch.tanh(s) * 2, s) + bias[h, i]

        class Layer(torch.nn.Module):
            def forward(self, q):
                mask = ours.create_block_mask(
                    lambda b, h, i, j: ids[i] == ids[j], *(None, None, 9, 9, "cpu")
                )
                return flex_attention(q, k, v, score_mod, mask)

        program = torch.export.export(Layer(), (q,), strict=True)
        torch.testing.assert_close(program.module()(q), Layer()(q))


@unittest.skipIf(torch is None, "needs PyTorch")
class Operators(unittest.TestCase):
    def test_they_are_what_they_say(self):
        torch.manual_seed(0)
        slopes = torch.randn(2, dtype=torch.float64, requires_grad=True)
        from attn.trace import Variant, trace

        window = 4
        program = trace(
            lambda s, b, h, i, j: s * 1.5 + slopes[h] * (j - i),
            lambda b, h, i, j: i - j < window,
        )
        text = program.to_mlir(Variant(dtype="f64", dim=8, lse=True))
        q = torch.randn(1, 5, 2, 8, dtype=torch.float64).transpose(1, 2)
        k, v = qkv((1, 2, 7, 8), grad=True)[1:]
        options = ours._options.encode(ours._options.read(FAST))
        q.requires_grad_()
        # With nothing that is shared, and with what this process does not know.
        for mask in 0, 12345:
            arguments = [q, k, v, slopes], [mask, window], [], text, options
            torch.library.opcheck(torch.ops.attn.forward, arguments)

    @unittest.skipIf(not shutil.which("g++"), "needs a compiler")
    def test_modes(self):
        q, k, v = qkv((1, 2, 20, 8), dtype=torch.float32)
        table = torch.rand(2)

        def call(q):
            return flex_attention(q * 2, k, v, lambda s, b, h, i, j: s + table[h]) + 1

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(
            "os.environ", TORCHINDUCTOR_CACHE_DIR=folder
        ):
            for mode in "reduce-overhead", "max-autotune":
                torch._dynamo.reset()
                compiled = torch.compile(call, mode=mode, fullgraph=True)
                for _ in range(3):
                    torch.testing.assert_close(compiled(q), call(q))
                    table += 1


if __name__ == "__main__":
    unittest.main()
