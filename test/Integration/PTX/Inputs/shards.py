"""Runs a part of a list of tests, as one of several processes that share it."""


def run(name, tests, shard, check, failures):
    """Calls `check` with each test of "number/count"; what it raises of `failures`
    is printed. The exit code of the process."""
    number, count = map(int, shard.split("/"))
    tests = tests[number::count]
    wrong = 0
    for test in tests:
        try:
            check(test)
        except failures as error:
            print(f"{test}: {error}")
            wrong += 1
    print(f"{name}: {len(tests)} tested, {wrong} wrong")
    return 1 if wrong or not tests else 0
