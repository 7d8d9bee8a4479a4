"""python -m attn_bench: times of kernels and of what PyTorch has instead."""

import argparse
import functools
import json
import os
import sys

import attn

from . import backward, check, contest, measure, peers, sparse, sparsity, split_kv, variants
from .options import positive, positives


def _list(known):
    """The type of an option that takes names, separated by commas."""

    def parse(text):
        names = [name for name in text.split(",") if name]
        for name in names:
            if known and name not in known:
                raise argparse.ArgumentTypeError(
                    f"expects some of {', '.join(known)}, but got '{name}'"
                )
        return names

    return parse


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m attn_bench",
        description="Compares kernels with attention of PyTorch: all in turn, in one"
        " process, each checked against float64 before it is timed. A ratio is the"
        " time of a peer over ours.",
    )
    add = parser.add_argument
    add("--device", choices=["cuda", "cpu"], help="by default a GPU if there is one")
    add("--dims", type=positives, help="head dimensions")
    add("--lengths", type=positives, help="sequence lengths")
    add("--tokens", type=positive, help="batch * length (the batch is at least 1)")
    add("--heads-total", type=positive, help="heads * head dimension")
    add("--masks", type=_list(variants.MASKS), default=["full", "causal"])
    add("--variants", type=_list(variants.VARIANTS), default=["none"])
    add(
        "--sparsity",
        type=_list(sparsity.NAMES),
        help="masks and explicit sparsity, instead of variants: "
        + ", ".join(sparsity.FAMILIES)
        + ", or some of "
        + ", ".join(name for family in sparsity.FAMILIES.values() for name in family),
    )
    add(
        "--split-kv",
        action="store_true",
        help="few Q blocks with many keys, instead of variants",
    )
    add(
        "--kernels",
        action="store_true",
        help="with --sparsity on a GPU, what each kernel of a call takes",
    )
    add(
        "--bandwidth",
        type=positive,
        default=sparse.BANDWIDTH,
        help="GB/s at which lists of keys could be read, by default"
        f" {sparse.BANDWIDTH}: that of an H200's L2 cache",
    )
    add("--dtype", choices=list(variants.TORCH_TYPES))
    add("--rounds", type=positive, default=20, help="timed runs of each")
    add("--rows", type=positive, default=64, help="rows that are checked")
    add("--seed", type=int, help="of the inputs, by default another one each time")
    add(
        "--backward",
        action="store_true",
        help="gradients of q, k and v, in one order (attn), in any (attn-any), and with"
        " what a mask reads prepared (attn-prepared)",
    )
    add(
        "--peers",
        type=_list(peers.BACKWARD_NAMES),
        help="of "
        + ", ".join(peers.NAMES)
        + "; with --backward fa3-det too, which is FlashAttention-3 in one order",
    )
    add(
        "--cold",
        action="store_true",
        help="empty the caches of the GPU before each run, instead of running all"
        " one after the other",
    )
    add("--json", metavar="FILE", help="writes all measurements there")
    options = parser.parse_args(arguments)
    if options.backward and (options.sparsity or options.split_kv):
        parser.error("argument --backward: expects variants, not other patterns")
    if not options.backward and options.peers:
        for name in set(options.peers) - set(peers.NAMES):
            parser.error(f"argument --peers: expects --backward for '{name}'")
    if options.split_kv and options.device == "cpu":
        parser.error("argument --split-kv: expects a GPU, whose blocks share out keys")
    return options


# What fits the device, where the user does not say.
_DEFAULTS = {
    "cuda": {
        "dims": [64, 128, 256],
        "lengths": [2048, 8192, 16384],
        "tokens": 16384,
        "heads_total": 2048,
        "dtype": "bf16",
    },
    "cpu": {
        "dims": [64],
        "lengths": [512, 1024],
        "tokens": 1024,
        "heads_total": 512,
        "dtype": "f32",
    },
}
# On a GPU each pattern of --sparsity has its own.
_OF_PATTERNS = ("dims", "lengths")


def _complete(options, torch):
    if options.device is None:
        options.device = "cuda" if torch.cuda.is_available() else "cpu"
    for name, value in _DEFAULTS[options.device].items():
        is_of_pattern = options.sparsity and options.device == "cuda"
        if (is_of_pattern or options.split_kv) and name in _OF_PATTERNS:
            continue
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.peers is None:
        options.peers = list(peers.DEFAULT[options.device])
        if options.split_kv:
            options.peers.remove("flex")
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "little")


def _cases(options):
    for name in options.variants:
        masks = variants.VARIANTS[name].masks or options.masks
        for mask in masks:
            for dim in options.dims:
                for length in options.lengths:
                    yield variants.make_case(options, name, mask, length, dim)


def _ours(torch, case, device, q, k, v, captures):
    kernel = attn.compile(variants.program(case), target=device)
    out = torch.full_like(q, float("nan"))
    return kernel.bind(q, k, v, *captures.values(), out=out)


def _run_case(torch, case, options, timer):
    """The row of a case: for each contender its times, or why it has none."""
    device = options.device
    dtype = getattr(torch, variants.TORCH_TYPES[case.dtype])
    shape = (case.batch, case.heads, case.length, case.dim)
    q, k, v = (torch.randn(shape, dtype=dtype, device=device) for _ in range(3))
    captures = variants.make_captures(torch, case, device)
    score, mask = (
        make(case, captures) for make in (variants.score_mod, variants.mask_mod)
    )
    judge = check.Judge(torch, case, q, k, v, score, mask, options.rows)
    inputs = (q, k, v, captures)

    def peer(name):
        make = functools.partial(peers.make, torch, name, case, *inputs)
        return contest.Contender(make, judge)

    contenders = {
        "attn": contest.Contender(
            lambda: _ours(torch, case, device, *inputs), judge, is_ours=True
        ),
        **{name: peer(name) for name in options.peers},
    }
    row, _ = contest.run(contenders, timer, options.rounds)
    for entry in row.values():
        if "ms" in entry:
            entry["tflops"] = case.flops / entry["ms"] / 1e9
    ours = row["attn"].get("ms")
    for name in options.peers:
        if ours and "ms" in row[name]:
            row[name]["ratio"] = row[name]["ms"] / ours
    return row


def _contenders(options):
    return [*(backward.OURS if options.backward else ["attn"]), *options.peers]


def _print_head(options):
    names = _contenders(options)
    columns = [f"{name:>21}" for name in names]
    print(f"{'variant mask type batch heads length dim':<44}" + "".join(columns))
    units = ["ms  TFLOP/s"] + ["ms    ratio"] * (len(names) - 1)
    print(" " * 44 + "".join(f"{unit:>21}" for unit in units), flush=True)


def _print_row(case, row):
    line, notes = f"{case!s:<44}", []
    for name, entry in row.items():
        if "ms" not in entry:
            line += f"{'-':>21}"
        elif name == "attn":
            line += f"{entry['ms']:12.4f}{entry['tflops']:9.2f}"
        elif "ratio" in entry:
            line += f"{entry['ms']:12.4f}{entry['ratio']:9.3f}"
        else:
            line += f"{entry['ms']:12.4f}{'-':>9}"
        if "note" in entry:
            notes.append(f"  {name}: {entry['note']}")
    print("\n".join([line, *notes]), flush=True)


def _environment(torch, options):
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    return {
        "attn": attn.version(),
        "torch": torch.__version__,
        "device": name,
        "threads": torch.get_num_threads(),
        "options": vars(options),
    }


def _run_variants(torch, options, timer, save):
    """Prints a table; whether one of ours failed."""
    _print_head(options)
    run_case = backward.run_case if options.backward else _run_case
    failed = False
    for case in _cases(options):
        try:
            row = run_case(torch, case, options, timer)
        except RuntimeError as error:  # such as too little memory for inputs
            note = {"note": contest.reason(error)}
            row = {name: dict(note) for name in _contenders(options)}
        _print_row(case, row)
        ours = backward.OURS if options.backward else ["attn"]
        failed |= any("ms" not in row[name] for name in ours)
        save({**vars(case), "flops": case.flops, "contenders": row})
    return failed


def main(arguments=None):
    options = _parse(arguments)
    try:
        import torch
    except ImportError as error:
        print(
            "attn_bench: error: expects PyTorch, which it compares with"
            f" (pip install torch): {error}",
            file=sys.stderr,
        )
        return 1
    _complete(options, torch)
    torch.manual_seed(options.seed)
    environment = _environment(torch, options)
    print(
        f"attn {environment['attn']}, PyTorch {environment['torch']},"
        f" {environment['device']}, seed {options.seed},"
        f" median of {options.rounds} rounds"
    )
    timer = measure.make_timer(torch, options.device, options.cold)
    rows = []

    def save(row):
        # After each case, so that an interrupted run leaves what it has.
        rows.append(row)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({**environment, "rows": rows}, file, indent=1)

    run = sparse.run if options.sparsity else _run_variants
    if options.split_kv:
        run = split_kv.run
    with torch.no_grad():
        failed = run(torch, options, timer, save)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except attn.Error as error:
        sys.exit(f"attn_bench: error: {error}")
