"""Finds an assembler of PTX for the library, which looks for one in PATH and in
CUDA's toolkit alone: that of NVIDIA's packages or Triton's for Python will do."""

import glob
import os
import shutil
import sys

# Below a folder of packages, the best first.
_PACKAGED = (
    "nvidia/cu*/bin/ptxas",
    "nvidia/cuda_nvcc/bin/ptxas",
    "triton/backends/nvidia/bin/ptxas",
)


def _is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def find(environ, folders):
    """The path of ptxas and where it is from; or None, and why there is none."""
    named = environ.get("ATTN_PTXAS")
    if named == "off":
        return None, "ATTN_PTXAS is off"
    if named:
        return named, "ATTN_PTXAS"
    path = shutil.which("ptxas", path=environ.get("PATH", ""))
    if path:
        return path, "PATH"
    for home in (environ.get("CUDA_HOME"), "/usr/local/cuda"):
        path = os.path.join(home or "", "bin", "ptxas")
        if home and _is_program(path):
            return path, home
    for pattern in _PACKAGED:
        for folder in folders:
            # Of several versions, the newest.
            for path in sorted(glob.glob(os.path.join(folder, pattern)), reverse=True):
                if _is_program(path):
                    return path, "a Python package"
    return None, (
        "no ptxas in PATH, in $CUDA_HOME/bin, in /usr/local/cuda/bin, or in the"
        " packages nvidia-cuda-nvcc and triton; the driver compiles kernels"
    )


def provide():
    """Lets the library know of one that it would not find itself."""
    path, place = find(os.environ, sys.path)
    if place == "a Python package":
        os.environ["ATTN_PTXAS"] = path
