"""Kills attn-run --tune at many moments; the database stays right, and the
files of the tunings that were killed go with the next one."""

import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

program, database, folder = sys.argv[1:]
folder = pathlib.Path(folder)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir()
environment = {**os.environ, "ATTN_TUNING_DB": database, "TMPDIR": str(folder)}
command = ["attn-run", program, "--target=cpu", "--tune=0.3"]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def stale():
    return list(folder.glob("attn-tune-*"))


# Those of a tuning that goes on elsewhere stay.
alive = folder / "attn-tune-alive"
alive.mkdir()
(alive / "file").touch()
lock = os.open(alive, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)

# One killed before it had a file leaves a folder that is empty.
(folder / "attn-tune-empty").mkdir()

start = time.monotonic()
subprocess.run(command, env=environment, check=True, **quiet)
whole = time.monotonic() - start
assert stale() == [alive], stale()
most = num_with_files = 0
for number in range(12):
    run = subprocess.Popen(command, env=environment, **quiet)
    if number % 2 == 0:
        time.sleep(whole * number / 12)
    else:
        # When it has files, which may be late.
        known = set(stale())
        while run.poll() is None and set(stale()) <= known:
            time.sleep(0.002)
        time.sleep(0.01 * number)
    count = len(stale())
    most = max(most, count)
    num_with_files += count > 1
    run.send_signal(signal.SIGTERM if number % 4 == 0 else signal.SIGKILL)
    run.wait()
    verify = ["attn-tune-db", "verify", "--db", database]
    subprocess.run(verify, check=True, **quiet)
# Files of the one before go with the next one, so that there are never many.
assert most <= 3 and num_with_files > 0, (most, num_with_files)
subprocess.run(command, env=environment, check=True, **quiet)
assert stale() == [alive], stale()
subprocess.run(verify, check=True)
