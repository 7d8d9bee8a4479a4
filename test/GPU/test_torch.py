"""attn.torch on a GPU: results, gradients, streams, graphs and torch.compile."""

import pytest

torch = pytest.importorskip("torch")

import attn  # noqa: E402
import attn.torch as ours  # noqa: E402

pytestmark = pytest.mark.cuda_only


def _causal(b, h, i, j):
    return j <= i


def _qkv(seed, dtype, heads=4, kv_heads=2, lengths=(300, 333), dim=64, grad=False):
    torch.manual_seed(seed)
    shapes = (2, heads, lengths[0], dim), *[(2, kv_heads, lengths[1], dim)] * 2
    return [
        torch.randn(shape, device="cuda").to(dtype).requires_grad_(grad)
        for shape in shapes
    ]


def _eager(q, k, v, score_mod=None, mask_mod=None, wide=None):
    """The output and the log-sum-exp by PyTorch's operations, in `wide`, or with
    scores and probabilities in the dtype of q."""
    dtype = wide or q.dtype
    group = q.size(1) // k.size(1)
    q, k, v = (x.to(dtype) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    s = (q @ k.transpose(-1, -2)) * q.size(-1) ** -0.5
    if wide is None:
        s = s.float()
    index = [torch.arange(n, device="cuda") for n in s.shape]
    index = torch.meshgrid(*index, indexing="ij")
    if score_mod is not None:
        s = score_mod(s, *index)
    if mask_mod is not None:
        s = s.masked_fill(~mask_mod(*index), -torch.inf)
    empty = (s == -torch.inf).all(-1, keepdim=True)
    p = s.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return p.to(dtype) @ v, s.logsumexp(-1)


def _assert_rule(got, exact, rounded):
    """That of docs/numerics.md, with a floor for what eager code has exact."""
    finite = exact.isfinite()
    assert torch.equal(finite, got.isfinite())
    wrong, theirs = ((x.double() - exact)[finite].abs() for x in (got, rounded))
    floor = torch.finfo(torch.float32).eps * exact[finite].abs().mean()
    assert wrong.mean() <= 1.1 * theirs.mean() + floor
    assert wrong.max() <= 2 * theirs.max() + 16 * floor


def _variants():
    documents = torch.arange(400, device="cuda") // 97
    # Those of ALiBi for four heads. Steeper ones leave a query few keys, where
    # docs/numerics.md allows gradients more.
    slopes = 2.0 ** (-2 * torch.arange(1, 5, device="cuda"))
    window, cap = 90, 20.0
    return {
        "plain": (None, None),
        "causal": (None, _causal),
        "alibi": (lambda s, b, h, i, j: s + slopes[h] * (j - i), _causal),
        "softcap window": (
            lambda s, b, h, i, j: cap * torch.tanh(s / cap),
            lambda b, h, i, j: (i - j).abs() < window,
        ),
        "documents": (None, lambda b, h, i, j: documents[i] == documents[j]),
        "rows without a key": (None, lambda b, h, i, j: j < i - 20),
    }


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", list(_variants()) if torch.cuda.is_available() else [])
def test_results_and_gradients(seed, name, dtype):
    score_mod, mask_mod = _variants()[name]
    tensors = _qkv(seed, dtype, grad=True)
    mask = mask_mod and ours.create_block_mask(mask_mod, None, None, 300, 333)
    out, aux = ours.flex_attention(
        *tensors,
        score_mod,
        mask,
        enable_gqa=True,
        return_aux=ours.AuxRequest(lse=True),
    )
    wide = [x.detach().double().requires_grad_() for x in tensors]
    exact = _eager(*wide, score_mod, mask_mod, torch.float64)
    rounded = _eager(*tensors, score_mod, mask_mod)
    _assert_rule(out, exact[0], rounded[0])
    _assert_rule(aux.lse, exact[1], rounded[1])
    weight = torch.randn_like(out)
    got, theirs = (
        torch.autograd.grad((o * weight).sum(), tensors) for o in (out, rounded[0])
    )
    exact = torch.autograd.grad((exact[0] * weight).sum(), wide)
    for a, b, c in zip(got, exact, theirs):
        _assert_rule(a, b, c)


@pytest.mark.parametrize("dtype, dim", [(torch.float32, 64), (torch.bfloat16, 320)])
@pytest.mark.parametrize("name", ["alibi", "softcap window", "rows without a key"])
def test_gradients_without_tiles(seed, name, dtype, dim):
    score_mod, mask_mod = _variants()[name]
    tensors = _qkv(seed, dtype, dim=dim, grad=True)
    mask = ours.create_block_mask(mask_mod, None, None, 300, 333)
    out = ours.flex_attention(*tensors, score_mod, mask, enable_gqa=True)
    wide = [x.detach().double().requires_grad_() for x in tensors]
    exact = _eager(*wide, score_mod, mask_mod, torch.float64)[0]
    weight = torch.randn_like(out)
    got = torch.autograd.grad((out * weight).sum(), tensors)
    expected = torch.autograd.grad((exact * weight).sum(), wide)
    near = 1e-4 if dtype == torch.float32 else 2e-2
    for x, y in zip(got, expected):
        torch.testing.assert_close(x.double(), y, rtol=near, atol=near)


def test_gradients_of_a_table_without_tiles(seed):
    tensors = _qkv(seed, torch.float32, lengths=(100, 120), grad=True)
    tensors.append(torch.randn(4, 32, device="cuda", requires_grad=True))

    def call(attention, q, k, v, table):
        def score_mod(s, b, h, i, j):
            return s + table[h, torch.clamp(i - j + 16, 0, 31)]

        return attention(q, k, v, score_mod)

    out = call(lambda *x: ours.flex_attention(*x, enable_gqa=True), *tensors)
    wide = [x.detach().double().requires_grad_() for x in tensors]
    exact = call(lambda *x: _eager(*x, wide=torch.float64)[0], *wide)
    weight = torch.randn_like(out)
    got = torch.autograd.grad((out * weight).sum(), tensors)
    expected = torch.autograd.grad((exact * weight).sum(), wide)
    for x, y in zip(got, expected):
        torch.testing.assert_close(x.double(), y, rtol=1e-4, atol=1e-4)


def test_lists_of_blocks(seed):
    """A BlockMask of PyTorch counts by its lists."""
    from torch.nn.attention.flex_attention import create_block_mask

    q, k, v = _qkv(seed, torch.bfloat16, lengths=(300, 300))

    def window(b, h, i, j):
        return (i - j).abs() < 50 + 20 * h

    for mask_mod in (_causal, window):
        mask = create_block_mask(mask_mod, 2, 4, 300, 300, device="cuda")
        out = ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        exact = _eager(q, k, v, None, mask_mod, torch.float64)[0]
        _assert_rule(out, exact, _eager(q, k, v, None, mask_mod)[0])


def test_other_layouts_and_types(seed):
    packed = torch.randn(2, 200, 3, 4, 64, device="cuda", dtype=torch.bfloat16)
    q, k, v = packed.permute(2, 0, 3, 1, 4)
    out = ours.flex_attention(q, k, v)
    assert out.stride() == torch.empty(2, 200, 4, 64).transpose(1, 2).stride()
    _assert_rule(out, _eager(q, k, v, wide=torch.float64)[0], _eager(q, k, v)[0])
    q, k, v = (x.float() for x in (q, k, v))
    out = ours.flex_attention(q, k, v)
    torch.testing.assert_close(out, _eager(q, k, v)[0], rtol=1e-2, atol=1e-2)


def test_numbers_and_tensors_without_dimensions(seed):
    q, k, v = _qkv(seed, torch.bfloat16)
    number = torch.tensor(0.5, device="cuda")
    for factor in (number, number.cpu(), 0.5):
        out = ours.flex_attention(
            q, k, v, lambda s, b, h, i, j: s * factor, enable_gqa=True
        )
        exact = _eager(q, k, v, lambda s, b, h, i, j: s * 0.5, wide=torch.float64)[0]
        rounded = _eager(q, k, v, lambda s, b, h, i, j: s * 0.5)[0]
        _assert_rule(out, exact, rounded)


def test_other_names(seed):
    q, k, v = _qkv(seed, torch.bfloat16, 4, 4, (256, 256))
    reference = torch.nn.functional.scaled_dot_product_attention
    for options in ({}, {"is_causal": True}):
        torch.testing.assert_close(
            ours.sdpa(q, k, v, **options),
            reference(q, k, v, **options),
            rtol=0.02,
            atol=0.01,
        )
    ends = torch.tensor([0, 100, 256], device="cuda")
    packed = [x[0].transpose(0, 1) for x in (q, k, v)]
    out = ours.varlen(*packed, ends, ends, window_size=(-1, 0))
    for start, end in ((0, 100), (100, 256)):
        part = [x[start:end].transpose(0, 1)[None] for x in packed]
        torch.testing.assert_close(
            out[start:end].transpose(0, 1)[None],
            reference(*part, is_causal=True),
            rtol=0.02,
            atol=0.01,
        )


def test_streams_and_graphs(seed):
    q, k, v = _qkv(seed, torch.bfloat16)
    variant = ours.Variant(
        lambda s, b, h, i, j, slopes, left: s + slopes[h] * (j - i),
        lambda b, h, i, j, slopes, left: (i - j).abs() < left,
    )
    # Those of ALiBi for four heads. Steeper ones leave a query few keys, where
    # docs/numerics.md allows gradients more.
    slopes = 2.0 ** (-2 * torch.arange(1, 5, device="cuda"))
    expected = variant(q, k, v, slopes, 70)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = variant(q, k, v, slopes, 70)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(out, expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = variant(q, k, v, slopes, 70)
        with pytest.raises(NotImplementedError, match="a CUDA graph is captured"):
            ours.Variant(lambda s, b, h, i, j: s * 3.25)(q, k, v)
    for _ in range(20):
        out.fill_(torch.nan)
        graph.replay()
        assert torch.equal(out, expected)
    slopes.zero_()
    graph.replay()
    assert torch.equal(out, variant(q, k, v, slopes, 70))


@pytest.mark.parametrize("evaluates", [False, True])
def test_masks_that_layers_share(seed, evaluates):
    q, k, v = _qkv(seed, torch.bfloat16, lengths=(300, 300), grad=True)
    documents = torch.arange(300, device="cuda") // 70
    sees = torch.rand(5, 5, device="cuda") < 0.4

    def mask_mod(b, h, i, j):
        if evaluates:
            return sees[documents[i], documents[j]]
        return documents[i] == documents[j]

    def call(block_mask, query=q):
        out = ours.flex_attention(
            query, k, v, block_mask=block_mask, enable_gqa=True
        )
        grads = torch.autograd.grad(out.float().square().sum(), (query, k, v))
        return out.detach(), *grads

    mask = ours.create_block_mask(mask_mod, None, None, 300, 300)
    other = (q.detach() * 2).requires_grad_()
    expected = call(mask), call(mask, other)
    mask.prepare()
    for _ in range(2):
        for query, results in zip((q, other), expected):
            assert all(map(torch.equal, call(mask, query), results))
    # On another stream, and in a graph.
    with torch.no_grad():
        out = ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            out = ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        torch.cuda.current_stream().wait_stream(stream)
        assert torch.equal(out, expected[0][0])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        out.fill_(torch.nan)
        graph.replay()
        assert torch.equal(out, expected[0][0])
    documents.fill_(0)
    mask.prepare()
    found = call(mask)
    plain = call(ours.create_block_mask(mask_mod, None, None, 300, 300))
    assert all(map(torch.equal, found, plain))


def test_compiled(seed):
    tensors = _qkv(seed, torch.bfloat16, grad=True)
    # Those of ALiBi for four heads. Steeper ones leave a query few keys, where
    # docs/numerics.md allows gradients more.
    slopes = 2.0 ** (-2 * torch.arange(1, 5, device="cuda"))

    def model(q, k, v):
        def score_mod(s, b, h, i, j):
            return s + slopes[h] * (j - i)

        mask = ours.create_block_mask(_causal, None, None, q.size(2), k.size(2))
        return ours.flex_attention(q, k, v, score_mod, mask, enable_gqa=True).sin()

    results = [
        (out, *torch.autograd.grad(out.sum(), tensors))
        for out in (torch.compile(model, fullgraph=True)(*tensors), model(*tensors))
    ]
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=0.02, atol=0.02)


def test_gradients_of_captures(seed):
    q, k, v = _qkv(seed, torch.bfloat16)
    bias = torch.zeros(4, device="cuda", requires_grad=True)
    out = ours.flex_attention(
        q, k, v, lambda s, b, h, i, j: s + bias[h], enable_gqa=True
    )
    out.float().square().sum().backward()
    wide = [x.double() for x in (q, k, v)]
    learned = bias.detach().double().requires_grad_()
    exact = _eager(*wide, lambda s, b, h, i, j: s + learned[h], None, torch.float64)[0]
    exact.square().sum().backward()
    torch.testing.assert_close(bias.grad.double(), learned.grad, rtol=0.1, atol=0.5)


def _by_sdpa(tensors, **named):
    """The output and gradients of PyTorch's name, by flash attention."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(
            *tensors, is_causal=True, enable_gqa=True, **named
        )
        return out, *torch.autograd.grad(out.float().square().sum(), tensors)


def _counted(monkeypatch):
    """Names of what is called of our kernels from now on."""
    from attn.torch import _kernels

    calls = []
    for name in "run", "run_gradient":

        def call(*arguments, _name=name, _run=getattr(_kernels.Kernels, name)):
            calls.append(_name)
            return _run(*arguments)

        monkeypatch.setattr(_kernels.Kernels, name, call)
    return calls


def _assert_near(found, expected):
    for a, b, error in zip(found, expected, (0.01, 0.06, 0.06, 0.06)):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=0.02, atol=error)


@pytest.mark.skipif(
    not hasattr(torch.nn.attention, "activate_flash_attention_impl"),
    reason="needs PyTorch 2.10",
)
@pytest.mark.filterwarnings("ignore")
def test_as_flash_attention(seed, monkeypatch):
    from torch.nn import attention

    tensors = _qkv(seed, torch.bfloat16, lengths=(300, 300), grad=True)
    expected = _by_sdpa(tensors)
    calls = _counted(monkeypatch)
    attention.activate_flash_attention_impl("attn")
    try:
        found = _by_sdpa(tensors)
        assert calls == ["run", "run_gradient"]
        with pytest.raises(attn.Unsupported, match="dropout_p"):
            _by_sdpa(tensors, dropout_p=0.5)
    finally:
        attention.restore_flash_attention_impl()
    _assert_near(found, expected)
    _by_sdpa(tensors)
    assert calls == ["run", "run_gradient"]


def test_use(seed, monkeypatch):
    tensors = _qkv(seed, torch.bfloat16, lengths=(300, 300), grad=True)
    expected = _by_sdpa(tensors)
    calls = _counted(monkeypatch)
    with ours.use():
        found = _by_sdpa(tensors)
        assert calls == ["run", "run_gradient"]
        # Gradients of float32 are PyTorch's own.
        wide = [x.detach().float().requires_grad_() for x in tensors]
        with pytest.warns(UserWarning, match="16 bits alone"):
            out = torch.nn.functional.scaled_dot_product_attention(
                *wide, is_causal=True, enable_gqa=True
            )
        out.sum().backward()
    assert calls == ["run", "run_gradient"]
    _assert_near(found, expected)
