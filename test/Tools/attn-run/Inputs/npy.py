"""Writes and reads .npy files without NumPy.

npy.py write FILE DESCR SHAPE [FIRST]   FIRST, FIRST + 1, ... ; SHAPE as in 2x3
npy.py read FILE                        prints the type, the shape, the elements
"""

import ast
import struct
import sys

FORMATS = {"<f4": "f", "<f8": "d", "<f2": "e", "<i8": "q", "<i4": "i", "<i2": "h",
           "|i1": "b", "|b1": "?", ">f4": "f", "<V2": "H", "<u2": "H"}


def write(path, descr, shape, first="0"):
    sizes = tuple(int(size) for size in shape.split("x") if size)
    count = 1
    for size in sizes:
        count *= size
    header = repr({"descr": descr, "fortran_order": False, "shape": sizes})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    kind = FORMATS[descr]
    number = float if kind in "fde" else int
    values = [number(first) + i for i in range(count)]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin1"))
        file.write(struct.pack("%s%d%s" % (descr[0].replace("|", "<"), count, kind),
                               *values))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode("latin1"))
    assert not header["fortran_order"]
    count = 1
    for size in header["shape"]:
        count *= size
    kind = FORMATS[header["descr"]]
    values = struct.unpack("<%d%s" % (count, kind), data[end:])
    print(header["descr"], header["shape"], *values)


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
