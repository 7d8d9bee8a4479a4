"""Kills attn-run --tune at many moments; the database stays right, and the
files of the tunings that were killed go with the next one."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

program, database, folder = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir()
environment = {**os.environ, "ATTN_TUNING_DB": database, "TMPDIR": str(folder)}
command = ["attn-run", program, "--target=cpu", "--tune=1"]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def stale():
    return list(folder.glob("attn-tune-*"))


# Those of a tuning that goes on elsewhere stay.
alive = folder / "attn-tune-alive"
alive.mkdir()
(alive / "file").touch()
lock = os.open(alive, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)

start = time.monotonic()
subprocess.run(command, env=environment, check=True, **quiet)
whole = time.monotonic() - start
assert stale() == [alive], stale()
most = 0
for number in range(20):
    run = subprocess.Popen(command, env=environment, **quiet)
    time.sleep(whole * number / 20)
    most = max(most, len(stale()))
    run.send_signal(signal.SIGTERM if number % 4 == 0 else signal.SIGKILL)
    run.wait()
    verify = ["attn-tune-db", "verify", "--db", database]
    subprocess.run(verify, check=True, **quiet)
# That of one before was found and removed, so that there were never many.
assert 1 < most <= 3, most
subprocess.run(command, env=environment, check=True, **quiet)
assert stale() == [alive], stale()
subprocess.run(verify, check=True)
