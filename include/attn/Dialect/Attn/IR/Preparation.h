//===- Preparation.h - Tables that calls may share --------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_PREPARATION_H
#define ATTN_DIALECT_ATTN_IR_PREPARATION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::attn {

/// Of a loop that fills tables: what it computes depends on what a mask and a
/// sparsity read and on extents alone, and not on q, k and v. So calls that
/// share these may share the tables.
inline constexpr llvm::StringLiteral kPreparationAttrName = "attn.preparation";

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_PREPARATION_H
