//===- Launches.h - What a launch of a GPU computes -------------*- C++ -*-===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_LAUNCHES_H
#define ATTN_CONVERSION_ATTNTOHOPPER_LAUNCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::attn {

/// The attentions, gradients of some and loops over elements of a function, in
/// their order. A launch computes one of them (attn-hopper-select-launch).
SmallVector<DestinationStyleOpInterface> getLaunches(func::FuncOp function);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOHOPPER_LAUNCHES_H
