"""What PyTorch has computed of captured tensors while functions were traced, such
as views, done again for other tensors in their places.

A function that is traced computes with tensors as always. The
recorder notes these calls of PyTorch; as what they are called with is the same again,
or takes the place of what was there before, the calls can be made without the
function.
"""

import typing

import torch

_PLAIN = (bool, int, float, str, type(None), type(...), torch.dtype, torch.device)
_PLAIN += (torch.layout, torch.memory_format)


class Unfit(Exception):
    """A call that cannot be made again."""


class _Place(typing.NamedTuple):
    """A tensor among those of a call."""

    number: int


class Replay:
    """Makes the tensors `wanted` of the `tensors` that are reached. Raises Unfit."""

    def __init__(self, tensors, calls, wanted):
        self._places = {id(tensor): n for n, tensor in enumerate(tensors)}
        made = {}
        for number, call in enumerate(calls):
            if not isinstance(call.result, torch.Tensor):
                # The program may be made of what was in it.
                raise Unfit
            # A function may return what it was given.
            if id(call.result) not in self._places:
                made[id(call.result)] = number
        self._first = len(tensors)
        self._steps = []
        for tensor in wanted:
            self._need(tensor, calls, made)
        self._wanted = [self._places[id(tensor)] for tensor in wanted]
        del self._places

    def _need(self, tensor, calls, made):
        if id(tensor) in self._places:
            return
        number = made.get(id(tensor))
        if number is None:
            raise Unfit
        call = calls[number]
        step = call.function, *self._pattern((call.args, call.kwargs), calls, made)
        self._places[id(tensor)] = self._first + len(self._steps)
        self._steps.append(step)

    def _pattern(self, value, calls, made):
        """A value with _Place for tensors."""
        if isinstance(value, torch.Tensor):
            self._need(value, calls, made)
            return _Place(self._places[id(value)])
        kind = type(value)
        if kind in (list, tuple):
            return kind([self._pattern(x, calls, made) for x in value])
        if kind is dict:
            return {key: self._pattern(x, calls, made) for key, x in value.items()}
        if kind is slice:
            parts = value.start, value.stop, value.step
            return slice(*[self._pattern(x, calls, made) for x in parts])
        if kind in _PLAIN:
            return value
        raise Unfit

    def __call__(self, tensors):
        """The wanted ones, of other tensors in the places of those reached."""
        if not self._steps:
            return [tensors[n] for n in self._wanted]
        tensors = [*tensors]
        for function, args, kwargs in self._steps:
            tensors.append(function(*_fill(args, tensors), **_fill(kwargs, tensors)))
        return [tensors[n] for n in self._wanted]


def _fill(pattern, tensors):
    kind = type(pattern)
    if kind is _Place:
        return tensors[pattern.number]
    if kind in (list, tuple):
        return kind([_fill(x, tensors) for x in pattern])
    if kind is dict:
        return {key: _fill(x, tensors) for key, x in pattern.items()}
    if kind is slice:
        return slice(*[_fill(x, tensors) for x in (pattern.start, pattern.stop, pattern.step)])
    return pattern
