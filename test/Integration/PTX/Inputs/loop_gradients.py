"""Differentiates attentions whose scores have loops, compiles the gradients for a
GPU, executes all their kernels on the CPU, and compares them with the maths in
float64. Repeated runs, with CTAs and warps in other orders, have to give the same
bits.

Usage: loop_gradients.py FORM... [--rank=40] [--sizes=70x90] [--save-ptx=FILE]

Forms: rank (a product of rows and columns), bands (a table at a distance, summed),
powers (a series in the distance, carried along), pairs (a term of each pair),
recurrence (of the score itself, whose reverse begins again for each iteration).
"""

import argparse
import subprocess

import numpy

import gradients
import grid
import launch as launches
import operations
import ptx

_PROGRAM = """
!q = tensor<1x1x?x64xbf16>
!l = tensor<1x1x?xf32>
func.func @f(%q: !q {{attn.name = "q"}}, %k: !q {{attn.name = "k"}},
    %v: !q {{attn.name = "v"}}, {arguments}) -> (!q {{attn.name = "o"}}, !l {{attn.name = "lse"}}) {{
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%n) : !q
  %li = tensor.empty(%n) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !q, !q)
    captures({names} : {types}) outs(%oi, %li : !q, !l)
    score(%x, %b, %h, %i, %j, {names}) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %count = arith.constant {rank} : index
      %f1 = arith.constant 1.0 : f32
      %quarter = arith.constant 0.25 : f32
      %ij = arith.subi %i, %j : index
      %d32 = arith.index_cast %ij : index to i32
      %df = arith.sitofp %d32 : i32 to f32
      %near = arith.constant 0.02 : f32
      %dn = arith.mulf %df, %near : f32
      %dt = math.tanh %dn : f32
{body}
      attn.yield {yielded} : f32
    }}
  return %o, %lse : !q, !l
}}
"""
_TABLE = "tensor<?x?xf32>"
_SUM = """      {0} = scf.for %r = %zero to %count step %one iter_args(%acc = {1}) -> (f32) {{
{2}
        %next = arith.addf %acc, %term : f32
        scf.yield %next : f32
      }}"""
_FORMS = {
    "rank": (
        [("rows", _TABLE), ("columns", _TABLE)],
        _SUM,
        """        %a = tensor.extract %rows[%i, %r] : tensor<?x?xf32>
        %c = tensor.extract %columns[%j, %r] : tensor<?x?xf32>
        %term = arith.mulf %a, %c : f32""",
    ),
    "bands": (
        [("table", _TABLE)],
        _SUM,
        """        %far = arith.constant 400 : index
        %at = arith.addi %ij, %far : index
        %term = tensor.extract %table[%at, %r] : tensor<?x?xf32>""",
    ),
    "pairs": (
        [("bias", "tensor<?x?x?xf32>")],
        _SUM,
        "        %term = tensor.extract %bias[%i, %r, %j] : tensor<?x?x?xf32>",
    ),
    "powers": (
        [("series", "tensor<?xf32>")],
        """      {0}, %last = scf.for %r = %zero to %count step %one iter_args(%acc = {1}, %p = %f1) -> (f32, f32) {{
        %s = tensor.extract %series[%r] : tensor<?xf32>
        %term = arith.mulf %s, %p : f32
        %next = arith.addf %acc, %term : f32
        %p2 = arith.mulf %p, %dt : f32
        scf.yield %next, %p2 : f32, f32
      }}""",
        "",
    ),
    "recurrence": (
        [("steps", _TABLE)],
        """      {0} = scf.for %r = %zero to %count step %one iter_args(%acc = {1}) -> (f32) {{
        %s = tensor.extract %steps[%r, %j] : tensor<?x?xf32>
        %u = arith.mulf %acc, %quarter : f32
        %t = math.tanh %u : f32
        %e = arith.mulf %t, %s : f32
        %next = arith.addf %acc, %e : f32
        scf.yield %next : f32
      }}""",
        "",
    ),
}
# Where iteration r reads each capture.
_READS = {
    "rows": lambda i, j, r: (i, r),
    "columns": lambda i, j, r: (j, r),
    "table": lambda i, j, r: (i - j + 400, r),
    "bias": lambda i, j, r: (i, r, j),
    "series": lambda i, j, r: (r,),
    "steps": lambda i, j, r: (r, j),
}


def _program(options):
    captures, body, last = [], [], "%x"
    for form in options.forms:
        own, loop, term = _FORMS[form]
        captures += own
        body.append(loop.format(f"%{form}", last, term))
        last = f"%{form}"
    text = _PROGRAM.format(
        arguments=", ".join(
            f'%{name}: {type_} {{attn.name = "{name}"}}' for name, type_ in captures
        ),
        names=", ".join(f"%{name}" for name, _ in captures),
        types=", ".join(type_ for _, type_ in captures),
        rank=options.rank,
        body="\n".join(body),
        yielded=last,
    )
    both = subprocess.run(
        ["attn-opt", "--attn-differentiate", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # The gradient alone.
    return both[both.index("func.func @f_grad") : both.rindex("}")]


def _score(options, x, i, j, read):
    d = numpy.tanh((i - j) * 0.02)
    for form in options.forms:
        for r in range(options.rank):
            if form == "rank":
                x = x + read("rows", r) * read("columns", r)
            elif form == "bands":
                x = x + read("table", r)
            elif form == "pairs":
                x = x + read("bias", r)
            elif form == "powers":
                x = x + read("series", r) * d**r
            else:
                x = x + numpy.tanh(x * 0.25) * read("steps", r)
    return x


def _expect(options, q, k, v, do, dlse, captures):
    """In float64: o, lse, and the gradients, by steps that are not real, whose
    imaginary parts are derivatives to the last bit."""
    i, j = numpy.indices((q.shape[2], k.shape[2]), sparse=True)
    tiny = 1e-30

    def score(x, of=None):
        def read(name, r):
            value = captures[name][_READS[name](i, j, r)]
            return value + 1j * tiny if of == (name, r) else value

        return _score(options, x, i, j, read)

    o, lse, found, x, ds = gradients.differentiate(
        q, k, v, do, lambda x: (score(x), score(x + 1j * tiny).imag / tiny), dlse
    )
    for name, capture in captures.items():
        found[name] = numpy.zeros(capture.shape)
        for r in range(options.rank):
            add = (ds * score(x, (name, r)).imag / tiny)[0, 0]
            at = numpy.broadcast_arrays(*_READS[name](i, j, r), add)[:-1]
            numpy.add.at(found[name], tuple(at), add)
    return o, lse, found


def _execute(programs, options, sizes, seed):
    """The largest error of a gradient, over its largest element."""
    draw = numpy.random.default_rng(seed)
    queries, keys = sizes

    def tensor(rows):
        values = draw.standard_normal((1, 1, rows, 64)).astype("f4")
        return operations.to_bf16(values)

    packed = {name: tensor(queries if name in "qdo" else keys) for name in "qkv"}
    packed["do"] = tensor(queries)
    shapes = {
        "rows": (queries, options.rank),
        "columns": (keys, options.rank),
        "table": (queries + 400, options.rank),
        "bias": (queries, options.rank, keys),
        "series": (options.rank,),
        "steps": (options.rank, keys),
    }
    names = [name for form in options.forms for name, _ in _FORMS[form][0]]
    captures = {
        name: (0.1 * draw.standard_normal(shapes[name])).astype("f4") for name in names
    }
    dlse = draw.standard_normal((1, 1, queries)).astype("f4")
    exact = {name: operations.from_bf16(x).astype("f8") for name, x in packed.items()}
    o, lse, expected = _expect(
        options,
        *(exact[name] for name in ("q", "k", "v", "do")),
        dlse.astype("f8"),
        {name: x.astype("f8") for name, x in captures.items()},
    )
    arrays = {name: packed[name] for name in "qkv"}
    arrays.update(captures)
    arrays.update(o=operations.to_bf16(o.astype("f4")), lse=lse.astype("f4"))
    arrays.update(do=packed["do"], dlse=dlse)
    bits, worst = None, 0
    for order in draw.integers(1 << 31, size=options.repeats):
        launch = launches.Launch(programs[0])
        for name, array in arrays.items():
            launch.add_tensor(name, array)
        regions = {}
        for name in [*"qkv", *names]:
            dtype = numpy.dtype("u2" if name in "qkv" else "f4")
            launch.add_tensor(f"d{name}", numpy.zeros(expected[name].shape, dtype))
            region = regions[name] = launch.operands[-1].region
            region.writable[:], region.defined[:] = True, False
        for program in programs:
            own = launch.behind(program)
            own.add_tables()
            grid.run(own, order, late=1.0)
        for name, region in regions.items():
            if name in "qkv":
                values = region.values(numpy.dtype("u2"), expected[name].shape)
                values = operations.from_bf16(values)
            else:
                values = region.values(numpy.dtype("f4"), expected[name].shape)
            error = numpy.abs(values - expected[name]).max(initial=0)
            error /= max(numpy.abs(expected[name]).max(initial=0), 0.1)
            if not error < 0.02:
                raise ptx.PtxError(f"d{name}: error {error}")
            worst = max(worst, error)
        own = [regions[name].bytes.tobytes() for name in names]
        if bits is not None and own != bits:
            raise ptx.PtxError("gradients differ in another order")
        bits = own
    return worst


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", nargs="+", choices=sorted(_FORMS), metavar="FORM")
    parser.add_argument("--rank", type=int, default=40)
    parser.add_argument("--schedule")
    parser.add_argument("--sizes", action="append", default=[])
    parser.add_argument("--repeats", type=int, default=1, help="in other orders")
    parser.add_argument("--save-ptx")
    options = parser.parse_args()
    gradients.run_sizes(_program(options), options, _execute)


if __name__ == "__main__":
    main()
