"""python -m attn_bench.sweep: every variant of the catalogue on a GPU, against
FlexAttention and against what the tiles it needs take without it.

All kernels compile first, side by side, in processes of their own; then each
variant is timed alone. One that fails, or takes too long, costs its own row."""

import argparse
import collections
import json
import multiprocessing
import os
import statistics
import sys
import threading
import time
import traceback

from .options import positive, positives

# Seconds of one variant, to compile and to be timed.
_LIMITS = {"prepare": 150, "time": 30}


# ===----------------------------------------------------------------------===
# In a process of its own
# ===----------------------------------------------------------------------===


class _Shape:
    """What check.Judge asks of a case."""

    def __init__(self, shape):
        self.batch, self.heads, self.length = shape.batch, shape.heads, shape.keys
        self.scale = shape.scale


def _of_tensors(torch, function, device):
    """A function of tensors, for the numbers that a judge has."""
    if function is None:
        return None

    def call(*arguments):
        return function(
            *(
                x if torch.is_tensor(x) else torch.tensor(x, device=device)
                for x in arguments
            )
        )

    return call


def _classes(torch, mask, variant, shape):
    """Which tiles have an allowed pair, and which have only such."""
    from . import tiles

    batch = shape.batch if "b" in variant.of else 1
    heads = shape.heads if "h" in variant.of else 1

    def arange(begin, end):
        return torch.arange(begin, end, device="cuda")

    def every(*at):
        return mask(*at).expand(tiles.TILE, at[3].shape[1])

    found = [
        (pairs.any(0).any(-1), pairs.all(0).all(-1))
        for pairs in tiles.rows(
            arange, every, batch, heads, shape.keys, queries=shape.queries
        )
    ]
    counts = batch, heads, -1, found[0][0].shape[-1]
    some, full = (torch.stack(x).view(counts) for x in zip(*found))
    return some, full


def _block_mask(torch, mask, some, full, shape):
    from torch.nn.attention.flex_attention import BlockMask

    lists = []
    for chosen in (some & ~full, full):
        order = torch.argsort(chosen.int(), dim=-1, descending=True, stable=True)
        lists += [chosen.sum(-1, dtype=torch.int32), order.int()]
    return BlockMask.from_kv_blocks(
        *lists, BLOCK_SIZE=128, mask_mod=mask, seq_lengths=(shape.queries, shape.keys)
    )


def _graph(torch, call, pool):
    """A CUDA graph of a call that has run, so that only the GPU is timed. Graphs
    share the memory of their results, which nobody reads."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        call()

    def replay(call=call):
        # The graph reads what the call has.
        graph.replay()

    return replay


class _Worker:
    def __init__(self):
        import torch

        self.torch = torch
        self.cells, self.inputs = {}, {}
        self.pool = torch.cuda.graph_pool_handle()
        config = torch._dynamo.config
        # Each variant compiles the same function once more.
        config.recompile_limit = config.accumulated_recompile_limit = 1024

    def prepare(self, name, dim):
        """Compiles, checks and keeps what is to be timed; what there is to tell."""
        from . import catalogue

        catalogue.add_others()
        torch = self.torch
        variant = catalogue.VARIANTS[name]
        shape = variant.shape(dim)
        inputs = self._inputs(shape)
        score, mask = variant.make(shape, "cuda")
        row = {"variant": name, "kind": variant.kind, "dim": dim, "shape": vars(shape)}
        row["device"] = torch.cuda.get_device_name()
        some = full = None
        if mask is not None:
            by_tensors = _of_tensors(torch, mask, "cuda")
            some, full = _classes(torch, by_tensors, variant, shape)
            row["needed"] = some.float().mean().item()
            row["partial"] = (some & ~full).float().mean().item()
        calls = {
            **self._ours(row, variant, shape, inputs, score, mask),
            "flex": self._flex(shape, inputs, score, mask, some, full),
        }
        self._admit(row, shape, inputs, score, mask, calls)
        self.cells[name, dim] = row, calls
        torch.cuda.empty_cache()
        return row

    def _inputs(self, shape):
        """q, k and v, which variants of one shape share."""
        torch = self.torch

        def draw(heads, length):
            extents = shape.batch, heads, length, shape.dim
            return torch.randn(extents, device="cuda", dtype=torch.bfloat16)

        if shape not in self.inputs:
            torch.manual_seed(0)
            q = draw(shape.heads, shape.queries)
            self.inputs[shape] = q, *(
                draw(shape.key_heads, shape.keys) for _ in range(2)
            )
        return self.inputs[shape]

    def _ours(self, row, variant, shape, inputs, score, mask):
        from attn.torch import create_block_mask, flex_attention

        grouped = shape.heads != shape.key_heads

        def blocks():
            if mask is None:
                return None
            batch = shape.batch if "b" in variant.of else None
            heads = shape.heads if "h" in variant.of else None
            return create_block_mask(
                mask, batch, heads, shape.queries, shape.keys, device="cuda"
            )

        def call(score, mine):
            return lambda: flex_attention(*inputs, score, mine, enable_gqa=grouped)

        calls = {"ours": call(score, blocks()), "plain": call(None, None)}
        if mask is not None:
            calls["prepared"] = call(score, blocks().prepare())
            if score is not None:
                calls["no score"] = call(None, blocks())
        # Compiled by this call, unless the folder has it.
        begin = time.perf_counter()
        try:
            calls["ours"]()
        except Exception as error:
            row["note"] = f"{type(error).__name__}: {error}"[:600]
            raise
        self.torch.cuda.synchronize()
        row["compile_s"] = time.perf_counter() - begin
        return calls

    def _flex(self, shape, inputs, score, mask, some, full):
        torch = self.torch
        from torch.nn.attention.flex_attention import flex_attention

        blocks = None
        if mask is not None:
            blocks = _block_mask(torch, mask, some, full, shape)
        compiled = torch.compile(flex_attention, dynamic=False)
        grouped = shape.heads != shape.key_heads
        return lambda: compiled(
            *inputs, score_mod=score, block_mask=blocks, enable_gqa=grouped
        )

    def _admit(self, row, shape, inputs, score, mask, calls):
        """Leaves in `calls` what is right and runs, as graphs where they capture."""
        from . import check

        torch = self.torch
        q, k, v = inputs
        wide = shape.heads // shape.key_heads
        judge = check.Judge(
            torch,
            _Shape(shape),
            q,
            k.repeat_interleave(wide, 1),
            v.repeat_interleave(wide, 1),
            _of_tensors(torch, score, "cuda"),
            _of_tensors(torch, mask, "cuda"),
            24,
            queries=shape.queries,
        )
        row["notes"] = {}
        for name, call in list(calls.items()):
            try:
                with torch.no_grad():
                    result = call()
                if name in ("ours", "prepared", "flex"):
                    errors = judge.errors(result)
                    if not judge.accepts(errors):
                        row["notes"][name] = (
                            f"WRONG: {errors.max:.3g} {errors.mean:.3g}, allowed"
                            f" {judge.bound.max:.3g} {judge.bound.mean:.3g}"
                        )
                        if name != "flex":
                            del calls[name]
                            continue
            except Exception as error:
                row["notes"][name] = f"{type(error).__name__}: {error}"[:400]
                del calls[name]
                continue
            try:
                with torch.no_grad():
                    calls[name] = _graph(torch, call, self.pool)
            except Exception as error:
                row["notes"][name] = f"not captured: {error}"[:300]
                torch.cuda.synchronize()

    def time(self, name, dim, rounds):
        from . import measure

        row, calls = self.cells.pop((name, dim))
        timer = measure.make_timer(self.torch, "cuda")
        with self.torch.no_grad():
            times = measure.measure(timer, calls, rounds)
        row["ms"] = {key: statistics.median(x) for key, x in times.items()}
        return row


def _serve(pipe):
    worker = _Worker()
    while True:
        what, arguments = pipe.recv()
        try:
            answer = getattr(worker, what)(*arguments)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"[:600]
            traceback.print_exc()
        pipe.send(answer)


# ===----------------------------------------------------------------------===
# The process that asks them
# ===----------------------------------------------------------------------===


class _Process:
    def __init__(self):
        self._start()

    def _start(self):
        self.cells = []
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def ask(self, what, *arguments):
        """Its answer, or a text why there is none; then it is another process."""
        reason = f"no answer in {_LIMITS[what]} s"
        try:
            self.pipe.send((what, arguments))
            if self.pipe.poll(_LIMITS[what]):
                return self.pipe.recv()
        except (EOFError, OSError):
            reason = "the process ended"
        self.process.kill()
        self.process.join()
        self._start()
        return reason


def _prepare(process, queue, failed, until):
    """Takes cells until there are none. When a process ends, those that it had go
    back."""
    while True:
        try:
            cell = queue.popleft()
        except IndexError:
            return
        if time.monotonic() > until:
            failed[cell] = "no time was left to compile it"
            continue
        had = process.cells
        answer = process.ask("prepare", *cell)
        if isinstance(answer, str):
            failed[cell] = answer
            if process.cells is not had:
                queue.extend(had)
            continue
        process.cells.append(cell)


def _line(row):
    from . import catalogue

    ms = row.get("ms", {})
    ours, flex, plain = (ms.get(name) for name in ("ours", "flex", "plain"))
    base = ms.get("no score", plain)
    needed = row.get("needed", 1.0)
    if row["kind"] == "mask":
        base = plain and plain * needed
    shape = row["shape"]
    length = str(shape["keys"])
    if shape["queries"] != shape["keys"]:
        length = f"({shape['queries']}, {length})"
    cells = [
        row["variant"],
        f"{shape['batch']} x {length}",
        str(row["dim"]),
        f"{needed:.3f}" if "needed" in row else "",
        f"{plain:.3f}" if plain else "-",
        f"{ours:.3f}" if ours else "-",
        f"{ms['prepared']:.3f}" if "prepared" in ms else "",
        f"{ours / base:.2f}" if ours and base else "-",
        f"{flex / ours:.2f}" if ours and flex else "-",
    ]
    misses = []
    if ours and base and ours / base > catalogue.target(row["kind"], row["dim"]):
        if row["kind"] != "mask" or needed >= 0.05:
            misses.append("of plain")
    if ours and flex and flex / ours < 1.5:
        misses.append("FlexAttention")
    return "| " + " | ".join([*cells, ", ".join(misses)]) + " |"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m attn_bench.sweep", description=__doc__
    )
    add = parser.add_argument
    add("--dims", type=positives, default=[64, 128])
    add("--variants", type=lambda text: text.split(","), help="by default all")
    add("--jobs", type=positive, default=os.cpu_count())
    add("--rounds", type=positive, default=11)
    add("--seconds", type=positive, default=300, help="within which all compile")
    add("--json", metavar="FILE", help="writes all measurements there")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from . import catalogue

    catalogue.add_others()
    names = options.variants or list(catalogue.VARIANTS)
    unknown = [name for name in names if name not in catalogue.VARIANTS]
    if unknown:
        parser.error(f"argument --variants: there is no '{unknown[0]}'")
    begin = time.monotonic()
    queue = collections.deque((name, dim) for name in names for dim in options.dims)
    failed, rows = {}, []
    processes = [_Process() for _ in range(min(options.jobs, len(queue)))]
    threads = [
        threading.Thread(
            target=_prepare, args=(x, queue, failed, begin + options.seconds)
        )
        for x in processes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"compiled in {time.monotonic() - begin:.0f} s", flush=True)
    print(
        "| variant | batch x length | D | needed | plain, ms | ours, ms | prepared |"
        " of plain | FlexAttention / ours | misses |"
    )
    print("|" + "---|" * 10)
    for process in processes:
        cells = list(process.cells)
        for cell in cells:
            # A process that ended has lost the others.
            if cell not in process.cells:
                process.ask("prepare", *cell)
            row = process.ask("time", *cell, options.rounds)
            if isinstance(row, str):
                failed[cell] = row
                continue
            rows.append(row)
            print(_line(row), flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    json.dump(rows, file)
        process.process.kill()
    print(", ".join(sorted({row["device"] for row in rows})))
    for row in rows:
        for name, note in row["notes"].items():
            print(f"{row['variant']} D {row['dim']} {name}: {note}")
    for (name, dim), reason in failed.items():
        print(f"{name} D {dim}: {reason}")
    slow = sorted(rows, key=lambda row: -row["compile_s"])[:12]
    print("slowest to compile: " + ", ".join(
        f"{row['variant']} D {row['dim']} {row['compile_s']:.1f} s" for row in slow
    ))
    print(f"all in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
