"""Attention as a function that PyTorch knows the gradient of."""

import torch

from .._errors import Unsupported
from . import _captures, _compat, _vmap

NO_BATCHED = (
    "expects one gradient at a time, but got a batch of them (is_grads_batched,"
    " vectorize, check_batched_grad): torch.func.vmap of torch.func.vjp computes such"
)
NO_SECOND = "expects a first gradient: attention has no second one"


class Attention(_compat.OuterFunction):
    """`apply(kernels, *inputs)` returns the output and the log-sum-exp; `inputs` are
    the query, the key, the value, and the tensors and numbers that the program takes.
    Of the call, its inputs and both results are kept. Not for torch.func."""

    @staticmethod
    def forward(ctx, kernels, *inputs):
        output = kernels.run(inputs, True)
        Attention.keep(ctx, kernels, inputs, output)
        return output

    @staticmethod
    def keep(ctx, kernels, inputs, output):
        # Numbers are behind all tensors.
        end = kernels.count_tensors()
        ctx.rest = kernels, inputs[end:]
        ctx.save_for_backward(*inputs[:end], *output)

    @staticmethod
    def backward(ctx, d_out, d_lse):
        kernels, numbers = ctx.rest
        *tensors, out, lse = ctx.saved_tensors
        if _compat.is_batched(d_out) or _compat.is_batched(d_lse):
            raise Unsupported(NO_BATCHED)
        # Where nobody differentiates or transforms what follows, as usual, it is no
        # function: PyTorch asks for the signature of one at each call.
        is_plain = not torch.is_grad_enabled() and not _compat.is_transformed()
        gradients = iter(
            (_Gradient.forward if is_plain else _Gradient.apply)(
                *(kernels, ctx.needs_input_grad[1:]),
                *(out, lse, d_out, d_lse),
                *tensors,
                *numbers,
            )
        )
        return tuple(next(gradients) if want else None for want in ctx.needs_input_grad)


# Compiled autograd asks each function for one.
if hasattr(torch.autograd.Function, "_compiled_autograd_key"):
    Attention._compiled_autograd_key = torch.autograd.Function._compiled_autograd_key


class Transformed(torch.autograd.Function):
    """The same where torch.func is at work, which wants two steps. As PyTorch asks
    for the signature of `forward` at each call, it takes longer."""

    @staticmethod
    def forward(kernels, *inputs):
        if _compat.wants_operator(inputs[0]):
            return kernels.run_operator(inputs)
        return kernels.run(inputs, True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        kernels, *inputs = inputs
        Attention.keep(ctx, kernels, inputs, output)

    backward = staticmethod(Attention.backward)

    @staticmethod
    def jvp(ctx, *_):
        raise Unsupported(_captures.NO_TANGENTS)

    @staticmethod
    def vmap(info, in_dims, kernels, *inputs):
        size = info.batch_size
        return (
            _vmap.forward(Transformed.apply, size, in_dims[1:], kernels, inputs),
            (0, 0),
        )


class _Gradient(torch.autograd.Function):
    """The gradients with respect to the inputs that are `wanted`: a function of
    its own, so that torch.func sees what depends on what."""

    @staticmethod
    def forward(kernels, wanted, out, lse, d_out, d_lse, *inputs):
        if _compat.wants_operator(inputs[0]):
            return kernels.run_gradient_operator(
                inputs, (out, lse), (d_out, d_lse), wanted
            )
        return kernels.run_gradient(inputs, (out, lse), (d_out, d_lse), wanted)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        raise Unsupported(NO_SECOND)

    @staticmethod
    def jvp(ctx, *_):
        raise Unsupported(NO_SECOND)

    @staticmethod
    def vmap(info, in_dims, kernels, wanted, *inputs):
        size = info.batch_size
        found = _vmap.gradient(
            _Gradient.apply, size, in_dims[2:], kernels, wanted, inputs
        )
        return found, (0,) * len(found)
