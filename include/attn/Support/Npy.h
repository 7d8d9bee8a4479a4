//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Reading and writing of single arrays in the .npy format, versions 1.0 to 3.0.
// Each error names the file, what was expected and, where the file is a valid
// array that we cannot take, how to save one that we can.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_NPY_H
#define ATTN_SUPPORT_NPY_H

#include "attn/Support/Tensor.h"
#include <optional>

namespace attn {

/// What the reader of a file knows about the array beforehand.
struct NpyExpectation {
  /// The element type. Raw two-byte elements ('<V2', '|V2', '<u2') are read as
  /// BF16 if that is asked for here, and are an error otherwise.
  std::optional<DType> dtype;
  /// The shape, with a negative number for a size that may be anything.
  std::optional<Shape> shape;
};

/// Reads a regular file that holds one little-endian array in row-major order.
/// Nothing is allocated for an array that the file is too short to hold.
/// Booleans other than 0 and 1 are read as 1.
llvm::Expected<Tensor> readNpy(llvm::StringRef path,
                               const NpyExpectation &expected = {});

/// Writes a tensor as a version 1.0 file.
///
/// A regular file appears under its name when it is complete, and replaces an
/// older one with its permissions kept; after an error the older one is still
/// there, and nothing else is. To that end a temporary file `.attn-*.tmp` is
/// made in the same directory, which only a killed process leaves behind. It
/// is not synchronised with the disk. Symbolic links are followed.
///
/// What is not a regular file (a device, a pipe) is written in place, and
/// /dev/stdout, /dev/stderr and /dev/fd/N at the position where they are.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

} // namespace attn

#endif // ATTN_SUPPORT_NPY_H
