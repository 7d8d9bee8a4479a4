# RUN: %python %s
"""The score functions and masks of attention-gym, as they are: results and gradients
against PyTorch's own operations."""

import pathlib
import sys
import unittest

# Where scripts/clients has installed it; behind all others.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "build" / "clients"))
try:
    import torch
    from attn_gym import masks, mods
    from attn_gym.masks.document_mask import length_to_offsets
except ImportError:
    masks = None

if masks is not None:
    import attn.torch as ours
    from attn.torch import _reference
    from flex import FAST, qkv


def all_masks():
    """(the mask function, queries, keys)"""
    offsets = length_to_offsets([10, 3, 17, 2], "cpu")
    causal = masks.causal_mask
    ancestors = masks.build_tree_ancestor_matrix([-1, 0, 0, 1, 1, 2, 5], "cpu")
    is_global = torch.arange(32) % 9 == 0
    intervals = torch.tensor([[0, 12], [5, 20], [20, 32]])
    tiles = torch.tensor([[[[0, 1], [3, 2]], [[1, 2], [0, 3]]]])
    sizes = torch.tensor([8, 8, 5, 8])
    frames = {"prompt_length": 4, "num_frames": 4, "token_per_frame": 7}
    each = [
        (causal, 32, 32),
        (masks.batchify_mask_mod(causal, 8), 32, 32),
        (masks.batchify_mask_mod(masks.generate_sliding_window(3), 16), 32, 32),
        (masks.generate_block_diffusion_mask(16, 4), 32, 32),
        (masks.generate_dilated_sliding_window(9, 3), 32, 32),
        (masks.generate_doc_mask_mod(causal, offsets), 32, 32),
        (masks.generate_doc_mask_mod(masks.generate_prefix_lm_mask(2), offsets), 32, 32),
        (masks.generate_packed_causal_doc_mask_mod(offsets), 32, 32),
        (masks.generate_vision_cross_attention_mask_mod(intervals, 5), 32, 15),
        (masks.generate_global_sliding_window(4, is_global), 32, 32),
        (masks.generate_jetspec_tree_causal_mask_mod(9, ancestors), 7, 16),
        (masks.generate_jetspec_training_mask_mod(8, 6), 24, 32),
        (masks.generate_natten(8, 4, 3, 3), 32, 32),
        (masks.generate_tiled_natten(8, 4, 5, 3, 4, 2), 32, 32),
        (masks.generate_morton_natten(8, 8, 3, 5), 64, 64),
        (masks.generate_prefix_lm_mask(7), 32, 32),
        (masks.generate_shared_prefix_mask_mod(offsets, torch.tensor([0, 0, 2, 2])), 32, 32),
        (masks.generate_sliding_window(5), 32, 32),
        (masks.generate_sta_mask_mod_2d((4, 8), (2, 4), (2, 2), 3), 35, 35),
        (masks.generate_sta_mask_mod_3d((2, 4, 4), (2, 2, 2), (2, 2, 2), 2), 34, 34),
        (masks.generate_spatial_head_mask_mod(**frames, round_width=4), 32, 32),
        (masks.generate_spatial_head_mask_mod(**frames, round_width=4, attn_sink=True), 32, 32),
        (masks.generate_temporal_head_mask_mod(**frames), 32, 32),
        (masks.generate_vsa_mask_mod(tiles, 8), 16, 32),
        (masks.generate_vsa_mask_mod(tiles, 8, sizes), 16, 32),
    ]
    for number, (mask, queries, keys) in enumerate(each):
        yield f"{number} {mask.__name__}", mask, queries, keys


def all_mods():
    """(the score function, tensors that it learns)"""
    functional = torch.nn.functional
    nodes = torch.rand(2, 24, 24) < 0.1
    nodes = nodes | nodes.transpose(1, 2)
    bias = torch.randn(4, 6, requires_grad=True)
    edges = torch.randn(4, 3, 5, requires_grad=True)
    distances = mods.shortest_path_distances(nodes, 4)
    types = torch.randint(0, 5, (2, 24, 24))
    paths = mods.shortest_path_edge_types(nodes, types, 3)
    rope = [torch.randn(2, n, 24, 16, requires_grad=True) for n in (4, 1)]
    yield "alibi", mods.generate_alibi_bias(4), []
    yield "soft cap", mods.generate_tanh_softcap(20), []
    # An autograd.Function around an operator of its own.
    yield "approximate", mods.generate_tanh_softcap(20, approx=True), []
    yield "sandwich", mods.generate_sandwich_bias(4, 24, 16), []
    for name in "gelu", "relu", "sigmoid", "silu", "softplus":
        activation = getattr(functional, name)
        yield name, mods.generate_activation_score_mod(activation, 1.5), []
    yield "graphormer", mods.generate_graphormer_spatial_bias(bias, distances), [bias]
    yield "edges", mods.generate_graphormer_edge_bias(edges, *paths), [edges]
    yield "latent", mods.generate_mla_rope_score_mod(*rope, 4, 0.2), rope


@unittest.skipIf(masks is None, "needs attn_gym, by scripts/clients")
class Gym(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, q, k, v, score_mod=None, mask_mod=None, learned=()):
        mask = None
        if mask_mod is not None:
            shape = 1, q.size(1), q.size(2), k.size(2)
            mask = ours.create_block_mask(mask_mod, *shape, device="cpu")
        results = [
            ours.flex_attention(q, k, v, score_mod, mask, kernel_options=FAST),
            _reference.attention(q, k, v, score_mod, mask_mod, None)[0],
        ]
        self.assertTrue(results[0].isfinite().all())
        # What functions read is float32.
        torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)
        weights = torch.randn_like(results[0])
        grads = [
            torch.autograd.grad((o * weights).sum(), (q, k, v, *learned), retain_graph=True)
            for o in results
        ]
        for a, b in zip(*grads):
            error = 1e-6 if a.dtype == torch.float64 else 1e-4
            torch.testing.assert_close(a, b, rtol=10 * error, atol=error)

    def test_masks(self):
        """Of one batch and two heads, as some have tables of such."""
        for name, mask_mod, queries, keys in all_masks():
            q, k, v = qkv((1, 2, queries, 8), (1, 2, keys), grad=True)
            with self.subTest(name):
                self.check(q, k, v, mask_mod=mask_mod)

    def test_scores(self):
        for name, score_mod, learned in all_mods():
            q, k, v = qkv((2, 4, 24, 8), grad=True)
            with self.subTest(name):
                self.check(q, k, v, score_mod, learned=learned)


if __name__ == "__main__":
    unittest.main()
