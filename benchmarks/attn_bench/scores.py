"""Scores of models and papers, in the form of catalogue.py."""

import math

import torch

from .catalogue import EIGHT, TWO, _causal, _ids, _random, variant
from .masks import _begins, _ints, _slopes, _width


# Scores: biases


@variant("bias")
def alibi_2d(s, device):
    """ALiBi of the distance in a picture."""
    width, slopes = _width(s), _slopes(s, device)

    def score_mod(x, b, h, i, j):
        dx, dy = i % width - j % width, i // width - j // width
        return x - slopes[h] * torch.sqrt((dx * dx + dy * dy).float())

    return score_mod, None


@variant("bias")
def fourier_distance(s, device):
    """A learned sum of waves of the distance."""
    weight = _random((s.heads, 6), device)
    wave = torch.exp2(-torch.arange(6.0, device=device))

    def score_mod(x, b, h, i, j):
        d = i - j
        return x + sum(weight[h, n] * torch.cos(wave[n] * d) for n in range(6))

    return score_mod, None


@variant("bias")
def t5_encoder(s, device):
    """T5's encoder: 32 buckets, half of them for each side."""
    table = _random((32, s.heads), device)

    def score_mod(x, b, h, i, j):
        relative = j - i
        side = (relative > 0).int() * 16
        d = relative.abs()
        far = 8 + (
            torch.log(d.clamp(min=1).float() / 8) / math.log(128 / 8) * 8
        ).int()
        bucket = side + torch.where(d < 8, d, far.clamp(max=15))
        return x + table[bucket, h]

    return score_mod, None


@variant("bias")
def kerple_log(s, device):
    r1 = _random(s.heads, device).abs() + 0.1
    r2 = _random(s.heads, device, seed=1).abs() + 0.1
    return lambda x, b, h, i, j: x - r1[h] * torch.log(1 + r2[h] * (i - j)), _causal


@variant("bias")
def kerple_power(s, device):
    """Kerple's power kernel, with the power of each head captured."""
    a = _random(s.heads, device).abs() * 0.1
    p = torch.linspace(0.25, 1.75, s.heads, device=device)

    def score_mod(x, b, h, i, j):
        return x - a[h] * (i - j).abs().clamp(min=1).float() ** p[h]

    return score_mod, _causal


@variant("bias")
def fire(s, device):
    """FIRE: a small network of the distance, over a log of the position."""
    w1, b1 = _random(4, device), _random(4, device, seed=1)
    w2 = _random((s.heads, 4), device, seed=2)
    c, length = torch.tensor(0.1, device=device), s.keys // 32

    def score_mod(x, b, h, i, j):
        top = torch.log(1 + c * (i - j).clamp(min=0))
        u = top / torch.log(1 + c * i.clamp(min=length))
        return x + sum(w2[h, n] * torch.relu(w1[n] * u + b1[n]) for n in range(4))

    return score_mod, _causal


@variant("bias", TWO)
def token_types(s, device):
    """A number for each pair of types, by head."""
    kinds = _ints(0, 6, (s.batch, s.keys), device, 3, torch.int8)
    table = _random((s.heads, 6, 6), device, torch.bfloat16)
    return lambda x, b, h, i, j: x + table[h, kinds[b, i].long(), kinds[b, j].long()], None


@variant("bias")
def chains(s, device):
    """AlphaFold-Multimer: clipped distances of residues, if of one chain."""
    chain, begin = _ids(s.keys, 6, device), _begins(s.keys, 6, device)
    residue = (torch.arange(s.keys, device=device) - begin).int()
    table = _random((66, s.heads), device)

    def score_mod(x, b, h, i, j):
        d = (residue[i] - residue[j]).clamp(min=-32, max=32) + 32
        return x + table[torch.where(chain[i] == chain[j], d, 65), h]

    return score_mod, None


@variant("bias", TWO)
def time_buckets(s, device):
    """HSTU: a number for the logarithm of the time between events."""
    times = _ints(1, 5000, (s.batch, s.keys), "cpu", 9, torch.int64).cumsum(1)
    times = times.to(device)
    table = _random(64, device)

    def score_mod(x, b, h, i, j):
        gap = (times[b, i] - times[b, j]).abs().clamp(min=1).float()
        bucket = (torch.log(gap) / 0.301).int().clamp(min=0, max=63)
        return x + table[bucket]

    return score_mod, _causal


@variant("bias")
def bars_and_beats(s, device):
    """Music: tables by distance in bars and by pair of beats."""
    bar = _ids(s.keys, s.keys // 16, device)
    beat = _ints(0, 16, (s.keys,), device, 5, torch.int8)
    bars, beats = _random((s.heads, 64), device), _random((16, 16), device, seed=1)

    def score_mod(x, b, h, i, j):
        d = (bar[i] - bar[j]).clamp(min=0, max=63)
        return x + bars[h, d] + beats[beat[i].long(), beat[j].long()]

    return score_mod, _causal


@variant("bias")
def tile_bias(s, device):
    """A number for each tile of 64 x 64 pairs, by head."""
    bias = _random((s.heads, s.queries // 64, s.keys // 64), device)
    return lambda x, b, h, i, j: x + bias[h, i // 64, j // 64], None


@variant("bias")
def swin_bias(s, device):
    """Swin's table of relative places in windows of 8 x 8, and its windows."""
    width = _width(s)
    table = _random((15 * 15, s.heads), device)

    def score_mod(x, b, h, i, j):
        dy = (i // width) % 8 - (j // width) % 8 + 7
        dx = (i % width) % 8 - (j % width) % 8 + 7
        return x + table[dy * 15 + dx, h]

    def mask_mod(b, h, i, j):
        rows = i // (8 * width) == j // (8 * width)
        return rows & ((i % width) // 8 == (j % width) // 8)

    return score_mod, mask_mod


@variant("index", EIGHT)
def relation_types(s, device):
    """Types of relations of int8, as of a parser, by sequence."""
    kinds = _ints(0, 12, (s.batch, s.queries, s.keys), device, 3, torch.int8)
    table = _random((12, s.heads), device)
    return lambda x, b, h, i, j: x + table[kinds[b, i, j].long(), h], None


# Scores: factors and functions


@variant("vector", TWO)
def temperature(s, device):
    """A learned temperature of each token, times a logarithm of the position."""
    tau = _random((s.batch, s.heads, s.queries), device).sigmoid() + 0.5
    most = 1 / math.log(s.keys)

    def score_mod(x, b, h, i, j):
        return x * tau[b, h, i] * (torch.log(i + 2.0) * most)

    return score_mod, _causal


@variant("function", TWO)
def gated(s, device):
    """Scores times a gate of query and key."""
    row = _random((s.batch, s.heads, s.queries), device, torch.bfloat16)
    key = _random((s.batch, s.heads, s.keys), device, torch.bfloat16, seed=1)

    def score_mod(x, b, h, i, j):
        return x * torch.sigmoid(row[b, h, i].float() + key[b, h, j].float())

    return score_mod, _causal


@variant("function")
def clamped_in_documents(s, device):
    """Scores within bounds of each head, in documents."""
    ids = _ids(s.keys, 16, device)
    most = torch.linspace(1, 4, s.heads, device=device)

    def score_mod(x, b, h, i, j):
        return torch.minimum(torch.maximum(x, -most[h]), most[h])

    return score_mod, lambda b, h, i, j: ids[i] == ids[j]


@variant("bias")
def cosines(s, device):
    """Adds the cosine of small vectors of tokens."""
    place = _random((s.keys, 6), device)
    norm = place.norm(dim=-1)
    weight = _random(s.heads, device).abs()

    def score_mod(x, b, h, i, j):
        return x + weight[h] * (place[i] * place[j]).sum(-1) / (norm[i] * norm[j])

    return score_mod, None


@variant("vector", TWO)
def forgetting(s, device):
    """Forgetting Transformer: sums of log gates, that documents reset."""
    ids = _ids(s.keys, 8, device)
    gates = torch.nn.functional.logsigmoid(_random((s.batch, s.heads, s.keys), device) + 3)
    total = gates.cumsum(-1)
    return (
        lambda x, b, h, i, j: x + (total[b, h, i] - total[b, h, j]),
        lambda b, h, i, j: (ids[i] == ids[j]) & (j <= i),
    )


@variant("bias", of="h")
def expire_span(s, device):
    """Expire-Span: keys fade out over a ramp, and are masked behind it."""
    runs = _random((s.heads, s.keys // 32), "cpu").abs() * (s.keys / 16)
    span = runs.repeat_interleave(32, dim=1).to(device)
    ramp = s.keys / 64

    def score_mod(x, b, h, i, j):
        left = 1 + (span[h, j] - (i - j)) / ramp
        return x + torch.log(left.clamp(min=1e-6, max=1.0))

    def mask_mod(b, h, i, j):
        return (j <= i) & (i - j < span[h, j] + ramp)

    return score_mod, mask_mod


@variant("function")
def capped_window_in_documents(s, device):
    """Gemma 2 on packed documents: soft-cap, window and documents."""
    ids, window = _ids(s.keys, 16, device), s.keys // 16

    def mask_mod(b, h, i, j):
        return (ids[i] == ids[j]) & (j <= i) & (i - j < window)

    return lambda x, b, h, i, j: 50 * torch.tanh(x / 50), mask_mod


@variant("bias")
def document_distances(s, device):
    """A table of distances within documents whose places are captured, capped."""
    ids, begin = _ids(s.keys, 16, device), _begins(s.keys, 16, device)
    at = (torch.arange(s.keys, device=device) - begin).to(torch.int16)
    table = _random((s.heads, 129), device, torch.bfloat16)

    def score_mod(x, b, h, i, j):
        d = (at[i] - at[j]).clamp(min=0, max=128)
        return 20 * torch.tanh((x + table[h, d.long()]) / 20)

    return score_mod, lambda b, h, i, j: (ids[i] == ids[j]) & (j <= i)
