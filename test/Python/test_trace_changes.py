# RUN: %python %s
"""Whatever a function reads may change between calls: a program that was traced
before is then still what a trace makes."""

import array
import functools
import sys
import threading
import types
import unittest
from unittest import mock

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch, Case = None, unittest.TestCase

if torch is not None:
    import attn.torch
    from attn.trace import _reuse
    from attn.trace._reach import Reach
    from attn.trace._rebind import Rebinder
    from reuse_case import CPU, Case, program

FACTOR, TABLE = 2.0, [1.0]


def helped(x):
    return x * FACTOR + sum(TABLE)


@unittest.skipIf(torch is None, "needs PyTorch")
class Changes(Case):
    def each(self, score_mod, *changes):
        """The program is right, also the second time, before and after each of the
        changes, which are functions."""
        attn.clear_cache()
        for change in (lambda: None, *changes):
            change()
            self.check(score_mod)
            self.check(score_mod)

    def test_numbers_and_containers(self):
        number, items, nested, named = 2, [1.0, 2], ([3.0], {"a": [4.0]}), {"x": 1.0}

        def score_mod(s, b, h, i, j):
            s = s * number + sum(items) + nested[0][0] * nested[1]["a"][0]
            return helped(s) * len(named) + sum(named.values()) + ("y" in named)

        def rebind(value):
            nonlocal number
            number = value

        self.each(
            score_mod,
            *[lambda x=x: rebind(x) for x in (3, 2.0, True, -0.0, 0.0, float("nan"), 2)],
            lambda: items.append(7.0),
            lambda: items.reverse(),
            lambda: items.clear(),
            lambda: nested[0].__setitem__(0, 9.0),
            lambda: nested[1].update(a=[5.0]),
            lambda: named.update(y=2.0),
            lambda: named.pop("x"),
            lambda: TABLE.append(3.0),
            lambda: TABLE.pop(),
            lambda: globals().update(FACTOR=5.0),
            lambda: globals().update(FACTOR=2.0),
        )

    def test_functions(self):
        def inner(x, scale=2.0, *, shift=1.0):
            return x * scale + shift

        def other(x, scale=2.0, *, shift=1.0):
            return x - scale * shift

        def score_mod(s, b, h, i, j):
            return inner(s)

        self.each(
            score_mod,
            lambda: setattr(inner, "__defaults__", (3.0,)),
            lambda: setattr(inner, "__kwdefaults__", {"shift": 4.0}),
            lambda: setattr(inner, "__code__", other.__code__),
            lambda: setattr(inner, "tag", 1),
        )
        config = types.SimpleNamespace(tag=2.0)
        inner.tag = 3.0
        partial = functools.partial(inner, scale=4.0)
        partial.tag = 5.0
        self.each(
            lambda s, b, h, i, j: s * config.tag + inner.tag,
            lambda: setattr(inner, "tag", 4.0),
        )
        self.each(
            lambda s, b, h, i, j: partial(s) * config.tag + partial.tag,
            lambda: setattr(partial, "tag", 6.0),
            lambda: partial.keywords.update(scale=1.0),
        )
        self.each(
            lambda s, b, h, i, j: s if inner.__doc__ is None else -s,
            lambda: setattr(inner, "__doc__", "text"),
        )

    def test_objects_and_classes(self):
        class Base:
            shared, gone = 2.0, 3.0

            @property
            def twice(self):
                return 2 * self.shared

            def method(self, x):
                return x + self.shared

        class Slotted:
            __slots__ = ("x",)

        class Derived(Base):
            pass

        value, slotted = Derived(), Slotted()
        value.own, slotted.x = 3.0, None

        def score_mod(s, b, h, i, j):
            s = value.method(s) * value.own + value.shared + value.twice
            return s if slotted.x is None else s * slotted.x

        self.each(
            score_mod,
            lambda: setattr(value, "own", 4.0),
            lambda: setattr(value, "own", True),
            lambda: setattr(Base, "shared", 5.0),
            lambda: setattr(Derived, "shared", 6.0),
            lambda: setattr(value, "shared", 7.0),
            lambda: setattr(Base, "twice", property(lambda self: self.own)),
            lambda: setattr(Derived, "twice", 4.0),
            lambda: setattr(Derived, "method", lambda self, x: x - self.own),
            lambda: setattr(value, "method", lambda x: x * 3),
            lambda: setattr(slotted, "x", 2.0),
            lambda: setattr(value, "__class__", type("Other", (Base,), {"own": 1.0})),
        )
        # Of the class, which the object's own hides.
        value = Derived()
        value.shared = 1.0

        def of_class(s, b, h, i, j):
            kind = value.__class__
            return s * value.shared * kind.shared * value.__class__.shared

        self.each(of_class, lambda: setattr(Derived, "shared", 9.0))

        def answer():
            # As many names as before.
            del Base.gone
            Base.__getattr__ = lambda self, name: 7.0

        self.each(lambda s, b, h, i, j: s * value.gone, answer)
        slotted.x = None
        self.check(lambda s, b, h, i, j: s if slotted.x is None else -s)
        missing = lambda s, b, h, i, j: s if slotted.x is None else -s  # noqa: E731
        self.each(missing)
        del slotted.x
        with self.assertRaises(AttributeError):
            program(missing)

    def test_operators(self):
        class Sized:
            # Static, as a partial is a method from Python 3.14 on.
            __len__ = staticmethod(functools.partial(len, TABLE))

        sized = Sized()
        self.each(
            lambda s, b, h, i, j: s * len(sized),
            lambda: setattr(Sized, "__len__", lambda self: 3),
            lambda: setattr(Sized, "__len__", lambda self: 4),
        )

    def test_modules(self):
        class Child(torch.nn.Module):
            def forward(self, x):
                return torch.tanh(x)

        class Parent(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.child, self.factor = Child(), 2.0
                self.bias = torch.nn.Parameter(torch.rand(3))
                self.register_buffer("table", torch.rand(3))

            def score(self, s, b, h, i, j):
                s = self.child(s) if self.training else s
                return s * self.factor + self.bias[h] + self.table[h]

        module = Parent()
        hooks = []
        self.each(
            module.score,
            lambda: setattr(module, "factor", 3.0),
            lambda: setattr(module, "bias", torch.nn.Parameter(torch.rand(5))),
            lambda: module.bias.requires_grad_(False),
            lambda: module.register_buffer("table", torch.rand(3).half()),
            lambda: module.double(),
            lambda: setattr(module.child, "forward", torch.sigmoid),
            lambda: delattr(module.child, "forward"),
            lambda: hooks.append(module.child.register_forward_hook(lambda m, x, y: y * 2)),
            lambda: hooks.pop().remove(),
            lambda: setattr(Child, "forward", lambda self, x: x + 1),
            lambda: setattr(module, "child", Parent().child),
            lambda: module.eval(),
            lambda: module.requires_grad_(False),
            lambda: setattr(module, "bias", None)
            or setattr(module, "bias", torch.nn.Parameter(torch.rand(2))),
        )

    def test_tensors(self):
        table, number = torch.rand(4, 4), torch.tensor(2.0)

        def rebind(new):
            nonlocal table
            table = new

        changes = [
            lambda: table.add_(1),
            lambda: rebind(torch.rand(4, 4)),
            lambda: rebind(torch.rand(4, 4).T),
            lambda: rebind(torch.rand(16).as_strided((4, 4), (1, 1))),
            lambda: rebind(torch.rand(4).expand(4, 4)),
            lambda: rebind(torch.rand(4, 9)[:, 2:6]),
            lambda: rebind(torch.rand(4, 7)),
            lambda: table.resize_(4, 5).fill_(2.0),
            lambda: rebind(torch.rand(4, 4).double()),
            lambda: rebind(torch.rand(4, 4).to(torch.bfloat16)),
            lambda: setattr(table, "data", torch.rand(6, 6)),
            lambda: rebind(torch.arange(16).view(4, 4)),
            lambda: rebind(torch.nn.Parameter(torch.rand(4, 4))),
            lambda: table.requires_grad_(False),
            lambda: number.fill_(3.0),
            lambda: number.requires_grad_(),
            lambda: number.requires_grad_(False),
        ]
        parameter = torch.nn.Parameter
        for score_mod in (
            lambda s, b, h, i, j: s * number + table[h, i % 4],
            lambda s, b, h, i, j: s + table[1:][h % 3, i % 4] + (table * 2)[h, 1],
            lambda s, b, h, i, j: s * table.shape[0] + table.reshape(-1)[h],
            lambda s, b, h, i, j: s * 2 if table.requires_grad else s * 3,
            lambda s, b, h, i, j: s * 2 if table.is_contiguous() else s * 3,
            lambda s, b, h, i, j: s * 2 if table.dtype == torch.float32 else s * 3,
            lambda s, b, h, i, j: s * 2 if isinstance(table, parameter) else s * 3,
            lambda s, b, h, i, j: s * float(table[0, 0]) + number.item(),
            lambda s, b, h, i, j: s * (table.sum() if table.sum() > 8 else 3),
            lambda s, b, h, i, j: s * 2 if table is number else s * 3,
        ):
            table, number = torch.rand(4, 4), torch.tensor(2.0)
            self.each(score_mod, *changes)

    def test_attributes_of_tensors(self):
        config, table = types.SimpleNamespace(scale=2.0), torch.rand(3)
        table.scale = 3.0
        self.each(
            lambda s, b, h, i, j: s * config.scale + table[h] * table.scale,
            lambda: setattr(table, "scale", 4.0),
        )

    def test_shapes_that_depend_on_contents(self):
        table = torch.tensor([1.0, -1.0, 1.0, -1.0])
        for score_mod in (
            lambda s, b, h, i, j: s * len(table[table > 0]),
            lambda s, b, h, i, j: s + table[table > 0][h] * table.nonzero().shape[0],
            lambda s, b, h, i, j: s + sum(table[table > 0] * s),
        ):
            table.copy_(torch.tensor([1.0, -1.0, 1.0, -1.0]))
            self.each(score_mod, lambda: table.abs_(), lambda: table[0].neg_())

    def test_modes_of_pytorch(self):
        table, whole = torch.rand(4, 4), torch.arange(4)

        def score_mod(s, b, h, i, j):
            return s + (table @ table)[h, i] + (whole / 3)[h]

        self.each(score_mod)
        with torch.autocast("cpu", torch.bfloat16):
            self.each(score_mod)
            self.check(score_mod)
        self.check(score_mod)
        for dtype in torch.float64, torch.float32:
            torch.set_default_dtype(dtype)
            self.check(score_mod)
        table.requires_grad_()
        with torch.no_grad():
            self.check(score_mod)
            self.assertFalse(program(score_mod).captures[0].tensor.requires_grad)
        self.check(score_mod)
        self.assertTrue(program(score_mod).captures[0].tensor.requires_grad)
        with mock.patch.object(F, "silu", F.relu):
            self.check(lambda s, b, h, i, j: F.silu(s))

    def test_changes_by_the_function(self):
        # They are part of no program that is kept.
        seen = [1.0]

        def score_mod(s, b, h, i, j):
            items = seen
            items += [1.0]
            return s * len(seen)

        for _ in range(3):
            self.assertEqual(program(score_mod).scalars[0].value, 2)
            self.assertEqual(len(seen), 2)
            seen.pop()

    def test_changes_while_it_is_traced(self):
        factor = 3.0

        def score_mod(s, b, h, i, j):
            return s * factor

        def trace(*arguments, **named):
            nonlocal factor
            factor = 5.0
            return attn.trace.trace(*arguments, **named)

        with mock.patch.object(_reuse, "trace", trace):
            program(score_mod)
        factor = 3.0
        self.assertEqual(program(score_mod).scalars[0].value, 3.0)

    def test_changes_while_it_is_read(self):
        # As another thread may add to what has more than is asked for.
        numbers, arrays = {"x": 2.0}, {"x": memoryview(array.array("f", [1.0, 2.0]))}
        for owner, name, named, score_mod in (
            (Reach, "_add_float", numbers, lambda s, b, h, i, j: s * numbers["x"]),
            (Rebinder, "replace", arrays, lambda s, b, h, i, j: s * arrays["x"][h]),
        ):
            original = getattr(owner, name)

            def change(self, value, named=named, original=original):
                named[len(named)] = 3.0
                return original(self, value)

            with mock.patch.object(owner, name, change):
                program(score_mod)
            self.assertGreater(len(named), 1)
            self.check(score_mod)

    def test_threads_that_add_what_is_not_read(self):
        class Settings:
            factor = 2.0

        settings, named = Settings(), {"x": 3.0}
        is_done, values = threading.Event(), []

        def add():
            while not is_done.is_set():
                for number in range(20):
                    named[number] = 4.0
                    setattr(Settings, f"of_{number}", 5.0)
                for number in range(20):
                    del named[number]
                    delattr(Settings, f"of_{number}")

        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        thread = threading.Thread(target=add)
        thread.start()
        try:
            for _ in range(500):
                found = program(lambda s, b, h, i, j: s * settings.factor * named["x"])
                values.append([x.value for x in found.scalars])
        finally:
            is_done.set()
            thread.join()
        self.assertEqual(values, [[2.0, 3.0]] * 500)

    def test_threads(self):
        # The same code with other cells, at once.
        def make(number, table):
            return lambda s, b, h, i, j: s * number + table[h] * len(table)

        wrong = []

        def work(seed):
            source = torch.Generator().manual_seed(seed)
            for step in range(200):
                number = float(step % 5)
                table = torch.rand(1 + step % 3, generator=source)
                found = _reuse.program_of(make(number, table), None, CPU)
                values = [x.value for x in found.scalars]
                if values != [number, len(table)] or found.captures[0].tensor is not table:
                    wrong.append((seed, step, values))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
