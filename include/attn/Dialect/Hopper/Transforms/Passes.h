//===- Passes.h - Passes of the hopper dialect ------------------*- C++ -*-===//

#ifndef ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_H
#define ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_H
