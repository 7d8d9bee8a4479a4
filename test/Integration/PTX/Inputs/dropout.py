"""What attn.dropout says of pairs, by NumPy: Philox 4x32-10 on the words that its
documentation names."""

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


def _reversed(words):
    """The lowest 32 bits in the other order."""
    return sum((words >> n & 1) << (31 - n) for n in range(32))


def weights(p, seed, offset, b, h, i, j):
    """What probabilities of pairs are multiplied by: arrays of positions, which
    are broadcast."""
    b, h, i, j = (numpy.asarray(x, numpy.int64) for x in (b, h, i, j))
    seed, offset = seed % (1 << 64), offset % (1 << 64)
    low = 0xFFFFFFFF
    words = philox(
        [
            j // 16 * 8 + j % 8,
            i // 16 * 8 + i % 8,
            offset & low,
            (_reversed(b) ^ h) & low,
        ],
        [seed & low, seed >> 32 ^ offset >> 32],
    )
    words = numpy.stack(numpy.broadcast_arrays(*words))
    which = numpy.broadcast_to(i // 8 % 2 * 2 + j // 8 % 2, words.shape[1:])
    word = numpy.take_along_axis(words, which[None], 0)[0]
    kept = word >= min(round(p * 2**32), 2**32 - 1)
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


def check_known():
    for counter, key, words in _KNOWN:
        assert [int(word) for word in philox(counter, key)] == words
