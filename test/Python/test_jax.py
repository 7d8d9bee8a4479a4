# RUN: %python %s
"""attn.jax against operations of JAX in float64: results and gradients, of whatever
functions read, in jit, grad, scan, remat and cond."""

import functools
import types
import unittest

from jax_case import TOLERANCES, Case, causal, jax, numpy, qkv, reference, squares

if jax is not None:
    import jax.numpy as jnp
    from jax import lax, nn
    from jax.nn import gelu

    import attn
    from attn.jax import flex_attention

    @jax.jit
    def capped(score):
        return 5 * jnp.tanh(score / 5)


@functools.lru_cache
def expectation(functions, count, **options):
    """The results and the gradients of the reference, which is compiled once."""

    def theirs(q, k, v, *read):
        return reference(q, k, v, *functions(*read), **options)

    return theirs, jax.jit(jax.grad(squares(theirs), range(count)))


class Values(Case):
    def check(self, functions, tensors, captures=(), dtype="float32", **options):
        """Results and all gradients. `functions` makes the score function and the
        mask of captures."""
        count = 3 + len(captures)

        def ours(q, k, v, *read):
            return flex_attention(
                *(q, k, v, *functions(*read)),
                enable_gqa=True,
                return_lse=True,
                **options,
            )

        theirs, their_gradients = expectation(functions, count, **options)
        arguments = *tensors, *captures
        wide = [x.astype("float64") for x in arguments]
        found = jax.jit(ours)(*arguments)
        self.assertEqual(found[0].dtype, dtype)
        self.assertEqual(
            found[1].dtype, "float64" if dtype == "float64" else "float32"
        )
        self.close(found, theirs(*wide), TOLERANCES[dtype])
        gradients = jax.jit(jax.grad(squares(ours), range(count)))(*arguments)
        for x, y in zip(gradients, arguments):
            self.assertEqual((x.shape, x.dtype), (y.shape, y.dtype))
        for x, y in zip(gradients, their_gradients(*wide)):
            # Sums over all pairs are long ones.
            x, y = (numpy.asarray(z, "float64") for z in (x, y))
            scale = max(1, abs(y).max())
            self.close(x / scale, y / scale, 4 * TOLERANCES[dtype])

    def test_dtypes(self):
        def functions(slopes, table):
            def score(s, b, h, i, j):
                return jnp.tanh(s) + slopes[h] * (j - i) + table[i - j + 40]

            return score, causal

        slopes = jnp.exp2(-jnp.arange(1.0, 5))
        table = jax.random.normal(jax.random.key(1), (80,))
        for dtype in TOLERANCES:
            with self.subTest(dtype):
                tensors = qkv(2, 4, 33, 16, kv_heads=2, keys=40, dtype=dtype)
                captures = [x.astype(jnp.promote_types(dtype, "float32")) for x in (slopes, table)]
                self.check(functions, tensors, captures, dtype)

    def test_shapes(self):
        # Another dimension of values, a scale, and queries without a key.
        tensors = qkv(1, 2, 19, 8, keys=7, dim_v=24)
        few = lambda: (None, lambda b, h, i, j: (j < i - 9) & (h * 0 + b < 1))
        self.check(few, tensors, scale=0.25)
        # No key, and no query.
        q, k, v = qkv(1, 2, 5, 8)
        for queries, keys in (5, 0), (0, 5):
            out, lse = flex_attention(
                q[:, :, :queries], k[:, :, :keys], v[:, :, :keys], return_lse=True
            )
            self.same(out, jnp.zeros((1, 2, queries, 8)))
            self.same(lse, jnp.full((1, 2, queries), -jnp.inf))
        # One batch of keys for all.
        q, k, v = qkv(3, 2, 9, 8)
        k, v = k[:1], v[:1]
        ours = lambda q, k, v: flex_attention(q, k, v)
        theirs = lambda q, k, v: reference(q, *[jnp.repeat(x, 3, 0) for x in (k, v)])[0]
        self.close(ours(q, k, v), theirs(q, k, v), 2e-5)
        found, expected = (
            jax.jit(jax.grad(squares(f), (0, 1, 2)))(q, k, v) for f in (ours, theirs)
        )
        self.close(found, expected, 1e-4)

    def test_functions_of_jax(self):
        """Those that are as attributes, by name, and of a module in a closure."""
        near, there = jnp, types.SimpleNamespace(table=jnp.arange(1.0, 3))

        def score(s, b, h, i, j):
            s = capped(s) + gelu(s) + nn.gelu(s, approximate=False)
            s += nn.sigmoid(s) + nn.relu(s) + nn.silu(s) + nn.softplus(s)
            s += lax.max(s, 0.5) + lax.select(s > 0, s, -s) + lax.rsqrt(s * s + 1)
            s += lax.clamp(-1.0, s, 1.0) + lax.logistic(s) + lax.integer_pow(s, 3) / 50
            s += near.where(near.logical_and(i > j, s < 3), near.minimum(s, 1), 0.0)
            s += jnp.clip(s, -2, 2) + jnp.abs(s) + jnp.sign(s) + jnp.square(s) / 9
            s += jnp.exp2(-there.table)[h] * jnp.sqrt(jnp.abs(i - j).astype(jnp.float32))
            return s + jnp.log1p(jnp.abs(s)) + jnp.power(2.0, -there.table[h])

        tensors = qkv(1, 2, 17, 8)
        found = flex_attention(*tensors, score)
        self.close(found, reference(*tensors, score)[0], 1e-4)

    def test_activations(self):
        def score(s, b, h, i, j):
            s = s + nn.hard_tanh(s) + nn.hard_swish(s) / 2 + nn.soft_sign(s)
            s += nn.selu(s) + nn.celu(s, 1.5) + nn.squareplus(s, 2.0)
            return s + jnp.sinc(s) + lax.div(j - i, 3) + lax.div(s, 2.0)

        self.check(lambda: (score, None), qkv(1, 2, 9, 8))

    def test_words_of_8_bits(self):
        q, k, v = qkv(1, 2, 9, 8)
        words = jnp.arange(247, 256, dtype="uint8")
        expected = flex_attention(q, k, v, lambda s, b, h, i, j: s + (247 + j) / 99)
        for table in words, numpy.asarray(words):
            score = lambda s, b, h, i, j: s + table[j] / 99
            self.close(flex_attention(q, k, v, score), expected, 1e-6)
        call = lambda q, words: flex_attention(
            *(q, k, v, lambda s, b, h, i, j: s + words[j] / 99)
        )
        self.close(jax.jit(call)(q, words), expected, 1e-6)

    def test_what_functions_read(self):
        """Tables in containers and objects, of NumPy too, numbers, and arrays without
        dimensions, which JAX traces."""
        q, k, v = qkv(2, 2, 9, 8)
        wide = numpy.linspace(0, 1, 18).reshape(9, 2)

        class Model:
            def __init__(self):
                self.layers = [{"bias": jnp.arange(2.0)}]

            def score(self, s, b, h, i, j):
                return s * self.layers[0]["bias"][h] + wide[i, h] + wide.T[0, j]

        model = Model()

        def call(q, factor, ids, window=4, flag=True, shift=0.5):
            def score(s, b, h, i, j):
                s = factor * model.score(s, b, h, i, j) + s / factor
                return jnp.where(flag, s + shift, s)

            def mask(b, h, i, j):
                return (ids[b, i] == ids[b, j]) & (i - j < window) & (j - i < 3)

            return flex_attention(q, k, v, score, mask), score, mask

        ids = jnp.arange(18, dtype="int32").reshape(2, 9) // 4
        for arguments in (2.0, ids), (jnp.float32(2), ids), (jnp.float32(0.3), ids - 1):
            expected, score, mask = call(q, *arguments)
            with jax.disable_jit():  # for NumPy
                theirs = reference(q, k, v, score, mask)[0]
            self.close(expected, theirs, 2e-5)
            if arguments[0] != 2.0 or not isinstance(arguments[0], float):
                found = jax.jit(lambda *x: call(*x)[0])(q, *arguments)
                self.same(found, expected)
        # Numbers that change.
        for window, flag, shift in (1, True, 0.25), (2, False, 1.5):
            expected, score, mask = call(q, 2.0, ids, window, flag, shift)
            with jax.disable_jit():
                theirs = reference(q, k, v, score, mask)[0]
            self.close(expected, theirs, 2e-5)
        with jax.enable_x64(False):
            found = flex_attention(q, k, v, lambda s, b, h, i, j: s + wide[i, h])
        expected = flex_attention(q, k, v, lambda s, b, h, i, j: s + wide[i, h])
        self.close(found, expected, 1e-6)


    def test_without_jax(self):
        """By attn.attention, which sees the memory of arrays."""
        q, k, v = qkv(1, 2, 9, 8)
        slopes = jnp.array([0.5, 2.0], "float32")
        score = lambda s, b, h, i, j: jnp.tanh(s) * slopes[h]
        found = attn.attention(q, k, v, score, causal, opt_level=0, target="cpu")
        self.same(found, flex_attention(q, k, v, score, causal))


class Gradients(Case):
    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = qkv(1, 2, 9, 8)

    def call(self, q, table, ids, limits):
        return flex_attention(
            *(q, self.k, self.v, lambda s, b, h, i, j: s + table[h, i] + ids[j]),
            lambda b, h, i, j: (ids[i] == ids[j]) & (limits[h] > j),
        )

    def test_what_has_none(self):
        """What the mask alone reads, and integers."""
        ids, limits = jnp.arange(9) // 4, jnp.array([7.0, 8.5], "float32")
        table = jnp.ones((2, 9), "float32")
        loss = squares(self.call)
        found = jax.grad(loss, (0, 1, 2, 3), allow_int=True)(self.q, table, ids, limits)
        self.assertEqual(found[2].dtype, jax.dtypes.float0)
        self.same(found[3], jnp.zeros(2))
        self.assertGreater(abs(found[0]).max(), 0)
        # The program alone says what is computed.
        for n, names in (0, "('wrt', 'q,')"), (1, "('wrt', 't0,')"):
            jaxpr = jax.make_jaxpr(jax.grad(loss, n))(self.q, table, ids, limits)
            self.assertIn(names, str(jaxpr))
        again = jax.grad(loss, (0, 1), allow_int=True)(self.q, table, ids, limits)
        self.same(again, found[:2])

        # What the score reads for nothing, or compares alone.
        def loss(q, table, limits):
            score = lambda s, b, h, i, j: (
                table[h, j],
                jnp.where(limits[h] > j, s, s / 2),
            )[1]
            return squares(lambda q: flex_attention(q, self.k, self.v, score))(q)

        found = jax.grad(loss, (1, 2))(self.q, table, limits)
        self.same(found, (jnp.zeros((2, 9)), jnp.zeros(2)))

    def test_without_a_key(self):
        def loss(q, k, v):
            return squares(lambda *x: flex_attention(*x))(q, k, v)

        for queries, keys in (9, 0), (0, 9):
            given = self.q[:, :, :queries], self.k[:, :, :keys], self.v[:, :, :keys]
            for x, y in zip(jax.grad(loss, (0, 1, 2))(*given), given):
                self.same(x, jnp.zeros_like(y))

    def test_in_other_transformations(self):
        q, k, v = self.q, self.k, self.v

        def layer(x, slope):
            score = lambda s, b, h, i, j: s + slope * (j - i)
            return flex_attention(x, k, v, score, causal) + x

        slopes = jnp.linspace(0, 1, 3).astype("float32")

        def loop(q, slopes):
            for n in range(3):
                q = layer(q, slopes[n])
            return q

        def scan(q, slopes):
            step = lambda x, slope: (jax.checkpoint(layer)(x, slope), None)
            return lax.scan(step, q, slopes)[0]

        def branches(q, slopes):
            for n in range(3):
                use = functools.partial(layer, slope=slopes[n])
                q = lax.cond(slopes[n] > 5, lambda x: x, use, q)
            return q

        expected = jax.jit(jax.value_and_grad(squares(loop), (0, 1)))(q, slopes)
        for other in scan, branches:
            found = jax.jit(jax.value_and_grad(squares(other), (0, 1)))(q, slopes)
            self.close(found, expected, 1e-5)
        out, pull = jax.vjp(loop, q, slopes)
        self.assertEqual(pull(jnp.ones_like(out))[0].shape, q.shape)

    def test_of_higher_order(self):
        loss = squares(lambda q: flex_attention(q, self.k, self.v))
        with self.assertRaisesRegex(attn.Unsupported, "no second one"):
            jax.hessian(loss)(self.q)
        with self.assertRaisesRegex(TypeError, "forward-mode"):
            jax.jvp(loss, (self.q,), (self.q,))


if __name__ == "__main__":
    unittest.main()
