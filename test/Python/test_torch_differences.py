# RUN: %python %s
"""Gradients of compiled kernels in float64 against differences of their results,
for the variants of the catalogue: by q, k, v and the captures that are floats."""

import types
import unittest

import shards

try:
    import torch
except ImportError:
    torch = None

# Of a difference of fourth order, and how far it may be off, by the larger one of
# 1 and the slope.
STEP, BOUND = 1e-3, 1e-6
QUERIES, KEYS, DIM = 48, 48, 8
# Every so many of the catalogue, for the time that it takes to compile them, but
# for scores that jump.
EVERY = 2
JUMPS = {"bounded-scores"}


def find_captures(function, found=None):
    """The cells of closures that hold tensors of floats."""
    found = [] if found is None else found
    for cell in getattr(function, "__closure__", None) or ():
        value = cell.cell_contents
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            if all(cell is not other for other in found):
                found.append(cell)
        elif isinstance(value, types.FunctionType):
            find_captures(value, found)
    return found


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Differences(unittest.TestCase):
    def check(self, variant):
        import attn.torch as ours
        from attn_bench import catalogue

        shape = catalogue.Shape(2, 2, 2, QUERIES, KEYS, DIM)
        score, mask = variant.make(shape, "cpu")
        wide = {"dtype": torch.float64}
        inputs = [torch.randn(2, 2, n, DIM, **wide) for n in (QUERIES, KEYS, KEYS)]
        cells = find_captures(score)
        inputs += [cell.cell_contents.double() for cell in cells]
        blocks = mask and ours.create_block_mask(
            mask, 2, 2, QUERIES, KEYS, device="cpu"
        )
        weights = torch.randn(2, 2, QUERIES, DIM, **wide)
        direction = [torch.randn_like(x) for x in inputs]

        def run(tensors):
            q, k, v, *captures = tensors
            for cell, capture in zip(cells, captures):
                cell.cell_contents = capture
            out = ours.flex_attention(
                *(q, k, v, score, blocks),
                scale=shape.scale,
                kernel_options={"ATTN": {"opt_level": 0}},
            )
            return (out * weights).sum()

        def at(step):
            with torch.no_grad():
                return run([x + step * d for x, d in zip(inputs, direction)]).item()

        leaves = [x.clone().requires_grad_() for x in inputs]
        gradients = torch.autograd.grad(run(leaves), leaves, allow_unused=True)
        slope = sum(
            (g * d).sum().item() for g, d in zip(gradients, direction) if g is not None
        )
        near, far = at(STEP) - at(-STEP), at(2 * STEP) - at(-2 * STEP)
        difference = (8 * near - far) / (12 * STEP)
        return abs(slope - difference) / max(1, abs(slope)), slope

    def test_catalogue(self):
        from attn_bench import catalogue

        catalogue.add_gallery()
        torch.manual_seed(0)
        names = [name for name in catalogue.VARIANTS if name not in JUMPS][::EVERY]
        self.assertGreaterEqual(len(names), 40)
        for name in shards.sample(names):
            with self.subTest(name):
                error, slope = self.check(catalogue.VARIANTS[name])
                self.assertLess(error, BOUND)
                self.assertNotEqual(slope, 0)


if __name__ == "__main__":
    unittest.main()
