"""The variants of docs/gallery.md. Each function takes the length `n`, the number
of heads and the device, and returns a score function and a mask function; the page
shows its text. scripts/gallery runs them."""

import torch

VARIANTS = []


def variant(title, maths):
    """Adds a function to the gallery; `maths` is what it says, in TeX."""

    def add(function):
        VARIANTS.append((title, maths, function))
        return function

    return add


@variant("Causal", r"j \le i")
def causal(n, heads, device):
    """Decoders: a token sees itself and what comes before."""

    def mask_mod(b, h, i, j):
        return j <= i

    return None, mask_mod


@variant("Causal without itself", r"j < i")
def strictly_causal(n, heads, device):
    """A token sees what comes before. The first row has no key, and its output is 0."""

    def mask_mod(b, h, i, j):
        return j < i

    return None, mask_mod


@variant("Sliding window", r"0 \le i - j < w")
def sliding_window(n, heads, device):
    """Mistral, and every other layer of Gemma."""
    window = n // 8

    def mask_mod(b, h, i, j):
        return (j <= i) & (i - j < window)

    return None, mask_mod


@variant("Local", r"|i - j| \le w")
def local(n, heads, device):
    """Encoders: a window to both sides."""
    window = n // 16

    def mask_mod(b, h, i, j):
        return (i - j).abs() <= window

    return None, mask_mod


@variant("Dilated window", r"|i - j| \le w \;\wedge\; (i - j) \bmod d = 0")
def dilated(n, heads, device):
    """Each fourth token of a window. Tiles are masked, but none is skipped inside it."""
    window, step = n // 4, 4

    def mask_mod(b, h, i, j):
        return ((i - j).abs() <= window) & ((i - j) % step == 0)

    return None, mask_mod


@variant("Windows of several sizes", r"0 \le i - j < w_h")
def windows_by_head(n, heads, device):
    """Each head has a window of its own. The picture is of the last head."""
    windows = n // 2 ** (1 + torch.arange(heads, device=device) % 4)

    def mask_mod(b, h, i, j):
        return (j <= i) & (i - j < windows[h])

    return None, mask_mod


@variant("Window and sinks", r"j \le i \;\wedge\; (i - j < w \;\vee\; j < s)")
def sinks(n, heads, device):
    """StreamingLLM: the first tokens stay in sight."""
    window, first = n // 8, 4

    def mask_mod(b, h, i, j):
        return (j <= i) & ((i - j < window) | (j < first))

    return None, mask_mod


@variant("Chunks", r"j \le i \;\wedge\; \lfloor i / c \rfloor = \lfloor j / c \rfloor")
def chunks(n, heads, device):
    """Llama 4: causal within chunks of the sequence."""
    size = n // 4

    def mask_mod(b, h, i, j):
        return (j <= i) & (i // size == j // size)

    return None, mask_mod


@variant("Prefix", r"j \le i \;\vee\; j < p")
def prefix(n, heads, device):
    """Prefix-LM: all see the prompt, and the rest is causal."""
    length = n // 3

    def mask_mod(b, h, i, j):
        return (j <= i) | (j < length)

    return None, mask_mod


@variant("Documents", r"d_i = d_j \;\wedge\; j \le i")
def documents(n, heads, device):
    """Packed sequences, each one causal. A number for each token tells its document."""
    ends = torch.tensor([0.2, 0.25, 0.6, 1.0]) * n
    document = torch.bucketize(torch.arange(n), ends, right=True).to(device)

    def mask_mod(b, h, i, j):
        return (document[i] == document[j]) & (j <= i)

    return None, mask_mod


@variant("Padding", r"j < \ell_b")
def padding(n, heads, device):
    """Sequences of a batch, here of 2, have lengths of their own. The picture is of the
    first."""
    lengths = torch.tensor([n * 5 // 8, n], device=device)

    def mask_mod(b, h, i, j):
        return j < lengths[b]

    return None, mask_mod


@variant("Global tokens", r"|i - j| \le w \;\vee\; i < g \;\vee\; j < g")
def global_tokens(n, heads, device):
    """Longformer: a window, and some tokens that see all and that all see."""
    window, count = n // 16, n // 32

    def mask_mod(b, h, i, j):
        return ((i - j).abs() <= window) | (i < count) | (j < count)

    return None, mask_mod


@variant("BigBird", r"R_{\lfloor i/s \rfloor \lfloor j/s \rfloor} \;\vee\; |\lfloor i/s \rfloor - \lfloor j/s \rfloor| \le 1 \;\vee\; i, j < s")
def big_bird(n, heads, device):
    """Blocks: neighbours, the first one, and random ones of a table."""
    size = n // 16
    random = torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) < 0.12
    random = random.to(device)

    def mask_mod(b, h, i, j):
        row, column = i // size, j // size
        near = (row - column).abs() <= 1
        return near | (row == 0) | (column == 0) | random[row, column]

    return None, mask_mod


@variant("Strided", r"j \le i \;\wedge\; (i - j < s \;\vee\; (i - j) \bmod s = 0)")
def strided(n, heads, device):
    """The Sparse Transformer: a row of a picture, and what is above a pixel."""
    size = n // 16

    def mask_mod(b, h, i, j):
        return (j <= i) & ((i - j < size) | ((i - j) % size == 0))

    return None, mask_mod


@variant("Neighbourhood in two dimensions", r"|x_i - x_j| \le r \;\wedge\; |y_i - y_j| \le r")
def neighbourhood(n, heads, device):
    """NATTEN: tokens are pixels, row by row, and see a square around them."""
    width, radius = 16, 3

    def mask_mod(b, h, i, j):
        across = (i % width - j % width).abs() <= radius
        return across & ((i // width - j // width).abs() <= radius)

    return None, mask_mod


@variant("Text and images", r"j \le i \;\vee\; (m_i = m_j \;\wedge\; m_i > 0)")
def text_and_images(n, heads, device):
    """Transfusion: text is causal, and a picture sees all of itself."""
    picture = torch.zeros(n, dtype=torch.int32)
    picture[n // 8 : n * 3 // 8], picture[n * 5 // 8 : n * 7 // 8] = 1, 2
    picture = picture.to(device)

    def mask_mod(b, h, i, j):
        return (j <= i) | ((picture[i] == picture[j]) & (picture[i] > 0))

    return None, mask_mod


@variant("Trees", r"j = i \;\vee\; A_{ij}")
def trees(n, heads, device):
    """Speculative decoding: behind a common context, a token sees its ancestors in a tree of guesses. Here, each has two children."""
    context, count = n // 2, n - n // 2
    above = torch.eye(count, dtype=torch.bool)
    for child in range(1, count):
        above[child] |= above[(child - 1) // 2]
    above = above.to(device)

    def mask_mod(b, h, i, j):
        both = (i >= context) & (j >= context)
        inside = above[(i - context).clamp(min=0), (j - context).clamp(min=0)]
        return torch.where(both, inside, (j <= i) & (j < context))

    return None, mask_mod


@variant("ALiBi", r"s + m_h (j - i), \quad j \le i")
def alibi(n, heads, device):
    """A penalty for the distance, of another slope in each head."""
    slopes = torch.exp2(-8 * (1 + torch.arange(heads, device=device)) / heads)

    def score_mod(score, b, h, i, j):
        return score + slopes[h] * (j - i)

    def mask_mod(b, h, i, j):
        return j <= i

    return score_mod, mask_mod


@variant("Decay", r"s + (i - j) \log \gamma_h, \quad j \le i")
def decay(n, heads, device):
    """RetNet: weights fall by a factor with each step."""
    gamma = 1 - torch.exp2(-5.0 - torch.arange(heads, device=device))

    def score_mod(score, b, h, i, j):
        return score + (i - j) * torch.log(gamma[h])

    def mask_mod(b, h, i, j):
        return j <= i

    return score_mod, mask_mod


@variant("Soft cap", r"c \tanh(s / c), \quad j \le i")
def soft_cap(n, heads, device):
    """Gemma 2 and Grok: scores stay within bounds."""
    cap = 20.0

    def score_mod(score, b, h, i, j):
        return cap * torch.tanh(score / cap)

    def mask_mod(b, h, i, j):
        return j <= i

    return score_mod, mask_mod


@variant("Relative positions", r"s + t_{h,\, i - j + n - 1}")
def relative_positions(n, heads, device):
    """A number for each distance, which may be learned."""
    table = torch.randn(heads, 2 * n - 1, generator=torch.Generator().manual_seed(0))
    table = table.to(device)

    def score_mod(score, b, h, i, j):
        return score + table[h, i - j + (n - 1)]

    return score_mod, None


@variant("Buckets", r"s + t_{h,\, \beta(i - j)}, \quad j \le i")
def buckets(n, heads, device):
    """T5: distances share numbers, the farther the more."""
    table = torch.randn(heads, 32, generator=torch.Generator().manual_seed(0)).to(device)

    def score_mod(score, b, h, i, j):
        distance = (i - j).clamp(min=0)
        far = 16 + (torch.log(distance.clamp(min=1) / 16) * (16 / 2.0794)).int()
        bucket = torch.where(distance < 16, distance, far.clamp(max=31))
        return score + table[h, bucket]

    def mask_mod(b, h, i, j):
        return j <= i

    return score_mod, mask_mod


@variant("Pair bias", r"s + B_{hij}")
def pair_bias(n, heads, device):
    """AlphaFold: a number for each pair."""
    generator = torch.Generator(device).manual_seed(0)
    bias = torch.randn(heads, n, n, generator=generator, device=device)
    bias = bias.to(torch.bfloat16)

    def score_mod(score, b, h, i, j):
        return score + bias[h, i, j]

    return score_mod, None


@variant("Shifted windows", r"w_i = w_j \;\wedge\; r_i = r_j")
def shifted_windows(n, heads, device):
    """Swin: pixels in squares of a picture that was rolled, and of the same part before."""
    width, size, shift = 16, 8, 4
    x, y = torch.arange(n) % width, torch.arange(n) // width
    part = 2 * ((x < width - shift).int()) + (y < n // width - shift).int()
    window = (y // size) * (width // size) + x // size
    place = (4 * window + part).int().to(device)

    def mask_mod(b, h, i, j):
        return place[i] == place[j]

    return None, mask_mod
