"""What calls of a kernel share."""

import weakref

from . import _native


class Prepared:
    """The needed tiles of the masks and sparsities of a kernel, from
    `Kernel.prepare`. It is for calls whose inputs have the same shapes, and the same
    values in the tensors that masks and sparsities read. Keep it until these calls
    have run on the GPU, and as long as CUDA graphs that have captured them.

    nbytes  the memory that its tables take, on the device of the kernel
    """

    def __init__(self, kernel, code, handle):
        self._kernel = kernel
        # The handle of the kernel that has prepared it: tuning gives the kernel
        # another one, whose tables are others.
        self._code = code
        self._handle = handle
        self.nbytes = _native.prepared_size(handle)
        # Of a process that ends, nothing is given back one by one.
        weakref.finalize(self, _native.destroy_prepared, handle).atexit = False

    def __repr__(self):
        return f"<attn.Prepared @{self._kernel.entry}, {self.nbytes} bytes>"
