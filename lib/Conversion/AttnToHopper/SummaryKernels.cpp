//===- SummaryKernels.cpp - Kernels that fill tables ----------------------===//

#include "SummaryKernels.h"
#include "IntBuilder.h"
#include "WorkerCloner.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kThreads = 128;

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// ceil(extent / divisor) of a dimension of an argument, or a constant.
static FailureOr<DictionaryAttr> describeExtent(Builder &builder,
                                                func::FuncOp function,
                                                OpFoldResult extent,
                                                Operation *user) {
  auto getNumber = [&](StringRef name, int64_t number) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
  };
  if (std::optional<int64_t> constant = getConstantIntValue(extent))
    return builder.getDictionaryAttr(getNumber("extent", *constant));
  auto value = cast<Value>(extent);
  int64_t divisor = 1;
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    auto division =
        dyn_cast<AffineBinaryOpExpr>(apply.getAffineMap().getResult(0));
    auto by = division && division.getKind() == AffineExprKind::CeilDiv
                  ? dyn_cast<AffineConstantExpr>(division.getRHS())
                  : AffineConstantExpr();
    if (!by || apply.getMapOperands().size() != 1 ||
        !isa<AffineDimExpr, AffineSymbolExpr>(division.getLHS()))
      return user->emitError("expects the extents of a table to be those of "
                             "arguments, or their quotients");
    divisor = by.getValue();
    value = apply.getMapOperands()[0];
  }
  auto dim = value.getDefiningOp<tensor::DimOp>();
  Value source = dim ? dim.getSource() : Value();
  while (auto cast =
             source ? source.getDefiningOp<tensor::CastOp>() : tensor::CastOp())
    source = cast.getSource();
  auto argument = dyn_cast_if_present<BlockArgument>(source);
  if (!argument || argument.getOwner() != &function.getBody().front() ||
      !dim.getConstantIndex())
    return user->emitError("expects the extents of a table to be those of "
                           "arguments, or their quotients");
  return builder.getDictionaryAttr(
      {getNumber("dim", *dim.getConstantIndex()), getNumber("divisor", divisor),
       getNumber("operand", argument.getArgNumber())});
}

namespace {
/// What an iteration writes to a table: a scalar, at its own indices, or a row
/// of words that one operation fills.
struct TableElement {
  Value table, scalar;
  ListWordsOp words;
  /// By dimension of the table which index of the loop it is; none for 0, in
  /// a dimension of extent 1.
  SmallVector<std::optional<unsigned>, 4> indices;
};
} // namespace

static FailureOr<SmallVector<TableElement>> matchElements(scf::ForallOp loop) {
  SmallVector<TableElement> elements;
  for (Operation &op : loop.getTerminator().getYieldingOps()) {
    auto insert = cast<tensor::ParallelInsertSliceOp>(op);
    auto scalar = insert.getSource().getDefiningOp<tensor::InsertOp>();
    auto words = insert.getSource().getDefiningOp<ListWordsOp>();
    SmallVector<OpFoldResult> sizes = insert.getMixedSizes(),
                              offsets = insert.getMixedOffsets();
    if (words) {
      sizes.pop_back();
      offsets.pop_back();
    }
    bool isElement =
        (scalar || words) && llvm::all_of(sizes, [](OpFoldResult size) {
          return isConstantIntValue(size, 1);
        });
    TableElement &element = elements.emplace_back();
    unsigned next = 0;
    for (OpFoldResult offset : offsets) {
      if (isConstantIntValue(offset, 0)) {
        element.indices.push_back(std::nullopt);
        // The index of the loop may have become a constant.
        if (next < loop.getRank() &&
            isConstantIntValue(loop.getMixedUpperBound()[next], 1))
          ++next;
        continue;
      }
      isElement &= next < loop.getRank() &&
                   offset == OpFoldResult(loop.getInductionVars()[next]);
      element.indices.push_back(next++);
    }
    if (!isElement || next != loop.getRank())
      return insert.emitError("expects one element of a table on a GPU, at the "
                              "indices of the loop; run with --target=cpu");
    if (scalar)
      element.scalar = scalar.getScalar();
    element.words = words;
    element.table = loop.getTiedOpResult(
        loop.getTiedOpOperand(cast<BlockArgument>(insert.getDest())));
  }
  return elements;
}

FailureOr<DictionaryAttr> mlir::attn::describeTables(TileProgram &program) {
  if (program.tables.empty())
    return DictionaryAttr();
  Builder builder(program.function.getContext());
  SmallVector<Attribute> tables;
  for (scf::ForallOp loop : program.summaries) {
    FailureOr<SmallVector<TableElement>> elements = matchElements(loop);
    if (failed(elements))
      return failure();
    for (Value table : loop.getResults()) {
      auto *element = llvm::find_if(
          *elements, [&](const TableElement &e) { return e.table == table; });
      SmallVector<Attribute> extents;
      for (std::optional<unsigned> index : element->indices) {
        FailureOr<DictionaryAttr> extent =
            describeExtent(builder, program.function,
                           index ? loop.getMixedUpperBound()[*index]
                                 : OpFoldResult(builder.getIndexAttr(1)),
                           loop);
        if (failed(extent))
          return failure();
        extents.push_back(*extent);
      }
      if (element->words) {
        auto empty = loop.getTiedOpOperand(cast<OpResult>(table))
                         ->get()
                         .getDefiningOp<tensor::EmptyOp>();
        if (!empty)
          return loop.emitError("expects a table of words to be a new tensor");
        FailureOr<DictionaryAttr> extent = describeExtent(
            builder, program.function, empty.getMixedSizes().back(), loop);
        if (failed(extent))
          return failure();
        extents.push_back(*extent);
      }
      Type type = getElementTypeOrSelf(table.getType());
      int64_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
      tables.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(
                                             std::max<int64_t>(bits / 8, 1))),
           builder.getNamedAttr("extents", builder.getArrayAttr(extents))}));
    }
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("first", builder.getI64IntegerAttr(
                                         program.function.getNumArguments())),
       builder.getNamedAttr("tables", builder.getArrayAttr(tables))});
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a warp fills a row of words, in place of an element.
static bool isOfRows(ArrayRef<TableElement> elements) {
  return elements.size() == 1 && elements.front().words;
}

static LogicalResult emitWords(OpBuilder &builder, WorkerCloner &cloner,
                               KernelArguments &arguments, ListWordsOp words,
                               Value table, ValueRange position) {
  std::optional<unsigned> operand = cloner.getOperand(words.getColumns());
  FailureOr<Value> begin = cloner.getScalar(words.getBegin()),
                   end = cloner.getScalar(words.getEnd());
  if (!operand)
    return words.emitError("expects a list that is an argument of the "
                           "function; run with --target=cpu");
  if (failed(begin) || failed(end))
    return failure();
  Value columns = arguments.getMemRef(*operand);
  ListWordsOp::create(builder, words.getLoc(), Type(), columns, *begin, *end,
                      table, position);
  return success();
}

static LogicalResult emitElement(OpBuilder &builder, TileProgram &program,
                                 scf::ForallOp loop, KernelArguments &arguments,
                                 Value lane) {
  Location loc = loop.getLoc();
  IntBuilder ib{builder, loc};
  // What there is besides the loop, without keys of its own.
  TileProgram summary;
  summary.function = program.function;
  summary.grid = loop;
  summary.tables = program.tables;
  WorkerCloner cloner(builder, summary, arguments, /*warpgroup=*/nullptr);
  cloner.setLane(lane);

  SmallVector<Value> extents;
  for (OpFoldResult bound : loop.getMixedUpperBound()) {
    FailureOr<Value> extent = cloner.getScalar(bound);
    if (failed(extent))
      return failure();
    extents.push_back(ib.fromIndex(*extent));
  }
  auto getId = [&](auto op) { return ib.fromIndex(op); };
  Value block = getId(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      getId(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value warp =
      ib.add(ib.mul(block, ib.constant(kThreads / hopper::kWarpThreads)),
             ib.div(thread, ib.constant(hopper::kWarpThreads)));
  Value count = ib.constant(1);
  for (Value extent : extents)
    count = ib.mul(count, extent);
  Value isElement = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, warp, count);
  auto branch = scf::IfOp::create(builder, loc, isElement,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> ids(extents.size());
  Value rest = warp;
  for (size_t dim = extents.size(); dim-- > 0;) {
    ids[dim] = ib.toPosition(ib.rem(rest, extents[dim]));
    rest = ib.div(rest, extents[dim]);
  }
  for (auto [from, to] : llvm::zip_equal(loop.getInductionVars(), ids))
    cloner.map(from, to);

  FailureOr<SmallVector<TableElement>> elements = matchElements(loop);
  if (failed(elements))
    return failure();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto getTable = [&](const TableElement &element) {
    auto *number = llvm::find(program.tables, element.table);
    return arguments.getMemRef(program.function.getNumArguments() +
                                   (number - program.tables.begin()),
                               cast<RankedTensorType>(element.table.getType()));
  };
  auto getPosition = [&](const TableElement &element) {
    SmallVector<Value> at;
    for (std::optional<unsigned> index : element.indices)
      at.push_back(index ? ids[*index] : zero);
    return at;
  };
  if (isOfRows(*elements))
    return emitWords(builder, cloner, arguments, elements->front().words,
                     getTable(elements->front()),
                     getPosition(elements->front()));
  SmallVector<Value> values;
  for (const TableElement &element : *elements) {
    FailureOr<Value> value = cloner.getScalar(element.scalar);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        ib.fromIndex(lane), ib.constant(0));
  auto store = scf::IfOp::create(builder, loc, isFirst,
                                 /*withElseRegion=*/false);
  builder.setInsertionPointToStart(store.thenBlock());
  for (auto [element, value] : llvm::zip_equal(*elements, values))
    memref::StoreOp::create(builder, loc, value, getTable(element),
                            getPosition(element));
  return success();
}

LogicalResult mlir::attn::emitSummaryKernels(OpBuilder &builder,
                                             TileProgram &program) {
  unsigned firstTable = program.function.getNumArguments();
  for (auto [number, loop] : llvm::enumerate(program.summaries)) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = loop.getLoc();
    auto kernel = gpu::GPUFuncOp::create(
        builder, loc,
        (program.function.getName() + "_summary" + Twine(number)).str(),
        FunctionType::get(builder.getContext(), {}, {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
    kernel->setAttr(hopper::kThreadsAttrName,
                    builder.getI64IntegerAttr(kThreads));
    kernel->setAttr(hopper::kElementsAttrName,
                    builder.getI64IntegerAttr(firstTable));
    FailureOr<SmallVector<TableElement>> elements = matchElements(loop);
    if (failed(elements))
      return failure();
    if (isOfRows(*elements))
      kernel->setAttr(hopper::kRowsAttrName, builder.getUnitAttr());
    firstTable += loop.getNumResults();
    KernelArguments arguments(program.function, kernel, /*isStrided=*/false);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Value lane =
        gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
    if (failed(emitElement(builder, program, loop, arguments, lane)))
      return failure();
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    gpu::ReturnOp::create(builder, loc);
  }
  return success();
}
