"""What users write, with the types of all that is public: a type checker that is
strict finds nothing wrong (test_types.py). Not run."""

import pathlib
from typing import Any, assert_type

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

import attn
import attn.trace
from attn import info, layouts, tune
from attn.integrations import diffusers, transformers
from attn.torch import (
    AuxOutput,
    AuxRequest,
    Mask,
    Variant,
    and_masks,
    create_block_mask,
    flex_attention,
    sdpa,
    use,
    varlen,
)


def causal(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return q_idx >= kv_idx


def scores(s: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return s * 2


q = torch.randn(1, 2, 16, 8)
mask = create_block_mask(and_masks(causal, causal), None, None, 16, 16, "cpu")
assert_type(mask, Mask)
assert_type(mask.prepare()[0], Mask)
assert_type(flex_attention(q, q, q, scores, mask), Tensor)
assert_type(flex_attention(q, q, q, return_lse=True), tuple[Tensor, Tensor])
out, aux = flex_attention(q, q, q, return_aux=AuxRequest(lse=True))
assert_type(aux, AuxOutput)
assert_type(sdpa(q, q, q, is_causal=True), Tensor)
ends = torch.tensor([0, 16])
assert_type(varlen(q[0], q[0], q[0], ends, ends), Tensor)


def biased(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor, x: Tensor) -> Tensor:
    return s + x[h]


variant = Variant(biased).prepare()
assert_type(variant(q, q, q, ends), Tensor)
assert_type(variant(q, q, q, ends, return_lse=True), tuple[Tensor, Tensor])
with use():
    pass

program = attn.trace.trace(scores, causal)
assert_type(program.to_mlir(attn.trace.Variant(dtype="bf16", dim=128)), str)
kernel = attn.compile("program.mlir", target="cpu", bounds_check=True)
assert_type(kernel, attn.Kernel)
assert_type(kernel.gradient(["q"]).inputs[0].shape, tuple[int | None, ...])
result: Any = kernel(q, q, q, prepared=kernel.prepare(q, q, q))
bound = kernel.bind(q, q, q, out=result)
bound()
kernel.save("kernel.attn")
assert_type(attn.load("kernel.attn"), attn.Kernel)
attn.show_mask(mask, tile=64).save("mask.png")
try:
    attn.attention(q, q, q, scores, causal, scale=0.5, return_lse=True)
except attn.TraceError as error:
    assert_type(error.lineno, int | None)
except (attn.Unsupported, attn.InvalidArgument):
    attn.clear_cache()

layout = layouts.big_bird(2, 64, causal=True)
assert_type(layout, NDArray[numpy.bool_])
assert_type(layouts.top_k(layout, 2), NDArray[numpy.bool_])
assert_type(layouts.top_k(q, 2), Tensor)
assert_type(layouts.to_lists(q > 0, "int64"), tuple[Tensor, Tensor])
rows, columns = layouts.to_lists(layout)
assert_type(rows, NDArray[numpy.int32])
assert_type(layouts.csr_lists([(rows, columns)], "int64")[1], NDArray[numpy.int64])
assert_type(layouts.expand(layouts.from_lists(rows, columns, 4), 16), NDArray[numpy.bool_])

transformers.register()
layer = transformers.mask(1, 16, 16, mask_function=causal)
assert_type(transformers.attention(None, q, q, q, layer, is_causal=True)[0], Tensor)
diffusers.register(diffusers.NAME)
assert_type(diffusers.attention(q, q, q, None, 0.0, True), Tensor)

assert_type(dict(info.collect()), dict[str, str])
assert_type(tune.main(["list.json", "--seconds=1"]), int)
item = tune.tune_one(
    {"program": "a.mlir", "inputs": [[1, 2]]}, pathlib.Path(), 1, None, print
)
assert_type(item, dict[str, Any])
