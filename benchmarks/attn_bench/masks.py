"""Masks of models and papers, in the form of catalogue.py."""

import math

import torch

from .catalogue import TWO, Shape, _ends, _ids, variant


def _generator(seed):
    return torch.Generator().manual_seed(seed)


def _ints(low, high, shape, device, seed=0, dtype=torch.int32):
    values = torch.randint(low, high, shape, generator=_generator(seed))
    return values.to(dtype).to(device)


def _begins(length, count, device):
    """Where the document of each token begins."""
    ends = _ends(length, count)
    begin = torch.cat([torch.zeros(1, dtype=ends.dtype), ends[:-1]])
    return begin[_ids(length, count, "cpu").long()].int().to(device)


def _width(s):
    """Columns of a picture that has about as many rows."""
    return 2 ** (int(math.log2(s.keys)) // 2)


def _slopes(s, device):
    return torch.exp2(-8 * (1 + torch.arange(s.heads, device=device)) / s.heads)


# Masks: documents, prefixes, trees


@variant("mask")
def longformer_documents(s, device):
    """Longformer in packed documents: the first tokens of each are global in it."""
    ids, begin = _ids(s.keys, 12, device), _begins(s.keys, 12, device)
    glob = torch.arange(s.keys, device=device) - begin < 8
    window = s.keys // 64

    def mask_mod(b, h, i, j):
        near = (i - j).abs() <= window
        return (ids[i] == ids[j]) & (near | glob[i] | glob[j])

    return None, mask_mod


@variant("mask", TWO, of="b")
def shared_prefix(s, device):
    """Packed answers to one prompt, whose length differs by sequence."""
    prompt = torch.tensor(
        [s.keys * (1 + b) // (4 * s.batch) for b in range(s.batch)], device=device
    )
    answer = torch.stack(
        [_ids(s.keys, 9 + 4 * b, "cpu") for b in range(s.batch)]
    ).to(device)

    def mask_mod(b, h, i, j):
        return (j <= i) & ((j < prompt[b]) | (answer[b, i] == answer[b, j]))

    return None, mask_mod


def _draft(dim):
    heads = 2048 // dim
    return Shape(8, heads, heads, 64, 8192, dim)


@variant("mask", _draft, of="b")
def draft_tree_bits(s, device):
    """Speculative decoding: 64 guesses behind a cache; a word of ancestors each."""
    count = 64
    words = torch.zeros(s.batch, count, dtype=torch.int64)
    generator = _generator(5)
    for b in range(s.batch):
        rows = [0] * count
        for node in range(count):
            parent = int(torch.randint(0, node + 1, (), generator=generator)) - 1
            above = rows[parent] if parent >= 0 else 0
            rows[node] = above | (1 << node)
        signed = [row - 2**64 if row >= 2**63 else row for row in rows]
        words[b] = torch.tensor(signed, dtype=torch.int64)
    words = words.to(device)
    cache, first = s.keys - count, s.queries - count

    def mask_mod(b, h, i, j):
        node = (j - cache).clamp(min=0)
        row = (i - first).clamp(min=0)
        return (j < cache) | (((words[b, row] >> node) & 1) == 1)

    return None, mask_mod


@variant("mask")
def rollout_tree(s, device):
    """Rollouts that share prefixes, in the order of a walk: a token sees those
    whose subtree it is in (the end of each subtree is captured)."""
    generator = _generator(7)
    last = torch.zeros(s.keys, dtype=torch.int32)

    def fill(begin, end, depth):
        if end - begin < s.keys // 64 or depth == 5:
            last[begin:end] = end
            return
        trunk = (end - begin) // 4
        last[begin : begin + trunk] = end
        at = begin + trunk
        cut = at + int(
            torch.randint((end - at) // 3, 2 * (end - at) // 3, (), generator=generator)
        )
        fill(at, cut, depth + 1)
        fill(cut, end, depth + 1)

    fill(0, s.keys, 0)
    last = last.to(device)
    return None, lambda b, h, i, j: (j <= i) & (i < last[j])


@variant("mask")
def column_ranges(s, device):
    """FlashMask: rows from `start` to `end` of each column are masked."""
    start = torch.arange(s.keys, device=device) + _ints(
        32, s.keys // 4, (s.keys // 64,), device, 2
    ).repeat_interleave(64)
    end = start + _ints(0, s.keys // 2, (s.keys // 64,), device, 3).repeat_interleave(64)
    start, end = start.int(), end.int()

    def mask_mod(b, h, i, j):
        return (j <= i) & ~((i >= start[j]) & (i < end[j]))

    return None, mask_mod


@variant("mask")
def passages_and_question(s, device):
    """Retrieval: passages see themselves, the question at the end sees all."""
    passage = _ids(s.keys, 20, device)
    passage[-(s.keys // 8) :] = -1

    def mask_mod(b, h, i, j):
        return (j <= i) & ((passage[i] == passage[j]) | (passage[i] < 0))

    return None, mask_mod


@variant("mask")
def readers(s, device):
    """Agents: each message has bits of who may read it, each token a reader."""
    turn = _ids(s.keys, 48, "cpu").long()
    may = _ints(1, 16, (48,), "cpu", 4)
    who = _ints(0, 4, (48,), "cpu", 6)
    may |= 1 << who
    bits = may[turn].to(torch.uint8).to(device)
    reader = (1 << who)[turn].to(torch.uint8).to(device)
    return None, lambda b, h, i, j: (j <= i) & ((bits[j] & reader[i]) != 0)


# Masks: windows of all sorts


@variant("mask", TWO, of="b")
def left_padding_and_sinks(s, device):
    """Sequences that end together, with sinks at the start of each."""
    begin = torch.tensor(
        [s.keys * b // (3 * s.batch) + 5 * b for b in range(s.batch)], device=device
    ).int()
    window = s.keys // 8

    def mask_mod(b, h, i, j):
        inside = (j >= begin[b]) & (j <= i)
        return inside & ((i - j < window) | (j - begin[b] < 4))

    return None, mask_mod


@variant("mask")
def time_window(s, device):
    """Events: those not long ago."""
    gaps = torch.rand(s.keys, generator=_generator(8)) ** 4
    times = gaps.cumsum(0).to(device)
    delta = float(gaps.mean()) * s.keys / 16
    return None, lambda b, h, i, j: (j <= i) & (times[i] - times[j] < delta)


@variant("mask", TWO, of="b")
def time_window_both_sides(s, device):
    """Events of several streams: times as integers, to both sides."""
    times = _ints(1, 2000, (s.batch, s.keys), "cpu", 9, torch.int64).cumsum(1)
    times = times.to(device)
    delta = 1000 * s.keys // 20
    return None, lambda b, h, i, j: (times[b, i] - times[b, j]).abs() < delta


@variant("mask")
def adaptive_span(s, device):
    """A window for each token, of int16."""
    span = _ints(16, s.keys // 8, (s.keys // 128,), "cpu", 3).repeat_interleave(128)
    span = span[: s.keys].to(torch.int16).to(device)
    return None, lambda b, h, i, j: (j <= i) & (i - j < span[i])


@variant("mask")
def streaming_speech(s, device):
    """Chunks of 48 frames, with 16 of look-ahead and 6 chunks to the left."""

    def mask_mod(b, h, i, j):
        chunk = i // 48
        return (j < (chunk + 1) * 48 + 16) & (j >= (chunk - 6) * 48)

    return None, mask_mod


@variant("mask")
def log_sparse(s, device):
    """Distances that are powers of two, and a few tokens nearby."""

    def mask_mod(b, h, i, j):
        d = i - j
        return (d >= 0) & ((d < 32) | ((d & (d - 1)) == 0))

    return None, mask_mod


@variant("mask", of="h")
def strided_by_head(s, device):
    """Heads share out the keys far away."""

    def mask_mod(b, h, i, j):
        return (j <= i) & ((i - j < 128) | ((j // 16) % 8 == h % 8))

    return None, mask_mod


@variant("mask", of="h")
def longnet(s, device):
    """LongNet: segments and dilation grow with the head."""
    level = torch.arange(s.heads, device=device) % 4
    segment, step = (s.keys // 32) << level, 1 << level

    def mask_mod(b, h, i, j):
        same = i // segment[h] == j // segment[h]
        mine = (i % step[h] == h % step[h]) & (j % step[h] == h % step[h])
        return same & mine & (j <= i)

    return None, mask_mod


@variant("mask")
def landmarks(s, device):
    """Landmark attention: own block, and the last token of those before."""
    return None, lambda b, h, i, j: (j <= i) & ((i // 64 == j // 64) | (j % 64 == 63))


# Masks: pictures, videos, mixtures


@variant("mask")
def mixed_modalities(s, device):
    """Packed documents of text and images: images see all of themselves."""
    ids = _ids(s.keys, 8, device)
    kind = (_ids(s.keys, 40, "cpu") % 3 == 1).to(torch.int8).to(device)
    run = _ids(s.keys, 40, device).to(torch.int16)

    def mask_mod(b, h, i, j):
        image = (kind[i] == 1) & (kind[j] == 1) & (run[i] == run[j])
        return (ids[i] == ids[j]) & ((j <= i) | image)

    return None, mask_mod


@variant("mask")
def swin_regions(s, device):
    """Swin, shifted, of arithmetic alone: windows wrap, regions do not mix."""
    width, size, shift = _width(s), 8, 4
    height = s.keys // width

    def region(n, extent):
        return (n >= extent - size).int() + (n >= extent - shift).int()

    def mask_mod(b, h, i, j):
        xi, yi = (i % width + shift) % width, (i // width + shift) % height
        xj, yj = (j % width + shift) % width, (j // width + shift) % height
        window = (xi // size == xj // size) & (yi // size == yj // size)
        across = region(xi, width) == region(xj, width)
        return window & across & (region(yi, height) == region(yj, height))

    return None, mask_mod


@variant("mask")
def video_frames(s, device):
    """Frames: all of the own, and of those before what is near the same place."""
    width = _width(s) // 4
    frame = width * width

    def mask_mod(b, h, i, j):
        fi, fj = i // frame, j // frame
        y = ((i % frame) // width - (j % frame) // width).abs()
        x = (i % width - j % width).abs()
        return (fi == fj) | ((fj < fi) & (fi - fj <= 4) & (x <= 4) & (y <= 4))

    return None, mask_mod


@variant("mask")
def axial(s, device):
    """The own row or column, up to the pixel."""
    width = _width(s)

    def mask_mod(b, h, i, j):
        return (j <= i) & ((i // width == j // width) | (i % width == j % width))

    return None, mask_mod


@variant("mask")
def curve_window(s, device):
    """Pixels row by row, near on a Z-curve whose places are captured."""
    width = _width(s)
    n = torch.arange(s.keys)
    x, y = n % width, n // width
    place = torch.zeros_like(n)
    for bit in range(14):
        place |= ((x >> bit) & 1) << (2 * bit)
        place |= ((y >> bit) & 1) << (2 * bit + 1)
    place = place.int().to(device)
    window = s.keys // 32
    return None, lambda b, h, i, j: (place[i] - place[j]).abs() <= window


@variant("mask")
def graph(s, device):
    """Tokens of nodes that an edge joins."""
    nodes = 256
    node = (torch.arange(s.keys) * nodes // s.keys).to(torch.int16).to(device)
    edges = torch.rand(nodes, nodes, generator=_generator(3)) < 6 / nodes
    edges = (edges | edges.T | torch.eye(nodes).bool()).to(device)
    return None, lambda b, h, i, j: edges[node[i].long(), node[j].long()]


@variant("mask", of="h")
def sorted_hashes(s, device):
    """Reformer, sorted by bucket: causal by what places tokens had before."""
    bucket = _ints(0, 24, (s.heads, s.keys), "cpu", 2)
    bucket, order = bucket.sort(dim=1, stable=True)
    bucket, place = bucket.to(device), order.int().to(device)

    def mask_mod(b, h, i, j):
        return (bucket[h, i] == bucket[h, j]) & (place[h, j] <= place[h, i])

    return None, mask_mod


@variant("mask", TWO, of="bh")
def routing(s, device):
    """Routing Transformer: clusters of each head, that change every 32 tokens."""
    runs = _ints(0, 16, (s.batch, s.heads, s.keys // 32), "cpu", 4)
    cluster = runs.repeat_interleave(32, dim=2).to(torch.uint8).to(device)

    def mask_mod(b, h, i, j):
        return (j <= i) & (cluster[b, h, i] == cluster[b, h, j])

    return None, mask_mod


@variant("mask", of="h")
def chosen_blocks(s, device):
    """MoBA: causal blocks that a table chooses for each head, and the own one."""
    count = s.keys // 64
    chosen = torch.rand(s.heads, count, count, generator=_generator(1)) < 0.1
    chosen = (chosen | torch.eye(count).bool()).to(device)
    return None, lambda b, h, i, j: (j <= i) & chosen[h, i // 64, j // 64]


@variant("mask")
def blocks_in_documents(s, device):
    """Block diffusion in packed documents: blocks begin where documents do."""
    ids, begin = _ids(s.keys, 10, device), _begins(s.keys, 10, device)
    at = (torch.arange(s.keys, device=device) - begin).int()
    return None, lambda b, h, i, j: (ids[i] == ids[j]) & (at[j] // 32 <= at[i] // 32)
