# RUN: %python %s
"""Functions that are not traced again, and those that must be."""

import dataclasses
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
    torch, Case = None, unittest.TestCase

if torch is not None:
    import attn.torch
    from attn.trace import _reach, and_masks
    from reuse_case import Case, count, program

WINDOW = 3


@unittest.skipIf(torch is None, "needs PyTorch")
class Reuse(Case):
    def same(self, make, *others):
        """What `make` returns is traced once, and the program is right each
        time: as that of a trace."""
        first = make(*others[0]) if others else make()
        self.assertEqual(count(lambda: program(*first)), 1)
        for arguments in others[1:] or [()]:
            functions = make(*arguments)
            self.assertEqual(count(lambda: self.check(*functions)), 0)

    def again(self, make, *others):
        """The same for functions that are traced each time."""
        for arguments in others:
            functions = make(*arguments)
            self.assertEqual(count(lambda: self.check(*functions)), 1)

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
        self.assertEqual(count(lambda: [self.check(*make(x)) for x in kinds]), 0)

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
                self.assertEqual(count(lambda: self.check(score_mod, mask_mod)), 1)
        finally:
            WINDOW = 3
        self.assertEqual(len(program(listed).captures), 2)

        def of_object(s, b, h, i, j):
            return s * factor.x

        for factor.x in 2.0, 3.0:
            self.assertEqual(program(of_object).scalars[0].value, factor.x)

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
            "computed": lambda s, b, h, i, j: s * (table + 1)[1],
            "counted": counted,
        }.items():
            with self.subTest(name):
                self.again(lambda: (score_mod,), (), ())
                table += 1
                self.again(lambda: (score_mod,), ())
        self.assertGreater(len(calls), 3)
        of_number = (lambda s, b, h, i, j: s * number,)
        self.same(lambda: of_number)
        number += 1
        self.again(lambda: of_number, ())

    def test_what_is_computed_of_tensors(self):
        def make(table):
            scaled = {
                "view": lambda s, b, h, i, j: s * table[1:][h],
                "views": lambda s, b, h, i, j: s * table.T.reshape(2, -1)[1:, ::2][0][h],
                "computed": lambda s, b, h, i, j: s * (table + 1)[h],
                "stacked": lambda s, b, h, i, j: s * torch.stack([table, table * 2])[1, h],
                "extent": lambda s, b, h, i, j: s * table.shape[0] * len(table),
                "row": lambda s, b, h, i, j: s + (table * s).sum(),
                "types": lambda s, b, h, i, j: s + table.to(torch.int64)[h],
            }
            return scaled

        for name in make(None):
            with self.subTest(name):
                attn.clear_cache()
                tables = torch.arange(4.0), torch.rand(4), torch.rand(4)
                self.same(lambda x, name=name: (make(x)[name],), *[(x,) for x in tables])
                tables[2].add_(1)
                functions = make(tables[2])[name],
                self.assertEqual(count(lambda f=functions: self.check(*f)), 0)
        # Other extents are another program where these have a part in it.
        longer = (make(torch.rand(6))["extent"],)
        self.assertEqual(count(lambda: self.check(*longer)), 1)

    def test_gradients_of_what_is_computed(self):
        q = torch.randn(1, 2, 5, 4)
        table = torch.rand(2, 3, requires_grad=True)

        def score_mod(s, b, h, i, j):
            return s + (table * 2)[:, 1][h] * (i - j)

        def call():
            return attn.torch.flex_attention(q, q, q, score_mod).square().sum()

        wanted = torch.autograd.grad(call(), table)[0]
        got = []
        traced = count(lambda: got.extend(torch.autograd.grad(call(), table)))
        self.assertEqual(traced, 0)
        self.assertTrue(got[0].any())
        torch.testing.assert_close(got[0], wanted)

    def test_objects(self):
        class Base:
            factor = 2.0

            def scaled(self, x):
                return x * self.factor

        class Bias(Base):
            __slots__ = ("slopes",)

            def __init__(self, slopes):
                self.slopes = slopes

            @property
            def first(self):
                return self.slopes[:1]

            def __call__(self, s, b, h, i, j):
                return self.scaled(s) + self.slopes[h] * (j - i) + self.first[b]

            def near(self, b, h, i, j):
                return i - j < self.factor

        class Slot:
            __slots__ = ("x",)

        make = lambda x: (Bias(x), Bias(x).near)  # noqa: E731
        self.same(make, (torch.rand(3),), (torch.rand(3),))
        bias = make(torch.rand(3))[0]

        def changed():
            self.assertEqual(count(lambda: self.check(bias, bias.near)), 1)
            self.assertEqual(count(lambda: self.check(bias, bias.near)), 0)

        bias.slopes = torch.rand(5).half()
        changed()
        bias.factor = 3.0  # hides that of the class
        changed()
        del bias.factor
        Base.factor = 4.0
        changed()
        Base.scaled = lambda self, x: x + self.factor
        changed()
        Bias.first = property(lambda self: self.slopes[1:])
        changed()
        slot = Slot()
        for slot.x in 1.0, 2.0:
            self.again(lambda: (lambda s, b, h, i, j: s * slot.x,), ())
        space = types.SimpleNamespace(inner=types.SimpleNamespace(x=2))
        nested = (lambda s, b, h, i, j: s * space.inner.x,)
        self.same(lambda: nested)
        space.inner.x = 3
        self.again(lambda: nested, ())

    def test_data_classes(self):
        for frozen in False, True:

            @dataclasses.dataclass(frozen=frozen)
            class Config:
                window: int
                table: object

            def make(config):
                return lambda s, b, h, i, j: s + config.table[h] * config.window, None

            attn.clear_cache()
            table = torch.rand(3)
            self.same(make, (Config(3, table),), (Config(3, torch.rand(3)),))
            self.again(make, (Config(4, table),))

    def test_views_of_other_strides(self):
        q = torch.randn(1, 4, 4, 8)

        def call(table):
            return attn.torch.flex_attention(
                q, q, q, lambda s, b, h, i, j: s + table.T[h, i]
            )

        # Of the same shape and with elements next to each other, all of them.
        table = torch.rand(4, 4)
        wide = torch.rand(4, 9)[:, :4]
        row = torch.rand(4).expand(4, 4)
        odd = torch.rand(16).as_strided((4, 4), (1, 1))
        wanted = [call(x.clone()) for x in (table, wide, row, odd)]
        attn.clear_cache()
        for tables in (table, wide, row, odd), (odd, row, wide, table):
            attn.clear_cache()
            got = [call(x) for x in tables]
            expected = wanted if tables[0] is table else wanted[::-1]
            for a, b in zip(got, expected):
                torch.testing.assert_close(a, b)

    def test_classes_that_change(self):
        class Table:
            def __init__(self, x):
                self.x = x

        table = Table(torch.rand(3))

        def score_mod(s, b, h, i, j):
            return s * 2 if table else s * 3

        self.same(lambda: (score_mod,))
        Table.__len__ = lambda self: 0
        self.again(lambda: (score_mod,), ())
        Table.__len__ = lambda self: 1
        self.again(lambda: (score_mod,), ())

    def test_objects_that_may_do_anything(self):
        class Asked:
            def __getattr__(self, name):
                return len(name)

        class Described:
            class _Descriptor:
                def __get__(self, value, kind):
                    return 3

                def __set__(self, value, new):
                    pass

            x = _Descriptor()

        class Counted:
            count = 0

            def __call__(self, s, b, h, i, j):
                self.count += 1
                return s * self.count

        asked, described, text = Asked(), Described(), "%r"
        for score_mod in (
            lambda s, b, h, i, j: s * asked.abc,
            lambda s, b, h, i, j: s * described.x,
            Counted(),
            lambda s, b, h, i, j: s * 2 if text % asked else s,
            lambda s, b, h, i, j: s * 2 if f"{asked}" else s,
        ):
            for _ in range(2):
                self.assertEqual(count(lambda: program(score_mod)), 1)

    def test_modules(self):
        class Inner(torch.nn.Module):
            def forward(self, x):
                return torch.tanh(x)

        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.slopes = torch.nn.Parameter(torch.rand(3))
                self.register_buffer("table", torch.rand(3))
                self.child = Inner()
                self.window = 3

            def forward(self, x):  # would not do for a program
                print(f"{x}")
                self.calls = 1

            def score(self, s, b, h, i, j):
                return self.child(s) + self.slopes[h] + self.table[h]

            def mask(self, b, h, i, j):
                return (i - j < self.window) if self.training else i == j

        module = Attention()
        make = lambda: (module.score, module.mask)  # noqa: E731
        self.same(make)
        module.window = 4
        self.again(make, ())
        module.eval()
        self.again(make, ())
        module.child.forward = torch.sigmoid
        self.again(make, ())
        del module.child.forward
        self.assertEqual(count(lambda: self.check(*make())), 0)
        handle = module.child.register_forward_hook(lambda *_: None)
        self.again(make, (), ())
        handle.remove()
        module.slopes = torch.nn.Parameter(torch.rand(3))
        self.assertEqual(count(lambda: self.check(*make())), 0)

        def in_closure(s, b, h, i, j):
            return s + module.slopes[h]

        self.same(lambda: (in_closure,))
        called = (lambda s, b, h, i, j: module(s) or s,)
        with mock.patch("builtins.print"):
            self.again(lambda: called, (), ())

    def test_tensors_that_are_the_same(self):
        def make(a, b):
            return (lambda s, _, h, i, j: s + a[h] * b[h],)

        x, y = torch.rand(2, 3)
        self.same(make, (x, y), (y, x))
        self.again(make, (x, x))
        self.assertEqual(count(lambda: self.check(*make(y, y))), 0)
        # Two that are the same memory are one capture, this time.
        attn.clear_cache()
        self.again(make, (x, x.view(3)), (x, y))

    def test_nothing_is_kept(self):
        def call():
            table = torch.rand(3)
            program(lambda s, b, h, i, j: s + table[h])
            return weakref.ref(table)

        kept = call()
        gc.collect()
        self.assertIsNone(kept())

    def test_what_is_known_of_functions_is_bounded(self):
        made = []
        with mock.patch.object(_reach, "_MOST_KNOWN", 20):
            for number in range(100):
                scope = {"table": torch.rand(3)}
                exec(
                    f"class Bias:\n  def of(self, h): return {number}.0\n"
                    f"bias = Bias()\n"
                    f"score = lambda s, b, h, i, j: s * {number}.0 + bias.of(h)\n",
                    scope,
                )
                made.append(program(scope["score"]).key())
                self.assertLessEqual(len(_reach._names), 20)
                self.assertLessEqual(len(_reach._classes), 20)
                # That the next code may have the id of this one changes nothing.
                del scope
                gc.collect()
        self.assertEqual(len(set(made)), 100)

    def test_errors_come_again(self):
        def score_mod(s, b, h, i, j):
            return s if i > j else -s

        for _ in range(2):
            with self.assertRaisesRegex(attn.TraceError, "a branch depends"):
                program(score_mod)

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
        self.assertEqual(count(lambda: got.extend(map(step, tables))), 0)
        for a, b in zip(got, wanted):
            torch.testing.assert_close(a, b)


if __name__ == "__main__":
    unittest.main()
