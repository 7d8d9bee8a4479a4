//===- RegionSlice.h - What a value of a region is computed by --*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONSLICE_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONSLICE_H

#include "mlir/IR/Region.h"

namespace mlir::attn {

/// The operations of `region` that `value` needs, in the order in which they
/// stand. A branch stands for all that is in it. Values for which `isKnown`
/// holds, and what only they need, are left out.
SmallVector<Operation *>
getRegionSlice(Region &region, Value value,
               function_ref<bool(Value)> isKnown = nullptr);

/// Whether a value of `region` depends on one of its arguments with these
/// numbers.
bool dependsOn(Region &region, Value value, ArrayRef<unsigned> numbers);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONSLICE_H
