//===- HopperDialect.cpp - The hopper dialect, its attributes and types ---===//

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

#include "attn/Dialect/Hopper/IR/HopperDialect.cpp.inc"
#include "attn/Dialect/Hopper/IR/HopperEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Hopper/IR/HopperAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Hopper/IR/HopperTypes.cpp.inc"

void HopperDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Hopper/IR/HopperAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "attn/Dialect/Hopper/IR/HopperTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Hopper/IR/HopperOps.cpp.inc"
      >();
}

Value hopper::createSplat(OpBuilder &builder, Location loc, Type type,
                          double value) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          cast<ShapedType>(type),
          builder.getFloatAttr(getElementTypeOrSelf(type), value)));
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

bool hopper::ScheduleAttr::hasSingleKeyLoop() const { return true; }

/// Each consumer has all heads of its queries.
int64_t hopper::ScheduleAttr::getMostPackedHeads() const {
  return getPackGQA() ? kWarpgroupRows : 1;
}

/// Each consumer finds out for its rows.
int64_t hopper::ScheduleAttr::getPartitionRows() const {
  return kWarpgroupRows;
}

/// Each consumer has rows of its own.
int64_t hopper::ScheduleAttr::getRowAlignment() const { return kWarpgroupRows; }

Value hopper::ScheduleAttr::emitIsLongestFirst(ScalarBuilder &b, Value count,
                                               Value heads) const {
  if (!getLongestFirst() && !getLongestFirstRows())
    return {};
  Value is = b.i1(true);
  if (int64_t most = getLongestFirstRows())
    is = b.cmp(arith::CmpIPredicate::ule, count, most / getTileM());
  if (int64_t least = getLongestFirstLeastTiles())
    is = b.andI(is,
                b.cmp(arith::CmpIPredicate::uge, b.mul(heads, count), least));
  return is;
}

bool hopper::ScheduleAttr::spreadsDiagonals() const { return true; }

bool hopper::ScheduleAttr::hasPlacesInTurns() const { return !getZigzag(); }

/// With the last keys first, those of 5/8 of the work tiles come before the
/// rest: what is started at the end of all then has fewer queries under a
/// causal mask than the first keys have, and the GPU is idle for a shorter
/// time.
Value hopper::ScheduleAttr::emitPlaceInTurns(ScalarBuilder &b, Value tile,
                                             Value count, Value heads) const {
  Value isLongestFirst = emitIsLongestFirst(b, count, heads);
  if (!isLongestFirst)
    return tile;
  Value before = b.divU(b.add(b.mul(count, 5), 7), 8);
  Value first = b.sub(b.sub(before, 1), tile);
  Value place = b.select(b.ult(tile, before), first, b.add(first, count));
  return b.select(isLongestFirst, place, tile);
}

bool hopper::ScheduleAttr::roundsLastSums() const { return getWriteDq(); }

/// Warpgroups share out columns where all have the same 64 rows, and that takes
/// fewer columns than 64 for each, in as much memory.
int64_t hopper::ScheduleAttr::getSharedOutColumns(int64_t rows,
                                                  int64_t columns) const {
  int64_t parts = getTileM() / kWarpgroupRows;
  if (rows != kWarpgroupRows || parts < 2)
    return 0;
  int64_t own = llvm::alignTo(llvm::divideCeil(columns, parts), kProductStep);
  return own < kChunkColumns && llvm::divideCeil(columns, own) ==
                                    llvm::divideCeil(columns, kChunkColumns)
             ? own
             : 0;
}

/// What a warpgroup adds is contiguous then, without an exchange of registers.
MemRefLayoutAttrInterface
hopper::ScheduleAttr::getSumLayout(ArrayRef<int64_t> shape, unsigned m,
                                   unsigned n) const {
  auto order = FragmentOrderAttr::get(getContext(), m, n);
  return order.fits(shape) ? order : FragmentOrderAttr();
}

Attribute hopper::ScheduleAttr::parse(AsmParser &parser, Type) {
  int64_t tileM = 0, tileN = 0, stages = 2, registers = 0, headSwizzle = 1,
          headSwizzleKeys = 0, headSwizzleLeastKeys = 0, longestFirstRows = 0,
          longestFirstLeastTiles = 0, captureStages = 0, minCtasPerSm = 1,
          inFlight = 0;
  bool longestFirst = false, zigzag = false, shortFirst = false,
       persistent = false, pingPong = false, inRegisters = false,
       biasInProduct = false, strided = false, splitKV = false, packGQA = false,
       reuseQ = false, writeDq = false;
  SmallVector<Attribute> order, exclusive;
  NamedAttrList partitions;
  SMLoc loc = parser.getCurrentLocation();
  // The name of a step, and with `stage` its stage.
  auto parseStep = [&](SmallVectorImpl<Attribute> &steps,
                       bool hasStage) -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (!hasStage) {
      steps.push_back(parser.getBuilder().getStringAttr(name));
      return success();
    }
    int64_t stage = 0;
    SMLoc stepLoc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLParen()) &&
        (parser.parseInteger(stage) || parser.parseRParen()))
      return failure();
    auto place = parser.getChecked<hopper::PlaceAttr>(
        stepLoc, parser.getContext(), name, stage);
    steps.push_back(place);
    return success(place != nullptr);
  };
  auto parseMember = [&]() -> ParseResult {
    StringRef name;
    SMLoc memberLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    for (auto [flag, value] :
         {std::pair<StringRef, bool *>{"longest_first", &longestFirst},
          {"zigzag", &zigzag},
          {"short_first", &shortFirst},
          {"persistent", &persistent},
          {"ping_pong", &pingPong},
          {"q_in_registers", &inRegisters},
          {"bias_in_product", &biasInProduct},
          {"strided", &strided},
          {"split_kv", &splitKV},
          {"pack_gqa", &packGQA},
          {"reuse_q", &reuseQ},
          {"write_dq", &writeDq}})
      if (name == flag) {
        *value = true;
        return success();
      }
    for (auto [number, value] :
         {std::pair<StringRef, int64_t *>{"tile_m", &tileM},
          {"tile_n", &tileN},
          {"stages", &stages},
          {"registers", &registers},
          {"head_swizzle", &headSwizzle},
          {"head_swizzle_keys", &headSwizzleKeys},
          {"head_swizzle_least_keys", &headSwizzleLeastKeys},
          {"longest_first_rows", &longestFirstRows},
          {"longest_first_least_tiles", &longestFirstLeastTiles},
          {"capture_stages", &captureStages},
          {"min_ctas_per_sm", &minCtasPerSm},
          {"in_flight", &inFlight}})
      if (name == number)
        return failure(parser.parseEqual() || parser.parseInteger(*value));
    for (bool isOrder : {true, false})
      if (name == (isOrder ? "order" : "exclusive"))
        return failure(
            parser.parseEqual() ||
            parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
              return parseStep(isOrder ? order : exclusive, isOrder);
            }));
    if (name == "partitions")
      return failure(
          parser.parseEqual() ||
          parser.parseCommaSeparatedList(
              AsmParser::Delimiter::Braces, [&]() -> ParseResult {
                StringRef step, partition;
                if (parser.parseKeyword(&step) || parser.parseEqual() ||
                    parser.parseKeyword(&partition))
                  return failure();
                if (partitions.set(
                        step, parser.getBuilder().getStringAttr(partition)))
                  return parser.emitError(memberLoc,
                                          "expects one partition of '")
                         << step << "'";
                return success();
              }));
    return parser.emitError(memberLoc,
                            "expects a member of a schedule, but got '")
           << name << "'";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseMember))
    return {};
  return parser.getChecked<hopper::ScheduleAttr>(
      loc, parser.getContext(), tileM, tileN, stages, registers, headSwizzle,
      headSwizzleKeys, headSwizzleLeastKeys, longestFirstRows,
      longestFirstLeastTiles, captureStages, minCtasPerSm, inFlight,
      longestFirst, zigzag, shortFirst, persistent, pingPong, inRegisters,
      biasInProduct, strided, splitKV, packGQA, reuseQ, writeDq,
      order.empty() ? ArrayAttr() : parser.getBuilder().getArrayAttr(order),
      exclusive.empty() ? ArrayAttr()
                        : parser.getBuilder().getArrayAttr(exclusive),
      partitions.empty() ? DictionaryAttr()
                         : partitions.getDictionary(parser.getContext()));
}

void hopper::ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<tile_m = " << getTileM() << ", tile_n = " << getTileN()
          << ", stages = " << getStages() << ", registers = " << getRegisters()
          << ", head_swizzle = " << getHeadSwizzle();
  if (getHeadSwizzleKeys())
    printer << ", head_swizzle_keys = " << getHeadSwizzleKeys();
  if (getHeadSwizzleLeastKeys())
    printer << ", head_swizzle_least_keys = " << getHeadSwizzleLeastKeys();
  if (getLongestFirstRows())
    printer << ", longest_first_rows = " << getLongestFirstRows();
  if (getLongestFirstLeastTiles())
    printer << ", longest_first_least_tiles = " << getLongestFirstLeastTiles();
  if (getCaptureStages())
    printer << ", capture_stages = " << getCaptureStages();
  if (getMinCtasPerSm() != 1)
    printer << ", min_ctas_per_sm = " << getMinCtasPerSm();
  if (getInFlight())
    printer << ", in_flight = " << getInFlight();
  for (auto [flag, isSet] :
       {std::pair<StringRef, bool>{"longest_first", getLongestFirst()},
        {"zigzag", getZigzag()},
        {"short_first", getShortFirst()},
        {"persistent", getPersistent()},
        {"ping_pong", getPingPong()},
        {"q_in_registers", getQInRegisters()},
        {"bias_in_product", getBiasInProduct()},
        {"strided", getStrided()},
        {"split_kv", getSplitKV()},
        {"pack_gqa", getPackGQA()},
        {"reuse_q", getReuseQ()},
        {"write_dq", getWriteDq()}})
    if (isSet)
      printer << ", " << flag;
  if (ArrayAttr order = getOrder()) {
    printer << ", order = [";
    llvm::interleaveComma(order.getAsRange<PlaceAttr>(), printer,
                          [&](PlaceAttr place) {
                            printer << place.getName();
                            if (place.getStage())
                              printer << "(" << place.getStage() << ")";
                          });
    printer << "]";
  }
  if (ArrayAttr exclusive = getExclusive()) {
    printer << ", exclusive = [";
    llvm::interleaveComma(exclusive.getAsRange<StringAttr>(), printer,
                          [&](StringAttr name) { printer << name.getValue(); });
    printer << "]";
  }
  if (DictionaryAttr partitions = getPartitions()) {
    printer << ", partitions = {";
    llvm::interleaveComma(partitions, printer, [&](NamedAttribute step) {
      printer << step.getName().getValue() << " = "
              << cast<StringAttr>(step.getValue()).getValue();
    });
    printer << "}";
  }
  printer << ">";
}

static bool isStageCount(int64_t stages) {
  return stages == 1 || stages == 2 || stages == 4;
}

LogicalResult hopper::ScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, int64_t tileM, int64_t tileN,
    int64_t stages, int64_t registers, int64_t headSwizzle,
    int64_t headSwizzleKeys, int64_t headSwizzleLeastKeys,
    int64_t longestFirstRows, int64_t longestFirstLeastTiles,
    int64_t captureStages, int64_t minCtasPerSm, int64_t inFlight,
    bool longestFirst, bool zigzag, bool, bool persistent, bool,
    bool qInRegisters, bool, bool strided, bool splitKV, bool packGQA,
    bool reuseQ, bool writeDq, ArrayAttr order, ArrayAttr exclusive,
    DictionaryAttr partitions) {
  if ((exclusive || partitions) && !order)
    return emitError() << "expects " << (exclusive ? "exclusive" : "partitions")
                       << " together with an order";
  if (writeDq && strided)
    return emitError() << "expects write_dq without strided";
  if (longestFirst && zigzag)
    return emitError() << "expects longest_first or zigzag, not both";
  if (longestFirstLeastTiles && !longestFirst && !longestFirstRows)
    return emitError() << "expects longest_first_least_tiles together with "
                          "longest_first or longest_first_rows";
  if (longestFirstRows && (longestFirst || zigzag))
    return emitError() << "expects longest_first_rows to be without "
                       << (zigzag ? "zigzag" : "longest_first");
  if (tileM < kWarpgroupRows || tileM % kWarpgroupRows != 0 ||
      tileM > 4 * kWarpgroupRows)
    return emitError() << "expects tile_m to be 64, 128, 192 or 256, but got "
                       << tileM;
  if (tileN < 16 || tileN % 16 != 0 || tileN > 256)
    return emitError() << "expects tile_n to be a multiple of 16 up to 256, "
                          "but got "
                       << tileN;
  if (!isStageCount(stages))
    return emitError() << "expects 1, 2 or 4 stages, but got " << stages;
  if (failed(verifyRegisters(emitError, registers, minCtasPerSm)))
    return failure();
  if (headSwizzle < 1)
    return emitError() << "expects head_swizzle to be positive, but got "
                       << headSwizzle;
  for (auto [name, count] :
       {std::pair<StringRef, int64_t>("head_swizzle_keys", headSwizzleKeys),
        {"head_swizzle_least_keys", headSwizzleLeastKeys},
        {"longest_first_rows", longestFirstRows},
        {"longest_first_least_tiles", longestFirstLeastTiles}})
    if (count < 0 || count > kMaxPosition)
      return emitError() << "expects " << name << " to be from 0 to "
                         << kMaxPosition << ", but got " << count;
  if (captureStages != 0 && !isStageCount(captureStages))
    return emitError() << "expects capture_stages to be 0, 1, 2 or 4, but got "
                       << captureStages;
  if (inFlight < 0 || inFlight > kMostInFlight + 1)
    return emitError() << "expects in_flight to be from 0 to "
                       << kMostInFlight + 1 << ", but got " << inFlight;
  if (strided && (persistent || captureStages != 0))
    return emitError() << "expects a strided schedule to be without "
                       << (persistent ? "persistent" : "capture_stages");
  if (splitKV && (persistent || strided))
    return emitError() << "expects a schedule with split_kv to be without "
                       << (persistent ? "persistent" : "strided");
  if (packGQA && (captureStages != 0 || strided))
    return emitError() << "expects pack_gqa to be without "
                       << (strided ? "strided" : "capture_stages");
  if (reuseQ && (!persistent || qInRegisters))
    return emitError() << "expects a schedule with reuse_q to be "
                       << (persistent ? "without q_in_registers"
                                      : "persistent");
  return success();
}

LogicalResult
hopper::PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          StringRef name, int64_t stage) {
  if (name.empty() || stage < 0)
    return emitError() << "expects the name of a step and a stage of 0 or "
                          "more, but got \""
                       << name << "\" and " << stage;
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `numDims` extents and an element type: one that products have, or one that
/// captures may have besides. A vector has one extent less, and 0 columns.
static ParseResult parseShape(AsmParser &parser, unsigned numDims,
                              SmallVectorImpl<int64_t> &shape, Type &element,
                              bool mayBeVector = false) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element))
    return failure();
  bool isVector = mayBeVector && shape.size() + 1 == numDims;
  if ((shape.size() != numDims && !isVector) ||
      llvm::any_of(shape, [](int64_t d) { return d < 1; }))
    return parser.emitError(loc, "expects ")
           << numDims << " positive extents, but got "
           << llvm::interleaved(shape, "x");
  bool isElement = isa<BFloat16Type, Float16Type, Float32Type>(element) ||
                   element.isInteger(1) || element.isInteger(8);
  if (!isElement && !(isVector && element.isIntOrFloat()))
    return parser.emitError(loc, "expects bf16, f16, f32, i8 or i1, but got ")
           << element;
  if (isVector)
    shape.push_back(0);
  return success();
}

/// The rows, and the columns where there are any.
static void printShape(AsmPrinter &printer, int64_t rows, int64_t columns,
                       Type element) {
  printer << rows << "x";
  if (columns)
    printer << columns << "x";
  printer << element;
}

static LogicalResult verifyVector(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t columns, Type element) {
  bool isElement =
      isa<BFloat16Type, Float16Type, Float32Type, Float64Type>(element) ||
      (element.isSignlessInteger() &&
       llvm::is_contained({1, 8, 16, 32, 64}, element.getIntOrFloatBitWidth()));
  if (columns == 0 && !isElement)
    return emitError() << "expects a vector of f16, bf16, f32, f64 or integers "
                          "of 1, 8, 16, 32 or 64 bits, but got "
                       << element;
  return success();
}

/// `chunks of N`, if that comes next.
static bool parseChunks(AsmParser &parser, int64_t &columns) {
  return succeeded(parser.parseOptionalKeyword("chunks")) &&
         succeeded(parser.parseKeyword("of")) &&
         succeeded(parser.parseInteger(columns));
}

static void printChunks(AsmPrinter &printer, Type element, int64_t columns) {
  if (columns != getChunkColumns(element))
    printer << ", chunks of " << columns;
}

static LogicalResult verifyChunks(function_ref<InFlightDiagnostic()> emitError,
                                  Type element, int64_t columns) {
  int64_t most = getChunkColumns(element);
  if (columns == most || (getElementBytes(element) == 2 && columns > 0 &&
                          columns < most && columns % kProductStep == 0))
    return success();
  return emitError() << "expects chunks of a multiple of " << kProductStep
                     << " columns of 16 bits, up to " << kChunkColumns
                     << ", but got " << columns << " of " << element;
}

Type MapType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() || parseShape(parser, 2, shape, element))
    return {};
  bool strided = false, aligned = false, packed = false;
  if (succeeded(parser.parseOptionalComma())) {
    packed = succeeded(parser.parseOptionalKeyword("packed"));
    strided = !packed;
    if (strided && parser.parseKeyword("strided"))
      return {};
    aligned = strided && succeeded(parser.parseOptionalComma());
    if (aligned && parser.parseKeyword("aligned"))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), shape[0], shape[1], element, strided, aligned,
             packed);
}

void MapType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << "x" << getElementType()
          << (getPacked()    ? ", packed"
              : getStrided() ? ", strided"
                             : "")
          << (getAligned() ? ", aligned>" : ">");
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, 2, shape, element, true))
    return {};
  int64_t parentRows = shape[0],
          chunkColumns = hopper::getChunkColumns(element);
  while (succeeded(parser.parseOptionalComma()))
    if (!parseChunks(parser, chunkColumns) &&
        (parser.parseKeyword("of") || parser.parseInteger(parentRows)))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(loc, parser.getContext(), shape[0],
                                     shape[1], element, parentRows,
                                     chunkColumns);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getRows(), getColumns(), getElementType());
  if (getParentRows() != getRows())
    printer << ", of " << getParentRows();
  printChunks(printer, getElementType(), getChunkColumns());
  printer << ">";
}

Type ChannelType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, 3, shape, element, true))
    return {};
  bool payload = false;
  int64_t chunkColumns = hopper::getChunkColumns(element);
  while (succeeded(parser.parseOptionalComma())) {
    if (parseChunks(parser, chunkColumns))
      continue;
    if (parser.parseKeyword("payload"))
      return {};
    payload = true;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ChannelType>(loc, parser.getContext(), shape[0],
                                        shape[1], shape[2], element, payload,
                                        chunkColumns);
}

void ChannelType::print(AsmPrinter &printer) const {
  printer << "<" << getStages() << "x";
  printShape(printer, getRows(), getColumns(), getElementType());
  if (getPayload())
    printer << ", payload";
  printChunks(printer, getElementType(), getChunkColumns());
  printer << ">";
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t stages, int64_t rows, int64_t columns,
                                  Type element, bool payload,
                                  int64_t chunkColumns) {
  if (!isStageCount(stages))
    return emitError() << "expects 1, 2 or 4 stages, but got " << stages;
  if (rows % 8 != 0)
    return emitError() << "expects a multiple of 8 rows, but got " << rows;
  if (columns == 0 && payload)
    return emitError() << "expects no payload with vectors";
  if (failed(verifyChunks(emitError, element, chunkColumns)))
    return failure();
  return verifyVector(emitError, columns, element);
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t rows, int64_t columns, Type element,
                               int64_t parentRows, int64_t chunkColumns) {
  if (parentRows < 1 || parentRows % rows != 0)
    return emitError() << "expects " << rows << " rows of a multiple of "
                       << rows << ", but got " << parentRows;
  if (failed(verifyChunks(emitError, element, chunkColumns)))
    return failure();
  return verifyVector(emitError, columns, element);
}

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ShapedType fragment) {
  if (!isFragment(fragment) || !fragment.getElementType().isF32())
    return emitError() << "expects a vector of rank 2 and f32, but got "
                       << fragment;
  return success();
}

LogicalResult
WorkQueueType::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t length) {
  if (length < 1)
    return emitError() << "expects a positive length, but got " << length;
  return success();
}
