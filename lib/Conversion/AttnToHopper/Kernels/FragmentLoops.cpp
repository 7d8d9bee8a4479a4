//===- FragmentLoops.cpp - Kernels of loops over rows of fragments --------===//
//
// What 4 threads of a warpgroup hold for 8 columns of an instruction, or 8 of
// them for 16 of its rows, is a piece of two rows of the tile that a thread
// reads 16 bytes at a time. It then has elements of each row that follow each
// other in the result. With i and j as #hopper.fragment_order has them:
//
//   rows are m:  a piece has i, i + 8 and 8 of j, in 64 contiguous bytes
//   rows are n:  a piece has j, j + 1 and 16 of i, in 8 times 16 bytes
//
// Threads that follow each other have pieces of the same rows as far as these
// reach, so that they write what is contiguous.
//
//===----------------------------------------------------------------------===//

#include "FragmentLoops.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Floats of a thread for 8 columns, and those of a warp and a warpgroup.
static constexpr int64_t kThreadFloats = 4, kWarpFloats = 128,
                         kGroupFloats = 512;
/// Rows and columns of the part of a tile that these are.
static constexpr int64_t kWarpRows = 16, kColumns = 8;

namespace {
/// The rows of a piece: the first one, how far the second is from it, and their
/// columns.
struct Piece {
  Value row, column;
  int64_t nextRow, numColumns;
  /// Of each row, the elements that an operation gives.
  using Elements = std::array<Value, 2>;
  Elements read;
  DenseMap<Value, Elements> known;
};

class FragmentIteration {
public:
  FragmentIteration(OpBuilder &builder, scf::ForallOp loop,
                    vector::TransferReadOp read, KernelArguments &arguments,
                    KernelValues &values)
      : builder(builder), loop(loop), read(read), arguments(arguments),
        values(values), loc(loop.getLoc()) {}

  LogicalResult emit();

private:
  LogicalResult match();
  Piece emitPiece(Value number);
  SmallVector<Value> readAt(Value first, int64_t number, int64_t step,
                            int64_t count);
  SmallVector<Value> join(ArrayRef<Value> vectors);
  FailureOr<Piece::Elements> get(Piece &piece, Value vector);
  FailureOr<Piece::Elements> compute(Piece &piece, Value vector);
  LogicalResult emitWrite(Piece &piece, tensor::ParallelInsertSliceOp insert);

  OpBuilder &builder;
  scf::ForallOp loop;
  vector::TransferReadOp read;
  KernelArguments &arguments;
  KernelValues &values;
  Location loc;
  /// Whether rows of the tile are rows of instructions; the extent of a block
  /// in n, how many rows of it an iteration has, from the first one on, and
  /// their columns.
  bool rowsAreM = false;
  int64_t numN = 0, numRows = 0, numColumns = 0;
  Value firstRow;
  /// The buffer, and where the block is in it, and whether it is, or null.
  Value buffer, isThere;
  SmallVector<Value> block;
};
} // namespace

vector::TransferReadOp mlir::attn::findTileRead(scf::ForallOp loop) {
  for (auto read : loop.getBody()->getOps<vector::TransferReadOp>())
    if (read.getVectorType().getRank() == 2)
      return read;
  return {};
}

/// What is read has whole pieces, from the first column on.
LogicalResult FragmentIteration::match() {
  auto type = dyn_cast<MemRefType>(read.getBase().getType());
  auto order = type ? dyn_cast<hopper::FragmentOrderAttr>(type.getLayout())
                    : hopper::FragmentOrderAttr();
  std::optional<unsigned> operand = values.getOperand(read.getBase());
  AffineMap map = read.getPermutationMap();
  auto getDim = [&](unsigned result) -> int64_t {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(result));
    return dim ? dim.getPosition() : -1;
  };
  int64_t rows = getDim(0), columns = getDim(1);
  rowsAreM = order && rows == order.getM();
  VectorType vector = read.getVectorType();
  auto mask = read.getMask()
                  ? read.getMask().getDefiningOp<vector::BroadcastOp>()
                  : vector::BroadcastOp();
  int64_t unit = rowsAreM ? kWarpRows : kColumns;
  int64_t columnUnit = rowsAreM ? kColumns : kWarpRows;
  bool isMatch =
      order && operand && vector.getElementType().isF32() &&
      !read.hasOutOfBoundsDim() &&
      (!read.getMask() || (mask && !isa<VectorType>(mask.getSourceType()))) &&
      (rowsAreM ? columns == order.getN()
                : rows == order.getN() && columns == order.getM()) &&
      matchPattern(read.getIndices()[columns], m_Zero()) &&
      vector.getDimSize(1) % columnUnit == 0 &&
      vector.getDimSize(0) % unit == 0 &&
      type.getDimSize(rows) % vector.getDimSize(0) == 0;
  if (!isMatch)
    return read.emitError("expects rows of a tile to be read from a buffer in "
                          "the order of fragments, from their first column "
                          "on, multiples of ")
           << unit << " rows and of " << columnUnit
           << " columns, all of them or none" << otherTarget;
  if (mask) {
    FailureOr<Value> condition = values.getScalar(mask.getSource());
    if (failed(condition))
      return failure();
    isThere = *condition;
  }
  int64_t numM = type.getDimSize(order.getM());
  numN = type.getDimSize(order.getN());
  numRows = vector.getDimSize(0);
  numColumns = vector.getDimSize(1);
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    FailureOr<Value> value = values.getScalar(index);
    if (failed(value))
      return failure();
    if (static_cast<int64_t>(dim) == rows)
      firstRow = ScalarBuilder(loc, builder).toI32(*value);
    else if (static_cast<int64_t>(dim) != columns)
      block.push_back(*value);
  }
  SmallVector<int64_t> shape(type.getShape().drop_back(2));
  shape.push_back(numM * numN);
  buffer = arguments.getMemRef(*operand,
                               MemRefType::get(shape, type.getElementType()));
  return success();
}

/// Vectors of so many floats of the block, each a step behind the one before;
/// zeros if the block is not there.
SmallVector<Value> FragmentIteration::readAt(Value first, int64_t number,
                                             int64_t step, int64_t count) {
  auto type = VectorType::get({count}, builder.getF32Type());
  auto emitReads = [&](OpBuilder &b, Location loc) {
    SmallVector<Value> vectors;
    Value padding = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value start = hopper::PositionOp::create(b, loc, first);
    for (int64_t offset = 0; offset < number * step; offset += step) {
      SmallVector<Value> at = block;
      at.push_back(arith::AddIOp::create(
          b, loc, start, arith::ConstantIndexOp::create(b, loc, offset)));
      vectors.push_back(vector::TransferReadOp::create(
          b, loc, type, buffer, at, padding,
          AffineMap::getMinorIdentityMap(at.size(), 1, b.getContext()),
          ArrayRef<bool>{true}));
    }
    return vectors;
  };
  if (!isThere)
    return emitReads(builder, loc);
  auto choice = scf::IfOp::create(
      builder, loc, isThere,
      [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, emitReads(b, loc));
      },
      [&](OpBuilder &b, Location loc) {
        Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
        scf::YieldOp::create(b, loc, SmallVector<Value>(number, zeros));
      });
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// Half as many vectors, each of two that follow each other.
SmallVector<Value> FragmentIteration::join(ArrayRef<Value> vectors) {
  SmallVector<Value> joined;
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(
      0, 2 * cast<VectorType>(vectors.front().getType()).getNumElements()));
  for (size_t number = 0; number < vectors.size(); number += 2)
    joined.push_back(vector::ShuffleOp::create(builder, loc, vectors[number],
                                               vectors[number + 1], all));
  return joined;
}

Piece FragmentIteration::emitPiece(Value number) {
  Piece piece;
  ScalarBuilder ints(loc, builder);
  auto split = [&](Value value, int64_t by) {
    return std::pair(ints.divU(value, by), ints.remU(value, by));
  };
  // Where 16 rows and 8 columns of an instruction are in a block.
  auto getWarp = [&](Value warpRows, Value columns) {
    auto [group, warp] = split(warpRows, hopper::kWarpgroupRows / kWarpRows);
    return ints.add(ints.add(ints.mul(group, hopper::kWarpgroupRows * numN),
                             ints.mul(columns, kGroupFloats)),
                    ints.mul(warp, kWarpFloats));
  };
  SmallVector<int64_t> order[2];
  if (rowsAreM) {
    auto [rest, columns] = split(number, numColumns / kColumns);
    auto [part, lane] = split(rest, kWarpRows / 2);
    Value warpRows = ints.add(ints.divU(firstRow, kWarpRows), part);
    piece.row = ints.add(ints.mul(part, kWarpRows), lane);
    piece.nextRow = kWarpRows / 2;
    piece.column = ints.mul(columns, kColumns);
    piece.numColumns = kColumns;
    Value first =
        ints.add(getWarp(warpRows, columns), ints.mul(lane, 4 * kThreadFloats));
    Value all = readAt(first, 1, 4 * kThreadFloats, 4 * kThreadFloats)[0];
    for (int64_t r : {0, 1})
      for (int64_t column = 0; column < kColumns; ++column)
        order[r].push_back(column / 2 * kThreadFloats + 2 * r + column % 2);
    for (int64_t r : {0, 1})
      piece.read[r] =
          vector::ShuffleOp::create(builder, loc, all, all, order[r]);
    return piece;
  }
  auto [rest, warpRows] = split(number, numColumns / kWarpRows);
  auto [part, quad] = split(rest, kColumns / 2);
  Value columns = ints.add(ints.divU(firstRow, kColumns), part);
  piece.row = ints.add(ints.mul(part, kColumns), ints.mul(quad, 2));
  piece.nextRow = 1;
  piece.column = ints.mul(warpRows, kWarpRows);
  piece.numColumns = kWarpRows;
  Value first =
      ints.add(getWarp(warpRows, columns), ints.mul(quad, kThreadFloats));
  // Of 4 floats, the first two are of i, the others of i + 8.
  SmallVector<Value> lanes =
      readAt(first, kWarpRows / 2, 4 * kThreadFloats, kThreadFloats);
  for (; lanes.size() > 2; lanes = join(lanes))
    ;
  for (int64_t p : {0, 1})
    for (int64_t r : {0, 1})
      for (int64_t lane = 0; lane < kWarpRows / 2; ++lane)
        order[p].push_back(lane * kThreadFloats + 2 * r + p);
  for (int64_t p : {0, 1})
    piece.read[p] =
        vector::ShuffleOp::create(builder, loc, lanes[0], lanes[1], order[p]);
  return piece;
}

FailureOr<Piece::Elements> FragmentIteration::get(Piece &piece, Value vector) {
  auto it = piece.known.find(vector);
  if (it != piece.known.end())
    return it->second;
  FailureOr<Piece::Elements> result = compute(piece, vector);
  if (succeeded(result))
    piece.known[vector] = *result;
  return result;
}

FailureOr<Piece::Elements> FragmentIteration::compute(Piece &piece,
                                                      Value vector) {
  if (vector == read.getResult())
    return piece.read;
  Operation *op = vector.getDefiningOp();
  auto type = VectorType::get(
      {piece.numColumns}, cast<VectorType>(vector.getType()).getElementType());
  DenseElementsAttr elements;
  if (matchPattern(vector, m_Constant(&elements)) && elements.isSplat()) {
    Value splat = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, elements.getSplatValue<Attribute>()));
    return Piece::Elements{splat, splat};
  }
  if (!op || !OpTrait::hasElementwiseMappableTraits(op) ||
      op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<VectorType>))
    return loop.emitError("expects rows of a tile that are read, or computed "
                          "element by element")
           << otherTarget;
  SmallVector<Value> operands[2];
  for (Value operand : op->getOperands()) {
    FailureOr<Piece::Elements> own = get(piece, operand);
    if (failed(own))
      return failure();
    for (int64_t row : {0, 1})
      operands[row].push_back((*own)[row]);
  }
  Piece::Elements results;
  for (int64_t row : {0, 1}) {
    OperationState state(op->getLoc(), op->getName(), operands[row],
                         TypeRange(type));
    if (op->getPropertiesStorage())
      state.propertiesAttr = op->getPropertiesAsAttribute();
    results[row] = builder.create(state)->getResult(0);
  }
  return results;
}

/// Rows that are there, of a result.
LogicalResult
FragmentIteration::emitWrite(Piece &piece,
                             tensor::ParallelInsertSliceOp insert) {
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  std::optional<unsigned> operand = values.getOperand(insert.getDest());
  if (!write || !operand || write.getVectorType().getRank() != 2 ||
      insert.getSourceType().getRank() != insert.getDestType().getRank())
    return insert.emitError("expects rows of a tile that are written to a "
                            "result")
           << otherTarget;
  AffineMap map = write.getPermutationMap();
  unsigned rowDim = cast<AffineDimExpr>(map.getResult(0)).getPosition(),
           columnDim = cast<AffineDimExpr>(map.getResult(1)).getPosition();
  FailureOr<Piece::Elements> own = get(piece, write.getValueToStore());
  FailureOr<Value> count = values.getScalar(insert.getMixedSizes()[rowDim]);
  if (failed(own) || failed(count))
    return failure();
  Value out = arguments.getRows(*operand, insert.getDestType(), /*bytes=*/16);
  AffineMap columns = AffineMap::get(map.getNumDims(), 0, {map.getResult(1)},
                                     builder.getContext());
  FailureOr<SmallVector<Value>> offsets =
      values.getScalars(insert.getMixedOffsets());
  if (failed(offsets))
    return failure();
  ScalarBuilder ints(loc, builder);
  Value numThere = ints.toI32(*count);
  for (int64_t number : {0, 1}) {
    Value row = ints.add(piece.row, number * piece.nextRow);
    SmallVector<Value> at = *offsets;
    auto move = [&](unsigned dim, Value by, int64_t unit) {
      at[dim] = ints.add(at[dim], hopper::PositionOp::create(ints, by, unit));
    };
    move(rowDim, row, 1);
    move(columnDim, piece.column, 1);
    Value isThere = ints.slt(row, numThere);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, loc, isThere, /*withElseRegion=*/false)
            .thenBlock());
    vector::TransferWriteOp::create(builder, loc, (*own)[number], out, at,
                                    columns, ArrayRef<bool>{true});
  }
  return success();
}

LogicalResult FragmentIteration::emit() {
  if (failed(match()))
    return failure();
  ScalarBuilder ints(loc, builder);
  Value lane = ints.toI32(gpu::LaneIdOp::create(ints, IntegerAttr()));
  int64_t numPieces =
      numRows * numColumns / (rowsAreM ? 2 * kColumns : 2 * kWarpRows);
  for (int64_t first = 0; first < numPieces; first += hopper::kWarpThreads) {
    Value number = ints.add(lane, first);
    OpBuilder::InsertionGuard guard(builder);
    if (first + hopper::kWarpThreads > numPieces) {
      Value isPiece = ints.slt(number, numPieces);
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, loc, isPiece, /*withElseRegion=*/false)
              .thenBlock());
    }
    Piece piece = emitPiece(number);
    for (Operation &op : loop.getTerminator().getYieldingOps())
      if (failed(emitWrite(piece, cast<tensor::ParallelInsertSliceOp>(op))))
        return failure();
  }
  return success();
}

LogicalResult mlir::attn::emitFragmentIteration(OpBuilder &builder,
                                                scf::ForallOp loop,
                                                vector::TransferReadOp read,
                                                KernelArguments &arguments,
                                                KernelValues &values) {
  return FragmentIteration(builder, loop, read, arguments, values).emit();
}
