"""`python -m attn_bench --split-kv`: few Q blocks with many keys.

Where there are too few tiles to fill a GPU, or some take much longer than all
others, the keys of a tile are shared out to several CTAs. Against the
first schedule that shares out none, and for attention without a mask against
backends of PyTorch.
"""

import dataclasses
import sys

import attn

from . import check, contest, peers, variants

# Queries and heads of attention to all keys, as in decoding.
_QUERIES = (1, 16, 128)
_HEADS = (1, 8)
_LENGTHS = (32768, 131072)
_DIMS = (64, 128)
# Of a window and tokens that see all, and are seen by all.
_GLOBAL_HEADS = (1, 4, 16)
_WINDOW, _GLOBAL = 1024, 128


@dataclasses.dataclass(frozen=True)
class Case(variants.Case):
    """As many queries as it says, with `length` keys."""

    queries: int = 0

    def __str__(self):
        return (
            f"{self.mask} {self.dtype} H{self.heads} {self.queries}x{self.length}"
            f" D{self.dim}"
        )


_GLOBAL_MASK = f"""%window = arith.constant {_WINDOW} : index
        %some = arith.constant {_GLOBAL} : index
        %d = arith.subi %i, %j : index
        %after = arith.cmpi sle, %j, %i : index
        %inside = arith.cmpi slt, %d, %window : index
        %near = arith.andi %after, %inside : i1
        %row = arith.cmpi slt, %i, %some : index
        %column = arith.cmpi slt, %j, %some : index
        %either = arith.ori %row, %column : i1
        %p = arith.ori %near, %either : i1"""


def _sees(b, h, i, j):
    near = (j <= i) & (i - j < _WINDOW)
    return near | (i < _GLOBAL) | (j < _GLOBAL)


def cases(options):
    dtype = options.dtype
    for dim in options.dims or _DIMS:
        for length in options.lengths or _LENGTHS:
            for heads in _HEADS:
                for queries in _QUERIES:
                    yield Case("none", "full", dtype, 1, heads, length, dim, queries)
    for dim in options.dims or _DIMS:
        length = max(options.lengths or _LENGTHS)
        for heads in _GLOBAL_HEADS:
            yield Case("none", "global", dtype, 1, heads, length, dim, length)


def program(case):
    mask = _GLOBAL_MASK if case.mask == "global" else ""
    return variants.text(case, (), mask=mask)


def whole_schedule(kernel):
    """The first schedule of a kernel that shares out no keys."""
    schedules = [each["schedule"] for each in kernel.report["kernels"]]
    return next(each for each in schedules if "split_kv" not in each)


def _make(torch, case, device, inputs, is_whole):
    kernel = attn.compile(program(case), target=device)
    if is_whole:
        schedule = whole_schedule(kernel)
        kernel = attn.compile(program(case), target=device, schedule=schedule)
    return kernel.bind(*inputs, out=torch.full_like(inputs[0], float("nan")))


def _run_case(torch, case, options, timer):
    device = options.device
    dtype = getattr(torch, variants.TORCH_TYPES[case.dtype])

    def draw(length):
        shape = (1, case.heads, length, case.dim)
        return torch.randn(shape, dtype=dtype, device=device)

    inputs = draw(case.queries), draw(case.length), draw(case.length)
    mask = _sees if case.mask == "global" else None
    rows = options.rows
    judge = check.Judge(torch, case, *inputs, None, mask, rows, case.queries)
    contenders = {
        name: contest.Contender(
            lambda is_whole=is_whole: _make(torch, case, device, inputs, is_whole),
            judge,
            is_ours=True,
        )
        for name, is_whole in [("attn", False), ("whole", True)]
    }
    for name in options.peers if mask is None else []:
        contenders[name] = contest.Contender(
            lambda name=name: peers.make(torch, name, case, *inputs, {}), judge
        )
    row, _ = contest.run(contenders, timer, options.rounds)
    for name, entry in row.items():
        if name != "attn" and "ms" in entry and "ms" in row["attn"]:
            entry["ratio"] = entry["ms"] / row["attn"]["ms"]
    return row


def run(torch, options, timer, save):
    """Prints a table; whether one of ours failed."""
    if options.device != "cuda":
        print("attn_bench: error: expects a GPU for --split-kv", file=sys.stderr)
        return True
    names = ["whole", *options.peers]
    title = "mask type heads queries x keys dim"
    heads = "".join(f"{name + ' ms':>14}{'ratio':>9}" for name in names)
    print(f"{title:<40}{'attn ms':>10}{heads}")
    failed = False
    for case in cases(options):
        row = _run_case(torch, case, options, timer)
        line = f"{case!s:<40}"
        for name in ["attn", *names]:
            entry = row.get(name, {})
            width = 10 if name == "attn" else 14
            line += f"{entry['ms']:{width}.4f}" if "ms" in entry else f"{'-':>{width}}"
            if name != "attn":
                line += f"{entry['ratio']:9.2f}" if "ratio" in entry else f"{'-':>9}"
        notes = [f"  {n}: {e['note']}" for n, e in row.items() if "note" in e]
        print("\n".join([line, *notes]), flush=True)
        failed |= "ms" not in row["attn"]
        save({**dataclasses.asdict(case), "contenders": row})
    return failed
