"""Checks what ptxas -v says on standard input: no function spills, or has memory on
a stack, and there is no warning of what makes a kernel slow.

Usage: ptxas -v ... 2>&1 | spills.py [BYTES]

Functions may spill so many bytes.
"""

import sys

import check


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    try:
        check.check_log(sys.stdin.read(), most)
    except check.Mismatch as mismatch:
        sys.exit(str(mismatch))


main()
