"""What attn.dropout says of pairs, by NumPy: Philox 4x32-10 and 2x32-7 on the words
that its documentation names."""

import numpy


def philox(counter, key):
    """The four words for arrays of four and two, which are broadcast."""
    counter = [numpy.asarray(word, numpy.uint64) for word in counter]
    key = [numpy.asarray(word, numpy.uint64) for word in key]
    mask = numpy.uint64(0xFFFFFFFF)
    half = numpy.uint64(32)
    for _ in range(10):
        first = numpy.uint64(0xD2511F53) * counter[0]
        second = numpy.uint64(0xCD9E8D57) * counter[2]
        counter = [
            (second >> half) ^ counter[1] ^ key[0],
            second & mask,
            (first >> half) ^ counter[3] ^ key[1],
            first & mask,
        ]
        key = [
            key[0] + numpy.uint64(0x9E3779B9) & mask,
            key[1] + numpy.uint64(0xBB67AE85) & mask,
        ]
    return counter


def philox2(counter, key):
    """The two words of Philox 2x32-7 for arrays of two, and of one."""
    counter = [numpy.asarray(word, numpy.uint64) for word in counter]
    key = numpy.asarray(key, numpy.uint64)
    mask = numpy.uint64(0xFFFFFFFF)
    for _ in range(7):
        product = numpy.uint64(0xD256D193) * counter[0]
        counter = [(product >> numpy.uint64(32)) ^ key ^ counter[1], product & mask]
        key = key + numpy.uint64(0x9E3779B9) & mask
    return counter


def weights(p, seed, offset, b, h, i, j):
    """What probabilities of pairs are multiplied by: arrays of positions, which
    are broadcast."""
    b, h, i, j = (numpy.asarray(x, numpy.int64) for x in (b, h, i, j))
    seed, offset = seed % (1 << 64), offset % (1 << 64)
    low = 0xFFFFFFFF
    head = philox(
        [offset & low, offset >> 32, h & low, b & low], [seed & low, seed >> 32]
    )
    words = philox2(
        [
            (i // 16 * 8 + i % 8).astype(numpy.uint64) ^ head[1],
            (j // 16 * 8 + j % 8).astype(numpy.uint64) ^ head[2],
        ],
        head[0],
    )
    words = numpy.stack(numpy.broadcast_arrays(*words))
    which = numpy.broadcast_to(i // 8 % 2, words.shape[1:])
    word = numpy.take_along_axis(words, which[None], 0)[0].astype(numpy.int64)
    bits = word >> j // 8 % 2 * 16 & 0xFFFF
    kept = bits >= min(round(p * 2**16), 2**16 - 1)
    return numpy.where(kept, 1 / (1 - p), 0)


# The vectors of Random123, kat_vectors.
_KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    (
        [0xFFFFFFFF] * 4,
        [0xFFFFFFFF] * 2,
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


_KNOWN_2 = [
    ([0, 0], 0, [0x257A3673, 0xCD26BE2A]),
    ([0xFFFFFFFF] * 2, 0xFFFFFFFF, [0xAB302C4D, 0x3DC9D239]),
    ([0x243F6A88, 0x85A308D3], 0x13198A2E, [0xBEDBBE6B, 0xE4C770B3]),
]


def check_known():
    for counter, key, words in _KNOWN_2:
        assert [int(word) for word in philox2(counter, key)] == words
    for counter, key, words in _KNOWN:
        assert [int(word) for word in philox(counter, key)] == words
