"""Contenders on the same inputs: each checked, then all timed in turn."""

import statistics
import typing

from . import measure


class Contender(typing.NamedTuple):
    """`make()` is a function that computes its result; making it is not timed.
    `judge` knows what is right."""

    make: typing.Callable
    judge: typing.Any
    # Is not timed when it is wrong.
    is_ours: bool = False


def reason(error):
    """The first line of a message."""
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__


def _admit(contender, entry):
    """The function of a contender that may be timed, or None."""
    try:
        function = contender.make()
        errors = contender.judge.errors(function())
    # One contender that fails, in whatever way, is no reason to lose what
    # the others do.
    except Exception as error:
        entry["note"] = reason(error)
        return None
    entry["max_error"], entry["mean_error"] = errors
    entry["ok"] = contender.judge.accepts(errors)
    if contender.is_ours and not entry["ok"]:
        bound = contender.judge.bound
        entry["note"] = (
            f"WRONG: max error {errors.max:.3g}, mean {errors.mean:.3g}, where"
            f" {bound.max:.3g} and {bound.mean:.3g} are allowed"
        )
        return None
    return function


def run(contenders, timer, rounds):
    """For each of the named contenders its times, or a note why it has none; and
    the functions that were timed."""
    row, functions = {}, {}
    for name, contender in contenders.items():
        row[name] = {}
        function = _admit(contender, row[name])
        if function is not None:
            functions[name] = function
    if functions:
        times = measure.measure(timer, functions, rounds)
        for name, samples in times.items():
            row[name].update(ms=statistics.median(samples), samples=samples)
    return row, functions
