"""Unit tests: each program whose name ends in Tests, one case at a time."""

import os

import lit.formats

config.name = "attn-Unit"
config.suffixes = []
config.test_exec_root = os.path.join(config.attn_obj_root, "test", "Unit")
config.test_source_root = config.test_exec_root
config.test_format = lit.formats.GoogleTest(".", "Tests")

# Nothing that other runs have kept decides a test.
config.environment["ATTN_CACHE_DIR"] = "off"
config.environment["ATTN_TUNING_DB"] = "off"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
