"""Kills attn-run --tune at several moments; the database stays right."""

import os
import subprocess
import sys
import time

program, database = sys.argv[1:]
environment = {**os.environ, "ATTN_TUNING_DB": database}
for seconds in (0.1, 0.4, 0.9, 1.1):
    run = subprocess.Popen(
        ["attn-run", program, "--target=cpu", "--tune=1"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    run.kill()
    run.wait()
    subprocess.run(["attn-tune-db", "verify", "--db", database], check=True)
