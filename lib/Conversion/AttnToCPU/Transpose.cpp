//===- Transpose.cpp - Transpose a block of vectors -----------------------===//

#include "Transpose.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

SmallVector<Value> mlir::attn::emitTranspose(OpBuilder &builder, Location loc,
                                             ArrayRef<Value> rows) {
  int64_t size = rows.size();
  SmallVector<Value> block(rows);
  // Swap the off-diagonal quarters of ever smaller sub-blocks: log2(size)
  // rounds of shuffles of two vectors.
  for (int64_t half = size / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t column = 0; column < size; ++column) {
      bool fromSecond = column & half;
      low.push_back(fromSecond ? size + column - half : column);
      high.push_back(fromSecond ? size + column : column + half);
    }
    for (int64_t row = 0; row < size; ++row) {
      if (row & half)
        continue;
      Value first = block[row], second = block[row + half];
      block[row] = vector::ShuffleOp::create(builder, loc, first, second, low);
      block[row + half] =
          vector::ShuffleOp::create(builder, loc, first, second, high);
    }
  }
  return block;
}
