//===- TileEvaluator.h - Tile values at a point -----------------*- C++ -*-===//
//
// At the tile level a value is a whole tile. On a CPU a tile lives in memory,
// or is never stored at all: this class emits the code that computes some
// elements of a tile value from the tiles in memory that it depends on.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_TILEEVALUATOR_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_TILEEVALUATOR_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// One coordinate of a tile: a single position, or as many consecutive ones as
/// a hardware vector has lanes. At most one coordinate of a point is a vector.
struct TileCoord {
  Value offset;
  bool isVector = false;
};

/// The buffers of the tile values that are in memory. A buffer has the shape of
/// its tile; one whose first dimension follows itself in memory is a
/// memref.transpose of what was allocated.
using TileBuffers = DenseMap<Value, Value>;

/// Whether elements along a dimension follow each other in memory.
bool isContiguous(Value buffer, unsigned dim);
/// The dimension along which a buffer of a tile is read and written as vectors.
unsigned getVectorDim(Value buffer);
/// Elements of the buffer of a tile from `position` on along that dimension: of
/// `type`, which is that of an element or of a vector.
Value loadTile(OpBuilder &builder, Location loc, Type type, Value buffer,
               ValueRange position);
/// Writes an element, or a vector of them.
void storeTile(OpBuilder &builder, Location loc, Value value, Value buffer,
               ValueRange position);

/// Emits code at the insertion point of `builder`. One evaluator serves one
/// point of the program: it remembers what it has emitted.
class TileEvaluator {
public:
  TileEvaluator(OpBuilder &builder, Location loc, const TileBuffers &buffers,
                int64_t lanes)
      : builder(builder), loc(loc), buffers(buffers), lanes(lanes) {}

  /// The elements of `value` at `coords`, one for each of its dimensions: a
  /// scalar, or a vector of `lanes`. A scalar stands for a vector of equal
  /// elements. Null, after a diagnostic, where there is no code for `value`.
  Value evaluate(Value value, ArrayRef<TileCoord> coords);
  /// The same, always a vector if a coordinate is one.
  Value evaluateVector(Value value, ArrayRef<TileCoord> coords);
  /// Computes now what elements of `value` in a column have of vectors that are
  /// the same for all rows, so that it is known at each row.
  LogicalResult evaluateOfColumns(Value value, TileCoord column);

  /// A gather whose mask and indices are known: scalars, or vectors of `lanes`.
  Value emitGather(GatherOp op, Value mask, ArrayRef<Value> indices);

private:
  Value emit(Value value, ArrayRef<TileCoord> coords);
  Value emitElementwise(Operation &op, ArrayRef<TileCoord> coords);
  Value emitBroadcast(vector::BroadcastOp op, ArrayRef<TileCoord> coords);
  Value emitRead(vector::TransferReadOp op, ArrayRef<TileCoord> coords);
  Value emitGather(GatherOp op, ArrayRef<TileCoord> coords);
  /// Elements of `base` at these offsets, 0 where `active` does not hold.
  Value emitGather(Value base, VectorType type, Value offsets, Value active);
  void emitReports(GatherOp op, Value mask, ArrayRef<Value> indices,
                   ArrayRef<Value> inRange);
  Value splat(Value value);

  OpBuilder &builder;
  Location loc;
  const TileBuffers &buffers;
  int64_t lanes;
  /// By value and coordinates: with equal extents, one value may stand for
  /// positions along either dimension.
  DenseMap<std::pair<Value, std::pair<Value, Value>>, Value> cache;
};

/// Whether a reduction gives the maximum of a constant that is a number, and of
/// floats that may be NaN, which do not count. So what it has so far is a
/// number.
bool isMaxFromNumber(vector::MultiDimReductionOp op);
/// What a reduction makes of elements and of what it has so far.
Value createCombined(OpBuilder &builder, Location loc,
                     vector::MultiDimReductionOp op, Value element,
                     Value running);
/// What all elements of a vector give together, as vector<1>.
Value reduceLanes(OpBuilder &builder, Location loc, Value vector,
                  function_ref<Value(Value, Value)> combine);

/// Whether `evaluate` can give `value` as vectors along dimension `dim`.
bool isVectorReadable(Value value, unsigned dim, const TileBuffers &buffers);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_TILEEVALUATOR_H
