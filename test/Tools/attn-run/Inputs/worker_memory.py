"""A worker of a tuning that measures one kernel many times as another.

worker_memory.py PACKAGE TYPE DESCR [OTHER]   with the element type of its input,
by its number and as .npy files name it, and a package with other results

Each is loaded, measured, run and compared with the first; their inputs and what
they write to are shared, so that memory does not grow with their number.
"""

import pathlib
import subprocess
import struct
import sys
import tempfile

package, dtype, descr = sys.argv[1:4]
SHAPE = (1, 2, 65536, 64)
SIZE = 2 * 65536 * 64 * (4 if descr == "<f4" else 2)
header = repr({"descr": descr, "fortran_order": False, "shape": SHAPE})
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "an input.npy"
    with file.open("wb") as data:
        data.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        data.write(header.encode() + bytes(SIZE))
    with subprocess.Popen(
        ["attn-run", "--tune-worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:

        def ask(command):
            worker.stdin.write(command + "\n")
            worker.stdin.flush()
            return worker.stdout.readline().rstrip("\n")

        def expect(command, answer):
            got = ask(command)
            assert got.startswith(answer), (command, got)

        def peak():
            """Bytes that were in memory at most."""
            status = pathlib.Path(f"/proc/{worker.pid}/status").read_text()
            return 1024 * int(status.split("VmHWM:")[1].split()[0])

        def use(number):
            expect(f"load {package}", "ok")
            expect(f"measure {number} 0 1", "ok ")
            expect(f"compare {number} 0", "error expects kernels that have run")
            expect(f"run {number} 0", "ok")
            if number:
                expect("run 0 0", "ok")
                expect(f"compare {number} 0", "ok same")
                expect("free 0", "ok")
            expect(f"free {number}", "ok")
            expect(f"save {number} x", "error expects a kernel that has run")

        expect(f"input {file} {dtype}", "ok")
        use(0)
        use(1)
        before = peak()
        for number in range(2, 24):
            use(number)
        growth = (peak() - before) / SIZE
        print(f"memory has grown by {growth:.1f} results")
        assert growth < 3, growth
        expect("free 99", "error expects the number of a kernel, but got '99'")
        expect("freed 0", "error expects a command, but got 'freed 0'")
        # Of another type, of which there is no kernel.
        for other in sys.argv[4:]:
            expect(f"load {other}", "error expects a kernel with the results of")
        worker.stdin.close()
        assert worker.wait(timeout=60) == 0
