"""Traced values without their gradients, as PyTorch's detach() and no_grad() make
them. No program stops a gradient: where there is one, that is an error."""

from ._errors import TraceError
from ._region import operands

# The derivative of these is 0.
_FLAT = ("floor", "ceil", "trunc", "round", "sign")
_WAY_OUT = (
    "expects traced values that keep their gradients, but got one without, by detach()"
    " or torch.no_grad(), that depends on "
)


def record_without(recorder, is_on):
    """Lets what is recorded from now on have no gradient, or one again: as in a region
    of no_grad and behind it."""
    for name in ("op", "load", "reduce"):
        # Calls find these before those of the class, which cost nothing more.
        recorder.__dict__.pop(name, None)
        if is_on:
            setattr(recorder, name, _without(recorder, getattr(recorder, name)))


def _without(recorder, method):
    def record(*args):
        number = method(*args)
        stop(recorder, number)
        return number

    return record


def stop(recorder, number):
    """Checks that the value of a number has no gradient, or none as long as captures
    have none, which the recorder notes."""
    if not recorder.wants_gradient:
        # Another call may want one, and is to trace again.
        recorder.note(stop, (), None)
        return
    first, seen, left = recorder._arguments, set(), [number]
    while left:
        number = left.pop()
        if number in seen or recorder.kinds[number] != "F":
            continue
        seen.add(number)
        if number < first:
            raise recorder.refuse(
                TraceError(_WAY_OUT + "the score: no program stops a gradient there")
            )
        record = recorder.ops[number - first]
        if record[0] == "load":
            _stop_capture(recorder, record[1])
        elif record[0] not in _FLAT:
            left += operands(record)


def _stop_capture(recorder, number):
    tensor = recorder.captures[number].tensor
    if getattr(tensor, "requires_grad", False):
        raise recorder.refuse(
            TraceError(
                f"{_WAY_OUT}a captured tensor of {tuple(tensor.shape)}: detach that in"
                " front of the attention, and read what is detached"
            )
        )
    recorder.detached.add(number)
