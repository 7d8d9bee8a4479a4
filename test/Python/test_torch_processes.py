# RUN: %python %s
"""attn.torch in threads, forks and ranks that talk to each other, and with
tensors that are too large for what is done carelessly."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import torch.distributed as distributed

    import attn
    from flex import flex_attention, qkv

# The memory of a call without torch.compile, beyond what there was before.
LONG = """
import resource, torch
from flex import flex_attention
from attn.torch import create_block_mask
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def near(b, h, i, j):
    return (j <= i) & (i - j < 64)
def call(length):
    # Without pages that are not there yet.
    q, k, v = (torch.randn(1, 2, length, 64) for _ in range(3))
    inputs = peak()
    mask = create_block_mask(near, None, None, length, length, device="cpu")
    o = flex_attention(q, k, v, lambda s, b, h, i, j: s + (j - i) * 0.01, mask)
    return o.nbytes, peak() - inputs, q.nbytes * 3
call(64)
print(*call(1 << 17))
"""

# A step of a compiled model, and what was compiled for it.
STEP = """
import json, torch
import attn.torch as ours
from torch._dynamo.utils import counters
def model(x, table):
    length = x.shape[2]
    mask = ours.create_block_mask(lambda b, h, i, j: j <= i, None, None, length, length, "cpu")
    score_mod = lambda s, b, h, i, j: s + table[i - j]
    # Gradients of x are summed by a kernel of Inductor.
    return ours.flex_attention(x, x, x, score_mod, mask, kernel_options={"ATTN": {"opt_level": 0}})
torch.manual_seed(0)
x = torch.randn(1, 2, 20, 8, requires_grad=True)
table = torch.randn(20, requires_grad=True)
o = torch.compile(model, fullgraph=True)(x, table)
o.sum().backward()
print(counters["inductor"]["fxgraph_cache_miss"], counters["aot_autograd"]["autograd_cache_miss"],
      *[float(t.double().sum()).hex() for t in (o, x.grad, table.grad)])
"""

# A layer of attention with a learned bias, whose loss is summed over ranks: gradients
# by kind. The first rank has those of all inputs as well.
RANK = """
import os, sys, torch
import torch.distributed as distributed
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from flex import flex_attention

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.project = torch.nn.Linear(16, 48)
        self.bias = torch.nn.Parameter(torch.randn(2, 20))

    def forward(self, x):
        q, k, v = self.project(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        score = lambda s, b, h, i, j: s + self.bias[h, i - j + 10]
        return flex_attention(q, k, v, score).square().mean()

rank, store, file = int(sys.argv[1]), *sys.argv[2:]
torch.manual_seed(1)
x = torch.randn(4, 10, 16)
found = {}
if rank == 0:
    model = Layer()
    model(x).backward()
    found["whole"] = [p.grad for p in model.parameters()]
distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
for kind, wrap in ("ddp", DistributedDataParallel), ("fsdp", fully_shard):
    model = Layer()
    wrapped = wrap(model)
    wrapped(x[2 * rank : 2 * rank + 2]).backward()
    grads = [p.grad for p in model.parameters()]
    found[kind] = [g.full_tensor() for g in grads] if kind == "fsdp" else grads
torch.save(found, file)
distributed.destroy_process_group()
# Threads of Gloo may still hold tensors, and abort a process whose Python ends
# meanwhile (github.com/pytorch/pytorch/pull/179291).
os._exit(0)
"""


@unittest.skipIf(torch is None, "needs PyTorch")
class Processes(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_imports(self):
        code = "import sys, attn.torch; print('torch._dynamo' in sys.modules)"
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
        )
        self.assertEqual((run.returncode, run.stdout), (0, "False\n"), run.stderr)

    def test_long_sequences(self):
        """No scores, and no masks of all pairs: 128k tokens."""
        run = subprocess.run(
            [sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True, check=True
        )
        output, grown, inputs = map(int, run.stdout.split())
        self.assertLess(inputs + grown, 1.1 * (inputs + output))

    def test_warm_caches(self):
        """A second process compiles nothing, and its results have the same bits."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "ATTN_LOG": "cache",
                "ATTN_CACHE_DIR": os.path.join(folder, "attn"),
                "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "torch"),
            }

            def run():
                command = [sys.executable, "-W", "ignore", "-c", STEP]
                found = subprocess.run(
                    command, capture_output=True, text=True, env=environment, check=False
                )
                self.assertEqual(found.returncode, 0, found.stderr)
                return found.stdout.split(), found.stderr

            cold, log = run()
            self.assertRegex(log, "attn: cache: miss ")
            self.assertNotEqual(cold[:2], ["0", "0"])
            warm, log = run()
            self.assertRegex(log, "attn: cache: hit ")
            self.assertNotRegex(log, "attn: cache: miss ")
            self.assertEqual(warm, ["0", "0", *cold[2:]])

    def test_more_elements_than_32_bits_count(self):
        file = tempfile.NamedTemporaryFile(dir=self.folder)
        count, width = (1 << 31) + (1 << 17), 1 << 16
        # A file with holes, of which few pages are read.
        file.truncate(count)
        whole = torch.from_file(file.name, shared=True, size=count, dtype=torch.int8)
        table = whole.view(-1, width)
        table[-4:, :8] = torch.arange(32, dtype=torch.int8).view(4, 8)
        bias = table[-4:, :8].double()
        q, k, v = qkv((1, 2, 4, 8), (1, 2, 8))
        wanted = flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[i, j])
        first = table.shape[0] - 4
        for score_mod in (
            lambda s, b, h, i, j: s + table[i + first, j],
            lambda s, b, h, i, j: s + table[i - 4][j],
            lambda s, b, h, i, j: s + whole[(i + first) * width + j],
        ):
            self.assertTrue(torch.equal(flex_attention(q, k, v, score_mod), wanted))

    def test_threads(self):
        """Of the same and of other functions, with gradients, at once."""
        attn.clear_cache()
        tensors = qkv((2, 2, 33, 8), grad=True)
        table = torch.randn(2, 33, dtype=torch.float64)
        functions = [
            None,
            lambda s, b, h, i, j: s + table[h, j],
            lambda s, b, h, i, j: s * table[h, i],
            lambda s, b, h, i, j: s + table[h, i] * j,
        ]

        def call(n):
            o = flex_attention(*tensors, functions[n % len(functions)])
            return torch.autograd.grad(o.sin().sum(), tensors)

        wanted = [call(n) for n in range(len(functions))]
        attn.clear_cache()
        found, barrier = {}, threading.Barrier(8)

        def run(n):
            barrier.wait()
            found[n] = [call(n) for _ in range(3)]

        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), list(range(8)))
        for n, calls in found.items():
            for grads in calls:
                for a, b in zip(grads, wanted[n % len(functions)]):
                    self.assertTrue(torch.equal(a, b))

    def test_fork(self):
        """A process that was forked runs kernels, old and new ones."""
        q, k, v = qkv((2, 2, 33, 8))
        wanted = flex_attention(q, k, v), flex_attention(q, k, v, scale=0.25)
        attn.clear_cache()
        flex_attention(q, k, v)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                # PyTorch's own threads do not outlive a fork.
                found = flex_attention(q, k, v), flex_attention(q, k, v, scale=0.25)
                code = not all(map(torch.equal, found, wanted))
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    @unittest.skipUnless(
        torch is not None and distributed.is_available() and distributed.is_gloo_available(),
        "needs gloo",
    )
    def test_ranks(self):
        """DDP and FSDP: gradients are those of one process."""
        store = os.path.join(self.folder, "store")
        files = [os.path.join(self.folder, str(n)) for n in range(2)]
        processes = [
            subprocess.Popen([sys.executable, "-c", RANK, str(n), store, file])
            for n, file in enumerate(files)
        ]
        for process in processes:
            self.addCleanup(process.kill)
        self.assertEqual([p.wait(timeout=120) for p in processes], [0, 0])
        ranks = [torch.load(file) for file in files]
        wanted = ranks[0].pop("whole")
        for found in ranks:
            self.assertEqual(list(found), ["ddp", "fsdp"])
            for grads in found.values():
                for a, b in zip(grads, wanted, strict=True):
                    torch.testing.assert_close(a, b)


if __name__ == "__main__":
    unittest.main()
