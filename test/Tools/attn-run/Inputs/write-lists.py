"""write-lists.py PREFIX ROWS COLUMNS: writes lists of i32, as in 0,2,3, to
PREFIX.rows.npy and PREFIX.columns.npy."""

import struct
import sys

for name, text in zip(("rows", "columns"), sys.argv[2:]):
    values = [int(value) for value in text.split(",")]
    header = repr({"descr": "<i4", "fortran_order": False, "shape": (len(values),)})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(f"{sys.argv[1]}.{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(values)}i", *values))
