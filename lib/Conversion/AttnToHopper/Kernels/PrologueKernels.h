//===- PrologueKernels.h - Kernels that fill tables -------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PROLOGUEKERNELS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PROLOGUEKERNELS_H

#include "TileProgram.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

/// Emits a kernel for each loop of a program that fills tables, in their order.
/// A warp computes an element of each of the loop's tables; whatever the
/// element is the least or the largest of, its threads share out.
///
/// `prepared` gets the tables that calls may share, by their numbers among
/// those of the program: what fills them is preparation (kPreparationAttrName)
/// and reads no more than inputs and such tables.
LogicalResult emitPrologueKernels(OpBuilder &builder, TileProgram &program,
                                  DenseSet<int64_t> &prepared);

/// The tables of a program, as an attribute of its kernel: see
/// hopper::kTablesAttrName. Those that are `prepared` say so. Null if there are
/// none.
FailureOr<DictionaryAttr> describeTables(TileProgram &program,
                                         const DenseSet<int64_t> &prepared);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_PROLOGUEKERNELS_H
