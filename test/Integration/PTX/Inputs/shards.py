"""Runs a part of a list of tests, as one of several processes that share it."""

import os
import random


def sample(tests, seed=0):
    """One of ATTN_TEST_SHARE tests, always the same ones; all if it is not set."""
    share = int(os.environ.get("ATTN_TEST_SHARE", "1"))
    count = -(-len(tests) // share)
    chosen = sorted(random.Random(seed).sample(range(len(tests)), count))
    return [tests[number] for number in chosen]


def sample_each(tests, kind):
    """Samples of the tests of each kind, in their order: one of each at least."""
    kinds = {}
    for number, test in enumerate(tests):
        kinds.setdefault(kind(test), []).append(number)
    chosen = []
    for name, numbers in kinds.items():
        # Not always the same of each.
        chosen += sample(numbers, str(name))
    return [tests[number] for number in sorted(chosen)]


def run(name, tests, shard, check, failures, whole=False):
    """Calls `check` with each test of "number/count", or with a sample of them unless
    they are `whole`; what it raises of `failures` is printed. The exit code of the
    process."""
    number, count = map(int, shard.split("/"))
    tests = tests[number::count]
    tests = tests if whole else sample(tests)
    wrong = 0
    for test in tests:
        try:
            check(test)
        except failures as error:
            print(f"{test}: {error}")
            wrong += 1
    print(f"{name}: {len(tests)} tested, {wrong} wrong")
    return 1 if wrong or not tests else 0
