//===- DependentLaunch.cpp - Kernels that start early ---------------------===//

#include "DependentLaunch.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

void mlir::attn::waitForKernelBefore(OpBuilder &builder, Location loc,
                                     bool isShort) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  if (!getTarget(parent).getDependentLaunch())
    return;
  NVVM::GriddepcontrolOp::create(builder, loc, NVVM::GridDepActionKind::wait);
  if (isShort)
    NVVM::GriddepcontrolOp::create(builder, loc,
                                   NVVM::GridDepActionKind::launch_dependents);
}
