//===- RowKernel.cpp - A kernel of single queries -------------------------===//

#include "RowKernel.h"
#include "DependentLaunch.h"
#include "ScalarMath.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Dropout.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

RowKernel::RowKernel(OpBuilder &builder, func::FuncOp function,
                     scf::ForallOp grid, RowScheduleAttr schedule,
                     bool accurateTanh)
    : b(function.getLoc(), builder), function(function), grid(grid),
      schedule(schedule), accurateTanh(accurateTanh),
      queries(schedule.getQueries()), query(&queries.front()),
      lanes(schedule.getLanes()) {
  b.setInsertionPoint(function);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

FailureOr<unsigned> RowKernel::getArgument(Value tensor, Operation *user) {
  // The destination of the loop is an argument, too.
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    if (argument.getOwner() == grid.getBody())
      tensor = grid.getTiedOpOperand(argument)->get();
  while (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    tensor = cast.getSource();
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (argument && argument.getOwner() == &function.getBody().front())
    return argument.getArgNumber();
  return user->emitError("expects tensors to be arguments of '")
         << function.getName()
         << "', so that a GPU kernel can read or write them in place; compute "
            "them in a function of its own"
         << otherTarget;
}

Value RowKernel::getParam(StringRef kind, unsigned argument, Type type,
                          int64_t dim) {
  Value &value = knownParams[{b.getStringAttr(kind), argument, dim}];
  if (value)
    return value;
  SmallVector<NamedAttribute> param = {
      b.getNamedAttr("kind", b.getStringAttr(kind)),
      b.getNamedAttr("operand", b.getI64IntegerAttr(argument))};
  if (dim >= 0)
    param.push_back(b.getNamedAttr("dim", b.getI64IntegerAttr(dim)));
  params.push_back(b.getDictionaryAttr(param));
  paramTypes.push_back(type);
  return value = kernel.getBody().front().addArgument(type, b.getLoc());
}

Value RowKernel::getPointer(unsigned argument) {
  return getParam("pointer", argument,
                  LLVM::LLVMPointerType::get(b.getContext(), 1));
}

Value RowKernel::getStride(unsigned argument, unsigned dim) {
  return getParam("stride", argument, b.getI64Type(), dim);
}

Value RowKernel::getExtent(unsigned argument, unsigned dim) {
  auto type = cast<RankedTensorType>(function.getArgument(argument).getType());
  if (!type.isDynamicDim(dim))
    return b.i64(type.getDimSize(dim));
  return getParam("long_extent", argument, b.getI64Type(), dim);
}

Value RowKernel::toI64(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return b.i64(*constant);
  return toI64(query->mapping.lookup(cast<Value>(value)));
}

Value RowKernel::offsetPointer(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value RowKernel::getAddress(unsigned argument, ArrayRef<Value> position) {
  auto type = cast<RankedTensorType>(function.getArgument(argument).getType());
  Value sum;
  for (auto [dim, index] : llvm::enumerate(position)) {
    Value term = index;
    // The innermost stride is 1.
    if (static_cast<int64_t>(dim) + 1 != type.getRank())
      term = b.mul(index, getStride(argument, dim));
    sum = sum ? b.add(sum, term) : term;
  }
  if (!sum)
    return getPointer(argument);
  Type element = type.getElementType();
  int64_t bytes = element.isIndex()
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return offsetPointer(getPointer(argument), b.mul(sum, bytes));
}

/// Reads an element where a condition holds, and 0 elsewhere.
Value RowKernel::emitLoad(Value address, Value condition, Type element) {
  bool isIndex = element.isIndex(), isBool = element.isInteger(1);
  unsigned bits = isIndex ? 64 : isBool ? 8 : element.getIntOrFloatBitWidth();
  StringRef letter = bits == 64 ? "l" : bits == 32 ? "r" : "h";
  std::string suffix = bits == 8 ? "u8" : ("b" + Twine(bits)).str();
  std::string move = ("mov.b" + Twine(std::max(bits, 16u))).str();
  std::string text =
      "{ " + move + " $0, 0; @$2 ld.global.nc." + suffix + " $0, [$1]; }";
  Value loaded = emitPureAsm(b, text, ("=&" + letter + ",l,b").str(),
                             ValueRange{address, condition},
                             b.getIntegerType(std::max(bits, 16u)));
  if (isIndex)
    return arith::IndexCastOp::create(b, element, loaded);
  if (bits < 16 || isBool)
    return arith::TruncIOp::create(b, element, loaded);
  if (isa<FloatType>(element))
    return arith::BitcastOp::create(b, element, loaded);
  return loaded;
}

Value RowKernel::shuffle(Value value, Value lane, bool isXor) {
  return NVVM::ShflOp::create(
      b, value.getType(), b.i32(-1), value, lane,
      b.i32(hopper::kWarpThreads - 1),
      isXor ? NVVM::ShflKind::bfly : NVVM::ShflKind::idx, UnitAttr());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult RowKernel::emitDim(Operation &op) {
  auto dim = cast<tensor::DimOp>(op);
  std::optional<int64_t> number = dim.getConstantIndex();
  FailureOr<unsigned> argument = getArgument(dim.getSource(), &op);
  if (failed(argument))
    return failure();
  if (!number)
    return op.emitError("expects the number of a dimension to be a constant");
  Value extent = getExtent(*argument, *number);
  query->mapping.map(
      dim.getResult(),
      arith::IndexCastOp::create(b, b.getIndexType(), extent).getResult());
  return success();
}

/// Which key of a step this lane has.
Value RowKernel::getNumberInStep() {
  return toIndex(
      b.add(b.mul(laneInGroup, hopper::kWarpThreads / lanes), group));
}

LogicalResult RowKernel::emitGather(GatherOp op) {
  FailureOr<unsigned> argument = getArgument(op.getSource(), op);
  if (failed(argument))
    return failure();
  Value active = query->mapping.lookup(op.getMask());
  SmallVector<Value> position;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value at = query->mapping.lookup(index);
    if (op.getBox() && op.getBox()->isFunctionOfDim(dim))
      at = b.add(at, getNumberInStep());
    position.push_back(toI64(at));
    Value inRange = b.ult(position.back(), getExtent(*argument, dim));
    active = b.andI(active, inRange);
  }
  query->mapping.map(op.getResult(),
                     emitLoad(getAddress(*argument, position), active,
                              getElementTypeOrSelf(op.getType())));
  return success();
}

LogicalResult RowKernel::forEachQuery(function_ref<LogicalResult()> emit) {
  for (Query &each : queries) {
    query = &each;
    if (failed(emit()))
      return failure();
  }
  query = &queries.front();
  return success();
}

LogicalResult RowKernel::emitOp(Operation &op) {
  b.setLoc(op.getLoc());
  if (auto keys = dyn_cast<scf::ForOp>(op))
    return emitKeys(keys);
  if (auto needed = dyn_cast<scf::IfOp>(op))
    return emitNeeded(needed);
  if (auto contract = dyn_cast<vector::ContractionOp>(op))
    return emitContract(contract);
  return forEachQuery([&] { return emitOfQuery(op); });
}

LogicalResult RowKernel::emitOfQuery(Operation &op) {
  if (auto reduction = dyn_cast<vector::ReductionOp>(op)) {
    emitAny(reduction);
    return success();
  }
  if (auto step = dyn_cast<OnlineStepOp>(op))
    return emitStep(step);
  if (isa<tensor::DimOp>(op))
    return emitDim(op);
  if (auto step = dyn_cast<vector::StepOp>(op)) {
    query->mapping.map(step.getResult(), getNumberInStep());
    return success();
  }
  // What is done to results, when they are written.
  if (isa<tensor::ExtractSliceOp, vector::TransferWriteOp, tensor::CastOp,
          tensor::EmptyOp, bufferization::MaterializeInDestinationOp,
          func::ReturnOp, scf::ForallOp, OnlineStartOp>(op))
    return success();
  // What has an element for each column is computed where it is used.
  auto type = op.getNumResults() == 1
                  ? dyn_cast<VectorType>(op.getResult(0).getType())
                  : VectorType();
  if (isa<vector::ShapeCastOp, vector::BroadcastOp>(op)) {
    Value source = query->mapping.lookupOrNull(op.getOperand(0));
    if (source && (isa<vector::ShapeCastOp>(op) || type.getRank() == 1))
      query->mapping.map(op.getResult(0), source);
    return success();
  }
  if (isa<vector::TransferReadOp>(op) || (type && type.getRank() == 2))
    return success();
  if (auto gather = dyn_cast<GatherOp>(op))
    return emitGather(gather);
  Attribute constant;
  if (matchPattern(&op, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant)) {
      if (!elements.isSplat())
        return op.emitError("expects a constant vector to be a splat");
      constant = elements.getSplatValue<Attribute>();
    }
    query->mapping.map(
        op.getResult(0),
        arith::ConstantOp::create(b, cast<TypedAttr>(constant)).getResult());
    return success();
  }
  // The query, converted.
  if (op.getNumOperands() == 1 && !query->mapping.contains(op.getOperand(0)))
    return success();
  if (isa<affine::AffineApplyOp>(op)) {
    query->mapping.map(op.getResult(0),
                       b.clone(op, query->mapping)->getResult(0));
    return success();
  }
  auto dropout = dyn_cast<DropoutOp>(op);
  if (!dropout && failed(verifyScalarOp(op)))
    return failure();
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(query->mapping.lookup(operand));
  if (dropout) {
    query->mapping.map(dropout.getFactor(), emitDropout(b, dropout, operands));
    return success();
  }
  query->mapping.map(
      op.getResult(0),
      emitScalarOp(b, op, operands,
                   getElementTypeOrSelf(op.getResult(0).getType()),
                   accurateTanh));
  return success();
}

LogicalResult RowKernel::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Element `number` of what this lane has of a value for the columns.
FailureOr<Value> RowKernel::evaluateColumn(Value value, unsigned number) {
  auto it = query->columns.find(value);
  if (it != query->columns.end())
    return it->second[number];
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op))
    return query->mapping.lookup(broadcast.getSource());
  DenseElementsAttr constant;
  if (op && matchPattern(op, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, constant.getSplatValue<TypedAttr>())
        .getResult();
  if (!op || failed(verifyScalarOp(*op)))
    return emitError(value.getLoc(), "a value of the columns of a query has no "
                                     "form in a GPU kernel");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> element = evaluateColumn(operand, number);
    if (failed(element))
      return failure();
    operands.push_back(*element);
  }
  return emitScalarOp(b, *op, operands, getElementTypeOrSelf(value.getType()),
                      accurateTanh);
}

static void emitIf(ScalarBuilder &b, Value condition, function_ref<void()> body,
                   function_ref<void()> otherwise = {}) {
  auto branch = scf::IfOp::create(b, condition,
                                  /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

/// The same of what may fail; without a condition, always.
static LogicalResult emitIfAny(ScalarBuilder &b, Value condition,
                               function_ref<LogicalResult()> body) {
  if (!condition)
    return body();
  LogicalResult result = success();
  emitIf(b, condition, [&] { result = body(); });
  return result;
}

LogicalResult RowKernel::emitRowResult(Value vector, unsigned argument,
                                       ArrayRef<OpFoldResult> offsets) {
  SmallVector<Value> position;
  for (OpFoldResult offset : offsets)
    position.push_back(toI64(offset));
  Value value = query->mapping.lookup(vector);
  Value isFirst = b.eq(lane, 0);
  emitIf(b, isFirst, [&] {
    LLVM::StoreOp::create(b, value, getAddress(argument, position));
  });
  return success();
}

LogicalResult RowKernel::emitColumnResult(vector::TransferWriteOp write,
                                          unsigned argument,
                                          ArrayRef<OpFoldResult> offsets) {
  VectorType type = write.getVectorType();
  Type element = type.getElementType();
  unsigned columnDim = write.getPermutationMap().getDimPosition(0);
  int64_t numElements = 128 / element.getIntOrFloatBitWidth();
  int64_t numColumns = type.getDimSize(0);
  SmallVector<Value> position;
  for (OpFoldResult offset : offsets)
    position.push_back(toI64(offset));
  // All groups have the sums; the first one writes.
  Value isFirst = b.eq(group, 0);
  Value aligned = isAligned(argument, columnDim);
  int64_t numChunks = getNumChunks(element, numColumns);
  for (int64_t chunk = 0; chunk < numChunks; ++chunk) {
    Columns list;
    for (int64_t e = 0; e < numElements; ++e) {
      FailureOr<Value> value =
          evaluateColumn(write.getValueToStore(), chunk * numElements + e);
      if (failed(value))
        return failure();
      list.push_back(*value);
    }
    Value active = isFirst;
    if (Value inColumns = isInColumns(chunk, numElements, numColumns))
      active = b.andI(active, inColumns);
    SmallVector<Value> at(position);
    Value first = b.zext64(getColumnOffset(chunk, numElements));
    at[columnDim] = b.add(at[columnDim], first);
    emitIf(b, active, [&] {
      auto storeAll = [&] {
        Type packedType = VectorType::get({numElements}, element);
        Value packed = LLVM::UndefOp::create(b, packedType);
        for (auto [number, value] : llvm::enumerate(list))
          packed =
              LLVM::InsertElementOp::create(b, packed, value, b.i32(number));
        LLVM::StoreOp::create(b, packed, getAddress(argument, at),
                              /*alignment=*/16);
      };
      auto storeEach = [&] {
        for (auto [number, value] : llvm::enumerate(list)) {
          SmallVector<Value> own(at);
          own[columnDim] = b.add(at[columnDim], number);
          auto store = [&, value = value] {
            LLVM::StoreOp::create(b, value, getAddress(argument, own));
          };
          Value inRow = isInRow(chunk, numElements, number, numColumns);
          inRow ? emitIf(b, inRow, store) : store();
        }
      };
      emitIf(b, aligned, storeAll, storeEach);
    });
  }
  return success();
}

LogicalResult RowKernel::emitResults() {
  for (Operation &op : grid.getTerminator().getYieldingOps()) {
    auto insert = cast<tensor::ParallelInsertSliceOp>(op);
    auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
    if (!write)
      return insert.emitError("expects a row that is written as attn-tile "
                              "does");
    FailureOr<unsigned> argument = getArgument(insert.getDest(), insert);
    if (failed(argument))
      return failure();
    SmallVector<OpFoldResult> offsets = insert.getMixedOffsets();
    b.setLoc(op.getLoc());
    if (failed(write.getVectorType().getRank() == 1
                   ? emitRowResult(write.getValueToStore(), *argument, offsets)
                   : emitColumnResult(write, *argument, offsets)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

LogicalResult RowKernel::checkFunction() {
  if (schedule.getTileN() != hopper::kWarpThreads ||
      lanes > hopper::kWarpThreads)
    return grid.emitError("expects a schedule with a tile_n of ")
           << hopper::kWarpThreads
           << ", the threads of a warp, on a GPU, but got " << schedule;
  if (schedule.getRows() / schedule.getQueries() > hopper::kWarpThreads)
    return grid.emitError("expects a schedule with at most ")
           << hopper::kWarpThreads
           << " warps in a CTA on a GPU, each for the queries of rows that it "
              "computes together, but got "
           << schedule;
  for (Operation &op : function.getBody().front()) {
    // Numbers, of which a thread computes its own.
    bool isOfNumbers =
        isa_and_nonnull<affine::AffineDialect, arith::ArithDialect>(
            op.getDialect()) &&
        (isa<arith::ConstantOp>(op) ||
         llvm::none_of(op.getResultTypes(), llvm::IsaPred<ShapedType>));
    if (&op == grid || isOfNumbers ||
        isa<tensor::DimOp, tensor::CastOp, tensor::EmptyOp, func::ReturnOp,
            bufferization::MaterializeInDestinationOp>(op))
      continue;
    return op.emitError("expects nothing but one attention in a function for a "
                        "GPU, but got '")
           << op.getName() << "'" << otherTarget;
  }
  return success();
}

/// Which queries a warp has.
LogicalResult RowKernel::emitGrid() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = b.andI(thread, hopper::kWarpThreads - 1);
  // Uniform in a warp, which a compiler does not see in a shifted thread id.
  warp = shuffle(b.shrU(thread, 5), b.i32(0),
                 /*isXor=*/false);
  laneInGroup = b.andI(lane, lanes - 1);
  group = b.shrU(lane, llvm::Log2_64(lanes));

  SmallVector<Value> extents;
  for (OpFoldResult extent : grid.getMixedUpperBound())
    extents.push_back(b.trunc32(toI64(extent)));
  Value numRows = b.i32(schedule.getRows());
  Value numTiles = b.divU(b.add(extents[2], schedule.getRows() - 1), numRows);
  // A grid without blocks is not launched.
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value heads = b.divU(block, numTiles);
  Value tile = b.remU(block, numTiles);
  int64_t numQueries = queries.size();
  Value inTile = numQueries == 1 ? warp : b.mul(warp, numQueries);
  Value first = b.add(b.mul(tile, numRows), inTile);
  Value batch = b.divU(heads, extents[1]), head = b.remU(heads, extents[1]);
  for (int64_t number = 0; number < numQueries; ++number) {
    Query &each = queries[number];
    Value row = first;
    if (number != 0) {
      // One that there is not computes what the last one does.
      row = b.add(first, number);
      each.exists = b.ult(row, extents[2]);
      row = arith::MinUIOp::create(b, row, b.sub(extents[2], 1));
    }
    Value ids[] = {batch, head, row};
    for (auto [variable, id] : llvm::zip_equal(grid.getInductionVars(), ids))
      each.mapping.map(variable, toIndex(id));
  }
  Value exists = b.ult(first, extents[2]);
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitBlock(*grid.getBody())) || failed(forEachQuery([&] {
        return emitIfAny(b, query->exists, [&] { return emitResults(); });
      })))
    return failure();
  b.setInsertionPointAfter(branch);
  return success();
}

/// Arguments that are numbers are parameters of the kernel.
void RowKernel::mapScalars() {
  for (BlockArgument argument : function.getArguments()) {
    Type type = argument.getType();
    if (argument.use_empty() || !(type.isIntOrIndexOrFloat()))
      continue;
    Value value = getParam("scalar", argument.getArgNumber(),
                           type.isIndex() ? b.getI64Type() : type);
    if (type.isIndex())
      value = arith::IndexCastOp::create(b, type, value);
    for (Query &each : queries)
      each.mapping.map(argument, value);
  }
}

LogicalResult RowKernel::emit() {
  if (failed(checkFunction()))
    return failure();
  IRRewriter rewriter(b);
  for (NormalizeOp op : llvm::make_early_inc_range(grid.getOps<NormalizeOp>()))
    expandNormalize(rewriter, op);
  // Kernels that fill tables are there before.
  std::string name = (function.getName() + ".cuda").str();
  auto module = SymbolTable::lookupNearestSymbolFrom<gpu::GPUModuleOp>(
      function, b.getStringAttr(name));
  if (!module)
    module = gpu::GPUModuleOp::create(b, name);
  b.setInsertionPointToEnd(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {});
  kernel = LLVM::LLVMFuncOp::create(b, function.getName(), type);
  b.setInsertionPointToStart(kernel.addEntryBlock(b));
  waitForKernelBefore(b, b.getLoc(), /*isShort=*/false);
  mapScalars();
  if (failed(emitBlock(function.getBody().front())) || failed(emitGrid()))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  finish();
  return success();
}

void RowKernel::finish() {
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), paramTypes));
  int64_t threads =
      hopper::kWarpThreads * (schedule.getRows() / schedule.getQueries());
  kernel->setAttr("nvvm.kernel", b.getUnitAttr());
  kernel->setAttr("nvvm.maxntid",
                  b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  kernel->setAttr(hopper::kParamsAttrName, b.getArrayAttr(params));
  kernel->setAttr(hopper::kSharedBytesAttrName, b.getI64IntegerAttr(0));
  kernel->setAttr(hopper::kThreadsAttrName, b.getI64IntegerAttr(threads));
  kernel->setAttr(hopper::kScheduleAttrName, schedule);
  for (StringRef name : {hopper::kTablesAttrName, hopper::kScratchAttrName})
    if (Attribute memory = function->getAttr(name))
      kernel->setAttr(name, memory);
  // The number of tiles is that of the result's rows. Which of the other two
  // dimensions is which does not matter here.
  auto insert = cast<tensor::ParallelInsertSliceOp>(
      *grid.getTerminator().getYieldingOps().begin());
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  AffineMap map = write.getPermutationMap();
  int64_t row = map.getDimPosition(map.getNumResults() - 1);
  SmallVector<int64_t> dims;
  for (int64_t dim = 0, rank = map.getNumDims(); dim < rank; ++dim)
    if (dim != row &&
        (map.getNumResults() == 1 || dim != map.getDimPosition(0)))
      dims.push_back(dim);
  dims.push_back(row);
  unsigned output = *getArgument(insert.getDest(), insert);
  kernel->setAttr(
      hopper::kGridAttrName,
      b.getDictionaryAttr(
          {b.getNamedAttr("operand", b.getI64IntegerAttr(output)),
           b.getNamedAttr("dims", b.getDenseI64ArrayAttr(dims)),
           b.getNamedAttr("key_operand", b.getI64IntegerAttr(*keyArgument)),
           b.getNamedAttr("key_dim", b.getI64IntegerAttr(keyDim))}));
  function.erase();
}
