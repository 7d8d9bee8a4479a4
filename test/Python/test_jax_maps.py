# RUN: %python %s
"""attn.jax in vmap, against each element, and on two devices."""

import unittest

from jax_case import Case, causal, jax, numpy, qkv, squares

if jax is not None:
    import jax.numpy as jnp

    from attn.jax import flex_attention


class Maps(Case):
    def check(self, function, arguments, in_axes, loops):
        """vmap of a function is the function of each element, and `loops` is
        whether it does one after the other."""
        mapped = jax.vmap(function, in_axes)
        jaxpr = str(jax.make_jaxpr(mapped)(*arguments))
        self.assertEqual("scan[" in jaxpr, loops, jaxpr)
        size = next(x.shape[d] for x, d in zip(arguments, in_axes) if d is not None)
        function = jax.jit(function)
        each = [
            function(
                *[x if d is None else jnp.take(x, n, d) for x, d in zip(arguments, in_axes)]
            )
            for n in range(size)
        ]
        expected = jax.tree.map(lambda *x: numpy.stack(x), *each)
        self.close(jax.jit(mapped)(*arguments), expected, 1e-6)

    def test_vmap(self):
        q, k, v = qkv(2, 2, 9, 8)
        many = [jnp.stack([x, x * 2, x + 1], 2) for x in (q, k, v)]
        slopes = jnp.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], "float32")
        table = jnp.linspace(0, 1, 6).reshape(3, 2).astype("float32")

        def call(q, k, v, slopes):
            score = lambda s, b, h, i, j: s + slopes[h] * j
            return flex_attention(q, k, v, score, causal, return_lse=True)

        def of_batch(q, k, v, table):
            return flex_attention(q, k, v, lambda s, b, h, i, j: s + table[b, h] * j)

        for axes in (2, 2, 2), (2, None, None), (None, None, 2):
            given = [x if d is None else m for x, m, d in zip((q, k, v), many, axes)]
            self.check(call, [*given, slopes[0]], (*axes, None), False)
        self.check(call, [q, k, v, slopes], (None, None, None, 0), True)
        self.check(of_batch, [*many, table], (2, 2, 2, None), True)
        # Keys that all batches share, of one dimension more.
        self.check(call, [many[0], k[:1], v[:1], slopes[0]], (2, *[None] * 3), True)
        twice = jax.vmap(jax.vmap(call, (0, 0, 0, None)), (0, 0, 0, None))
        found = twice(*[x[None, None] for x in (q, k, v)], slopes[0])
        self.close(found, [x[None, None] for x in call(q, k, v, slopes[0])], 1e-6)

        gradient = jax.grad(squares(call), (0, 1, 2))
        self.check(gradient, [*many, slopes[0]], (2, 2, 2, None), False)
        gradient = jax.grad(squares(call), (0, 3))
        self.check(gradient, [many[0], k, v, slopes[0]], (2, *[None] * 3), True)
        # The other way round, sums of gradients.
        total = squares(jax.vmap(call, (2, None, None, None)))
        each = lambda q, k, v, slopes: sum(
            squares(call)(q[:, :, n], k, v, slopes) for n in range(3)
        )
        found, expected = (
            jax.jit(jax.grad(x, (0, 1, 2, 3)))(many[0], k, v, slopes[0]) for x in (total, each)
        )
        self.close(found, expected, 1e-5)

    def test_two_devices(self):
        self.assertEqual(jax.device_count(), 2)
        auto = {"axis_types": (jax.sharding.AxisType.Auto,)}
        mesh, spec = jax.make_mesh((2,), ("data",), **auto), jax.sharding.PartitionSpec
        q, k, v = qkv(2, 2, 17, 8)
        slopes = jnp.array([0.1, 0.2], "float32")

        def call(q, k, v, slopes):
            score = lambda s, b, h, i, j: s + slopes[h] * (j - i)
            return flex_attention(q, k, v, score, causal, return_lse=True)

        over = spec("data")
        parts = jax.shard_map(
            call, mesh=mesh, in_specs=(over, over, over, spec()), out_specs=over
        )
        expected = call(q, k, v, slopes)
        self.same(jax.jit(parts)(q, k, v, slopes), expected)
        found, expected = (
            jax.jit(jax.grad(squares(f), (0, 1, 2, 3)))(q, k, v, slopes)
            for f in (parts, call)
        )
        self.close(found, expected, 1e-5)
        # By jit, each device has all.
        put = jax.device_put((q, k, v), jax.sharding.NamedSharding(mesh, over))
        self.same(jax.jit(call)(*put, slopes), call(q, k, v, slopes))

    def test_explicit_sharding(self):
        """Where it is a part of types, gradients have that of what they are of."""
        spec = jax.sharding.PartitionSpec
        mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
        tensors, slopes = qkv(2, 2, 9, 8), jnp.array([0.1, 0.2], "float32")

        def call(q, k, v, slopes):
            return flex_attention(q, k, v, lambda s, b, h, i, j: s + slopes[h] * j)

        gradient = jax.jit(jax.grad(squares(call), (0, 1, 2, 3)))
        expected = gradient(*tensors, slopes)
        with jax.set_mesh(mesh):
            specs = spec("x"), spec(None, "x"), spec(), spec("x")
            put = [
                jax.device_put(x, jax.sharding.NamedSharding(mesh, s))
                for x, s in zip((*tensors, slopes), specs)
            ]
            found = gradient(*put)
        for x, of in zip(found, put):
            self.assertEqual(jax.typeof(x), jax.typeof(of))
        self.close(found, expected, 1e-6)


if __name__ == "__main__":
    unittest.main()
