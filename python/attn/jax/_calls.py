"""Calls of kernels as custom calls of XLA, and what they are in transformations of
JAX. The handler is in the library (include/attn-c/Xla.h), so that no Python runs in
a call."""

import functools
import struct
import threading
import typing

import jax
import jax.numpy as jnp
import numpy
from jax.custom_batching import custom_vmap

from .. import _native
from .._compile import on_clear_cache
from .._errors import LibraryNotFound, Unsupported
from ..trace import Variant

_TARGET = "attn"
# So many programs are kept as text; then all are forgotten.
_MOST = 1024
_texts = {}
_lock = threading.Lock()
_registered = False


def register():
    """Tells XLA of the handlers, once. Calls do so, and a process that only runs what
    jax.export has made has to."""
    global _registered
    with _lock:
        if _registered:
            return
        library = _native.library()
        if not hasattr(library, "attnXlaClear"):
            raise LibraryNotFound(
                "expects libattn.so to have handlers for XLA: it is an older one"
            )
        library.attnXlaClear.restype = None
        for platform, function in ("cpu", "attnXlaCpu"), ("CUDA", "attnXlaCuda"):
            pointer = jax.ffi.pycapsule(getattr(library, function))
            jax.ffi.register_ffi_target(_TARGET, pointer, platform=platform)
        on_clear_cache.append(_clear)
        _registered = True


def _clear():
    _texts.clear()
    _native.library().attnXlaClear()


class Call(typing.NamedTuple):
    """What of a call JAX does not trace.

    texts        the program without and with the log-sum-exp as a result
    numbers      those of the program as the handler reads them
    options      those of a compilation as the handler reads them
    lse          whether the log-sum-exp is asked for
    names        of the inputs that are tensors
    scored       of each of these whether the results depend on it by the score
    reads_batch  whether functions ask for the batch
    """

    texts: tuple[str, str]
    numbers: str
    options: str
    lse: bool
    names: tuple[str, ...]
    scored: tuple[bool, ...]
    reads_batch: bool

    def attributes(self, lse, wrt):
        """What the handler is told."""
        return {
            "program": self.texts[lse],
            "numbers": self.numbers,
            "options": self.options,
            "wrt": wrt,
        }


def attend(program, variant, tensors, numbers, options, lse):
    """The output, and the log-sum-exp if that is asked for, as a tuple."""
    register()
    at = program.key(), variant
    texts = _texts.get(at)
    if texts is None:
        located = program.located()
        texts = tuple(
            located.to_mlir(Variant(**{**vars(variant), "lse": x}))
            for x in (False, True)
        )
        if len(_texts) >= _MOST:
            _texts.clear()
        _texts[at] = texts
    scored = program.scored_captures()
    captures = range(len(program.captures))
    call = Call(
        texts,
        _encode(numbers, program.scalars),
        options,
        lse,
        ("q", "k", "v", *[f"t{n}" for n in captures]),
        (True, True, True, *[n in scored for n in captures]),
        program.reads(0),
    )
    return _jitted(call, _spread(tensors))


def _encode(numbers, slots):
    """16 hexadecimal digits for each number."""
    pairs = zip(numbers, slots)
    packed = [struct.pack(">d" if s.kind == "F" else ">q", x) for x, s in pairs]
    return b"".join(packed).hex()


def _spread(tensors):
    """Tensors that all differ between the devices of shard_map where some do, as
    the results and the gradients do."""
    axes = [_varying(x) for x in tensors]
    every = frozenset().union(*axes)
    return tuple(
        _vary(x, tuple(sorted(every - own))) if every - own else x
        for x, own in zip(tensors, axes)
    )


# Releases of JAX have different names for this.


def _varying(x):
    """The axes of shard_map that an array differs along."""
    aval = jax.typeof(x)
    kind = getattr(aval, "manual_axis_type", None)
    return getattr(aval, "vma", frozenset()) if kind is None else kind.varying


def _vary(x, axes):
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, axes, to="varying")
    return jax.lax.pvary(x, axes)


def _like(x, shape, dtype=None):
    """What a result is that differs between devices as x does."""
    options = {}
    if _varying(x):
        aval = jax.typeof(x)
        name = "vma" if hasattr(aval, "vma") else "manual_axis_type"
        options[name] = getattr(aval, name)
        spec = jax.sharding.PartitionSpec()
        options["sharding"] = jax.sharding.NamedSharding(aval.sharding.mesh, spec)
    return jax.ShapeDtypeStruct(shape, dtype or x.dtype, **options)


# ===----------------------------------------------------------------------===
# Gradients
# ===----------------------------------------------------------------------===


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(call, tensors):
    return _forward(call, call.lse)(*tensors)


def _attention_forward(call, tensors):
    values = tuple(x.value for x in tensors)
    out, lse = _once(_forward(call, True), values)
    # Whether gradients are wanted is a shape, which JAX knows when it traces the
    # other half, of an array without elements.
    wanted = jnp.zeros((*[int(x.perturbed) for x in tensors], 0), bool)
    return (out, lse) if call.lse else (out,), (values, out, lse, wanted)


def _attention_backward(call, kept, cotangents):
    values, out, lse, wanted = kept
    d_out, d_lse = (*cotangents, None)[:2]
    d_out, d_lse = _filled(d_out, out), _filled(d_lse, lse)
    wrt = tuple(
        n
        for n, x in enumerate(values)
        if wanted.shape[n]
        and call.scored[n]
        and jnp.issubdtype(x.dtype, jnp.floating)
    )
    # Others are 0, and nobody reads them. With None instead, releases of JAX before
    # 0.10 take results for different ones of the same function.
    gradients = [_zero(x) for x in values]
    if wrt:
        tensors = *values, out, lse, d_out, d_lse
        found = _once(_backward(call, wrt), tensors)
        for n, gradient in zip(wrt, found):
            gradients[n] = _placed_as(values[n], gradient)
    return (tuple(gradients),)


def _zero(x):
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.zeros_like(x)
    return numpy.zeros(x.shape, jax.dtypes.float0)


def _placed_as(x, gradient):
    """A gradient with the sharding that is part of the type of what it is of."""
    wanted = jax.typeof(x).sharding
    if jax.typeof(gradient).sharding.spec == wanted.spec:
        return gradient
    return jax.sharding.reshard(gradient, wanted)


def _filled(cotangent, like):
    if cotangent is None or isinstance(
        cotangent, jax.custom_derivatives.SymbolicZero
    ):
        return jnp.zeros_like(like)
    return cotangent


_attention.defvjp(_attention_forward, _attention_backward, symbolic_zeros=True)
# A call outside of jit is one of it, which JAX makes faster than single operations.
_jitted = jax.jit(_attention, static_argnums=0)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _once(function, tensors):
    """A call that is part of a gradient."""
    return function(*tensors)


@_once.defjvp
def _no_second(function, primals, tangents):
    raise Unsupported("expects a first gradient: attention has no second one")


# ===----------------------------------------------------------------------===
# Calls, and what they are over a dimension that vmap adds
# ===----------------------------------------------------------------------===


@functools.lru_cache(maxsize=_MOST)
def _forward(call, lse):
    """The function of q, k, v and captures that returns the output, and the
    log-sum-exp if `lse`."""

    @custom_vmap
    def run(*tensors):
        query, _, value = tensors[:3]
        results = [_like(query, (*query.shape[:3], value.shape[3]))]
        if lse:
            dtype = jnp.promote_types(query.dtype, jnp.float32)
            results.append(_like(query, query.shape[:3], dtype))
        return tuple(
            jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")(
                *tensors, **call.attributes(lse, "")
            )
        )

    @run.def_vmap
    def over(size, batched, *tensors):
        is_folded = not call.reads_batch and not any(batched[3:])
        return _over(run, size, batched, tensors, 3, is_folded)

    return run


@functools.lru_cache(maxsize=_MOST)
def _backward(call, wrt):
    """The function of q, k, v, captures, the results and the gradients of these that
    returns the gradients with respect to those of the numbers `wrt`."""
    names = "".join(f"{call.names[n]}," for n in wrt)
    count = len(call.names)

    @custom_vmap
    def run(*tensors):
        results = [_like(tensors[n], tensors[n].shape) for n in wrt]
        return tuple(
            jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential")(
                *tensors, **call.attributes(True, names)
            )
        )

    @run.def_vmap
    def over(size, batched, *tensors):
        is_folded = not (
            call.reads_batch or any(batched[3:count]) or any(n >= 3 for n in wrt)
        )
        # Those with a batch in front.
        tensors = *tensors[:3], *tensors[count:], *tensors[3:count]
        batched = *batched[:3], *batched[count:], *batched[3:count]

        def ordered(*x):
            return run(*x[:3], *x[7:], *x[3:7])

        return _over(ordered, size, batched, tensors, 7, is_folded)

    return run


def _over(run, size, batched, tensors, count, is_folded):
    """The results of each element of the first dimension of those that are
    `batched`, and that each has it. Where it may be folded, it becomes part of the
    batch, which the first `count` have; otherwise calls are one after the other."""
    batches = [x.shape[1 if b else 0] for x, b in zip(tensors[:count], batched)]
    # Keys and values may have one batch for all.
    is_folded = is_folded and len({*batches}) == 1
    if is_folded:
        folded = [
            (x if b else jnp.broadcast_to(x, (size, *x.shape))).reshape(
                -1, *x.shape[2 if b else 1 :]
            )
            for x, b in zip(tensors[:count], batched)
        ]
        results = run(*folded, *tensors[count:])
        results = tuple(x.reshape(size, batches[0], *x.shape[1:]) for x in results)
    else:
        looped = [x for x, b in zip(tensors, batched) if b]

        def one(elements):
            elements = iter(elements)
            return run(*[next(elements) if b else x for x, b in zip(tensors, batched)])

        results = jax.lax.map(one, looped)
    return results, (True,) * len(results)
