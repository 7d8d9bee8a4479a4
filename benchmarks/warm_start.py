#!/usr/bin/env python3
"""Times the first step, forward and backward, of a compiled model in a fresh process:
one that finds PyTorch's and attn's caches empty, and others that find them as the first
has left them; and of the same model with PyTorch's own attention. Prints seconds, and of
these those that the process itself computes. Imports are not part of it.

On a CPU, PyTorch asks in each process by another one which vector instructions there are,
which takes longer than all else; here it is told that they are there.

  PYTHONPATH=python python3 benchmarks/warm_start.py [--rounds=N]
"""

import argparse
import os
import subprocess
import sys
import tempfile

from attn_bench.options import positive

CHILD = """
import sys, time, torch
import attn.torch as ours
import torch._inductor.compile_fx

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(64, 192)
        self.slopes = torch.nn.Parameter(torch.rand(4))
    def forward(self, x):
        q, k, v = self.project(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        mask = ours.create_block_mask(
            lambda b, h, i, j: j <= i, None, None, x.shape[1], x.shape[1], device=x.device)
        if sys.argv[1] == "attn":
            score_mod = lambda s, b, h, i, j: s + self.slopes[h] * (j - i)
            o = ours.flex_attention(q, k, v, score_mod, mask)
        else:
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            o = o * self.slopes.sum()
        return x + o.transpose(1, 2).flatten(2)

device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = torch.bfloat16 if device == "cuda" else torch.float32
model = torch.nn.Sequential(Layer(), Layer()).to(device, dtype)
x = torch.randn(2, 128, 64, device=device, dtype=dtype)
(x @ x.mT).sum().item()
start, computed = time.perf_counter(), time.process_time()
torch.compile(model, fullgraph=True)(x).square().mean().backward()
next(model.parameters()).grad.sum().item()
took, computed = time.perf_counter() - start, time.process_time() - computed
print(f"{took:.2f} ({computed:.2f})")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "ATTN_CACHE_DIR": os.path.join(folder, "attn"),
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "torch"),
            "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
            "TORCHINDUCTOR_VEC_ISA_OK": "1",
        }

        def step(kind):
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", CHILD, kind],
                capture_output=True,
                text=True,
                env=environment,
            )
            if run.returncode != 0:
                sys.exit(f"warm_start: error: {run.stderr.strip().splitlines()[-1]}")
            return run.stdout.strip()

        kinds = "attn", "sdpa"
        print("empty caches ", *[f"{kind} {step(kind):14}" for kind in kinds])
        for _ in range(rounds):
            print("warm caches  ", *[f"{kind} {step(kind):14}" for kind in kinds])


if __name__ == "__main__":
    main()
