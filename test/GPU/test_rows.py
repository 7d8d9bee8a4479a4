"""Head dimensions that tiles have with padding or in parts alone, and what has
no tiles: f32, and queries of more than 576 columns."""

import pytest

import cases
import running

_SIZES = [(1, 2, 1, 129, 170), (2, 2, 2, 1, 65), (1, 1, 1, 70, 1)]


@pytest.mark.parametrize(
    "dtype, dim", [("f32", 64), ("f32", 20), ("bf16", 60), ("f16", 320), ("f16", 584)]
)
@pytest.mark.parametrize("name", ["full", "causal", "softcap-causal", "window"])
def test_rows(backend, seed, name, dtype, dim):
    for sizes in _SIZES:
        case = cases.make(cases.VARIANTS[name], dtype, dim, dim, sizes, seed=seed)
        assert running.check(backend, case) is None
