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
    """Makes the tensors `wanted` of the `tensors` that are reached. All calls are
    made again, as the program may be made of what the shape or the type of any
    result was. Raises Unfit."""

    def __init__(self, tensors, calls, wanted):
        places = {id(tensor): n for n, tensor in enumerate(tensors)}
        self._steps = []
        for call in calls:
            result = call.result
            if not isinstance(result, torch.Tensor):
                # The program may be made of what was in it.
                raise Unfit
            args, kwargs = (_pattern(x, places) for x in (call.args, call.kwargs))
            self._steps.append((call.function, args, kwargs, result.shape, result.dtype))
            # A function may return what it was given, and of others something new.
            places[id(result)] = len(tensors) + len(self._steps) - 1
        self._wanted = [_pattern(tensor, places).number for tensor in wanted]

    def __call__(self, tensors):
        """The wanted ones, of other tensors in the places of those reached; or None
        if a result is of another kind, as the contents of a tensor or a mode of
        PyTorch may have it."""
        tensors = [*tensors]
        for function, args, kwargs, shape, dtype in self._steps:
            result = function(*_fill(args, tensors), **_fill(kwargs, tensors))
            if result.shape != shape or result.dtype != dtype:
                return None
            tensors.append(result)
        return [tensors[n] for n in self._wanted]


def _pattern(value, places):
    """A value with _Place for tensors."""
    if isinstance(value, torch.Tensor):
        number = places.get(id(value))
        if number is None:
            raise Unfit
        return _Place(number)
    kind = type(value)
    if kind in (list, tuple):
        return kind([_pattern(x, places) for x in value])
    if kind is dict:
        return {key: _pattern(x, places) for key, x in value.items()}
    if kind is slice:
        return slice(*[_pattern(x, places) for x in (value.start, value.stop, value.step)])
    if kind in _PLAIN:
        return value
    raise Unfit


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
