//===- AttnTarget.h - What a program is compiled for ------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTARGET_H
#define ATTN_DIALECT_ATTN_IR_ATTNTARGET_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/IR/AttnTarget.h.inc"

namespace mlir::attn {

/// The attribute of a module that says what it is compiled for.
inline constexpr llvm::StringLiteral kTargetAttrName = "attn.target";

/// The GPU of this name in the table of known ones, or with a chip of this
/// name, the first of several; null if there is none.
TargetAttr getNamedTarget(MLIRContext *context, StringRef name);

/// All names of the table.
SmallVector<StringRef> getTargetNames();

/// The target of the closest operation around that has one; an H200 without.
TargetAttr getTarget(Operation *op);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_ATTNTARGET_H
