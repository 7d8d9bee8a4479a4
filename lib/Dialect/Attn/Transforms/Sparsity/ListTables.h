//===- ListTables.h - Lists of blocks or keys -------------------*- C++ -*-===//
//
// How lists are read, and how a table that has the same in another form is
// filled.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTTABLES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTTABLES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// An element of rows or columns, as an index.
Value readList(OpBuilder &builder, Location loc, Value list,
               ValueRange indices);

/// Where the list of a row starts and ends, by the batch, the head and the row,
/// of which `rows` has the last ones: [row], [head, row] or [batch, head, row].
std::pair<Value, Value> readListEnds(OpBuilder &builder, Location loc,
                                     Value rows, ValueRange ids);

/// The batches and heads that have lists of their own, or 1, of each.
SmallVector<OpFoldResult> getListGrid(OpBuilder &builder, Location loc,
                                      Value rows);

/// Makes a table of `grid`, and of `rowSizes` for each of its points, in a loop
/// over the points that workers share, for the sparsity of `op`. `fill` gives
/// what a slice of one point becomes.
Value emitTable(RewriterBase &builder, AttentionLikeOpInterface op,
                Location loc, ArrayRef<OpFoldResult> grid,
                ArrayRef<OpFoldResult> rowSizes, Type element,
                function_ref<Value(Value slice, ValueRange ids)> fill);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTTABLES_H
