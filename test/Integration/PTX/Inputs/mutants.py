"""Breaks the synchronisation of kernels, one instruction at a time, and expects
that the interpreter finds each error, and calls it by its name.

Usage: mutants.py SHARD/SHARDS
"""

import argparse
import re
import sys
import typing

import numpy

import cases_of_kernels
import gradients
import launch as launches
import layouts
import shards
from programs import Case
from ptx import Immediate, PtxError

_SCHEDULE = "#hopper.schedule<tile_m = {}, tile_n = 64, stages = 2, registers = {}, {}>"


class Test(typing.NamedTuple):
    """A kernel, on batches, heads, heads of keys, queries and keys.

    If not `all` of what is mutated changes something, it is because nobody waits for
    what is released last, where a CTA has one tile, or because waits for products
    follow each other.
    """

    variant: str
    schedule: str
    sizes: tuple = (1, 2, 1, 130, 150)
    all: bool = True
    # Names of mutations that change nothing.
    equal: tuple = ()
    # Of gradients, with heads of so many columns.
    gradients: int = 0


TESTS = [
    Test("causal", _SCHEDULE.format(128, 240, "longest_first, persistent, ping_pong")),
    Test("causal", _SCHEDULE.format(128, 232, "persistent, q_in_registers")),
    Test(
        "bias-bhij",
        _SCHEDULE.format(64, 208, "capture_stages = 2"),
        (1, 1, 1, 9, 264),
        all=False,
    ),
    Test(
        "full",
        _SCHEDULE.format(128, 208, "ping_pong, strided"),
        (1, 1, 1, 70, 264),
        all=False,
        # No tensor engine copies to shared memory.
        equal=("barrier not fenced",),
    ),
    # Rows of log-sum-exps and deltas, which threads read where copies write.
    Test(
        "causal",
        "#hopper.schedule<tile_m = 64, tile_n = 64, stages = 1, registers = 216,"
        " head_swizzle = 32, in_flight = 1,"
        " order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red]>",
        (1, 1, 1, 130, 64),
        all=False,
        gradients=64,
    ),
    # And numbers of work tiles, whose slots have several uses.
    Test(
        "causal",
        "#hopper.schedule<tile_m = 64, tile_n = 64, stages = 1, registers = 216,"
        " in_flight = 1, persistent,"
        " order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red]>",
        (1, 3, 3, 70, 130),
        all=False,
        gradients=64,
    ),
]
# In which order warps run, and how late copies are.
_RUNS = [(0, 1.0), (1, 0.5), (2, 0.0)]

_RACE = "race: "
_STUCK = "deadlock: "
_UNDER_WAY = "is a (result|factor) of a product under way|ends before its products"
_OVER = r"gets more than \d+ arrivals"
_NOBODY = "that nobody wrote"
_BYTES = r"bytes more than it expects|expects \d+ bytes"
_VALUES = "max error|NaN or infinite|d[qkv]: error"


class Mutation(typing.NamedTuple):
    """What is done to instructions of an opcode, and the errors that name it.

    `change(instruction)` gives another one, or None for nothing; with `past` it
    moves down past the next instruction of that opcode instead. If not `all` of
    them change something, it is because other barriers order the same.
    """

    name: str
    opcode: str
    errors: str
    change: typing.Callable = lambda instruction: None
    past: str = ""
    all: bool = True


def _with_operand(number, function):
    def change(instruction):
        operands = list(instruction.operands)
        operands[number] = function(operands[number])
        return instruction._replace(operands=tuple(operands))

    return change


def _more(immediate):
    return Immediate(immediate.bits + 1)


def _further(address):
    """The rest of a tile, and what is after it."""
    base = address.base
    return address._replace(base=base._replace(offset=base.offset + 2048))


def _always(instruction):
    """A wait that ends at once."""
    to = instruction.operands[0]
    return instruction._replace(opcode="mov.pred", operands=(to, Immediate(1)))


def _of_phase(parity):
    return _with_operand(2, lambda _: Immediate(parity))


_ARRIVE = r"mbarrier\.arrive\.shared"
_EXPECT = r"mbarrier\.arrive\.expect_tx"
_TRY = r"mbarrier\.try_wait"
_INIT = r"mbarrier\.init"
_WAIT = r"wgmma\.wait_group"
_LOAD = r"cp\.async\.bulk\..*mbarrier"
_PHASES = f"{_STUCK}|{_RACE}|{_NOBODY}|{_OVER}|overrun|ends while"
MUTATIONS = [
    Mutation("arrival left out", _ARRIVE, _STUCK),
    Mutation("bytes left out", _EXPECT, f"{_STUCK}|{_BYTES}"),
    Mutation(
        "too few bytes",
        _EXPECT,
        f"{_STUCK}|{_BYTES}",
        _with_operand(2, lambda _: Immediate(16)),
    ),
    Mutation("wait left out", _TRY, _PHASES, _always, all=False),
    Mutation("wait for phase 0", _TRY, _PHASES, _of_phase(0), all=False),
    Mutation("wait for phase 1", _TRY, _PHASES, _of_phase(1), all=False),
    Mutation(
        "more arrivals", _INIT, _STUCK, _with_operand(1, lambda _: Immediate(999))
    ),
    Mutation(
        "fewer arrivals",
        _INIT,
        _PHASES,
        _with_operand(1, lambda _: Immediate(1)),
        all=False,
    ),
    Mutation("barrier not fenced", r"fence\.mbarrier_init", "has not been fenced"),
    Mutation("copy left out", _LOAD, f"{_STUCK}|{_BYTES}"),
    Mutation(
        "copy to another place",
        _LOAD,
        f"{_RACE}|{_NOBODY}|{_VALUES}|not in shared memory",
        _with_operand(0, _further),
    ),
    Mutation("product not waited for", _WAIT, f"{_UNDER_WAY}|{_RACE}"),
    Mutation(
        "one product too many under way",
        _WAIT,
        f"{_UNDER_WAY}|{_RACE}",
        _with_operand(0, _more),
    ),
    Mutation("release before the wait", _WAIT, f"{_UNDER_WAY}|{_RACE}", past=_ARRIVE),
    Mutation("group not closed", r"wgmma\.commit", f"{_UNDER_WAY}|{_RACE}"),
    Mutation(
        "product not fenced", r"wgmma\.fence", "used without a wgmma.fence", all=False
    ),
    Mutation("product left out", r"wgmma\.mma", f"{_VALUES}|nobody wrote"),
    Mutation("proxy not fenced", r"fence\.proxy", "race: .* or fenced from"),
    Mutation(
        "barrier left out",
        r"bar\.sync",
        f"{_RACE}|{_NOBODY}|{_STUCK}|initialized|there is no barrier|arrives twice",
    ),
    Mutation("turn not given", r"bar\.arrive", _STUCK),
    Mutation("threads apart", r"bar\.warp\.sync", _RACE, all=False),
    Mutation(
        "store not waited for",
        r"cp\.async\.bulk\.wait_group",
        f"{_RACE}|before its bulk stores",
        all=False,
    ),
    Mutation(
        "store in no group",
        r"cp\.async\.bulk\.commit",
        f"{_RACE}|before its bulk stores",
    ),
]


def _broken(entry, at, mutation):
    """The entry with a mutation, or None where there is none."""
    instructions = list(entry.instructions)
    one = instructions[at]
    if mutation.past:
        end = at + 1
        while not re.match(mutation.past, instructions[end].opcode):
            if instructions[end].opcode.startswith(("bra", "wgmma", "mbarrier")):
                return None
            end += 1
        instructions[at : end + 1] = instructions[at + 1 : end + 1] + [one]
    else:
        instructions[at] = mutation.change(one) or one._replace(
            opcode="membar.cta", operands=(), predicate=None
        )
    return entry._replace(instructions=instructions)


def _find_error(setting, compiled):
    for seed, late in _RUNS:
        try:
            setting.run(compiled, seed, blocks=1, late=late)
        except cases_of_kernels.FAILURES as error:
            return str(error)
    return None


class _Gradients:
    """Gradients of a variant, with their inputs."""

    def __init__(self, test):
        batches, heads, key_heads, *lengths = test.sizes
        shape = {"heads": heads, "key_heads": key_heads}
        shape.update(dim=test.gradients, value_dim=test.gradients)
        text = gradients.get_program(test.variant, shape, "qkv")
        self.compiled = launches.Program(text, test.schedule)
        options = argparse.Namespace(wrt="q,k,v", **shape)
        sizes = (batches, batches, *lengths)
        draw = numpy.random.default_rng(0)
        self._inputs = gradients.draw_inputs(test.variant, options, sizes, draw)

    def run(self, compiled, seed, blocks, late=1.0):
        return gradients.run([compiled], *self._inputs, seed, late=late)[2][0]


def _prepare(test):
    if test.gradients:
        setting = _Gradients(test)
        return setting, setting.compiled
    case = Case(layouts.VARIANTS[test.variant], "bf16", 64, 64, *test.sizes)
    compiled = cases_of_kernels.compile_case(case, test.schedule)
    return cases_of_kernels.Setting(case), compiled


def _check(test):
    setting, compiled = _prepare(test)
    used = setting.run(compiled, 0, blocks=1).used
    entry = compiled.entry(compiled.name)
    problems = []
    for mutation in MUTATIONS:
        found, missed = 0, []
        places = [
            (at, broken)
            for at in sorted(used)
            if re.match(mutation.opcode, entry.instructions[at].opcode)
            and (broken := _broken(entry, at, mutation)) is not None
        ]
        # Of a few, one alone may change something, and two may change nothing.
        for at, broken in shards.sample(places) if len(places) > 8 else places:
            one = entry.instructions[at]
            compiled.set_entry(compiled.name, broken)
            error = _find_error(setting, compiled)
            if error is None:
                missed.append(one.text)
            elif not re.search(mutation.errors, error):
                problems.append(f"{mutation.name}: {one.text}: {error}")
            else:
                found += 1
        print(f"{mutation.name}: {found} found, {len(missed)} not")
        is_needed = mutation.all and mutation.name not in test.equal
        if missed and is_needed and (test.all or not found):
            problems.append(f"{mutation.name} is not found: {'; '.join(missed)}")
    if problems:
        raise AssertionError("\n".join(problems))


if __name__ == "__main__":
    failures = (AssertionError, PtxError)
    sys.exit(shards.run("mutants", TESTS, sys.argv[1], _check, failures))
