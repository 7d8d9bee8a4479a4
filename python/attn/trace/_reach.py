"""What functions can read, as a key of their program.

Nothing of a function is run. From its code we know which globals it can read and
which attributes it can ask for; cells, defaults and attributes are followed to
what they hold now. Numbers count by their values, and tensors by what of them
decides a program. Objects of users' classes are looked at by those attributes
and by the methods that operators call; where code can get at anything else, it
is `Unfit`.
"""

import abc
import dis
import functools
import itertools
import sys
import types

import torch

from .._compile import on_clear_cache
from ._errors import is_library
from ._functions import FUNCTIONS, is_transformed

# Objects that are looked at, of a call.
_MOST_VISITED = 200

# What changes what others see, or reads what is not to be found.
_REJECTED = set(
    "STORE_GLOBAL STORE_ATTR STORE_SUBSCR STORE_SLICE DELETE_GLOBAL DELETE_ATTR"
    " DELETE_SUBSCR IMPORT_NAME LOAD_BUILD_CLASS LOAD_LOCALS FORMAT_VALUE"
    " FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE".split()
)
_READS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"}
_READS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
# Names that mean the same each time: attributes of the modules below and of
# traced values, and functions of Python.
_KNOWN = {
    *FUNCTIONS,
    *"int8 int16 int32 int64 long float16 half bfloat16 float32 float64 double".split(),
    *"nn functional special trace inf nan pi e finfo iinfo eps tiny dtype".split(),
    *"device shape ndim abs all any bool divmod enumerate float int".split(),
    *"isinstance len list max min pow range reversed round sorted sum tuple zip".split(),
    *"NotImplemented __class__ hash".split(),
}
_MODULES = set(
    "attn attn.torch attn.trace math torch torch.nn torch.nn.functional torch.special".split()
)
# What names are looked up in when they are attributes.
_NAMESPACES = (torch, torch.nn.functional, sys.modules["math"])
_BY_VALUE = {bool, int, str, type(None), type(...), torch.dtype, torch.device}
_CLASSES = {bool, int, float, list, tuple}
# Methods that code which is traced does not call: those of making, changing and
# showing objects.
_NEVER_CALLED = set(
    "__init__ __new__ __post_init__ __setattr__ __delattr__ __setitem__ __delitem__"
    " __repr__ __str__ __format__ __del__ __init_subclass__ __class_getitem__"
    " __getstate__ __setstate__ __reduce__ __reduce_ex__ __copy__ __deepcopy__"
    " __replace__ __annotate__ __annotate_func__ __getnewargs__".split()
)
# Of a module, what else a call of it may run.
_MODULE_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_compiled_call_impl",
)
_PLAIN_CLASSES = (object, torch.nn.Module, types.SimpleNamespace)
_MISSING = object()

# By the id of code, which is kept, as that of another one is not equal then. Of so
# many codes and classes it is known what they read; then all are forgotten.
_MOST_KNOWN = 4096
_names = {}
_classes = {}
_numbers = itertools.count()


def _forget():
    _names.clear()
    _classes.clear()


on_clear_cache.append(_forget)


class Unfit(Exception):
    """There is something of which we cannot tell whether it is the same."""


def _compares_class(instruction, after):
    """Whether it asks for a class to compare it, as methods of data classes do."""
    return instruction.argval == "__class__" and (
        after.opname == "IS_OP" or after.opname.startswith("LOAD_FAST")
    )


class _Names:
    """What code, and functions in it, may read: names of globals, and names of
    attributes. `whole` are those of variables of which more than attributes is
    asked for, and `number` is that of no other one. Raises Unfit."""

    def __init__(self, code):
        self.number = next(_numbers)
        self.globals, self.attributes, self.whole = {}, {}, set()
        instructions = list(dis.get_instructions(code))
        # What comes next is not looked at where nothing does.
        for i, after in zip(instructions, (*instructions[1:], instructions[0])):
            if i.opname in _REJECTED or (
                i.opname == "STORE_DEREF" and i.argval in code.co_freevars
            ):
                raise Unfit
            if i.opname in _READS_ATTRIBUTE:
                if i.argval.startswith("__") and not (
                    i.argval in FUNCTIONS or _compares_class(i, after)
                ):
                    raise Unfit
                self.attributes[i.argval] = None
            elif i.opname in _READS_GLOBAL:
                self.globals[i.argval] = None
            elif i.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
                # Some instructions load two variables.
                read = i.argval if isinstance(i.argval, tuple) else (i.argval,)
                is_asked = after.opname in _READS_ATTRIBUTE
                self.whole.update(read[:-1] if is_asked else read)
        if not self.attributes.keys() | self.globals.keys() >= set(code.co_names):
            raise Unfit
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                inner = _Names(constant)
                self.globals.update(inner.globals)
                self.attributes.update(inner.attributes)
                self.whole |= inner.whole
            elif isinstance(constant, str) and "%" in constant:
                # It may become the text of anything.
                raise Unfit


def _names_of(code):
    """Those of code, or None if it is unfit."""
    known = _names.get(id(code))
    if known is None:
        try:
            found = _Names(code)
        except Unfit:
            found = None
        if len(_names) >= _MOST_KNOWN:
            _names.clear()
        known = _names[id(code)] = code, found
    return known[1]


class _Class:
    """What there is to a class of users.

    is_plain   whether its objects have nothing but attributes, and methods that
               were written in Python
    operators  names of the methods that operators call
    """

    def __init__(self, kind):
        self._mro = kind.__mro__
        self._bases = [x for x in kind.__mro__ if x not in _PLAIN_CLASSES]
        self._names = self._list_names()
        self.operators = [
            name
            for base in self._bases
            for name, value in [*base.__dict__.items()]
            if callable(value)
            and name.startswith("__")
            and name.endswith("__")
            and name not in _NEVER_CALLED
        ]
        self.is_plain = kind is not object and not any(
            type(base) not in (type, abc.ABCMeta)
            or (is_library(base.__module__) and base.__module__ not in ("abc", "typing"))
            or base.__dict__.keys() & {"__getattr__", "__getattribute__", "__get__"}
            for base in self._bases
        )

    def _list_names(self):
        # A list of a view is made at once, whatever another thread does meanwhile;
        # one of what `__dict__` is, step by step where there is no GIL.
        return [[*base.__dict__.keys()] for base in self._bases]

    def holds(self, kind):
        """Whether it is as it was, but for what methods are."""
        return kind.__mro__ is self._mro and self._list_names() == self._names


def _class_of(kind):
    found = _classes.get(kind)
    # One that is not plain and becomes it stays unfit, which is not wrong.
    if found is None or found.is_plain and not found.holds(kind):
        if len(_classes) >= _MOST_KNOWN:
            _classes.clear()
        found = _classes[kind] = _Class(kind)
    return found


class Reach:
    """What functions can read: `key`, which decides their program, and the
    `tensors` in it, in order."""

    __slots__ = (
        "_attributes",
        "_called",
        "_found",
        "_objects",
        "_seen",
        "key",
        "tensors",
    )

    def __init__(self, *functions):
        """Raises Unfit."""
        # At once for an object of a class that is known to be unfit.
        for function in functions:
            known = _classes.get(type(function))
            if known is not None and not known.is_plain:
                raise Unfit
        self.key = []
        self.tensors = []
        self._seen = {}
        # Names of attributes that code asks for, and those that objects have.
        self._attributes = {}
        self._found = set()
        self._objects = []
        # The modules of PyTorch that code may call.
        self._called = set()
        for function in functions:
            self.add(function)
        if self._attributes:
            self._add_attributes()

    def add(self, value):
        """Adds what can be reached from a value."""
        kind, key = type(value), self.key
        if kind in _BY_VALUE:
            key += kind, value
        elif kind is float:
            self._add_float(value)
        elif kind is types.FunctionType:
            self._add_function(value)
        elif kind is torch.Tensor or kind is torch.nn.Parameter:
            self._add_tensor(value)
        elif kind is types.ModuleType and value.__name__ in _MODULES:
            key.append(value)
        elif kind in (list, tuple, dict) and len(value) < _MOST_VISITED:
            if not self._is_new(value):
                return
            # What it holds at one moment, as another thread may change it.
            items = kind(value)
            key += kind, len(items)
            for item in items:
                self.add(item)
            if kind is dict:
                for item in items.values():
                    self.add(item)
        elif kind is functools.partial:
            if value.__dict__:
                raise Unfit
            key.append(kind)
            for part in (value.func, value.args, value.keywords):
                self.add(part)
        elif kind is types.MethodType:
            key.append(kind)
            self.add(value.__func__)
            self._add_self(value)
        elif kind is type and value in _CLASSES:
            key.append(value)
        elif (
            kind is types.BuiltinFunctionType
            and value.__name__ in FUNCTIONS
            and type(value.__self__) in (types.ModuleType, type, type(None))
        ):
            key.append(value)
        else:
            self._add_object(value)

    def _is_new(self, value):
        """Whether this is the first time that an object is reached; if not, it is
        told by its place."""
        count = len(self._seen)
        place = self._seen.setdefault(id(value), count)
        if place != count:
            self.key.append(place)
            return False
        if count > _MOST_VISITED:
            raise Unfit
        return True

    def _add_float(self, value):
        # 0.0 and -0.0 are equal, and NaN is not.
        self.key += float, value if value and value == value else str(value)

    def _add_tensor(self, tensor):
        if not self._is_new(tensor):
            return
        shape, key = tensor.shape, self.key
        key += tensor.dtype, shape, not shape or tensor.stride(-1) == 1
        # Of one number in the memory of the CPU the trace reads the contents.
        if not shape and tensor.is_cpu and not tensor.requires_grad:
            if is_transformed(tensor):
                raise Unfit
            self.add(tensor.item())
        self.tensors.append(tensor)

    def _add_function(self, function):
        if not self._is_new(function):
            return
        key, cells = self.key, function.__closure__
        module = function.__module__ or ""
        if is_library(module):
            # Those of users may have such a module and name, too.
            known = getattr(sys.modules.get(module), function.__name__, None)
            if known is function and (
                function.__name__ in FUNCTIONS or function.__name__ == "noop_mask"
            ):
                key.append(function)
                return
        code = function.__code__
        names = _names_of(code)
        if names is None or function.__dict__:
            raise Unfit
        key.append(names.number)
        for name, cell in zip(code.co_freevars, cells or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                raise Unfit from None
            if isinstance(value, torch.nn.Module):
                self._add_object(value, name in names.whole)
            else:
                self.add(value)
        scope = function.__globals__
        for name in names.globals:
            if name in scope:
                self.add(scope[name])
            elif name in _KNOWN:
                key.append(name)
            else:
                raise Unfit
        self._attributes.update(names.attributes)
        if function.__defaults__:
            self.add(function.__defaults__)
        if function.__kwdefaults__:
            self.add(function.__kwdefaults__)

    def _add_self(self, method):
        """The object that a method is of."""
        function, value = method.__func__, method.__self__
        if type(function) is types.FunctionType and isinstance(value, torch.nn.Module):
            code = function.__code__
            names = _names_of(code)
            if names is None or not code.co_argcount:
                raise Unfit
            self._add_object(value, code.co_varnames[0] in names.whole)
        else:
            self.add(value)

    # ===------------------------------------------------------------------===
    # Objects and their attributes
    # ===------------------------------------------------------------------===

    def _add_object(self, value, may_be_called=True):
        """Adds an object; of a module, what a call of it runs if there may be
        one."""
        kind = type(value)
        known = _class_of(kind)
        if not known.is_plain:
            raise Unfit
        if self._is_new(value):
            self.key.append(kind)
            self._objects.append(value)
            for name in known.operators:
                self._add_attribute(value, name)
        if (
            may_be_called
            and isinstance(value, torch.nn.Module)
            and id(value) not in self._called
        ):
            self._called.add(id(value))
            parts = value.__dict__
            hooks = [parts.get(name) for name in _MODULE_HOOKS]
            if any(hooks) or torch.nn.modules.module._has_any_global_hook():
                raise Unfit
            self._add_attribute(value, "forward")

    def _add_attributes(self):
        """Those of each object, as any code that was reached may have got it.
        What they lead to asks for others, maybe."""
        names, objects, done = self._attributes, self._objects, set()
        key = self.key
        # Tensors may have some that are not PyTorch's.
        if any([tensor.__dict__ for tensor in self.tensors]):
            raise Unfit
        while True:
            count = len(names), len(objects)
            for number, value in enumerate(objects):
                for name in tuple(names):
                    if (number, name) not in done:
                        done.add((number, name))
                        key += number, name
                        self._add_attribute(value, name)
            if count == (len(names), len(objects)):
                break
        for name in names:
            if name in _KNOWN:
                # Somebody may have put another function there.
                for space in _NAMESPACES:
                    found = getattr(space, name, None)
                    if callable(found):
                        key.append(found)
            elif hasattr(torch.Tensor, name):
                # That a captured tensor was asked, the trace notes.
                continue
            elif name not in self._found or any(
                hasattr(x, name) for x in (str, *_NAMESPACES)
            ):
                # It may be that of another value.
                raise Unfit

    def _add_attribute(self, value, name):
        """What an attribute of an object is, if it has that."""
        own = getattr(value, "__dict__", {})
        if name == "__class__":
            return
        found = _MISSING
        for base in type(value).__mro__:
            found = base.__dict__.get(name, _MISSING)
            if found is not _MISSING:
                break
        if isinstance(found, staticmethod):
            found = found.__func__
        if isinstance(found, property):
            self.add(found.fget)
        elif isinstance(found, types.MemberDescriptorType):  # of __slots__
            # That it has no value is Unfit.
            self.add(getattr(value, name, _MISSING))
        elif hasattr(type(found), "__set__"):
            raise Unfit
        elif name in own:
            self.add(own[name])
        elif type(found) is not types.FunctionType and hasattr(type(found), "__get__"):
            raise Unfit
        elif found is not _MISSING:
            self.add(found)
        else:
            parts = ("_parameters", "_buffers", "_modules")
            parts = parts if isinstance(value, torch.nn.Module) else ()
            part = next((own[part] for part in parts if name in own[part]), None)
            if part is None:
                self.key.append(_MISSING)
                return
            self.add(part[name])
        self._found.add(name)
