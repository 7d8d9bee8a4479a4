"""Runs the Python sessions that a page of documentation shows.

Usage: check_sessions.py PAGE.md

Each block fenced as ```pycon holds statements behind `>>> ` and what they print,
as doctest has it, with `...` for any text. The blocks of a page are one session.
"""

import doctest
import re
import sys

FENCE = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as page:
        text = page.read()
    # What is between the blocks becomes empty lines, for the numbers of lines.
    blocks, end = "", 0
    for match in FENCE.finditer(text):
        blocks += "\n" * text.count("\n", end, match.start(1)) + match.group(1)
        end = match.end(1)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(blocks, {}, path, path, 0)
    if not test.examples:
        sys.exit(f"{path}: no sessions")
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    print(f"{result.attempted - result.failed} of {result.attempted} as shown")
    sys.exit(1 if result.failed else 0)


main()
