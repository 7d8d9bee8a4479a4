"""Runs 64 attn-run at once on a cold cache, of which one is killed."""

import os
import shutil
import subprocess
import sys
import time

program, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
environment = {**os.environ, "ATTN_CACHE_DIR": folder, "ATTN_LOG": "cache"}
command = ["attn-run", program, "--target=cpu", "--threads=1"]


def start():
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# One is killed while it compiles, if it has come so far.
victim = start()
time.sleep(0.05)
runs = [start() for _ in range(64)]
victim.kill()
victim.communicate()
outputs = [run.communicate() for run in runs]
assert all(run.returncode == 0 for run in runs), outputs
assert len({output for output, _ in outputs}) == 1
logs = "".join(log for _, log in outputs)
misses, hits = logs.count("cache: miss"), logs.count("cache: hit")
assert misses + hits == 64 and misses <= 2, logs
assert not any(name.startswith(("lock-", "new-")) for name in os.listdir(folder))
