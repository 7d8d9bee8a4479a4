"""What the tests of models of Hugging Face's packages share. Where none of PyTorch
and these is installed, `clients` says so."""

import importlib
import pathlib
import sys
import unittest
import warnings
from unittest import mock

# Where scripts/clients has installed them; behind all others, as it brings NumPy.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "build" / "clients"))


def find(name):
    """A package, or None where it or PyTorch is missing."""
    try:
        importlib.import_module("torch")
        return importlib.import_module(name)
    except ImportError:
        return None


class Case(unittest.TestCase):
    """Tests of models with random weights, whose kernels compile soon."""

    def setUp(self):
        import torch
        from attn.torch import _options
        from flex import FAST

        torch.manual_seed(0)
        warnings.simplefilter("ignore")
        patch = mock.patch.object(_options, "NONE", _options.read(FAST))
        patch.start()
        self.addCleanup(patch.stop)
