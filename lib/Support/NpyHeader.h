//===- NpyHeader.h - The header of a .npy file ------------------*- C++ -*-===//
//
// A .npy file is "\x93NUMPY", a version (two bytes), the length of the header
// (two bytes in version 1, four later, little-endian), the header, and the
// data. The header is a Python dictionary, padded by spaces, such as
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_SUPPORT_NPYHEADER_H
#define ATTN_LIB_SUPPORT_NPYHEADER_H

#include "attn/Support/Tensor.h"

namespace attn {

/// The length of the longest start of a file, up to the header's own bytes.
constexpr size_t kNpyMaxPrefix = 12;

/// The dictionary in the header.
struct NpyHeader {
  /// The text of `descr`; of a structured type, its Python source.
  std::string descr;
  /// Whether descr was a string, which it is unless the type is structured.
  bool isSimpleDescr = false;
  bool isFortranOrder = false;
  Shape shape;
};

/// Where the header is, from the first bytes of a file.
struct NpyPrefix {
  size_t headerOffset;
  size_t headerSize;
};
llvm::Expected<NpyPrefix> parseNpyPrefix(llvm::StringRef start);

llvm::Expected<NpyHeader> parseNpyHeader(llvm::StringRef text);

/// The start of a version 1.0 file up to the data, whose offset is a multiple
/// of 64.
std::string formatNpyStart(DType dtype, llvm::ArrayRef<int64_t> shape);

} // namespace attn

#endif // ATTN_LIB_SUPPORT_NPYHEADER_H
