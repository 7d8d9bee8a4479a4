# RUN: %python %s
"""Images by diffusion: whole pipelines of diffusers, made from configurations with
random weights, with attn and with PyTorch's attention."""

import string
import unittest
from unittest import mock

import models

diffusers, transformers = models.find("diffusers"), models.find("transformers")
missing = diffusers is None or transformers is None
if not missing:
    import torch
    import torch.nn.functional as F

    import attn.torch as ours
    from attn.integrations import diffusers as backend
    from attn.torch import _kernels

    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    backend.register()
    # Tensors are small: threads would mostly wait for each other.
    torch.set_num_threads(1)

STEPS = 3


# All have a head dimension of 8, so that few kernels are compiled.


def make_vae(**named):
    """What makes images of what is diffused; a pixel of that is two by two."""
    return diffusers.AutoencoderKL(
        block_out_channels=(8, 8),
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        norm_num_groups=8,
        **named,
    ).eval()


def make_unet():
    return diffusers.UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(16, 32),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        layers_per_block=1,
        attention_head_dim=(2, 4),
        cross_attention_dim=32,
        norm_num_groups=8,
    ).eval()


def make_text():
    """A tokenizer, whose tokens are letters, and what reads them."""
    tokens = ["<|startoftext|>", "<|endoftext|>"]
    tokens += [x + end for x in string.ascii_lowercase for end in ("", "</w>")]
    tokenizer = transformers.CLIPTokenizer(
        vocab={x: n for n, x in enumerate(tokens)}, merges=[], model_max_length=16
    )
    config = transformers.CLIPTextConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    return tokenizer, transformers.CLIPTextModel(config).eval()


def render(pipeline, *prompt, **named):
    """Numbers from 0 to 1, of [1, 16, 16, 3]."""
    pipeline.set_progress_bar_config(disable=True)
    result = pipeline(
        *prompt,
        height=16,
        width=16,
        num_inference_steps=STEPS,
        generator=torch.Generator().manual_seed(1),
        output_type="np",
        **named,
    )
    return torch.from_numpy(result.images)


def with_gradients(model, function):
    """What a function returns, and the gradients of all weights."""
    out = function()
    loss = out.square().mean()
    grads = torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)
    return [out, *[x for x in grads if x is not None]]


def average(query, key, value, *_, **__):
    """An attention that is none."""
    return value.mean(2, keepdim=True).expand_as(query)


@unittest.skipIf(missing, "needs diffusers and transformers")
class Images(models.Case):
    def count(self):
        """A context whose mock counts runs of forward kernels."""
        return mock.patch.object(
            _kernels.Kernels, "run", autospec=True, side_effect=_kernels.Kernels.run
        )

    def replaced(self, function):
        return mock.patch.object(F, "scaled_dot_product_attention", function)

    def check(self, function):
        """A function returns the same tensors where PyTorch's attention is attn,
        which runs for each call of it."""
        theirs = mock.Mock(wraps=F.scaled_dot_product_attention)
        with self.replaced(theirs), self.count() as ran:
            wanted = function()
        self.assertGreater(theirs.call_count, 0)
        ran.assert_not_called()
        for way in (ours.use(), self.replaced(ours.sdpa)):
            with way, self.count() as ran:
                got = function()
            self.assertEqual(ran.call_count, theirs.call_count)
            self.check_close(got, wanted)
        return wanted

    def check_close(self, got, wanted):
        for a, b in zip(got, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    def check_image(self, image, other):
        """It is an image, and without attention it is another one."""
        self.assertEqual(image.shape, (1, 16, 16, 3))
        self.assertGreater(image.std(), 0.05)
        self.assertGreater((image - other).abs().max(), 0.01)

    def test_unet(self):
        model = make_unet()
        images, text = torch.randn(2, 4, 8, 8), torch.randn(2, 9, 32)
        padding = torch.ones(2, 9, dtype=torch.bool)
        padding[1, 5:] = False
        for mask in (None, padding):
            self.check(
                lambda: with_gradients(
                    model,
                    lambda: model(images, 7, text, encoder_attention_mask=mask).sample,
                )
            )

    def test_vae(self):
        model, images = make_vae(), torch.randn(2, 3, 16, 16)
        self.check(lambda: with_gradients(model, lambda: model(images).sample))

    def test_vision_transformer(self):
        config = transformers.ViTConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=16,
            patch_size=4,
        )
        model = transformers.ViTForImageClassification(config).eval()
        images = torch.randn(2, 3, 16, 16)
        self.check(lambda: with_gradients(model, lambda: model(images).logits))

    def test_stable_diffusion(self):
        tokenizer, text_encoder = make_text()
        pipeline = diffusers.StableDiffusionPipeline(
            vae=make_vae(),
            text_encoder=text_encoder,
            tokenizer=tokenizer,
            unet=make_unet(),
            scheduler=diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
        )

        def image():
            return render(pipeline, "a red fox", negative_prompt="snow")

        wanted = self.check(image)
        with self.replaced(average):
            self.check_image(wanted, image())

    def test_flux(self):
        transformer = diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(2, 2, 4),
        ).eval()
        pipeline = diffusers.FluxPipeline(
            scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
            vae=make_vae(shift_factor=0.1),
            text_encoder=None,
            tokenizer=None,
            text_encoder_2=None,
            tokenizer_2=None,
            transformer=transformer,
        )
        prompt = {
            "prompt_embeds": torch.randn(1, 7, 32),
            "pooled_prompt_embeds": torch.randn(1, 32),
        }
        # A backend stays the one of all models.
        self.addCleanup(transformer.set_attention_backend, "native")
        found = []
        for name, calls in (("native", 0), ("attn", 2 * STEPS)):
            transformer.set_attention_backend(name)
            with self.count() as ran:
                found.append(render(pipeline, **prompt))
            self.assertEqual(ran.call_count, calls)
        wanted, got = found
        self.check_close(got, wanted)
        transformer.set_attention_backend("native")
        with self.replaced(average):
            self.check_image(wanted, render(pipeline, **prompt))


if __name__ == "__main__":
    unittest.main()
