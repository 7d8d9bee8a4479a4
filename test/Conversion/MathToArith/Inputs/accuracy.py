"""Measures functions on f32 against the C library's on f64.

Usage: accuracy.py write PROGRAM.mlir NAME...   functions, of one scalar each
       accuracy.py check LIBRARY.so NAME...     the same, compiled

Without names it is all.
Errors are in units in the last place of the result; where it is subnormal, of
the least normal number. Infinities, NaN and the sign of zero must be right.
"""

import ctypes
import math
import random
import struct
import sys

INF, NAN = math.inf, math.nan


def to_float(x):
    return struct.unpack("f", struct.pack("f", x))[0] if math.isfinite(x) else x


def cbrt(x):
    return math.copysign(abs(x) ** (1 / 3), x)


def power(x, y):
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        # A pole, or a root of a negative number.
        return math.copysign(INF, x) if x == 0 and y % 2 == 1 else INF if x == 0 else NAN


def remainder(x, y):
    return NAN if math.isinf(x) or y == 0 else math.fmod(x, y)


def grows(function):
    """A function that is infinite where its value is too large."""

    def call(x):
        try:
            return function(x)
        except OverflowError:
            return math.copysign(INF, x) if function is math.sinh else INF

    return call


# The function in f64, the ranges of arguments, and the greatest error.
ANY = [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 1e5)]
FUNCTIONS = {
    "acos": (math.acos, [(1e-30, 1e-3), (1e-3, 0.5), (0.5, 1)], 3),
    "acosh": (math.acosh, [(1, 1.001), (1, 10), (10, 1e30)], 5),
    "asin": (math.asin, [(1e-30, 1e-3), (1e-3, 0.5), (0.5, 1)], 3),
    "asinh": (math.asinh, ANY + [(1e5, 1e30)], 5),
    "atan": (math.atan, ANY + [(1e5, 1e30)], 3),
    "atan2": (math.atan2, ANY + [(1e5, 1e15)], 4),
    "atanh": (math.atanh, [(1e-30, 1e-3), (1e-3, 0.9), (0.9, 1)], 5),
    "cbrt": (cbrt, ANY + [(1e5, 1e30)], 2),
    "cos": (math.cos, ANY + [(1e5, 1e9)], 2),
    "cosh": (grows(math.cosh), [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 92)], 4),
    "erf": (math.erf, [(1e-30, 1e-3), (1e-3, 1), (1, 10)], 4),
    "erfc": (math.erfc, [(1e-30, 1e-3), (1e-3, 1), (1, 9)], 8),
    "exp": (grows(math.exp), [(1e-30, 1e-3), (1e-3, 1), (1, 90)], 2),
    "exp2": (grows(lambda x: 2.0**x), [(1e-30, 1e-3), (1e-3, 1), (1, 130)], 2),
    "exp2_afn": (lambda x: 2.0**x, [(1e-30, 1e-3), (1e-3, 1), (1, 125)], 2),
    "expm1": (grows(math.expm1), [(1e-30, 1e-3), (1e-3, 1), (1, 90)], 4),
    "log": (math.log, [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 1e30)], 2),
    "log10": (math.log10, [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 1e30)], 4),
    "log1p": (math.log1p, [(1e-30, 1e-3), (1e-3, 1), (1, 1e30)], 4),
    "log2": (math.log2, [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 1e30)], 3),
    "powf": (power, [(1e-3, 1), (1, 10), (10, 60)], 2),
    "remf": (remainder, ANY + [(1e5, 1e9)], 0),
    "sin": (math.sin, ANY + [(1e5, 1e9)], 2),
    "sinh": (grows(math.sinh), [(1e-30, 1e-3), (1e-3, 1), (1, 10), (10, 92)], 5),
    "tan": (math.tan, ANY + [(1e5, 1e9)], 4),
    "tanh": (math.tanh, ANY, 5),
}
POSITIVE = {"acosh", "log", "log2", "log10"}
BINARY = {"atan2", "powf", "remf"}
OF_ARITH = {"remf"}
# Arguments and results that are special.
SPECIAL = {
    "acos": [((2,), NAN)],
    "acosh": [((0.5,), NAN), ((1,), 0), ((INF,), INF)],
    "asin": [((-2,), NAN)],
    "asinh": [((INF,), INF), ((-INF,), -INF)],
    "atan": [((INF,), math.pi / 2), ((-INF,), -math.pi / 2), ((0,), 0)],
    "atan2": [
        ((0, 0), 0),
        ((0, -1), math.pi),
        ((-0.0, -1), -math.pi),
        ((1, 0), math.pi / 2),
        ((INF, INF), math.pi / 4),
        ((-INF, -INF), -0.75 * math.pi),
        ((3e38, 3e38), math.pi / 4),
        ((1e-35, 1e-35), math.pi / 4),
        ((1, INF), 0),
    ],
    "cbrt": [((0,), 0), ((INF,), INF), ((-INF,), -INF), ((-27,), -3)],
    "atanh": [((1,), INF), ((-1,), -INF), ((2,), NAN)],
    "cos": [((INF,), NAN), ((0,), 1)],
    "cosh": [((-INF,), INF), ((0,), 1)],
    "erf": [((INF,), 1), ((-INF,), -1)],
    "erfc": [((INF,), 0), ((-INF,), 2)],
    "exp": [((0,), 1), ((INF,), INF), ((-INF,), 0)],
    "exp2": [((3,), 8), ((INF,), INF), ((-INF,), 0)],
    "exp2_afn": [((3,), 8), ((127,), 2.0**127), ((128,), INF), ((1e30,), INF)]
    + [((INF,), INF), ((-127,), 0), ((-1e30,), 0), ((-INF,), 0)],
    "expm1": [((INF,), INF), ((-INF,), -1)],
    "log": [((1,), 0), ((0,), -INF), ((-1,), NAN), ((INF,), INF)],
    "log10": [((0,), -INF), ((-1,), NAN), ((INF,), INF)],
    "log1p": [((-1,), -INF), ((INF,), INF), ((-2,), NAN)],
    "log2": [((8,), 3), ((0,), -INF), ((-1,), NAN), ((INF,), INF)],
    "powf": [
        ((0, 0), 1),
        ((NAN, 0), 1),
        ((1, NAN), 1),
        ((0, 3), 0),
        ((0, -3), INF),
        ((-2, 3), -8),
        ((-2, 2), 4),
        ((-2, 0.5), NAN),
        ((-1, INF), 1),
        ((2, INF), INF),
        ((2, -INF), 0),
        ((0.5, INF), 0),
        ((INF, 2), INF),
        ((-INF, 3), -INF),
        ((INF, -1), 0),
        ((2, 200), INF),
        ((2, -200), 0),
        ((2, 0.5), math.sqrt(2)),
    ],
    "remf": [
        ((-3, 1.5), -0.0),
        ((3, -1.5), 0),
        ((-0.0, 2), -0.0),
        ((5, INF), 5),
        ((-5, INF), -5),
        ((INF, 2), NAN),
        ((1, 0), NAN),
        ((1, NAN), NAN),
        ((3e38, 1e30), math.fmod(to_float(3e38), to_float(1e30))),
        ((1e-39, 1e-42), math.fmod(to_float(1e-39), to_float(1e-42))),
        ((2.0**127, 2.0**127), 0),
        ((to_float(0.3), to_float(0.1)), math.fmod(to_float(0.3), to_float(0.1))),
        ((to_float(4.9999995), 1e-7), math.fmod(to_float(4.9999995), to_float(1e-7))),
    ],
    "sin": [((INF,), NAN), ((-INF,), NAN), ((0,), 0)],
    "sinh": [((INF,), INF), ((-INF,), -INF)],
    "tan": [((INF,), NAN), ((0,), 0)],
    "tanh": [((INF,), 1), ((-INF,), -1)],
}


def write(path, names):
    with open(path, "w") as file:
        for name in names:
            count = 2 if name in BINARY else 1
            parameters = ", ".join(f"%{n}: f32" for n in "xy"[:count])
            operands = ", ".join(f"%{n}" for n in "xy"[:count])
            dialect = "arith" if name in OF_ARITH else "math"
            # What is approximated has a flag.
            name, flag, _ = name.partition("_afn")
            flags = " fastmath<afn>" if flag else ""
            file.write(
                f"func.func @attn_{name}{flag}({parameters}) -> f32 {{\n"
                f"  %r = {dialect}.{name} {operands}{flags} : f32\n  return %r : f32\n}}\n"
            )


def ulp(x):
    return 2.0 ** (max(math.frexp(x)[1], -125) - 24)


def get_error(got, expected):
    try:
        nearest = to_float(expected)
    except OverflowError:
        nearest = math.copysign(INF, expected)
    if math.isnan(nearest) or math.isnan(got):
        return 0 if math.isnan(nearest) and math.isnan(got) else INF
    if math.isinf(nearest) or math.isinf(got):
        # One more than the greatest may be infinite.
        if got == nearest or abs(expected) > 3.4028e38 and abs(got) > 3.4028e38:
            return 0
        return INF
    if got == expected == 0 and math.copysign(1, got) != math.copysign(1, expected):
        return INF
    return abs(got - expected) / ulp(expected)


def get_points(name, ranges):
    random.seed(name)
    for low, high in ranges:
        for number in range(4000):
            x = to_float(low * (high / low) ** random.random())
            if not low <= x <= high:
                continue
            if name not in POSITIVE and number % 2:
                x = -x
            if name == "log1p" and x <= -1:
                continue
            if name == "atan2":
                yield x, to_float(random.uniform(-10, 10))
            elif name == "remf":
                # Whole quotients, too.
                y = to_float(random.uniform(-10, 10))
                yield x, y
                yield to_float(y * round(x)), y
            elif name == "powf":
                yield abs(x), to_float(random.uniform(-20, 20))
            else:
                yield (x,)


def check(path, names):
    library = ctypes.CDLL(path)
    failed = False
    for name in names:
        reference, ranges, most = FUNCTIONS[name]
        function = library[f"attn_{name}"]
        function.restype = ctypes.c_float
        function.argtypes = [ctypes.c_float] * (2 if name in BINARY else 1)
        worst, where = 0, None
        for point in get_points(name, ranges):
            error = get_error(function(*point), reference(*point))
            if error > worst:
                worst, where = error, point
        for point, expected in SPECIAL.get(name, []):
            error = get_error(function(*point), expected)
            if error > worst:
                worst, where = error, point
        if not math.isnan(function(*[NAN] * len(function.argtypes))):
            worst, where = INF, NAN
        print(f"{name}: {worst:.2f} at {where}")
        if worst > most:
            print(f"expects an error of {name} of at most {most}")
            failed = True
    sys.exit(failed)


{"write": write, "check": check}[sys.argv[1]](sys.argv[2], sys.argv[3:] or FUNCTIONS)
