//===- TranslateShapeFunction.h - Shape functions as data -------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_TRANSLATESHAPEFUNCTION_H
#define ATTN_LIB_JIT_TRANSLATESHAPEFUNCTION_H

#include "attn/Runtime/ShapeFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// What a function that attn-shape-function has added computes, which this
/// changes to simpler operations. Fails where an operation is none on integers
/// of at most 64 bits; the error goes to the context.
mlir::FailureOr<ShapeFunction>
translateShapeFunction(mlir::func::FuncOp shapes);

} // namespace attn

#endif // ATTN_LIB_JIT_TRANSLATESHAPEFUNCTION_H
