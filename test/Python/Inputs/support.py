"""Programs, tensors and a reference for the tests of the Python package.

Needs the package and the standard library only: tensors are memoryviews, or
`Exporter`s, which have DLPack and any strides. A test that imports this also tests
that no error has a flag of attn-run in its text.
"""

import array
import ctypes
import math
import pathlib
import random
import re

import attn

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "examples"


def _check_text(error, *args):
    """Who reads an error in Python has no command line to give a flag to."""
    super(attn.Error, error).__init__(*args)
    assert not re.search(r"(?<![\w-])--[a-z]", str(error)), f"a flag in: {error}"


attn.Error.__init__ = _check_text

FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b"}


def mask_program(scalar="index", dtype="f32", dim=8):
    """Attention to the keys below `limit`, which is a scalar of any type."""
    if scalar == "index":
        below = "%p = arith.cmpi slt, %j, %x : index"
    elif scalar == "i1":
        below = """%c1 = arith.constant 1 : index
        %first = arith.cmpi slt, %j, %c1 : index
        %p = arith.ori %first, %x : i1"""
    elif scalar.startswith("i"):
        below = f"""%n = arith.index_cast %x : {scalar} to index
        %p = arith.cmpi slt, %j, %n : index"""
    else:
        below = f"""%i = arith.index_cast %j : index to i32
        %f = arith.sitofp %i : i32 to {scalar}
        %p = arith.cmpf olt, %f, %x : {scalar}"""
    return f"""
!t = tensor<?x?x?x{dim}x{dtype}>
func.func @below(%q: !t, %k: !t, %v: !t, %limit: {scalar})
    -> (!t {{attn.name = "o"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%limit : {scalar}) outs(%init : !t)
      mask(%b0, %h0, %i0, %j, %x) {{
        {below}
        attn.yield %p : i1
      }}
  return %o : !t
}}
"""


TABLE = """
// Reads a table at the position of the query, whether it has it or not.
!t = tensor<1x1x?x8xf32>
func.func @table(%q: !t, %k: !t, %v: !t, %table: tensor<4xf32>) -> (!t, tensor<1x1x?xf32>) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !t
  %oinit = tensor.empty(%s) : !t
  %linit = tensor.empty(%s) : tensor<1x1x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%table : tensor<4xf32>)
      outs(%oinit, %linit : !t, tensor<1x1x?xf32>)
      score(%x, %b, %h, %i, %j, %t) {
        %e = tensor.extract %t[%i] : tensor<4xf32>
        %y = arith.addf %x, %e : f32
        attn.yield %y : f32
      }
  return %o, %lse : !t, tensor<1x1x?xf32>
}
"""


def tensor(shape, dtype="f32", values=None, seed=0):
    """A memoryview with given or random elements."""
    count = math.prod(shape)
    if values is None:
        source = random.Random(seed)
        values = [source.gauss(0, 1) for _ in range(count)]
    data = array.array(FORMATS[dtype], values)
    return memoryview(data).cast("B").cast(FORMATS[dtype], shape)


def flatten(values):
    """The numbers in nested lists."""
    if not isinstance(values, list):
        return [values]
    return [number for value in values for number in flatten(value)]


def attention(q, k, v, allowed):
    """Of nested lists [batch][head][length][dim], in float64."""

    def row(query, keys, values, i):
        scale = 1 / math.sqrt(len(query))
        pairs = [
            (scale * sum(a * b for a, b in zip(query, key)), value)
            for j, (key, value) in enumerate(zip(keys, values))
            if allowed(i, j)
        ]
        if not pairs:
            return [0.0] * len(values[0])
        top = max(score for score, _ in pairs)
        weights = [math.exp(score - top) for score, _ in pairs]
        return [
            sum(w * value[d] for w, (_, value) in zip(weights, pairs)) / sum(weights)
            for d in range(len(values[0]))
        ]

    return [
        [
            [row(query, keys, values, i) for i, query in enumerate(queries)]
            for queries, keys, values in zip(*batch)
        ]
        for batch in zip(q, k, v)
    ]


def max_error(got, expected):
    return max(abs(a - b) for a, b in zip(flatten(got), flatten(expected)))


# ===----------------------------------------------------------------------===
# DLPack
# ===----------------------------------------------------------------------===

_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", _DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


class Exporter:
    """A tensor that only DLPack tells of, on the memory of a ctypes array.

    With `counts`, `destroyed` is the number of capsules that are gone.
    """

    def __init__(
        self,
        storage,
        shape,
        strides=None,
        *,
        type=(2, 32, 1),
        device=(1, 0),
        offset=0,
        version=None,
        flags=0,
        counts=False,
    ):
        self.storage = storage
        self.device = device
        self.version = version
        self.destroyed = 0
        self.streams = []
        self._shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self._strides = strides and (ctypes.c_int64 * len(strides))(*strides)
        plain = _DLTensor(
            ctypes.addressof(storage),
            *device,
            len(shape),
            *type,
            ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64)),
            offset,
        )
        if version:
            self._managed = _Versioned(*version, None, None, flags, plain)
        else:
            self._managed = _Managed(plain, None, None)
        # One in Python would forget an exception that is on its way.
        self._destructor = _Destructor(self._destroy) if counts else _Destructor()

    def _destroy(self, _):
        self.destroyed += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, **arguments):
        if self.version is None and arguments:
            raise TypeError("an exporter from before versions")
        self.streams.append(stream)
        name = b"dltensor_versioned" if self.version else b"dltensor"
        return _new_capsule(ctypes.addressof(self._managed), name, self._destructor)


def floats(values):
    values = list(values)
    return (ctypes.c_float * len(values))(*values)
