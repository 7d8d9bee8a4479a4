"""What attention is over a dimension that torch.func.vmap adds.

Where no function asks for the batch and what functions read is the same for all,
the dimension becomes part of the batch: one launch. Else there is one launch for
each of its elements.
"""

import torch


def _pick(value, dim, number):
    if dim is None:
        return value
    return value.select(dim, number)


def _loop(function, size, in_dims, arguments):
    """The results of each element, next to each other."""
    if size == 0:
        # An element that is not there tells the shapes.
        shaped = [
            x if d is None else x.new_zeros((*x.shape[:d], *x.shape[d + 1 :]))
            for x, d in zip(arguments, in_dims)
        ]
        return tuple(x.new_empty((0, *x.shape)) for x in function(*shaped))
    results = [
        function(*[_pick(x, d, n) for x, d in zip(arguments, in_dims)])
        for n in range(size)
    ]
    return tuple(map(torch.stack, zip(*results)))


def _fold(value, dim, size):
    """[batch, ...] with the elements of the dimension one behind the other."""
    if dim is None:
        value = value.expand(size, *value.shape)
    else:
        value = value.movedim(dim, 0)
    return value.flatten(0, 1)


def _batch(value, dim):
    """The batch of a tensor without the dimension."""
    return value.shape[1 if dim == 0 else 0]


def forward(apply, size, in_dims, kernels, arguments):
    """The output and the log-sum-exp, with the dimension first. `apply` is for
    the arguments (kernels, query, key, value, captures and numbers)."""
    tensors, dims = arguments[:3], in_dims[:3]
    batch, kv_batch = (_batch(x, d) for x, d in zip(tensors[:2], dims))
    shared = kv_batch == 1 and batch != 1

    def one(*values):
        return apply(kernels, *values)

    if (
        kernels.reads_batch
        or any(d is not None for d in in_dims[3:])
        or (shared and dims[1:] != (None, None))
    ):
        # What functions read may differ, and what a mask has prepared does not.
        kernels = kernels.sharing(None)
        return _loop(one, size, in_dims, arguments)
    folded = [
        x if shared and n > 0 else _fold(x, d, size)
        for n, (x, d) in enumerate(zip(tensors, dims))
    ]
    results = one(*folded, *arguments[3:])
    return tuple(x.unflatten(0, (size, batch)) for x in results)


def gradient(apply, size, in_dims, kernels, wanted, arguments):
    """The gradients that are wanted, with the dimension first; `arguments` are
    the output, the log-sum-exp, what comes for both, and those of `forward`."""
    batch, kv_batch = (_batch(arguments[n], in_dims[n]) for n in (4, 5))

    def one(*values):
        return apply(kernels, wanted, *values)

    if (
        kernels.reads_batch
        or kv_batch != batch
        or any(wanted[3:])
        or any(d is not None for d in in_dims[7:])
    ):
        kernels = kernels.sharing(None)
        return _loop(one, size, in_dims, arguments)
    folded = [_fold(x, d, size) for x, d in zip(arguments[:7], in_dims)]
    results = one(*folded, *arguments[7:])
    return tuple(x.unflatten(0, (size, batch)) for x in results)
