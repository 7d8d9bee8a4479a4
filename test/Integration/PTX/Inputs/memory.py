"""Memory as regions that do not touch, of bytes that are known or not.

Every access outside of a region, of a region of another kind, misaligned, of a
byte that nobody has written, or to one that nobody may write is an error.
"""

import numpy

import ptx

_ALL = slice(None)
_COLUMNS = {size: numpy.arange(size) for size in (1, 2, 4, 8, 16, 32)}


class Region:
    """Bytes at an address.

    `space` is what instructions call it: global, shared or param. Bytes that
    are not `defined` may not be read, those not `writable` not written.
    """

    def __init__(self, name, space, base, size):
        self.name, self.space, self.base = name, space, base
        self.bytes = numpy.zeros(size, numpy.uint8)
        self.defined = numpy.zeros(size, bool)
        self.writable = numpy.zeros(size, bool)
        self.end = base + size

    def fill(self, array, mask=None):
        """Writes an array, or those of its elements where `mask` is true; the
        others are left undefined."""
        array = numpy.ascontiguousarray(array)
        self.bytes[:] = numpy.frombuffer(array.tobytes(), numpy.uint8)
        self.defined[:] = True
        if mask is not None:
            self.defined[:] = numpy.repeat(mask.reshape(-1), array.itemsize)

    def values(self, dtype, shape):
        """What is in it; all of it has to be defined."""
        if not self.defined.all():
            at = int(numpy.argmin(self.defined))
            raise ptx.PtxError(f"byte {at} of {self.name} has not been written")
        return self.bytes.view(dtype).reshape(shape)


class Memory:
    def __init__(self):
        self._regions = []
        # The one of the access before.
        self._last = None
        # Addresses of shared memory have 32 bits; those of others need more.
        self._next = {"shared": 1 << 20, "param": 1 << 36, "global": 1 << 40}

    def add(self, name, space, size, shift=0):
        """A new region, whose address is a multiple of 1024, plus `shift`."""
        base = self._next[space] + shift
        # What lies between two regions is much more than any index is off by.
        self._next[space] += -(-(size + shift) // 1024) * 1024 + (1 << 16)
        region = Region(name, space, base, size)
        self._regions.append(region)
        return region

    def _find(self, address, size, space, text):
        regions = [self._last] if self._last else []
        for region in regions + self._regions:
            if region.base <= address and address + size <= region.end:
                if region.space != space:
                    raise ptx.PtxError(f"{region.name} is not {space} memory: {text}")
                self._last = region
                return region
        near = [r for r in self._regions if r.base - 65536 < address < r.end + 65536]
        where = "".join(f", {address - r.base} from {r.name}" for r in near[:1])
        raise ptx.PtxError(
            f"{size} bytes at {address:#x}{where} are in no region: {text}"
        )

    def _places(self, addresses, size, space, text):
        """For groups of threads: the region, the threads, and the bytes of it."""
        if (addresses & numpy.uint64(size - 1)).any():
            raise ptx.PtxError(f"an address is no multiple of {size}: {text}")
        columns = _COLUMNS[size]
        first, last = int(addresses.min()), int(addresses.max())
        region = self._find(first, size, space, text)
        if last + size <= region.end:
            start = (addresses - numpy.uint64(region.base)).view(numpy.int64)
            yield region, _ALL, start[:, None] + columns
            return
        rest = numpy.arange(addresses.size)
        while rest.size:
            region = self._find(int(addresses[rest[0]]), size, space, text)
            own = addresses[rest]
            inside = (own >= region.base) & (own <= region.end - size)
            start = (own[inside] - numpy.uint64(region.base)).astype(numpy.int64)
            yield region, rest[inside], start[:, None] + columns
            rest = rest[~inside]

    def load(self, addresses, size, space, text):
        """The bytes at each address, as rows."""
        result = numpy.zeros((addresses.size, size), numpy.uint8)
        for region, threads, places in self._places(addresses, size, space, text):
            if not region.defined[places].all():
                raise ptx.PtxError(f"reads what nobody wrote to {region.name}: {text}")
            result[threads] = region.bytes[places]
        return result

    def store(self, addresses, rows, space, text):
        size = rows.shape[1]
        for region, threads, places in self._places(addresses, size, space, text):
            if not region.writable[places].all():
                raise ptx.PtxError(f"writes to {region.name}: {text}")
            region.bytes[places] = rows[threads]
            region.defined[places] = True
