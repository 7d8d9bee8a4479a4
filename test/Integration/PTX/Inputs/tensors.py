"""Tensor maps, and what the tensor engine copies by them."""

import numpy

from ptx import PtxError

# By the bytes of a row of a swizzled tile, the rows in which it repeats.
_SWIZZLES = {128: 7, 64: 3, 32: 1, 0: 0}


def swizzle(addresses, width):
    """Where bytes of a tile lie whose rows have so many bytes, or 0 for none."""
    return addresses ^ ((addresses >> 7 & _SWIZZLES[width]) << 4)


class TensorMap:
    """A tensor as the engine sees it, and the box that it copies: extents and
    strides in bytes, the innermost dimension first."""

    def __init__(self, region, itemsize, extents, strides, box, width=128):
        self.region, self.width = region, width
        self.extents, self.box = tuple(extents), tuple(box)
        if box[0] * itemsize % 16 or (width and box[0] * itemsize > width):
            raise PtxError(f"expects boxes of {width} bytes in pieces of 16")
        for stride, extent in zip(strides[1:], extents[1:]):
            if extent > 1 and stride % 16:
                raise PtxError(f"expects strides of 16 bytes, not {stride}")
        if region.base % 16 or strides[0] != itemsize:
            raise PtxError(f"expects {region.name} to be aligned and dense in rows")
        if not all(1 <= x <= 256 for x in box):
            raise PtxError(f"expects boxes of 1 to 256 elements, not {box}")
        self.bytes = itemsize * int(numpy.prod(box))
        self.itemsize = itemsize
        shape = (*extents[::-1], itemsize)
        self._views = [
            numpy.lib.stride_tricks.as_strided(x, shape, (*strides[::-1], 1))
            for x in (region.bytes, region.defined, region.writable)
        ]
        self._places = {}
        # Of boxes that were loaded: the CTA, how many it had loaded before, from
        # whatever tensor, and where they start.
        self.loads = []

    def _slices(self, coordinates):
        """The part of a box in the tensor, in the tensor and in the box."""
        inside, own = [], []
        for at, box, extent in zip(coordinates, self.box, self.extents):
            first, end = max(at, 0), min(at + box, extent)
            if first >= end:
                return None
            inside.append(slice(first, end))
            own.append(slice(first - at, end - at))
        return tuple(inside[::-1]), tuple(own[::-1])

    def places(self, offset):
        """Where the bytes of a box lie that starts there in shared memory."""
        if offset % 128:
            raise PtxError(f"expects a box at a multiple of 128, not +{offset}")
        key = offset % 1024
        if key not in self._places:
            offsets = numpy.arange(key, key + self.bytes)
            self._places[key] = swizzle(offsets, self.width) - key
        return offset + self._places[key]

    def places_inside(self, coordinates, offset):
        """Of the bytes of a box that are in the tensor."""
        parts = self._slices(coordinates)
        if not parts:
            return numpy.zeros(0, numpy.int64)
        places = self.places(offset).reshape(*self.box[::-1], self.itemsize)
        return places[parts[1]].reshape(-1)

    def load(self, coordinates):
        """The bytes of a box; those outside of the tensor are 0."""
        result = numpy.zeros((*self.box[::-1], self.itemsize), numpy.uint8)
        parts = self._slices(coordinates)
        if parts:
            inside, own = parts
            values, defined, _ = self._views
            if not defined[inside].all():
                raise PtxError(f"reads what nobody wrote to {self.region.name}")
            result[own] = values[inside]
        return result.reshape(-1)

    def store(self, coordinates, bytes_):
        parts = self._slices(coordinates)
        if parts:
            inside, own = parts
            values, defined, writable = self._views
            if not writable[inside].all():
                raise PtxError(f"writes to {self.region.name}")
            values[inside] = bytes_.reshape((*self.box[::-1], self.itemsize))[own]
            defined[inside] = True
