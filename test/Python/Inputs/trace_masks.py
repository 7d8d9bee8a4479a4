"""Mask functions, as trace_cases has them."""

import functools

import numpy
from trace_cases import H, S, T, causal, masks, table


@masks
def all_pairs(xp):
    return lambda b, h, q, kv: (q == q) | True


@masks
def no_pair(xp):
    return lambda b, h, q, kv: (q >= 0) & False


@masks
def causal_mask(xp):
    return causal


@masks
def sliding_window(xp):
    window = 17
    return lambda b, h, q, kv: (q - kv <= window) & (q >= kv)


@masks
def window_on_both_sides(xp):
    left, right = 9, 5
    return lambda b, h, q, kv: (q - left <= kv) & (kv <= q + right)


@masks
def windows_of_heads(xp):
    windows = table(xp, "windows")
    return lambda b, h, q, kv: (q >= kv) & (q - kv < windows[h])


@masks
def dilated_window(xp):
    window, dilation = 24, 3

    def mask(b, h, q, kv):
        d = xp.abs(q - kv)
        return (d <= window) & (d % dilation == 0)

    return mask


@masks
def attention_sink(xp):
    sink, window = 4, 16
    return lambda b, h, q, kv: (q >= kv) & ((kv < sink) | (q - kv < window))


@masks
def prefix_lm(xp):
    prefix = 30
    return lambda b, h, q, kv: (kv < prefix) | (q >= kv)


@masks
def documents(xp):
    ids = table(xp, "documents")
    return lambda b, h, q, kv: (ids[b, q] == ids[b, kv]) & causal(b, h, q, kv)


@masks
def stacked_documents(xp):
    stack, offsets = table(xp, "stack"), table(xp, "offsets")

    def mask(b, h, q, kv):
        x, y = q - offsets[stack[q]], kv - offsets[stack[kv]]
        return (stack[q] == stack[kv]) & (x >= y) & (x - y < 12)

    return mask


@masks
def padded(xp):
    padding = table(xp, "padding")
    return lambda b, h, q, kv: padding[b, kv] & (q >= kv)


@masks
def lengths(xp):
    numbers = table(xp, "lengths")
    return lambda b, h, q, kv: (q < numbers[b]) & (kv < numbers[b])


@masks
def chunks(xp):
    chunk = 32
    return lambda b, h, q, kv: (q // chunk == kv // chunk) & (q >= kv)


@masks
def batches(xp):
    size = 24
    return lambda b, h, q, kv: (q // size == kv // size) & causal(
        b, h, q % size, kv % size
    )


@masks
def block_table(xp):
    layout = table(xp, "layout")
    return lambda b, h, q, kv: layout[h, q // 16, kv // 16]


@masks
def neighborhood(xp):
    width, height, reach = 12, 8, 2

    def mask(b, h, q, kv):
        qx, qy, kx, ky = q // width, q % width, kv // width, kv % width
        x = xp.clip(qx, reach, height - 1 - reach)
        y = xp.clip(qy, reach, width - 1 - reach)
        return (xp.abs(x - kx) <= reach) & (xp.abs(y - ky) <= reach)

    return mask


@masks
def tiled_neighborhood(xp):
    width, height, tile, reach = 12, 8, 4, 3

    def place(index):
        number, inner = index // (tile * tile), index % (tile * tile)
        y, x = number // (width // tile), number % (width // tile)
        return x * tile + inner % tile, y * tile + inner // tile

    def mask(b, h, q, kv):
        (qx, qy), (kx, ky) = place(q), place(kv)
        x = xp.clip(qx, reach, width - 1 - reach)
        y = xp.clip(qy, reach, height - 1 - reach)
        return (xp.abs(x - kx) <= reach) & (xp.abs(y - ky) <= reach)

    return mask


@masks
def morton_neighborhood(xp):
    def even_bits(code):
        code = code & 0x55555555
        code = (code | (code >> 1)) & 0x33333333
        code = (code | (code >> 2)) & 0x0F0F0F0F
        code = (code | (code >> 4)) & 0x00FF00FF
        return (code | (code >> 8)) & 0x0000FFFF

    def mask(b, h, q, kv):
        x = even_bits(q) - even_bits(kv)
        y = even_bits(q >> 1) - even_bits(kv >> 1)
        return (xp.abs(x) <= 2) & (xp.abs(y) <= 3)

    return mask


@masks
def sliding_tiles(xp):
    across, tile, kernel, text = 4, 16, 3, 16
    vision = T - text

    def mask(b, h, q, kv):
        qi, qj = q // tile // across, q // tile % across
        ki, kj = kv // tile // across, kv // tile % across
        near = (xp.abs(qi - ki) <= kernel // 2) & (xp.abs(qj - kj) <= kernel // 2)
        both = (q < vision) & (kv < vision)
        return (both & near) | (q >= vision) | ((q < vision) & (kv >= vision))

    return mask


@masks
def video_in_space(xp):
    prompt, frame, width = 10, 20, 2
    return lambda b, h, q, kv: (
        (q < prompt)
        | (kv < prompt + frame)
        | (xp.abs(q - kv) < width * frame // 16 * 16)
    )


@masks
def video_in_time(xp):
    prompt, frame = 10, 20

    def mask(b, h, q, kv):
        near = xp.abs((q - prompt) % frame - (kv - prompt) % frame) < 4
        return (q < prompt) | (kv < prompt) | near

    return mask


@masks
def images_of_texts(xp):
    spans, image = table(xp, "spans"), xp.asarray(numpy.repeat([0, 1, 2], 32))
    return lambda b, h, q, kv: (
        (q >= spans[image[kv], 0]) & (q < spans[image[kv]][..., 1])
    )


@masks
def words_of_a_list(xp):
    words, tokens = table(xp, "vocabulary"), table(xp, "tokens")
    if xp is numpy:
        return lambda b, h, q, kv: (words[b] == tokens[kv][..., None]).any(-1)
    return lambda b, h, q, kv: (words[b] == tokens[kv].unsqueeze(-1)).any(dim=-1)


@masks
def pages(xp):
    order = table(xp, "order")
    return lambda b, h, q, kv: (order[kv] >= 0) & (q >= order[kv])


@masks
def lower_right(xp):
    shift = T - S + 7
    return lambda b, h, q, kv: q + shift >= kv


@masks
def checkerboard(xp):
    return lambda b, h, q, kv: ((q + kv) % 2 == 0) ^ (h == 1)


@masks
def negations(xp):
    return lambda b, h, q, kv: ~((q < kv) | (kv == 3)) & xp.logical_not(q != q)


@masks
def logic(xp):
    return lambda b, h, q, kv: xp.logical_and(
        q >= kv, xp.logical_or(h > 0, xp.logical_xor(b == 0, kv > 9))
    )


@masks
def bits(xp):
    return lambda b, h, q, kv: (((q ^ kv) & 6) == 0) | ((1 << h) >= (kv | 7))


@masks
def orders_of_bools(xp):
    padding = table(xp, "padding")

    def mask(b, h, q, kv):
        x, y = padding[b, q], padding[b, kv]
        less = xp.where(h == 0, x < y, x <= y)
        return xp.where(h < 2, less, xp.where(h == 2, x > y, x >= y))

    return mask


@masks
def orders_of_predicates(xp):
    padding = table(xp, "padding")
    return lambda b, h, q, kv: (
        ((q >= kv) <= (kv < 40)) & (padding[b, kv] > False) & ((q < kv) < True)
    )


@masks
def steps_between_heads(xp):
    # A partial, a default and a function of the module.
    def mask(b, h, q, kv, *, window, heads=H // 2):
        return causal(b, h, q, kv) & ((h < heads) | (q - kv < window))

    return functools.partial(mask, window=11)
