"""The operators attn::forward and attn::backward, which graphs of torch.compile
and torch.export hold.

What they are given is all there is to them: the text of the program, so that a
graph that was kept on a disk runs in another process. `inputs` are the query, the
key, the value and what functions read. The numbers of a program come in two lists,
of integers (and bools) and of floats, each in its order. The first of the integers
is another one: the number of what calls share with others that have the same mask
(_kernels.Shared), or 0; in a process that knows no such number, nothing is shared.
So no list of integers or tensors is empty, which AOTInductor passes on as None.
`options` are lines of options of attn.compile.
"""

import torch

from .. import _library
from .._errors import Unsupported
from . import _autograd, _compat, _kernels, _layout

_SCHEMAS = (
    "forward(Tensor[] inputs, SymInt[] ints, float[] floats, str program,"
    " str options) -> (Tensor, Tensor)",
    "backward(Tensor[] inputs, SymInt[] ints, float[] floats, Tensor out, Tensor lse,"
    " Tensor d_out, Tensor d_lse, str program, str options, bool[] wanted)"
    " -> Tensor[]",
)


def _prepare(inputs, ints, floats, program, options):
    """The kernels, and all that they take."""
    found = _kernels.of_text(program, inputs[0].device.type, options)
    shared = _kernels.shared_of(ints[0]) if ints[0] else None
    if shared is not None:
        found = found.sharing(shared)
    integers, numbers = iter(ints[1:]), iter(floats)
    infos = found.forward(True).kernel.inputs[len(inputs) :]
    values = [next(numbers if x.dtype in _kernels.FLOATS else integers) for x in infos]
    return found, (*inputs, *values)


def _forward(inputs, ints, floats, program, options):
    found, arguments = _prepare(inputs, ints, floats, program, options)
    return found.run(arguments, True)


def _backward(inputs, ints, floats, out, lse, d_out, d_lse, program, options, wanted):
    found, arguments = _prepare(inputs, ints, floats, program, options)
    wanted = [*wanted, *[False] * (len(arguments) - len(inputs))]
    return list(found.run_gradient(arguments, (out, lse), (d_out, d_lse), wanted))


def _fake_forward(inputs, *_):
    query, _, value = inputs[:3]
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    shape = (*query.shape[:3], value.shape[3])
    return _layout.empty_like(query, shape), query.new_empty(shape[:3], dtype=dtype)


def _fake_backward(inputs, *rest):
    return [
        _layout.empty_like(x, x.shape) if number < 3 else x.new_empty(x.shape)
        for number, (x, want) in enumerate(zip(inputs, rest[-1]))
        if want
    ]


def _load():
    """The operators in C++ where they are, and here where they are not: those in
    C++ run without Python, and take PyTorch 2.10. Returns the library for what is
    the same for both."""
    path = _library.find_torch_operators()
    if path is not None and _compat.VERSION >= (2, 10):
        torch.ops.load_library(path)
        _library.open_torch_operators(path)
        return torch.library.Library("attn", "FRAGMENT")
    library = torch.library.Library("attn", "DEF")
    for schema in _SCHEMAS:
        library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for kind in ("CPU", "CUDA"):
        library.impl("forward", _forward, kind)
        library.impl("backward", _backward, kind)
    return library


_operators = _load()
torch.library.register_fake("attn::forward", _fake_forward, lib=_operators)
torch.library.register_fake("attn::backward", _fake_backward, lib=_operators)


def _setup_context(ctx, inputs, output):
    tensors, *ctx.rest = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.set_materialize_grads(False)


def _gradients(ctx, d_out, d_lse):
    *inputs, out, lse = ctx.saved_tensors
    ints, floats, program, options = ctx.rest
    # Of a list of tensors, there is one flag for each.
    wanted = [bool(want) for want in ctx.needs_input_grad[0]]
    # A list that is empty counts as one of tensors.
    rest = None, None if floats else [], None, None
    if not any(wanted) or (d_out is None and d_lse is None):
        return ([None] * len(inputs), *rest)
    d_out = torch.zeros_like(out) if d_out is None else d_out
    d_lse = torch.zeros_like(lse) if d_lse is None else d_lse
    found = iter(
        torch.ops.attn.backward(
            *(inputs, ints, floats, out, lse, d_out, d_lse, program, options, wanted)
        )
    )
    return ([next(found) if want else None for want in wanted], *rest)


torch.library.register_autograd(
    "attn::forward", _gradients, setup_context=_setup_context, lib=_operators
)


def _second_gradients(ctx, *_):
    raise Unsupported(_autograd.NO_SECOND)


# Without this, they would be 0.
torch.library.register_autograd("attn::backward", _second_gradients, lib=_operators)
