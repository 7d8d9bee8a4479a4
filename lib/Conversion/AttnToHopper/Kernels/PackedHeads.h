//===- PackedHeads.h - Positions among packed heads -------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PACKEDHEADS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PACKEDHEADS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// Whether packed heads have another extent `dim` than their source.
bool isPackedDim(PackGQAOp op, int64_t dim);

/// That extent, with `count` heads in one, where that of the source is
/// `extent`.
Value emitPackedExtent(OpBuilder &builder, PackGQAOp op, int64_t dim,
                       Value extent, Value count, Location loc);

/// The first head and the first query of rows of packed heads.
std::pair<Value, Value> emitUnpackedPosition(OpBuilder &builder, Value count,
                                             Value head, Value row,
                                             Location loc);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PACKEDHEADS_H
