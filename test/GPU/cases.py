"""What is run: every variant in two element types and head dimensions, and two
variants in all of them, on sizes around the edges of tiles."""

from masks import MASKS
from programs import Case
from scores import SCORES
from sparsity import SPARSITY

VARIANTS = {variant.name: variant for variant in MASKS + SCORES + SPARSITY}

# (of queries and keys, of values)
DIMS = [
    (8, 8),
    (16, 16),
    (40, 40),
    (64, 64),
    (72, 72),
    (80, 80),
    (96, 96),
    (128, 128),
    (136, 136),
    (192, 192),
    (256, 256),
    (192, 128),
    (64, 128),
    (128, 64),
    (40, 96),
]

# (batch, heads, key heads, queries, keys)
SIZES = [
    (2, 3, 3, 127, 129),
    (1, 4, 1, 193, 65),
    (2, 8, 2, 64, 191),
    (1, 8, 1, 63, 257),
    (1, 2, 2, 331, 331),
    (3, 5, 5, 129, 1),
    (1, 2, 1, 1, 577),
    (2, 6, 2, 192, 128),
    (2, 2, 2, 65, 0),
    (1, 8, 8, 257, 63),
    (1, 1, 1, 1, 1),
    (2, 2, 1, 0, 64),
    (1, 2, 2, 523, 509),
]
# Those that a CPU does in no time, for tests of the table itself.
SMALL_SIZES = [(2, 6, 2, 67, 101), (2, 2, 2, 41, 23)]

# Of each variant, what its sizes and types are chosen from.
_TYPES = [
    [("bf16", 64, 64), ("f16", 128, 128)],
    [("f16", 64, 64), ("bf16", 128, 128)],
    [("bf16", 128, 128), ("f16", 256, 256)],
    [("f16", 80, 80), ("bf16", 256, 256)],
    [("bf16", 192, 128), ("f16", 96, 96)],
]
_SIZES_OF_EACH = 4


def _kernels():
    """(variant, dtype, dim, value dim, sizes)"""
    at = 0
    for number, variant in enumerate(VARIANTS.values()):
        for type_ in _TYPES[number % len(_TYPES)]:
            sizes = [SIZES[(at + 3 * n) % len(SIZES)] for n in range(_SIZES_OF_EACH)]
            at += 1
            yield variant, *type_, sizes
    for number, dims in enumerate(DIMS):
        for variant, other in [("full", "bf16"), ("causal", "f16")]:
            dtype = other if number % 2 else {"bf16": "f16", "f16": "bf16"}[other]
            yield VARIANTS[variant], dtype, *dims, SIZES


def make(variant, dtype, dim, value_dim, sizes, **options):
    batch, heads, kv_heads, queries, keys = sizes
    if variant.heads is not None:
        heads, kv_heads = variant.heads
    return Case(
        variant, dtype, dim, value_dim, batch, heads, kv_heads, queries, keys, **options
    )


def all_cases(seed=0):
    cases = []
    for *kernel, sizes in _kernels():
        cases += [make(*kernel, size, seed=seed) for size in sizes]
    # Two kernels of the first kind are also of the second.
    return list(dict.fromkeys(cases))


def small_cases(seed=0):
    """Each variant once."""
    cases = {}
    for *kernel, _ in _kernels():
        size = SMALL_SIZES[len(cases) % len(SMALL_SIZES)]
        cases.setdefault(kernel[0], make(*kernel, size, seed=seed))
    return list(cases.values())


def make_case(name, dtype="bf16", dim=64, sizes=(1, 2, 2, 129, 129), **options):
    """A case for a test of its own."""
    return make(VARIANTS[name], dtype, dim, dim, sizes, **options)
