"""Checks the object of attn-run --show-mask --format=json on the mask of each
other head, of 2 batches, 4 heads and 300 positions: the counts are those of the
tiles, and these are those of the definition."""

import json
import sys

with open(sys.argv[1]) as file:
    report = json.load(file)
assert "results" not in report and "bench" not in report
assert report["measured_speedup"] is None
(mask,) = report["masks"]
assert (mask["batch"], mask["heads"], mask["queries"], mask["keys"]) == (2, 4, 300, 300)
assert mask["block"] == [64, 32]
assert [group["heads"] for group in mask["groups"]] == [
    [[b, h] for b in range(2) for h in (start, start + 2)] for start in (0, 1)]

sums = {"empty": 0, "partial": 0, "full": 0}
for odd, group in enumerate(mask["groups"]):
    allowed = [[odd or j <= i for j in range(300)] for i in range(300)]
    assert group["allowed"] == sum(map(sum, allowed))
    assert group["density"] == group["allowed"] / 300**2
    tiles = []
    for i in range(0, 300, 64):
        line = ""
        for j in range(0, 300, 32):
            tile = [x for row in allowed[i : i + 64] for x in row[j : j + 32]]
            line += "#" if all(tile) else "+" if any(tile) else "."
        tiles.append(line)
    assert group["tiles"] == tiles, (group["tiles"], tiles)
    for name, letter in zip(sums, ".+#"):
        count = sum(line.count(letter) for line in tiles)
        assert group[name] == count
        sums[name] += count * len(group["heads"])
    assert abs(group["visited"] - (1 - group["empty"] / 50)) < 1e-12
assert mask["all"] == 2 * 4 * 5 * 10 == sum(sums.values())
assert {name: mask[name] for name in sums} == sums
visited = mask["compiler"]["visited"]
assert mask["all"] - mask["empty"] <= visited <= mask["all"]
assert mask["compiler"]["full"] <= mask["full"]
assert mask["compiler"]["needed"] == mask["all"] - mask["empty"]
assert mask["compiler"]["classes"]
assert abs(mask["predicted_speedup"] - mask["all"] / visited) < 1e-12
