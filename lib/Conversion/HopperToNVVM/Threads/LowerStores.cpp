//===- LowerStores.cpp - Results to global memory -------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadCopies.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Results go by way of the staging tile, whose rows one thread copies to
/// global memory; in parts, if the tile has fewer columns.
static void lowerStore(hopper::StoreOp op, Operands<hopper::StoreOp> in,
                       ThreadBuilder &b) {
  bool isStrided = op.getMap().getType().getStrided();
  hopper::TileType type = op.getStaging().getType();
  TileView tile = getTile(in.getStaging());
  int64_t columns = op.getVector().getType().getDimSize(0);
  int64_t chunkBytes = type.getParentRows() * kRowBytes;
  for (int64_t first = 0; first < columns; first += type.getColumns()) {
    // The copy before must have read the tile.
    bool isFresh = op.getFresh() && first == 0;
    if (!isStrided && !isFresh)
      emitDrain(b);
    emitGroupBarrier(b);
    int64_t end = std::min(columns, first + type.getColumns());
    // Four columns of a row are one register.
    emitStaging(b, in.getVector().slice(first / 4, (end - first) / 4), tile,
                chunkBytes);
    if (isStrided) {
      emitGroupBarrier(b);
      emitCopyOut(b, op, in);
      continue;
    }
    emitProxyFence(b);
    emitGroupBarrier(b);
    b.ifThen(b.thread.isGroupLeader, [&] {
      SmallVector<Value> coordinates = getCoordinates(
          b, op.getMap().getType(), in.getBatch(), in.getHead(), in.getRow());
      for (int64_t column = first; column < end;
           column += hopper::kChunkColumns) {
        SmallVector<Value> at = {
            op.getColumn() ? b.addOffset(b.toInt(in.getColumn(), 32), column)
                           : b.i32(column)};
        llvm::append_range(at, coordinates);
        int64_t chunk = (column - first) / hopper::kChunkColumns;
        NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
            b, in.getMap()[0], getSharedPointer(b, tile, chunk * chunkBytes),
            at, /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
            /*predicate=*/Value());
      }
      NVVM::CpAsyncBulkCommitGroupOp::create(b);
    });
  }
}

static void lowerDrain(hopper::DrainOp, Operands<hopper::DrainOp>,
                       ThreadBuilder &b) {
  emitDrain(b);
}

void mlir::attn::populateStorePatterns(ThreadPatterns &patterns) {
  patterns.add(lowerStore);
  patterns.add(lowerDrain);
}
