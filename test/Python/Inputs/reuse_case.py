"""A test of programs of functions that were traced before: they are what a trace
makes. Needs PyTorch."""

import unittest
from unittest import mock

import torch

import attn
from attn.trace import _reuse

CPU = torch.device("cpu")


def count(function):
    """How often what is called traces functions."""
    with mock.patch.object(_reuse, "trace", wraps=_reuse.trace) as traced:
        function()
    return traced.call_count


def program(score_mod=None, mask_mod=None):
    return _reuse.program_of(score_mod, mask_mod, CPU)


class Case(unittest.TestCase):
    def setUp(self):
        attn.clear_cache()

    def check(self, score_mod=None, mask_mod=None):
        found = program(score_mod, mask_mod)
        wanted = attn.trace.trace(score_mod, mask_mod, namespace="torch", device=CPU)
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
