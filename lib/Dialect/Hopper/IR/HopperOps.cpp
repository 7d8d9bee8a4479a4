//===- HopperOps.cpp - Operations of the hopper dialect -------------------===//

#include "Verify.h"
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

/// A number in parentheses behind a keyword, if that is there.
static ParseResult parseOptionalNumber(OpAsmParser &parser, StringRef keyword,
                                       int64_t &number) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseLParen() || parser.parseInteger(number) ||
                 parser.parseRParen());
}

static ParseResult
parsePartitions(OpAsmParser &parser, ArrayAttr &partitions,
                SmallVectorImpl<std::unique_ptr<Region>> &bodies) {
  SmallVector<Attribute> list;
  Builder &builder = parser.getBuilder();
  while (succeeded(parser.parseOptionalKeyword("partition"))) {
    StringAttr name;
    int64_t replicas = 1, warps = 4, threads = 0, registers = 0;
    SMLoc loc = parser.getCurrentLocation();
    Region &body = *bodies.emplace_back(std::make_unique<Region>());
    if (parser.parseSymbolName(name) ||
        parseOptionalNumber(parser, "replicas", replicas) ||
        parseOptionalNumber(parser, "threads", threads) ||
        parseOptionalNumber(parser, "warps", warps) ||
        parseOptionalNumber(parser, "registers", registers))
      return failure();
    if (threads == 0)
      threads = warps * kWarpThreads;
    auto partition = parser.getChecked<PartitionAttr>(loc, builder.getContext(),
                                                      name.getValue(), replicas,
                                                      threads, registers);
    if (!partition || parser.parseRegion(body))
      return failure();
    WarpSpecializeOp::ensureTerminator(
        body, builder, parser.getEncodedSourceLoc(parser.getNameLoc()));
    list.push_back(partition);
  }
  partitions = builder.getArrayAttr(list);
  return success();
}

static void printPartitions(OpAsmPrinter &printer, WarpSpecializeOp,
                            ArrayAttr partitions, RegionRange bodies) {
  bool isFirst = true;
  for (auto [attribute, body] : llvm::zip_equal(partitions, bodies)) {
    auto partition = cast<PartitionAttr>(attribute);
    if (!isFirst)
      printer << " ";
    isFirst = false;
    printer << "partition ";
    printer.printSymbolName(partition.getName());
    if (partition.getReplicas() != 1)
      printer << " replicas(" << partition.getReplicas() << ")";
    if (partition.getThreads() == 1)
      printer << " threads(1)";
    else if (!partition.hasWarpgroups())
      printer << " warps(" << partition.getWarpsOfReplica() << ")";
    if (partition.getRegisters())
      printer << " registers(" << partition.getRegisters() << ")";
    printer << " ";
    // The end is written if it says something.
    printer.printRegion(*body, /*printEntryBlockArgs=*/false,
                        !body->front().getTerminator()->getAttrs().empty());
  }
}

#define GET_OP_CLASSES
#include "attn/Dialect/Hopper/IR/HopperOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t hopper::getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t hopper::getVectorBytes(int64_t count, Type element) {
  constexpr int64_t alignment = 16, wordBits = 32;
  int64_t bytes = element.isInteger(1)
                      ? llvm::divideCeil(count, wordBits) * wordBits / 8
                      : count * getElementBytes(element);
  return llvm::alignTo(bytes, alignment);
}

int64_t hopper::getChunkColumns(Type element) {
  return kChunkColumns * 2 / getElementBytes(element);
}

Value hopper::getTileOfPart(Operation *op) {
  return isa<RowsOp, ColumnsOp, OwnRowsOp, OwnColumnsOp>(op) ? op->getOperand(0)
                                                             : Value();
}

Value hopper::getChannelOf(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (isa<GetOp, ViewOp>(op))
      return op->getOperand(0);
    tile = getTileOfPart(op);
    if (!tile)
      break;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

LogicalResult WarpgroupIdOp::verify() { return verifyInPartition(*this); }

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static LogicalResult verifyPayload(Operation *op, ChannelType channel,
                                   Value payload) {
  if (channel.getPayload() == static_cast<bool>(payload))
    return success();
  return op->emitOpError("expects ")
         << (payload ? "no payload" : "a payload") << " with " << channel;
}

LogicalResult PositionOp::verify() {
  if (static_cast<int64_t>(getOf()) < 1)
    return emitOpError("expects tiles of at least one position, but got ")
           << getOf();
  return success();
}

LogicalResult mlir::attn::hopper::verifyList(Operation *op, MapType map,
                                             Value list, ValueRange position) {
  if (!list)
    return success();
  auto type = cast<MemRefType>(list.getType());
  if (!map.getStrided())
    return op->emitOpError("expects a strided map for rows of a list, but got ")
           << map;
  if (!type.getElementType().isInteger(32) || type.getRank() < 1)
    return op->emitOpError("expects a list of i32 with a rank of at least 1, "
                           "but got ")
           << type;
  if (static_cast<int64_t>(position.size()) != type.getRank() - 1)
    return op->emitOpError("expects one position for each dimension of the "
                           "list but the last, ")
           << type.getRank() - 1 << ", but got " << position.size();
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
  FailureOr<PartitionAttr> partition = verifyInOneReplica(*this);
  if (failed(partition))
    return failure();
  if (map.getStrided() && !partition->hasWarpgroups())
    return emitOpError("expects a partition of ")
           << kWarpgroupThreads << " threads for " << map << ", but got "
           << partition->getThreads();
  if (map.getStrided() && getColumn())
    return emitOpError("expects no column of a strided map");
  if (failed(verifyList(*this, map, getList(), getPosition())))
    return failure();
  return verifyPayload(*this, channel, getPayload());
}

LogicalResult GetOp::verify() {
  if (failed(verifyPayload(*this, getChannel().getType(), getPayload())))
    return failure();
  if (getTile().getType() != getChannel().getType().getTileType())
    return emitOpError("expects the result to be a tile of the channel, ")
           << getChannel().getType().getTileType() << ", but got "
           << getTile().getType();
  if (getPayload() && getCondition())
    return emitOpError("expects no condition with a payload");
  return verifyInPartition(*this);
}

void GetOp::build(OpBuilder &builder, OperationState &state, Value channel,
                  Value number, Value condition) {
  auto type = cast<ChannelType>(channel.getType());
  build(builder, state, type.getTileType(),
        type.getPayload() ? Type(builder.getI32Type()) : Type(), channel,
        number, condition);
}

LogicalResult mlir::attn::hopper::verifyVectorSource(Operation *op,
                                                     Type element,
                                                     MemRefType source,
                                                     ValueRange indices,
                                                     bool zeroFill) {
  if (element.getIntOrFloatBitWidth() != 32 && !zeroFill)
    return op->emitOpError("expects zero_fill with elements of ") << element;
  if (source.getElementType() != element || source.getRank() < 1 ||
      failed(verifyContiguous(source)))
    return op->emitOpError("expects a buffer of ")
           << element << " with a contiguous last dimension, but got "
           << source;
  if (static_cast<int64_t>(indices.size()) != source.getRank())
    return op->emitOpError("expects ")
           << source.getRank() << " indices, but got " << indices.size();
  return success();
}

/// A step does not say how many threads will run it.
static LogicalResult verifyOfWarps(Operation *op, PartitionAttr partition) {
  if (getPartition(op) && partition.getThreads() % kWarpThreads != 0)
    return op->emitOpError("expects a partition of warps, but got ")
           << partition.getThreads() << " threads";
  return success();
}

LogicalResult PutVectorOp::verify() {
  ChannelType channel = getChannel().getType();
  if (!channel.isVector())
    return emitOpError("expects a channel of vectors, but got ") << channel;
  if (failed(verifyVectorSource(*this, channel.getElementType(),
                                cast<MemRefType>(getSource().getType()),
                                getIndices(), getZeroFill())))
    return failure();
  FailureOr<PartitionAttr> partition = verifyInOneReplica(*this);
  if (failed(partition) || !channel.isBits())
    return partition;
  return verifyOfWarps(*this, *partition);
}

LogicalResult PutBF16x3Op::verify() {
  ChannelType channel = getChannel().getType();
  if (!channel.getPayload())
    return emitOpError("expects a channel with payload, but got ") << channel;
  if (failed(verifySplit(*this, getVector().getType(), channel.getTileType(),
                         getFactor().convertToFloat(),
                         getLimit().convertToFloat())))
    return failure();
  FailureOr<PartitionAttr> partition = verifyInOneReplica(*this);
  if (failed(partition))
    return failure();
  return verifyOfWarps(*this, *partition);
}

LogicalResult PutFragmentOp::verify() {
  ChannelType channel = getChannel().getType();
  ShapedType vector = getVector().getType();
  int64_t n = vector.getDimSize(0);
  int64_t blocked = getTransposed() ? channel.getColumns() : channel.getRows();
  int64_t other = getTransposed() ? channel.getRows() : channel.getColumns();
  bool fits = channel.isVector()
                  ? n == 1 && !getTransposed() && channel.isWords()
                  : n == other && n % 8 == 0;
  if (!fits || vector.getDimSize(1) != kWarpgroupRows ||
      blocked % kWarpgroupRows != 0 ||
      channel.getChunkColumns() != getChunkColumns(channel.getElementType()) ||
      vector.getElementType() != channel.getElementType() ||
      (!channel.isVector() && getElementBytes(vector.getElementType()) != 2))
    return emitOpError("expects blocks of the channel's tiles, but got ")
           << vector << " for " << channel;
  if (channel.getPayload())
    return emitOpError("expects a channel without payload, but got ")
           << channel;
  return verifyInWarpgroups(*this);
}

LogicalResult ViewOp::verify() {
  if (getTile().getType() != getChannel().getType().getTileType())
    return emitOpError("expects the result to be a tile of the channel, ")
           << getChannel().getType().getTileType() << ", but got "
           << getTile().getType();
  return verifyInPartition(*this);
}

LogicalResult ReleaseOp::verify() { return verifyInPartition(*this); }

LogicalResult BallotOp::verify() {
  PartitionAttr partition = getPartition(*this);
  if (partition && partition.getThreads() == 1)
    return emitOpError("expects a partition of warps, but got one thread");
  return success();
}

LogicalResult FetchNextOp::verify() { return verifyInOneWarp(*this); }

LogicalResult ResetCounterOp::verify() { return verifyInOneWarp(*this); }

/// Checks the length of a message.
static LogicalResult verifyMessage(Operation *op, WorkQueueType type,
                                   size_t length) {
  if (type.getLength() == static_cast<int64_t>(length))
    return success();
  return op->emitOpError("expects a message of ")
         << type.getLength() << " numbers, but got " << length;
}

LogicalResult PostOp::verify() {
  if (failed(
          verifyMessage(*this, getWorkQueue().getType(), getValues().size())))
    return failure();
  return verifyInOneWarp(*this);
}

LogicalResult ReceiveOp::verify() {
  if (failed(verifyMessage(*this, getWorkQueue().getType(), getNumResults())))
    return failure();
  return verifyInPartition(*this);
}

/// Checks what holds a turn or passes it on.
template <typename OpT> static LogicalResult verifyTurn(OpT op) {
  if (failed(verifyCounters(op, op.getCounters(), op.getIndices().size())))
    return failure();
  // A step does not say how many threads will run it.
  PartitionAttr partition = getPartition(op);
  if (partition && partition.getThreads() != 1)
    return op.emitOpError("expects a partition of one thread, but got ")
           << partition.getThreads();
  return verifyInPartition(op);
}

LogicalResult HoldTurnOp::verify() { return verifyTurn(*this); }

LogicalResult PassTurnOp::verify() { return verifyTurn(*this); }

LogicalResult TakeTurnOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult GiveTurnOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult PingPongWaitOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult PingPongArriveOp::verify() { return verifyInWarpgroups(*this); }
