"""What differs between versions of PyTorch, and what has no public name there."""

import contextlib

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.nn.attention import flex_attention as flex

AuxRequest, AuxOutput = flex.AuxRequest, flex.AuxOutput
BlockMask = flex.BlockMask
create_mask = flex.create_mask
# What stands for "no mask": one block of this size.
NO_BLOCKS = 1 << 30
# The function of a mask that allows all.
noop_mask = flex.noop_mask
# That of a slice of a BlockMask, which raises; None where slices keep theirs.
sliced_mask_mod = getattr(flex, "_sliced_mask_mod_error", None)


def is_fake(tensor):
    """Whether a tensor has no contents, as where a graph is made."""
    return isinstance(tensor, (FakeTensor, FunctionalTensor))


def is_transformed():
    """Whether a function of torch.func is at work."""
    return torch._C._are_functorch_transforms_active()


# torch.autograd.Function without what torch.func needs, which takes a while.
OuterFunction = getattr(
    torch.autograd.function, "_SingleLevelFunction", torch.autograd.Function
)


def current_stream(device):
    """The stream of CUDA that PyTorch works on, as an integer."""
    return torch._C._cuda_getCurrentRawStream(device.index)


def on_device(device):
    """A context in which a device of CUDA is the current one."""
    if torch._C._cuda_getDevice() == device.index:
        return _here
    return torch.cuda.device(device)


_here = contextlib.nullcontext()


# ===----------------------------------------------------------------------===
# The operator of FlexAttention, which torch.compile knows
# ===----------------------------------------------------------------------===

_operator = torch.ops.higher_order.flex_attention


def call_operator(query, key, value, score_mod, mask_mod, scale, kernel_options):
    """A call that torch.compile traces: output, log-sum-exp and something."""
    count = query.new_ones((1, 1, 1), dtype=torch.int32)
    index = query.new_zeros((1, 1, 1, 1), dtype=torch.int32)
    # As many members as the version has.
    blocks = BlockMask(
        seq_lengths=(1, 1),
        kv_num_blocks=count,
        kv_indices=index,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        q_num_blocks=count,
        q_indices=index,
        full_q_num_blocks=None,
        full_q_indices=None,
        BLOCK_SIZE=(NO_BLOCKS, NO_BLOCKS),
        mask_mod=mask_mod,
    ).as_tuple()
    # The default is left to what computes it.
    if scale is None:
        scale = query.size(-1) ** -0.5
    return _operator(query, key, value, score_mod, blocks, scale, kernel_options)


def replace_operator(mark, replacement):
    """Lets calls of the operator whose kernel_options have `mark` be calls of
    `replacement`, with the same arguments."""
    at = torch._C.DispatchKey.Autograd
    original = _operator.py_kernels[at]

    def choose(query, key, value, score_mod, block_mask, scale, options, *inputs):
        function = replacement if mark in options else original
        return function(
            query, key, value, score_mod, block_mask, scale, options, *inputs
        )

    _operator.py_kernels[at] = choose
    _operator._dispatch_cache.clear()
