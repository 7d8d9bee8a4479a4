"""Tuning on the device: what it finds gives right results and is taken by later
kernels, candidates that fail do not end it, and nothing damages the database."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import pytest

import attn
import cases
import programs
import running

# Causal, and with a bias for each pair.
_NAMES = ["causal", "bias-hij"]
_SIZES = (1, 4, 2, 1024, 1024)
# Of a CPU, which takes long to run what a GPU does in no time.
_SMALL_SIZES = (1, 2, 1, 129, 129)


@pytest.fixture(autouse=True)
def database(tmp_path, monkeypatch):
    """A database of its own, for kernels that no other test has compiled."""
    path = tmp_path / "tuning.db"
    monkeypatch.setenv("ATTN_TUNING_DB", str(path))
    attn.clear_cache()
    yield path
    # Nor do kernels of this one outlive its database.
    attn.clear_cache()


@pytest.fixture
def tool():
    """Runs one of the programs beside the library."""

    def run(name, *arguments):
        program = running.find_tool(name)
        if program is None:
            pytest.skip(f"needs {name}; ATTN_RUN may name attn-run beside it")
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _make(backend, name, seed):
    sizes = _SIZES if backend.target == "cuda" else _SMALL_SIZES
    case = cases.make_case(name, sizes=sizes, seed=seed)
    return running.compile_kernel(case.kernel, backend.target), running.Inputs(
        backend, case
    )


def _recompile(backend, inputs):
    attn.clear_cache()
    return running.compile_kernel(inputs.case.kernel, backend.target)


def _taken(kernel, arguments):
    """The schedule that a call runs."""
    explained = kernel.explain(*arguments)
    if "kernels" in explained:
        return {one["schedule"] for one in explained["kernels"] if one["isTaken"]}
    # On a CPU the compiler's own are told, of which none runs where one is tuned.
    own = {one["schedule"] for one in explained["schedules"] if one["isTaken"]}
    return own or {one["schedule"] for one in explained["tuned"] if one["isTaken"]}


@pytest.mark.parametrize("name", _NAMES)
def test_tune(backend, seed, name):
    kernel, inputs = _make(backend, name, seed)
    arguments = inputs.arguments(inputs.tensors)
    reference = inputs.reference()
    assert inputs.explain(inputs.run(kernel), reference) is None
    assert kernel.explain(*arguments)["source"] == "model"
    untuned = _taken(kernel, arguments)

    report = kernel.tune(*arguments, seconds=8)
    assert report["kept"], report
    tried = [trial for trial in report["trials"][1:] if trial["seconds"] > 0]
    assert tried, report
    # None of ours is wrong, whatever it takes.
    wrong = [trial for trial in report["trials"] if "results" in trial["verdict"]]
    assert not wrong, wrong
    assert report["seconds"] <= report["untunedSeconds"]

    for tuned in (kernel, _recompile(backend, inputs)):
        explained = tuned.explain(*arguments)
        assert explained["source"] == "exact"
        (entry,) = explained["tuned"]
        assert entry["isTaken"]
        assert entry["schedule"] == report["schedule"]
        expected = {report["schedule"]} if report["schedule"] else untuned
        assert _taken(tuned, arguments) == expected
        assert inputs.explain(inputs.run(tuned), reference) is None


def test_schedules_of_a_database(backend, seed, database, tool, tmp_path):
    """A later kernel runs what the database says, here candidates that were
    measured, whether they have won or not."""
    kernel, inputs = _make(backend, "causal", seed)
    arguments = inputs.arguments(inputs.tensors)
    report = kernel.tune(*arguments, seconds=8)
    others = [
        trial["schedule"]
        for trial in report["trials"][1:]
        # Those on fewer threads have them in their names.
        if trial["seconds"] > 0 and trial["schedule"].endswith(">")
    ]
    assert others, report
    reference = inputs.reference()
    export = tmp_path / "export.json"
    tool("attn-tune-db", "export", f"--db={database}", export)
    value = json.loads(export.read_text())
    for schedule in others[:3]:
        (entry,) = value["entries"]
        # An import takes what is newer.
        entry.update(schedule=schedule, threads=0, time=entry["time"] + 1)
        export.write_text(json.dumps(value))
        text = tool("attn-tune-db", "import", f"--db={database}", export)
        assert "took over 1 entries" in text
        other = _recompile(backend, inputs)
        assert other.explain(*arguments)["source"] == "exact"
        assert _taken(other, arguments) == {schedule}
        assert inputs.explain(inputs.run(other), reference) is None


def test_candidates_that_fail(backend, seed, tmp_path, monkeypatch):
    """A worker that dies, hangs or finds no memory costs its candidate, and the
    device goes on: so does a worker after it, and so does this process."""
    runner = running.find_tool("attn-run")
    if runner is None:
        pytest.skip("needs attn-run; ATTN_RUN may name it")
    faulty = pathlib.Path(__file__).with_name("faulty_worker.py")
    command = [sys.executable, faulty, tmp_path / "order", runner, "--tune-worker"]
    worker = tmp_path / "worker"
    worker.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, command))}\n")
    worker.chmod(0o755)
    monkeypatch.setenv("ATTN_TUNE_WORKER", str(worker))
    kernel, inputs = _make(backend, "causal", seed)
    report = kernel.tune(*inputs.arguments(inputs.tensors), seconds=24)
    verdicts = [trial["verdict"] for trial in report["trials"]]
    for expected in ("ended with signal 9", "it took longer than", "out of memory"):
        assert sum(expected in verdict for verdict in verdicts) == 1, verdicts
    assert verdicts[0] == ""
    assert sum(trial["seconds"] > 0 for trial in report["trials"]) > 1, verdicts
    assert report["kept"], report
    assert inputs.explain(inputs.run(kernel), inputs.reference()) is None


def test_killed(backend, seed, database, tool, tmp_path):
    """Whenever it is killed, the database is right, and so is the next tuning."""
    runner = running.find_tool("attn-run")
    if runner is None:
        pytest.skip("needs attn-run; ATTN_RUN may name it")
    case = _make(backend, "causal", seed)[1].case
    path = tmp_path / "causal.mlir"
    path.write_text(programs.program(*case.kernel))
    command = [runner, path, f"--target={backend.target}", "--tune=2"]
    for name, heads, length in [
        ("q", case.heads, case.queries),
        ("k", case.kv_heads, case.keys),
        ("v", case.kv_heads, case.keys),
    ]:
        command.append(f"--arg={name}=randn:{case.batch}x{heads}x{length}x{case.dim}")
    command = list(map(str, command))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def finish():
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        assert "not kept" not in done.stdout, done.stdout
        text = tool("attn-tune-db", "verify", f"--db={database}")
        assert "1 entries, all right" in text, text

    start = time.monotonic()
    finish()
    whole = time.monotonic() - start
    for number in range(1, 8):
        with open(os.devnull, "w") as null:
            run = subprocess.Popen(command, env=environment, stdout=null, stderr=null)
        time.sleep(whole * number / 7.5)
        run.send_signal(signal.SIGTERM if number % 3 == 0 else signal.SIGKILL)
        run.wait()
        text = tool("attn-tune-db", "verify", f"--db={database}")
        assert "1 entries, all right" in text, text
    finish()
    # Their workers are gone, and their files with the one after them.
    assert not list(tmp_path.glob("attn-tune-*"))
