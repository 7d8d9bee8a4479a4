# RUN: %python %s
"""attn.torch with PyTorch's tools: DTensor, selective checkpoints, counters of
operations, and checks of gradients."""

import functools
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import torch.distributed as distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils import checkpoint
    from torch.utils.flop_counter import FlopCounterMode

    import attn
    import attn.torch as ours
    from attn.torch import _kernels
    from flex import FAST, flex_attention, qkv


@unittest.skipIf(torch is None or not distributed.is_available(), "needs PyTorch")
class Sharded(unittest.TestCase):
    """Each of the ranks, one after the other: they do not talk to each other."""

    def setUp(self):
        torch.manual_seed(0)

    def on_ranks(self, count, function):
        results = []
        for rank in range(count):
            distributed.init_process_group(
                "fake", store=FakeStore(), rank=rank, world_size=count
            )
            try:
                mesh = init_device_mesh("cpu", (count,))
                results.append(function(rank, mesh))
            finally:
                distributed.destroy_process_group()
        return results

    def check(self, tensors, placements, count=2, **named):
        """Results and gradients of all ranks together are those of the whole."""
        whole = [x.clone().requires_grad_() for x in tensors]
        aux = ours.AuxRequest(lse=True, max_scores=True)
        wanted = flex_attention(*whole, return_aux=aux, **named)
        weights = torch.randn_like(wanted[0])
        wanted_grads = torch.autograd.grad((wanted[0] * weights).sum(), whole)

        def of_rank(rank, mesh):
            def part(x, placement):
                if placement.is_shard():
                    x = x.chunk(count, placement.dim)[rank]
                return x

            parts = [
                DTensor.from_local(
                    part(x, p).clone(), mesh, [p], run_check=False, shape=x.shape, stride=x.stride()
                ).requires_grad_()
                for x, p in zip(tensors, placements)
            ]
            o, found = flex_attention(*parts, return_aux=aux, **named)
            for x, y in (o, wanted[0]), (found.lse, wanted[1].lse), (found.max_scores, wanted[1].max_scores):
                self.assertEqual(x.shape, y.shape)
                self.assertEqual(x.stride(), y.stride())
                self.assertEqual(x.placements, (placements[0],))
                torch.testing.assert_close(x.to_local(), part(y, placements[0]))
            o.to_local().backward(part(weights, placements[0]))
            for x, p, q in zip(parts, placements, [placements[0]] * 3):
                summed = p.is_replicate() and q.is_shard()
                self.assertEqual(x.grad.placements, (Partial() if summed else p,))
            return [x.grad.to_local() for x in parts]

        grads = zip(*self.on_ranks(count, of_rank))
        for p, parts, y in zip(placements, grads, wanted_grads):
            if p.is_shard():
                x = torch.cat(parts, p.dim)
            elif placements[0].is_shard():
                x = sum(parts)
            else:
                x = parts[0]
            torch.testing.assert_close(x, y)

    def test_placements(self):
        bias = torch.randn(4, 6, dtype=torch.float64)
        lengths = torch.tensor([3, 6])

        def score_mod(s, b, h, i, j):
            return s * (b + 1) + bias[h, i] * j

        def mask_mod(b, h, i, j):
            return (j < lengths[b]) & (i + h >= j)

        tensors = qkv((2, 4, 6, 8), (2, 2, 6))
        mask = ours.create_block_mask(mask_mod, 2, 4, 6, 6, "cpu")
        whole, batch, heads, rows = Replicate(), Shard(0), Shard(1), Shard(2)
        for placements in (
            (whole, whole, whole),
            (batch, batch, batch),
            (heads, heads, heads),
            (rows, whole, whole),
        ):
            with self.subTest(placements):
                self.check(
                    tensors, placements, score_mod=score_mod, block_mask=mask, enable_gqa=True
                )
        self.check(tensors, (heads, heads, heads), enable_gqa=True)

    def test_keys_for_all(self):
        q, k, v = qkv((2, 4, 6, 8), (1, 1, 5))
        mask = ours.create_block_mask(lambda b, h, i, j: i + b >= j, 2, None, 6, 5, "cpu")
        for dim in (0, 1):
            self.check(
                (q, k, v), (Shard(dim), Replicate(), Replicate()), block_mask=mask, enable_gqa=True
            )

    def test_errors(self):
        tensors = qkv((2, 3, 6, 8))

        def of_rank(_, mesh):
            def sharded(*placements):
                return [
                    DTensor.from_local(x, mesh, [p], run_check=False)
                    for x, p in zip(tensors, placements)
                ]

            for placements in (
                (Shard(2), Shard(2), Shard(2)),
                (Shard(0), Replicate(), Replicate()),
                (Partial(), Replicate(), Replicate()),
                (Shard(3), Shard(3), Shard(3)),
            ):
                with self.assertRaisesRegex(attn.Error, "redistribute them|batch"):
                    flex_attention(*sharded(*placements))
            parts = sharded(Replicate(), Replicate(), Replicate())
            with self.assertRaisesRegex(attn.Unsupported, "to be DTensors if one"):
                flex_attention(parts[0], *tensors[1:])
            with self.assertRaisesRegex(attn.Unsupported, "a plain tensor, but got DTensor"):
                ours.sdpa(*parts)
            whole = DTensor.from_local(
                tensors[0], mesh, [Shard(1)], run_check=False, shape=(2, 3, 6, 8), stride=(144, 48, 8, 1)
            )
            with self.assertRaisesRegex(attn.Unsupported, "heads that ranks have as many"):
                flex_attention(whole, whole, whole)

        self.on_ranks(2, of_rank)


@unittest.skipIf(torch is None, "needs PyTorch")
class Tools(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_selective_checkpoint(self):
        """The forward kernel runs once where its results are kept."""
        tensors = qkv((1, 2, 9, 8), grad=True)

        def block(q, k, v):
            return flex_attention(q.sin(), k, v).cos()

        wanted = torch.autograd.grad(block(*tensors).sum(), tensors)
        contexts = functools.partial(
            checkpoint.create_selective_checkpoint_contexts, list(ours.SAC_OPS)
        )
        for named, times in ({}, 2), ({"context_fn": contexts}, 1):
            with mock.patch.object(
                _kernels.Kernels, "run", autospec=True, side_effect=_kernels.Kernels.run
            ) as run:
                o = checkpoint.checkpoint(block, *tensors, use_reentrant=False, **named)
                got = torch.autograd.grad(o.sum(), tensors)
            self.assertEqual(run.call_count, times)
            for a, b in zip(got, wanted):
                torch.testing.assert_close(a, b)

    def test_saved_tensors(self):
        tensors = qkv((1, 2, 9, 8), grad=True)
        wanted = torch.autograd.grad(flex_attention(*tensors).sum(), tensors)
        packed = []

        def pack(x):
            packed.append(x.shape)
            return x.numpy(force=True).copy()

        with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
            o = flex_attention(*tensors)
        got = torch.autograd.grad(o.sum(), tensors)
        # Inputs, the output and the log-sum-exp, and nothing of all pairs.
        self.assertEqual(len(packed), 5)
        for a, b in zip(got, wanted):
            self.assertTrue(torch.equal(a, b))

    def test_operations(self):
        q, k, v = qkv((2, 4, 9, 8), (2, 2, 7), dim_v=3, grad=True)
        pairs = 2 * 4 * 9 * 7
        for needs, backward in ((1, 1, 1), 3 * 8 + 2 * 3), ((1, 0, 0), 2 * 8 + 3):
            inputs = [x.detach().requires_grad_(bool(n)) for x, n in zip((q, k, v), needs)]
            with FlopCounterMode(display=False) as counter:
                flex_attention(*inputs, enable_gqa=True).sum().backward()
            found = counter.get_flop_counts()["Global"]
            self.assertEqual(found[torch.ops.attn.forward], 2 * pairs * (8 + 3))
            self.assertEqual(found[torch.ops.attn.backward], 2 * pairs * backward)

    def test_profile(self):
        tensors = qkv((1, 2, 9, 8), grad=True)
        flex_attention(*tensors).sum().backward()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            flex_attention(*tensors).sum().backward()
        names = [event.name for event in profile.events()]
        for name in "attn::forward", "attn::backward":
            self.assertEqual(names.count(name), 1, name)

    def test_modes_and_subclasses(self):
        """Modes and classes of tensors see calls, with all arguments."""
        q, k, v = qkv((1, 2, 9, 8))
        ends = torch.tensor([0, 9])
        packed = q[0].transpose(0, 1)
        calls = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                if function in (ours.flex_attention, ours.sdpa, ours.varlen):
                    calls.append(function.__name__)
                return function(*args, **(kwargs or {}))

        class Named(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                if function is ours.flex_attention:
                    calls.append("Named")
                    args = [x.as_subclass(torch.Tensor) if type(x) is cls else x for x in args]
                    return function(*args, **(kwargs or {}))
                return super().__torch_function__(function, types, args, kwargs)

        each = [
            lambda: flex_attention(q, k, v, lambda s, b, h, i, j: s + j, scale=0.5),
            lambda: flex_attention(q, k, v, return_aux=ours.AuxRequest(lse=True))[1].lse,
            lambda: ours.sdpa(q, k, v, is_causal=True),
            lambda: ours.varlen(packed, packed, packed, ends, ends, window_size=(2, 0)),
        ]
        wanted = [call() for call in each]
        with Mode():
            found = [call() for call in each]
        self.assertEqual(calls, ["flex_attention"] * 2 + ["sdpa", "varlen"])
        for a, b in zip(found, wanted):
            self.assertTrue(torch.equal(a, b))
        o = flex_attention(q.as_subclass(Named), k, v)
        self.assertEqual(calls[4:], ["Named"])
        self.assertTrue(torch.equal(o, flex_attention(q, k, v)))
        # A mode that PyTorch has itself.
        with torch.device("cpu"):
            self.assertTrue(torch.equal(each[0](), wanted[0]))

    def test_gradcheck(self):
        slopes = torch.randn(2, dtype=torch.float64, requires_grad=True)
        table = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
        scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        scores = {
            "none": None,
            "scale": lambda s, b, h, i, j: s * scale,
            "alibi": lambda s, b, h, i, j: s + slopes[h] * (j - i),
            "table": lambda s, b, h, i, j: s + table[h, i] * table[b, j],
            "softcap": lambda s, b, h, i, j: 2 * torch.tanh(s / 2),
            "square": lambda s, b, h, i, j: s * s * 0.3,
            "sigmoid": lambda s, b, h, i, j: torch.sigmoid(s) + slopes[h].exp(),
            "where": lambda s, b, h, i, j: torch.where(i > j, s * slopes[h], s),
            "log": lambda s, b, h, i, j: torch.log1p(s.abs()) + s,
            "silu": lambda s, b, h, i, j: torch.nn.functional.silu(s) * scale,
        }
        masks = {
            "all": None,
            "causal": lambda b, h, i, j: j <= i,
            "window": lambda b, h, i, j: (i - j).abs() <= 1 + h,
            "empty rows": lambda b, h, i, j: (j < i) & (b == 0),
        }
        q, k, v = qkv((2, 2, 5, 3), (2, 2, 5), grad=True)
        captured = {"scale": scale, "silu": scale, "table": table}
        captured.update(dict.fromkeys(("alibi", "sigmoid", "where"), slopes))
        variants = [(s, m) for n, s in enumerate(scores) for m in [*masks][n % 2 :: 2]]
        self.assertGreaterEqual(len(variants), 20)
        for score, allowed in variants:
            mask = None
            if masks[allowed]:
                mask = ours.create_block_mask(masks[allowed], 2, 2, 5, 5, "cpu")

            def call(q, k, v, *_):
                return flex_attention(
                    q, k, v, scores[score], mask, return_aux=ours.AuxRequest(lse=True)
                )[0]

            inputs = q, k, v, *([captured[score]] if score in captured else [])
            with self.subTest(score=score, mask=allowed):
                self.assertTrue(torch.autograd.gradcheck(call, inputs, fast_mode=True))


if __name__ == "__main__":
    unittest.main()
