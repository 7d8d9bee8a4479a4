//===- ThreadCopies.cpp - Copies by threads -------------------------------===//
//
// Tiles that the copy engine of the hardware does not copy, of tensors with any
// strides, or of rows that a list names, are copied by the 128 threads of a
// warpgroup: each has a segment of 8 columns of every 16th row. Where rows are
// aligned, a segment is one asynchronous copy, and tiles of several uses are
// under way at a time; otherwise elements are read and written one by one, as
// 16 bits are all that an address is a multiple of.
//
//===----------------------------------------------------------------------===//

#include "ThreadCopies.h"
#include "Shared/SharedMemory.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kSegmentColumns = 8;
static constexpr int64_t kElementBytes = 2;
/// Rows that a warpgroup copies at a time.
static constexpr int64_t kRowsAtOnce = 16;

/// The first element of a head.
static Value getHeadPointer(ThreadBuilder &b, const BufferParameter &buffer,
                            ValueRange batch, ValueRange head) {
  Value offset = b.add(b.mul(b.toInt(batch, 64), buffer.strides[0]),
                       b.mul(b.toInt(head, 64), buffer.strides[1]));
  return LLVM::GEPOp::create(b, buffer.pointer.getType(), b.getI16Type(),
                             buffer.pointer, ArrayRef<LLVM::GEPArg>{offset});
}

/// Which row of the tensor becomes a row of the tile.
static Value getRow(ThreadBuilder &b, hopper::PutOp op,
                    Operands<hopper::PutOp> in, Value rowInTile) {
  Value first = b.toInt(in.getRow(), 32);
  Value row = b.add(first, rowInTile);
  if (!op.getList())
    return row;
  SmallVector<IndexElement> position = b.getPosition(in.getPosition());
  position.push_back({row, 0});
  return LLVM::LoadOp::create(
      b, b.getI32Type(),
      b.getAddress(b.getBuffer(op.getList().getType(), in.getList()), position,
                   /*bytes=*/4));
}

/// Calls `copy` for the segments of a row of a tile that this thread has, each
/// with its address in shared memory, its address in global memory, and whether
/// that is in the tensor.
static void forEachSegment(ThreadBuilder &b, const BufferParameter &buffer,
                           int64_t columns, int64_t chunkColumns,
                           int64_t chunkBytes, Value shared, Value head,
                           Value row, Value rowInTile,
                           function_ref<void(Value, Value, Value)> copy) {
  Value segment = b.andI(b.thread.id, 7);
  // A list may name negative rows.
  Value isRow = b.ult(row, b.toInt(buffer.extents[0], 32));
  Value wide = b.sext64(row);
  Value rowPointer = LLVM::GEPOp::create(
      b, head.getType(), b.getI16Type(), head,
      ArrayRef<LLVM::GEPArg>{b.mul(wide, buffer.strides[2])});
  Value swizzled = b.xorI(segment, b.andI(rowInTile, 7));
  Value inChunk =
      b.add(b.mul(rowInTile, kRowBytes), b.mul(swizzled, kSegmentBytes));
  Value column = b.mul(segment, kSegmentColumns);
  for (int64_t first = 0; first < columns; first += chunkColumns) {
    Value at = b.addOffset(column, first);
    Value isInside = isRow;
    if (first + hopper::kChunkColumns > columns)
      isInside = b.andI(isRow, b.slt(at, columns));
    Value to =
        LLVM::GEPOp::create(b, shared.getType(), b.getI8Type(), shared,
                            ArrayRef<LLVM::GEPArg>{b.addOffset(
                                inChunk, first / chunkColumns * chunkBytes)});
    Value from = LLVM::GEPOp::create(b, rowPointer.getType(), b.getI16Type(),
                                     rowPointer, ArrayRef<LLVM::GEPArg>{at});
    copy(to, from, isInside);
  }
}

static Value getElement(ThreadBuilder &b, Value segment, int64_t number) {
  return b.offsetPointer(segment, number * kElementBytes);
}

/// The producer's threads together; each arrives when its part is there.
void mlir::attn::emitCopyIn(ThreadBuilder &b, hopper::PutOp op,
                            Operands<hopper::PutOp> in, Value sharedTile,
                            Value full) {
  const BufferParameter &buffer =
      b.getBuffer(op.getMap().getType(), in.getMap());
  hopper::ChannelType type = op.getChannel().getType();
  Value head = getHeadPointer(b, buffer, in.getBatch(), in.getHead());
  auto segmentType = VectorType::get({kSegmentColumns}, b.getI16Type());
  Value none = arith::ConstantOp::create(
      b, DenseElementsAttr::get(segmentType, b.getI16IntegerAttr(0)));
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(type.getRows()),
                                 b.i32(kRowsAtOnce));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = b.add(loop.getInductionVar(), b.shrU(b.thread.inGroup, 3));
    auto copy = [&](Value to, Value from, Value isInside) {
      auto branch = scf::IfOp::create(b, segmentType, isInside,
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, none);
      b.setInsertionPointToStart(branch.thenBlock());
      Value segment = none;
      for (int64_t number = 0; number < kSegmentColumns; ++number)
        segment = LLVM::InsertElementOp::create(
            b, segment,
            LLVM::LoadOp::create(b, b.getI16Type(),
                                 getElement(b, from, number)),
            b.i32(number));
      scf::YieldOp::create(b, segment);
      b.setInsertionPointAfter(branch);
      LLVM::StoreOp::create(b, branch.getResult(0), to, kSegmentBytes);
    };
    forEachSegment(b, buffer, type.getColumns(), type.getChunkColumns(),
                   type.getRows() * kRowBytes, sharedTile, head,
                   getRow(b, op, in, row), row, copy);
  }
  emitProxyFence(b);
  emitArrive(b, full);
}

/// The rows of the tensor that this thread copies segments of.
SmallVector<Value> mlir::attn::getOwnRows(ThreadBuilder &b, hopper::PutOp op,
                                          Operands<hopper::PutOp> in) {
  SmallVector<Value> rows;
  Value own = b.shrU(b.thread.inGroup, 3);
  for (int64_t first = 0; first < op.getChannel().getType().getRows();
       first += kRowsAtOnce)
    rows.push_back(getRow(b, op, in, b.addOffset(own, first)));
  return rows;
}

/// The producer's threads together, each of which arrives when its copies are
/// done, without waiting for them.
void mlir::attn::emitAsyncCopyIn(ThreadBuilder &b, hopper::PutOp op,
                                 Operands<hopper::PutOp> in, Value sharedTile,
                                 ArrayRef<Value> rows, Value full) {
  const BufferParameter &buffer =
      b.getBuffer(op.getMap().getType(), in.getMap());
  hopper::ChannelType type = op.getChannel().getType();
  Value head = getHeadPointer(b, buffer, in.getBatch(), in.getHead());
  Value own = b.shrU(b.thread.inGroup, 3);
  auto copy = [&](Value to, Value from, Value isInside) {
    // Of fewer bytes than the segment has, the rest becomes 0.
    Value bytes = b.select(isInside, b.i32(kSegmentBytes), b.i32(0));
    NVVM::CpAsyncOp::create(b, to, from, kSegmentBytes,
                            NVVM::LoadCacheModifierKind::CG, bytes);
  };
  int64_t first = 0;
  for (Value row : rows) {
    Value rowInTile = b.addOffset(own, first);
    // The last rows may be no multiple of those at once.
    auto emitRow = [&] {
      forEachSegment(b, buffer, type.getColumns(), type.getChunkColumns(),
                     type.getRows() * kRowBytes, sharedTile, head, row,
                     rowInTile, copy);
    };
    first += kRowsAtOnce;
    if (first <= type.getRows())
      emitRow();
    else
      b.ifThen(b.ult(rowInTile, type.getRows()), emitRow);
  }
  NVVM::CpAsyncMBarrierArriveOp::create(b, full, /*noinc=*/true);
}

/// The threads of a consumer together, from the rows that they have staged.
void mlir::attn::emitCopyOut(ThreadBuilder &b, hopper::StoreOp op,
                             Operands<hopper::StoreOp> in) {
  const BufferParameter &buffer =
      b.getBuffer(op.getMap().getType(), in.getMap());
  hopper::TileType type = op.getStaging().getType();
  Value head = getHeadPointer(b, buffer, in.getBatch(), in.getHead());
  Value firstRow = b.toInt(in.getRow(), 32);
  Value sharedTile = getSharedPointer(b, getTile(in.getStaging()));
  Value threadRow = b.shrU(b.thread.inGroup, 3);
  auto segmentType = VectorType::get({kSegmentColumns}, b.getI16Type());
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(type.getRows()),
                                 b.i32(kRowsAtOnce));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = b.add(loop.getInductionVar(), threadRow);
  auto copy = [&](Value from, Value to, Value isInside) {
    b.ifThen(isInside, [&] {
      Value segment = LLVM::LoadOp::create(b, segmentType, from, kSegmentBytes);
      for (int64_t number = 0; number < kSegmentColumns; ++number)
        LLVM::StoreOp::create(
            b, LLVM::ExtractElementOp::create(b, segment, b.i32(number)),
            getElement(b, to, number));
    });
  };
  forEachSegment(b, buffer, type.getColumns(), type.getChunkColumns(),
                 type.getParentRows() * kRowBytes, sharedTile, head,
                 b.add(firstRow, row), row, copy);
}
