"""Masks, each in spellings that mean the same.

The lines of a spelling are shorthand: `name = op operands : type` without `%` in
front of names and without `arith.`; `c5` is a constant of the type of its line.
"""

import re

# Captures by name, with the names of the families that have them.
_CAPTURES = {
    "size": "index",
    "narrow": "i32",
    "queries": "index",
    "keys": "index",
    "prefix": "tensor<?xi32>",
    "ids": "tensor<?x?xi32>",
}

# What several spellings begin with.
_I32 = "i4 = index_cast i : index to i32; j4 = index_cast j : index to i32; "
_I64 = "i8 = index_cast i : index to i64; j8 = index_cast j : index to i64; "
_READ_PREFIX = "n4 = extract prefix[b] : tensor<?xi32>; n = index_cast n4 : i32 to index; "
_READ_IDS = (
    "mine = extract ids[b, i] : tensor<?x?xi32>; "
    "other = extract ids[b, j] : tensor<?x?xi32>; "
)
_CAUSAL = "causal = cmpi sle, j, i : index; "

FAMILIES = {
    "causal": (
        [],
        [
            "p = cmpi sle, j, i : index",
            "p = cmpi sge, i, j : index",
            "q = cmpi sgt, j, i : index; p = xori q, c1 : i1",
            "d = subi i, j : index; p = cmpi sge, d, c0 : index",
            "d = subi j, i : index; p = cmpi slt, d, c1 : index",
            "n = addi i, c1 : index; p = cmpi slt, j, n : index",
            "p = cmpi ule, j, i : index",
            "a = muli j, c2 : index; b2 = muli i, c2 : index; e = addi b2, c1 : index;"
            " p = cmpi slt, a, e : index",
            _I32 + "p = cmpi sle, j4, i4 : i32",
            _I64 + "d = subi j8, i8 : i64; p = cmpi sle, d, c0 : i64",
            _I32 + "j6 = extsi j4 : i32 to i64; i6 = extsi i4 : i32 to i64;"
            " p = cmpi uge, i6, j6 : i64",
            "q = cmpi sge, i, j : index; r = cmpi sle, j, i : index; p = andi q, r : i1",
            "x = maxsi i, j : index; p = cmpi eq, x, i : index",
            "q = cmpi slt, j, i : index; r = cmpi eq, i, j : index; p = ori q, r : i1",
            "q = cmpi slt, i, j : index; p = select q, c0, c1 : i1",
        ],
    ),
    "window": (
        [],
        [
            _CAUSAL + "d = subi i, j : index; w = cmpi slt, d, c1024 : index; p = andi causal, w : i1",
            _CAUSAL + "e = addi j, c1024 : index; w = cmpi slt, i, e : index; p = andi causal, w : i1",
            _CAUSAL + "e = subi i, c1024 : index; w = cmpi sgt, j, e : index; p = andi w, causal : i1",
            "d = subi i, j : index; a = cmpi sge, d, c0 : index; w = cmpi sle, d, c1023 : index;"
            " p = andi a, w : i1",
            "d = subi i, j : index; p = cmpi ult, d, c1024 : index",
            _CAUSAL + "d = subi j, i : index; w = cmpi sgt, d, c-1024 : index; p = andi w, causal : i1",
            "a = cmpi sgt, j, i : index; d = subi i, j : index; o = cmpi sge, d, c1024 : index;"
            " n = ori o, a : i1; p = xori n, c1 : i1",
            _I32 + "d = subi i4, j4 : i32; a = cmpi sle, c0, d : i32; w = cmpi sgt, c1024, d : i32;"
            " p = andi a, w : i1",
            _I64 + "d = subi i8, j8 : i64; p = cmpi ugt, c1024, d : i64",
            _CAUSAL + "d = subi i, j : index; t = absi d : index; w = cmpi slt, t, c1024 : index;"
            " p = andi causal, w : i1",
            "l = subi i, c1023 : index; m = maxsi l, j : index; a = cmpi eq, m, j : index;"
            " n = minsi j, i : index; e = cmpi eq, n, j : index; p = andi a, e : i1",
            "d = subi i, j : index; w = cmpi slt, d, c1024 : index; p = select w, causal, c0 : i1".replace(
                "d =", _CAUSAL + "d ="
            ),
        ],
    ),
    # The size comes with the call, in bits that may not be enough for a sum.
    "window-of-size": (
        ["size"],
        [
            _CAUSAL + "d = subi i, j : index; w = cmpi slt, d, size : index; p = andi causal, w : i1",
            _CAUSAL + "e = addi j, size : index; w = cmpi slt, i, e : index; p = andi causal, w : i1",
            _CAUSAL + "e = subi i, size : index; w = cmpi sgt, j, e : index; p = andi w, causal : i1",
            _CAUSAL + "e = addi size, j : index; w = cmpi sle, e, i : index; n = xori w, c1 : i1;"
            " p = andi n, causal : i1",
            _CAUSAL + "d = subi j, i : index; e = addi d, size : index; w = cmpi sgt, e, c0 : index;"
            " p = andi causal, w : i1",
            _CAUSAL + _I64 + "s8 = index_cast size : index to i64; d = subi i8, j8 : i64;"
            " w = cmpi sgt, s8, d : i64; p = andi causal, w : i1",
        ],
    ),
    "window-of-narrow-size": (
        ["narrow"],
        [
            _CAUSAL + "s = index_cast narrow : i32 to index; d = subi i, j : index;"
            " w = cmpi slt, d, s : index; p = andi causal, w : i1",
            _CAUSAL + "s = index_cast narrow : i32 to index; e = addi j, s : index;"
            " w = cmpi slt, i, e : index; p = andi causal, w : i1",
            _CAUSAL + _I32 + "d = subi i4, j4 : i32; w = cmpi slt, d, narrow : i32;"
            " p = andi causal, w : i1",
            _CAUSAL + _I64 + "s = extsi narrow : i32 to i64; e = subi i8, s : i64;"
            " w = cmpi sgt, j8, e : i64; p = andi w, causal : i1",
            _CAUSAL + "s = index_cast narrow : i32 to index; d = subi j, i : index;"
            " e = addi s, d : index; w = cmpi sgt, e, c0 : index; p = andi causal, w : i1",
            _CAUSAL + _I32 + "d = subi i4, j4 : i32; w = cmpi sge, d, narrow : i32;"
            " n = xori w, c1 : i1; p = andi causal, n : i1",
        ],
    ),
    "window-both-sides": (
        [],
        [
            "d = subi i, j : index; t = absi d : index; p = cmpi slt, t, c96 : index",
            "d = subi j, i : index; t = absi d : index; p = cmpi sle, t, c95 : index",
            "d = subi i, j : index; a = cmpi slt, d, c96 : index; e = cmpi sgt, d, c-96 : index;"
            " p = andi a, e : i1",
            "d = subi i, j : index; e = subi j, i : index; m = maxsi d, e : index;"
            " p = cmpi slt, m, c96 : index",
            "l = subi i, c96 : index; h2 = addi i, c96 : index; a = cmpi sgt, j, l : index;"
            " e = cmpi slt, j, h2 : index; p = andi e, a : i1",
            "d = subi i, j : index; e = addi d, c95 : index; p = cmpi ule, e, c190 : index",
            _I32 + "d = subi i4, j4 : i32; t = absi d : i32; n = cmpi sge, t, c96 : i32;"
            " p = xori n, c1 : i1",
        ],
    ),
    "bottom-right": (
        ["queries", "keys"],
        [
            "o = subi keys, queries : index; e = addi i, o : index; p = cmpi sle, j, e : index",
            "o = subi keys, queries : index; e = subi j, i : index; p = cmpi sge, o, e : index",
            "x = subi j, keys : index; y = subi i, queries : index; p = cmpi sle, x, y : index",
            "x = addi j, queries : index; y = addi i, keys : index; p = cmpi sgt, x, y : index;"
            " p0 = xori p, c1 : i1".replace("p = cmpi", "q = cmpi").replace("p0 = xori p", "p = xori q"),
            "x = subi queries, i : index; y = subi keys, j : index; p = cmpi sge, y, x : index",
            "o = subi queries, keys : index; e = addi j, o : index; p = cmpi sge, i, e : index",
            _I64 + "q8 = index_cast queries : index to i64; k8 = index_cast keys : index to i64;"
            " e = addi i8, k8 : i64; f = subi e, q8 : i64; g = addi f, c1 : i64; p = cmpi sgt, g, j8 : i64",
        ],
    ),
    "prefix": (
        ["prefix"],
        [
            _READ_PREFIX + _CAUSAL + "in = cmpi slt, j, n : index; p = ori causal, in : i1",
            _READ_PREFIX + _CAUSAL + "in = cmpi sgt, n, j : index; p = ori in, causal : i1",
            _READ_PREFIX + "e = addi i, c1 : index; m = maxsi n, e : index; p = cmpi slt, j, m : index",
            _READ_PREFIX + "a = cmpi sgt, j, i : index; out = cmpi sge, j, n : index;"
            " e = andi a, out : i1; p = xori e, c1 : i1",
            _READ_PREFIX + _CAUSAL + "in = cmpi slt, j, n : index; p = select causal, c1, in : i1",
            _READ_PREFIX + _CAUSAL + "d = subi n, j : index; in = cmpi sge, d, c1 : index;"
            " e = ori in, causal : i1; p = ori causal, e : i1",
            "n4 = extract prefix[b] : tensor<?xi32>; " + _I32 + "in = cmpi sgt, n4, j4 : i32;"
            " a = cmpi sge, i4, j4 : i32; p = ori a, in : i1",
            _READ_PREFIX + "e = addi i, c1 : index; g = cmpi slt, n, e : index;"
            " m = select g, e, n : index; p = cmpi sgt, m, j : index",
        ],
    ),
    "documents": (
        ["ids"],
        [
            _READ_IDS + "p = cmpi eq, mine, other : i32",
            _READ_IDS + "p = cmpi eq, other, mine : i32",
            "other = extract ids[b, j] : tensor<?x?xi32>; mine = extract ids[b, i] : tensor<?x?xi32>;"
            " n = cmpi ne, other, mine : i32; p = xori n, c1 : i1",
            _READ_IDS + "d = subi mine, other : i32; p = cmpi eq, d, c0 : i32",
            _READ_IDS + "d = xori other, mine : i32; n = cmpi ne, d, c0 : i32; p = select n, c0, c1 : i1",
            _READ_IDS + "a = cmpi sge, mine, other : i32; e = cmpi sge, other, mine : i32;"
            " p = andi a, e : i1",
            _READ_IDS + "a = extsi mine : i32 to i64; e = extsi other : i32 to i64;"
            " p = cmpi eq, e, a : i64",
            _READ_IDS + "a = cmpi slt, mine, other : i32; e = cmpi slt, other, mine : i32;"
            " n = ori e, a : i1; p = xori n, c1 : i1",
        ],
    ),
    "documents-causal": (
        ["ids"],
        [
            _READ_IDS + _CAUSAL + "e = cmpi eq, mine, other : i32; p = andi e, causal : i1",
            _CAUSAL + _READ_IDS + "e = cmpi eq, other, mine : i32; p = andi causal, e : i1",
            _READ_IDS + "d = subi i, j : index; f = cmpi sge, d, c0 : index;"
            " e = cmpi eq, other, mine : i32; p = andi f, e : i1",
            _READ_IDS + _CAUSAL + "e = cmpi eq, mine, other : i32; p = select e, causal, c0 : i1",
            _READ_IDS + "a = cmpi slt, i, j : index; n = cmpi ne, mine, other : i32;"
            " e = ori a, n : i1; p = xori e, c1 : i1",
            _READ_IDS + _CAUSAL + "e = cmpi eq, mine, other : i32; f = andi causal, e : i1;"
            " g = andi e, f : i1; p = andi g, causal : i1",
        ],
    ),
    "blocks": (
        [],
        [
            "x = divui i, c256 : index; y = divui j, c256 : index; p = cmpi eq, x, y : index",
            "x = floordivsi j, c256 : index; y = divsi i, c256 : index; p = cmpi eq, x, y : index",
            "x = shrui i, c8 : index; y = shrsi j, c8 : index; n = cmpi ne, x, y : index;"
            " p = xori n, c1 : i1",
            "x = divui i, c256 : index; y = divui j, c256 : index; d = subi x, y : index;"
            " p = cmpi eq, d, c0 : index",
            _I32 + "x = divsi i4, c256 : i32; y = shrsi j4, c8 : i32; p = cmpi eq, y, x : i32",
            "x = divui i, c256 : index; y = divui j, c256 : index; a = cmpi sle, x, y : index;"
            " e = cmpi sle, y, x : index; p = andi a, e : i1",
            "x = divui i, c256 : index; l = muli x, c256 : index; h2 = addi l, c256 : index;"
            " a = cmpi sge, j, l : index; e = cmpi slt, j, h2 : index; p = andi a, e : i1",
            "x = divui i, c256 : index; l = shli x, c8 : index; d = subi j, l : index;"
            " p = cmpi ult, d, c256 : index",
        ],
    ),
    "dilated": (
        [],
        [
            _CAUSAL + "d = subi i, j : index; r = remsi d, c4 : index; z = cmpi eq, r, c0 : index;"
            " p = andi causal, z : i1",
            _CAUSAL + "d = subi j, i : index; r = remsi d, c4 : index; z = cmpi eq, c0, r : index;"
            " p = andi z, causal : i1",
            _CAUSAL + "d = subi i, j : index; r = andi d, c3 : index; z = cmpi ne, r, c0 : index;"
            " n = xori z, c1 : i1; p = andi causal, n : i1",
            _CAUSAL + "x = remui i, c4 : index; y = remui j, c4 : index; z = cmpi eq, x, y : index;"
            " p = andi causal, z : i1",
            _CAUSAL + "x = andi i, c3 : index; y = remsi j, c4 : index; d = subi y, x : index;"
            " z = cmpi eq, d, c0 : index; p = andi causal, z : i1",
            _CAUSAL + _I32 + "d = subi i4, j4 : i32; r = remsi d, c4 : i32;"
            " z = cmpi eq, r, c0 : i32; p = andi causal, z : i1",
            _CAUSAL + "d = addi i, c8 : index; e = subi d, j : index; r = andi c3, e : index;"
            " z = cmpi eq, r, c0 : index; p = select causal, z, c0 : i1",
        ],
    ),
    # Every third key, from the first of each head.
    "dilated-by-three": (
        [],
        [
            "d = subi j, h : index; r = remsi d, c3 : index; p = cmpi eq, r, c0 : index",
            "d = subi h, j : index; r = remsi d, c3 : index; p = cmpi eq, r, c0 : index",
            "x = remui j, c3 : index; y = remui h, c3 : index; p = cmpi eq, y, x : index",
            "d = addi j, c3 : index; e = subi d, h : index; r = remsi e, c3 : index;"
            " n = cmpi ne, c0, r : index; p = xori n, c1 : i1",
            "t = muli h, c2 : index; d = addi j, t : index; r = remui d, c3 : index;"
            " p = cmpi eq, r, c0 : index",
            _I64 + "h8 = index_cast h : index to i64; d = subi j8, h8 : i64;"
            " r = remsi d, c3 : i64; p = cmpi eq, r, c0 : i64",
        ],
    ),
}

# Bounds of a minimum are two, and of a choice by head one for each head.
FAMILIES["padded"] = (
    ["size"],
    [
        _CAUSAL + "a = cmpi slt, j, size : index; p = andi causal, a : i1",
        "e = addi i, c1 : index; m = minsi e, size : index; p = cmpi slt, j, m : index",
        "e = addi i, c1 : index; g = cmpi slt, e, size : index; m = select g, e, size : index;"
        " p = cmpi slt, j, m : index",
        _CAUSAL + "a = cmpi sge, j, size : index; n = xori a, c1 : i1; p = andi n, causal : i1",
        _CAUSAL + "a = cmpi sgt, size, j : index; p = select a, causal, c0 : i1",
        "m = minsi size, i : index; x = addi j, c1 : index; a = cmpi sle, x, size : index;"
        " e = cmpi sle, j, i : index; f = andi a, e : i1; p = andi f, a : i1",
    ],
)
FAMILIES["head-window"] = (
    [],
    [
        "g = cmpi slt, h, c4 : index; w = select g, c64, c512 : index; d = subi i, j : index;"
        " p = cmpi ult, d, w : index",
        "g = cmpi slt, h, c4 : index; w = select g, c64, c512 : index; e = subi i, w : index;"
        " a = cmpi sgt, j, e : index; f = cmpi sle, j, i : index; p = andi f, a : i1",
        "g = cmpi sge, h, c4 : index; w = select g, c512, c64 : index; e = addi j, w : index;"
        " a = cmpi slt, i, e : index; f = cmpi sle, j, i : index; p = andi a, f : i1",
        "g = cmpi ugt, c4, h : index; w = select g, c64, c512 : index; d = subi i, j : index;"
        " a = cmpi slt, d, w : index; f = cmpi sge, d, c0 : index; p = andi a, f : i1",
        "g = cmpi sle, h, c3 : index; w = select g, c64, c512 : index; d = subi j, i : index;"
        " e = addi d, w : index; a = cmpi sge, e, c1 : index; f = cmpi sle, d, c0 : index;"
        " p = andi a, f : i1",
        "g = cmpi slt, h, c4 : index; w = select g, c64, c512 : index; " + _I64 +
        "v = index_cast w : index to i64; d = subi i8, j8 : i64; a = cmpi sge, d, v : i64;"
        " f = cmpi slt, d, c0 : i64; n = ori a, f : i1; p = xori n, c1 : i1",
    ],
)


def get_captures(family):
    """(name, type) of what a family captures."""
    return [(f"%{name}", _CAPTURES[name]) for name in FAMILIES[family][0]]


def get_body(spelling):
    """The operations of a mask region, which yield %p."""
    lines, constants = [], {}
    for line in filter(None, map(str.strip, spelling.split(";"))):
        name, op, rest, type_ = re.fullmatch(r"(\w+) = (\w+) (.*) : (.*)", line).groups()
        operand_type = type_.split(" ")[0]

        def operand(match):
            word = match[0]
            number = re.fullmatch(r"c(-?\d+)", word)
            if not number:
                return f"%{word}"
            # Of a choice, constants have its type.
            key = f"%c{number[1].replace('-', 'm')}_{operand_type}"
            value = number[1]
            if operand_type == "i1":
                value = "true" if value == "1" else "false"
            constants[key] = (
                f"{key} = arith.constant {value}"
                + ("" if operand_type == "i1" else f" : {operand_type}")
            )
            return key

        predicate = ""
        if op == "cmpi":
            predicate, rest = rest.split(", ", 1)
            predicate += ", "
        rest = re.sub(r"c-\d+|\w+", operand, rest)
        dialect = {"extract": "tensor", "absi": "math"}.get(op, "arith")
        lines.append(f"%{name} = {dialect}.{op} {predicate}{rest} : {type_}")
    lines.append("attn.yield %p : i1")
    return "".join(f"        {line}\n" for line in [*constants.values(), *lines])
