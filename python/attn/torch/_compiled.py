"""flex_attention where torch.compile traces it.

PyTorch's compiler takes the functions of flex_attention apart itself, when its
own operator `flex_attention` is called: what they read becomes arguments of the
graph. So that is what is called here, with a mark; and where an operator with
the mark is about to be computed, or becomes part of a graph of autograd, it is
replaced by attn::forward.
"""

import torch

from ..trace import Variant, trace
from ..trace._proxy import Scalar, Table
from . import _captures, _compat, _kernels, _options, _reference


def dispatch(
    query, key, value, score_mod, mask_mod, scale, kernel_options=None, shared=None
):
    """The output and the log-sum-exp, as the compiler sees it."""
    # They are read where the operator is replaced.
    options = {"ATTN": {} if kernel_options is None else kernel_options}
    if shared is not None:
        options["ATTN_MASK"] = shared.number
    out, lse, _ = _compat.call_operator(
        *(query, key, value),
        _same if score_mod is None else score_mod,
        _compat.noop_mask if mask_mod is None else mask_mod,
        scale,
        options,
    )
    return out, lse


def _same(score, b, h, q_idx, kv_idx):
    return score


def operator(program, query, key, value, scale, compile_options, numbers=(), mask=0):
    """The output and the log-sum-exp by attn::forward. `numbers` are (scalar of
    the program, value) where that is a symbol of the graph, and `mask` is the
    number of what is prepared."""
    _compat.register_flops()
    # Places in code that PyTorch has generated are of no use.
    program.relocate = None
    variant = _kernels.variant_of(query, key, value, scale)
    wanted = Variant(**dict(variant), lse=True)
    # In one line: code that Inductor makes has it in a comment, too.
    text = " ".join(program.to_mlir(wanted).splitlines())
    for capture in program.captures:
        for dim in capture.fixed:
            # What is part of the program is no longer a symbol.
            int(capture.shape[dim])
    count = len(program.captures)
    arguments = program.arguments(wanted)
    values = {**dict(enumerate(arguments[count:])), **dict(numbers)}
    ints, floats = [mask], []
    for slot, (kind, _) in enumerate(program.scalars):
        x = values[slot]
        (floats if kind == "F" else ints).append(int(x) if type(x) is bool else x)
    return torch.ops.attn.forward(
        [query, key, value, *arguments[:count]],
        *(ints, floats, text, _options.encode(compile_options)),
    )


@_compat.assume_constant_result
def _text(functions, mask, is_causal, dropout_p, variant):
    """The program of `sdpa` with dropout, as text. `mask` has the dtype of a mask of
    4 dimensions, and which of these are not for all; or is None."""
    if mask is not None:
        dtype, wide = mask
        mask = torch.empty([1 + w for w in wide], dtype=dtype, device="meta")
    program = trace(
        *functions(mask, is_causal), namespace="torch", device=torch.device("cpu")
    ).with_dropout(dropout_p, None, None)
    return " ".join(program.to_mlir(Variant(**dict(variant), lse=True)).splitlines())


@_compat.assume_constant_result
def _no_options():
    return _options.encode(_options.NONE)


def with_dropout(functions, query, key, value, attn_mask, is_causal, scale, dropout):
    """`sdpa` with dropout, as the compiler sees it. Its own operator knows none."""
    dropout_p, *captures = dropout
    # It is a constant of the program. A key is one of a graph as well, with a guard,
    # where it was a symbol.
    (dropout_p,) = {dropout_p: None}
    mask = None
    if attn_mask is not None:
        attn_mask = attn_mask.contiguous()
        captures.insert(0, attn_mask)
        mask = attn_mask.dtype, tuple([extent > 1 for extent in attn_mask.shape])
    variant = _kernels.variant_of(query, key, value, scale)
    text = _text(functions, mask, is_causal, dropout_p, variant)
    # Nothing is prepared of its mask.
    return torch.ops.attn.forward(
        [query, key, value, *captures], [0], [], text, _no_options()
    )[0]


class _Inputs:
    """What the graph of a function reads."""

    def __init__(self, name, values):
        self._name = name
        self._values = values

    def traced(self, recorder, numbers):
        """The inputs for a call of the function. `numbers` gets scalars of the
        program, with their values."""

        def scalar(value, variable):
            if isinstance(value, torch.SymFloat):
                return element(value, variable)
            kind = float if isinstance(value, float) else int
            # Nothing depends on what it is.
            example = value if isinstance(value, kind) else _compat.example(value, kind)
            number = recorder.scalar(example, variable=variable)
            numbers.append((recorder.ops[number - recorder._arguments][1], value))
            return number

        numbers_of = {}

        def element(value, variable):
            """That of a tensor: a number of an operator would be a constant, with a
            guard."""
            tensor = numbers_of.get(variable)
            if tensor is None:
                # What the compiler makes an operation on tensors alone.
                tensor = torch.ones((), dtype=torch.float64) * value
                numbers_of[variable] = tensor
            return recorder.load(tensor, ())

        def symbol(value):
            # What the graph computes of lengths, such as one minus 1.
            if not isinstance(value, (torch.SymInt, torch.SymFloat)):
                return None
            return scalar(value, ("symbol", str(value)))

        recorder.symbol = symbol
        for position, value in enumerate(self._values):
            if not isinstance(value, torch.Tensor):
                yield Scalar(recorder, scalar(value, (self._name, position)))
            elif value.dim() == 0:
                # Its contents are not known here.
                yield Table(recorder, value)._element(())
            else:
                yield value


def _replace(
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
    """The operator of PyTorch with the mark, as one of ours; or, where a caller asks
    for that, as operations of PyTorch."""
    compile_options = _options.read(kernel_options["ATTN"], may_fall_back=True)
    without = compile_options._replace(fallback=None)
    functions = score_mod, block_mask[-1]
    inputs = score_inputs, mask_inputs
    mask = kernel_options.get("ATTN_MASK", 0)
    try:
        return _by_kernel(query, key, value, functions, inputs, scale, without, mask)
    except _reference.REASONS as error:
        if compile_options.fallback is None:
            raise
        _reference.warn(error)

    def of(function, inputs):
        function = _compat.without_checks(function)
        return lambda *values: function(*values, *inputs)

    out, lse = _reference.attention(
        query, key, value, *map(of, functions, inputs), scale
    )
    return out, lse, lse.new_empty(0)


def _by_kernel(query, key, value, functions, inputs, scale, compile_options, mask):
    """Those of `functions`, for scores and masks, read what is in `inputs`."""
    (score_mod, mask_mod), (score_inputs, mask_inputs) = functions, inputs
    numbers = []

    def traceable(function, inputs):
        function = _compat.without_checks(function)
        return lambda *values: function(
            *values, *inputs.traced(values[0]._recorder, numbers)
        )

    program = trace(
        traceable(score_mod, _Inputs("score", score_inputs)),
        traceable(mask_mod, _Inputs("mask", mask_inputs)),
        namespace="torch",
        device=query.device,
    )
    _captures.check(program, query)
    out, lse = operator(
        program, query, key, value, scale, compile_options, numbers, mask
    )
    return out, lse, lse.new_empty(0)


_compat.replace_operator("ATTN", _replace)
