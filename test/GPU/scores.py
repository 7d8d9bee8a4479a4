"""Variants that differ in what becomes of a score."""

import numpy

from masks import MASKS
from programs import Capture, Variant

# The distance of a key behind a query, as %d and as the float %df.
_DISTANCE = """%d = arith.subi %j, %i : index
               %di = arith.index_cast %d : index to i32
               %df = arith.sitofp %di : i32 to f32
               """
_CAUSAL_MASK = {
    "mask": "%p = arith.cmpi sle, %j, %i : index",
    "mask_of": lambda x, b, h, i, j, c: j <= i,
}


def _slopes(draw, case):
    # As the authors of ALiBi choose them.
    return [2.0 ** (-8.0 * (h + 1) / case.heads) for h in range(case.heads)]


_SLOPES = Capture("slopes", "tensor<?xf32>", _slopes)


def _some_slopes(draw, case):
    """Some that no product can have, next to others that it can."""
    slopes = [16.0, 0.0, 2.0**20, -0.5, 2.0**-20, 100.0, -5.0, 0.125]
    return [slopes[h % len(slopes)] for h in range(case.heads)]


def _row_slopes(draw, case):
    """Some rows are steep."""
    slopes = draw.standard_normal((case.heads, case.queries))
    return numpy.where(draw.random(slopes.shape) < 0.02, 1000.0 * slopes, slopes)


def _normal(name, type_, shape, factor=1.0):
    return Capture(
        name, type_, lambda draw, case: factor * draw.standard_normal(shape(case))
    )


def _cap(value, before="%s"):
    return f"""%cap = arith.constant {value:e} : f32
               %over = arith.divf {before}, %cap : f32
               %t = math.tanh %over : f32
               """


def _dense(name, indices, shape):
    rank = "x".join("?" * (indices.count(",") + 1))
    return Variant(
        name,
        captures=(_normal("bias", f"tensor<{rank}x{{t}}>", shape),),
        score=f"""%e = tensor.extract %bias[{indices}] : tensor<{rank}x{{t}}>
                  %x = arith.extf %e : {{t}} to f32
                  %y = arith.addf %s, %x : f32""",
        score_of={
            "%i, %j": lambda x, s, b, h, i, j, c: s + c.bias[i, j],
            "%h, %i, %j": lambda x, s, b, h, i, j, c: s + c.bias[h, i, j],
            "%b, %h, %i, %j": lambda x, s, b, h, i, j, c: s + c.bias[b, h, i, j],
        }[indices],
    )


_ALIBI = {
    "captures": (_SLOPES,),
    "score": _DISTANCE
    + """%slope = tensor.extract %slopes[%h] : tensor<?xf32>
         %x = arith.mulf %slope, %df : f32
         %y = arith.addf %s, %x : f32""",
    "score_of": lambda x, s, b, h, i, j, c: s + c.slopes[h] * (j - i),
}
_DOCUMENTS = next(mask for mask in MASKS if mask.name == "documents-causal")

_RELATIVE = {
    "captures": (
        _normal(
            "table",
            "tensor<?x?xf32>",
            lambda case: (case.heads, case.queries + case.keys),
        ),
        Capture("shift", "index", lambda draw, case: case.keys),
    ),
    "score": """%n = arith.subi %i, %j : index
                %at = arith.addi %n, %shift : index
                %x = tensor.extract %table[%h, %at] : tensor<?x?xf32>
                %y = arith.addf %s, %x : f32""",
    "score_of": lambda x, s, b, h, i, j, c: s + c.table[h, i - j + c.shift],
}

SCORES = [
    Variant("scale-given", scale=0.03125),
    Variant("scale-negative", scale=-0.21),
    Variant("scale-zero", scale=0.0),
    Variant(
        "times-two",
        score="%y = arith.addf %s, %s : f32",
        score_of=lambda x, s, b, h, i, j, c: s + s,
    ),
    Variant(
        "squared",
        score="%y = arith.mulf %s, %s : f32",
        score_of=lambda x, s, b, h, i, j, c: s * s,
    ),
    # A slope for each head times the distance.
    Variant("alibi", **_ALIBI, **_CAUSAL_MASK),
    Variant(
        "alibi-both-sides",
        captures=(_SLOPES,),
        score=_DISTANCE
        + """%slope = tensor.extract %slopes[%h] : tensor<?xf32>
             %a = math.absf %df : f32
             %x = arith.mulf %slope, %a : f32
             %y = arith.subf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s - c.slopes[h] * abs(j - i),
    ),
    # A bias for each head and distance.
    Variant("relative-table", **_RELATIVE),
    # Without a factor, as T5 has it.
    Variant("relative-unscaled", scale=1.0, **_RELATIVE),
    # A sum of scores themselves.
    Variant(
        "doubled",
        scale=1.0,
        score="""%limit = arith.constant 9.0 : f32
                 %t = arith.addf %s, %s : f32
                 %y = arith.minimumf %t, %limit : f32""",
        score_of=lambda x, s, b, h, i, j, c: (s + s).clip(max=9.0),
    ),
    # The same for distances up to 8; what is farther counts as 8.
    Variant(
        "relative-clamped",
        captures=(_normal("table", "tensor<?x17x{t}>", lambda case: (case.heads, 17)),),
        score="""%low = arith.constant -8 : index
                 %high = arith.constant 8 : index
                 %n = arith.subi %i, %j : index
                 %up = arith.maxsi %n, %low : index
                 %in = arith.minsi %up, %high : index
                 %at = arith.addi %in, %high : index
                 %e = tensor.extract %table[%h, %at] : tensor<?x17x{t}>
                 %x = arith.extf %e : {t} to f32
                 %y = arith.addf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s + c.table[h, (i - j).clip(-8, 8) + 8],
        **_CAUSAL_MASK,
    ),
    Variant(
        "head-bias",
        captures=(_normal("bias", "tensor<?xf32>", lambda case: (case.heads,)),),
        score="""%x = tensor.extract %bias[%h] : tensor<?xf32>
                 %y = arith.addf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s + c.bias[h],
    ),
    Variant(
        "head-scale",
        captures=(_normal("factor", "tensor<?x{t}>", lambda case: (case.heads,)),),
        score="""%e = tensor.extract %factor[%h] : tensor<?x{t}>
                 %x = arith.extf %e : {t} to f32
                 %y = arith.mulf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s * c.factor[h],
        **_CAUSAL_MASK,
    ),
    Variant(
        "row-and-key-bias",
        captures=(
            _normal("row", "tensor<?x{t}>", lambda case: (case.queries,)),
            _normal("key", "tensor<?x?xf32>", lambda case: (case.batch, case.keys)),
        ),
        score="""%r = tensor.extract %row[%i] : tensor<?x{t}>
                 %rf = arith.extf %r : {t} to f32
                 %k = tensor.extract %key[%b, %j] : tensor<?x?xf32>
                 %x = arith.addf %rf, %k : f32
                 %y = arith.addf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s + (c.row[i] + c.key[b, j]),
    ),
    _dense("bias-ij", "%i, %j", lambda case: (case.queries, case.keys)),
    _dense(
        "bias-hij", "%h, %i, %j", lambda case: (case.heads, case.queries, case.keys)
    ),
    _dense(
        "bias-bhij",
        "%b, %h, %i, %j",
        lambda case: (case.batch, case.heads, case.queries, case.keys),
    ),
    Variant(
        "bias-bhij-f32-causal",
        captures=(
            _normal(
                "bias",
                "tensor<?x?x?x?xf32>",
                lambda case: (case.batch, case.heads, case.queries, case.keys),
            ),
        ),
        score="""%x = tensor.extract %bias[%b, %h, %i, %j] : tensor<?x?x?x?xf32>
                 %y = arith.addf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s + c.bias[b, h, i, j],
        **_CAUSAL_MASK,
    ),
    # What a table says of the token that a key is.
    Variant(
        "bias-of-token",
        captures=(
            Capture(
                "token",
                "tensor<?x?xi32>",
                lambda draw, case: draw.integers(0, 29, (case.batch, case.keys)),
            ),
            _normal("bias", "tensor<29xf32>", lambda case: (29,)),
        ),
        score="""%n32 = tensor.extract %token[%b, %j] : tensor<?x?xi32>
                 %n = arith.index_cast %n32 : i32 to index
                 %x = tensor.extract %bias[%n] : tensor<29xf32>
                 %y = arith.addf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s + c.bias[c.token[b, j]],
    ),
    Variant(
        "softcap",
        score=_cap(2.0) + "%y = arith.mulf %t, %cap : f32",
        score_of=lambda x, s, b, h, i, j, c: 2 * x.tanh(s / 2),
    ),
    # The cap is finite at -inf: a mask that acted before it would be undone.
    Variant(
        "softcap-causal",
        score=_cap(1.5) + "%y = arith.mulf %t, %cap : f32",
        score_of=lambda x, s, b, h, i, j, c: 1.5 * x.tanh(s / 1.5),
        **_CAUSAL_MASK,
    ),
    Variant(
        "softcap-window",
        captures=(Capture("size", "index", lambda draw, case: 45),),
        score=_cap(20.0) + "%y = arith.mulf %t, %cap : f32",
        score_of=lambda x, s, b, h, i, j, c: 20 * x.tanh(s / 20),
        mask="""%causal = arith.cmpi sle, %j, %i : index
                %n = arith.subi %i, %j : index
                %near = arith.cmpi slt, %n, %size : index
                %p = arith.andi %causal, %near : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & (i - j < c.size),
    ),
    # s times its sigmoid.
    Variant(
        "gate",
        score="""%one = arith.constant 1.0 : f32
                 %n = arith.negf %s : f32
                 %e = math.exp %n : f32
                 %d = arith.addf %one, %e : f32
                 %y = arith.divf %s, %d : f32""",
        score_of=lambda x, s, b, h, i, j, c: s / (1 + x.exp(-s)),
    ),
    # Scores fade with the distance.
    Variant(
        "decay",
        score=_DISTANCE
        + """%rate = arith.constant -6.25e-02 : f32
             %a = math.absf %df : f32
             %n = arith.mulf %a, %rate : f32
             %f = math.exp2 %n : f32
             %y = arith.mulf %s, %f : f32""",
        score_of=lambda x, s, b, h, i, j, c: s * 2.0 ** (-0.0625 * abs(j - i)),
    ),
    Variant(
        "inverse-distance",
        score=_DISTANCE
        + """%one = arith.constant 1.0 : f32
             %square = arith.mulf %df, %df : f32
             %n = arith.addf %square, %one : f32
             %f = math.rsqrt %n : f32
             %y = arith.mulf %s, %f : f32""",
        score_of=lambda x, s, b, h, i, j, c: s / (1.0 + (j - i) ** 2) ** 0.5,
        **_CAUSAL_MASK,
    ),
    Variant(
        "clamped",
        score="""%low = arith.constant -1.0 : f32
                 %high = arith.constant 0.75 : f32
                 %up = arith.maximumf %s, %low : f32
                 %y = arith.minimumf %up, %high : f32""",
        score_of=lambda x, s, b, h, i, j, c: s.clip(-1, 0.75),
    ),
    Variant(
        "leaky",
        score="""%zero = arith.constant 0.0 : f32
                 %slope = arith.constant 1.25e-01 : f32
                 %n = arith.mulf %s, %slope : f32
                 %positive = arith.cmpf ogt, %s, %zero : f32
                 %y = arith.select %positive, %s, %n : f32""",
        score_of=lambda x, s, b, h, i, j, c: x.where(s > 0, s, s * 0.125),
    ),
    Variant(
        "logarithm",
        score="""%one = arith.constant 1.0 : f32
                 %a = math.absf %s : f32
                 %n = arith.addf %a, %one : f32
                 %l = math.log %n : f32
                 %y = arith.subf %s, %l : f32""",
        score_of=lambda x, s, b, h, i, j, c: s - x.log(abs(s) + 1),
    ),
    Variant(
        "square-root",
        score="""%a = math.absf %s : f32
                 %y = math.sqrt %a : f32""",
        score_of=lambda x, s, b, h, i, j, c: x.sqrt(abs(s)),
    ),
    Variant(
        "scalars",
        captures=(
            Capture("factor", "f32", lambda draw, case: 1.75),
            Capture("shift", "f32", lambda draw, case: -0.5),
            Capture("from", "index", lambda draw, case: 40),
        ),
        score="""%m = arith.mulf %s, %factor : f32
                 %n = arith.addf %m, %shift : f32
                 %far = arith.cmpi sge, %j, %from : index
                 %y = arith.select %far, %n, %m : f32""",
        score_of=lambda x, s, b, h, i, j, c: x.where(
            j >= getattr(c, "from"), s * c.factor + c.shift, s * c.factor
        ),
    ),
    # A mask in the score: what -inf stands for is not seen.
    Variant(
        "score-dependent",
        score="""%none = arith.constant 0xFF800000 : f32
                 %limit = arith.constant 1.0 : f32
                 %less = arith.cmpf ole, %s, %limit : f32
                 %causal = arith.cmpi sle, %j, %i : index
                 %seen = arith.andi %less, %causal : i1
                 %y = arith.select %seen, %s, %none : f32""",
        score_of=lambda x, s, b, h, i, j, c: x.where(
            (s <= 1) & (j <= i), s, float("-inf")
        ),
    ),
    Variant(
        "floor-division",
        score="""%one = arith.constant 1 : index
                 %n = arith.addi %j, %one : index
                 %q = arith.divui %i, %n : index
                 %q32 = arith.index_cast %q : index to i32
                 %x = arith.sitofp %q32 : i32 to f32
                 %y = arith.subf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s - i // (j + 1),
    ),
    # Half of the heads with a cap, and half without.
    Variant(
        "head-dependent-score",
        score="""%two = arith.constant 2 : index
                 %zero = arith.constant 0 : index
                 %rest = arith.remui %h, %two : index
                 %even = arith.cmpi eq, %rest, %zero : index
                 """
        + _cap(4.0)
        + """%capped = arith.mulf %t, %cap : f32
             %y = arith.select %even, %capped, %s : f32""",
        score_of=lambda x, s, b, h, i, j, c: x.where(
            h % 2 == 0, 4 * x.tanh(s / 4), s
        ),
        **_CAUSAL_MASK,
    ),
    # All of it: a cap, a bias of the batch and the head, and a ragged mask.
    Variant(
        "softcap-bias-ragged",
        captures=(
            _normal("bias", "tensor<?x?x{t}>", lambda case: (case.batch, case.heads)),
            Capture(
                "length",
                "tensor<?xi64>",
                lambda draw, case: draw.integers(0, case.keys + 1, case.batch),
            ),
        ),
        score="""%e = tensor.extract %bias[%b, %h] : tensor<?x?x{t}>
                 %x = arith.extf %e : {t} to f32
                 %n = arith.addf %s, %x : f32
                 """
        + _cap(5.0, "%n")
        + "%y = arith.mulf %t, %cap : f32",
        score_of=lambda x, s, b, h, i, j, c: 5 * x.tanh((s + c.bias[b, h]) / 5),
        mask="""%n64 = tensor.extract %length[%b] : tensor<?xi64>
                %n = arith.index_cast %n64 : i64 to index
                %p = arith.cmpi slt, %j, %n : index""",
        mask_of=lambda x, b, h, i, j, c: (j < c.length[b]) & (i >= 0),
    ),
    # Biases that are affine in the key, in other forms.
    Variant("alibi-full", **_ALIBI),
    Variant(
        "alibi-documents",
        **{**_ALIBI, "captures": (_SLOPES, *_DOCUMENTS.captures)},
        mask=_DOCUMENTS.mask,
        mask_of=_DOCUMENTS.mask_of,
    ),
    Variant(
        "alibi-some-slopes",
        **{**_ALIBI, "captures": (Capture("slopes", "tensor<?xf32>", _some_slopes),)},
        **_CAUSAL_MASK,
    ),
    Variant(
        "alibi-rows",
        captures=(Capture("slopes", "tensor<?x?xf32>", _row_slopes),),
        score=_DISTANCE
        + """%slope = tensor.extract %slopes[%h, %i] : tensor<?x?xf32>
             %x = arith.mulf %df, %slope : f32
             %y = arith.subf %s, %x : f32""",
        score_of=lambda x, s, b, h, i, j, c: s - c.slopes[h, i] * (j - i),
        **_CAUSAL_MASK,
    ),
    # Queries that follow keys, slopes that are computed, and a bias of the row.
    Variant(
        "alibi-after",
        captures=(
            Capture("before", "index", lambda draw, case: case.keys - case.queries),
            _normal("row", "tensor<?xf32>", lambda case: (case.queries,)),
        ),
        score="""%at = arith.addi %i, %before : index
                 %d = arith.subi %j, %at : index
                 %d64 = arith.index_cast %d : index to i64
                 %df = arith.sitofp %d64 : i64 to f32
                 %minus = arith.constant -1.0 : f32
                 %h32 = arith.index_cast %h : index to i32
                 %hf = arith.sitofp %h32 : i32 to f32
                 %n = arith.mulf %hf, %minus : f32
                 %slope = math.exp2 %n : f32
                 %x = arith.mulf %slope, %df : f32
                 %r = tensor.extract %row[%i] : tensor<?xf32>
                 %z = arith.addf %s, %r : f32
                 %y = arith.addf %x, %z : f32""",
        score_of=lambda x, s, b, h, i, j, c: (
            s + c.row[i] + 2.0**-h * (j - i - c.before)
        ),
        mask="""%end = arith.addi %i, %before : index
                %p = arith.cmpi sle, %j, %end : index""",
        mask_of=lambda x, b, h, i, j, c: j <= i + c.before,
    ),
]
