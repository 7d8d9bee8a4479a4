"""Variants that differ in what a query may see."""

from programs import Capture, Variant

_CAUSAL = "%causal = arith.cmpi sle, %j, %i : index\n"
# The distance of a key before a query.
_BEFORE = "%d = arith.subi %i, %j : index\n"


def _scalar(name, value):
    return Capture(name, "index", lambda draw, case: value)


_OFFSET = Capture("offset", "index", lambda draw, case: case.keys - case.queries)


def _split(draw, batch, length):
    """The number of the document of each token, for each sequence others."""
    return draw.integers(0, 2, (batch, length)).cumsum(1) // 19


def _lengths(extent):
    # One sequence has all of its tokens, and one may have none.
    def make(draw, case):
        longest = extent(case)
        lengths = draw.integers(0, longest + 1, case.batch)
        lengths[0] = longest
        return lengths

    return make


MASKS = [
    Variant("full"),
    Variant("full-no-lse", lse=False),
    Variant(
        "causal",
        mask="%p = arith.cmpi sle, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: j <= i,
    ),
    Variant(
        "causal-no-lse",
        mask="%p = arith.cmpi sle, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: j <= i,
        lse=False,
    ),
    # The last query sees all keys.
    Variant(
        "causal-bottom-right",
        captures=(_OFFSET,),
        mask="""%last = arith.addi %i, %offset : index
                %p = arith.cmpi sle, %j, %last : index""",
        mask_of=lambda x, b, h, i, j, c: j <= i + c.offset,
    ),
    Variant(
        "inverse-causal",
        mask="%p = arith.cmpi sge, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: j >= i,
    ),
    Variant(
        "window",
        captures=(_scalar("size", 37),),
        mask=_CAUSAL
        + _BEFORE
        + """%near = arith.cmpi slt, %d, %size : index
             %p = arith.andi %causal, %near : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & (i - j < c.size),
    ),
    Variant(
        "window-both-sides",
        captures=(_scalar("left", 70), _scalar("right", 11)),
        mask="""%first = arith.subi %i, %left : index
                %last = arith.addi %i, %right : index
                %after = arith.cmpi sge, %j, %first : index
                %before = arith.cmpi sle, %j, %last : index
                %p = arith.andi %after, %before : i1""",
        mask_of=lambda x, b, h, i, j, c: (j >= i - c.left) & (j <= i + c.right),
    ),
    Variant(
        "window-bottom-right",
        captures=(_OFFSET, _scalar("size", 64)),
        mask="""%last = arith.addi %i, %offset : index
                %first = arith.subi %last, %size : index
                %after = arith.cmpi sgt, %j, %first : index
                %before = arith.cmpi sle, %j, %last : index
                %p = arith.andi %after, %before : i1""",
        mask_of=lambda x, b, h, i, j, c: (j > i + c.offset - c.size)
        & (j <= i + c.offset),
    ),
    # The tokens of a prefix see each other, and all see what is before them.
    Variant(
        "prefix-lm",
        captures=(
            Capture(
                "prefix",
                "tensor<?xi32>",
                lambda draw, case: draw.integers(0, case.keys + 1, case.batch),
            ),
        ),
        mask=_CAUSAL
        + """%n32 = tensor.extract %prefix[%b] : tensor<?xi32>
             %n = arith.index_cast %n32 : i32 to index
             %in = arith.cmpi slt, %j, %n : index
             %p = arith.ori %causal, %in : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) | (j < c.prefix[b]),
    ),
    Variant(
        "documents",
        captures=(
            Capture(
                "mine",
                "tensor<?x?xi32>",
                lambda draw, case: _split(draw, case.batch, case.queries),
            ),
            Capture(
                "theirs",
                "tensor<?x?xi32>",
                lambda draw, case: _split(draw, case.batch, case.keys),
            ),
        ),
        mask="""%m = tensor.extract %mine[%b, %i] : tensor<?x?xi32>
                %t = tensor.extract %theirs[%b, %j] : tensor<?x?xi32>
                %p = arith.cmpi eq, %m, %t : i32""",
        mask_of=lambda x, b, h, i, j, c: c.mine[b, i] == c.theirs[b, j],
    ),
    Variant(
        "documents-causal",
        captures=(
            Capture(
                "mine",
                "tensor<?x?xi64>",
                lambda draw, case: _split(draw, case.batch, case.queries),
            ),
            Capture(
                "theirs",
                "tensor<?x?xi64>",
                lambda draw, case: _split(draw, case.batch, case.keys),
            ),
        ),
        mask=_CAUSAL
        + """%m = tensor.extract %mine[%b, %i] : tensor<?x?xi64>
             %t = tensor.extract %theirs[%b, %j] : tensor<?x?xi64>
             %same = arith.cmpi eq, %m, %t : i64
             %p = arith.andi %same, %causal : i1""",
        mask_of=lambda x, b, h, i, j, c: (c.mine[b, i] == c.theirs[b, j]) & (j <= i),
    ),
    # Sequences of different lengths; padding neither sees nor is seen.
    Variant(
        "ragged",
        captures=(
            Capture("rows", "tensor<?xi64>", _lengths(lambda case: case.queries)),
            Capture("columns", "tensor<?xi64>", _lengths(lambda case: case.keys)),
        ),
        mask="""%m64 = tensor.extract %rows[%b] : tensor<?xi64>
                %n64 = tensor.extract %columns[%b] : tensor<?xi64>
                %m = arith.index_cast %m64 : i64 to index
                %n = arith.index_cast %n64 : i64 to index
                %query = arith.cmpi slt, %i, %m : index
                %key = arith.cmpi slt, %j, %n : index
                %p = arith.andi %query, %key : i1""",
        mask_of=lambda x, b, h, i, j, c: (i < c.rows[b]) & (j < c.columns[b]),
    ),
    Variant(
        "ragged-keys-causal",
        captures=(
            Capture("columns", "tensor<?xi32>", _lengths(lambda case: case.keys)),
        ),
        mask=_CAUSAL
        + """%n32 = tensor.extract %columns[%b] : tensor<?xi32>
             %n = arith.index_cast %n32 : i32 to index
             %key = arith.cmpi slt, %j, %n : index
             %p = arith.andi %causal, %key : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & (j < c.columns[b]),
    ),
    # Every third key, from each query on and backwards.
    Variant(
        "dilated",
        mask="""%three = arith.constant 3 : index
                %sum = arith.addi %i, %j : index
                %rest = arith.remui %sum, %three : index
                %zero = arith.constant 0 : index
                %p = arith.cmpi eq, %rest, %zero : index""",
        mask_of=lambda x, b, h, i, j, c: (i + j) % 3 == 0,
    ),
    Variant(
        "block-diagonal",
        mask="""%size = arith.constant 24 : index
                %m = arith.divui %i, %size : index
                %n = arith.divui %j, %size : index
                %p = arith.cmpi eq, %m, %n : index""",
        mask_of=lambda x, b, h, i, j, c: i // 24 == j // 24,
    ),
    # Tokens are the pixels of an image, and see those around them.
    Variant(
        "neighbourhood-2d",
        mask="""%width = arith.constant 9 : index
                %reach = arith.constant 2 : index
                %xi = arith.remui %i, %width : index
                %xj = arith.remui %j, %width : index
                %yi = arith.divui %i, %width : index
                %yj = arith.divui %j, %width : index
                %dx = arith.subi %xi, %xj : index
                %dy = arith.subi %yi, %yj : index
                %ax = math.absi %dx : index
                %ay = math.absi %dy : index
                %nearx = arith.cmpi sle, %ax, %reach : index
                %neary = arith.cmpi sle, %ay, %reach : index
                %p = arith.andi %nearx, %neary : i1""",
        mask_of=lambda x, b, h, i, j, c: (abs(i % 9 - j % 9) <= 2)
        & (abs(i // 9 - j // 9) <= 2),
    ),
    # What is known of positions says that no pair is allowed, and that all are.
    Variant(
        "nowhere",
        mask="""%zero = arith.constant 0 : index
                %n = arith.maxsi %i, %j : index
                %p = arith.cmpi slt, %n, %zero : index""",
        mask_of=lambda x, b, h, i, j, c: (i + j) < 0,
    ),
    Variant(
        "everywhere",
        mask="""%zero = arith.constant 0 : index
                %n = arith.subi %i, %j : index
                %d = math.absi %n : index
                %p = arith.cmpi sge, %d, %zero : index""",
        mask_of=lambda x, b, h, i, j, c: (i + j) >= 0,
    ),
    # Halves are compared, for each pair.
    Variant(
        "half-threshold",
        captures=(
            Capture(
                "gate",
                "tensor<?x?x{t}>",
                lambda draw, case: draw.standard_normal((case.queries, case.keys)),
            ),
        ),
        mask="""%zero = arith.constant 0.0 : {t}
                %g = tensor.extract %gate[%i, %j] : tensor<?x?x{t}>
                %p = arith.cmpf ogt, %g, %zero : {t}""",
        mask_of=lambda x, b, h, i, j, c: c.gate[i, j] > 0,
    ),
    # The larger one of two distances, both of which are maxima.
    Variant(
        "distances",
        mask="""%turn = arith.constant 90 : index
                %step = arith.constant 70 : index
                %sum = arith.addi %i, %j : index
                %dx = arith.subi %i, %j : index
                %dy = arith.subi %sum, %turn : index
                %ax = math.absi %dx : index
                %ay = math.absi %dy : index
                %far = arith.maxsi %ax, %ay : index
                %reach = arith.muli %h, %step : index
                %p = arith.cmpi sle, %far, %reach : index""",
        mask_of=lambda x, b, h, i, j, c: x.maximum(abs(i - j), abs(i + j - 90))
        <= 70 * h,
    ),
    # Some tokens see all and are seen by all.
    Variant(
        "global-tokens",
        captures=(_scalar("reach", 13),),
        mask="""%four = arith.constant 4 : index
                %d = arith.subi %i, %j : index
                %a = math.absi %d : index
                %near = arith.cmpi sle, %a, %reach : index
                %query = arith.cmpi slt, %i, %four : index
                %key = arith.cmpi slt, %j, %four : index
                %either = arith.ori %query, %key : i1
                %p = arith.ori %near, %either : i1""",
        mask_of=lambda x, b, h, i, j, c: (abs(i - j) <= c.reach) | (i < 4) | (j < 4),
    ),
    Variant(
        "union",
        mask=_CAUSAL
        + """%size = arith.constant 50 : index
             %m = arith.divui %i, %size : index
             %n = arith.divui %j, %size : index
             %block = arith.cmpi eq, %m, %n : index
             %p = arith.ori %causal, %block : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) | (i // 50 == j // 50),
    ),
    Variant(
        "intersection",
        mask=_CAUSAL
        + _BEFORE
        + """%size = arith.constant 90 : index
             %two = arith.constant 2 : index
             %zero = arith.constant 0 : index
             %near = arith.cmpi slt, %d, %size : index
             %rest = arith.remui %j, %two : index
             %even = arith.cmpi eq, %rest, %zero : index
             %both = arith.andi %causal, %near : i1
             %p = arith.andi %both, %even : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & (i - j < 90) & (j % 2 == 0),
    ),
    Variant(
        "negation",
        mask="""%true = arith.constant true
                %reach = arith.constant 21 : index
                %d = arith.subi %i, %j : index
                %a = math.absi %d : index
                %near = arith.cmpi sle, %a, %reach : index
                %p = arith.xori %near, %true : i1""",
        mask_of=lambda x, b, h, i, j, c: ~(abs(i - j) <= 21),
    ),
    # Heads that look back in full and heads with a window.
    Variant(
        "head-dependent",
        mask=_CAUSAL
        + _BEFORE
        + """%two = arith.constant 2 : index
             %zero = arith.constant 0 : index
             %size = arith.constant 25 : index
             %rest = arith.remui %h, %two : index
             %even = arith.cmpi eq, %rest, %zero : index
             %near = arith.cmpi slt, %d, %size : index
             %seen = arith.ori %even, %near : i1
             %p = arith.andi %causal, %seen : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & ((h % 2 == 0) | (i - j < 25)),
    ),
    # Half of the sequences see nothing.
    Variant(
        "even-batches-causal",
        mask=_CAUSAL
        + """%two = arith.constant 2 : index
             %zero = arith.constant 0 : index
             %rest = arith.remui %b, %two : index
             %even = arith.cmpi eq, %rest, %zero : index
             %p = arith.andi %causal, %even : i1""",
        mask_of=lambda x, b, h, i, j, c: (j <= i) & (b % 2 == 0),
    ),
    # The first queries see nothing.
    Variant(
        "masked-rows",
        captures=(
            Capture("cut", "index", lambda draw, case: (2 * case.queries + 2) // 3),
        ),
        mask="%p = arith.cmpi sge, %i, %cut : index",
        mask_of=lambda x, b, h, i, j, c: (i >= c.cut) & (j >= 0),
    ),
    Variant(
        "nothing",
        captures=(_scalar("none", 0),),
        mask="%p = arith.cmpi slt, %j, %none : index",
        mask_of=lambda x, b, h, i, j, c: (j < c.none) & (i >= 0),
    ),
    Variant(
        "random-rows",
        captures=(
            Capture(
                "off",
                "tensor<?x?xi1>",
                lambda draw, case: draw.random((case.batch, case.queries)) < 0.4,
            ),
        ),
        mask="""%true = arith.constant true
                %r = tensor.extract %off[%b, %i] : tensor<?x?xi1>
                %p = arith.xori %r, %true : i1""",
        mask_of=lambda x, b, h, i, j, c: ~c.off[b, i] & (j >= 0),
    ),
    Variant(
        "random-pairs",
        captures=(
            Capture(
                "on",
                "tensor<?x?xi8>",
                lambda draw, case: draw.random((case.queries, case.keys)) < 0.3,
            ),
        ),
        mask="""%zero = arith.constant 0 : i8
                %r = tensor.extract %on[%i, %j] : tensor<?x?xi8>
                %p = arith.cmpi ne, %r, %zero : i8""",
        mask_of=lambda x, b, h, i, j, c: c.on[i, j] != 0,
    ),
    Variant(
        "random-pairs-i1",
        captures=(
            Capture(
                "on",
                "tensor<?x?x?xi1>",
                lambda draw, case: draw.random((case.batch, case.queries, case.keys))
                < 0.3,
            ),
        ),
        mask="%p = tensor.extract %on[%b, %i, %j] : tensor<?x?x?xi1>",
        mask_of=lambda x, b, h, i, j, c: c.on[b, i, j],
    ),
    Variant(
        "batch-offset-causal",
        captures=(
            Capture(
                "shift",
                "tensor<?xi32>",
                lambda draw, case: draw.integers(-20, 90, case.batch),
            ),
        ),
        mask="""%n32 = tensor.extract %shift[%b] : tensor<?xi32>
                %n = arith.index_cast %n32 : i32 to index
                %last = arith.addi %i, %n : index
                %p = arith.cmpi sge, %last, %j : index""",
        mask_of=lambda x, b, h, i, j, c: i + c.shift[b] >= j,
    ),
    # Keys before one position and from another one on.
    Variant(
        "split-range",
        captures=(_scalar("low", 30), _scalar("high", 100)),
        mask="""%before = arith.cmpi slt, %j, %low : index
                %after = arith.cmpi sge, %j, %high : index
                %p = arith.ori %before, %after : i1""",
        mask_of=lambda x, b, h, i, j, c: ((j < c.low) | (j >= c.high)) & (i >= 0),
    ),
    Variant(
        "halves",
        captures=(
            Capture("m", "index", lambda draw, case: case.queries // 2),
            Capture("n", "index", lambda draw, case: case.keys // 2),
        ),
        mask="""%true = arith.constant true
                %query = arith.cmpi sge, %i, %m : index
                %key = arith.cmpi sge, %j, %n : index
                %differ = arith.xori %query, %key : i1
                %p = arith.xori %differ, %true : i1""",
        mask_of=lambda x, b, h, i, j, c: (i >= c.m) == (j >= c.n),
    ),
    # Layouts that the types tell, and heads that they do.
    Variant(
        "causal-bshd",
        mask="%p = arith.cmpi sle, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: j <= i,
        layout="bshd",
    ),
    Variant("full-8-heads-on-2", heads=(8, 2)),
    Variant(
        "causal-6-heads-on-1-bshd",
        mask="%p = arith.cmpi sle, %j, %i : index",
        mask_of=lambda x, b, h, i, j, c: j <= i,
        heads=(6, 1),
        layout="bshd",
    ),
]
