"""What differs between versions of PyTorch, and what has no public name there."""

import typing

import torch
from torch.nn.attention import flex_attention as flex

# None of a version before 2.9.
if hasattr(flex, "AuxRequest"):
    AuxRequest, AuxOutput = flex.AuxRequest, flex.AuxOutput
else:

    class AuxRequest(typing.NamedTuple):
        """What flex_attention returns next to the output."""

        lse: bool = False
        max_scores: bool = False

    class AuxOutput(typing.NamedTuple):
        """What was asked for, and None for the rest."""

        lse: typing.Optional[torch.Tensor] = None
        max_scores: typing.Optional[torch.Tensor] = None


BlockMask = flex.BlockMask
create_mask = flex.create_mask
# The function of a mask that allows all.
noop_mask = flex.noop_mask
# That of a slice of a BlockMask, which raises; None where slices keep theirs.
sliced_mask_mod = getattr(flex, "_sliced_mask_mod_error", None)


def current_stream(device):
    """The stream of CUDA that PyTorch works on, as an integer."""
    return torch._C._cuda_getCurrentRawStream(device.index)
