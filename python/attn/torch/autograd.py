"""Attention as a function that PyTorch knows the gradient of."""

import torch
from torch.autograd.function import once_differentiable

from . import layout


class Attention(torch.autograd.Function):
    """apply(kernels, query, key, value, *arguments) is the output and the
    log-sum-exp; `arguments` are the tensors and numbers that the program takes.

    Of the call, its inputs, the output and the log-sum-exp are kept.
    """

    @staticmethod
    def forward(kernels, query, key, value, *arguments):
        return kernels.run(query, key, value, arguments, True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        kernels, *inputs = inputs
        is_tensor = [isinstance(x, torch.Tensor) for x in inputs]
        ctx.kernels = kernels
        ctx.is_tensor = is_tensor
        ctx.numbers = [x for x, tensor in zip(inputs, is_tensor) if not tensor]
        ctx.save_for_backward(
            *[x for x, tensor in zip(inputs, is_tensor) if tensor], *output
        )
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_lse):
        if d_out is None and d_lse is None:
            return (None,) * (1 + len(ctx.is_tensor))
        *tensors, out, lse = ctx.saved_tensors
        tensors, numbers = iter(tensors), iter(ctx.numbers)
        inputs = [next(tensors if tensor else numbers) for tensor in ctx.is_tensor]
        cotangents = (
            torch.zeros_like(out) if d_out is None else layout.with_unit_stride(d_out),
            torch.zeros_like(lse) if d_lse is None else layout.with_unit_stride(d_lse),
        )
        gradients = ctx.kernels.run_gradient(
            inputs, (out, lse), cotangents, ctx.needs_input_grad[1:]
        )
        return (None, *gradients)
