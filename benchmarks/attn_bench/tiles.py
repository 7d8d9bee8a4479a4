"""How much of the matrix of scores a mask leaves, by tiles.

A kernel computes the tiles that have an allowed pair, so that their part of all
is what it should take of the time without a mask.
"""

# Of most kernels for a GPU.
TILE = 128


def rows(arange, allowed, batch, heads, length, tile=TILE, queries=None):
    """For each Q block of the first `batch` sequences and `heads` heads,
    which pairs a mask allows, by query, tile of keys and key in it. Behind the end
    are the last query and the last key again. There are as many queries as keys
    unless `queries` says how many.

    `arange` is that of NumPy or PyTorch, `allowed(b, h, i, j)` a mask.
    """
    extent = -(-length // tile)
    positions = arange(0, extent * tile).clip(None, length - 1)
    keys = positions[None, :]
    queries = length if queries is None else queries
    last = -(-queries // tile) * tile
    of_queries = arange(0, last).clip(None, queries - 1)
    for b in range(batch):
        for h in range(heads):
            for first in range(0, last, tile):
                pairs = allowed(b, h, of_queries[first : first + tile, None], keys)
                yield pairs.reshape(tile, extent, tile)


def visited(arange, allowed, batch, heads, length, tile=TILE):
    """The part of the tiles of `tile` queries and keys with an allowed pair, of a
    mask that differs between the first `batch` sequences and `heads` heads, if at
    all."""
    extent = -(-length // tile)
    count = 0
    for pairs in rows(arange, allowed, batch, heads, length, tile):
        count = count + pairs.any(0).any(-1).sum()
    return int(count) / (batch * heads * extent * extent)
