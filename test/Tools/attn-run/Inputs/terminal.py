"""terminal.py COMMAND...: runs a command whose stderr is a terminal; prints its
exit code, and what it wrote there as a Python literal in single quotes."""

import os
import pty
import subprocess
import sys

leader, follower = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=follower)
os.close(follower)
output = b""
while True:
    try:
        chunk = os.read(leader, 4096)
    except OSError:
        break
    if not chunk:
        break
    output += chunk
print(process.wait())
print("'" + output.decode().encode("unicode_escape").decode() + "'")
