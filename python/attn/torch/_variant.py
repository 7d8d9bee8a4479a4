"""A score function and a mask that are traced once."""

import copy

import torch

from ..trace import TraceError, at_definition, trace
from ..trace._errors import ArityError
from ..trace._proxy import Scalar
from ..trace._recorder import Capture
from . import _captures as checks
from . import _compat, _frontend, _kernels, _options
from ._errors import InvalidArgument

# Of captures of so many shapes a Variant knows; then all are forgotten.
_MOST_BOUND = 512


def _kind(capture):
    """What of a capture a program may depend on."""
    if isinstance(capture, torch.Tensor):
        return capture.dtype, capture.shape, capture.stride(), capture.device
    return type(capture)


class _Bound:
    """Kernels, and where their arguments come from."""

    def __init__(self, found, sources, masked, detached):
        self.kernels = found
        # Which of the captures the mask reads, and which functions detach.
        self.masked = masked
        self.detached = detached
        # Of each argument: a position among the captures and what makes it of that
        # one, if it is not the same; or None and the value.
        self.sources = sources

    def arguments(self, captures):
        return [
            value if at is None else value(captures[at]) if value else captures[at]
            for at, value in self.sources
        ]


class Variant:
    """Attention with a score function and a mask, whose calls cost the least.

    score_mod       (score, b, h, q_idx, kv_idx, *captures) -> score, or None
    mask_mod        (b, h, q_idx, kv_idx, *captures) -> bool, or None
    scale           of scores, by default 1 / sqrt(E)
    kernel_options  as flex_attention has them

    A call is variant(query, key, value, *captures), with tensors that the
    functions read, and numbers. The functions are traced when captures of other
    dtypes or shapes come, and not at each call: what else they read stays as it
    was then. Of a capture, they read elements, and no view that they make
    themselves.

    >>> alibi = Variant(lambda s, b, h, i, j, slopes: s + slopes[h] * (j - i))
    >>> o = alibi(q, k, v, slopes)
    """

    def __init__(
        self, score_mod=None, mask_mod=None, *, scale=None, kernel_options=None
    ):
        for name, function in ("score_mod", score_mod), ("mask_mod", mask_mod):
            if function is not None and not callable(function):
                raise InvalidArgument(
                    f"expects {name} to be a function, but got {type(function).__name__}"
                )
        self._score_mod = score_mod
        self._mask_mod = mask_mod
        self._scale = scale
        self._kernel_options = kernel_options
        self._options = _options.read(kernel_options)
        self._bound = {}
        # The last kind of a call, and what there is for it.
        self._last = None, None
        self._shared = None

    def __getstate__(self):
        # A copy finds kernels for itself, and what it reads may be another thing.
        none = {"_bound": {}, "_last": (None, None), "_shared": None}
        return {**self.__dict__, **none}

    def prepare(self):
        """A Variant of the same functions for calls with one mask, as layers of a
        model have it: what the mask reads of their captures stays as it was in the
        first call, with such shapes, which finds out which tiles they need; the
        others do not, and results have the same bits. After a change, prepare
        again. See Mask.prepare.

        >>> layers = alibi.prepare()
        >>> for q, k, v in ...:
        ...     o = layers(q, k, v, slopes)
        """
        if torch.compiler.is_dynamo_compiling():
            # As for masks, nothing is prepared there.
            return Variant(
                self._score_mod,
                self._mask_mod,
                scale=self._scale,
                kernel_options=self._kernel_options,
            )
        prepared = copy.copy(self)
        prepared._shared = _kernels.Shared()
        return prepared

    def __call__(self, query, key, value, *captures, return_lse=False):
        """The output [B, Hq, L, Ev], and with return_lse the log-sum-exp
        [B, Hq, L]. Hq may be a multiple of Hkv, and the batch of keys be 1."""
        if torch.compiler.is_dynamo_compiling() or _compat.wants_operator(query):
            return self._in_graph(query, key, value, captures, return_lse)
        try:
            query, key, value = _frontend.cast(query, key, value)
            shape, device = query.shape, query.device
            at = (
                query.dtype,
                device,
                len(shape),
                shape[-1],
                value.shape[-1],
                key.shape[0] == 1 and shape[0] != 1,
                *map(_kind, captures),
            )
            last, bound = self._last
            if at != last:
                bound = self._bound.get(at)
                self._last = at, bound
        except (AttributeError, IndexError, KeyError, TypeError):
            # This says what is wrong, if something is.
            self._bind(query, key, value, captures)
            raise
        if bound is None:
            bound = self._bind(query, key, value, captures)
            if len(self._bound) >= _MOST_BOUND:
                self._bound.clear()
            self._bound[at] = bound
            self._last = at, bound
        if key.device != device or value.device != device:
            _frontend.check_tensors(query, key, value)
        for at in bound.masked:
            checks.check_mask(captures[at])
        for at in bound.detached:
            checks.check_detached(captures[at])
        arguments = bound.arguments(captures)
        out, lse = _frontend.call(
            bound.kernels, query, key, value, arguments, return_lse
        )
        return (out, lse) if return_lse else out

    def _in_graph(self, query, key, value, captures, return_lse):
        """As flex_attention does it, at each call."""
        query, key, value = _frontend.cast(query, key, value)
        _frontend.check_tensors(query, key, value)
        _frontend.check_shapes(query, key, value, None, True, any_batch=True)
        for capture in captures:
            # torch.compile is to see a number here: one that it has first seen in a
            # function, it does not know in another one.
            isinstance(capture, float)

        def with_captures(function):
            return function and (lambda *values: function(*values, *captures))

        functions = with_captures(self._score_mod), with_captures(self._mask_mod)
        out, lse = _frontend.dispatch(
            (query, key, value, *functions, self._scale),
            *(return_lse, self._options, self._kernel_options, self._shared),
        )
        return (out, lse) if return_lse else out

    def _bind(self, query, key, value, captures):
        _frontend.check_tensors(query, key, value)
        _frontend.check_shapes(query, key, value, None, True, any_batch=True)
        for capture in captures:
            if isinstance(capture, torch.Tensor):
                if capture.layout is not torch.strided:
                    raise InvalidArgument(
                        "expects captures to be dense, but got one of the layout"
                        f" {str(capture.layout).removeprefix('torch.')}"
                    )
                checks.check_device(capture, query)
            elif type(capture) not in (bool, int, float):
                raise InvalidArgument(
                    "expects captures to be tensors and numbers, but got"
                    f" {type(capture).__name__}"
                )
        # Each capture is one of its own while functions are traced, even if two
        # are the same tensor in this call.
        given = [_stand_in(capture) for capture in captures]
        slots = {}

        def traceable(function):
            if function is None:
                return None
            return lambda *values: _call(
                function, values, _traced(given, values[0], slots)
            )

        # Later calls may want gradients, though this one may not.
        with torch.enable_grad():
            program = trace(
                traceable(self._score_mod),
                traceable(self._mask_mod),
                namespace="torch",
                device=query.device,
            )

        def positions(numbers):
            tensors = [program.captures[n].tensor for n in numbers]
            return [n for n, x in enumerate(given) if any(x is y for y in tensors)]

        sources = []
        for capture, argument in zip(program.captures, _frontend.arguments(program, query)):
            tensor = capture.tensor
            position = next((n for n, x in enumerate(given) if x is tensor), None)
            if position is not None:
                sources.append((position, _maker(capture)))
            elif isinstance(tensor, torch.Tensor) and tensor.is_meta:
                raise InvalidArgument(
                    "expects functions of a Variant to read elements of captures, but"
                    f" got a tensor of {tuple(tensor.shape)} that is made of one: pass"
                    " that as a capture"
                )
            else:
                checks.check_device(tensor, query)
                sources.append((None, argument))
        for slot, number in enumerate(program.scalars):
            sources.append(
                (slots[slot], None) if slot in slots else (None, number.value)
            )
        found = _kernels.lookup(program, query, key, value, self._scale, self._options)
        if self._shared is not None:
            found = found.sharing(self._shared)
        masked, detached = map(positions, (program.masked_captures(), program.detached))
        return _Bound(found, sources, masked, detached)


def _maker(capture):
    """What makes an argument of a tensor in the place of a capture, without keeping
    that, or None."""
    if capture.is_as_given:
        return None
    return Capture(None, capture.dtype, capture.shape, capture.padded).passed


def _call(function, values, captures):
    try:
        return function(*values, *captures)
    except TypeError as error:
        # Of the call itself, and not of what the function does.
        if isinstance(error, TraceError) or error.__traceback__.tb_next is not None:
            raise
        is_score = len(values) == 5
        names = ["score"] * is_score + ["b", "h", "q_idx", "kv_idx"]
        names += [f"capture_{n}" for n in range(len(captures))]
        name = "score_mod" if is_score else "mask_mod"
        text = f"expects {name}({', '.join(names)}): {error}"
        raise at_definition(function, text, ArityError) from error


def _stand_in(capture):
    """A capture without contents."""
    if not isinstance(capture, torch.Tensor):
        return capture
    return torch.empty_strided(
        capture.shape, capture.stride(), dtype=capture.dtype, device="meta"
    )


def _traced(given, value, slots):
    """The captures of a call as functions see them, next to a traced value.
    `slots` gets which of the scalars of the program is which number."""
    recorder, captures = value._recorder, []
    for position, capture in enumerate(given):
        if not isinstance(capture, torch.Tensor):
            # One scalar for the score and the mask.
            number = recorder.scalar(capture, variable=("capture", position))
            slots[recorder.ops[number - recorder._arguments][1]] = position
            capture = Scalar(recorder, number)
        captures.append(capture)
    return captures
