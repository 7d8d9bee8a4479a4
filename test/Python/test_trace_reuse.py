# RUN: %python %s
"""Functions that are not traced again, and those that must be."""

import functools
import gc
import math
import types
import unittest
import weakref
from unittest import mock

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

if torch is not None:
    import attn.torch
    from attn.trace import and_masks, reuse

WINDOW = 3


def _count(function):
    """How often what is called traces functions."""
    with mock.patch.object(reuse, "trace", wraps=reuse.trace) as traced:
        function()
    return traced.call_count


def _program(score_mod=None, mask_mod=None):
    return reuse.program_of(score_mod, mask_mod, torch.device("cpu"))


@unittest.skipIf(torch is None, "needs PyTorch")
class Reuse(unittest.TestCase):
    def setUp(self):
        attn.clear_cache()

    def same(self, make, *others):
        """What `make` returns is traced once, and the program is right each
        time: as that of a trace."""
        first = make(*others[0]) if others else make()
        self.assertEqual(_count(lambda: _program(*first)), 1)
        for arguments in others[1:] or [()]:
            functions = make(*arguments)
            count = _count(lambda: self.check(*functions))
            self.assertEqual(count, 0)

    def again(self, make, *others):
        """The same for functions that are traced each time."""
        for arguments in others:
            functions = make(*arguments)
            self.assertEqual(_count(lambda: self.check(*functions)), 1)

    def check(self, score_mod=None, mask_mod=None):
        found = _program(score_mod, mask_mod)
        wanted = attn.trace.trace(
            score_mod, mask_mod, namespace="torch", device=torch.device("cpu")
        )
        self.assertEqual(found.key(), wanted.key())
        self.assertEqual(
            [c.shape for c in found.captures], [c.shape for c in wanted.captures]
        )
        for a, b in zip(found.arguments(), wanted.arguments()):
            if isinstance(a, torch.Tensor):
                self.assertTrue(torch.equal(a, b))
                self.assertEqual(a.stride(), b.stride())
            else:
                self.assertEqual((type(a), repr(a)), (type(b), repr(b)))
        self.assertEqual(found.located().key(), wanted.key())

    def test_closures(self):
        def make(table, documents):
            def score_mod(s, b, h, i, j):
                return torch.where(i >= j, s + table[h, 1 + i - j], math.inf)

            def mask_mod(b, h, i, j):
                return (documents[i] == documents[j]) & (i - j < WINDOW)

            return score_mod, mask_mod

        tables = torch.rand(4, 9), torch.rand(9, 4).T, torch.nn.Parameter(torch.rand(4, 9))
        ids = torch.zeros(5, dtype=torch.int32)
        self.same(make, (tables[0], ids), (tables[2], ids + 1), (torch.rand(4, 9), ids))
        # Another stride or type makes another program.
        self.again(make, (tables[1], ids), (tables[0].half(), ids), (tables[0], ids.long()))

    def test_what_may_be_read(self):
        def helper(x, scale=2.0):
            return F.silu(x) * scale

        def recursive(x, n):
            return x if n == 0 else recursive(torch.tanh(x), n - 1)

        def causal(b, h, i, j):
            return i >= j

        tables = [torch.rand(3), torch.rand(3)]
        by_name = {"a": torch.rand(7)}
        partial = functools.partial(lambda t, s, b, h, i, j: s + t[h], tables[0])
        for score_mod, mask_mod in [
            (lambda s, b, h, i, j: helper(s), None),
            (lambda s, b, h, i, j: recursive(s, 3), None),
            (lambda s, b, h, i, j: s + sum(t[h] for t in tables), None),
            (lambda s, b, h, i, j: s * by_name["a"][i], None),
            (partial, None),
            (None, and_masks(causal, lambda b, h, i, j: i < j + WINDOW)),
            (None, attn.torch.or_masks(causal, lambda b, h, i, j: i < WINDOW)),
            (None, attn.torch.noop_mask),
        ]:
            attn.clear_cache()
            self.same(lambda: (score_mod, mask_mod))

    def test_numbers_that_change(self):
        def make(number):
            return (lambda s, b, h, i, j: s * number,)

        kinds = 2, 3, 2.0, 0.0, -0.0, True, 1, 1.0
        self.again(make, *[(x,) for x in kinds])
        self.assertEqual(_count(lambda: [self.check(*make(x)) for x in kinds]), 0)

    def test_all_else_that_changes(self):
        global WINDOW
        tables, factor = [torch.rand(3)], types.SimpleNamespace(x=2.0)

        def default(s, b, h, i, j, *, scale=2.0):
            return s * scale

        def listed(s, b, h, i, j):
            return s + sum(t[h] for t in tables)

        def near(b, h, i, j):
            return i - j < WINDOW

        for score_mod, mask_mod in (default, None), (listed, None), (None, near):
            self.check(score_mod, mask_mod)
        default.__kwdefaults__["scale"] = 3.0
        tables.append(torch.rand(4))
        WINDOW = 5
        try:
            for score_mod, mask_mod in (default, None), (listed, None), (None, near):
                self.assertEqual(_count(lambda: self.check(score_mod, mask_mod)), 1)
        finally:
            WINDOW = 3
        self.assertEqual(len(_program(listed).captures), 2)

        def of_object(s, b, h, i, j):
            return s * factor.x

        for factor.x in 2.0, 3.0:
            self.assertEqual(_program(of_object).scalars[0].value, factor.x)

    def test_functions_with_names_of_others(self):
        factor = 2.0

        @functools.wraps(F.silu)
        def act(x):
            return F.silu(x) * factor

        def score_mod(s, b, h, i, j):
            return act(s)

        self.check(score_mod, None)
        factor = 5.0
        self.check(score_mod, None)

    def test_lists_by_identity(self):
        first = [1.0]
        second = first

        def score_mod(s, b, h, i, j):
            return s * 2 if first is second else s * 3

        self.check(score_mod, None)
        second = [1.0]
        self.check(score_mod, None)
        first.append(first)
        self.check(score_mod, None)

    def test_functions_that_are_replaced(self):
        def score_mod(s, b, h, i, j):
            return F.silu(s)

        self.check(score_mod, None)
        with mock.patch.object(F, "silu", F.relu):
            self.check(score_mod, None)
        self.check(score_mod, None)

    def test_contents_of_tensors(self):
        table, number = torch.tensor([1.0, 2.0]), torch.tensor(5.0)
        calls = []

        def counted(s, b, h, i, j):
            calls.append(1)
            return s

        for name, score_mod in {
            "item": lambda s, b, h, i, j: s * table[1].item(),
            "float": lambda s, b, h, i, j: s * float(table[0]),
            "number": lambda s, b, h, i, j: s * number,
            "view": lambda s, b, h, i, j: s * table[1:][h],
            "computed": lambda s, b, h, i, j: s * (table + 1)[h],
            "extent": lambda s, b, h, i, j: s * table.shape[0],
            "counted": counted,
        }.items():
            with self.subTest(name):
                self.again(lambda: (score_mod,), (), ())
                table += 1
                number += 1
                self.again(lambda: (score_mod,), ())
        self.assertGreater(len(calls), 3)

    def test_tensors_that_are_the_same(self):
        def make(a, b):
            return (lambda s, _, h, i, j: s + a[h] * b[h],)

        x, y = torch.rand(2, 3)
        self.same(make, (x, y), (y, x))
        self.again(make, (x, x))
        self.assertEqual(_count(lambda: self.check(*make(y, y))), 0)
        # Two that are the same memory are one capture, this time.
        attn.clear_cache()
        self.again(make, (x, x.view(3)), (x, y))

    def test_nothing_is_kept(self):
        def call():
            table = torch.rand(3)
            _program(lambda s, b, h, i, j: s + table[h])
            return weakref.ref(table)

        kept = call()
        gc.collect()
        self.assertIsNone(kept())

    def test_errors_come_again(self):
        def score_mod(s, b, h, i, j):
            return s if i > j else -s

        for _ in range(2):
            with self.assertRaisesRegex(attn.TraceError, "a branch depends"):
                _program(score_mod)

    def test_a_call(self):
        q, k, v = torch.randn(3, 1, 2, 5, 4)

        def step(table):
            return attn.torch.flex_attention(
                q, k, v, lambda s, b, h, i, j: s + table[h, i]
            )

        tables = torch.rand(3, 2, 5)
        wanted = [
            F.scaled_dot_product_attention(q, k, v, attn_mask=t[None, :, :, None] + torch.zeros(5))
            for t in tables
        ]
        step(tables[0])
        got = []
        self.assertEqual(_count(lambda: got.extend(map(step, tables))), 0)
        for a, b in zip(got, wanted):
            torch.testing.assert_close(a, b)


if __name__ == "__main__":
    unittest.main()
