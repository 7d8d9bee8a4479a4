# RUN: %python %s
"""What functions and masks may not be: the class of the error is PyTorch's, too, and
the sentence names what is wrong, in calls and in graphs."""

import unittest
import warnings

try:
    import torch
except ImportError:
    torch = None

import attn

LENGTH = 11

if torch is not None:
    import torch.nn.attention.flex_attention as theirs

    import attn.torch as ours
    from flex import FAST, causal

    table = torch.zeros(LENGTH)
    learned = torch.ones(LENGTH, requires_grad=True)
    # There is one such device on any machine.
    elsewhere = torch.zeros(LENGTH, device="meta")
    number_elsewhere = torch.zeros((), device="meta")
    thin = torch.eye(LENGTH).to_sparse()


def branch(s, b, h, i, j):
    if i > j:
        return s
    return -s


def item(s, b, h, i, j):
    return s * float(i)


def in_place(s, b, h, i, j):
    return s + table.add_(1)[i]


def assigned(s, b, h, i, j):
    table[0] = 1
    return s + table[i]


def augmented(s, b, h, i, j):
    other = table
    other += 1
    return s + other[i]


def replaced(s, b, h, i, j):
    table.data = torch.ones(LENGTH)
    return s + table[i]


def drawn_in_place(s, b, h, i, j):
    return s + torch.empty(LENGTH).uniform_()[i]


def drawn_by_a_function(s, b, h, i, j):
    return s + torch.nn.functional.gumbel_softmax(table, 0)[i]


def sparse(s, b, h, i, j):
    return s + thin[i, j]


def random(s, b, h, i, j):
    return s + torch.rand(())


def random_like(s, b, h, i, j):
    return s + torch.rand_like(s)


def dropout(s, b, h, i, j):
    return torch.nn.functional.dropout(s, 0.5)


def a_bool(s, b, h, i, j):
    return i >= j


def nothing(s, b, h, i, j):
    return None


def a_row(s, b, h, i, j):
    return s + table


def few(s, b, h, i):
    return s


def many(s, b, h, i, j, other):
    return s


def reads_elsewhere(s, b, h, i, j):
    return s + elsewhere[i]


def reads_a_number_elsewhere(s, b, h, i, j):
    return s * number_elsewhere


def unknown(s, b, h, i, j):
    return torch.special.bessel_j0(s)


def an_integer(b, h, i, j):
    return i - j


def mask_branch(b, h, i, j):
    return i > j and i > 3


def mask_learned(b, h, i, j):
    return learned[i] > 0


def mask_few(b, h, i):
    return i > 0


def mask_random(b, h, i, j):
    return torch.rand(()) < 0.5


def mask_elsewhere(b, h, i, j):
    return elsewhere[i] > 0


# The function, the class that is PyTorch's (None where PyTorch's has no error), and
# what the text says.
SCORES = [
    (branch, RuntimeError, "a branch depends on a traced value"),
    (item, RuntimeError, "a traced value is no float"),
    (in_place, RuntimeError, "may not write to tensors, as 'add_' does"),
    (assigned, RuntimeError, "may not write to tensors, as '__setitem__' does"),
    (augmented, RuntimeError, "may not write to tensors, as 'add_' does"),
    (replaced, RuntimeError, "may not write to tensors, as 'data = ...' does"),
    (drawn_in_place, RuntimeError, "uniform_ .* no random numbers"),
    (drawn_by_a_function, RuntimeError, "gumbel_softmax .* no random numbers"),
    (sparse, RuntimeError, "has the layout sparse_coo; read one that is dense"),
    (random, RuntimeError, "torch.rand has no lowering: a program has no random numbers"),
    (random_like, RuntimeError, "rand_like .* no random numbers"),
    (dropout, RuntimeError, "dropout .* no random numbers"),
    (a_bool, None, "expects score_mod to return a score, but got a bool"),
    (nothing, ValueError, "to return one value for a pair, but got None"),
    (a_row, RuntimeError, r"one value for a pair, but got an array of shape \(11,\)"),
    (few, RuntimeError, r"expects score_mod\(score, b, h, q_idx, kv_idx\)"),
    (many, RuntimeError, r"expects score_mod\(score, b, h, q_idx, kv_idx\)"),
    (reads_elsewhere, RuntimeError, r"on cpu, where query is, .* \(11,\) on meta"),
    (reads_a_number_elsewhere, RuntimeError, r"on cpu, .* got one of \(\) on meta"),
    (unknown, None, "bessel_j0 has no lowering"),
]
MASKS = [
    (mask_branch, RuntimeError, "a traced value"),
    (an_integer, AssertionError, "expects mask_mod to return a bool, but got int"),
    (mask_learned, RuntimeError, r"a mask to read tensors that need no .*\(11,\)"),
    (mask_few, AssertionError, r"expects mask_mod\(b, h, q_idx, kv_idx\)"),
    (mask_random, RuntimeError, "no random numbers"),
    (mask_elsewhere, RuntimeError, r"on cpu, where query is, .* \(11,\) on meta"),
]
# Python's own text, where PyTorch's compiler binds the arguments.
BOUND_BY_DYNAMO = few, many, mask_few


@unittest.skipIf(torch is None, "needs PyTorch")
class BadFunctions(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        self.tensors = torch.randn(3, 1, 2, LENGTH, 8)

    def cases(self):
        for function, kind, text in SCORES:
            yield function, kind, text, {"score_mod": lambda _, f=function: f}
        for function, kind, text in MASKS:

            def make(module, function=function):
                return module.create_block_mask(
                    function, None, None, LENGTH, LENGTH, device="cpu"
                )

            yield function, kind, text, {"block_mask": make}

    def test_calls(self):
        for function, kind, text, arguments in self.cases():
            with self.subTest(function.__name__):
                with self.assertRaisesRegex(attn.Error, text) as caught:
                    given = {name: make(ours) for name, make in arguments.items()}
                    ours.flex_attention(*self.tensors, **given, kernel_options=FAST)
                error = caught.exception
                if kind is not None:
                    self.assertIsInstance(error, kind)
                if isinstance(error, attn.TraceError):
                    self.assertRegex(str(error), r"test_torch_errors.py:\d+: ")
                    self.assertRegex(error.filename, "test_torch_errors.py$")
                table.zero_()

    def test_classes_are_theirs(self):
        for function, kind, _, arguments in self.cases():
            with self.subTest(function.__name__):
                torch._dynamo.reset()
                try:
                    given = {name: make(theirs) for name, make in arguments.items()}
                    theirs.flex_attention(*self.tensors, **given)
                except Exception as error:
                    builtin = next(
                        x for x in type(error).__mro__ if x.__module__ == "builtins"
                    )
                else:
                    builtin = None
                # Their eager code lets functions write.
                if function not in (in_place, assigned, augmented, replaced):
                    self.assertIs(builtin, kind)
                table.zero_()

    def test_graphs(self):
        for function, _, text, arguments in self.cases():
            # PyTorch's compiler knows what an attribute is that it has set.
            if function is replaced:
                continue
            with self.subTest(function.__name__):
                torch._dynamo.reset()
                given = {name: make(ours) for name, make in arguments.items()}
                call = torch.compile(ours.flex_attention, backend="aot_eager")
                by_python = function in BOUND_BY_DYNAMO
                with self.assertRaisesRegex(
                    TypeError if by_python else RuntimeError,
                    "positional argument" if by_python else text,
                ):
                    call(*self.tensors, **given, kernel_options=FAST)
                table.zero_()


@unittest.skipIf(torch is None, "needs PyTorch")
class BadArguments(unittest.TestCase):
    """In graphs: test_torch_flex has those of calls."""

    def reject(self, kind, text, **given):
        q, k, v = torch.randn(3, 1, 2, LENGTH, 8)
        for call in (
            ours.flex_attention,
            torch.compile(ours.flex_attention, backend="aot_eager"),
        ):
            torch._dynamo.reset()
            with self.assertRaisesRegex(kind, text):
                call(q, k, v, **given)

    def test_masks(self):
        for lengths, text in (((LENGTH, 5), "create one for"), ((64, 64), "_adjust")):
            mask = ours.create_block_mask(causal, None, None, *lengths, device="cpu")
            for kind in (ValueError, RuntimeError, attn.Error):
                wanted = f"expects block_mask to be for 11 .*{text}"
                self.reject(kind, wanted, block_mask=mask)

    def test_half_of_full_lists(self):
        count = torch.ones(1, 1, 1, dtype=torch.int32)
        with self.assertRaises(AssertionError):
            ours.BlockMask.from_kv_blocks(
                *(count, count[..., None]), full_kv_num_blocks=count, mask_mod=causal
            )

    def test_options(self):
        for given, text in [
            ({"TILE": 3}, "among ATTN, BACKEND, .*BLOCK_M.*, but got 'TILE'"),
            ({"ATTN": {"speed": 3}}, "opt_level.* but got 'speed'"),
        ]:
            self.reject((ValueError, RuntimeError), text, kernel_options=given)

    def test_options_that_only_theirs_refuse(self):
        q, k, v = torch.randn(3, 1, 2, LENGTH, 8)
        mask = theirs.create_block_mask(
            causal, None, None, LENGTH, LENGTH, device="cpu", BLOCK_SIZE=48
        )
        expected = ours.flex_attention(q, k, v, block_mask=mask, kernel_options=FAST)
        for options in {"BLOCK_M": 32, "BLOCK_N": 64}, {"BACKEND": "TRITON_DECODE"}:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                o = ours.flex_attention(
                    *(q, k, v), block_mask=mask, kernel_options={**options, **FAST}
                )
            self.assertTrue(torch.equal(o, expected))


if __name__ == "__main__":
    unittest.main()
