//===- SummaryKernels.cpp - Kernels that fill tables ----------------------===//

#include "SummaryKernels.h"
#include "IntBuilder.h"
#include "MergeKernel.h"
#include "WarpLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

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
  bool hasParts = program.schedule.getSplitKeys();
  if (program.tables.empty() && !hasParts)
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
  if (hasParts)
    describePartResults(program, tables);
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

  OpBuilder::InsertionGuard guard(builder);
  FailureOr<WarpIteration> iteration = emitWarpIteration(builder, loop, cloner);
  if (failed(iteration))
    return failure();
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
      at.push_back(index ? iteration->indices[*index] : zero);
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
    gpu::GPUFuncOp kernel = createWarpKernel(
        builder, loc, program.function.getName() + "_summary" + Twine(number));
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
