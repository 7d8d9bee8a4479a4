"""flex_attention where torch.compile traces it.

PyTorch's compiler takes the functions of flex_attention apart itself, when its
own operator `flex_attention` is called: what they read becomes arguments of the
graph. So that is what is called here, with a mark; and where an operator with
the mark is about to be computed, or becomes part of a graph of autograd, it is
replaced by attn::forward.
"""

import torch

from ..trace import Variant, log_program, trace_as
from ..trace._proxy import Scalar, Table
from . import _captures, _compat, _kernels, _options, _reference


def dispatch(
    query,
    key,
    value,
    score_mod,
    mask_mod,
    scale,
    kernel_options=None,
    shared=None,
    dropout=None,
):
    """The output and the log-sum-exp, as the compiler sees it."""
    # They are read where the operator is replaced.
    options = {"ATTN": {} if kernel_options is None else kernel_options}
    if shared is not None:
        options["ATTN_MASK"] = shared.number
    if dropout is not None:
        dropout_p, seed, offset = dropout
        # It is a constant of the program. A key is one of a graph as well, with a
        # guard, where it was a symbol.
        (dropout_p,) = {dropout_p: None}
        options["ATTN_DROPOUT"] = dropout_p, seed, offset
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
    # Places in code that PyTorch has generated are of no use.
    program.relocate = None
    variant = _kernels.variant_of(query, key, value, scale)
    wanted = Variant(**dict(variant), lse=True)
    text = program.to_mlir(wanted)
    for capture in program.captures:
        for dim in capture.fixed:
            # What is part of the program is no longer a symbol.
            int(capture.shape[dim])
    count = len(program.captures)
    arguments = program.arguments(wanted)
    values = {**dict(enumerate(arguments[count:])), **dict(numbers)}
    numbers = [
        (kind == "F", values[slot]) for slot, (kind, _) in enumerate(program.scalars)
    ]
    tensors = query, key, value, *arguments[:count]
    return torch.ops.attn.forward(
        *_kernels.as_operands(tensors, numbers, mask, text, compile_options)
    )


class _Symbols:
    """What a recorder asks for values that are symbols of a graph, such as lengths
    and what it computes of these. `numbers` gets scalars of the program, with their
    values."""

    def __init__(self, recorder, numbers):
        self._recorder = recorder
        self._numbers = numbers
        self._tensors = {}

    def __call__(self, value):
        """The number of a value that is a symbol, or None."""
        if not isinstance(value, (torch.SymInt, torch.SymFloat)):
            return None
        return self.scalar(value, ("symbol", str(value)))

    def scalar(self, value, variable):
        """The number of a value of the graph, which has a name."""
        recorder = self._recorder
        if isinstance(value, torch.SymFloat):
            return self._element(value, variable)
        kind = float if isinstance(value, float) else int
        # Nothing depends on what it is.
        example = value if isinstance(value, kind) else _compat.example(value, kind)
        number = recorder.scalar(example, variable=variable)
        self._numbers.append((recorder.ops[number - recorder._arguments][1], value))
        return number

    def _element(self, value, variable):
        """That of a tensor: a number of an operator would be a constant, with a
        guard."""
        tensor = self._tensors.get(variable)
        if tensor is None:
            # What the compiler makes an operation on tensors alone.
            tensor = torch.ones((), dtype=torch.float64) * value
            self._tensors[variable] = tensor
        return self._recorder.load(tensor, ())


def _traced(recorder, name, values):
    """What the graph of a function reads, for a call of the function."""
    for position, value in enumerate(values):
        if not isinstance(value, torch.Tensor):
            yield Scalar(recorder, recorder.symbol.scalar(value, (name, position)))
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
    dropout = kernel_options.get("ATTN_DROPOUT")
    try:
        traced = map(_with_inputs, functions, ("score", "mask"), inputs)
        out, lse = by_kernel(query, key, value, traced, scale, without, mask, dropout)
        return out, lse, lse.new_empty(0)
    except _reference.REASONS as error:
        if compile_options.fallback is None or dropout is not None:
            raise
        _reference.warn(error)

    def of(function, inputs):
        function = _compat.plain_graph(function)
        return lambda *values: function(*values, *inputs)

    out, lse = _reference.attention(
        query, key, value, *map(of, functions, inputs), scale
    )
    return out, lse, lse.new_empty(0)


def _with_inputs(function, name, inputs):
    """A function of a graph that reads what is in `inputs`."""
    function = _compat.plain_graph(function)
    return lambda *values: function(
        *values, *_traced(values[0]._recorder, name, inputs)
    )


def by_kernel(
    query, key, value, functions, scale, compile_options, mask=0, dropout=None
):
    """The output and the log-sum-exp by attn::forward. `functions` are those for
    scores and masks, which may be None."""
    numbers = []
    program = trace_as(
        *(*functions, "torch", query.device),
        symbols_of=lambda recorder: _Symbols(recorder, numbers),
    )
    log_program(program)
    if dropout is not None:
        program = program.with_dropout(*dropout)
    _captures.check(program, query)
    captured = [capture.tensor for capture in program.captures]
    _captures.check_tangents((query, key, value, *captured))
    return operator(program, query, key, value, scale, compile_options, numbers, mask)


_compat.replace_operator("ATTN", _replace)
