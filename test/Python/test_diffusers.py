# RUN: %python %s
"""Models of diffusers, made from configurations with random weights: attn against
PyTorch's attention."""

import unittest
from unittest import mock

import models

diffusers = models.find("diffusers")
if diffusers is not None:
    import torch

    import attn
    from attn.integrations import diffusers as ours
    from diffusers.models.attention_dispatch import (
        AttentionBackendName,
        _AttentionBackendRegistry,
        attention_backend,
        dispatch_attention_fn,
    )

    diffusers.utils.logging.set_verbosity_error()
    ours.register()


@unittest.skipIf(diffusers is None, "needs diffusers")
class Models(models.Case):
    def check(self, model, **inputs):
        """The output, and the gradients of all weights."""
        found = []
        for name in ("native", "attn"):
            model.set_attention_backend(name)
            with mock.patch.object(ours, "sdpa", wraps=ours.sdpa) as called:
                out = model(**inputs, return_dict=False)[0]
            self.assertEqual(called.called, name == "attn")
            weights = [x for x in model.parameters() if x.requires_grad]
            loss = out.square().mean()
            grads = torch.autograd.grad(loss, weights, allow_unused=True)
            found.append([out, *grads])
        for wanted, got in zip(*found):
            if wanted is not None:
                torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)

    def make_flux(self):
        """A model, and what its calls have but for images and times."""
        model = diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(4, 4, 8),
        )
        return model, {
            "encoder_hidden_states": torch.randn(1, 7, 32),
            "pooled_projections": torch.randn(1, 32),
            "img_ids": torch.zeros(16, 3),
            "txt_ids": torch.zeros(7, 3),
        }

    def test_flux(self):
        model, named = self.make_flux()
        named |= {"hidden_states": torch.randn(1, 16, 4), "timestep": torch.tensor([0.5])}
        self.check(model, **named)

    def test_wan(self):
        # With attention to text, whose keys are others.
        model = diffusers.WanTransformer3DModel(
            patch_size=(1, 2, 2),
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=4,
            out_channels=4,
            text_dim=16,
            freq_dim=32,
            ffn_dim=32,
            num_layers=2,
            cross_attn_norm=True,
            qk_norm="rms_norm_across_heads",
            rope_max_seq_len=32,
        )
        self.check(
            model,
            hidden_states=torch.randn(1, 4, 2, 8, 8),
            encoder_hidden_states=torch.randn(1, 9, 16),
            timestep=torch.tensor([3]),
        )

    def test_a_pipeline(self):
        # Steps of a diffusion with a small transformer: those of a scheduler.
        model, named = self.make_flux()
        start = torch.randn(1, 16, 4)

        def run():
            scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
            scheduler.set_timesteps(4)
            x = start
            with torch.no_grad():
                for step in scheduler.timesteps:
                    velocity = model(
                        hidden_states=x,
                        timestep=step[None] / 1000,
                        return_dict=False,
                        **named,
                    )[0]
                    x = scheduler.step(velocity, step, x, return_dict=False)[0]
            return x

        wanted = run()
        with attention_backend("attn"):
            torch.testing.assert_close(run(), wanted, rtol=1e-4, atol=1e-5)

    def test_arguments(self):
        q, k, v = torch.randn(2, 9, 4, 8), *torch.randn(2, 2, 11, 2, 8)
        masks = torch.rand(2, 11) > 0.3, torch.randn(2, 1, 9, 11)
        for named in (
            {},
            {"attn_mask": masks[0]},
            {"attn_mask": masks[1], "scale": 0.3},
            {"is_causal": True},
        ):
            named["enable_gqa"] = True
            wanted = dispatch_attention_fn(q, k, v, backend="native", **named)
            got = dispatch_attention_fn(q, k, v, backend="attn", **named)
            self.assertEqual(got.shape, wanted.shape)
            torch.testing.assert_close(got, wanted)

    def test_context_parallelism(self):
        # diffusers has templates for it, of operators that return a log-sum-exp and
        # keep what gradients need in its own context. attn has none and says so:
        # diffusers refuses before anything runs.
        can = _AttentionBackendRegistry._is_context_parallel_available
        self.assertTrue(can(AttentionBackendName.NATIVE))
        self.assertFalse(can(AttentionBackendName("attn")))
        config = diffusers.ParallelConfig(
            context_parallel_config=diffusers.ContextParallelConfig(ulysses_degree=2)
        )
        model, _ = self.make_flux()
        model.set_attention_backend("attn")
        self.addCleanup(model.set_attention_backend, "native")
        # What makes a group of processes wants accelerators.
        with mock.patch.object(
            type(model), "_resolve_parallel_config", return_value=config
        ):
            with self.assertRaisesRegex(ValueError, "'attn' which does not support"):
                model.enable_parallelism(config=config)
        other, _ = self.make_flux()
        for block in (*other.transformer_blocks, *other.single_transformer_blocks):
            block.attn.processor._parallel_config = config
        with self.assertRaisesRegex(ValueError, "'attn' does not support"):
            other.set_attention_backend("attn")
        # Where diffusers does not look, attn refuses.
        q = torch.randn(1, 3, 2, 8)
        with self.assertRaisesRegex(attn.Unsupported, "no context parallelism"):
            dispatch_attention_fn(q, q, q, backend="attn", parallel_config=config)

    def test_errors(self):
        q = torch.randn(1, 3, 2, 8)
        with self.assertRaisesRegex(attn.InvalidArgument, "expects return_lse=False"):
            ours.attention(q, q, q, return_lse=True)
        with self.assertRaisesRegex(attn.Unsupported, "no context parallelism"):
            ours.attention(q, q, q, _parallel_config=object())
        with self.assertRaisesRegex(attn.InvalidArgument, "in lower case"):
            ours.register("Attn")
        with self.assertRaisesRegex(attn.InvalidArgument, "another backend"):
            ours.register("native")
        ours.register()  # again
        self.assertIs(AttentionBackendName("attn"), AttentionBackendName.ATTN)
        self.assertIn("ATTN", AttentionBackendName.__members__)


if __name__ == "__main__":
    unittest.main()
