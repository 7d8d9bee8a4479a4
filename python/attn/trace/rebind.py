"""Lets a function see Tables where it has arrays of NumPy and the like, which
read themselves at an index and do not ask the index.

Arrays are found where functions get values from: closures, defaults, globals,
functions that they call, attributes of bound objects and callables, and lists,
tuples and dicts of such. Nothing of the user's is changed: there is a new
function with other cells.
"""

import functools
import itertools
import sys
import types

from .._tensors import Bitcast
from .errors import PACKAGES, TraceError, is_library
from .proxy import hold, is_array

# Arrays are not looked for beyond so many objects, or items of one.
_MOST_VISITED = 10_000
_MOST_ITEMS = 1_000


@functools.lru_cache(maxsize=4096)
def _globals_of(code):
    """The names that code, and the functions in it, may read from globals."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(_globals_of(constant))
    return tuple(found)


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

    def needs(self, value, seen=None):
        """Whether arrays are within reach."""
        kind = type(value)
        leads_nowhere = _leaves.get(kind)
        if leads_nowhere is None:
            leads_nowhere = _leaves[kind] = _is_leaf(value)
        if leads_nowhere:
            return False
        if is_array(value):
            return True
        seen = set() if seen is None else seen
        if id(value) in seen or len(seen) > _MOST_VISITED:
            return False
        seen.add(id(value))
        for child in self._children(value):
            if self.needs(child, seen):
                return True
        return False

    def _children(self, value):
        if isinstance(value, types.FunctionType):
            if is_library(value.__module__ or ""):
                return
            for cell in value.__closure__ or ():
                try:
                    yield cell.cell_contents
                except ValueError:  # not assigned yet
                    pass
            yield from value.__dict__.values()
            scope = value.__globals__
            for name in _globals_of(value.__code__):
                if name in scope:
                    yield scope[name]
            yield from value.__defaults__ or ()
            yield from (value.__kwdefaults__ or {}).values()
        elif isinstance(value, functools.partial):
            yield value.func
            yield from value.args
            yield from value.keywords.values()
        elif isinstance(value, types.MethodType):
            yield value.__func__
            yield value.__self__
        elif isinstance(value, (list, tuple)):
            yield from itertools.islice(value, _MOST_ITEMS)
        elif isinstance(value, dict):
            yield from itertools.islice(value.values(), _MOST_ITEMS)
        elif _is_object(value):
            yield from _attributes(value)
            call = getattr(type(value), "__call__", None)
            if isinstance(call, types.FunctionType):
                yield call

    def replace(self, value):
        """What a traced function sees instead of a value."""
        if type(value) in _PLAIN:
            return value
        if is_array(value):
            return hold(self.recorder, value)
        found = self._new.get(id(value))
        if found is None:
            # Kept, as otherwise another object could get its id.
            self._kept.append(value)
            found = self._new[id(value)] = self._replace(value)
        return found

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
        if not self.needs(value):
            return value
        if isinstance(value, dict):
            return {key: self.replace(x) for key, x in value.items()}
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


_PARTS = (
    types.FunctionType,
    types.MethodType,
    functools.partial,
    list,
    tuple,
    dict,
)


def _attributes(value):
    yield from getattr(value, "__dict__", {}).values()
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield getattr(value, name)


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


# By type, whether its objects are no arrays, and lead to none.
_leaves = {}


def _is_leaf(value):
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind.__module__ == "numpy" or issubclass(kind, (*_PARTS, memoryview, Bitcast)):
        return False
    exports = hasattr(kind, "__dlpack__") and not hasattr(kind, "__torch_function__")
    return not exports and not _is_object(value)


def _reject_random(function):
    """Python's and NumPy's random numbers are numbers like others, once drawn."""
    code = getattr(function, "__code__", None)
    if code is None or "random" not in _globals_of(code):
        return
    numpy = sys.modules.get("numpy")
    random = (sys.modules.get("random"), numpy, numpy and numpy.random)
    scope = function.__globals__
    values = [scope.get(name) for name in _globals_of(code)]
    values += [c.cell_contents for c in function.__closure__ or ()]
    modules = [value for value in values if isinstance(value, types.ModuleType)]
    if any(module in random for module in modules):
        raise TraceError(
            f"{code.co_filename}:{code.co_firstlineno}: '{code.co_name}' draws random"
            " numbers, of which there would be one for all pairs: read them from a"
            " captured array",
            frame=False,
        )


def rebind(function, recorder):
    """The function as it is to be traced."""
    _reject_random(function)
    rebinder = Rebinder(recorder)
    if not rebinder.needs(function):
        return function
    return rebinder.replace(function)
