"""Attention variants, each as MLIR and as the same function in PyTorch.

The function in PyTorch is what FlexAttention takes as `score_mod` or
`mask_mod`. On a float64 score and a vector of keys it is also the reference.
"""

import dataclasses
import typing

SOFTCAP = 20.0
WINDOW = 1024


@dataclasses.dataclass(frozen=True)
class Case:
    """One configuration: as many key/value heads as query heads."""

    variant: str
    mask: str
    dtype: str
    batch: int
    heads: int
    length: int
    dim: int

    @property
    def scale(self):
        return self.dim**-0.5

    @property
    def flops(self):
        """By the convention of FlashAttention: half for a causal mask, and what
        else is masked counts."""
        full = 4 * self.batch * self.heads * self.length**2 * self.dim
        return full / 2 if self.mask == "causal" else full

    def __str__(self):
        return (
            f"{self.variant} {self.mask} {self.dtype} B{self.batch} H{self.heads}"
            f" S{self.length} D{self.dim}"
        )


def make_case(options, variant, mask, length, dim):
    """With as many sequences and heads as the user's numbers of tokens and of
    columns give, but at least one."""
    return Case(
        variant=variant,
        mask=mask,
        dtype=options.dtype,
        batch=max(1, options.tokens // length),
        heads=max(1, options.heads_total // dim),
        length=length,
        dim=dim,
    )


class Capture(typing.NamedTuple):
    """An input next to q, k and v. `make(torch, case, device)` is a tensor, or
    a number for a scalar; `{t}` in the type is the element type of q."""

    name: str
    type: str
    make: typing.Callable


class Variant(typing.NamedTuple):
    """`score` is the body of the region, on %s, %b, %h, %i, %j and the captures,
    with %y the new score. `score_mod(captures)` is the function in PyTorch."""

    captures: tuple = ()
    score: str = ""
    score_mod: typing.Callable = None
    # The masks to run with, if not those that the user asks for.
    masks: tuple = ()
    # A dense bias of SDPA (`attn_mask`) that says the same; of the captures.
    sdpa_bias: typing.Callable = None


def _slopes(torch, case, device):
    # As the authors of ALiBi choose them.
    heads = torch.arange(1, case.heads + 1, device=device)
    return torch.exp2(-8.0 * heads / case.heads)


def _alibi(c):
    return lambda s, b, h, i, j: s + c["slopes"][h] * (j - i)


def _softcap(c):
    return lambda s, b, h, i, j: SOFTCAP * (s / SOFTCAP).tanh()


def _rel_bias(c):
    return lambda s, b, h, i, j: s + c["table"][h, i - j + c["shift"]]


def _head_bias(c):
    return lambda s, b, h, i, j: s + c["bias"][h, i, j]


def _dense_bias(c):
    return lambda s, b, h, i, j: s + c["bias"][b, h, i, j]


def _documents(torch, case, device):
    starts = torch.rand(case.batch, case.length, device=device) < 1 / 1024
    return starts.int().cumsum(1).int()


def _randn(torch, shape, case, device):
    return torch.randn(
        shape, dtype=getattr(torch, TORCH_TYPES[case.dtype]), device=device
    )


def _gather(indices, rank):
    shape = "x".join("?" * rank)
    load = f"%e = tensor.extract %bias[{indices}] : tensor<{shape}x{{t}}>\n"
    return load + "{extend}%y = arith.addf %s, %x : f32"


TORCH_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}

VARIANTS = {
    "none": Variant(),
    # A slope for each head times the distance.
    "alibi": Variant(
        (Capture("slopes", "tensor<?xf32>", _slopes),),
        """%slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32""",
        _alibi,
    ),
    # Scores within +-20.
    "softcap": Variant(
        (),
        f"""%cap = arith.constant {SOFTCAP:e} : f32
        %d = arith.divf %s, %cap : f32
        %t = math.tanh %d : f32
        %y = arith.mulf %t, %cap : f32""",
        _softcap,
    ),
    # A learned bias for each head and distance.
    "rel-bias": Variant(
        (
            Capture(
                "table",
                "tensor<?x?xf32>",
                lambda torch, case, device: torch.randn(
                    case.heads, 2 * case.length - 1, device=device
                ),
            ),
            Capture("shift", "index", lambda torch, case, device: case.length - 1),
        ),
        """%d = arith.subi %i, %j : index
        %n = arith.addi %d, %shift : index
        %x = tensor.extract %table[%h, %n] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32""",
        _rel_bias,
    ),
    # A bias for each pair, shared by the batch.
    "head-bias": Variant(
        (
            Capture(
                "bias",
                "tensor<?x?x?x{t}>",
                lambda torch, case, device: _randn(
                    torch, (case.heads, case.length, case.length), case, device
                ),
            ),
        ),
        _gather("%h, %i, %j", 3),
        _head_bias,
        sdpa_bias=lambda c: c["bias"][None],
    ),
    # A bias for each score.
    "dense-bias": Variant(
        (
            Capture(
                "bias",
                "tensor<?x?x?x?x{t}>",
                lambda torch, case, device: _randn(
                    torch,
                    (case.batch, case.heads, case.length, case.length),
                    case,
                    device,
                ),
            ),
        ),
        _gather("%b, %h, %i, %j", 4),
        _dense_bias,
        sdpa_bias=lambda c: c["bias"],
    ),
    # A prefix of each sequence that all see, and causal from there on.
    "prefix": Variant(
        (
            Capture(
                "prefix",
                "tensor<?xi32>",
                lambda torch, case, device: torch.randint(
                    0, case.length // 2 + 1, (case.batch,), device=device
                ).int(),
            ),
        ),
        masks=("prefix",),
    ),
    # Documents of 1024 tokens on average, which see themselves.
    "documents": Variant(
        (Capture("document", "tensor<?x?xi32>", _documents),),
        masks=("documents",),
    ),
}

# Of the regions of masks; "full" has none.
BODIES = {
    "causal": "%p = arith.cmpi sle, %j, %i : index",
    # The last keys of those.
    "window": f"""%past = arith.cmpi sle, %j, %i : index
        %width = arith.constant {WINDOW} : index
        %distance = arith.subi %i, %j : index
        %near = arith.cmpi slt, %distance, %width : index
        %p = arith.andi %past, %near : i1""",
    "prefix": """%n32 = tensor.extract %prefix[%b] : tensor<?xi32>
        %n = arith.index_cast %n32 : i32 to index
        %past = arith.cmpi sle, %j, %i : index
        %in = arith.cmpi slt, %j, %n : index
        %p = arith.ori %past, %in : i1""",
    "documents": """%mine = tensor.extract %document[%b, %i] : tensor<?x?xi32>
        %theirs = tensor.extract %document[%b, %j] : tensor<?x?xi32>
        %p = arith.cmpi eq, %mine, %theirs : i32""",
}
# Masks that differ from sequence to sequence.
OF_BATCH = ("prefix", "documents")

MASKS = ("full", "causal", "window")


def _operands(keyword, attribute, inputs):
    """A clause of the operation with the names and the types of inputs."""
    names = ", ".join(f"%{name}" for name, _ in inputs)
    types = ", ".join(type_ for _, type_ in inputs)
    return f"{keyword}({attribute}{names} : {types})" if inputs else ""


def text(case, inputs, score="", mask="", sparsity="", lse=False):
    """The MLIR text of attention with bodies of regions on inputs, which are
    (name, type); or, if it has a sparsity, with inputs that are its operands. With
    `lse`, it has the log-sum-exp as well."""
    captures = [] if sparsity else inputs
    arguments = "".join(f", %{name}" for name, _ in captures)
    if score:
        score = (
            f"score(%s, %b, %h, %i, %j{arguments}) {{\n        {score}\n"
            "        attn.yield %y : f32\n      }"
        )
    if mask:
        mask = (
            f"mask(%b, %h, %i, %j{arguments}) {{\n        {mask}\n"
            "        attn.yield %p : i1\n      }"
        )
    clause = _operands("captures", "", captures)
    if sparsity:
        clause = _operands("sparsity", f"{sparsity} ", inputs)
    parameters = "".join(f", %{name}: {type_}" for name, type_ in inputs)
    result, init, values, types = "", "%init : !t", "%o", "!t"
    if lse:
        result = ', tensor<?x?x?xf32> {attn.name = "lse"}'
        init = "%init, %none : !t, tensor<?x?x?xf32>"
        values, types = "%o, %lse", "!t, tensor<?x?x?xf32>"
    return f"""!t = tensor<?x?x?x{case.dim}x{case.dtype}>
func.func @attention(%q: !t, %k: !t, %v: !t{parameters})
    -> (!t {{attn.name = "o"}}{result}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %none = tensor.empty(%batch, %heads, %length) : tensor<?x?x?xf32>
  {values} = attn.attention
      ins(%q, %k, %v : !t, !t, !t)
      {clause}
      outs({init})
      {score}
      {mask}
  return {values} : {types}
}}
"""


def program(case, lse=False):
    """The MLIR text of a case, which is the same for all batches and lengths; with
    the log-sum-exp as another result if `lse`."""
    variant = VARIANTS[case.variant]
    t = case.dtype
    inputs = [(capture.name, capture.type.format(t=t)) for capture in variant.captures]
    # An element of a bias as the type of scores.
    extend = "%x = arith.extf %e : {t} to f32\n" if t != "f32" else ""
    body = variant.score
    if t == "f32":
        body = body.replace("%e = tensor", "%x = tensor")
    body = body.replace("{extend}", extend).replace("{t}", t)
    return text(case, inputs, body, BODIES.get(case.mask, ""), lse=lse)


def make_captures(torch, case, device):
    """The captures by name, in the order of the kernel's inputs."""
    return {
        capture.name: capture.make(torch, case, device)
        for capture in VARIANTS[case.variant].captures
    }


def score_mod(case, captures):
    """`score_mod` of FlexAttention, or None for the identity."""
    make = VARIANTS[case.variant].score_mod
    return make(captures) if make else None


def mask_mod(case, captures):
    """`mask_mod` of FlexAttention, or None for no mask."""
    if case.mask == "causal":
        return lambda b, h, i, j: j <= i
    if case.mask == "window":
        return lambda b, h, i, j: (j <= i) & (i - j < WINDOW)
    if case.mask == "prefix":
        prefix = captures["prefix"]
        return lambda b, h, i, j: (j <= i) | (j < prefix[b])
    if case.mask == "documents":
        document = captures["document"]
        return lambda b, h, i, j: document[b, i] == document[b, j]
    return None
