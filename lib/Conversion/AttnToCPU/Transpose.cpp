//===- Transpose.cpp - Transpose a block of vectors -----------------------===//

#include "Transpose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Rounds that add what is `distance` apart and leave half as many vectors.
Value mlir::attn::emitSums(OpBuilder &builder, Location loc,
                           ArrayRef<Value> vectors) {
  int64_t size = vectors.size();
  SmallVector<Value> sums(vectors);
  for (int64_t distance = size / 2; distance >= 1; distance /= 2) {
    SmallVector<int64_t> own, other;
    for (int64_t lane = 0; lane < size; ++lane) {
      bool fromSecond = lane & distance;
      own.push_back(fromSecond ? size + lane : lane);
      other.push_back(fromSecond ? size + lane - distance : lane + distance);
    }
    for (int64_t number = 0; number < distance; ++number) {
      Value a = sums[number], b = sums[number + distance];
      sums[number] = arith::AddFOp::create(
          builder, loc, vector::ShuffleOp::create(builder, loc, a, b, own),
          vector::ShuffleOp::create(builder, loc, a, b, other));
    }
  }
  return sums[0];
}
