"""Which KV blocks each Q block needs, by the mask of all pairs, and
whether what a producer copies is that."""

import typing

import numpy

from producer import Visit


class Problem(Exception):
    """What is wrong with the tiles that a producer copies."""


class Counts(typing.NamedTuple):
    """Tiles, those of them that are not needed, and those that need no
    predicate but have one."""

    tiles: int
    extra: int
    loose: int


_WARPGROUP_ROWS = 64


def needed(mask, rows, columns, short_first=False, rows_apart=False):
    """By the first query of a tile, its KV blocks. `mask` has a row for each
    query; a tile that keys do not fill needs a predicate. The first tile may be
    the one that has fewer rows, in those of warpgroups. `rows_apart` is for masks
    whose conditions of rows alone a kernel looks at once, after all tiles: rows
    that see nothing need no predicate."""
    queries, keys = mask.shape
    ends = -(-queries // _WARPGROUP_ROWS) * _WARPGROUP_ROWS
    before = -ends % rows if short_first else 0
    height = -(-(before + queries) // rows) * rows
    padded = numpy.zeros((height, -(-keys // columns) * columns), bool)
    padded[before : before + queries, :keys] = mask
    width = padded.shape[1]
    blocks = padded.reshape(height // rows, rows, width // columns, columns)
    some = blocks.any((1, 3))
    # Rows that are no queries see what they like.
    padded[:before, :keys] = True
    padded[before + queries :, :keys] = True
    if rows_apart:
        padded[~padded.any(1), :keys] = True
    every = blocks.all((1, 3))
    return {
        max(row * rows - before, 0): [
            Visit(column * columns, not every[row, column])
            for column in numpy.nonzero(some[row])[0]
        ]
        for row in range(some.shape[0])
    }


def compare(got, expected, place):
    """Raises what is wrong with the visits of one Q block: tiles that
    are missing, called full but are not, twice, or out of order."""
    firsts = [visit.first for visit in got]
    by_first = {visit.first: visit.partial for visit in got}
    if len(by_first) != len(got):
        raise Problem(f"{place}: visits a tile twice: {firsts}")
    if all(visit.partial is None for visit in got):
        # Tiles that are counted come in the one order or in the other.
        if firsts not in (sorted(firsts), sorted(firsts, reverse=True)):
            raise Problem(f"{place}: out of order: {firsts}")
    elif firsts != sorted(firsts, reverse=True):
        raise Problem(f"{place}: not from the last tile to the first: {firsts}")
    missing = [visit.first for visit in expected if visit.first not in by_first]
    if missing:
        raise Problem(f"{place}: misses tiles {missing} of {expected}")
    wrong = [v.first for v in expected if v.partial and by_first[v.first] is False]
    if wrong:
        raise Problem(f"{place}: calls tiles {wrong} full")
    needs = {visit.first: visit.partial for visit in expected}
    return Counts(
        len(got),
        sum(first not in needs for first in firsts),
        sum(v.partial is True and needs.get(v.first) is False for v in got),
    )


def check(visits, mask_of, launch, rows_apart=False):
    """Compares all visits with `mask_of(batch, head)`. Gives the sum of counts.
    `rows_apart` is that of `needed`."""
    rows, columns, short_first = (
        launch.program.schedule(x) for x in ("tile_m", "tile_n", "short_first")
    )
    batch, heads = launch.operands[0].shape[:2]
    counts, places = [], set()
    for b in range(batch):
        for h in range(heads):
            for row, tiles in needed(
                mask_of(b, h), rows, columns, short_first, rows_apart
            ).items():
                place = (b, h, row)
                places.add(place)
                if place not in visits:
                    raise Problem(f"{place} is never visited")
                counts.append(compare(visits[place], tiles, place))
    if set(visits) != places:
        raise Problem(f"visits {sorted(set(visits) - places)}, which are no tiles")
    return Counts(*(sum(x) for x in zip(*counts))) if counts else Counts(0, 0, 0)
