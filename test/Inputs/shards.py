"""Parts of long lists of tests: samples that change with the commit, and shares of
processes that run side by side.

ATTN_TEST_SHARE is the share of a list that runs, one in so many; 1 runs all.
ATTN_TEST_TURN says which one. Files of folders that take long take turns as
well, a third of them for so many turns, so that 3 * ATTN_TEST_SHARE turns in a row
run each test once.
"""

import math
import os
import random
import sys

SHARE = max(1, int(os.environ.get("ATTN_TEST_SHARE", "4")))
TURN = int(os.environ.get("ATTN_TEST_TURN", "0"))


def count(total, share=None):
    """How many of so many tests a sample has."""
    return math.ceil(total / (share or SHARE))


def sample(tests, kind="", share=None, turn=None):
    """One of `share` tests of a kind, in their order: those whose turn it is."""
    share, turn = share or SHARE, TURN if turn is None else turn
    # Neighbours, which are alike, have different turns, and so have kinds.
    draw = random.Random(kind)
    order = draw.sample(range(len(tests)), len(tests))
    part = count(len(tests), share)
    first = (turn + draw.randrange(share)) % share * part
    chosen = {order[n % len(tests)] for n in range(first, first + part)}
    return [tests[number] for number in sorted(chosen)]


def resting(folder):
    """The test files of a folder whose turn it is not: two thirds of them, unless all
    tests run, and without those that the command line names."""
    names = sorted(x for x in os.listdir(folder) if x.endswith((".mlir", ".test", ".py")))
    named = {os.path.basename(argument) for argument in sys.argv}
    # While a file has its turn, all of the lists in it have theirs.
    chosen = sample(names, os.path.basename(folder), min(SHARE, 3), TURN // SHARE)
    return set(names) - set(chosen) - named


def sample_each(tests, kind):
    """Samples of the tests of each kind, in their order: one of each at least."""
    kinds = {}
    for number, test in enumerate(tests):
        kinds.setdefault(kind(test), []).append(number)
    chosen = []
    for name, numbers in kinds.items():
        chosen += sample(numbers, str(name))
    return [tests[number] for number in sorted(chosen)]


def part(tests, shard):
    """The tests of one of several processes, "number/count"."""
    number, processes = map(int, shard.split("/"))
    return tests[number::processes]


def run(name, tests, shard, check, failures):
    """Calls `check` with each test of a process; what it raises of `failures` is
    printed. The exit code of the process."""
    tests = part(tests, shard)
    wrong = 0
    for test in tests:
        try:
            check(test)
        except failures as error:
            print(f"{test}: {error}")
            wrong += 1
    print(f"{name}: {len(tests)} tested, {wrong} wrong")
    return 1 if wrong or not tests else 0
