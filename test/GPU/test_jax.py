"""attn.jax on a GPU: results and gradients in jit against operations of JAX."""

import os

import pytest

# PyTorch's tests in the same process need memory, too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import attn  # noqa: E402
import attn.jax as ours  # noqa: E402


def _has_gpu():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


pytestmark = [
    pytest.mark.cuda_only,
    pytest.mark.skipif(not _has_gpu(), reason="needs a JAX for CUDA"),
]


def _qkv(seed, dtype, heads=4, kv_heads=2, lengths=(300, 333), dim=64):
    shapes = (2, heads, lengths[0], dim), *[(2, kv_heads, lengths[1], dim)] * 2
    keys = jax.random.split(jax.random.key(seed), 3)
    return [jax.random.normal(k, x).astype(dtype) for k, x in zip(keys, shapes)]


def _eager(q, k, v, score_mod=None, mask_mod=None, wide=True):
    """The output and the log-sum-exp in float32 with exact products, or with
    probabilities in the dtype of q."""
    dtype = q.dtype
    group = q.shape[1] // k.shape[1]
    k, v = (jnp.repeat(x, group, 1) for x in (k, v))
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    exact = {"precision": jax.lax.Precision.HIGHEST}
    s = jnp.einsum("bhid,bhjd->bhij", q, k, **exact) * q.shape[-1] ** -0.5
    index = jnp.meshgrid(*map(jnp.arange, s.shape), indexing="ij")
    if score_mod is not None:
        s = score_mod(s, *index)
    if mask_mod is not None:
        s = jnp.where(mask_mod(*index), s, -jnp.inf)
    empty = (s == -jnp.inf).all(-1, keepdims=True)
    p = jnp.where(empty, 0, jax.nn.softmax(jnp.where(empty, 0, s), -1))
    if not wide:
        p = p.astype(dtype).astype(jnp.float32)
    o = jnp.einsum("bhij,bhjd->bhid", p, v, **exact)
    lse = jax.scipy.special.logsumexp(s, -1)
    return (o if wide else o.astype(dtype)), lse


def _variants():
    documents = (jnp.arange(400) // 97).astype("int32")
    slopes = 2.0 ** (-2 * jnp.arange(1, 5, dtype="float32"))
    causal = lambda b, h, i, j: j <= i
    return {
        "plain": lambda _: (None, None),
        "causal": lambda _: (None, causal),
        "alibi": lambda t: (lambda s, b, h, i, j: s + t[h] * (j - i), causal),
        "softcap window": lambda _: (
            lambda s, b, h, i, j: 20 * jnp.tanh(s / 20),
            lambda b, h, i, j: jnp.abs(i - j) < 90,
        ),
        "documents": lambda _: (None, lambda b, h, i, j: documents[i] == documents[j]),
        "rows without a key": lambda _: (None, lambda b, h, i, j: j < i - 20),
    }, slopes


NAMES = "plain", "causal", "alibi", "softcap window", "documents", "rows without a key"


def _assert_close(got, exact, rounded):
    """No further off than operations that round to the dtype, by and large."""
    got, exact, rounded = (x.astype(jnp.float32) for x in (got, exact, rounded))
    finite = jnp.isfinite(exact)
    assert (finite == jnp.isfinite(got)).all()
    wrong, theirs = (
        jnp.abs(jnp.where(finite, x - exact, 0)) for x in (got, rounded)
    )
    floor = jnp.finfo(jnp.float32).eps * jnp.abs(jnp.where(finite, exact, 0)).mean()
    assert wrong.mean() <= 1.5 * theirs.mean() + 64 * floor
    assert wrong.max() <= 3 * theirs.max() + 1024 * floor


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients(seed, name, dtype):
    variants, slopes = _variants()
    q, k, v = _qkv(seed, dtype)

    def attend(q, k, v, t):
        functions = variants[name](t)
        return ours.flex_attention(
            q, k, v, *functions, enable_gqa=True, return_lse=True
        )

    def eager(wide):
        return lambda q, k, v, t: _eager(q, k, v, *variants[name](t), wide=wide)

    results = [jax.jit(f)(q, k, v, slopes) for f in (attend, eager(True), eager(False))]
    for parts in zip(*results):
        _assert_close(*parts)

    weights = jax.random.normal(jax.random.key(seed + 1), q.shape)

    def gradient(f):
        loss = lambda *x: (f(*x)[0].astype(jnp.float32) * weights).sum()
        return jax.jit(jax.grad(loss, (0, 1, 2, 3)))

    found = gradient(attend)(q, k, v, slopes)
    again = gradient(attend)(q, k, v, slopes)
    for x, y in zip(found, again):
        assert (x == y).all()
    exact, rounded = (gradient(eager(x))(q, k, v, slopes) for x in (True, False))
    for x, y, z, of in zip(found, exact, rounded, (q, k, v, slopes)):
        assert x.dtype == of.dtype
        if of.dtype == jnp.float32:
            # A sum over all pairs.
            assert jnp.abs(x - y).max() <= 2e-2 * jnp.abs(y).max() + 1e-3
            continue
        # Theirs rounds P alone, and ours P and dS.
        scale = jnp.abs(y.astype(jnp.float32)).max()
        wrong = jnp.abs(x.astype(jnp.float32) - y.astype(jnp.float32))
        assert wrong.max() <= (3e-2 if dtype == "bfloat16" else 4e-3) * scale


def test_in_one_program(seed):
    """Between operations of XLA, several times, without a wait."""
    q, k, v = _qkv(seed, "bfloat16", kv_heads=4, lengths=(256, 256))

    @jax.jit
    def deep(q):
        for n in range(8):
            q = q + ours.flex_attention(q * 1.5, k, v, mask_mod=lambda b, h, i, j: j <= i + n)
        return q

    expected = q
    for n in range(8):
        expected = expected + ours.flex_attention(
            *(expected * 1.5, k, v), mask_mod=lambda b, h, i, j: j <= i + n
        )
    # XLA may keep more digits between operations that it fuses.
    difference = deep(q).astype(jnp.float32) - expected.astype(jnp.float32)
    assert jnp.abs(difference).max() < 0.2
    found = [deep(q) for _ in range(5)]
    assert all((x == found[0]).all() for x in found)


def test_numbers_and_arrays_without_dimensions(seed):
    q, k, v = _qkv(seed, "float16", kv_heads=4)
    window, factor = 31, 0.5

    @jax.jit
    def call(limit, shift):
        return ours.flex_attention(
            *(q, k, v, lambda s, b, h, i, j: s * factor + shift * j),
            lambda b, h, i, j: (abs(i - j) < window) & (j < limit),
        )

    for limit, shift in (300, 0.0), (100, 0.125):
        found = call(jnp.int32(limit), jnp.float32(shift))
        expected, _ = _eager(
            *(q, k, v, lambda s, b, h, i, j: s * factor + shift * j),
            lambda b, h, i, j: (abs(i - j) < window) & (j < limit),
        )
        assert jnp.abs(found.astype(jnp.float32) - expected).max() < 1e-2


def test_vmap_and_dot_product_attention(seed):
    q, k, v = _qkv(seed, "bfloat16", kv_heads=4)
    many = jnp.stack([q, -q])
    call = lambda q: ours.flex_attention(q, k, v)
    assert (jax.vmap(call)(many)[1] == call(-q)).all()
    q, k, v = (x.swapaxes(1, 2) for x in _qkv(seed, "bfloat16"))
    lengths = jnp.array([333, 70], "int32")
    options = {"is_causal": True, "key_value_seq_lengths": lengths}
    found = jax.jit(lambda *x: ours.dot_product_attention(*x, **options))(q, k, v)
    expected = jax.nn.dot_product_attention(q, k, v, **options)
    difference = found.astype(jnp.float32) - expected.astype(jnp.float32)
    assert jnp.abs(difference).max() < 0.05


def test_gradient_without_tiles():
    q, k, v = _qkv(3, "float32", heads=2, lengths=(77, 77))
    loss = lambda q, k, v: (ours.flex_attention(q, k, v) ** 2).sum()

    def dense(q, k, v):
        s = jnp.einsum("bhid,bhjd->bhij", q, k, precision="highest") * q.shape[-1] ** -0.5
        o = jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s, -1), v, precision="highest")
        return (o**2).sum()

    ours_, theirs = [jax.grad(f, (0, 1, 2))(q, k, v) for f in (loss, dense)]
    for a, b in zip(ours_, theirs):
        assert jnp.abs(a - b).max() < 1e-4


def test_what_there_is_not():
    q = jnp.ones((1, 1, 64, 64), "float32")
    with pytest.raises(attn.InvalidArgument, match="but got int32"):
        ours.flex_attention(*[q.astype("int32")] * 3)


def test_two_gpus():
    if jax.device_count() < 2:
        pytest.skip("needs two GPUs")
    q, k, v = _qkv(0, "bfloat16", kv_heads=4)
    call = jax.jit(lambda q, k, v: ours.flex_attention(q, k, v))
    expected = call(q, k, v)
    on_second = call(*jax.device_put((q, k, v), jax.devices()[1]))
    assert (jax.device_put(on_second, jax.devices()[0]) == expected).all()
    spec = jax.sharding.PartitionSpec("data")
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((2,), ("data",), axis_types=auto, devices=jax.devices()[:2])
    parts = jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec)
    assert (parts(q, k, v) == expected).all()
