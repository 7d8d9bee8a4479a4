"""Tensors of PyTorch while a function is traced: they may be read at traced
indices, and not written to. Only imported where PyTorch is."""

import torch
from torch.overrides import TorchFunctionMode

from . import _functions, _gradients
from ._proxy import Scalar, has_traced, read

_GETITEM = torch.Tensor.__getitem__
_OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
# What they return follows from the shape and the type of a tensor.
_OF_KIND = {
    *(getattr(torch.Tensor, x).__get__ for x in "shape ndim dtype".split()),
    *(getattr(torch.Tensor, x) for x in "size dim numel __len__".split()),
}
_IN_PLACE = {"__setitem__", "__set__", *(f"__i{name}__" for name in _OPERATORS.split())}


class CaptureMode(TorchFunctionMode):
    def __init__(self, recorder):
        self.recorder = recorder
        recorder.wants_gradient = torch.is_grad_enabled()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is _GETITEM and (type(args[1]) is Scalar or has_traced(args[1])):
            return read(*args)
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if has_traced(args) or has_traced(kwargs):
            return _functions.call_torch(func, args, kwargs)
        if _functions.is_random(name):
            raise self.recorder.refuse(_functions.random(name))
        if kwargs.get("out") is not None or name in _IN_PLACE or (
            name.endswith("_")
            and not name.endswith("__")
            and func is not torch.Tensor.requires_grad_
        ):
            if name == "__set__":  # of an attribute
                name = f"{func.__self__.__name__} = ..."
            raise self.recorder.refuse(_functions.mutation(name))
        result = func(*args, **kwargs)
        if name == "_set_grad_enabled":
            _gradients.record_without(self.recorder, not args[0])
        if func not in _OF_KIND:
            self.recorder.note(func, args, result, kwargs)
        return result
