"""The operators attn::forward and attn::backward, which graphs of torch.compile
and torch.export hold.

What they are given is all there is to them: the text of the program, so that a
graph that was kept on a disk runs in another process. The numbers of a program
come in two lists, of integers (and bools) and of floats, each in its order.
`options` is JSON of options of attn.compile. `mask` is the number of what calls
share with others that have the same mask (kernels.Shared), or 0. In a process that
knows no such number, nothing is shared.
"""

import torch

from . import kernels, layout

_library = torch.library.Library("attn", "DEF")
_library.define(
    "forward(Tensor query, Tensor key, Tensor value, Tensor[] captures, SymInt[] ints,"
    " float[] floats, str program, str options, SymInt mask) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_library.define(
    "backward(Tensor query, Tensor key, Tensor value, Tensor[] captures, SymInt[] ints,"
    " float[] floats, Tensor out, Tensor lse, Tensor d_out, Tensor d_lse,"
    " str program, str options, bool[] wanted, SymInt mask) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_FLOATS = ("f64", "f32", "f16", "bf16")


def _kernels(query, program, options, mask):
    found = kernels.of_text(program, query.device.type, options)
    shared = kernels.shared_of(mask) if mask else None
    return found if shared is None else found.sharing(shared)


def _arguments(kernel, captures, ints, floats):
    """What a kernel takes behind q, k and v."""
    integers, numbers = iter(ints), iter(floats)
    return [
        *captures,
        *[
            next(numbers if info.dtype in _FLOATS else integers)
            for info in kernel.inputs[3 + len(captures) :]
        ],
    ]


def _forward(query, key, value, captures, ints, floats, program, options, mask):
    found = _kernels(query, program, options, mask)
    arguments = _arguments(found.forward(True).kernel, captures, ints, floats)
    return tuple(found.run(query, key, value, arguments, True))


def _backward(*inputs):
    """As the schema has it."""
    query, key, value, captures, ints, floats = inputs[:6]
    out, lse, d_out, d_lse, program, options, wanted, mask = inputs[6:]
    found = _kernels(query, program, options, mask)
    arguments = _arguments(found.forward(True).kernel, captures, ints, floats)
    tensors = query, key, value
    wanted = [*wanted, *[False] * (len(arguments) - len(captures))]
    return list(
        found.run_gradient((*tensors, *arguments), (out, lse), (d_out, d_lse), wanted)
    )


def _fake_forward(query, key, value, *_):
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    shape = (*query.shape[:3], value.shape[3])
    return layout.empty_like(query, shape), query.new_empty(shape[:3], dtype=dtype)


def _fake_backward(*inputs):
    query, key, value, captures = inputs[:4]
    wanted = inputs[12]
    return [
        layout.empty_like(x, x.shape) if number < 3 else x.new_empty(x.shape)
        for number, (x, want) in enumerate(zip((query, key, value, *captures), wanted))
        if want
    ]


for _kind in ("CPU", "CUDA"):
    _library.impl("forward", _forward, _kind)
    _library.impl("backward", _backward, _kind)
torch.library.register_fake("attn::forward", _fake_forward, lib=_library)
torch.library.register_fake("attn::backward", _fake_backward, lib=_library)


def _setup_context(ctx, inputs, output):
    query, key, value, captures, *rest = inputs
    ctx.rest = rest
    ctx.save_for_backward(query, key, value, *captures, *output)
    ctx.set_materialize_grads(False)


def _gradients(ctx, d_out, d_lse):
    query, key, value, *captures, out, lse = ctx.saved_tensors
    ints, floats, program, options, mask = ctx.rest
    # Of a list of tensors, there is one flag for each.
    needs = [*ctx.needs_input_grad[:3], *ctx.needs_input_grad[3]]
    wanted = [bool(want) for want in needs]
    # A list that is empty counts as one of tensors.
    rest = None if ints else [], None if floats else [], None, None, None
    if not any(wanted) or (d_out is None and d_lse is None):
        return (None, None, None, [None] * len(captures), *rest)
    d_out = torch.zeros_like(out) if d_out is None else d_out
    d_lse = torch.zeros_like(lse) if d_lse is None else d_lse
    found = iter(
        torch.ops.attn.backward(
            *(query, key, value, captures, ints, floats),
            *(out, lse, d_out, d_lse, program, options, wanted, mask),
        )
    )
    found = [next(found) if want else None for want in wanted]
    return (*found[:3], found[3:], *rest)


torch.library.register_autograd(
    "attn::forward", _gradients, setup_context=_setup_context, lib=_library
)
