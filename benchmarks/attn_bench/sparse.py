"""`python -m attn_bench --sparsity=...`: what masks and sparsity cost.

Against the kernel without a mask of the same shape, of whose time they should
take the part that they leave, and against FlexAttention.
"""

import typing
import zlib

import attn

from . import check, contest, measure, peers, sparsity, tiles, variants

# FlexAttention's time over ours.
FLEX_BAR = 1.5
# TFLOP/s on the tiles that are needed, over those without a mask.
EFFICIENCY_BAR = 0.80
# A time under a layout: over (density * time without it), and over the latter.
DENSITY_BAR, CONSTANT_BAR = 1.15, 0.05
# GB/s of an H200's L2 cache, in which the keys and values of a head stay
# (lib/Conversion/HopperToNVVM/RowKernel.h).
BANDWIDTH = 5500

# What a choice among forms may take of the best one's time: measurements differ.
CHOICE_BAR = 1.03
# Below it xFormers computes with sparse matrices (_should_use_sparse in
# xformers/components/attention/core.py).
XFORMERS_DENSITY = 0.3

# On a GPU, unless the user says.
_DIMS = {"masks": (64, 128), "blocks": (128,), "keys": (64,), "shared": (64, 128)}


class Column(typing.NamedTuple):
    title: str
    key: str
    width: int
    form: str = ""


_TIMES = (Column("attn ms", "ms", 10, ".4f"), Column("dense ms", "dense_ms", 10, ".4f"))
COLUMNS = {
    "masks": (
        Column("tiles %", "visited_percent", 9, ".2f"),
        *_TIMES,
        Column("TFLOP/s", "tflops", 9, ".1f"),
        Column("of dense", "efficiency", 10, ".3f"),
        Column(f">={EFFICIENCY_BAR:.2f}", "efficiency_met", 8),
        Column("flex ms", "flex_ms", 10, ".4f"),
        Column("flex/attn", "flex_ratio", 11, ".3f"),
        Column(f">={FLEX_BAR:.2f}", "flex_met", 8),
        Column("flex mask ms", "flex_make_ms", 14, ".3f"),
    ),
    "blocks": (
        Column("blocks %", "density_percent", 10, ".2f"),
        Column("tiles %", "visited_percent", 9, ".2f"),
        _TIMES[1],
        Column("bits ms", "bits_ms", 10, ".4f"),
        Column("/density", "bits_over", 10, ".3f"),
        Column("met", "bits_met", 5),
        Column("lists ms", "lists_ms", 10, ".4f"),
        Column("/density", "lists_over", 10, ".3f"),
        Column("met", "lists_met", 5),
    ),
    "keys": (
        Column("pairs %", "density_percent", 9, ".3f"),
        *_TIMES,
        Column("dense/attn", "speedup", 12, ".3f"),
        Column("bytes ms", "bytes_ms", 10, ".4f"),
        Column("attn/bytes", "over_bytes", 12, ".3f"),
        Column("rows ms", "rows_ms", 10, ".4f"),
        Column("predicate ms", "predicate_ms", 14, ".4f"),
        Column("xformers ms", "xformers_ms", 13, ".4f"),
        Column("xformers/attn", "xformers_ratio", 15, ".3f"),
        Column("best", "is_best", 6),
    ),
    "shared": (
        Column("pairs %", "density_percent", 9, ".2f"),
        Column("union %", "union_percent", 9, ".2f"),
        _TIMES[1],
        Column("gathered ms", "gathered_ms", 13, ".4f"),
        Column("rows ms", "rows_ms", 10, ".4f"),
        Column("predicate ms", "predicate_ms", 14, ".4f"),
        Column("rows/gathered", "rows_ratio", 15, ".3f"),
        Column("predicate/gathered", "predicate_ratio", 20, ".3f"),
    ),
}


def cases(options):
    """(family, case) of all that the user asks for, by the names of patterns."""
    for family, patterns in sparsity.FAMILIES.items():
        for name, pattern in patterns.items():
            if not {family, name} & set(options.sparsity):
                continue
            for dim in options.dims or _DIMS[family]:
                for length in options.lengths or pattern.lengths:
                    case = variants.make_case(options, "none", name, length, dim)
                    yield family, case


# ===----------------------------------------------------------------------===
# Running a case
# ===----------------------------------------------------------------------===


def make_values(pattern, case, seed):
    """The arrays of a case: the same whatever else is run."""
    import numpy

    draw = numpy.random.default_rng([seed, zlib.crc32(str(case).encode())])
    return pattern.make(draw, case)


def _to_device(torch, values, device):
    return {
        name: torch.from_numpy(value).to(device) if hasattr(value, "shape") else value
        for name, value in values.items()
    }


def _contenders(torch, family, case, options, pattern, values):
    device = options.device
    dtype = getattr(torch, variants.TORCH_TYPES[case.dtype])
    shape = (case.batch, case.heads, case.length, case.dim)
    q, k, v = (torch.randn(shape, dtype=dtype, device=device) for _ in range(3))
    mask = pattern.allowed(values)
    judges = [
        check.Judge(torch, case, q, k, v, None, allowed, options.rows)
        for allowed in (mask, None)
    ]

    def ours(program, operands, judge, choice="auto"):
        def make():
            kernel = attn.compile(program, target=device, sparsity=choice)
            out = torch.full_like(q, float("nan"))
            return kernel.bind(q, k, v, *operands, out=out)

        return contest.Contender(make, judge, is_ours=True)

    found = {
        name: ours(
            pattern.program(case, name),
            pattern.operands(values, name),
            judges[0],
            form.choice,
        )
        for name, form in pattern.forms.items()
    }
    if family == "masks" and "flex" in options.peers:
        extents = pattern.extents(case)
        found["flex"] = contest.Contender(
            lambda: peers.masked_flex(torch, case, q, k, v, mask, *extents), judges[0]
        )
    found["dense"] = ours(variants.text(case, ()), (), judges[1])
    return found


def _visited(torch, case, pattern, values, device):
    batch, heads = (extent or 1 for extent in pattern.extents(case))

    def arange(begin, end):
        return torch.arange(begin, end, device=device)

    return tiles.visited(arange, pattern.allowed(values), batch, heads, case.length)


def _run_case(torch, family, case, options, timer):
    pattern = sparsity.FAMILIES[family][case.mask]
    arrays = make_values(pattern, case, options.seed)
    facts = {}
    if pattern.density is not None:
        facts["density"] = float(arrays["bits"].mean())
        facts["listed"] = len(arrays["columns"])
    values = _to_device(torch, arrays, options.device)
    if family == "shared":
        facts["union"] = sparsity.mean_union(arrays["bits"])
    # A tile of single keys says nothing.
    if family not in ("keys", "shared"):
        facts["visited"] = _visited(torch, case, pattern, values, options.device)
    contenders = _contenders(torch, family, case, options, pattern, values)
    row, functions = contest.run(contenders, timer, options.rounds)
    if "flex" in functions:
        row["flex"]["make_ms"] = functions["flex"].make_ms
    if options.kernels and options.device == "cuda":
        for name in pattern.forms:
            if name in functions:
                row[name]["kernels"] = measure.kernels(torch, functions[name])
    return row, facts


# ===----------------------------------------------------------------------===
# What the times say
# ===----------------------------------------------------------------------===


def _ratio(a, b):
    return a / b if a is not None and b else None


def _mask_summary(case, facts, times, options):
    ours, dense, flex = (times.get(name) for name in ("attn", "dense", "flex"))
    visited = facts["visited"]
    efficiency = _ratio(dense and visited * dense, ours)
    ratio = _ratio(flex, ours)
    return {
        "ms": ours,
        "dense_ms": dense,
        "flex_ms": flex,
        "visited_percent": 100 * visited,
        "tflops": _ratio(visited * case.flops / 1e9, ours),
        "efficiency": efficiency,
        "efficiency_met": efficiency and efficiency >= EFFICIENCY_BAR,
        "flex_ratio": ratio,
        "flex_met": ratio and ratio >= FLEX_BAR,
    }


def _block_summary(case, facts, times, options):
    dense, density = times.get("dense"), facts["density"]
    found = {
        "dense_ms": dense,
        "density_percent": 100 * density,
        "visited_percent": 100 * facts["visited"],
    }
    for name in "bits", "lists":
        ms = found[f"{name}_ms"] = times.get(name)
        found[f"{name}_over"] = _ratio(ms, dense and density * dense)
        if ms and dense:
            bar = (DENSITY_BAR * density + CONSTANT_BAR) * dense
            found[f"{name}_met"] = ms <= bar
    return found


def _key_summary(case, facts, times, options):
    ours, dense = times.get("attn"), times.get("dense")
    # A key and a value of 2 or 4 bytes an element for each pair.
    size = 4 if case.dtype == "f32" else 2
    pairs = case.batch * facts["listed"]
    bound = pairs * 2 * case.dim * size / (options.bandwidth * 1e6)
    is_sparse = facts["density"] < XFORMERS_DENSITY
    of_rule = times.get("rows" if is_sparse else "predicate")
    return {
        "ms": ours,
        "dense_ms": dense,
        "density_percent": 100 * facts["density"],
        "speedup": _ratio(dense, ours),
        "bytes_ms": bound,
        "over_bytes": _ratio(ours, bound),
        **{f"{name}_ms": times.get(name) for name in ("rows", "predicate")},
        "xformers_ms": of_rule,
        "xformers_ratio": _ratio(of_rule, ours),
        # Whether the compiler's choice is neither form's loss.
        "is_best": ours
        and all(
            ours <= CHOICE_BAR * times[name]
            for name in ("rows", "predicate")
            if times.get(name)
        ),
    }


def _shared_summary(case, facts, times, options):
    gathered = times.get("gathered")
    return {
        "dense_ms": times.get("dense"),
        "density_percent": 100 * facts["density"],
        "union_percent": 100 * facts["union"],
        "gathered_ms": gathered,
        **{f"{name}_ms": times.get(name) for name in ("rows", "predicate")},
        **{
            f"{name}_ratio": _ratio(times.get(name), gathered)
            for name in ("rows", "predicate")
        },
    }


_SUMMARIES = {
    "masks": _mask_summary,
    "blocks": _block_summary,
    "keys": _key_summary,
    "shared": _shared_summary,
}


def summarize(family, case, facts, row, options):
    """What a line of the table says; what could not be had is None."""
    times = {name: entry.get("ms") for name, entry in row.items()}
    found = _SUMMARIES[family](case, facts, times, options)
    found["flex_make_ms"] = row.get("flex", {}).get("make_ms")
    return found


def _cell(column, summary):
    value = summary.get(column.key)
    if value is None:
        text = "-"
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = format(value, column.form)
    return f"{text:>{column.width}}"


def head(family):
    line = f"{f'{family}: pattern type batch heads length dim':<52}"
    return line + "".join(
        f"{column.title:>{column.width}}" for column in COLUMNS[family]
    )


def lines(family, case, summary, row):
    """What is printed of a case: its line of the table, and notes."""
    name = str(case).removeprefix("none ")
    cells = [_cell(column, summary) for column in COLUMNS[family]]
    found = [f"{name:<52}" + "".join(cells)]
    for name, entry in row.items():
        if "note" in entry:
            found.append(f"  {name}: {entry['note']}")
        if entry.get("kernels"):
            times = [f"{kernel} {ms:.4f}" for kernel, ms in entry["kernels"].items()]
            found.append(f"  {name}, ms of kernels: {', '.join(times)}")
    return found


# ===----------------------------------------------------------------------===
# The mode
# ===----------------------------------------------------------------------===


def run(torch, options, timer, save):
    """Prints a table for each family; whether one of ours failed. `save(row)` is
    called with all of each row."""
    failed, last = False, None
    for family, case in cases(options):
        if family != last:
            print(head(family), flush=True)
            last = family
        try:
            row, facts = _run_case(torch, family, case, options, timer)
            summary = summarize(family, case, facts, row, options)
        # Such as too little memory for inputs, on the host or on the GPU.
        except Exception as error:
            row, facts, summary = {"attn": {"note": contest.reason(error)}}, {}, {}
        print("\n".join(lines(family, case, summary, row)), flush=True)
        failed |= any("ms" not in row[name] for name in row if name != "flex")
        save(
            {
                "family": family,
                **vars(case),
                **facts,
                "summary": summary,
                "contenders": row,
            }
        )
        # What this case has left is there for the next one, in pieces that fit.
        if options.device == "cuda":
            torch.cuda.empty_cache()
    return failed
