//===- Passes.h - Passes from tiles to Hopper kernels -----------*- C++ -*-===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_PASSES_H
#define ATTN_CONVERSION_ATTNTOHOPPER_PASSES_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

class ScheduleTable;

#define GEN_PASS_DECL
#include "attn/Conversion/AttnToHopper/Passes.h.inc"

/// With a table that somebody has read already.
std::unique_ptr<Pass>
createAttnHopperAssignSchedulePass(std::shared_ptr<const ScheduleTable> table);

#define GEN_PASS_REGISTRATION
#include "attn/Conversion/AttnToHopper/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOHOPPER_PASSES_H
