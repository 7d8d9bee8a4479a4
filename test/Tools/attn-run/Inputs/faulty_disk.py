"""faulty_disk.py LIBRARY PROGRAM A.json B.json FOLDER: kills processes before
each change that they make to a tuning database or to the cache of kernels, and
lets the disk be full from each change on. Nothing is lost, half done, or wrong.
"""

import os
import pathlib
import shutil
import subprocess
import sys

library, program, *exports, folder = sys.argv[1:]
folder = pathlib.Path(folder)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir()
disk = folder / "disk"


def run(*command, fault=None, at=0, code=0, cache="off"):
    """What a command has written; `code` None is whatever comes."""
    environment = {**os.environ, "ATTN_CACHE_DIR": cache, "ATTN_LOG": "cache"}
    if fault:
        environment |= {"LD_PRELOAD": library, "ATTN_FAULT": fault}
        environment |= {"ATTN_FAULT_FOLDER": str(disk), "ATTN_FAULT_AT": str(at)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert code in (None, result.returncode), (command, result)
    return result


def begin(*files):
    shutil.rmtree(disk, ignore_errors=True)
    disk.mkdir()
    for file in files:
        shutil.copy(file, disk)


def database(command, *rest, path=disk / "tuning.db", **options):
    return run("attn-tune-db", command, f"--db={path}", *rest, **options)


def get_content():
    database("verify")
    database("export", str(folder / "content.json"))
    return (folder / "content.json").read_text()


def check_database(before, fault):
    """Merges an export into a database, or makes one; returns at how many
    changes that was disturbed."""
    begin(*before)
    old = get_content() if before else None
    database("import", exports[1])
    new = get_content()
    assert new != old
    at = 1
    while True:
        begin(*before)
        result = database("import", exports[1], fault=fault, at=at, code=None)
        if fault == "full":
            assert result.returncode == 0 or "disk is full" in result.stderr or (
                "unable to open" in result.stderr
            ), result
        if before:
            content = get_content()
            assert content in (old, new), (fault, at)
            assert (content == new) or result.returncode != 0, (fault, at)
        # And it can be written again.
        database("import", exports[1])
        assert get_content() == new, (fault, at)
        if result.returncode == 0:
            return at - 1
        at += 1


def check_cache(fault):
    """Runs a program with a cold cache; returns at how many changes that was
    disturbed."""
    command = ["attn-run", program, "--target=cpu", "--threads=1"]
    expected = run(*command).stdout
    at = 1
    while True:
        begin()
        result = run(*command, fault=fault, at=at, code=None, cache=str(disk))
        is_whole = "cache: kept" in result.stderr
        if fault == "full":
            # A cache only saves time.
            assert result.returncode == 0 and result.stdout == expected, result
        after = run(*command, cache=str(disk))
        assert after.stdout == expected, (fault, at)
        assert ("cache: hit" in after.stderr) or not is_whole, after.stderr
        if is_whole and result.returncode == 0:
            return at - 1
        at += 1


database("import", exports[0], path=folder / "tuning.db")
for fault in ["kill", "full"]:
    counts = (
        check_database([folder / "tuning.db"], fault),
        check_database([], fault),
        check_cache(fault),
    )
    print(fault, *counts)
    assert min(counts) > 1, counts
