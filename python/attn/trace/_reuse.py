"""Programs of functions that were traced before, for PyTorch's tensors.

Tracing a function again gives the same program if its code is the same and all
that it can read is (_reach.py). That is looked at each time, so that nothing is
stale. A function that may read or do anything else is traced each time.
"""

import functools

from .._compile import on_clear_cache
from . import _replay, trace, trace_as
from ._program import Program
from ._reach import Reach, Unfit
from ._recorder import Capture
from ._replay import Replay

# So many programs are kept; then all are forgotten.
_MOST = 1024
_programs = {}
on_clear_cache.append(_programs.clear)


class _Template:
    """A program without the tensors that it reads, which it does not keep. Raises
    _replay.Unfit."""

    __slots__ = (
        *("_captures", "_detached", "_key", "_mask"),
        *("_replay", "_scalars", "_score"),
    )

    def __init__(self, program, tensors):
        self._score, self._mask = program.score, program.mask
        self._scalars, self._detached = program.scalars, program.detached
        read = [capture.tensor for capture in program.captures]
        self._replay = Replay(tensors, program.computed, read)
        self._captures = [
            (capture.dtype, capture.shape, capture.padded, capture.fixed)
            for capture in program.captures
        ]
        self._key = program.key()

    def fill(self, tensors):
        """The program for other tensors, or None if it is another one."""
        read = self._replay(tensors)
        if read is None:
            return None
        captures = []
        for tensor, (dtype, shape, padded, fixed) in zip(read, self._captures):
            captures.append(Capture(tensor, dtype, shape, padded, fixed))
        program = Program(self._score, self._mask, captures, self._scalars, self._key)
        program.detached = self._detached
        return program


def program_of(score_mod, mask_mod, device):
    """The program that `trace` makes of these functions, with the types of
    PyTorch."""
    try:
        reach = Reach(score_mod, mask_mod)
    except Unfit:
        return trace(score_mod, mask_mod, namespace="torch", device=device)
    at = device, *reach.key
    template = _programs.get(at)
    program = template and template.fill(reach.tensors)
    if program is not None:
        again = score_mod, mask_mod, "torch", device, True
        program.relocate = functools.partial(trace_as, *again)
        return program
    program = trace(score_mod, mask_mod, namespace="torch", device=device)
    # Two tensors that are one may be two in the next call.
    if program.is_aliased:
        return program
    try:
        # What has changed meanwhile, by a function or a thread, is part of neither.
        if Reach(score_mod, mask_mod).key != reach.key:
            return program
        template = _Template(program, reach.tensors)
    except (Unfit, _replay.Unfit):
        return program
    if len(_programs) >= _MOST:
        _programs.clear()
    _programs[at] = template
    return program
