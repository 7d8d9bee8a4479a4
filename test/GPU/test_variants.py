"""Every variant, on sizes around the edges of tiles: as exact as the rule wants
on plain tensors, and bit for bit the same on tensors inside of others that are
full of NaN."""

import running


def test_variant(backend, case):
    assert running.check(backend, case) is None
