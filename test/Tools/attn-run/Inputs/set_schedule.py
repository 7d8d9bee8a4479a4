"""Sets the schedule of each entry of an export of a tuning database."""

import json
import sys

path, schedule = sys.argv[1:]
with open(path) as file:
    content = json.load(file)
for entry in content["entries"]:
    entry["schedule"] = schedule
with open(path, "w") as file:
    json.dump(content, file)
