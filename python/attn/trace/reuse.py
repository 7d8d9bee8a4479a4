"""Programs of functions that were traced before, for PyTorch's tensors.

Tracing a function again gives the same program if its code is the same and all
that it can read is. What it can read is looked at each time, so that nothing is
stale: numbers by their values, and tensors by what of them decides a program,
as they take the places of those before. A function that may read or do anything
else, such as one that uses an object of a user's class, is traced each time.
"""

import dis
import functools
import math
import sys
import types

import torch

from .._kernel import on_clear_cache
from . import relocate, trace
from .errors import is_library
from .functions import FUNCTIONS
from .program import Program
from .recorder import Capture

# So many programs are kept; then all are forgotten.
_MOST = 1024
# Objects that are looked at, of a call.
_MOST_VISITED = 200

# What changes what others see, or reads what is not to be found.
_REJECTED = set(
    "STORE_GLOBAL STORE_ATTR STORE_SUBSCR STORE_SLICE DELETE_GLOBAL DELETE_ATTR"
    " DELETE_SUBSCR IMPORT_NAME LOAD_BUILD_CLASS LOAD_LOCALS".split()
)
# Names that mean the same each time: attributes of the modules below and of
# traced values (that a captured tensor was asked, the trace notes), and
# functions of Python.
_KNOWN = {
    *FUNCTIONS,
    *"int8 int16 int32 int64 long float16 half bfloat16 float32 float64 double".split(),
    *"nn functional special trace inf nan pi e finfo iinfo eps tiny dtype".split(),
    *"device shape ndim abs all any bool divmod enumerate float int".split(),
    *"isinstance len list max min pow range reversed round sorted sum tuple zip".split(),
}
_MODULES = set(
    "attn attn.torch attn.trace math torch torch.nn torch.nn.functional torch.special".split()
)
# What names are looked up in when they are attributes.
_NAMESPACES = (torch, torch.nn.functional, math)
_BY_VALUE = {bool, int, str, type(None), type(...), torch.dtype, torch.device}
_CLASSES = {bool, int, float, list, tuple}

# By the id of code, which is kept, as that of another one is not equal then.
_names = {}
_programs = {}


def _forget():
    # The ids of code are in the keys of programs.
    _programs.clear()
    _names.clear()


on_clear_cache.append(_forget)


class _Unfit(Exception):
    """There is something of which we cannot tell whether it is the same."""


def _find_names(code):
    """What code, and functions in it, may read from globals: of each name
    whether it may mean something known as well. Raises _Unfit."""
    found = {name: name in _KNOWN for name in code.co_names}
    for i in dis.get_instructions(code):
        if i.opname in _REJECTED or (
            i.opname == "STORE_DEREF" and i.argval in code.co_freevars
        ):
            raise _Unfit
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(_find_names(constant))
    return found


def _names_of(code):
    known = _names.get(id(code))
    if known is None:
        try:
            known = code, tuple(_find_names(code).items())
        except _Unfit:
            known = code, None
        _names[id(code)] = known
    return known[1]


class _Reach:
    """What functions can read: `key`, which decides their program, and the
    `tensors` in it, in order."""

    __slots__ = ("_seen", "key", "tensors")

    def __init__(self):
        self.key = []
        self.tensors = []
        self._seen = {}

    def add(self, value):
        """Adds what can be reached from a value; raises _Unfit."""
        kind, key = type(value), self.key
        if kind in _BY_VALUE:
            key += kind, value
        elif kind is float:
            # 0.0 and -0.0 are equal, and NaN is not.
            key += kind, value if value and value == value else str(value)
        elif kind is types.FunctionType:
            self._add_function(value)
        elif kind is torch.Tensor or kind is torch.nn.Parameter:
            self._add_tensor(value)
        elif kind is types.ModuleType and value.__name__ in _MODULES:
            key.append(value)
        elif kind in (list, tuple, dict) and len(value) < _MOST_VISITED:
            if not self._is_new(value):
                return
            key += kind, len(value)
            for item in value:
                self.add(item)
            if kind is dict:
                for item in value.values():
                    self.add(item)
        elif kind is functools.partial:
            key.append(kind)
            for part in (value.func, value.args, value.keywords):
                self.add(part)
        elif kind is type and value in _CLASSES:
            key.append(value)
        elif (
            kind is types.BuiltinFunctionType
            and value.__name__ in FUNCTIONS
            and type(value.__self__) in (types.ModuleType, type, type(None))
        ):
            key.append(value)
        else:
            raise _Unfit

    def _is_new(self, value):
        """Whether this is the first time that an object is reached; if not, it is
        told by its place."""
        count = len(self._seen)
        place = self._seen.setdefault(id(value), count)
        if place != count:
            self.key.append(place)
            return False
        if count > _MOST_VISITED:
            raise _Unfit
        return True

    def _add_tensor(self, tensor):
        if not self._is_new(tensor):
            return
        shape = tensor.shape
        # Of one number in the memory of the CPU the trace reads the contents.
        if not shape and tensor.is_cpu and not tensor.requires_grad:
            raise _Unfit
        self.key += tensor.dtype, shape, not shape or tensor.stride(-1) == 1
        self.tensors.append(tensor)

    def _add_function(self, function):
        if not self._is_new(function):
            return
        key, cells = self.key, function.__closure__
        module = function.__module__ or ""
        # Those of users may have such a module and name, too.
        known = getattr(sys.modules.get(module), function.__name__, None)
        if (
            known is function
            and is_library(module)
            and (function.__name__ in FUNCTIONS or function.__name__ == "noop_mask")
        ):
            key.append(function)
            return
        names = _names_of(function.__code__)
        if names is None or function.__dict__:
            raise _Unfit
        key.append(id(function.__code__))
        for cell in cells or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                raise _Unfit from None
            self.add(value)
        scope = function.__globals__
        for name, is_known in names:
            if name in scope:
                self.add(scope[name])
            elif is_known:
                # Somebody may have put another function there.
                key.append(name)
                for space in _NAMESPACES:
                    found = getattr(space, name, None)
                    if callable(found):
                        key.append(found)
            else:
                raise _Unfit
        if function.__defaults__:
            self.add(function.__defaults__)
        if function.__kwdefaults__:
            self.add(function.__kwdefaults__)


class _Template:
    """A program without the tensors that it reads, which it does not keep."""

    __slots__ = ("_captures", "_key", "_mask", "_scalars", "_score")

    def __init__(self, program, places):
        self._score, self._mask = program.score, program.mask
        self._scalars = program.scalars
        # Of each capture the place among the tensors, and what there is to it.
        self._captures = [
            (place, capture.dtype, capture.shape, capture.padded, capture.fixed)
            for place, capture in zip(places, program.captures)
        ]
        self._key = program.key()

    def fill(self, tensors):
        captures = []
        for place, dtype, shape, padded, fixed in self._captures:
            capture = Capture(tensors[place], dtype, shape, padded)
            capture.fixed = fixed
            captures.append(capture)
        return Program(self._score, self._mask, captures, self._scalars, self._key)


def program_of(score_mod, mask_mod, device):
    """The program that `trace` makes of these functions, with the types of
    PyTorch."""
    reach = _Reach()
    try:
        reach.add(score_mod)
        reach.add(mask_mod)
    except _Unfit:
        return trace(score_mod, mask_mod, namespace="torch", device=device)
    at = device, *reach.key
    template = _programs.get(at)
    if template is not None:
        program = template.fill(reach.tensors)
        program.relocate = relocate(score_mod, mask_mod, "torch", device)
        return program
    program = trace(score_mod, mask_mod, namespace="torch", device=device)
    places = {id(tensor): n for n, tensor in enumerate(reach.tensors)}
    found = [places.get(id(capture.tensor)) for capture in program.captures]
    # Not if the program is of what a library has computed, or of two tensors that
    # are one in this call.
    if program.is_direct and None not in found:
        if len(_programs) >= _MOST:
            _programs.clear()
        _programs[at] = _Template(program, found)
    return program
