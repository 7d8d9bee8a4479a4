"""Each operation of arith, math and index on scalars, in the score of an attention
with one key: the log-sum-exp is what it gives, for each row of operands.

Usage: operations.py check FOLDER SHARD/SHARDS     compile for this processor, run,
                                                   and compare with the reference
       operations.py compile FOLDER SHARD/SHARDS   compile for a GPU
       operations.py missing                       print what is not in the table
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import typing

import numpy

import shards

INF, NAN = float("inf"), float("nan")

# Operands to combine, by the type that they have in memory. What upstream leaves
# open is left out: shifts by the width, and floats that no integer is.
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -0.7, 3.0, 7.25]
FLOATS += [1e-3, 1e3, -1e3, 1e30, 1e-30, 1e-40, INF, -INF, NAN]
FEW = [0.0, 1.0, -1.5, 0.25, 3.0, -1e3, INF, NAN]
TAME = [0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.25, 100.0]
INTS = {
    8: [0, 1, -1, 2, 3, 5, 7, -7, 31, 64, 100, 127, -128],
    32: [0, 1, -1, 2, 3, 5, 7, -7, 31, 64, 255, -256, 1000003, 2**31 - 1, -(2**31)],
    64: [0, 1, -1, 2, 3, 5, 7, -7, 255, -256, 1000003, 2**31 - 1, -(2**31)]
    + [2**33 + 7, 2**63 - 1, -(2**63)],
}


_HELPERS = ("arith.constant", "arith.fptosi", "arith.cmpf")


class Op(typing.NamedTuple):
    """`text` defines %r from %x, %y and %z, and T is its type of numbers."""

    text: str
    operands: int = 1
    # Of the operands, and of %r if that differs.
    kind: str = "f32"
    result: str = ""
    samples: tuple = ()

    @property
    def name(self):
        words = self.text.replace("=", " ").split()
        names = [w for w in words if w.split(".")[0] in ("arith", "math", "index")]
        # What comes before or after only makes operands and %r.
        return next((w for w in names if w not in _HELPERS), names[-1])


def _floats(kind):
    ops = []
    for name in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split():
        ops.append(Op(f"%r = arith.{name} %x, %y : T", 2, kind))
    ops.append(Op("%r = arith.negf %x : T", 1, kind))
    for name in (
        "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 "
        "expm1 floor log log10 log1p log2 round roundeven rsqrt sin sinh sqrt tan tanh "
        "trunc"
    ).split():
        # Angles whose reduction is exact for all.
        samples = TAME if name in ("cos", "sin", "tan") else ()
        ops.append(Op(f"%r = math.{name} %x : T", 1, kind, samples=samples))
    for name in "atan2 copysign powf".split():
        ops.append(Op(f"%r = math.{name} %x, %y : T", 2, kind))
    for name in "isfinite isinf isnan isnormal".split():
        ops.append(Op(f"%r = math.{name} %x : T", 1, kind, "i1"))
    ops.append(Op("%r = math.fma %x, %y, %z : T", 3, kind, samples=FEW))
    ops.append(Op("%r = math.clampf %x to [%y, %z] : T", 3, kind, samples=FEW))
    for what in ("s", "c"):
        text = "%fs, %fc = math.sincos %x : T\n %r = arith.negf %fWHAT : T"
        ops.append(Op(text.replace("WHAT", what), 1, kind, samples=TAME))
    predicates = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"
    for predicate in predicates.split() if kind == "f32" else ["une", "olt"]:
        ops.append(Op(f"%r = arith.cmpf {predicate}, %x, %y : T", 2, kind, "i1"))
    for power in (0, 1, 2, 3, 7, -1, -2, -3):
        text = f"%n = arith.constant {power} : i32\n %r = math.fpowi %x, %n : T, i32"
        ops.append(Op(text, 1, kind))
    text = "%n = arith.fptosi %y : T to i32\n %r = math.fpowi %x, %n : T, i32"
    ops.append(Op(text, 2, kind, samples=TAME))
    for integer in ("i8", "i32", "i64"):
        ops.append(Op(f"%r = arith.fptosi %x : T to {integer}", 1, kind, integer, TAME))
        positive = [abs(x) for x in TAME]
        ops.append(
            Op(f"%r = arith.fptoui %x : T to {integer}", 1, kind, integer, positive)
        )
    bits = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"}[kind]
    ops.append(Op(f"%r = arith.bitcast %x : T to {bits}", 1, kind, bits))
    for wide in ("f32", "f64"):
        if bits[1:] < wide[1:]:
            ops.append(Op(f"%r = arith.extf %x : T to {wide}", 1, kind, wide))
    for narrow in ("f16", "bf16", "f32"):
        if narrow[-2:] < bits[1:]:
            ops.append(Op(f"%r = arith.truncf %x : T to {narrow}", 1, kind, narrow))
    return ops


def _integers(kind):
    ops = []
    shifts = tuple(range(7))
    for name in (
        "addi subi muli divsi divui ceildivsi ceildivui floordivsi remsi remui andi "
        "ori xori maxsi minsi maxui minui"
    ).split():
        ops.append(Op(f"%r = arith.{name} %x, %y : T", 2, kind))
    for name in "shli shrsi shrui".split():
        ops.append(Op(f"%r = arith.{name} %x, %y : T", 2, kind, samples=shifts))
    for predicate in "eq ne slt sle sgt sge ult ule ugt uge".split():
        ops.append(Op(f"%r = arith.cmpi {predicate}, %x, %y : T", 2, kind, "i1"))
    for name in "mulsi_extended mului_extended".split():
        for half in ("low", "high"):
            text = f"%low, %high = arith.{name} %x, %y : T\n "
            text += f"%r = arith.ori %{half}, %{half} : T"
            ops.append(Op(text, 2, kind))
    text = "%sum, %r = arith.addui_extended %x, %y : T, i1"
    ops.append(Op(text, 2, kind, "i1"))
    if kind != "index":
        for name in "absi ctlz cttz ctpop".split():
            ops.append(Op(f"%r = math.{name} %x : T", 1, kind))
        ops.append(Op("%r = math.ipowi %x, %y : T", 2, kind))
        for power in (0, 1, 2, 5, -1, -2):
            text = f"%n = arith.constant {power} : T\n %r = math.ipowi %x, %n : T"
            ops.append(Op(text, 1, kind))
        for float_ in ("f16", "bf16", "f32", "f64"):
            for name in ("sitofp", "uitofp"):
                text = f"%r = arith.{name} %x : T to {float_}"
                ops.append(Op(text, 1, kind, float_))
        for cast, other in (("index_cast", "casts"), ("index_castui", "castu")):
            ops.append(Op(f"%r = arith.{cast} %x : T to index", 1, kind, "index"))
            ops.append(Op(f"%r = index.{other} %x : T to index", 1, kind, "index"))
    width = int(kind[1:]) if kind != "index" else 0
    for wide in ("i16", "i32", "i64"):
        if 0 < width < int(wide[1:]):
            for name in ("extsi", "extui"):
                ops.append(Op(f"%r = arith.{name} %x : T to {wide}", 1, kind, wide))
    for narrow in ("i1", "i8", "i32"):
        if width > int(narrow[1:]):
            ops.append(Op(f"%r = arith.trunci %x : T to {narrow}", 1, kind, narrow))
    return ops


def _indices():
    ops = []
    for name in (
        "add sub mul divs divu ceildivs ceildivu floordivs rems remu and or xor maxs "
        "mins maxu minu"
    ).split():
        ops.append(Op(f"%r = index.{name} %x, %y", 2, "index"))
    for name in "shl shrs shru".split():
        ops.append(Op(f"%r = index.{name} %x, %y", 2, "index", samples=tuple(range(7))))
    for predicate in "eq ne slt sle sgt sge ult ule ugt uge".split():
        text = f"%r = index.cmp {predicate}(%x, %y)"
        ops.append(Op(text, 2, "index", "i1"))
    for narrow in ("i8", "i32", "i64"):
        ops.append(Op(f"%r = index.casts %x : index to {narrow}", 1, "index", narrow))
    ops.append(Op("%n = index.sizeof\n %r = index.add %n, %x", 1, "index"))
    ops.append(Op("%n = index.constant 5\n %r = index.add %n, %x", 1, "index"))
    ops.append(Op("%r = index.bool.constant true", 1, "index", "i1"))
    return ops


def _others():
    text = "%p = arith.cmpf olt, %x, %y : T\n %r = arith.select %p, %x, %z : T"
    ops = [Op(text, 3, samples=FEW), Op("%r = arith.constant 1.5 : f32")]
    text = "%p = arith.cmpf olt, %x, %y : T\n %r = arith.{} %p, %p : i1"
    for name in "andi ori xori addi muli".split():
        ops.append(Op(text.format(name), 2, result="i1"))
    return ops


OPS = [op for kind in ("f32", "f16", "bf16", "f64") for op in _floats(kind)]
OPS += [op for kind in ("i8", "i32", "i64", "index") for op in _integers(kind)]
OPS += _indices() + _others()

_NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "bf16": "<V2"}


def _memory(kind):
    """The type of a capture."""
    return "i64" if kind == "index" else kind


def _samples(op):
    if op.samples:
        return list(op.samples)
    if "f" in op.kind:
        return FLOATS
    return INTS[64 if op.kind == "index" else int(op.kind[1:])]


def _encode(values, kind):
    if kind == "bf16":
        bits = numpy.array(values, "f4").view("u4")
        return ((bits + 0x8000) >> 16).astype("u2").view("V2")
    return numpy.array(values, _NUMPY.get(kind, f"i{int(_memory(kind)[1:] or 8) // 8}"))


def _score(op):
    """What a score is from %r: a number that is neither infinite nor too large."""
    result = op.result or op.kind
    if result == "i1":
        return """
      %one = arith.constant 1.0 : f32
      %two = arith.constant 2.0 : f32
      %score = arith.select %r, %one, %two : f32"""
    if "f" in result:
        cast = ""
        if result in ("f16", "bf16"):
            cast = f"%f = arith.extf %r : {result} to f32"
        elif result == "f64":
            cast = "%f = arith.truncf %r : f64 to f32"
        value = "%f" if cast else "%r"
        return f"""
      {cast}
      %most = arith.constant 1.0e4 : f32
      %least = arith.constant -1.0e4 : f32
      %none = arith.constant 2.0e4 : f32
      %is_none = arith.cmpf uno, {value}, {value} : f32
      %is_most = arith.cmpf ogt, {value}, %most : f32
      %is_least = arith.cmpf olt, {value}, %least : f32
      %s0 = arith.select %is_most, %most, {value} : f32
      %s1 = arith.select %is_least, %least, %s0 : f32
      %score = arith.select %is_none, %none, %s1 : f32"""
    cast = "%w = arith.addi %r, %zero : i64"
    if result == "index":
        cast = "%w = arith.index_cast %r : index to i64"
    elif result != "i64":
        cast = f"%w = arith.extsi %r : {result} to i64"
    return f"""
      %zero = arith.constant 0 : i64
      %c32 = arith.constant 32 : i64
      %c16 = arith.constant 16 : i64
      %ones = arith.constant 65535 : i64
      {cast}
      %w0 = arith.shrui %w, %c32 : i64
      %w1 = arith.xori %w, %w0 : i64
      %w2 = arith.shrui %w1, %c16 : i64
      %w3 = arith.xori %w1, %w2 : i64
      %w4 = arith.andi %w3, %ones : i64
      %score = arith.sitofp %w4 : i64 to f32"""


def _region(op, captures):
    """The score of an operation, whose operands are captured."""
    lines = []
    for letter, capture in zip("xyz", captures):
        read = f"tensor.extract {capture}[%i] : tensor<?x{_memory(op.kind)}>"
        if op.kind == "index":
            lines.append(f"%{letter}m = {read}")
            lines.append(f"%{letter} = arith.index_cast %{letter}m : i64 to index")
        else:
            lines.append(f"%{letter} = {read}")
    lines.append(op.text.replace(": T", f": {op.kind}"))
    lines.append(_score(op))
    return "\n      ".join(lines)


def _attention(number, op, captures):
    names = [f"%{letter}{number}" for letter in "xyz"][: op.operands]
    inner = [f"%{letter}s" for letter in "xyz"][: op.operands]
    types = ", ".join(captures)
    return f"""
  %o{number}, %l{number} = attn.attention
    ins(%q, %k, %k : !q, !k, !k)
    captures({", ".join(names)} : {types})
    outs(%oi, %li : !q, !l)
    score(%s, %b, %h, %i, %j, {", ".join(inner)}) {{
      {_region(op, inner)}
      attn.yield %score : f32
    }}"""


def check(folder, number, ops):
    """A program of operations, each in an attention, and how to check it."""
    parameters, results, types, body, arguments = [], [], [], [], []
    rows = 0
    for n, op in enumerate(ops):
        captures = [f"tensor<?x{_memory(op.kind)}>"] * op.operands
        columns = list(zip(*itertools.product(_samples(op), repeat=op.operands)))
        for letter, column, capture in zip("xyz", columns, captures):
            name = f"{letter}{n}"
            parameters.append(f"%{name}: {capture}")
            arguments.append((name, column, op.kind))
            rows = max(rows, len(column))
        results.append(f"%l{n}")
        types.append(f'!l {{attn.name = "l{n}"}}')
        body.append(_attention(n, op, captures))
    path = os.path.join(folder, f"check{number}.mlir")
    command = ["attn-run", path, "--target=cpu", "--check"]
    command.append(f"--arg=q=randn:1x1x{rows}x16")
    for name, column, kind in arguments:
        column = list(itertools.islice(itertools.cycle(column), rows))
        values = os.path.join(folder, f"{name}.npy")
        numpy.save(values, _encode(column, kind))
        command.append(f"--arg={name}={values}")
    with open(path, "w") as file:
        file.write(
            f"""!q = tensor<1x1x?x16xf32>
!k = tensor<1x1x1x16xf32>
!l = tensor<1x1x?xf32>
func.func @f(%q: !q, %k: !k, {", ".join(parameters)}) -> ({", ".join(types)}) {{
  %dim = arith.constant 2 : index
  %rows = tensor.dim %q, %dim : !q
  %oi = tensor.empty(%rows) : !q
  %li = tensor.empty(%rows) : !l
{"".join(body)}
  return {", ".join(results)} : {", ".join(["!l"] * len(ops))}
}}
"""
        )
    return command


def has_gpu_form(op):
    """Functions on f64 are for a CPU alone."""
    functions = "absf ceil copysign floor fma isfinite isinf isnan isnormal round "
    functions += "roundeven trunc clampf"
    if op.kind != "f64" or not op.name.startswith("math."):
        return True
    # Small powers are products.
    is_product = re.search(r"constant -?[0-4] ", op.text)
    return op.name[5:] in functions.split() or bool(is_product)


def compile_(folder, number, ops):
    """A program of operations, all in one attention, and how to compile it."""
    kinds = sorted({_memory(op.kind) for op in ops})
    captures = [f"%c_{kind}" for kind in kinds]
    types = [f"tensor<3x?x{kind}>" for kind in kinds]
    lines = []
    for n, op in enumerate(ops):
        names = [f"%c_{_memory(op.kind)}"] * op.operands
        text = _region(op, names)
        for place in range(3):
            read = f"[%i] : tensor<?x{_memory(op.kind)}>"
            with_place = f"[%place{place}, %i] : tensor<3x?x{_memory(op.kind)}>"
            text = text.replace(read, with_place, 1)
        # Names of its own.
        shared = r"(?!c_|place|i\b)"
        lines.append(re.sub(rf"%{shared}(\w+)", rf"%\1_{n}", text))
        before = f"%sum{n - 1}" if n else "%s"
        lines.append(f"%sum{n} = arith.addf {before}, %score_{n} : f32")
    parameters = [f"{name}: {type_}" for name, type_ in zip(captures, types)]
    path = os.path.join(folder, f"compile{number}.mlir")
    body = "\n      ".join(lines)
    with open(path, "w") as file:
        file.write(
            f"""!q = tensor<1x1x?x16xf16>
func.func @f(%q: !q, {", ".join(parameters)}, %o: !q) -> !q {{
  %r = attn.attention
    ins(%q, %q, %q : !q, !q, !q)
    captures({", ".join(captures)} : {", ".join(types)})
    outs(%o : !q)
    score(%s, %b, %h, %i, %j, {", ".join(captures)}) {{
      %place0 = arith.constant 0 : index
      %place1 = arith.constant 1 : index
      %place2 = arith.constant 2 : index
      {body}
      attn.yield %sum{len(ops) - 1} : f32
    }}
  return %r : !q
}}
"""
        )
    return ["attn-run", path, "--target=cuda", "--emit=ptx", f"--emit-to={path}.ptx"]


def all_names():
    """The operations of the three dialects, as upstream documents them."""
    tool = shutil.which("mlir-tblgen")
    include = os.path.join(os.path.dirname(os.path.realpath(tool)), "..", "include")
    names = set()
    for dialect in ("Arith", "Math", "Index"):
        file = f"{include}/mlir/Dialect/{dialect}/IR/{dialect}Ops.td"
        command = [tool, "-gen-op-doc", "-I", include, file]
        text = subprocess.run(command, capture_output=True, text=True, check=True)
        names |= set(re.findall(r"^### `([a-z0-9_.]+)`", text.stdout, re.MULTILINE))
    return names


def main():
    if sys.argv[1] == "missing":
        print("missing:", *sorted(all_names() - {op.name for op in OPS}))
        return 0
    folder, shard = sys.argv[2:4]
    os.makedirs(folder, exist_ok=True)
    make, ops, size = check, OPS, 12
    if sys.argv[1] == "compile":
        make, ops, size = compile_, [op for op in OPS if has_gpu_form(op)], 8
    # Each on some type.
    ops = shards.part(shards.sample_each(ops, lambda op: op.text), shard)
    wrong = 0
    for first in range(0, len(ops), size):
        part = ops[first : first + size]
        done = subprocess.run(make(folder, first, part), capture_output=True, text=True)
        if done.returncode == 0:
            continue
        wrong += 1
        print(*(f"l{n}: {op.text}" for n, op in enumerate(part)), sep="\n")
        print(done.stdout, done.stderr)
    print(f"{len(ops)} operations, {wrong} programs wrong")
    return 1 if wrong or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
