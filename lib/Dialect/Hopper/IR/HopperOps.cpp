//===- HopperOps.cpp - Operations of the hopper dialect -------------------===//

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static ParseResult parseKeyword(OpAsmParser &parser, StringAttr &keyword) {
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  keyword = parser.getBuilder().getStringAttr(text);
  return success();
}

static void printKeyword(OpAsmPrinter &printer, Operation *,
                         StringAttr keyword) {
  printer << keyword.getValue();
}

#define GET_OP_CLASSES
#include "attn/Dialect/Hopper/IR/HopperOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t hopper::getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t hopper::getChunkColumns(Type element) {
  return kChunkColumns * 2 / getElementBytes(element);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static constexpr int64_t kWarpgroupThreads = 4 * hopper::kWarpThreads;
/// Registers come in such numbers for each thread.
static constexpr int64_t kRegisterGranularity = 8;

int64_t hopper::getNumThreads(int64_t numConsumers) {
  return kWarpgroupThreads * (1 + numConsumers);
}

int64_t hopper::getProducerRegisters(int64_t numConsumers, int64_t registers,
                                     int64_t threadBlocks) {
  constexpr int64_t all = 65536;
  int64_t threads = getNumThreads(numConsumers);
  int64_t atStart =
      llvm::alignDown(all / (threads * threadBlocks), kRegisterGranularity);
  int64_t left = atStart * (1 + numConsumers) - numConsumers * registers;
  // As many as looking for tiles under a mask takes. It cannot have more than
  // at the start, nor ptxas more than it uses anywhere.
  constexpr int64_t most = 128;
  return std::min(left / kRegisterGranularity * kRegisterGranularity, most);
}

LogicalResult
hopper::verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                        int64_t numConsumers, int64_t registers,
                        int64_t threadBlocks) {
  constexpr int64_t least = 24, most = 256, mostBlocks = 4;
  if (registers < least || registers > most ||
      registers % kRegisterGranularity != 0)
    return emitError() << "expects registers to be a multiple of "
                       << kRegisterGranularity << " from " << least << " to "
                       << most << ", but got " << registers;
  if (threadBlocks < 1 || threadBlocks > mostBlocks)
    return emitError() << "expects thread_blocks to be from 1 to " << mostBlocks
                       << ", but got " << threadBlocks;
  int64_t left = getProducerRegisters(numConsumers, registers, threadBlocks);
  if (left < least)
    return emitError() << "expects registers to leave at least " << least
                       << " to each thread of the producer, but got "
                       << registers << ", which leave " << left;
  return success();
}

LogicalResult WarpSpecializeOp::verify() {
  if (int64_t count = getNumConsumers(); count < 1 || count > 4)
    return emitOpError("expects 1 to 4 consumers, but got ") << count;
  if (failed(verifyRegisters([&] { return emitOpError(); }, getNumConsumers(),
                             getRegisters(), getThreadBlocks())))
    return failure();
  int64_t threads = getProducerThreads();
  if (threads != 1 && threads != 32 && threads != 128)
    return emitOpError("expects 1, 32 or 128 threads of the producer, but got ")
           << threads;
  return success();
}

/// All uses of a channel arrive in the same way.
LogicalResult WarpSpecializeOp::verifyRegions() {
  DenseMap<Value, PutOp> puts;
  WalkResult result = getProducer().walk([&](PutOp put) {
    auto [first, isNew] = puts.try_emplace(put.getChannel(), put);
    MapType own = put.getMap().getType(),
            other = first->second.getMap().getType();
    if (isNew || (own.getStrided() == other.getStrided() &&
                  own.getAligned() == other.getAligned()))
      return WalkResult::advance();
    InFlightDiagnostic diag =
        put.emitOpError("expects a map of the kind that the channel is filled "
                        "from elsewhere, but got ")
        << own;
    diag.attachNote(first->second.getLoc()) << "filled from " << other;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void WarpSpecializeOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent()) {
    regions.push_back(RegionSuccessor(&getProducer()));
    regions.push_back(RegionSuccessor(&getConsumers()));
    return;
  }
  regions.push_back(RegionSuccessor(getOperation(), ResultRange(nullptr, 0)));
}

/// Checks that `op` is in the region of a role.
static LogicalResult verifyRole(Operation *op, bool isProducer) {
  auto roles = op->getParentOfType<WarpSpecializeOp>();
  // Before partitions are cut, a step says which one it is in.
  if (!roles && op->getParentOfType<hopper::StepOp>())
    return success();
  Region *region =
      !roles ? nullptr
             : (isProducer ? &roles.getProducer() : &roles.getConsumers());
  if (region && region->findAncestorOpInRegion(*op))
    return success();
  return op->emitOpError("expects to be in the '")
         << (isProducer ? "producer" : "consumers")
         << "' region of hopper.warp_specialize";
}

LogicalResult WarpgroupIdOp::verify() {
  return verifyRole(*this, /*isProducer=*/false);
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static LogicalResult verifyNote(Operation *op, ChannelType channel,
                                Value note) {
  if (channel.getNotes() == static_cast<bool>(note))
    return success();
  return op->emitOpError("expects ")
         << (note ? "no note" : "a note") << " with " << channel;
}

LogicalResult PositionOp::verify() {
  if (static_cast<int64_t>(getOf()) < 1)
    return emitOpError("expects tiles of at least one position, but got ")
           << getOf();
  return success();
}

LogicalResult PutOp::verify() {
  ChannelType channel = getChannel().getType();
  MapType map = getMap().getType();
  if (channel.getRows() != map.getRows() ||
      channel.getColumns() != map.getColumns() ||
      channel.getElementType() != map.getElementType())
    return emitOpError("expects boxes of the map to be tiles of the channel, "
                       "but got ")
           << map << " and " << channel;
  if (failed(verifyRole(*this, /*isProducer=*/true)))
    return failure();
  auto roles = (*this)->getParentOfType<WarpSpecializeOp>();
  if (map.getStrided() && roles.getProducerThreads() != kWarpgroupThreads)
    return emitOpError("expects a producer of ")
           << kWarpgroupThreads << " threads for " << map << ", but got "
           << roles.getProducerThreads();
  if (map.getStrided() && getColumn())
    return emitOpError("expects no column of a strided map");
  if (getList()) {
    auto list = cast<MemRefType>(getList().getType());
    if (!map.getStrided())
      return emitOpError("expects a strided map for rows of a list, but got ")
             << map;
    if (!list.getElementType().isInteger(32) || list.getRank() < 1)
      return emitOpError("expects a list of i32 with a rank of at least 1, but "
                         "got ")
             << list;
    if (static_cast<int64_t>(getPosition().size()) != list.getRank() - 1)
      return emitOpError("expects one position for each dimension of the list "
                         "but the last, ")
             << list.getRank() - 1 << ", but got " << getPosition().size();
  }
  return verifyNote(*this, channel, getNote());
}

LogicalResult GetOp::verify() {
  if (failed(verifyNote(*this, getChannel().getType(), getNote())))
    return failure();
  if (getTile().getType() != getChannel().getType().getTileType())
    return emitOpError("expects the result to be a tile of the channel, ")
           << getChannel().getType().getTileType() << ", but got "
           << getTile().getType();
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult ReleaseOp::verify() {
  return verifyRole(*this, /*isProducer=*/false);
}

/// What one thread does for all.
static LogicalResult verifySingleProducer(Operation *op) {
  if (failed(verifyRole(op, /*isProducer=*/true)))
    return failure();
  if (op->getParentOfType<WarpSpecializeOp>().getProducerThreads() > 32)
    return op->emitOpError("expects a producer of one thread or one warp");
  return success();
}

LogicalResult BallotOp::verify() {
  auto roles = (*this)->getParentOfType<WarpSpecializeOp>();
  if (roles && roles.getProducerThreads() == 1 &&
      roles.getProducer().findAncestorOpInRegion(**this))
    return emitOpError("expects a producer of a warp, but got one thread");
  return success();
}

LogicalResult ClaimOp::verify() { return verifySingleProducer(*this); }

LogicalResult RetireOp::verify() { return verifySingleProducer(*this); }

/// Checks the length of a message.
static LogicalResult verifyMessage(Operation *op, MailboxType type,
                                   size_t length) {
  if (type.getLength() == static_cast<int64_t>(length))
    return success();
  return op->emitOpError("expects a message of ")
         << type.getLength() << " numbers, but got " << length;
}

LogicalResult PostOp::verify() {
  if (failed(verifyMessage(*this, getMailbox().getType(), getValues().size())))
    return failure();
  return verifySingleProducer(*this);
}

LogicalResult ReceiveOp::verify() {
  if (failed(verifyMessage(*this, getMailbox().getType(), getNumResults())))
    return failure();
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult TakeTurnOp::verify() {
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult PassTurnOp::verify() {
  return verifyRole(*this, /*isProducer=*/false);
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

LogicalResult RowsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (result.getRows() != kWarpgroupRows ||
      result.getColumns() != source.getColumns() ||
      result.getElementType() != source.getElementType() ||
      result.getParentRows() != source.getRows())
    return emitOpError("expects ")
           << kWarpgroupRows << " rows of " << source << ", but got " << result;
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  TileType tile = getTile().getType();
  auto expected = VectorType::get({tile.getColumns(), kWarpgroupRows},
                                  tile.getElementType());
  if (tile.getRows() != kWarpgroupRows)
    return emitOpError("expects a tile of ")
           << kWarpgroupRows << " rows, but got " << tile;
  if (getResult().getType() != expected)
    return emitOpError("expects the result to be ")
           << expected << ", but got " << getResult().getType();
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult MmaOp::verify() {
  TileType rhs = getRhs().getType();
  int64_t inner, queries;
  Type element;
  if (auto lhs = dyn_cast<TileType>(getLhs().getType())) {
    inner = lhs.getColumns();
    queries = lhs.getRows();
    element = lhs.getElementType();
  } else {
    auto vector = cast<VectorType>(getLhs().getType());
    inner = vector.getDimSize(0);
    queries = vector.getDimSize(1);
    element = vector.getElementType();
  }
  VectorType result = getResult().getType().getVector();
  bool isTransposed = getRhsTransposed();
  int64_t rhsInner = isTransposed ? rhs.getRows() : rhs.getColumns();
  int64_t outer = isTransposed ? rhs.getColumns() : rhs.getRows();
  if (queries != kWarpgroupRows)
    return emitOpError("expects ")
           << kWarpgroupRows << " queries, but got " << queries;
  if (element != rhs.getElementType())
    return emitOpError("expects operands of one element type, but got ")
           << element << " and " << rhs.getElementType();
  if (!isa<BFloat16Type, Float16Type>(element))
    return emitOpError("expects operands of bf16 or f16, but got ") << element;
  if (inner != rhsInner)
    return emitOpError("expects operands to agree on the reduced extent, but "
                       "got ")
           << inner << " and " << rhsInner;
  if (int64_t multiple = isTransposed ? 16 : 8; inner % multiple != 0)
    return emitOpError("expects the reduced extent to be a multiple of ")
           << multiple << ", but got " << inner;
  if (outer % 8 != 0 || outer > 256)
    return emitOpError("expects rows of the result to be a multiple of 8 up "
                       "to 256, but got ")
           << outer;
  if (result.getShape() != ArrayRef<int64_t>({outer, kWarpgroupRows}) ||
      !result.getElementType().isF32())
    return emitOpError("expects a result of ")
           << outer << "x" << kWarpgroupRows << "xf32, but got " << result;
  if (Value acc = getAcc()) {
    Type type = acc.getType();
    if (auto pending = dyn_cast<PendingType>(type))
      type = pending.getVector();
    if (type != result)
      return emitOpError("expects the accumulator to be ")
             << result << ", but got " << type;
  }
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult CreateRampOp::verify() {
  TileType tile = getResult().getType();
  constexpr int64_t columns = 8, most = 256;
  if (tile.getColumns() != columns || tile.getRows() > most ||
      tile.getRows() != tile.getParentRows())
    return emitOpError("expects a tile of ")
           << columns << " columns and up to " << most << " rows, but got "
           << tile;
  return success();
}

LogicalResult SplitOp::verify() {
  auto source = cast<VectorType>(getSource().getType());
  auto result = cast<VectorType>(getResult().getType());
  constexpr int64_t rows = 8;
  if (source.getShape() != ArrayRef<int64_t>({1, kWarpgroupRows}) ||
      result.getShape() != ArrayRef<int64_t>({rows, kWarpgroupRows}))
    return emitOpError("expects 1x64 numbers as 8x64, but got ")
           << source << " as " << result;
  return success();
}

LogicalResult WaitOp::verify() {
  if (int64_t count = getInFlight(); count < 0 || count > 7)
    return emitOpError("expects 0 to 7 products in flight, but got ") << count;
  return verifyRole(*this, /*isProducer=*/false);
}

//===----------------------------------------------------------------------===//
// Vectors and results
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  auto type = cast<VectorType>(getResult().getType());
  int64_t keys = type.getDimSize(0), queries = type.getDimSize(1);
  if ((keys != 1 || queries != kWarpgroupRows) &&
      (keys % 8 != 0 || queries != 1))
    return emitOpError("expects positions of a multiple of 8 keys or of ")
           << kWarpgroupRows << " queries, but got " << type;
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = cast<VectorType>(getSource().getType());
  auto result = cast<VectorType>(getResult().getType());
  if (getKind() != "max" && getKind() != "add")
    return emitOpError("expects max or add, but got ") << getKind();
  int64_t rows = result.getDimSize(0), sourceRows = source.getDimSize(0);
  bool isOfParts = sourceRows == 4 && rows == 1 && getKind() == "add";
  if (source.getDimSize(1) != kWarpgroupRows ||
      (sourceRows % 8 != 0 && !isOfParts))
    return emitOpError("expects a multiple of 8 rows of ")
           << kWarpgroupRows << " queries, or the parts of a sum, but got "
           << source;
  if (result.getDimSize(1) != source.getDimSize(1) ||
      (rows != 1 && (rows != 4 || getKind() != "add")))
    return emitOpError("expects a result with one row, or four for add, but "
                       "got ")
           << result;
  return success();
}

LogicalResult ReuseOp::verify() {
  ChannelType channel = getChannel().getType();
  if (channel.getStages() != 1)
    return emitOpError("expects a channel of one stage, but got ") << channel;
  if (getTile().getType() != channel.getTileType())
    return emitOpError("expects the result to be ")
           << channel.getTileType() << ", but got " << getTile().getType();
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult DrainOp::verify() {
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult StoreOp::verify() {
  auto vector = cast<VectorType>(getVector().getType());
  TileType tile = getStaging().getType();
  MapType map = getMap().getType();
  // A part of the columns at a time is in units that copies have.
  bool isPart = tile.getColumns() < vector.getDimSize(0) &&
                tile.getColumns() % kChunkColumns == 0 && !map.getStrided();
  int64_t tileColumns = isPart ? vector.getDimSize(0) : tile.getColumns();
  for (auto [rows, columns, element] :
       {std::tuple{vector.getDimSize(1), vector.getDimSize(0),
                   vector.getElementType()},
        {tile.getRows(), tileColumns, tile.getElementType()},
        {map.getRows(), map.getColumns(), map.getElementType()}})
    if (rows != kWarpgroupRows || columns != vector.getDimSize(0) ||
        element != vector.getElementType())
      return emitOpError("expects vector, tile and map to agree, but got ")
             << vector << ", " << tile << " and " << map;
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult StoreRowsOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  int64_t rows = cast<VectorType>(getVector().getType()).getDimSize(0);
  bool hasColumns = rows > 1 && type.getRank() > 0 &&
                    !ShapedType::isDynamic(type.getShape().back());
  auto expected =
      VectorType::get({hasColumns ? type.getShape().back() : 1, kWarpgroupRows},
                      Float32Type::get(getContext()));
  int64_t numIndices = type.getRank() - (hasColumns ? 1 : 0);
  if (!type.getElementType().isF32())
    return emitOpError("expects a buffer of f32, but got ") << type;
  if (getVector().getType() != expected || (hasColumns && rows % 8 != 0))
    return emitOpError("expects the vector to be ")
           << expected << ", but got " << getVector().getType();
  if (static_cast<int64_t>(getIndices().size()) != numIndices)
    return emitOpError("expects ")
           << numIndices << " indices, but got " << getIndices().size();
  if (int64_t dim = getDim(); dim < 0 || dim >= numIndices)
    return emitOpError("expects a dimension of the memref, but got ") << dim;
  if (static_cast<bool>(getPacked()) != getHeads().has_value())
    return emitOpError("expects packed heads and their dimension together");
  if (std::optional<uint64_t> heads = getHeads();
      heads &&
      (*heads == getDim() || *heads >= static_cast<uint64_t>(type.getRank())))
    return emitOpError("expects a dimension of heads of the memref beside that "
                       "of rows, but got ")
           << *heads;
  return verifyRole(*this, /*isProducer=*/false);
}

LogicalResult MergeOp::verify() {
  auto parts = cast<MemRefType>(getParts().getType());
  auto into = cast<MemRefType>(getInto().getType());
  auto verifyIndices = [&](ValueRange indices, int64_t count) -> LogicalResult {
    if (static_cast<int64_t>(indices.size()) == count)
      return success();
    return emitOpError("expects ")
           << count << " indices, but got " << indices.size();
  };
  if (failed(verifyIndices(getRow(), 3)) ||
      failed(verifyIndices(getIndices(), into.getRank())) ||
      failed(verifyIndices(getLseIndices(), getLse() ? 3 : 0)))
    return failure();
  int64_t dim = getDim();
  if (dim < 0 || dim >= into.getRank())
    return emitOpError("expects a dimension of the memref, but got ") << dim;
  int64_t columns = parts.getShape().back();
  if (ShapedType::isDynamic(columns) || columns % 8 != 0 ||
      columns != into.getDimSize(dim))
    return emitOpError("expects rows of a multiple of 8 columns in parts and "
                       "result, but got ")
           << parts << " and " << into;
  return success();
}
