"""Attention with linear biases (ALiBi) on arrays of NumPy.

PYTHONPATH=python python3 docs/examples/run_python.py
"""

import pathlib

import numpy

import attn

kernel = attn.compile(pathlib.Path(__file__).with_name("alibi.mlir"))
print(kernel)

# Queries of zeros, so that the slopes alone decide. Tensors are packed as
# [batch, length, which, head, dim]: the kernel takes them where they are.
packed = numpy.zeros((1, 4, 3, 8, 64), numpy.float32)
packed[:, :, 2] = numpy.arange(4)[None, :, None, None]
q, k, v = packed.transpose(2, 0, 3, 1, 4)
slopes = numpy.float32(2.0) ** -numpy.arange(1, 9, dtype=numpy.float32)

o = kernel(q, k, v, slopes)
print(o.shape, o.dtype)
for head in (0, 7):
    print(f"head {head}:", " ".join(f"{x:.3f}" for x in o[0, head, :, 0]))

try:
    kernel(q, k, v.astype(numpy.float64), slopes)
except attn.InvalidArgument as error:
    print("error:", error)
