"""A test that runs traced functions and compares with the reference. It can be
imported without NumPy, but not run."""

import unittest

import attn

try:
    import numpy

    import trace_cases as cases
except ImportError:
    numpy = None


class Case(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = cases.inputs()

    def check(self, score=None, mask=None, plain=None, **options):
        """That the result is that of the reference, whose score function is
        `plain` if it is not the same."""
        options.setdefault("opt_level", 0)
        got = attn.attention(self.q, self.k, self.v, score, mask, **options)
        expected, _ = cases.reference(
            numpy, self.q, self.k, self.v, plain or score, mask
        )
        numpy.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)
