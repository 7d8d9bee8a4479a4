//===- ShapeOps.h - What operations of shape functions have -----*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_KERNELS_SHAPEOPS_H
#define ATTN_LIB_RUNTIME_KERNELS_SHAPEOPS_H

#include "attn/Runtime/ShapeFunction.h"
#include "llvm/ADT/StringRef.h"

namespace attn {

struct ShapeOpInfo {
  /// As packages spell it.
  llvm::StringLiteral name;
  /// How many of the first operands are values, and how many numbers there are
  /// with others.
  size_t numValues, numOperands;
  /// Whether the second operand is a number of bits.
  bool hasBits = false;
};

/// Null for a number that is no operation.
const ShapeOpInfo *getInfo(ShapeOp op);

/// The operation of a name; nullopt if there is none.
std::optional<ShapeOp> parseShapeOp(llvm::StringRef name);

inline bool isBitCount(int64_t bits) { return bits >= 1 && bits <= 63; }

} // namespace attn

#endif // ATTN_LIB_RUNTIME_KERNELS_SHAPEOPS_H
