"""Checks the object of attn-run --check --bench=2 --format=json: what belongs
together fits together."""

import json
import math
import sys

with open(sys.argv[1]) as file:
    report = json.load(file)

assert [a["name"] for a in report["arguments"]] == ["q", "k", "v"]
assert [a["shape"] for a in report["arguments"]] == [
    [1, 2, 3, 16], [1, 2, 0, 16], [1, 2, 0, 16]]
o, lse = report["results"]
assert o["shape"] == [1, 2, 3, 16] and lse["shape"] == [1, 2, 3]
assert (o["min"], o["max"], o["mean"], o["first"]) == (0, 0, 0, [0] * 4)

check = report["check"]
assert check["pass"] is True
assert [r["name"] for r in check["results"]] == ["o", "lse"]
for result in check["results"]:
    assert result["pass"] is True and result["repeated"] is True
    for key in ("max_error", "mean_error", "eager_max_error", "eager_mean_error",
                "max_ratio", "mean_ratio", "max_bound", "mean_bound"):
        assert isinstance(result[key], (int, float)), key

bench = report["bench"]
assert bench["runs"] == 2 and bench["warm_ups"] >= 1
# What a clock says is not checked, only its order: one that is coarse sees no
# time pass in a run, and there is no rate then.
assert bench["min_s"] <= bench["median_s"] <= bench["max_s"], bench
assert bench["flop"] == 0 and bench["tflop_per_s"] in (0, None), bench
assert bench["bytes"] == 4 * (2 * 96 + 6)

stages = report["compile"]["stages"]
assert all(s["name"] for s in stages), stages
assert [s["name"] for s in stages][-3:] == ["optimize", "codegen", "load"], stages
assert math.isclose(report["compile"]["total_ms"], sum(s["ms"] for s in stages)), report
assert report["compile"]["object_bytes"] > 0
