"""The rule itself: results that are not right do not pass."""

import pytest

import cases
import running


def _explain(backend, ran, claimed, change=None):
    """What is wrong with the results of one case where another is expected."""
    kernel = running.compile_kernel(ran.kernel, backend.target)
    results = running.Inputs(backend, ran).run(kernel)
    if change:
        change(results)
    inputs = running.Inputs(backend, ran)
    inputs.case = claimed
    return inputs.explain(results, inputs.reference())


@pytest.fixture
def causal():
    return cases.make_case("causal", sizes=(1, 2, 2, 129, 129))


def test_right(backend, causal):
    assert _explain(backend, causal, causal) is None


@pytest.mark.parametrize("other", ["full", "inverse-causal", "scale-negative"])
def test_other_variants(backend, causal, other):
    wrong = cases.make_case(other, sizes=(1, 2, 2, 129, 129))
    assert "max error" in _explain(backend, causal, wrong)


def test_one_key_too_many(backend, causal):
    wrong = causal.variant._replace(mask_of=lambda x, b, h, i, j, c: j <= i + 1)
    claimed = cases.make(wrong, "bf16", 64, 64, (1, 2, 2, 129, 129))
    assert "max error" in _explain(backend, causal, claimed)


def test_one_wrong_element(backend, causal):
    def change(results):
        results[0][0][0, 1, 100, 63] *= 2

    if backend.target == "cpu" and backend.x.__name__ == "numpy":
        pytest.skip("bfloat16 is no number of NumPy's")
    assert "(0, 1, 100, 63)" in _explain(backend, causal, causal, change)


def test_nan(backend, causal):
    def change(results):
        results[1][0][0, 1, 5] = float("nan")

    assert "lse: 1 elements are NaN" in _explain(backend, causal, causal, change)


def test_minus_infinity(backend, causal):
    def change(results):
        results[1][0][0, 0, 7] = -float("inf")

    assert "first at (0, 0, 7)" in _explain(backend, causal, causal, change)


def test_a_small_error_everywhere(backend, causal):
    def change(results):
        results[1][0][...] += 0.02

    assert "lse: max error" in _explain(backend, causal, causal, change)
