"""What differs between versions of PyTorch, and what has no public name there."""

import math
import operator
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.nn.attention import flex_attention as flex
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

AuxRequest, AuxOutput = flex.AuxRequest, flex.AuxOutput
BlockMask = flex.BlockMask
create_mask = flex.create_mask
# What stands for "no mask": one block of this size.
NO_BLOCKS = 1 << 30
# The function of a mask that allows all.
noop_mask = flex.noop_mask
# That of a slice of a BlockMask, which raises; None where slices keep theirs.
sliced_mask_mod = getattr(flex, "_sliced_mask_mod_error", None)


_profiler = torch.autograd.profiler
VERSION = tuple(int(x) for x in torch.__version__.split(".")[:2])


def is_fake(tensor):
    """Whether a tensor has no contents, as where a graph is made."""
    # The first is most, and soon told.
    return type(tensor) is not torch.Tensor and isinstance(
        tensor, (FakeTensor, FunctionalTensor)
    )


def wants_operator(tensor):
    """Whether a call is part of a graph that is made, or a mode sees operators: then
    it has to be one."""
    return is_fake(tensor) or torch._C._len_torch_dispatch_stack() > 0


def is_overridden(tensors):
    """Whether a mode or a class of one of the tensors takes calls of functions."""
    return (
        torch.overrides.has_torch_function(tensors)
        and not torch.compiler.is_dynamo_compiling()
    )


def is_varlen_request(value):
    """Whether this is what torch.nn.attention.varlen asks with for more than the
    output, a class of its own. Whoever has one has loaded that module."""
    return type(value).__module__ == "torch.nn.attention.varlen"


# Whether there is a region of autocast for some device, which is soon told.
may_cast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


def is_batched(tensor):
    """Whether a tensor is a batch of torch.autograd, which is none of torch.func."""
    return (
        not torch.compiler.is_dynamo_compiling()
        and torch._C._functorch.is_legacy_batchedtensor(tensor)
    )


# Whether a function of torch.func is at work.
is_transformed = torch._C._are_functorch_transforms_active


def of_all_pairs(function, indices, *scores):
    """A score function of the scores of all pairs, or a mask function: what it is
    for indices of batches, heads, queries and keys, which are vectors."""
    mapped = flex._vmap_for_bhqkv(function, prefix=(0,) * len(scores))
    with _IndexByTensors():
        return mapped(*scores, *indices)


class _IndexByTensors(torch.overrides.TorchFunctionMode):
    """Lets `table[i, j]` be an operation on the tensors i and j, and not on what
    is in them, which torch.func.vmap does not allow."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.__getitem__:
            table, at = args
            at = at if isinstance(at, tuple) else (at,)
            if all(isinstance(x, (int, torch.Tensor)) for x in at):
                at = [torch.as_tensor(x, device=table.device) for x in at]
                return torch.ops.aten.index(table, at)
        return function(*args, **(kwargs or {}))


def is_profiled():
    """Whether a profile is made."""
    return _profiler._is_profiler_enabled


# torch.autograd.Function without what torch.func needs, which takes a while.
OuterFunction = getattr(
    torch.autograd.function, "_SingleLevelFunction", torch.autograd.Function
)


def global_offset(tensor):
    """Where the part of this rank begins in a DTensor, by dimensions."""
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    return compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements
    )[1]


def partial():
    """The placement of a sum of what ranks have."""
    from torch.distributed.tensor import Partial

    return Partial()


def register_flops():
    """Tells how many operations the operators take, where PyTorch counts them."""
    counter = sys.modules.get("torch.utils.flop_counter")
    # Loading it may take long.
    if counter is None or torch.ops.attn.forward in counter.flop_registry:
        return

    @counter.register_flop_formula(torch.ops.attn.forward)
    def forward(inputs, *_, **__):
        query, key, value = inputs[:3]
        # Of all pairs, as PyTorch counts its own attention.
        pairs = math.prod(query[:3]) * key[2]
        return 2 * pairs * (query[3] + value[3])

    @counter.register_flop_formula(torch.ops.attn.backward)
    def backward(inputs, *rest, **__):
        query, key, value = inputs[:3]
        pairs = math.prod(query[:3]) * key[2]
        wants_query, wants_key, wants_value = rest[8][:3]
        # Scores and what comes for probabilities, and a product for each.
        return 2 * pairs * (
            query[3] * (1 + wants_query + wants_key) + value[3] * (1 + wants_value)
        )

    # Counters that are at work have what there was when they were made.
    for mode in _get_current_dispatch_mode_stack():
        if isinstance(mode, counter.FlopCounterMode):
            for ours in torch.ops.attn.forward, torch.ops.attn.backward:
                mode.flop_registry[ours] = counter.flop_registry[ours]


def current_stream(device):
    """The stream of CUDA that PyTorch works on, as an integer."""
    return torch._C._cuda_getCurrentRawStream(device.index)


def is_current(device):
    """Whether a device of CUDA is the current one."""
    return torch._C._cuda_getDevice() == device.index


def empty_strided(kind):
    """What makes a new tensor of a shape, strides and a dtype on the current device
    of a kind, "cpu" or "cuda". That of code which PyTorch's compiler generates takes
    tuples, and half as long as the public one, as it asks no dispatcher."""
    found = getattr(torch._C._dynamo.guards, f"_empty_strided_{kind}", None)
    if found is not None:
        return found
    return lambda shape, strides, dtype: torch.empty_strided(
        shape, strides, dtype=dtype, device=kind
    )


# ===----------------------------------------------------------------------===
# The operator of FlexAttention, which torch.compile knows
# ===----------------------------------------------------------------------===

_operator = torch.ops.higher_order.flex_attention


def first(index):
    """0 in the place of an index: before PyTorch 2.11, graphs of functions take no
    index that is a number."""
    return 0 if VERSION >= (2, 11) else index * 0


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


def plain_graph(function):
    """The function of an operator, whose calls may take and return values that are
    traced. For torch.export, which makes a Function of autograd of reads at indices,
    and tensors of indices that are numbers, whose contents it then loses."""
    graph = getattr(function, "graph", None)
    changed = False
    for node in getattr(graph, "nodes", ()):
        if getattr(node.target, "_name", None) == "flat_apply":
            # (what is called, how the rest is packed, its name, table, indices ...)
            table, *indices = node.args[3:]
            node.target, node.kwargs = operator.getitem, {}
            node.args = table, tuple(indices)
            changed = True
        if node.target is operator.getitem and isinstance(node.args[1], tuple):
            changed |= _select_first(graph, node)
    if changed:
        graph.eliminate_dead_code()
        function.recompile()
    return function


def _select_first(graph, node):
    """Makes `table[2, i]` of a graph `table.select(0, 2)[i]`. Returns whether there
    was such a number."""
    table, indices = node.args
    rest = [x for x in indices if isinstance(x, torch.fx.Node)]
    numbers = [(dim, x) for dim, x in enumerate(indices) if type(x) is int]
    if not (numbers and rest) or len(numbers) + len(rest) != len(indices):
        return False
    with graph.inserting_before(node):
        for dim, number in reversed(numbers):
            table = graph.call_method("select", (table, dim, number))
    node.args = table, tuple(rest)
    return True


def replace_operator(mark, replacement):
    """Lets calls of the operator whose kernel_options have `mark` be calls of
    `replacement`, with the same arguments: (query, key, value, score_mod, block_mask,
    scale, kernel_options, ...)."""
    untraced = None

    def replaced(*arguments):
        nonlocal untraced
        # Where the compiler has given up a graph, it would go on with our code. Not
        # at the top: this imports it.
        untraced = untraced or torch.compiler.disable(replacement)
        return untraced(*arguments)

    at = torch._C.DispatchKey.Autograd
    original = _operator.py_kernels[at]

    def choose(*arguments):
        return (replaced if mark in arguments[6] else original)(*arguments)

    _operator.py_kernels[at] = choose
    # Graphs in graphs, such as those of torch.cond, come here without gradients.
    of_mode = _operator.python_key_table[FunctionalTensorMode]

    def choose_in_mode(mode, *arguments):
        if mark not in arguments[6]:
            return of_mode(mode, *arguments)
        with mode:
            return replaced(*arguments)

    _operator.python_key_table[FunctionalTensorMode] = choose_in_mode
    _operator._dispatch_cache.clear()
    _let_pass(mark)


def _let_pass(mark):
    """Lets calls of the operator with the mark take numbers of floats, which PyTorch
    has no kernel for."""
    kind = type(_operator)
    checked = kind.__call__

    def call(self, *args, **kwargs):
        # Only calls with all by its place have the mark.
        if len(args) > 6 and mark in args[6]:
            # That of the class above checks nothing.
            return super(kind, self).__call__(*args, **kwargs)
        return checked(self, *args, **kwargs)

    kind.__call__ = call


def is_known(condition):
    """Whether a condition holds. One on symbols of a graph is a guard; where nothing
    tells, as of lengths that the graph itself computes, it does not."""
    if isinstance(condition, bool):
        return condition
    # Not at the top: it imports SymPy.
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return guard_or_false(condition)


def example(symbol, kind):
    """A number that a symbol may be: that of the call which is traced, if it is
    known."""
    hint = symbol.node.hint if symbol.node.has_hint() else None
    return kind(2 if hint is None else hint)
