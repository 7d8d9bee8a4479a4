# RUN: %python %s
"""Models of transformers, made from configurations with random weights: attn
against eager."""

import unittest
from unittest import mock

import models

transformers = models.find("transformers")
if transformers is not None:
    import torch

    import attn
    from attn.integrations import transformers as ours

    ours.register()
    SMALL = {
        "vocab_size": 97,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": None,
    }


@unittest.skipIf(transformers is None, "needs transformers")
class Models(models.Case):
    def make(self, kind, config="Config", **named):
        config = getattr(transformers, kind + config)(**{**SMALL, **named})
        model = getattr(transformers, f"{kind}ForCausalLM")(config)
        return model.eval()

    def each(self, model, function):
        """What a function returns with eager attention, and with ours."""
        for name in ("eager", "attn"):
            model.set_attn_implementation(name)
            with mock.patch.object(
                ours, "flex_attention", wraps=ours.flex_attention
            ) as called:
                yield function()
            self.assertEqual(called.called, name == "attn")

    def check_logits(self, model, *inputs, kept=..., **named):
        def logits():
            with torch.no_grad():
                return model(*inputs, **named).logits[kept]

        wanted, got = self.each(model, logits)
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)

    def check(self, model, **inputs):
        # Rows of padding mean nothing.
        padding = inputs.get("attention_mask")
        kept = ... if padding is None else padding.bool()
        self.check_logits(model, kept=kept, **inputs)

    def check_decoder(self, model):
        tokens = torch.randint(2, 97, (2, 13))
        self.check(model, input_ids=tokens)
        padding = torch.ones(2, 13, dtype=torch.long)
        padding[0, :4] = 0
        self.check(model, input_ids=tokens, attention_mask=padding)
        for cache in ("dynamic", "static"):
            wanted, got = self.each(
                model,
                lambda: model.generate(
                    tokens,
                    attention_mask=padding,
                    max_new_tokens=5,
                    do_sample=False,
                    cache_implementation=cache,
                    disable_compile=True,
                ),
            )
            self.assertEqual(got.tolist(), wanted.tolist())

    def test_llama(self):
        model = self.make("Llama")
        self.check_decoder(model)
        # Two sequences in one, told by their positions.
        tokens = torch.randint(2, 97, (1, 12))
        places = torch.cat([torch.arange(5), torch.arange(7)])[None]
        self.check(model, input_ids=tokens, position_ids=places, use_cache=False)

    def test_gradients(self):
        model = self.make("Llama")
        tokens = torch.randint(2, 97, (2, 11))

        def gradients():
            model.zero_grad()
            model(tokens, labels=tokens).loss.backward()
            return [x.grad.clone() for x in model.parameters()]

        for a, b in zip(*self.each(model, gradients)):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)

    def test_gemma2(self):
        self.check_decoder(
            self.make("Gemma2", sliding_window=4, attn_logit_softcapping=2.0)
        )

    def test_gemma3(self):
        self.check_decoder(self.make("Gemma3", "TextConfig", sliding_window=4))

    def test_qwen(self):
        self.check_decoder(self.make("Qwen3"))

    def test_gpt_oss(self):
        model = self.make(
            "GptOss", sliding_window=4, num_local_experts=2, num_experts_per_tok=1
        )
        for name, x in model.named_parameters():
            if name.endswith("sinks"):
                torch.nn.init.normal_(x)
        self.check_decoder(model)

    def test_t5(self):
        config = transformers.T5Config(
            vocab_size=97,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            decoder_start_token_id=0,
        )
        model = transformers.T5ForConditionalGeneration(config).eval()
        tokens = torch.randint(2, 97, (2, 9))
        padding = torch.ones(2, 9, dtype=torch.long)
        padding[0, 6:] = 0
        self.check_logits(model, tokens, padding, decoder_input_ids=tokens)

    def test_whisper(self):
        config = transformers.WhisperConfig(
            vocab_size=97,
            num_mel_bins=8,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            d_model=32,
            max_source_positions=20,
            max_target_positions=20,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
        model = transformers.WhisperForConditionalGeneration(config).eval()
        sound, tokens = torch.randn(2, 8, 40), torch.randint(2, 97, (2, 7))
        self.check_logits(model, sound, decoder_input_ids=tokens)

    def test_static_cache_in_parts(self):
        """Caches count in place: each mask is of when it was made."""
        tokens = torch.randint(2, 97, (2, 21))
        named = {"sliding_window": 6, "attn_logit_softcapping": 2.0}
        for model in self.make("Llama"), self.make("Gemma2", **named):

            def logits():
                cache = transformers.StaticCache(config=model.config, max_cache_len=30)
                with torch.no_grad():
                    parts = [
                        model(x, past_key_values=cache).logits
                        for x in tokens.split((11, 8, 1, 1), 1)
                    ]
                return torch.cat(parts, 1)

            wanted, got = self.each(model, logits)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)

    def test_mask_of_offsets_that_move(self):
        q = torch.randn(1, 2, 3, 4)
        k = torch.randn(1, 2, 9, 4)

        def call(q, offset):
            mask = ours.mask(1, 3, 9, offset)
            offset.add_(3)
            return ours.attention(None, q, k, k, mask)[0]

        allowed = torch.ones(3, 9, dtype=torch.bool).tril(4)
        plain = torch.nn.functional.scaled_dot_product_attention
        wanted = plain(q, k, k, allowed).transpose(1, 2)
        for function in call, torch.compile(call, fullgraph=True, backend="aot_eager"):
            offset = torch.tensor(4)
            torch.testing.assert_close(function(q, offset), wanted)
            self.assertEqual(offset.item(), 7)

    def test_gpt2(self):
        """It asks masks for their dimensions, and drops by default."""
        config = transformers.GPT2Config(
            vocab_size=97,
            n_embd=32,
            n_layer=2,
            n_head=4,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=None,
        )
        model = transformers.GPT2LMHeadModel(config).eval()
        self.check_decoder(model)
        model.train()
        tokens = torch.randint(2, 97, (2, 11))
        model(tokens, labels=tokens).loss.backward()
        for x in model.parameters():
            self.assertTrue(x.grad.isfinite().all())

    def test_dropout(self):
        """As of sdpa, in a graph as well; a sink takes its part of it."""
        q, k = torch.randn(2, 2, 4, 7, 8)
        v = torch.eye(7).expand(2, 4, 7, 7)
        allowed = torch.rand(2, 1, 7, 7) > 0.3
        sinks = torch.randn(4)

        def call(q, dropout, **named):
            return ours.attention(None, q, k, v, allowed, dropout=dropout, **named)[0]

        torch.manual_seed(3)
        wanted = attn.torch.sdpa(q, k, v, allowed, dropout_p=0.4).transpose(1, 2)
        torch.manual_seed(3)
        torch.testing.assert_close(call(q, 0.4), wanted)
        plain = call(q, 0.0, s_aux=sinks)
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        for function in call, compiled:
            found = function(q.requires_grad_(), 0.4, s_aux=sinks)
            torch.testing.assert_close(found, (found != 0) * plain / 0.6)
            found.square().sum().backward()
            self.assertTrue(q.grad.isfinite().all())

    def test_errors(self):
        q = torch.randn(1, 2, 3, 4)
        with self.assertRaisesRegex(attn.InvalidArgument, "less than 1, but got 1.5"):
            ours.attention(None, q, q, q, dropout=1.5)
        with self.assertRaisesRegex(attn.InvalidArgument, "a tensor, but got str"):
            ours.attention(None, q, q, q, "causal")

    def test_tensors_for_masks(self):
        q = torch.randn(2, 2, 5, 4)
        bias = torch.randn(1, 2, 5, 5)
        allowed = (torch.rand(2, 1, 5, 7) > 0.3) | torch.eye(5, 7, dtype=torch.bool)
        plain = torch.nn.functional.scaled_dot_product_attention
        for named, wanted in [
            ({"attention_mask": allowed}, allowed[..., :5]),
            ({"attention_mask": bias}, bias),
            ({"position_bias": bias}, bias),
            (
                {"position_bias": bias, "attention_mask": allowed},
                bias.masked_fill(~allowed[..., :5], -torch.inf),
            ),
            ({"is_causal": True}, torch.ones(5, 5, dtype=torch.bool).tril()),
        ]:
            got, weights = ours.attention(None, q, q, q, **named)
            self.assertIsNone(weights)
            torch.testing.assert_close(got.transpose(1, 2), plain(q, q, q, wanted))


if __name__ == "__main__":
    unittest.main()
