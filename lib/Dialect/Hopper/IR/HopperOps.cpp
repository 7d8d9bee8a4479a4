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
// Where operations are
//===----------------------------------------------------------------------===//

static FailureOr<PartitionAttr> verifyInPartition(Operation *op) {
  if (PartitionAttr partition = getPartition(op))
    return partition;
  // Before partitions are cut, a step says which one it is in.
  if (auto step = op->getParentOfType<hopper::StepOp>())
    return PartitionAttr::get(op->getContext(), step.getPartition(),
                              /*replicas=*/1, /*threads=*/128,
                              /*registers=*/0);
  return op->emitOpError(
      "expects to be in a partition of hopper.warp_specialize");
}

static FailureOr<PartitionAttr> verifyInWarpgroups(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInPartition(op);
  if (failed(partition) || partition->hasWarpgroups())
    return partition;
  return op->emitOpError("expects a partition whose replicas have ")
         << 4 * kWarpThreads << " threads, but got " << partition->getThreads();
}

static FailureOr<PartitionAttr> verifyInOneReplica(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInPartition(op);
  if (failed(partition) || partition->getReplicas() == 1)
    return partition;
  return op->emitOpError("expects a partition of one replica, but got ")
         << partition->getReplicas();
}

/// What one thread does for all.
static FailureOr<PartitionAttr> verifyInOneWarp(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInOneReplica(op);
  if (failed(partition) || partition->getThreads() <= kWarpThreads)
    return partition;
  return op->emitOpError("expects a partition of one thread or one warp, but "
                         "got ")
         << partition->getThreads() << " threads";
}

LogicalResult WarpgroupIdOp::verify() { return verifyInPartition(*this); }

LogicalResult SyncOp::verify() {
  FailureOr<PartitionAttr> partition = verifyInPartition(*this);
  if (succeeded(partition) && partition->getThreads() == 1)
    return emitOpError("expects a partition of warps, but got one thread");
  return partition;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Checks that elements along the last dimension follow each other.
static LogicalResult verifyContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return failure(failed(type.getStridesAndOffset(strides, offset)) ||
                 strides.empty() || strides.back() != 1);
}

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
           << 4 * kWarpThreads << " threads for " << map << ", but got "
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
                                                     ValueRange indices) {
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

LogicalResult PutVectorOp::verify() {
  ChannelType channel = getChannel().getType();
  if (!channel.isVector())
    return emitOpError("expects a channel of vectors, but got ") << channel;
  if (failed(verifyVectorSource(*this, channel.getElementType(),
                                cast<MemRefType>(getSource().getType()),
                                getIndices())))
    return failure();
  return verifyInOneReplica(*this);
}

LogicalResult PutFragmentOp::verify() {
  ChannelType channel = getChannel().getType();
  ShapedType vector = getVector().getType();
  int64_t n = vector.getDimSize(0);
  int64_t blocked = getTransposed() ? channel.getColumns() : channel.getRows();
  int64_t other = getTransposed() ? channel.getRows() : channel.getColumns();
  bool fits = channel.isVector() ? n == 1 && !getTransposed()
                                 : n == other && n % 8 == 0;
  if (!fits || vector.getDimSize(1) != kWarpgroupRows ||
      blocked % kWarpgroupRows != 0 ||
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

LogicalResult PingPongWaitOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult PingPongArriveOp::verify() { return verifyInWarpgroups(*this); }

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

LogicalResult RowsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  constexpr int64_t least = 8;
  if (result.getRows() % least != 0 ||
      source.getRows() != source.getParentRows() ||
      source.getRows() % result.getRows() != 0 ||
      result.getColumns() != source.getColumns() ||
      result.getElementType() != source.getElementType() ||
      result.getParentRows() != source.getRows())
    return emitOpError("expects a multiple of ")
           << least << " rows of " << source << ", but got " << result;
  return success();
}

LogicalResult ColumnsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  int64_t least = getChunkColumns(source.getElementType());
  if (source.isVector() || result.isVector() ||
      result.getColumns() % least != 0 ||
      source.getColumns() % result.getColumns() != 0 ||
      result.getRows() != source.getRows() ||
      result.getElementType() != source.getElementType() ||
      result.getParentRows() != source.getParentRows())
    return emitOpError("expects a multiple of ")
           << least << " columns of " << source << ", but got " << result;
  return success();
}

/// Whether a fragment, with or without a layout, has the elements of a vector.
static bool isLike(ShapedType fragment, VectorType vector) {
  return fragment.getShape() == vector.getShape() &&
         fragment.getElementType() == vector.getElementType();
}

LogicalResult LoadFragmentOp::verify() {
  TileType tile = getTile().getType();
  Type element = tile.getElementType();
  auto ofRows = VectorType::get(
      {std::max<int64_t>(tile.getColumns(), 1), kWarpgroupRows}, element);
  auto ofColumns = VectorType::get({tile.getRows(), 1}, element);
  ShapedType result = getResult().getType();
  if (tile.isVector() && isLike(result, ofColumns))
    return verifyInWarpgroups(*this);
  if (tile.getRows() != kWarpgroupRows)
    return emitOpError("expects a tile of ")
           << kWarpgroupRows << " rows, but got " << tile;
  if (!isLike(result, ofRows))
    return emitOpError("expects the result to be ")
           << ofRows << ", but got " << result;
  return verifyInWarpgroups(*this);
}

/// Checks a product, complete or pending.
template <typename OpT>
static LogicalResult verifyProduct(OpT op, ShapedType result) {
  TileType rhs = op.getRhs().getType();
  int64_t inner, rows;
  Type element;
  auto lhs = dyn_cast<TileType>(op.getLhs().getType());
  if (rhs.isVector() || (lhs && lhs.isVector()))
    return op.emitOpError("expects tiles with columns, but got ")
           << (rhs.isVector() ? rhs : lhs);
  if (lhs) {
    inner = op.getLhsTransposed() ? lhs.getRows() : lhs.getColumns();
    rows = op.getLhsTransposed() ? lhs.getColumns() : lhs.getRows();
    element = lhs.getElementType();
  } else {
    auto vector = cast<ShapedType>(op.getLhs().getType());
    inner = vector.getDimSize(0);
    rows = vector.getDimSize(1);
    element = vector.getElementType();
    if (op.getLhsTransposed())
      return op.emitOpError("expects lhs_transposed of a tile, but got ")
             << vector;
  }
  bool isTransposed = op.getRhsTransposed();
  int64_t rhsInner = isTransposed ? rhs.getRows() : rhs.getColumns();
  int64_t outer = isTransposed ? rhs.getColumns() : rhs.getRows();
  if (rows != kWarpgroupRows)
    return op.emitOpError("expects ")
           << kWarpgroupRows << " rows of the result, but got " << rows;
  if (element != rhs.getElementType())
    return op.emitOpError("expects operands of one element type, but got ")
           << element << " and " << rhs.getElementType();
  if (!isa<BFloat16Type, Float16Type>(element))
    return op.emitOpError("expects operands of bf16 or f16, but got ")
           << element;
  if (inner != rhsInner)
    return op.emitOpError(
               "expects operands to agree on the reduced extent, but "
               "got ")
           << inner << " and " << rhsInner;
  bool isAlongRows = isTransposed || op.getLhsTransposed();
  if (int64_t multiple = isAlongRows ? 16 : 8; inner % multiple != 0)
    return op.emitOpError("expects the reduced extent to be a multiple of ")
           << multiple << ", but got " << inner;
  if (outer % 8 != 0 || outer > 256)
    return op.emitOpError("expects columns of the result to be a multiple of 8 "
                          "up to 256, but got ")
           << outer;
  if (result.getShape() != ArrayRef<int64_t>({outer, kWarpgroupRows}) ||
      !result.getElementType().isF32())
    return op.emitOpError("expects a result of ")
           << outer << "x" << kWarpgroupRows << "xf32, but got " << result;
  if (Value acc = op.getAcc()) {
    Type type = acc.getType();
    if (auto pending = dyn_cast<PendingType>(type))
      type = pending.getFragment();
    if (type != result)
      return op.emitOpError("expects the accumulator to be ")
             << result << ", but got " << type;
  }
  return success();
}

LogicalResult MmaOp::verify() {
  if (failed(verifyProduct(*this, getResult().getType().getFragment())))
    return failure();
  return verifyInWarpgroups(*this);
}

LogicalResult DotOp::verify() {
  return verifyProduct(*this, cast<VectorType>(getResult().getType()));
}

LogicalResult CreateIotaTileOp::verify() {
  TileType tile = getResult().getType();
  constexpr int64_t columns = 8, most = 256;
  if (tile.getColumns() != columns || tile.getRows() > most ||
      tile.getRows() != tile.getParentRows())
    return emitOpError("expects a tile of ")
           << columns << " columns and up to " << most << " rows, but got "
           << tile;
  return success();
}

LogicalResult SplitBF16x3Op::verify() {
  ShapedType source = getSource().getType(), result = getResult().getType();
  constexpr int64_t rows = 8;
  if (source.getShape() != ArrayRef<int64_t>({1, kWarpgroupRows}) ||
      result.getShape() != ArrayRef<int64_t>({rows, kWarpgroupRows}))
    return emitOpError("expects 1x64 numbers as 8x64, but got ")
           << source << " as " << result;
  return success();
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  for (Value pending : adaptor.getPending())
    types.push_back(cast<PendingType>(pending.getType()).getFragment());
  return success();
}

LogicalResult WaitOp::verify() {
  if (getPending().empty())
    return emitOpError("expects products to wait for");
  if (int64_t count = getInFlight(); count < 0 || count > kMostInFlight)
    return emitOpError("expects 0 to ")
           << kMostInFlight << " products in flight, but got " << count;
  return verifyInWarpgroups(*this);
}

//===----------------------------------------------------------------------===//
// Vectors and results
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  ShapedType type = getResult().getType();
  int64_t keys = type.getDimSize(0), queries = type.getDimSize(1);
  if ((keys != 1 || queries != kWarpgroupRows) &&
      (keys % 8 != 0 || queries != 1))
    return emitOpError("expects positions of a multiple of 8 keys or of ")
           << kWarpgroupRows << " queries, but got " << type;
  return success();
}

LogicalResult ReduceOp::verify() {
  ShapedType source = getSource().getType(), result = getResult().getType();
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

LogicalResult DrainOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult StoreOp::verify() {
  ShapedType vector = getVector().getType();
  TileType tile = getStaging().getType();
  MapType map = getMap().getType();
  if (tile.isVector())
    return emitOpError("expects a tile with columns, but got ") << tile;
  if (map.getStrided() && getColumn())
    return emitOpError("expects no column of a strided map");
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
  return verifyInWarpgroups(*this);
}

LogicalResult StoreRowsOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  int64_t rows = getVector().getType().getDimSize(0);
  bool hasColumns = rows > 1 && type.getRank() > 0 &&
                    !ShapedType::isDynamic(type.getShape().back());
  auto expected =
      VectorType::get({hasColumns ? type.getShape().back() : 1, kWarpgroupRows},
                      Float32Type::get(getContext()));
  int64_t numIndices = type.getRank() - (hasColumns ? 1 : 0);
  if (!type.getElementType().isF32())
    return emitOpError("expects a buffer of f32, but got ") << type;
  if (!isLike(getVector().getType(), expected) || (hasColumns && rows % 8 != 0))
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
  return verifyInWarpgroups(*this);
}

LogicalResult ReduceAddOp::verify() {
  ShapedType vector = getVector().getType();
  auto memref = cast<MemRefType>(getMemref().getType());
  int64_t rank = memref.getRank(), width = getWidth();
  if (vector.getDimSize(1) != kWarpgroupRows || vector.getDimSize(0) % 8 != 0)
    return emitOpError("expects a multiple of 8 rows of ")
           << kWarpgroupRows << " elements, but got " << vector;
  if (!memref.getElementType().isF32())
    return emitOpError("expects a buffer of f32, but got ") << memref;
  if (rank < 1 || static_cast<int64_t>(getIndices().size()) !=
                      rank - (isFragment() ? 1 : 0))
    return emitOpError("expects ")
           << std::max<int64_t>(rank - (isFragment() ? 1 : 0), 1)
           << " indices, but got " << getIndices().size();
  if (width != 1 && width != 2 && width != 4)
    return emitOpError("expects 1, 2 or 4 floats at a time, but got ") << width;
  bool hasCounters = getCounters() != nullptr;
  if (hasCounters != (getAfter() != nullptr) ||
      hasCounters != (getOwn() != nullptr) ||
      (!hasCounters && !getCounterIndices().empty()))
    return emitOpError("expects the numbers of two workers, and indices, with "
                       "counters and not without");
  if (hasCounters) {
    auto counters = cast<MemRefType>(getCounters().getType());
    if (!counters.getElementType().isInteger(32))
      return emitOpError("expects counters of i32, but got ") << counters;
    if (static_cast<int64_t>(getCounterIndices().size()) != counters.getRank())
      return emitOpError("expects ")
             << counters.getRank() << " indices of the counters, but got "
             << getCounterIndices().size();
  }
  if (isFragment()) {
    if (getN() || getEndM() || getEndN() || width != 1)
      return emitOpError("expects no dimensions, ends or width with fragment");
    if (memref.getShape().back() != vector.getNumElements() ||
        failed(verifyContiguous(memref)))
      return emitOpError("expects a last dimension of ")
             << vector.getNumElements() << " contiguous elements, but got "
             << memref;
    return verifyInWarpgroups(*this);
  }
  if (!getN())
    return emitOpError("expects both dimensions, m and n");
  for (uint64_t dim : {*getM(), *getN()})
    if (dim >= static_cast<uint64_t>(rank))
      return emitOpError("expects a dimension of the memref, but got ")
             << static_cast<int64_t>(dim);
  if (*getM() == *getN())
    return emitOpError("expects two dimensions, but got ") << *getM();
  if (width != 1 && (static_cast<int64_t>(*getN()) != rank - 1 ||
                     failed(verifyContiguous(memref))))
    return emitOpError("expects floats that are added at a time to be along a "
                       "contiguous last dimension, but got dimension ")
           << *getN() << " of " << memref;
  if (width != 1 && getEndN())
    return emitOpError("expects no end_n where several floats are added at a "
                       "time");
  return verifyInWarpgroups(*this);
}

LogicalResult CombineOp::verify() {
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
