"""A worker whose parent has died before it began ends, whatever it could read."""

import os
import subprocess

# Its input goes on, and nobody reads its answers.
reader, writer = os.pipe()
os.close(reader)
with subprocess.Popen(
    ["attn-run", "--tune-worker"], stdin=subprocess.PIPE, stdout=writer
) as worker:
    os.close(writer)
    try:
        assert worker.wait(timeout=60) == 0
    finally:
        worker.kill()
