#!/usr/bin/env python3
"""Trains a small GPT on the text of this repository, byte by byte, with attn and with
other attentions side by side: the same model, start and batches.

  PYTHONPATH=python python3 benchmarks/gpt.py [--steps=N] [--svg=FILE]
      on a CPU: attn and PyTorch's own operations. Prints the losses, and fails
      where they are not the same up to rounding; --svg draws them.
  PYTHONPATH=python python3 benchmarks/gpt.py --gpu [--compile] [--length=N] [--json=FILE]
      on a GPU, a larger one in bf16: milliseconds of a step with attn, FlexAttention
      and SDPA, in less than 90 s. Only attention differs. FlexAttention is compiled;
      the rest of the model runs as it is, or with --compile, all of each model is
      compiled by torch.compile. A step has 16384 tokens.
"""

import argparse
import json
import math
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import flex_attention as flex

import attn.torch as ours
from attn.torch import _reference

ROOT = pathlib.Path(__file__).resolve().parents[1]


# Our kinds, with their kernel_options.
OURS = {"attn": None, "attn-any": {"ATTN": {"deterministic": False}}}


def causal(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx


class Attention:
    """One of the kinds of attention, causal and, with slopes, ALiBi. Gradients of
    "attn-any" are summed in any order, as those of PyTorch's operations are."""

    def __init__(self, kind, length, device):
        self.kind = kind
        if kind in OURS:
            self.mask = ours.create_block_mask(
                causal, None, None, length, length, device=device
            )
        elif kind == "flex":
            self.mask = flex.create_block_mask(
                causal, None, None, length, length, device=device
            )
            self.call = torch.compile(flex.flex_attention, dynamic=False)

    def __call__(self, q, k, v, slopes):
        def alibi(score, b, h, q_idx, kv_idx):
            return score + slopes[h] * (kv_idx - q_idx)

        score_mod = None if slopes is None else alibi
        if self.kind in OURS:
            return ours.flex_attention(
                q, k, v, score_mod, self.mask, kernel_options=OURS[self.kind]
            )
        if self.kind == "flex":
            return self.call(q, k, v, score_mod, self.mask)
        if self.kind == "sdpa":
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return _reference.attention(q, k, v, score_mod, causal, None)[0]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.rest = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)
        )

    def forward(self, x, attention, slopes):
        q, k, v = self.project(self.norms[0](x)).chunk(3, -1)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (q, k, v))
        x = x + self.out(attention(q, k, v, slopes).transpose(1, 2).flatten(2))
        return x + self.rest(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self, layers, dim, heads, length, alibi):
        super().__init__()
        self.tokens = nn.Embedding(256, dim)
        # ALiBi needs no positions.
        self.places = None if alibi else nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        slopes = torch.exp2(-8.0 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes if alibi else None)

    def forward(self, text, attention):
        x = self.tokens(text)
        if self.places is not None:
            x = x + self.places.weight[: text.shape[1]]
        for block in self.blocks:
            x = block(x, attention, self.slopes)
        return self.norm(x) @ self.tokens.weight.T


def read_text(device):
    paths = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    data = b"".join(path.read_bytes() for path in paths)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)


class Training:
    """A model with one kind of attention, which `step` trains."""

    def __init__(self, kind, text, sizes, alibi, rate):
        layers, dim, heads, self.length, self.batch = sizes
        torch.manual_seed(0)
        self.text = text
        self.is_cuda = text.is_cuda
        self.attention = Attention(kind, self.length, text.device)
        self.model = GPT(layers, dim, heads, self.length, alibi).to(text.device)
        for name, weights in self.model.named_parameters():
            if weights.dim() == 2:
                nn.init.normal_(weights, std=0.02)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate)
        # Of the CPU, so that batches are the same everywhere.
        self.random = torch.Generator().manual_seed(1)

    def step(self):
        first = torch.randint(
            len(self.text) - self.length - 1, (self.batch, 1), generator=self.random
        )
        at = (first + torch.arange(self.length + 1)).to(self.text.device)
        text = self.text[at].long()
        with torch.autocast("cuda", torch.bfloat16, enabled=self.is_cuda):
            scores = self.model(text[:, :-1], self.attention)
        loss = F.cross_entropy(scores.float().flatten(0, 1), text[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def draw(curves, path):
    """Curves of losses as SVG: those that come first are below."""
    width, height, left, bottom = 640, 320, 50, 40
    steps = max(map(len, curves.values()))
    most = max(map(max, curves.values()))

    def place(step, loss):
        x = left + (width - left - 10) * step / max(1, steps - 1)
        return f"{x:.1f},{10 + (height - bottom - 10) * (1 - loss / most):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for loss in range(math.floor(most) + 1):
        a, b = place(0, loss), place(steps - 1, loss)
        lines.append(f'<polyline points="{a} {b}" stroke="#ddd"/>')
        lines.append(
            f'<text x="{left - 8}" y="{a.split(",")[1]}" text-anchor="end">{loss}</text>'
        )
    styles = [("#9ecae1", 5), ("#08519c", 1.5)]
    for n, ((name, losses), (color, thick)) in enumerate(zip(curves.items(), styles)):
        points = " ".join(place(step, loss) for step, loss in enumerate(losses))
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{color}"'
            f' stroke-width="{thick}"/>'
        )
        y = 30 + 18 * n
        lines.append(
            f'<path d="M{width - 190} {y - 4} h30" stroke="{color}" stroke-width="{thick}"/>'
        )
        lines.append(f'<text x="{width - 150}" y="{y}">{name}</text>')
    lines.append(
        f'<text x="{width // 2}" y="{height - 10}" text-anchor="middle">step of {steps};'
        " loss in nats for a byte</text></svg>"
    )
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def compare(steps, svg):
    """Losses of attn and of PyTorch's operations; whether they are the same."""
    text = read_text("cpu")
    curves = {}
    for kind, name in ("eager", "PyTorch's operations"), ("attn", "attn"):
        training = Training(kind, text, (2, 64, 4, 128, 8), True, 3e-3)
        start = time.perf_counter()
        curves[name] = [training.step().item() for _ in range(steps)]
        took = time.perf_counter() - start
        print(
            f"{name}: loss {curves[name][0]:.4f} to {curves[name][-1]:.4f},"
            f" {took / steps * 1e3:.1f} ms a step"
        )
    if svg:
        draw(curves, svg)
    apart = max(abs(a - b) for a, b in zip(*curves.values()))
    print(f"losses differ by {apart:.1e} at most")
    # Rounding grows with each step.
    return apart < 1e-4 * 1.02**steps and curves["attn"][-1] < curves["attn"][0]


def measure(length, compiles, path):
    """Milliseconds of a step on a GPU, by variant and kind of attention."""
    if not torch.cuda.is_available():
        sys.exit("gpt: expects a GPU, but there is none")
    text, found = read_text("cuda"), {}
    sizes = 6, 1024, 16, length, max(1, 16384 // length)
    for variant, others in ("causal", ("flex", "sdpa")), ("ALiBi", ("flex",)):
        kinds = (*OURS, *others)
        runs = {
            kind: Training(kind, text, sizes, variant == "ALiBi", 3e-4) for kind in kinds
        }
        times = {kind: [] for kind in kinds}
        for training in runs.values():
            if compiles:
                training.model = torch.compile(training.model, dynamic=False)
            for _ in range(3):
                training.step()
        for _ in range(15):
            # In turn, so that a slower clock is slower for all.
            for kind, training in runs.items():
                events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                events[0].record()
                training.step()
                events[1].record()
                torch.cuda.synchronize()
                times[kind].append(events[0].elapsed_time(events[1]))
        found[variant] = {kind: sorted(x)[len(x) // 2] for kind, x in times.items()}
        losses = {kind: training.step().item() for kind, training in runs.items()}
        for kind, ms in found[variant].items():
            print(
                f"{variant:7} {kind:8} {ms:8.2f} ms a step, {ms / found[variant]['attn']:.2f}"
                f" times attn; loss {losses[kind]:.3f}"
            )
        del runs
        torch.cuda.empty_cache()
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}: {sizes[0]} layers,"
        f" dim {sizes[1]}, {sizes[2]} heads, length {sizes[3]}, batch {sizes[4]}, bf16"
        + ", compiled" * compiles
    )
    if path:
        pathlib.Path(path).write_text(json.dumps(found, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    if args.gpu:
        measure(args.length, args.compile, args.json)
    elif not compare(args.steps, args.svg):
        sys.exit("gpt: losses are not the same, or did not fall")


if __name__ == "__main__":
    main()
