"""Compiles gradients of captures for a GPU, executes all their kernels on the
CPU, and compares them, dq, dk and dv with the maths in float64. Repeated runs,
with CTAs and warps in other orders, have to give the same bits.

Usage: capture_gradients.py FORM... [--mask=causal] [--heads=4 --key-heads=2]
           [--dim=64] [--type=f32] [--wrt=q,k,v] [--schedule=...]
           [--sizes=1x1x87x137] [--repeats=2] [--save-ptx=FILE] [--alone]

The score is the sum of the product, unless they are alone, and all forms: scalar, head, row and composed, which are slopes,
column, distance, clamped, dense, transposed, pairs (of all heads), twice (a table
at a distance and at a key), temperature (a factor), branch (where keys are before
the query).
"""

import argparse

import numpy

import gradients
import grid
import launch as launches
import operations
import ptx

_PROGRAM = """
!q = tensor<?x{heads}x?x{dim}xbf16>
!k = tensor<?x{key_heads}x?x{dim}xbf16>
!l = tensor<?x{heads}x?xf32>
func.func @gradients({arguments}) -> ({results}) {{
{inits}
  %d:{count} = attn.attention_grad wrt({wrt})
    ins(%q, %k, %v, %o, %lse, %do{dlse} : !q, !k, !k, !q, !l, !q{ofdlse})
    captures({names} : {types})
    outs({outs} : {results})
    score(%x0, %b, %h, %i, %j, {names}) {{
{score}
      attn.yield {last} : f32
    }}{mask}
    adjoint(%x0, %ds, %b, %h, %i, %j, {names}) {{
{adjoint}
      attn.yield {dx} : f32
    }}
  return {values} : {results}
}}
"""
_MASKS = {
    "causal": """
    mask(%b, %h, %i, %j, {names}) {{
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }}""",
    "window": """
    mask(%b, %h, %i, %j, {names}) {{
      %n = arith.constant 20 : index
      %e = arith.addi %j, %n : index
      %p = arith.cmpi sle, %j, %i : index
      %w = arith.cmpi slt, %i, %e : index
      %a = arith.andi %p, %w : i1
      attn.yield %a : i1
    }}""",
    "none": """
    mask(%b, %h, %i, %j, {names}) {{
      %p = arith.constant false
      attn.yield %p : i1
    }}""",
}
_ALLOWED = {
    None: lambda i, j: i >= 0,
    "causal": lambda i, j: j <= i,
    "window": lambda i, j: (j <= i) & (i - j < 20),
    "none": lambda i, j: i < 0,
}
# What indices need, by form.
_DISTANCE = """      %{0}k = arith.constant 0 : index
      %{0}n = tensor.dim %{0}, %{0}k : {1}
      %{0}c = arith.constant {2} : index
      %{0}u = arith.addi %i, %{0}c : index
      %{0}d = arith.subi %{0}u, %j : index
"""
_CLAMPED = """      %{0}z = arith.constant 0 : index
      %{0}m = arith.constant 9 : index
      %{0}u = arith.subi %i, %j : index
      %{0}v = arith.maxsi %{0}u, %{0}z : index
      %{0}d = arith.minsi %{0}v, %{0}m : index
"""
_COMPOSED = """      %{0}o = tensor.extract %bucket[%i] : tensor<?xi32>
      %{0}d = arith.index_cast %{0}o : i32 to index
"""
# Of a bias that is the same for all keys there is no gradient.
_SLOPES = ("scalar", "head", "row", "composed")
_SLOPE = """      {0}a = arith.constant 7 : index
      {0}b = arith.andi %j, {0}a : index
      {0}i = arith.index_cast {0}b : index to i32
      {0}f = arith.sitofp {0}i : i32 to f32
      {0}q = arith.constant 0.25 : f32
      {0}r = arith.mulf {0}f, {0}q : f32"""
_BUCKETS = 5
_FAR = 400


class Sizes:
    def __init__(self, options, sizes):
        self.batches, self.key_batches, self.queries, self.keys = sizes
        self.heads = options.heads


# By form: what computes indices, the indices of each read, the extents of the
# capture, and the same indices of NumPy.
_FORMS = {
    "scalar": ("", [()], lambda z: (), lambda b, h, i, j, o: [()]),
    "head": ("", [("h",)], lambda z: (z.heads,), lambda b, h, i, j, o: [(h,)]),
    "row": (
        "",
        [("b", "h", "i")],
        lambda z: (z.batches, z.heads, z.queries),
        lambda b, h, i, j, o: [(b, h, i)],
    ),
    "column": (
        "",
        [("b", "j")],
        lambda z: (z.batches, z.keys),
        lambda b, h, i, j, o: [(b, j)],
    ),
    "distance": (
        _DISTANCE,
        [("h", "{0}d")],
        lambda z: (z.heads, z.queries + _FAR),
        lambda b, h, i, j, o: [(h, i - j + _FAR)],
    ),
    "clamped": (
        _CLAMPED,
        [("{0}d",)],
        lambda z: (10,),
        lambda b, h, i, j, o: [(numpy.clip(i - j, 0, 9),)],
    ),
    "composed": (
        _COMPOSED,
        [("{0}d",)],
        lambda z: (_BUCKETS,),
        lambda b, h, i, j, o: [(o[i],)],
    ),
    "dense": (
        "",
        [("b", "h", "i", "j")],
        lambda z: (z.batches, z.heads, z.queries, z.keys),
        lambda b, h, i, j, o: [(b, h, i, j)],
    ),
    "transposed": (
        "",
        [("j", "b", "i", "h")],
        lambda z: (z.keys, z.batches, z.queries, z.heads),
        lambda b, h, i, j, o: [(j, b, i, h)],
    ),
    "pairs": (
        "",
        [("i", "j")],
        lambda z: (z.queries, z.keys),
        lambda b, h, i, j, o: [(i, j)],
    ),
    "twice": (
        _DISTANCE,
        [("{0}d",), ("j",)],
        lambda z: (max(z.queries, z.keys) + _FAR,),
        lambda b, h, i, j, o: [(i - j + _FAR,), (j,)],
    ),
    "temperature": (
        "",
        [("h",)],
        lambda z: (z.heads,),
        lambda b, h, i, j, o: [(h,)],
    ),
    "branch": (
        "",
        [("h", "i")],
        lambda z: (z.heads, z.queries),
        lambda b, h, i, j, o: [(h, i)],
    ),
}


def _tensor(rank, element):
    return f"tensor<{'?x' * rank}{element}>" if rank else element


def _program(options):
    element = options.type
    names, types = [], []
    score, adjoint, contributions = [], [], []
    last, factor = "%x0", "%ds"
    if options.alone:
        score.append("      %x1 = arith.constant 0.0 : f32")
        last, factor = "%x1", "%zero"
    for form in options.forms:
        prelude, reads, _, _ = _FORMS[form]
        type_ = _tensor(len(reads[0]), element)
        names.append(f"%{form}")
        types.append(type_)
        setup = prelude.format(form, type_, _FAR)
        score.append(setup)
        contributions.append(setup)
        for number, read in enumerate(reads):
            one = f"%{form}_{number}"
            at = ", ".join(f"%{x.format(form)}" for x in read)
            value = f"%{form}"
            if read:
                score.append(f"      {one}w = tensor.extract %{form}[{at}] : {type_}")
                value = f"{one}w"
            if element != "f32":
                convert = "truncf" if element == "f64" else "extf"
                score.append(
                    f"      {one}e = arith.{convert} {value} : {element} to f32"
                )
                value = f"{one}e"
            if form == "temperature":
                score.append(f"      {one} = arith.mulf %x0, {value} : f32")
                last, factor = one, f"%dx{number}"
                contributions += [
                    f"      {one}g = arith.mulf %ds, %x0 : f32",
                    f"      attn.contribute {one}g to %{form}[{at}] : f32, {type_}",
                ]
                # dx = ds * factor.
                adjoint += [x for x in score if f"{one}w" in x or f"{one}e" in x]
                adjoint.append(f"      {factor} = arith.mulf %ds, {value} : f32")
                continue
            added = "%ds"
            if form in _SLOPES:
                slope = _SLOPE.format(one)
                score.append(slope)
                contributions.append(slope)
                contributions.append(f"      {one}g = arith.mulf %ds, {one}r : f32")
                score.append(f"      {one}y = arith.mulf {value}, {one}r : f32")
                value, added = f"{one}y", f"{one}g"
            give = f"attn.contribute {added} to %{form}" + (f"[{at}]" if read else "")
            give += f" : f32, {type_}"
            if form == "branch":
                score += [
                    f"      {one}c = arith.cmpi slt, %j, %i : index",
                    f"      {one}z = arith.constant 0.0 : f32",
                    f"      {one}s = arith.select {one}c, {value}, {one}z : f32",
                ]
                value = f"{one}s"
                contributions += [
                    f"      {one}c = arith.cmpi slt, %j, %i : index",
                    f"      scf.if {one}c {{",
                    f"        {give}",
                    "      }",
                ]
            else:
                contributions.append(f"      {give}")
            score.append(f"      {one} = arith.addf {last}, {value} : f32")
            last = one
    adjoint += contributions
    adjoint += ["      %zero = arith.constant 0.0 : f32"]
    if "composed" in options.forms:
        names.append("%bucket")
        types.append("tensor<?xi32>")
    inputs = {"q": "!q", "k": "!k", "v": "!k", "o": "!q", "lse": "!l", "do": "!q"}
    if options.dlse:
        inputs["dlse"] = "!l"
    inputs.update((name[1:], type_) for name, type_ in zip(names, types))
    wrt = list(options.wrt) + [str(n) for n in range(len(options.forms))]
    outs = {f"d{x}": inputs[x] for x in options.wrt}
    for form, type_ in zip(options.forms, types):
        outs[f"d{form}"] = type_ if "tensor" in type_ else f"tensor<{type_}>"
    results = ", ".join(outs.values())
    arguments = [f"%{name}: {type_}" for name, type_ in inputs.items()]
    inits = []
    for name, type_ in outs.items():
        source, extents = name[1:], []
        dims = range(type_.count("?"))
        if type_ in ("!q", "!k"):
            dims = [0, 1, 2] if options.dynamic else [0, 2]
        for dim in dims:
            inits.append(f"  %{name}c{dim} = arith.constant {dim} : index")
            extents.append(f"%{name}n{dim}")
            inits.append(
                f"  %{name}n{dim} = tensor.dim %{source}, %{name}c{dim}"
                f" : {inputs[source]}"
            )
        inits.append(f"  %{name} = tensor.empty({', '.join(extents)}) : {type_}")
    mask = _MASKS[options.mask].format(names=", ".join(names)) if options.mask else ""
    return _PROGRAM.format(
        dx=factor,
        heads="?" if options.dynamic else options.heads,
        key_heads="?" if options.dynamic else options.key_heads,
        dim=options.dim,
        arguments=", ".join(arguments),
        inits="\n".join(inits),
        dlse=", %dlse" if options.dlse else "",
        ofdlse=", !l" if options.dlse else "",
        results=results,
        count=len(outs),
        wrt=", ".join(wrt),
        names=", ".join(names),
        types=", ".join(types),
        outs=", ".join(f"%{name}" for name in outs),
        score="\n".join(score),
        adjoint="\n".join(adjoint),
        last=last,
        mask=mask,
        values=", ".join(f"%d#{n}" for n in range(len(outs))),
    )


def _gradients(options, q, k, v, do, dlse, captures, buckets):
    """In float64: o, lse, and the gradients."""
    b, h, i, j = numpy.indices((*q.shape[:3], k.shape[2]))
    reads = {form: _FORMS[form][3](b, h, i, j, buckets) for form in options.forms}

    def score(x):
        scores, slope = (0 * x, 0.0) if options.alone else (x, 1.0)
        for form in options.forms:
            for index in reads[form]:
                value = captures[form][index]
                if form == "temperature":
                    scores, slope = scores * value, value
                elif form in _SLOPES:
                    scores = scores + value * (j & 7) / 4
                elif form == "branch":
                    scores = scores + numpy.where(j < i, value, 0)
                else:
                    scores = scores + value
        return numpy.where(_ALLOWED[options.mask](i, j), scores, -numpy.inf), slope

    o, lse, found, x, ds = gradients.differentiate(q, k, v, do, score, dlse)
    for form in options.forms:
        gradient = numpy.zeros(captures[form].shape)
        add = ds * x if form == "temperature" else ds
        add = numpy.where(j < i, add, 0) if form == "branch" else add
        add = add * (j & 7) / 4 if form in _SLOPES else add
        for index in reads[form]:
            numpy.add.at(gradient, index if index else (), add if index else add.sum())
        found[form] = gradient
    return o, lse, found


def _pack(array, element):
    array = numpy.asarray(array)
    if element == "bf16":
        return operations.to_bf16(array.astype("f4"))
    return array.astype({"f32": "f4", "f16": "f2", "f64": "f8"}[element])


def _unpack(array, element):
    return (operations.from_bf16(array) if element == "bf16" else array).astype("f8")


_STORED = {"f32": "f4", "f16": "f2", "f64": "f8", "bf16": "u2"}


def _execute(programs, options, sizes, seed):
    """The largest error of a gradient, over its largest element."""
    draw = numpy.random.default_rng(seed)
    z = Sizes(options, sizes)

    def tensor(*shape):
        return operations.to_bf16(draw.standard_normal(shape).astype("f4"))

    packed = {
        "q": tensor(z.batches, z.heads, z.queries, options.dim),
        "k": tensor(z.key_batches, options.key_heads, z.keys, options.dim),
        "v": tensor(z.key_batches, options.key_heads, z.keys, options.dim),
        "do": tensor(z.batches, z.heads, z.queries, options.dim),
    }
    stored = {
        form: _pack(0.5 * draw.standard_normal(_FORMS[form][2](z)), options.type)
        for form in options.forms
    }
    captures = {form: _unpack(x, options.type) for form, x in stored.items()}
    buckets = draw.integers(0, _BUCKETS, (max(z.queries, 1),)).astype("i4")
    dlse = numpy.zeros((z.batches, z.heads, z.queries), "f4")
    if options.dlse:
        dlse = draw.standard_normal(dlse.shape).astype("f4")
    exact = {name: operations.from_bf16(x).astype("f8") for name, x in packed.items()}
    o, lse, expected = _gradients(
        options, *(exact[name] for name in ("q", "k", "v", "do")), dlse, captures, buckets
    )
    expected = {x: expected[x] for x in [*options.wrt, *options.forms]}
    arrays = {
        "q": packed["q"],
        "k": packed["k"],
        "v": packed["v"],
        "o": operations.to_bf16(o.astype("f4")),
        "lse": lse.astype("f4"),
        "do": packed["do"],
        **({"dlse": dlse} if options.dlse else {}),
        **stored,
    }
    if "composed" in options.forms:
        arrays["bucket"] = buckets
    bits, worst = None, 0
    for order in draw.integers(1 << 31, size=options.repeats):
        found = _launch(programs, options, arrays, expected, order)
        for name, (_, values) in found.items():
            error = numpy.abs(values - expected[name]).max(initial=0)
            error /= max(numpy.abs(expected[name]).max(initial=0), 0.1)
            if not error < 0.02:
                raise ptx.PtxError(f"d{name}: error {error}")
            worst = max(worst, error)
        # Those of queries may be added in any order, before they are rounded.
        own = [raw for name, (raw, _) in found.items() if name in options.forms]
        if bits is not None and own != bits:
            raise ptx.PtxError("gradients differ in another order")
        bits = own
    return worst


def _launch(programs, options, arrays, expected, order):
    """The bytes of gradients, and what they are."""
    launch = launches.Launch(programs[0])
    for name, array in arrays.items():
        if array.ndim:
            launch.add_tensor(name, array)
        else:
            launch.add_scalar(int.from_bytes(array.tobytes(), "little"))
    regions = {}
    for name, gradient in expected.items():
        element = options.type if name in options.forms else "bf16"
        dtype = numpy.dtype(_STORED[element])
        # NaN, as what nobody writes to.
        nothing = numpy.full(gradient.shape, 0x7FC0 if dtype == "u2" else numpy.nan)
        launch.add_tensor(f"d{name}", nothing.astype(dtype))
        regions[name] = (launch.operands[-1].region, element, dtype)
        region = launch.operands[-1].region
        region.writable[:], region.defined[:] = True, False
    for program in programs:
        own = launch.behind(program)
        own.add_tables()
        grid.run(own, order, late=1.0)
    return {
        name: (
            region.bytes.tobytes(),
            _unpack(region.values(dtype, expected[name].shape), element),
        )
        for name, (region, element, dtype) in regions.items()
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", nargs="+", choices=sorted(_FORMS), metavar="FORM")
    parser.add_argument("--mask", choices=sorted(_MASKS))
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--key-heads", type=int)
    parser.add_argument("--dynamic", action="store_true", help="numbers of heads")
    parser.add_argument("--type", default="f32", choices=sorted(_STORED))
    parser.add_argument("--dlse", action="store_true", help="of a loss of lse, too")
    parser.add_argument("--alone", action="store_true", help="without the product")
    parser.add_argument("--wrt", default="q,k,v", help="besides captures")
    parser.add_argument("--schedule")
    parser.add_argument("--sizes", action="append", default=[])
    parser.add_argument("--repeats", type=int, default=1, help="in other orders")
    parser.add_argument("--save-ptx")
    parser.add_argument("--save-program")
    options = parser.parse_args()
    options.key_heads = options.key_heads or options.heads
    # The factor is that of the product.
    options.forms.sort(key=lambda form: form != "temperature")
    options.wrt = [x for x in options.wrt.split(",") if x]
    text = _program(options)
    if options.save_program:
        with open(options.save_program, "w") as file:
            file.write(text)
    gradients.run_sizes(text, options, _execute)


if __name__ == "__main__":
    main()
