"""flex_attention where torch.compile traces it.

PyTorch's compiler takes the functions of flex_attention apart itself, when its
own operator `flex_attention` is called: what they read becomes arguments of the
graph. So that is what is called here, with a mark; and where an operator with
the mark is about to be computed, or becomes part of a graph of autograd, it is
replaced by attn::forward.
"""

import torch

from ..trace import Variant, trace
from ..trace.proxy import Scalar
from . import _compat, kernels, mask, options
from ._compat import AuxOutput
from .errors import InvalidArgument


def flex_attention(
    query, key, value, score_mod, block_mask, scale, kernel_options, return_lse, return_aux
):
    """What the compiler sees: no checks that the operator makes, too."""
    mask_mod = None
    if block_mask is not None:
        if isinstance(block_mask, _compat.BlockMask):
            mask_mod = mask.from_lists(block_mask, query)
        else:
            mask_mod = block_mask.mask_mod
    out, lse = dispatch(query, key, value, score_mod, mask_mod, scale, kernel_options)
    if return_aux is not None:
        return out, AuxOutput(lse=lse if return_aux.lse else None)
    return (out, lse) if return_lse else out


def dispatch(query, key, value, score_mod, mask_mod, scale, kernel_options=None):
    """The output and the log-sum-exp."""
    out, lse, _ = _compat.call_operator(
        *(query, key, value),
        _same if score_mod is None else score_mod,
        mask.noop_mask if mask_mod is None else mask_mod,
        scale,
        # They are read where the operator is replaced.
        {"ATTN": {} if kernel_options is None else kernel_options},
    )
    return out, lse


def _same(score, b, h, q_idx, kv_idx):
    return score


def _extent(n):
    """A number for an extent that may be a symbol."""
    return n if isinstance(n, int) else n.node.hint


class _Inputs:
    """What the graph of a function reads, as a trace sees it, and where that is
    among the arguments of the graph."""

    def __init__(self, name, values):
        self.values = values
        self._name = name
        self.stand_ins = [self._make(x) for x in values]

    @staticmethod
    def _make(value):
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(
            [_extent(n) for n in value.shape],
            [_extent(n) for n in value.stride()],
            dtype=value.dtype,
            device="meta",
        )

    def traced(self, recorder, slots):
        """The inputs for a call of the function; `slots` gets where scalars of
        the program are from."""
        for position, value in enumerate(self.stand_ins):
            if isinstance(value, torch.Tensor):
                yield value
                continue
            hint = _extent(value) if isinstance(value, (int, torch.SymInt)) else float(value)
            number = recorder.scalar(hint, variable=(self._name, position))
            slots[recorder.ops[number - recorder._arguments][1]] = self.values[position]
            yield Scalar(recorder, number)


def _import(query, key, value, score_mod, mask_mod, score_inputs, mask_inputs, scale):
    """The text of the program of two graphs, and its captures, integers and
    floats."""
    slots = {}

    def traceable(function, inputs):
        return lambda *values: function(
            *values, *inputs.traced(values[0]._recorder, slots)
        )

    with _compat.no_modes():
        score, rest = _Inputs("score", score_inputs), _Inputs("mask", mask_inputs)
        program = trace(
            traceable(score_mod, score),
            traceable(mask_mod, rest),
            namespace="torch",
            device=query.device,
        )
        variant = kernels.variant_of(query, key, value, scale)
        text = program.to_mlir(Variant(**dict(variant), lse=True))
    captures = []
    for capture in program.captures:
        found = [
            x
            for inputs in (score, rest)
            for x, stand_in in zip(inputs.values, inputs.stand_ins)
            if stand_in is capture.tensor
        ]
        if not found:
            raise InvalidArgument(
                "expects functions to read tensors as they are where torch.compile"
                f" traces them, but got one of {tuple(capture.tensor.shape)} that is"
                " made of others: make it outside of the function"
            )
        # An extent that is part of the program is no longer a symbol.
        for dim in capture.fixed:
            int(found[0].shape[dim])
        captures.append(found[0][..., None] if capture.padded else found[0])
    ints, floats = [], []
    for slot, (kind, number) in enumerate(program.scalars):
        (floats if kind == "F" else ints).append(slots.get(slot, number))
    return text, captures, [x if type(x) is not bool else int(x) for x in ints], floats


def replace(
    query,
    key,
    value,
    score_mod,
    block_mask,
    scale,
    kernel_options,
    score_inputs=(),
    mask_inputs=(),
):
    """The operator of PyTorch with the mark, as one of ours."""
    text, captures, ints, floats = _import(
        *(query, key, value, score_mod, block_mask[-1]),
        *(score_inputs, mask_inputs, scale),
    )
    compile_options = options.encode(options.read(kernel_options["ATTN"]))
    out, lse = torch.ops.attn.forward(
        query, key, value, captures, ints, floats, text, compile_options
    )
    return out, lse, lse.new_empty(0)


_compat.replace_operator("ATTN", replace)
