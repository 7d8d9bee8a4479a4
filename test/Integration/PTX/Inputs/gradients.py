"""Compiles gradients of attentions for a GPU, executes all their kernels on the
CPU, and compares dq, dk and dv with the maths in float64.

Usage: gradients.py VARIANT [--heads=4 --key-heads=2] [--dim=128] [--value-dim=64]
           [--schedule=...] [--sizes=87x137] [--save-ptx=FILE] [--repeats=3]

Variants: full, causal, window, sinks, softcap, alibi-causal, root,
lengths, documents, softcap-documents, prefix, pairs, widths, dropout,
dropout-softcap-causal.

The Q blocks that the tensor engine loads for each work tile of keys have to be
those that the mask of all pairs needs, once each; how many more there were is
printed.
"""

import argparse
import sys

import numpy

import dropout
import grid
import launch as launches
import operations
import ptx

_PROGRAM = """
!q = tensor<?x{heads}x?x{dim}xbf16>
!k = tensor<?x{key_heads}x?x{dim}xbf16>
!v = tensor<?x{key_heads}x?x{value_dim}xbf16>
!o = tensor<?x{heads}x?x{value_dim}xbf16>
!l = tensor<?x{heads}x?xf32>
func.func @gradients(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !l, %do: !o{arguments}) -> ({results}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %kb = tensor.dim %k, %c0 : !k
  %kh = tensor.dim %k, %c1 : !k
  %ks = tensor.dim %k, %c2 : !k
{inits}
  %r:{count} = attn.attention_grad wrt({wrt})
    ins(%q, %k, %v, %o, %lse, %do : !q, !k, !v, !o, !l, !o)
{captures}    outs({outs} : {results}){attributes}{regions}
  return {values} : {results}
}}
"""
_INITS = {
    "q": "  %qi = tensor.empty(%b{h}, %s) : !q",
    "k": "  %ki = tensor.empty(%kb{kh}, %ks) : !k",
    "v": "  %vi = tensor.empty(%kb{kh}, %ks) : !v",
}
_MASK = """
    mask(%mb, %mh, %i, %j{names}) {{
{body}
      attn.yield %p : i1
    }}"""
_SCORE = """
    score(%x, %mb, %mh, %i, %j{names}) {{
{score}
      attn.yield {yielded}
    }}
    adjoint(%x, %ds, %mb, %mh, %i, %j{names}) {{
{adjoint}
      attn.yield {gradient} : f32
    }}"""
_CAUSAL = "      %p = arith.cmpi sle, %j, %i : index"
_WINDOW = """      %d = arith.subi %i, %j : index
      %w = arith.constant 50 : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi slt, %d, %w : index
      %p = arith.andi %past, %near : i1"""
# A tile of the first keys meets all queries, the next ones only those near them.
_SINKS = """      %d = arith.subi %i, %j : index
      %w = arith.constant 50 : index
      %four = arith.constant 4 : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi slt, %d, %w : index
      %first = arith.cmpi slt, %j, %four : index
      %either = arith.ori %near, %first : i1
      %p = arith.andi %past, %either : i1"""
_LENGTHS = """      %n = tensor.extract %lengths[%mb] : tensor<?xi32>
      %end = arith.index_cast %n : i32 to index
      %p = arith.cmpi slt, %j, %end : index"""
_DOCUMENTS = """      %mine = tensor.extract %documents[%mb, %i] : tensor<?x?xi32>
      %theirs = tensor.extract %documents[%mb, %j] : tensor<?x?xi32>
      %p = arith.cmpi eq, %mine, %theirs : i32"""
_PREFIX = """      %n = tensor.extract %prefixes[%mb] : tensor<?xi32>
      %end = arith.index_cast %n : i32 to index
      %past = arith.cmpi sle, %j, %i : index
      %in = arith.cmpi slt, %j, %end : index
      %p = arith.ori %past, %in : i1"""
# Nothing is known of it before all pairs of tiles have been read.
_PAIRS = """      %p = tensor.extract %pairs[%i, %j] : tensor<?x?xi1>"""
# Windows of heads that may share keys.
_WIDTHS = """      %n = tensor.extract %widths[%mh] : tensor<?xi32>
      %w = arith.index_cast %n : i32 to index
      %d = arith.subi %i, %j : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi slt, %d, %w : index
      %p = arith.andi %past, %near : i1"""
_CAP = """      %c = arith.constant 2.0 : f32
      %r = arith.constant 0.5 : f32
      %u = arith.mulf %x, %r : f32
      %t = math.tanh %u : f32
"""
_CAP_SCORE = _CAP + "      %y = arith.mulf %t, %c : f32"
_CAP_ADJOINT = (
    _CAP
    + """      %one = arith.constant 1.0 : f32
      %tt = arith.mulf %t, %t : f32
      %e = arith.subf %one, %tt : f32
      %dx = arith.mulf %ds, %e : f32"""
)
_ALIBI = """      %slope = tensor.extract %slopes[%mh] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %f = arith.mulf %slope, %df : f32
      %y = arith.addf %x, %f : f32"""
# Not a number for queries behind the last one.
_ROOT = """      %last = tensor.extract %lasts[%mb] : tensor<?xi32>
      %ii = arith.index_cast %i : index to i32
      %left = arith.subi %last, %ii : i32
      %lf = arith.sitofp %left : i32 to f32
      %f = math.sqrt %lf : f32
      %y = arith.addf %x, %f : f32"""
_IDENTITY = ""
# Scores that do not depend on the product.
_BIAS = """      %y = tensor.extract %biases[%j] : tensor<?xf32>"""
_NOTHING = "      %dx = arith.constant 0.0 : f32"
_DROPOUT = """      %seed = tensor.extract %seeds[] : tensor<i64>
      %offset = tensor.extract %offsets[] : tensor<i64>
      %w = attn.dropout 0.25 seed %seed offset %offset at %mb, %mh, %i, %j : f32
"""
_DRAWN = [("seeds", "tensor<i64>"), ("offsets", "tensor<i64>")]
# What scores yield, unless that is %y.
_YIELDED = {
    "dropout": "%x, %w : f32, f32",
    "dropout-softcap-causal": "%y, %w : f32, f32",
}
# Captures, mask, score and its adjoint.
_VARIANTS = {
    "full": ([], None, None, None),
    "causal": ([], _CAUSAL, None, None),
    "window": ([], _WINDOW, None, None),
    "sinks": ([], _SINKS, None, None),
    "softcap": ([], None, _CAP_SCORE, _CAP_ADJOINT),
    "softcap-causal": ([], _CAUSAL, _CAP_SCORE, _CAP_ADJOINT),
    "alibi-causal": ([("slopes", "tensor<?xf32>")], _CAUSAL, _ALIBI, _IDENTITY),
    "root": ([("lasts", "tensor<?xi32>")], None, _ROOT, _IDENTITY),
    "lengths": ([("lengths", "tensor<?xi32>")], _LENGTHS, None, None),
    "documents": ([("documents", "tensor<?x?xi32>")], _DOCUMENTS, None, None),
    "softcap-documents": (
        [("documents", "tensor<?x?xi32>")],
        _DOCUMENTS,
        _CAP_SCORE,
        _CAP_ADJOINT,
    ),
    "prefix": ([("prefixes", "tensor<?xi32>")], _PREFIX, None, None),
    "pairs": ([("pairs", "tensor<?x?xi1>")], _PAIRS, None, None),
    "widths": ([("widths", "tensor<?xi32>")], _WIDTHS, None, None),
    "bias": ([("biases", "tensor<?xf32>")], None, _BIAS, _NOTHING),
    "bias-causal": ([("biases", "tensor<?xf32>")], _CAUSAL, _BIAS, _NOTHING),
    "dropout": (_DRAWN, None, _DROPOUT, _IDENTITY),
    "dropout-softcap-causal": (_DRAWN, _CAUSAL, _DROPOUT + _CAP_SCORE, _CAP_ADJOINT),
}


def get_program(variant, shape, wrt, attributes=""):
    captures, mask, score, adjoint = _VARIANTS[variant]
    names = "".join(f", %{name}" for name, _ in captures)
    regions = ""
    if score:
        scores = _SCORE.format(
            names=names,
            score=score,
            adjoint=adjoint,
            gradient="%dx" if adjoint else "%ds",
            yielded=_YIELDED.get(variant, "%y : f32"),
        )
        regions += scores
    if mask:
        regions += _MASK.format(names=names, body=mask)
    # The printed order is score, mask, adjoint.
    if score and mask:
        cut = scores.index("\n    adjoint(")
        regions = scores[:cut] + _MASK.format(names=names, body=mask) + scores[cut:]
    dynamic = shape["heads"] == "?"
    inits = "\n".join(_INITS[x] for x in wrt).format(
        h=", %h" if dynamic else "", kh=", %kh" if dynamic else ""
    )
    count = len(wrt)
    return _PROGRAM.format(
        **shape,
        arguments="".join(f", %{name}: {type_}" for name, type_ in captures),
        captures=(
            f"    captures({names[2:]} : {', '.join(t for _, t in captures)})\n"
            if captures
            else ""
        ),
        inits=inits,
        count=count,
        wrt=", ".join(wrt),
        outs=", ".join(f"%{x}i" for x in wrt),
        results=", ".join(f"!{x}" for x in wrt),
        values=", ".join(f"%r#{n}" for n in range(count)),
        attributes=attributes,
        regions=regions,
    )


def _scores(variant, x, b, h, i, j, captures):
    """Scores, their derivative, and which are allowed."""
    allowed = numpy.ones(x.shape, bool)
    if "causal" in variant:
        allowed &= j <= i
    if variant == "window":
        allowed &= (j <= i) & (i - j < 50)
    if variant == "sinks":
        allowed &= (j <= i) & ((i - j < 50) | (j < 4))
    if variant == "lengths":
        allowed &= j < captures["lengths"][b]
    if "documents" in variant:
        allowed &= captures["documents"][b, i] == captures["documents"][b, j]
    if variant == "prefix":
        allowed &= (j <= i) | (j < captures["prefixes"][b])
    if variant == "pairs":
        allowed &= captures["pairs"][i, j] != 0
    if variant == "widths":
        allowed &= (j <= i) & (i - j < captures["widths"][h])
    if "softcap" in variant:
        t = numpy.tanh(x / 2)
        return 2 * t, 1 - t * t, allowed
    if variant == "root":
        return x + numpy.sqrt(captures["lasts"][b] - i), numpy.ones(x.shape), allowed
    if variant.startswith("bias"):
        return captures["biases"][j] + 0 * x, numpy.zeros(x.shape), allowed
    if variant.startswith("alibi"):
        return x + captures["slopes"][h] * (j - i), numpy.ones(x.shape), allowed
    return x, numpy.ones(x.shape), allowed


def differentiate(q, k, v, do, score, dlse=None, weights=1):
    """The maths in float64: o, lse, the gradients of q, k and v, the scaled
    products, and the gradients of scores. `score` makes of the products scores,
    -inf for pairs that are not allowed, and their derivatives; probabilities are
    multiplied by `weights`."""
    batches, heads, queries, dim = q.shape
    group = heads // k.shape[1]
    kk, vv = (
        numpy.broadcast_to(numpy.repeat(t, group, 1), (batches, heads, *t.shape[2:]))
        for t in (k, v)
    )
    scale = dim**-0.5
    x = scale * q @ kk.swapaxes(2, 3)
    scores, slope = score(x)
    largest = scores.max(-1, keepdims=True, initial=-1e30)
    p = numpy.exp(scores - largest)
    sums = p.sum(-1, keepdims=True)
    p = numpy.where(sums > 0, p / numpy.where(sums > 0, sums, 1), 0)
    with numpy.errstate(divide="ignore"):
        lse = (largest + numpy.log(sums))[..., 0]
    weighted = p * weights
    o = weighted @ vv
    delta = (do * o).sum(-1, keepdims=True)
    if dlse is not None:
        delta = delta - dlse[..., None]
    ds = p * (weights * (do @ vv.swapaxes(2, 3)) - delta)
    dx = ds * slope

    def shared(t):
        t = t.reshape(batches, k.shape[1], group, *t.shape[2:]).sum(2)
        return t.sum(0, keepdims=True) if k.shape[0] != batches else t

    found = {
        "q": scale * dx @ kk,
        "k": shared(scale * dx.swapaxes(2, 3) @ q),
        "v": shared(weighted.swapaxes(2, 3) @ do),
    }
    return o, lse, found, x, ds


def _gradients(variant, q, k, v, do, captures):
    """In float64: o, lse, and the gradients."""

    def score(x):
        b, h, i, j = numpy.indices(x.shape, sparse=True)
        scores, slope, allowed = _scores(variant, x, b, h, i, j, captures)
        return numpy.where(allowed, scores, -numpy.inf), slope

    weights = 1
    if "dropout" in variant:
        place = numpy.indices((*q.shape[:3], k.shape[2]), sparse=True)
        drawn = int(captures["seeds"]), int(captures["offsets"])
        weights = dropout.weights(0.25, *drawn, *place)
    return differentiate(q, k, v, do, score, weights=weights)[:3]


def _check(name, found, expected):
    error = numpy.abs(found - expected).max(initial=0)
    error /= max(numpy.abs(expected).max(initial=0), 0.1)
    if not error < 0.015:
        raise ptx.PtxError(f"d{name}: error {error}")
    return error


def _draw_pairs(queries, keys, draw):
    """Some blocks of 64, of which some have holes."""
    blocks = draw.integers(0, 4, (queries // 64 + 1, keys // 64 + 1))
    each = numpy.repeat(numpy.repeat(blocks, 64, 0), 64, 1)[:queries, :keys]
    return (each == 3) | ((each == 2) & (draw.random(each.shape) < 0.5))


def draw_inputs(variant, options, sizes, draw):
    """Inputs as arrays by name, and the gradients in float64 that are asked for."""
    batches, key_batches, queries, keys = sizes
    heads, key_heads = options.heads, options.key_heads

    def tensor(*shape):
        return operations.to_bf16(draw.standard_normal(shape).astype("f4"))

    packed = [
        tensor(batches, heads, queries, options.dim),
        tensor(key_batches, key_heads, keys, options.dim),
        tensor(key_batches, key_heads, keys, options.value_dim),
        tensor(batches, heads, queries, options.value_dim),
    ]
    q, k, v, do = (operations.from_bf16(x).astype("f8") for x in packed)
    captures = {
        "slopes": -(2.0 ** -numpy.arange(1, heads + 1)),
        "lengths": draw.integers(0, keys + 1, (batches,)),
        "documents": (draw.random((batches, max(queries, keys))) < 1 / 60).cumsum(1),
        "prefixes": draw.integers(0, keys + 1, (batches,)),
        "pairs": _draw_pairs(queries, keys, draw),
        "widths": draw.integers(1, queries + 2, (heads,)),
        "lasts": numpy.full((batches,), max(queries - 1, 0)),
        "biases": draw.standard_normal(keys),
        "seeds": draw.integers(-(1 << 63), 1 << 63),
        "offsets": draw.integers(-(1 << 63), 1 << 63),
    }
    o, lse, expected = _gradients(variant, q, k, v, do, captures)
    types = {"slopes": "f4", "lengths": "i4", "lasts": "i4", "biases": "f4"}
    types.update(seeds="i8", offsets="i8")
    types.update(documents="i4", prefixes="i4", widths="i4", pairs="i1")
    names = [name for name, _ in _VARIANTS[variant][0]]
    arrays = dict(zip("qkv", packed))
    arrays["o"] = operations.to_bf16(o.astype("f4"))
    arrays["lse"], arrays["do"] = lse.astype("f4"), packed[3]
    arrays.update((name, captures[name].astype(types[name])) for name in names)
    return arrays, {name: expected[name] for name in options.wrt.split(",")}


def _check_visits(kernel, program, variant, arrays):
    """That each work tile of keys has loaded the Q blocks it needs, once each, or
    each one of queries the KV blocks. Gives how many were loaded, and how many of them
    are not needed."""
    over_keys = "load_k" in program.kernel["schedule"]
    is_persistent = program.schedule("persistent")
    (batches, heads, queries), keys = arrays["q"].shape[:3], arrays["k"].shape
    b, h, i, j = numpy.indices((batches, heads, queries, keys[2]), sparse=True)
    zeros = numpy.zeros((batches, heads, queries, keys[2]))
    allowed = _scores(variant, zeros, b, h, i, j, arrays)[2]
    others, own = program.schedule("tile_n"), program.schedule("tile_m")
    queries, keys_of = (own, others) if over_keys else (others, own)
    needed = set()
    for b, h, i, j in zip(*numpy.nonzero(allowed)):
        query = (b, h, i // queries * queries)
        key = (b % keys[0], h * keys[1] // heads, j // keys_of * keys_of)
        needed.add(tuple(map(int, query + key if over_keys else key + query)))
    # A CTA loads the rows of a work tile, then what that one needs.
    rows, blocks = ("q", "k") if over_keys else ("k", "q")
    loads = [(*load, True) for load in kernel.loads(rows)]
    loads += [(*load, False) for load in kernel.loads(blocks)]
    loaded, work = [], {}
    for number, _, at, is_work in sorted(loads):
        if is_work:
            tile = (*at[:2], at[2] // own * own)
            if work.setdefault(number, tile) != tile and not is_persistent:
                raise ptx.PtxError(f"expects a work tile of CTA {number}, but got more")
            work[number] = tile
        else:
            loaded.append((*work[number], *at))
    visited = {(*at[:5], at[5] // others * others) for at in loaded}
    if len(loaded) != len(set(loaded)):
        raise ptx.PtxError(f"loads blocks twice: {sorted(loaded)}")
    if not needed <= visited:
        raise ptx.PtxError(f"leaves out {sorted(needed - visited)}")
    return len(visited), len(visited - needed)


def _execute(programs, variant, options, sizes, seed):
    """The largest error of a gradient, over its largest element, and the tiles that
    were visited, and were in vain."""
    draw = numpy.random.default_rng(seed)
    arrays, expected = draw_inputs(variant, options, sizes, draw)
    bits = None
    for order in draw.integers(1 << 31, size=options.repeats):
        worst, sums, kernels = run(programs, arrays, expected, order, options.gap)
        if bits is not None and sums != bits:
            raise ptx.PtxError("sums differ in another order")
        bits = sums
    visits = numpy.zeros(2, int)
    for program, kernel in zip(programs, kernels):
        if kernel.loads("k"):
            visits += _check_visits(kernel, program, variant, arrays)
    return worst, visits


def run(programs, arrays, expected, order, gap=0, late=1.0):
    """The largest error of a gradient, the bytes of dq before it is scaled and
    rounded, and the main kernel of each launch."""
    launch = launches.Launch(programs[0])
    for name, array in arrays.items():
        launch.add_tensor(name, array, gap if array.ndim == 4 else 0)
    regions = {}
    for name, gradient in expected.items():
        # NaN, as what nobody writes to.
        launch.add_tensor(f"d{name}", numpy.full(gradient.shape, 0x7FC0, "u2"), gap)
        region = regions[name] = launch.operands[-1].region
        # What is between rows counts as written, and nobody may.
        region.writable[:], region.defined[:] = region.defined, ~region.defined
    kernels, tables = [], []
    for program in programs:
        own = launch.behind(program)
        own.add_tables()
        tables += own.operands[len(launch.operands) :]
        kernels.append(grid.run(own, order, late=late))
    worst = 0
    for name, region in regions.items():
        shape = expected[name].shape
        rows = region.values(numpy.dtype("u2"), (*shape[:-1], shape[-1] + gap))
        found = operations.from_bf16(rows[..., : shape[-1]]).astype("f8")
        worst = max(worst, _check(name, found, expected[name]))
    # (batch, head, block, and two of the block).
    sums = [x for x in tables if len(x.shape) == 5 and x.shape[-1] > 2]
    return worst, [x.region.bytes.tobytes() for x in sums], kernels


def save_ptx(programs, path):
    """That of the first launch there, and those of others with a number behind it."""
    for number, program in enumerate(programs if path else []):
        with open(f"{path}.{number}" if number else path, "w") as file:
            file.write(program.ptx)


def describe(programs):
    return ", ".join(program.kernel["schedule"] for program in programs)


def run_sizes(text, options, execute):
    """Executes a program for each of options.sizes by `execute(programs, options,
    sizes, seed)`, of its launches, which gives its error, and prints the largest."""
    programs = launches.Program.all(text, options.schedule)
    save_ptx(programs, options.save_ptx)
    worst = 0
    for seed, size in enumerate(options.sizes):
        try:
            sizes = tuple(map(int, size.split("x")))
            worst = max(worst, execute(programs, options, sizes, seed))
        except ptx.PtxError as error:
            sys.exit(f"{describe(programs)}, {size}: {error}")
    print(f"{len(options.sizes)} runs, largest error {worst:.4f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("variant", choices=sorted(_VARIANTS))
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--value-dim", type=int)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--key-heads", type=int)
    parser.add_argument("--dynamic", action="store_true", help="numbers of heads")
    parser.add_argument("--wrt", default="q,k,v")
    parser.add_argument("--schedule", action="append", default=[])
    parser.add_argument("--sizes", action="append", default=[])
    parser.add_argument("--gap", type=int, default=0, help="elements behind each row")
    parser.add_argument("--repeats", type=int, default=1, help="in other orders")
    parser.add_argument("--nondeterministic", action="store_true")
    parser.add_argument("--save-ptx")
    parser.add_argument("--save-program")
    parser.add_argument("--no-run", action="store_true")
    options = parser.parse_args()
    options.value_dim = options.value_dim or options.dim
    options.key_heads = options.key_heads or options.heads
    shape = {
        "heads": "?" if options.dynamic else options.heads,
        "key_heads": "?" if options.dynamic else options.key_heads,
        "dim": options.dim,
        "value_dim": options.value_dim,
    }
    attributes = " attributes {nondeterministic}" if options.nondeterministic else ""
    text = get_program(options.variant, shape, options.wrt.split(","), attributes)
    if options.save_program:
        with open(options.save_program, "w") as file:
            file.write(text)
    sizes = [tuple(map(int, x.split("x"))) for x in options.sizes]
    worst, runs, visits = 0, 0, numpy.zeros(2, int)
    for schedule in options.schedule or [None]:
        programs = launches.Program.all(text, schedule)
        save_ptx(programs, options.save_ptx)
        for seed, size in enumerate([] if options.no_run else sizes):
            try:
                error, tiles = _execute(programs, options.variant, options, size, seed)
                worst, visits = max(worst, error), visits + tiles
            except ptx.PtxError as error:
                sys.exit(f"{describe(programs)}, {size}: {error}")
            runs += 1
    print(f"{runs} runs, largest error {worst:.4f}")
    print(f"{visits[0]} tiles, {visits[1]} in vain")


if __name__ == "__main__":
    main()
