"""Finds rows of the table of schedules that no program of the benchmarks or of
the examples takes.

Usage: schedule_rows.py TABLE EXAMPLES PROGRAMS

Programs are written to PROGRAMS, as parts of one file.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

from attn_bench import heads, sparsity, split_kv, variants

# Those that the tables of docs/benchmarks.md have, and one for each other width of
# a swizzled tile.
DIMS = (64, 96, 128, 192, 256)

# Forms of a sparsity that have tiles.
FORMS = ("auto", "dense", "gathered")
# What comes before the choice of a schedule.
PASSES = (
    "--attn-expand-sparsity=by-element",
    "--attn-canonicalize-score",
    "--attn-online-softmax",
    "--attn-classify-blocks",
    "--attn-lift-mask",
    "--attn-hopper-assign-schedule=list",
)

# Captures and masks that the benchmarks measure by hand (docs/benchmarks.md).
BY_HAND = {
    "bytes": (
        ("bias", "tensor<?x?xi8>"),
        """%e = tensor.extract %bias[%i, %j] : tensor<?x?xi8>
        %x = arith.sitofp %e : i8 to f32
        %y = arith.addf %s, %x : f32""",
    ),
    "floats": (
        ("bias", "tensor<?x?xf32>"),
        """%x = tensor.extract %bias[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32""",
    ),
    "doubles": (
        ("bias", "tensor<?x?xf64>"),
        """%e = tensor.extract %bias[%i, %j] : tensor<?x?xf64>
        %x = arith.truncf %e : f64 to f32
        %y = arith.addf %s, %x : f32""",
    ),
    "keys": (
        ("bias", "tensor<?xf32>"),
        """%x = tensor.extract %bias[%j] : tensor<?xf32>
        %y = arith.addf %s, %x : f32""",
    ),
    "keys_and_slope": (
        ("bias", "tensor<?xf32>"),
        """%x = tensor.extract %bias[%j] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %n = arith.index_cast %d : index to i32
        %f = arith.sitofp %n : i32 to f32
        %z = arith.addf %x, %f : f32
        %y = arith.addf %s, %z : f32""",
    ),
    "distance": (
        ("slopes", "tensor<?xf32>"),
        """%slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %n = arith.index_cast %a : index to i32
        %f = arith.sitofp %n : i32 to f32
        %x = arith.mulf %slope, %f : f32
        %y = arith.subf %s, %x : f32""",
    ),
}
# Masks that read an element for each pair: of documents, and of blocks whose size is a
# number of the call.
PAIRS = {
    "documents": (
        (("of", "tensor<?xindex>"), ("sees", "tensor<?x?xi1>")),
        """%m = tensor.extract %of[%i] : tensor<?xindex>
        %n = tensor.extract %of[%j] : tensor<?xindex>
        %p = tensor.extract %sees[%m, %n] : tensor<?x?xi1>""",
    ),
    "blocks": (
        (("size", "index"), ("sees", "tensor<?x?xi1>")),
        """%m = arith.divsi %i, %size : index
        %n = arith.divsi %j, %size : index
        %p = tensor.extract %sees[%m, %n] : tensor<?x?xi1>""",
    ),
}
# Columns of keys and of values and heads for each of keys, as multi-head latent
# attention has them,
# and for its decoding, whose heads share keys, and wide ones.
LATENT = ((192, 128, 1), (320, 160, 2), (512, 256, 2), (576, 256, 16))


def latent(dims, mask):
    region = f"mask(%b, %h, %i, %j) {{ {mask} attn.yield %p : i1 }}" if mask else ""
    wide, narrow, group = dims
    q, o = (f"tensor<1x{group}x?x{dim}xbf16>" for dim in (wide, narrow))
    k, v = (f"tensor<1x1x?x{dim}xbf16>" for dim in (wide, narrow))
    return f"""func.func @latent(%q: {q}, %k: {k}, %v: {v}, %o: {o}) -> {o} {{
  %r = attn.attention ins(%q, %k, %v : {q}, {k}, {v}) outs(%o : {o}) {region}
  return %r : {o}
}}
"""


def get_programs(examples):
    """Each with its form."""
    for dim in DIMS:

        def make_case(variant, mask):
            return variants.Case(variant, mask, "bf16", 1, 8, 16384, dim)

        for name, variant in variants.VARIANTS.items():
            for mask in variant.masks or variants.MASKS:
                yield "auto", variants.program(make_case(name, mask))
        for family in sparsity.FAMILIES.values():
            for name, pattern in family.items():
                for key, form in pattern.forms.items():
                    if form.choice in FORMS:
                        program = pattern.program(make_case("none", name), key)
                        yield form.choice, program
        yield "auto", split_kv.program(make_case("none", "global"))
        yield "auto", heads.program(dim, 8, 2)
        for (inputs, score), mask in itertools.product(
            BY_HAND.values(), ("", variants.BODIES["window"], variants.BODIES["causal"])
        ):
            text = variants.text(make_case("none", "full"), (inputs,), score, mask)
            yield "auto", text
        for inputs, mask in PAIRS.values():
            yield "auto", variants.text(make_case("none", "full"), inputs, "", mask)
        # Blocks that are no multiple of 64.
        form = sparsity._bits(32)
        text = variants.text(
            make_case("none", "full"), form.inputs, sparsity=form.sparsity
        )
        yield "auto", text
    for dims, mask in itertools.product(LATENT, ("", variants.BODIES["causal"])):
        yield "auto", latent(dims, mask)
    for path in sorted(pathlib.Path(examples).glob("*.mlir")):
        yield "auto", path.read_text()


CAUSAL = """mask(%b, %h, %i, %j) {
    %p = arith.cmpi sle, %j, %i : index
    attn.yield %p : i1
  }"""

# Scores of gradients: what they capture, and their body.
SCORES = (
    ("", ""),
    ("", "%y = math.tanh %s : f32 attn.yield %y : f32"),
    # Tables by query and key, whose gradients adjoints read scores for, or not;
    # and a table by their distance.
    (
        "tensor<?x?xf32>",
        """%x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32""",
    ),
    (
        "tensor<?x?xf32>",
        """%x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32""",
    ),
    (
        "tensor<?xf32>",
        """%far = arith.constant 16384 : index
        %d = arith.subi %i, %j : index
        %at = arith.addi %d, %far : index
        %x = tensor.extract %c[%at] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32""",
    ),
    # Dropout.
    (
        "tensor<i64>",
        """%n = tensor.extract %c[] : tensor<i64>
        %w = attn.dropout 0.5 seed %n offset %n at %b, %h, %i, %j : f32
        attn.yield %s, %w : f32, f32""",
    ),
    (
        "tensor<i64>",
        """%n = tensor.extract %c[] : tensor<i64>
        %w = attn.dropout 0.5 seed %n offset %n at %b, %h, %i, %j : f32
        %y = math.tanh %s : f32
        attn.yield %y, %w : f32, f32""",
    ),
)


def get_gradients():
    """Each with the names of what gradients are wanted of."""
    dims = [(dim, dim) for dim in (64, 72, 96, 128, 192, 256)] + [(192, 128)]
    for (wide, narrow), (capture, score) in itertools.product(dims, SCORES):
        t, o = (f"tensor<1x2x?x{dim}xbf16>" for dim in (wide, narrow))
        arguments = [("q", t), ("k", t), ("v", o), ("o", o)]
        captures = ""
        if capture:
            arguments.append(("c", capture))
            captures = f"captures(%c : {capture})"
        signature = ", ".join(
            f'%{name}: {type_} {{attn.name = "{name}"}}' for name, type_ in arguments
        )
        if score:
            own = ", %c" if capture else ""
            score = f"score(%s, %b, %h, %i, %j{own}) {{ {score} }}"
        head = f"""func.func @f({signature}) -> {o} {{
  %r = attn.attention ins(%q, %k, %v : {t}, {t}, {o}) {captures} outs(%o : {o}) {score}"""
        tail = f"""
  return %r : {o}
}}
"""
        text = head + tail
        yield "q,k,v", text
        if not score:
            yield "q,k,v", head + CAUSAL + tail
        yield "q", text
        if "f32" in capture:
            yield "q,k,v,c", text


def find_rows(path, texts, *passes):
    """What rows the programs take."""
    pathlib.Path(path).write_text("\n// -----\n".join(texts))
    command = ["attn-opt", path, "--split-input-file", *passes, "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return set(re.findall(r"remark: .*, (row \d+ of \w+)$", done.stderr, re.M))


def main():
    table, examples, path = sys.argv[1:]
    programs = list(get_programs(examples))
    gradients = list(get_gradients())
    taken = set()
    for form in FORMS:
        choice = f"--attn-choose-sparsity=form={form} one-per-launch"
        texts = [text for each, text in programs if each == form]
        taken |= find_rows(path, texts, choice, *PASSES)
    for wrt, order in itertools.product(dict(gradients), ("", " nondeterministic=1")):
        if wrt == "q" and order:
            continue  # One CTA has all of a query's sums.
        texts = [text for each, text in gradients if each == wrt]
        differentiate = f"--attn-differentiate=wrt={wrt}{order}"
        split = "--attn-hopper-split-gradients"
        taken |= find_rows(path, texts, PASSES[1], differentiate, split, PASSES[-1])
    programs += gradients
    rows = {}
    content = json.loads(pathlib.Path(table).read_text())
    for section in ("attention", "gathered", "gradients", "query_gradients"):
        for number, row in enumerate(content[section]["rows"]):
            rows[f"row {number} of {section}"] = row
    for name in rows.keys() - taken:
        print(f"taken by no program: {name}: {rows[name]}")
    print(f"{len(programs)} programs take {len(rows.keys() & taken)} of {len(rows)} rows")
    return len(rows.keys() - taken) != 0


if __name__ == "__main__":
    sys.exit(main())
