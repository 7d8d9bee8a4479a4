"""read-png.py FILE: prints the size of a PNG picture of four colours, its
palette, and one letter for every tenth pixel of every tenth row.

Checks what the format asks for, but for what its own library (zlib) does."""

import struct
import sys
import zlib

with open(sys.argv[1], "rb") as file:
    data = file.read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
data = data[8:]
chunks = []
while data:
    size, name = struct.unpack(">I4s", data[:8])
    body, (checksum,) = data[8 : 8 + size], struct.unpack(">I", data[8 + size : 12 + size])
    assert checksum == zlib.crc32(name + body), name
    chunks.append((name, body))
    data = data[12 + size :]
assert [name for name, _ in chunks] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"], chunks
(_, header), (_, palette), (_, pixels), _ = chunks
width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", header)
assert (depth, kind, rest) == (2, 3, [0, 0, 0])
rows = zlib.decompress(pixels)
pitch = 1 + (width + 3) // 4
assert len(rows) == pitch * height
print(width, height, palette.hex())
for y in range(0, height, 10):
    row = rows[y * pitch : (y + 1) * pitch]
    assert row[0] == 0
    print("".join(".+# "[row[1 + x // 4] >> (6 - x % 4 * 2) & 3] for x in range(0, width, 10)))
