"""Simulates work tiles of gradients whose sums are added in one order, under a causal
mask: how long the GPU takes for the orders in which the keys of a head may start.

  python3 benchmarks/simulate_turns.py [--length=N] [--heads=N] [--queries=N]
    [--tile=N] [--ctas=N] [--iteration=US] [--turn=US] [--start=US]

A CTA takes the next work tile when it is done with one. Each adds to all Q blocks from
the last one down to its own; to each, it adds no sooner than --turn after the work tile
of its head that was started before it. Heads take turns in groups of --queries
together. An iteration, a turn and the start of a work tile are in microseconds: 2.4, 1.5
to 3.4 and 3 on an H200 with 64 columns.
"""

import argparse
import heapq

from attn_bench.options import positive


def from_end(share, count):
    """The work tiles of the first `share` eighths of a head, from the last of them on,
    and then the rest, from the last one on."""
    first = (share * count + 7) // 8
    return [*range(first - 1, -1, -1), *range(count - 1, first - 1, -1)]


def simulate(order, options, waits=True):
    """The time until the last work tile ends."""
    count = len(order)
    group = max(options.queries // options.length, 1)
    groups = -(-options.heads // group)
    group = -(-options.heads // groups)
    ctas = [0.0] * options.ctas
    added = [[0.0] * count for _ in range(options.heads)]
    end = 0.0
    for first in range(0, options.heads, group):
        for tile in order:
            for head in range(first, min(first + group, options.heads)):
                now = heapq.heappop(ctas) + options.start
                blocks = added[head]
                for block in range(count - 1, tile - 1, -1):
                    now += options.iteration
                    if waits and blocks[block]:
                        now = max(now, blocks[block] + options.turn)
                    blocks[block] = now
                heapq.heappush(ctas, now)
                end = max(end, now)
    return end


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=positive, default=8192)
    parser.add_argument("--heads", type=positive, default=64, help="of all batches")
    parser.add_argument("--queries", type=positive, default=65536)
    parser.add_argument("--tile", type=positive, default=128)
    parser.add_argument("--ctas", type=positive, default=132)
    parser.add_argument("--iteration", type=float, default=2.4)
    parser.add_argument("--turn", type=float, default=1.5)
    parser.add_argument("--start", type=float, default=3.0)
    options = parser.parse_args()
    count = -(-options.length // options.tile)
    rows = [("first keys first, in any order", range(count), False)]
    rows += [("first keys first", range(count), True)]
    rows += [(f"last keys first, {n}/8", from_end(n, count), True) for n in (8, 7, 6, 5, 4)]
    print("| order | us | busy |\n|---|---|---|")
    iterations = options.heads * count * (count + 1) / 2
    for name, order, waits in rows:
        time = simulate(order, options, waits)
        busy = iterations * options.iteration / options.ctas / time
        print(f"| {name} | {time:.0f} | {busy:.3f} |")


main()
