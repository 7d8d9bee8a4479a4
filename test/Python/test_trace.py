# RUN: %python %s
"""Functions of Python as programs: their results, in either spelling."""

import unittest

try:
    import numpy
    import trace_cases as cases
    import trace_masks  # these two define cases
    import trace_scores
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

import attn


def load_tests(loader, tests, pattern):
    if numpy is None:
        return unittest.TestSuite()
    return tests


class Results(unittest.TestCase):
    """Each case, against float64."""

    def check(self, name):
        score, mask = cases.CASES[name](numpy)
        q, k, v = cases.inputs()
        o, lse = attn.attention(q, k, v, score, mask, return_lse=True, opt_level=0)
        with numpy.errstate(all="ignore"):
            plain = cases.REFERENCES.get(name, lambda xp: score)(numpy)
            expected = cases.reference(numpy, q, k, v, plain, mask)
        numpy.testing.assert_allclose(o, expected[0], rtol=1e-4, atol=2e-5)
        numpy.testing.assert_allclose(lse, expected[1], rtol=1e-4, atol=2e-5)
        if torch is None:
            return
        # The same program, so what it computes needs no second look.
        program = attn.trace.trace(score, mask, namespace="numpy")
        torch_mods = cases.CASES[name](torch)
        same = attn.trace.trace(*torch_mods)
        self.assertEqual(program.key(), same.key())
        q, k, v = (torch.asarray(x) for x in (q, k, v))
        again, lse = attn.attention(q, k, v, *torch_mods, return_lse=True, opt_level=0)
        numpy.testing.assert_allclose(again, expected[0], rtol=1e-4, atol=2e-5)


def _add(name):
    setattr(Results, f"test_{name}", lambda self: self.check(name))


if numpy is not None:
    for _name in cases.CASES:
        _add(_name)

if __name__ == "__main__":
    unittest.main()
