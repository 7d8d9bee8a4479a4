"""Tensors on several GPUs of one host, of which the second one is not current."""

import pytest

torch = pytest.importorskip("torch")

import attn.torch as ours  # noqa: E402

pytestmark = [
    pytest.mark.cuda_only,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.device_count() < 2,
        reason="needs two GPUs",
    ),
]

DEVICES = ["cuda:0", "cuda:1"]


def _inputs(seed, device):
    torch.manual_seed(seed)
    q, k, v = (torch.randn(2, heads, 300, 64) for heads in (4, 2, 2))
    documents, slopes = torch.arange(300) // 97, torch.rand(4)
    qkv = [x.bfloat16().to(device).requires_grad_() for x in (q, k, v)]
    return *qkv, documents.to(device), slopes.to(device).requires_grad_()


def _functions(documents, slopes):
    """A mask that kernels in front look at, and a score with a gradient."""
    return (
        lambda s, b, h, i, j: s + slopes[h] * (j - i),
        lambda b, h, i, j: (documents[i] == documents[j]) & (j <= i),
    )


def _run(seed, device):
    q, k, v, documents, slopes = _inputs(seed, device)
    score, mask = _functions(documents, slopes)
    blocks = ours.create_block_mask(mask, None, None, 300, 300, device=device)
    o = ours.flex_attention(q, k, v, score, blocks, enable_gqa=True)
    o.backward(o.detach() + 1)
    return [o.detach(), *(x.grad for x in (q, k, v, slopes))]


def test_same_bits_on_each(seed):
    results = [_run(seed, device) for device in DEVICES * 2]
    assert torch.cuda.current_device() == 0
    for device, result in zip(DEVICES * 2, results):
        for x, first in zip(result, results[0]):
            assert x.device == torch.device(device)
            assert torch.equal(x.cpu(), first.cpu())


def test_streams_of_each(seed):
    """Both compute at a time, each on a stream of its own."""
    expected = [x.cpu() for x in _run(seed, DEVICES[0])]
    streams = [torch.cuda.Stream(device) for device in DEVICES]
    results = []
    for _ in range(5):
        for device, stream in zip(DEVICES, streams):
            with torch.cuda.stream(stream):
                results.append(_run(seed, device))
    for stream in streams:
        stream.synchronize()
    for result in results:
        assert all(torch.equal(x.cpu(), y) for x, y in zip(result, expected))


def test_graph_on_the_second(seed):
    device = DEVICES[1]
    q, k, v, documents, slopes = _inputs(seed, device)
    score, mask = _functions(documents, slopes.detach())
    blocks = ours.create_block_mask(mask, None, None, 300, 300, device=device)

    def call():
        with torch.no_grad():
            return ours.flex_attention(q, k, v, score, blocks, enable_gqa=True)

    expected = call()
    with torch.cuda.device(device):
        graph = torch.cuda.CUDAGraph()
        # PyTorch's own stream for captures is of the first GPU that had one.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream(device)):
            o = call()
        o.zero_()
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
    assert torch.equal(o, expected)


def test_masks_that_layers_share(seed):
    """What a mask has found out on one GPU is not for the other."""
    results = []
    for device in DEVICES:
        q, k, v, documents, slopes = _inputs(seed, device)
        score, mask = _functions(documents, slopes.detach())
        blocks = ours.create_block_mask(mask, None, None, 300, 300, device=device)
        shared = blocks.prepare()
        with torch.no_grad():
            for _ in range(2):
                results.append(
                    ours.flex_attention(q, k, v, score, shared, enable_gqa=True).cpu()
                )
    assert all(torch.equal(x, results[0]) for x in results)


def test_on_both_is_an_error(seed):
    q, k, v, *_ = _inputs(seed, DEVICES[0])
    with pytest.raises(ValueError, match="cuda:1"):
        ours.flex_attention(q, k.detach().to(DEVICES[1]), v, enable_gqa=True)
    _, _, _, documents, slopes = _inputs(seed, DEVICES[1])
    score, _ = _functions(documents, slopes.detach())
    with pytest.raises(ValueError, match="cuda:1"):
        ours.flex_attention(q, k, v, score, enable_gqa=True)
