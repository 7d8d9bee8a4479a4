//===- TileLowering.cpp - One worker's program on a CPU -------------------===//

#include "TileLowering.h"
#include "Transpose.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value TileLowering::allocate(VectorType type, unsigned dim) {
  // Booleans are kept as bytes: a vector of i1 in memory is a string of bits.
  Type element = type.getElementType();
  if (element.isInteger(1))
    element = scratchBuilder.getI8Type();
  SmallVector<int64_t> shape(type.getShape());
  bool isTransposed = dim + 1 != type.getRank();
  if (isTransposed)
    std::swap(shape[0], shape[1]);
  auto memref = MemRefType::get(shape, element);
  // In front of all that is there, and of the loop that takes its place.
  if (scratch.empty())
    scratchBuilder.setInsertionPointToStart(loop.getBody());
  else
    scratchBuilder.setInsertionPointAfterValue(scratch.back());
  // A cache line, which is also the widest vector.
  Value buffer = memref::AllocOp::create(scratchBuilder, loop.getLoc(), memref,
                                         scratchBuilder.getI64IntegerAttr(64));
  scratch.push_back(buffer);
  if (!isTransposed)
    return buffer;
  return memref::TransposeOp::create(
      scratchBuilder, loop.getLoc(), buffer,
      AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                                      buffer.getContext())));
}

LogicalResult TileLowering::emitLoop(Value first, Value end, int64_t step,
                                     function_ref<LogicalResult(Value)> body) {
  Value stepValue = index(step);
  auto loop = scf::ForOp::create(builder, loc, first, end, stepValue);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  return body(loop.getInductionVar());
}

LogicalResult TileLowering::store(Value value, Value buffer) {
  auto type = cast<VectorType>(value.getType());
  unsigned dim = attn::getVectorDim(buffer), last = type.getRank() - 1;
  int64_t extent = type.getDimSize(dim), vectors = extent - extent % lanes;
  bool areQueries = hasFewQueries && type.getShape().back() == tileM &&
                    (last == 0 || dim == 0);
  if (!isVectorReadable(value, dim, buffers)) {
    if (dim == 1 && extent == vectors && llvm::isPowerOf2_64(lanes) &&
        isVectorReadable(value, 0, buffers))
      return storeTransposed(value, buffer);
    vectors = 0;
  }
  auto storeAt = [&](ArrayRef<TileCoord> coords) -> LogicalResult {
    SmallVector<Value> indices;
    for (TileCoord coord : coords)
      indices.push_back(coord.offset);
    Value element = evaluator().evaluateVector(value, coords);
    if (!element)
      return failure();
    Type kept = getElementTypeOrSelf(buffer.getType());
    if (kept != type.getElementType()) {
      if (auto vector = dyn_cast<VectorType>(element.getType()))
        kept = vector.clone(kept);
      element = arith::ExtUIOp::create(builder, loc, kept, element);
    }
    storeTile(builder, loc, element, buffer, indices);
    return success();
  };
  /// Vectors, and the elements behind them.
  auto storeAlong =
      [&](function_ref<LogicalResult(TileCoord)> storeAt) -> LogicalResult {
    if (vectors != 0 && failed(emitLoop(index(vectors), lanes, [&](Value at) {
          return storeAt(TileCoord{at, true});
        })))
      return failure();
    if (vectors == extent)
      return success();
    Value end = areQueries && last == 0 ? getQueriesEnd(extent) : index(extent);
    return emitLoop(index(vectors), end, 1,
                    [&](Value at) { return storeAt(TileCoord{at}); });
  };
  if (last == 0)
    return storeAlong([&](TileCoord at) { return storeAt(at); });
  int64_t others = type.getDimSize(1 - dim);
  Value end = areQueries ? getQueriesEnd(others) : index(others);
  return emitLoop(end, 1, [&](Value other) {
    return storeAlong([&](TileCoord at) {
      return dim == 0 ? storeAt({at, TileCoord{other}})
                      : storeAt({TileCoord{other}, at});
    });
  });
}

LogicalResult TileLowering::storeTransposed(Value value, Value buffer) {
  auto type = cast<VectorType>(value.getType());
  int64_t numRows = type.getDimSize(0), numColumns = type.getDimSize(1);
  int64_t whole = numRows - numRows % lanes;
  return emitLoop(index(numColumns), lanes, [&](Value base) -> LogicalResult {
    SmallVector<Value> columns;
    for (int64_t lane = 0; lane < lanes; ++lane)
      columns.push_back(arith::AddIOp::create(builder, loc, base, index(lane)));
    LogicalResult blocks =
        emitLoop(index(whole), lanes, [&](Value firstRow) -> LogicalResult {
          SmallVector<Value> block;
          for (Value column : columns) {
            block.push_back(evaluator().evaluateVector(
                value, {TileCoord{firstRow, true}, TileCoord{column}}));
            if (!block.back())
              return failure();
          }
          for (auto [lane, row] :
               llvm::enumerate(emitTranspose(builder, loc, block))) {
            Value position =
                arith::AddIOp::create(builder, loc, firstRow, index(lane));
            vector::StoreOp::create(builder, loc, row, buffer,
                                    ValueRange{position, base});
          }
          return success();
        });
    if (failed(blocks))
      return failure();
    return emitLoop(index(whole), index(numRows), 1,
                    [&](Value row) -> LogicalResult {
                      for (Value column : columns) {
                        Value element = evaluator().evaluate(
                            value, {TileCoord{row}, TileCoord{column}});
                        if (!element)
                          return failure();
                        memref::StoreOp::create(builder, loc, element, buffer,
                                                ValueRange{row, column});
                      }
                      return success();
                    });
  });
}

FailureOr<Value> TileLowering::materialize(Value value) {
  if (Value buffer = buffers.lookup(value))
    return buffer;
  auto type = cast<VectorType>(value.getType());
  // Keys and values are read along their last dimension.
  bool isLhs = llvm::any_of(value.getUses(), [](OpOperand &use) {
    return isa<vector::ContractionOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
  Value buffer = isLhs ? allocate(type, type.getRank() - 1) : allocate(type);
  // Where the block that it belongs to reads it, so that what another block
  // reads later has been computed even if this one does not run.
  OpBuilder::InsertionGuard guard(builder);
  Region *region = value.getParentRegion();
  Block *block = loop.getRegion().isAncestor(region) ? value.getParentBlock()
                                                     : loop.getBody();
  if (builder.getInsertionBlock() != block)
    builder.setInsertionPoint(block->findAncestorOpInBlock(
        *builder.getInsertionBlock()->getParentOp()));
  if (failed(store(value, buffer)))
    return failure();
  buffers[value] = buffer;
  return buffer;
}

FailureOr<Value> TileLowering::getUpdatable(Value value, Block *block) {
  Value own = buffers.lookup(value);
  // A tile from outside of the block is read again by another run of it.
  if (own && value.hasOneUse() && value.getParentBlock() == block)
    return own;
  Value buffer = allocate(cast<VectorType>(value.getType()));
  if (failed(store(value, buffer)))
    return failure();
  return buffer;
}

/// Whether the elements of what an operation yields may be computed where they
/// are used.
static bool isOfElements(Operation &op) {
  return op.getNumResults() == 1 && op.getNumRegions() == 0 &&
         !isa<vector::ContractionOp, vector::MultiDimReductionOp>(op);
}

bool TileLowering::isReadAfter(Value value, Operation *reader, Value stored) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (user == reader || done.contains(user))
        continue;
      if (!isOfElements(*user))
        return true;
      Value result = user->getResult(0);
      if (result != stored && !buffers.contains(result))
        worklist.push_back(result);
    }
  return false;
}

Value TileLowering::getOverwritable(Value value, Operation *reader,
                                    Value stored) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> done;
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (!done.insert(current).second)
      continue;
    Value buffer = buffers.lookup(current);
    // A tile from outside of the block is read again by another run of it.
    if (buffer && current.getType() == value.getType() &&
        attn::getVectorDim(buffer) ==
            getVectorDim(cast<VectorType>(value.getType())) &&
        current.getParentBlock() == reader->getBlock() &&
        !isReadAfter(current, reader, stored))
      return buffer;
    Operation *op = current.getDefiningOp();
    if (op && !buffer && OpTrait::hasElementwiseMappableTraits(op))
      llvm::append_range(worklist, llvm::reverse(op->getOperands()));
  }
  return allocate(cast<VectorType>(value.getType()));
}

void TileLowering::rename(Value value, Block &block) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  auto name = UnrealizedConversionCastOp::create(builder, value.getLoc(),
                                                 value.getType(), value);
  buffers[name.getResult(0)] = buffers.lookup(value);
  value.replaceUsesWithIf(name.getResult(0), [&](OpOperand &use) {
    return use.getOwner() != name &&
           block.getParent()->isAncestor(use.getOwner()->getParentRegion());
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult TileLowering::lowerFor(scf::ForOp op) {
  builder.setInsertionPoint(op);
  SmallVector<Value> scalarInits;
  SmallVector<unsigned> scalars;
  for (auto [number, init, argument, result] : llvm::enumerate(
           op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    auto type = dyn_cast<VectorType>(init.getType());
    if (!type) {
      scalarInits.push_back(init);
      scalars.push_back(number);
      continue;
    }
    FailureOr<Value> buffer = getUpdatable(init, op->getBlock());
    if (failed(buffer))
      return failure();
    // One after the other: the first may move what the second refers to.
    buffers[argument] = *buffer;
    buffers[result] = *buffer;
  }

  auto newLoop =
      scf::ForOp::create(builder, op.getLoc(), op.getLowerBound(),
                         op.getUpperBound(), op.getStep(), scalarInits);
  Block *body = newLoop.getBody(), *oldBody = op.getBody();
  auto yield = cast<scf::YieldOp>(oldBody->getTerminator());
  if (!body->empty())
    body->back().erase();
  body->getOperations().splice(body->end(), oldBody->getOperations());
  op.getInductionVar().replaceAllUsesWith(newLoop.getInductionVar());
  for (BlockArgument argument : op.getRegionIterArgs())
    if (isa<VectorType>(argument.getType()))
      rename(argument, *body);
  for (auto [position, number] : llvm::enumerate(scalars)) {
    op.getRegionIterArg(number).replaceAllUsesWith(
        newLoop.getRegionIterArg(position));
    op.getResult(number).replaceAllUsesWith(newLoop.getResult(position));
  }
  if (failed(lowerBlock(*body)))
    return failure();

  SmallVector<Value> homes;
  for (BlockArgument argument : op.getRegionIterArgs())
    homes.push_back(buffers.lookup(argument));
  if (failed(lowerYield(yield, homes)))
    return failure();
  // Until the end these hold the tile values that were lowered.
  yield->moveBefore(oldBody, oldBody->end());
  dead.push_back(op);
  return success();
}

LogicalResult TileLowering::lowerWrite(vector::TransferWriteOp op) {
  auto type = op.getVectorType();
  auto base = dyn_cast<MemRefType>(op.getBase().getType());
  if (!base || op.getMask())
    return op.emitError("expects an unmasked write to a buffer");
  dead.push_back(op);
  // The last coordinate is the query or a column of it, and rows of queries are
  // the first; queries may run past the end.
  auto getEnd = [&](unsigned number) -> Value {
    Value size = index(type.getDimSize(number));
    if (op.isDimInBounds(number))
      return size;
    unsigned dim = op.getPermutationMap().getDimPosition(number);
    Value extent = memref::DimOp::create(builder, loc, op.getBase(), dim);
    Value rest =
        arith::SubIOp::create(builder, loc, extent, op.getIndices()[dim]);
    return arith::MinSIOp::create(builder, loc, size, rest);
  };
  unsigned last = type.getRank() - 1;
  Value rowEnd = getEnd(0), end = last == 0 ? rowEnd : getEnd(last);
  bool haveVectors = type.getRank() == 2 && type.getDimSize(1) % lanes == 0;
  auto isInner = [&](unsigned number) {
    return isContiguous(op.getBase(),
                        op.getPermutationMap().getDimPosition(number)) &&
           op.isDimInBounds(number);
  };
  if (hasFewQueries && type.getRank() == 2)
    return writeColumns(
        op, isInner(0) && isVectorReadable(op.getValueToStore(), 0, buffers),
        rowEnd, end);
  if (haveVectors && isInner(1) &&
      isVectorReadable(op.getValueToStore(), 1, buffers))
    return writeRows(op, rowEnd);
  if (haveVectors && isInner(0) && type.getDimSize(0) >= lanes &&
      llvm::isPowerOf2_64(lanes))
    return writeBlocks(op, end);
  return writeElements(op, index(0), rowEnd, index(0), end);
}

/// The position in memory of a point of the tile that `op` writes.
static SmallVector<Value> getWriteIndices(OpBuilder &builder, Location loc,
                                          vector::TransferWriteOp op,
                                          ValueRange point) {
  SmallVector<Value> indices(op.getIndices());
  for (auto [number, coord] : llvm::enumerate(point)) {
    Value &position = indices[op.getPermutationMap().getDimPosition(number)];
    position = arith::AddIOp::create(builder, loc, position, coord);
  }
  return indices;
}

LogicalResult TileLowering::writeRows(vector::TransferWriteOp op,
                                      Value rowEnd) {
  return emitLoop(rowEnd, 1, [&](Value row) {
    return emitLoop(index(op.getVectorType().getDimSize(1)), lanes,
                    [&](Value column) -> LogicalResult {
                      Value part = evaluator().evaluateVector(
                          op.getValueToStore(),
                          {TileCoord{row}, TileCoord{column, true}});
                      if (!part)
                        return failure();
                      vector::StoreOp::create(
                          builder, loc, part, op.getBase(),
                          getWriteIndices(builder, loc, op, {row, column}));
                      return success();
                    });
  });
}

LogicalResult TileLowering::writeColumns(vector::TransferWriteOp op,
                                         bool areVectors, Value rowEnd,
                                         Value end) {
  int64_t numRows = op.getVectorType().getDimSize(0);
  int64_t whole = areVectors ? numRows - numRows % lanes : 0;
  if (failed(emitLoop(end, 1, [&](Value query) {
        return emitLoop(index(whole), lanes, [&](Value row) -> LogicalResult {
          Value part = evaluator().evaluateVector(
              op.getValueToStore(), {TileCoord{row, true}, TileCoord{query}});
          if (!part)
            return failure();
          vector::StoreOp::create(
              builder, loc, part, op.getBase(),
              getWriteIndices(builder, loc, op, {row, query}));
          return success();
        });
      })))
    return failure();
  if (whole == numRows)
    return success();
  return writeElements(op, index(whole), rowEnd, index(0), end);
}

LogicalResult TileLowering::writeElements(vector::TransferWriteOp op,
                                          Value firstRow, Value rowEnd,
                                          Value first, Value end) {
  auto writeAt = [&](ArrayRef<TileCoord> coords) -> LogicalResult {
    Value element = evaluator().evaluate(op.getValueToStore(), coords);
    if (!element)
      return failure();
    SmallVector<Value> point;
    for (TileCoord coord : coords)
      point.push_back(coord.offset);
    memref::StoreOp::create(builder, loc, element, op.getBase(),
                            getWriteIndices(builder, loc, op, point));
    return success();
  };
  VectorType type = op.getVectorType();
  return emitLoop(first, end, 1, [&](Value query) {
    if (type.getRank() == 1)
      return writeAt(TileCoord{query});
    return emitLoop(firstRow, rowEnd, 1, [&](Value row) {
      return writeAt({TileCoord{row}, TileCoord{query}});
    });
  });
}

LogicalResult TileLowering::writeBlocks(vector::TransferWriteOp op, Value end) {
  VectorType type = op.getVectorType();
  int64_t numRows = type.getDimSize(0), whole = numRows - numRows % lanes;
  // Shuffles of 16-bit elements are slow: narrow after the transpose.
  Value source = op.getValueToStore();
  auto narrow = source.getDefiningOp<arith::TruncFOp>();
  if (narrow)
    source = narrow.getIn();
  auto rowType = VectorType::get({lanes}, type.getElementType());

  Value step = index(lanes);
  Value numBlocks = arith::DivUIOp::create(builder, loc, end, step);
  Value wholeEnd = arith::MulIOp::create(builder, loc, numBlocks, step);
  LogicalResult blocks =
      emitLoop(wholeEnd, lanes, [&](Value query) -> LogicalResult {
        return emitLoop(index(whole), lanes, [&](Value row) -> LogicalResult {
          SmallVector<Value> block;
          for (int64_t lane = 0; lane < lanes; ++lane) {
            Value position =
                arith::AddIOp::create(builder, loc, row, index(lane));
            block.push_back(evaluator().evaluateVector(
                source, {TileCoord{position}, TileCoord{query, true}}));
            if (!block.back())
              return failure();
          }
          for (auto [lane, value] :
               llvm::enumerate(emitTranspose(builder, loc, block))) {
            Value position =
                arith::AddIOp::create(builder, loc, query, index(lane));
            Value out = value;
            if (narrow)
              out = arith::TruncFOp::create(builder, loc, rowType, out);
            vector::StoreOp::create(
                builder, loc, out, op.getBase(),
                getWriteIndices(builder, loc, op, {row, position}));
          }
          return success();
        });
      });
  if (failed(blocks) ||
      failed(writeElements(op, index(0), index(numRows), wholeEnd, end)))
    return failure();
  if (whole == numRows)
    return success();
  return writeElements(op, index(whole), index(numRows), index(0), wholeEnd);
}

LogicalResult TileLowering::lowerGather(GatherOp op) {
  Value value = evaluator().evaluate(op.getResult(), {});
  if (!value)
    return failure();
  op.getResult().replaceAllUsesWith(value);
  dead.push_back(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether computing one element costs so much that a one-dimensional value is
/// better kept in memory than computed again for each row of a tile.
static bool isExpensive(Operation *op) {
  return isa<GatherOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
             arith::RemSIOp, arith::RemUIOp, arith::RemFOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp>(op) ||
         (isa<math::MathDialect>(op->getDialect()) && !isa<math::FmaOp>(op));
}

/// Whether a value is the right-hand side of a contraction, which reads it as
/// rows of vectors, or a converted left-hand side, which it reads many times.
static bool feedsContraction(Operation *op) {
  return llvm::any_of(op->getResult(0).getUses(), [&](OpOperand &use) {
    if (!isa<vector::ContractionOp>(use.getOwner()))
      return false;
    return use.getOperandNumber() == 1 ||
           (use.getOperandNumber() == 0 && !isa<vector::TransferReadOp>(op));
  });
}

/// Whether a reduction, which goes over all elements of a value in any case, is
/// the first to ask for it.
static bool feedsReduction(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getResult(0).getUsers())
    if (user->getBlock() == op->getBlock() &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  return isa_and_present<vector::MultiDimReductionOp>(first);
}

static bool isOnTiles(Operation &op) {
  return llvm::any_of(op.getOperandTypes(), llvm::IsaPred<VectorType>) ||
         llvm::any_of(op.getResultTypes(), llvm::IsaPred<VectorType>);
}

FailureOr<bool> TileLowering::lowerWhole(Operation &op) {
  auto gather = dyn_cast<GatherOp>(op);
  LogicalResult result = success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    result = lowerFor(loop);
  else if (gather && !isa<VectorType>(gather.getType()))
    result = lowerGather(gather);
  else if (!isOnTiles(op))
    return isa<scf::IfOp>(op) ? lowerSides(cast<scf::IfOp>(op)) : true;
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    result = lowerIf(branch);
  else if (auto contract = dyn_cast<vector::ContractionOp>(op))
    result = lowerContract(contract);
  else if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
    result = lowerReduction(reduction);
  else if (auto scatter = dyn_cast<ScatterOp>(op))
    result = lowerScatter(scatter);
  else if (auto write = dyn_cast<vector::TransferWriteOp>(op))
    result = lowerWrite(write);
  else
    return false;
  if (failed(result))
    return failure();
  done.insert(&op);
  return true;
}

LogicalResult TileLowering::lowerBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    builder.setInsertionPoint(&op);
    loc = op.getLoc();
    FailureOr<bool> isLowered = lowerWhole(op);
    if (failed(isLowered))
      return failure();
    if (*isLowered)
      continue;
    if (!isOfElements(op))
      return op.emitError("'")
             << op.getName() << "' on tiles has no lowering to the CPU";
    // Everything else is computed where it is used, unless that is often.
    Value value = op.getResult(0);
    auto type = dyn_cast<VectorType>(value.getType());
    // One number that only elements give would make scalars of all tiles that
    // are computed of it, such as lse at queries that may be past the end.
    bool isCostly =
        type && (isExpensive(&op) ||
                 (isa<vector::TransferReadOp>(op) &&
                  type.getShape().back() % lanes == 0 &&
                  !isVectorReadable(value, type.getRank() - 1, buffers)));
    bool isOften =
        type && (feedsContraction(&op) || (type.getRank() == 1 && isCostly));
    if (isOften && !feedsReduction(&op) && failed(materialize(value)))
      return failure();
    dead.push_back(&op);
  }
  return success();
}

LogicalResult TileLowering::run() {
  for (auto op :
       llvm::make_early_inc_range(loop.getBody()->getOps<TileQueriesOp>())) {
    queriesEnd = op.getCount();
    op.erase();
  }
  if (queriesEnd && !hasFewQueries) {
    builder.setInsertionPointAfterValue(queriesEnd);
    loc = queriesEnd.getLoc();
    // Vectors that some query is in.
    Value step = index(lanes * unrollM);
    Value blocks = arith::CeilDivUIOp::create(builder, loc, queriesEnd, step);
    queriesEnd = arith::MulIOp::create(builder, loc, blocks, step);
  }
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  for (Operation *op : dead)
    op->dropAllReferences();
  for (Operation *op : llvm::reverse(dead)) {
    op->dropAllUses();
    op->erase();
  }
  builder.setInsertionPoint(loop.getTerminator());
  for (Value buffer : llvm::reverse(scratch))
    memref::DeallocOp::create(builder, loop.getLoc(), buffer);
  return success();
}
