//===- TranslatePlan.h - From a plan to a shape function --------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_TRANSLATEPLAN_H
#define ATTN_LIB_JIT_TRANSLATEPLAN_H

#include "attn/Runtime/ShapeFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// What a function that attn-plan has added computes, which this changes to
/// simpler operations. Fails where an operation is none on integers of at most
/// 64 bits; the error goes to the context.
mlir::FailureOr<ShapeFunction> translatePlan(mlir::func::FuncOp plan);

} // namespace attn

#endif // ATTN_LIB_JIT_TRANSLATEPLAN_H
