"""Adds to an export an entry for 128 open extents, or one of another device; or
with "older", one of the same extents and an older version."""

import json
import sys

path, *device = sys.argv[1:]
with open(path) as file:
    content = json.load(file)
more = dict(content["entries"][0])
if device == ["older"]:
    more["version"] += ", older"
    more["time"] -= 1
    more["schedule"] = ""
elif device:
    more["device"] = device[0]
else:
    more["bucket"] = [14]
    more["schedule"] = (
        "#attn.schedule<tile_m = 32, tile_n = 64, lanes = 4, unroll_m = 2,"
        " unroll_n = 4>"
    )
content["entries"].append(more)
with open(path, "w") as file:
    json.dump(content, file)
