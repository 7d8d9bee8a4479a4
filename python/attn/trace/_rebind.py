"""Lets a function see Tables where it has arrays of NumPy and the like, which
read themselves at an index and do not ask the index.

Arrays are found where functions get values from: closures, defaults, globals,
functions that they call, attributes of bound objects and callables, and lists,
tuples and dicts of such. Nothing of the user's is changed: there is a new
function with other cells.
"""

import dis
import functools
import itertools
import random
import sys
import types

from .._tensors import Bitcast
from ._errors import PACKAGES, TraceError, is_library
from ._proxy import hold, is_array

# Arrays are not looked for beyond so many objects, or items of one.
_MOST_VISITED = 10_000
_MOST_ITEMS = 1_000


# By the id of code, which is kept: its hash takes longer.
_MOST_KNOWN = 4096
_names = {}


def _globals_of(code):
    """The names that code, and the functions in it, may read from globals."""
    known = _names.get(id(code))
    if known is None:
        found = set(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                found.update(_globals_of(constant))
        if len(_names) >= _MOST_KNOWN:
            _names.clear()
        known = _names[id(code)] = code, tuple(found)
    return known[1]


class _View:
    """An object, whose arrays are Tables and whose methods see it so."""

    def __init__(self, value, rebinder):
        self.__dict__["_attn_view"] = value, rebinder

    # For isinstance and super.
    __class__ = property(lambda self: type(self._attn_view[0]))

    def __getattr__(self, name):
        value, rebinder = self._attn_view
        member = getattr(value, name)
        if isinstance(member, types.MethodType) and member.__self__ is value:
            return types.MethodType(rebinder.replace(member.__func__), self)
        return rebinder.replace(member)

    def __setattr__(self, name, value):
        raise TraceError(f"a function that is traced may not set '{name}'")

    def __call__(self, *args, **kwargs):
        return self.__getattr__("__call__")(*args, **kwargs)

    def __getitem__(self, key):
        return self.__getattr__("__getitem__")(key)

    def __len__(self):
        return len(self._attn_view[0])

    def __bool__(self):
        return bool(self._attn_view[0])


class Rebinder:
    def __init__(self, recorder):
        self.recorder = recorder
        self._new = {}
        self._globals = {}
        self._kept = []

    def replace(self, value):
        """What a traced function sees instead of a value."""
        if type(value) in _PLAIN and type(value) is not types.ModuleType:
            return value
        if is_array(value):
            return hold(self.recorder, value)
        if "jax" in sys.modules and _is_jax(value):
            return self._replace_jax(value)
        if type(value) is types.ModuleType:
            return value
        found = self._new.get(id(value))
        if found is None:
            # Kept, as otherwise another object could get its id.
            self._kept.append(value)
            found = self._new[id(value)] = self._replace(value)
        return found

    def _replace_jax(self, value):
        from . import _jax_mode

        inner = _jax_mode.wrapped(value)
        if inner is not None:
            return self.replace(inner)
        return _jax_mode.stand_in(self.recorder, value)

    def _replace(self, value):
        if isinstance(value, types.FunctionType):
            return (
                value if is_library(value.__module__ or "") else self._function(value)
            )
        if isinstance(value, functools.partial):
            keywords = {key: self.replace(x) for key, x in value.keywords.items()}
            args = map(self.replace, value.args)
            return functools.partial(self.replace(value.func), *args, **keywords)
        if isinstance(value, types.MethodType):
            return types.MethodType(
                self.replace(value.__func__), self.replace(value.__self__)
            )
        if not isinstance(value, (list, tuple, dict)) and not _is_object(value):
            return value
        if not _leads_to_arrays(value):
            return value
        if isinstance(value, dict):
            # A list at once, as another thread may change it.
            return {key: self.replace(x) for key, x in [*value.items()]}
        if isinstance(value, list):
            return [self.replace(x) for x in value]
        if isinstance(value, tuple):
            make = getattr(type(value), "_make", tuple)  # of a namedtuple
            return make([self.replace(x) for x in value])
        return _View(value, self)

    def _function(self, function):
        code = function.__code__
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        scope = self._scope(function.__globals__)
        new = types.FunctionType(code, scope, function.__name__, None, cells)
        # Before its cells are filled, which may have it again.
        self._new[id(function)] = new
        for cell, old in zip(cells, function.__closure__ or ()):
            try:
                cell.cell_contents = self.replace(old.cell_contents)
            except ValueError:
                pass
        if function.__defaults__:
            new.__defaults__ = tuple(map(self.replace, function.__defaults__))
        if function.__kwdefaults__:
            new.__kwdefaults__ = {
                key: self.replace(x) for key, x in function.__kwdefaults__.items()
            }
        old = function.__globals__
        for name in _globals_of(code):
            if name in old:
                scope[name] = self.replace(old[name])
        new.__dict__.update((k, self.replace(x)) for k, x in function.__dict__.items())
        return new

    def _scope(self, old):
        scope = self._globals.get(id(old))
        if scope is None:
            scope = self._globals[id(old)] = dict(old)
        return scope


_PLAIN = (
    int,
    float,
    bool,
    str,
    type(None),
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
)


@functools.lru_cache(maxsize=4096)
def _slots(kind):
    found = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += (slots,) if isinstance(slots, str) else slots
    return tuple(found)


def _attributes(value):
    found = [*getattr(value, "__dict__", {}).values()]
    for name in _slots(type(value)):
        if hasattr(value, name):
            found.append(getattr(value, name))
    # An object may have one for something else.
    return [
        x
        for x in found
        if _parts.get(type(x), x) is not None and not _is_generator(type(x))
    ]


def _is_object(value):
    """Whether this is an object of a user's class."""
    if type(value) is types.SimpleNamespace:
        return True
    return (
        not isinstance(value, (type, types.ModuleType))
        and not is_library(type(value).__module__)
        # As a torch.nn.Module is, whose tensors ask us.
        and not any(
            x.__module__.partition(".")[0] in PACKAGES for x in type(value).__mro__
        )
    )


# ===----------------------------------------------------------------------===
# What values lead to, by their types
# ===----------------------------------------------------------------------===


class _Found(Exception):
    """An array is within reach."""


class _Draws(Exception):
    """Random numbers are within reach: of a function, or None."""

    def __init__(self, function):
        super().__init__()
        self.function = function


def _of_cells(function):
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            pass
    return found


def _of_function(value):
    if "jax" in sys.modules:
        _find_jax(value)
    if is_library(value.__module__ or ""):
        return []
    code, found = value.__code__, _of_cells(value)
    names = _globals_of(code)
    if names:
        scope = value.__globals__
        found += [scope[name] for name in names if name in scope]
    if (found or names) and _draws(code, names, found):
        raise _Draws(value)
    if value.__dict__:
        found += value.__dict__.values()
    found += value.__defaults__ or ()
    if value.__kwdefaults__:
        found += value.__kwdefaults__.values()
    return found


def _of_object(value):
    found = _attributes(value)
    call = getattr(type(value), "__call__", None)
    if isinstance(call, types.FunctionType):
        found.append(call)
    return found


def _of_array(value):
    if is_array(value):
        raise _Found
    return _of_object(value) if _is_object(value) else []


def _of_generator(value):
    raise _Draws(None)


def _of_module(value):
    if "jax" in sys.modules:
        _find_jax(value)
    return []


def _of_jax(value):
    """An array of JAX, or one of its functions."""
    if is_array(value):
        raise _Found
    _find_jax(value)
    return []


def _find_jax(value):
    if _is_jax(value):
        raise _Found


def _is_jax(value):
    """Whether this is a module or a function of JAX, or one of the user's that JAX
    has wrapped."""
    kind = type(value)
    is_of_jax = kind.__module__.startswith("jax")
    if not is_of_jax and kind not in (types.ModuleType, types.FunctionType):
        return False
    name = value.__name__ if kind is types.ModuleType else value.__module__
    if not is_of_jax and (name or "").partition(".")[0] != "jax":
        return False
    from . import _jax_mode

    return _jax_mode.is_own(value) or _jax_mode.wrapped(value) is not None


def _of_dict(value):
    # At once where it is not large, as another thread may change it.
    if len(value) <= _MOST_ITEMS:
        return [*value.values()]
    return itertools.islice(value.values(), _MOST_ITEMS)


_CONTAINERS = [
    (types.FunctionType, _of_function),
    (functools.partial, lambda x: [x.func, *x.args, *x.keywords.values()]),
    (types.MethodType, lambda x: [x.__func__, x.__self__]),
    ((list, tuple), lambda x: itertools.islice(x, _MOST_ITEMS)),
    (dict, _of_dict),
]
# None where an object of the type is no array, and leads to none.
_parts = {}
_unknown = object()


def _parts_of(value):
    kind = type(value)
    if kind is types.ModuleType:
        return _of_module
    if kind in _PLAIN:
        return None
    if kind.__module__.startswith("jax") and not issubclass(kind, type):
        return _of_jax
    if _is_generator(kind):
        return _of_generator
    if kind.__module__ == "numpy" or issubclass(kind, (memoryview, Bitcast)):
        return _of_array
    for kinds, parts in _CONTAINERS:
        if issubclass(kind, kinds):
            return parts
    if hasattr(kind, "__dlpack__") and not hasattr(kind, "__torch_function__"):
        return _of_array
    return _of_object if _is_object(value) else None


def _leads_to_arrays(value):
    """Whether arrays are within reach."""
    # Kept, as otherwise another object could get the id of one.
    seen, waiting = {}, [value]
    try:
        while waiting:
            value = waiting.pop()
            parts = _parts.get(type(value), _unknown)
            if parts is _unknown:
                parts = _parts[type(value)] = _parts_of(value)
            if parts is None or id(value) in seen or len(seen) > _MOST_VISITED:
                continue
            seen[id(value)] = value
            waiting += parts(value)
    except _Found:
        return True
    return False


# ===----------------------------------------------------------------------===
# Random numbers, which are numbers like others, once drawn
# ===----------------------------------------------------------------------===


@functools.lru_cache(maxsize=4096)
def _is_generator(kind):
    """Whether objects of a class draw, as random.Random and numpy.random.Generator."""
    return any(
        x.__module__ == "random" or x.__module__.startswith("numpy.random")
        for x in kind.__mro__
    )


@functools.lru_cache(maxsize=4096)
def _imports_random(code):
    return any(
        i.opname == "IMPORT_NAME" and i.argval in ("random", "numpy.random")
        for i in dis.get_instructions(code)
    )


def _draws(code, names, values):
    """Whether code, which reads globals and attributes of these names, draws with
    what it reads of its closure and globals."""
    for value in values:
        kind = type(value)
        if kind is types.ModuleType:
            if value is random or value is sys.modules.get("numpy.random"):
                return True
            if value is sys.modules.get("numpy") and "random" in names:
                return True
        # As `from random import random` has it.
        elif kind is types.BuiltinFunctionType and _is_generator(type(value.__self__)):
            return True
    return "random" in names and _imports_random(code)


def _random_error(function):
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}: '{code.co_name}'" if code else (
        f"'{type(function).__name__}'"
    )
    error = TraceError(
        f"{place} draws random numbers, of which there would be one for all pairs:"
        " read them from a captured array",
        frame=False,
    )
    if code:
        error.filename, error.lineno = code.co_filename, code.co_firstlineno
    return error


def rebind(function, recorder):
    """The function as it is to be traced."""
    try:
        if not _leads_to_arrays(function):
            return function
    except _Draws as draws:
        raise _random_error(draws.function or function) from None
    return Rebinder(recorder).replace(function)
