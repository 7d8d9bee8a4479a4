//===- LowerTiles.cpp - Tiles in shared memory ----------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static Elements getWholeTile(ThreadBuilder &b, Value shared) {
  return getStageTile(b, b.kernel.shared.get(shared), /*stage=*/{});
}

static Elements lowerCreateTile(CreateTileOp op, Operands<CreateTileOp>,
                                ThreadBuilder &b) {
  return getWholeTile(b, op.getResult());
}

/// Its rows are written at the start of the kernel.
static Elements lowerCreateIotaTile(CreateIotaTileOp op,
                                    Operands<CreateIotaTileOp>,
                                    ThreadBuilder &b) {
  return getWholeTile(b, op.getResult());
}

static Elements lowerRows(RowsOp op, Operands<RowsOp> in, ThreadBuilder &b) {
  TileType type = op.getResult().getType();
  int64_t rowBytes = type.isVector() ? kVectorBytes : kRowBytes;
  return advanceTile(b, getTile(in.getSource()), b.toInt(in.getIndex(), 32),
                     type.getRows() * rowBytes);
}

static Elements lowerColumns(ColumnsOp op, Operands<ColumnsOp> in,
                             ThreadBuilder &b) {
  TileType type = op.getResult().getType();
  int64_t chunks = type.getColumns() / type.getChunkColumns();
  return advanceTile(b, getTile(in.getSource()), b.toInt(in.getIndex(), 32),
                     chunks * type.getParentRows() * kRowBytes);
}

void mlir::attn::populateTilePatterns(ThreadPatterns &patterns) {
  patterns.add(lowerCreateTile);
  patterns.add(lowerCreateIotaTile);
  patterns.add(lowerRows);
  patterns.add(lowerColumns);
}
