# RUN: %python %s
"""attn.compile: programs, options, kernels, errors and the cache."""

import contextlib
import gc
import io
import os
import pathlib
import tempfile
import threading
import unittest
import weakref
from unittest import mock

import attn
import support

CAUSAL = support.EXAMPLES / "causal.mlir"
WINDOW = support.EXAMPLES / "sliding-window.mlir"


class Programs(unittest.TestCase):
    def test_log(self):
        """ATTN_LOG=mlir prints what is compiled, once."""
        text = CAUSAL.read_text() + "// of this test"
        lines = "".join(f"attn.mlir: {line}\n" for line in text.splitlines())
        log = io.StringIO()
        with mock.patch.dict(os.environ, ATTN_LOG="trace,mlir"):
            with contextlib.redirect_stderr(log):
                attn.compile(text)
                attn.compile(text)
                with self.assertRaises(attn.CompileError):
                    attn.compile(b"ML\xefR no bytecode")
        self.assertEqual(log.getvalue(), lines + "attn.mlir: 16 bytes of bytecode\n")

    def test_text_bytes_and_paths(self):
        text = CAUSAL.read_text()
        programs = [text, text.encode(), bytearray(text.encode()), CAUSAL, str(CAUSAL)]
        for program in programs:
            self.assertEqual(attn.compile(program).entry, "causal")

    def test_text_on_one_line(self):
        text = "func.func @id(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : i32 }"
        with self.assertRaisesRegex(attn.CompileError, r"<input>:1:\d+: error"):
            attn.compile(text)

    def test_entry(self):
        text = CAUSAL.read_text()
        two = text + text.replace("@causal", "@other")
        with self.assertRaisesRegex(attn.CompileError, "one public function"):
            attn.compile(two)
        self.assertEqual(attn.compile(two, "other").entry, "other")
        self.assertEqual(attn.compile(two, entry="causal").entry, "causal")
        with self.assertRaisesRegex(attn.CompileError, "'third'"):
            attn.compile(two, entry="third")

    def test_no_program(self):
        for empty in ("", "  "):
            with self.assertRaisesRegex(attn.InvalidArgument, "empty string"):
                attn.compile(empty)
        for other in (None, 1, ["x"]):
            with self.assertRaisesRegex(attn.InvalidArgument, type(other).__name__):
                attn.compile(other)
        with self.assertRaises(FileNotFoundError):
            attn.compile("no/such/file.mlir")
        with self.assertRaises(FileNotFoundError):
            attn.compile(pathlib.Path("no/such/file.mlir"))
        with self.assertRaises(attn.CompileError):
            attn.compile(b"")

    def test_message_has_the_place(self):
        text = CAUSAL.read_text().replace("sle", "no_such_predicate")
        with self.assertRaisesRegex(attn.CompileError, r"^<input>:\d+:\d+: error: "):
            attn.compile(text)
        with self.assertRaisesRegex(attn.CompileError, r"^mine:\d+:\d+: error: "):
            attn.compile(text, name="mine")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "broken.mlir"
            path.write_text(text)
            with self.assertRaisesRegex(attn.CompileError, r"broken\.mlir:\d+:\d+: "):
                attn.compile(path)


class Options(unittest.TestCase):
    def test_target(self):
        for target in ("auto", "cpu"):
            self.assertEqual(attn.compile(CAUSAL, target=target).target, "cpu")
        with self.assertRaisesRegex(attn.InvalidArgument, "auto, cpu, cuda.*'gpu'"):
            attn.compile(CAUSAL, target="gpu")
        with self.assertRaisesRegex(attn.InvalidArgument, "target .*int"):
            attn.compile(CAUSAL, target=1)

    def test_cuda_needs_no_gpu_to_compile(self):
        kernel = attn.compile(WINDOW, target="cuda")
        self.assertEqual(kernel.target, "cuda")
        self.assertIn("cuda", kernel.report["target"])
        # For long sequences, for short ones, for few queries, and for any strides.
        self.assertEqual(len(kernel.report["kernels"]), 4)
        # What matrix instructions do not take is computed query by query.
        kernel = attn.compile(CAUSAL, target="cuda")
        self.assertEqual(len(kernel.report["kernels"]), 1)
        with self.assertRaisesRegex(attn.Unsupported, "bf16, f16 or f32 on a GPU"):
            attn.compile(CAUSAL.read_text().replace("f32", "f64"), target="cuda")

    def test_processor(self):
        kernel = attn.compile(CAUSAL, processor="baseline")
        self.assertNotIn("avx", kernel.report["target"])
        with self.assertRaisesRegex(attn.InvalidArgument, "processor .*'z80'"):
            attn.compile(CAUSAL, processor="z80")

    def test_schedule(self):
        schedule = "tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 1"
        attn.compile(CAUSAL, schedule=f"#attn.schedule<{schedule}>")
        with self.assertRaisesRegex(attn.CompileError, "^fast:1:1: error: "):
            attn.compile(CAUSAL, schedule="fast")

    def test_opt_level(self):
        for level in (None, 0, 1, 2, 3):
            attn.compile(CAUSAL, opt_level=level)
        for level in (-1, 4):
            with self.assertRaisesRegex(attn.InvalidArgument, f"got {level}"):
                attn.compile(CAUSAL, opt_level=level)

    def test_types(self):
        for option, value in [
            ("entry", 1),
            ("schedule", b"x"),
            ("name", 1.5),
            ("bounds_check", 1),
            ("opt_level", "2"),
            ("opt_level", True),
        ]:
            with self.assertRaisesRegex(
                attn.InvalidArgument, f"{option} .*{type(value).__name__}"
            ):
                attn.compile(CAUSAL, **{option: value})
        with self.assertRaisesRegex(attn.InvalidArgument, "entry .*NUL"):
            attn.compile(CAUSAL, entry="a\0b")
        with self.assertRaises(TypeError):
            attn.compile(CAUSAL, fast=True)


class Kernels(unittest.TestCase):
    def test_infos(self):
        kernel = attn.compile(WINDOW)
        names = [info.name for info in kernel.inputs]
        self.assertEqual(names, ["q", "k", "v", "window"])
        self.assertEqual(kernel.inputs[0], ("q", "f16", (None, None, 8, 64)))
        self.assertEqual(kernel.inputs[3], attn.TensorInfo("window", "i64", ()))
        self.assertEqual(kernel.results[1], ("lse", "f32", (None, None, 8)))
        self.assertEqual(str(kernel.results[1]), "lse: ?x?x8xf32")

    def test_repr(self):
        self.assertEqual(
            repr(attn.compile(WINDOW)),
            "<attn.Kernel @window(q: ?x?x8x64xf16, k: ?x?x8x64xf16,"
            " v: ?x?x8x64xf16, window: i64) -> (o: ?x?x8x64xf16, lse: ?x?x8xf32)"
            " for cpu>",
        )

    def test_report(self):
        report = attn.compile(WINDOW).report
        self.assertIn("parse", [stage["name"] for stage in report["stages"]])
        self.assertGreater(report["milliseconds"], 0)
        self.assertGreater(report["objectSize"], 0)
        self.assertIsInstance(report["remarks"], list)

    def test_version(self):
        self.assertRegex(attn.version(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(attn.version(), attn.__version__)

    def test_errors_are_what_python_expects(self):
        for ours, builtin in [
            (attn.InvalidArgument, ValueError),
            (attn.OutOfMemory, MemoryError),
            (attn.OutOfRange, IndexError),
            (attn.Unsupported, NotImplementedError),
            (attn.LibraryNotFound, ImportError),
            (attn.CompileError, attn.Error),
        ]:
            self.assertTrue(issubclass(ours, builtin))
            self.assertTrue(issubclass(ours, attn.Error))

    def test_all_is_there(self):
        for name in attn.__all__:
            self.assertTrue(hasattr(attn, name), name)


class Cache(unittest.TestCase):
    def test_same_kernel(self):
        first = attn.compile(CAUSAL)
        self.assertIs(attn.compile(CAUSAL), first)
        self.assertIs(attn.compile(os.fspath(CAUSAL), target="auto"), first)
        self.assertIsNot(attn.compile(CAUSAL, bounds_check=True), first)
        self.assertIsNot(attn.compile(CAUSAL, opt_level=1), first)

    def test_a_changed_file_is_compiled_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.mlir"
            path.write_text(CAUSAL.read_text())
            first = attn.compile(path)
            path.write_text(CAUSAL.read_text().replace("@causal", "@renamed"))
            self.assertEqual(attn.compile(path).entry, "renamed")
            self.assertEqual(first.entry, "causal")

    def test_clear(self):
        first = attn.compile(CAUSAL)
        attn.clear_cache()
        self.assertIsNot(attn.compile(CAUSAL), first)
        q = support.tensor((1, 2, 3, 8))
        self.assertEqual(first(q, q, q).shape, (1, 2, 3, 8))

    def test_kernels_are_released(self):
        reference = weakref.ref(attn.compile(CAUSAL, name="released"))
        attn.clear_cache()
        gc.collect()
        self.assertIsNone(reference())

    def test_an_error_is_not_kept(self):
        for _ in range(2):
            with self.assertRaises(attn.CompileError):
                attn.compile("module { broken }")

    def test_threads_get_one_kernel(self):
        attn.clear_cache()
        kernels = []
        threads = [
            threading.Thread(target=lambda: kernels.append(attn.compile(WINDOW)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(kernels), 8)
        self.assertEqual(len(set(map(id, kernels))), 1)


if __name__ == "__main__":
    unittest.main()
