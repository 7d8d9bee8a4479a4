//===- PrologueKernels.cpp - Kernels that fill tables ---------------------===//

#include "PrologueKernels.h"
#include "CombineKernel.h"
#include "ElementLoops.h"
#include "WarpLoops.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/IR/Preparation.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

/// Threads of the kernel that finds the keys of tiles.
static constexpr int64_t kUnionThreads = 256;

namespace {
/// What an iteration writes to a table: a scalar, at its own indices, or a row
/// of words that one operation fills.
struct TableElement {
  Value table, scalar;
  KeyBitmaskOp words;
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
    auto words = insert.getSource().getDefiningOp<KeyBitmaskOp>();
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
                              "indices of the loop")
             << otherTarget;
    if (scalar)
      element.scalar = scalar.getScalar();
    element.words = words;
    element.table = loop.getTiedOpResult(
        loop.getTiedOpOperand(cast<BlockArgument>(insert.getDest())));
  }
  return elements;
}

/// The tables of attn.key_union, of which `first` is the number of the first.
static LogicalResult describeUnions(Builder &builder, TileProgram &program,
                                    int64_t first,
                                    SmallVectorImpl<Attribute> &tables) {
  KeyUnionOp unions = program.unions;
  auto getConstant = [&](int64_t extent) -> Attribute {
    return builder.getDictionaryAttr(
        builder.getNamedAttr("extent", builder.getI64IntegerAttr(extent)));
  };
  OpBuilder before(unions);
  auto getDim = [&](Value tensor, int64_t dim) {
    return tensor::getMixedSize(before, unions.getLoc(), tensor, dim);
  };
  auto describe = [&](OpFoldResult extent, int64_t divisor) {
    return describeExtent(builder, program.function, extent, unions, divisor);
  };
  Value rows = unions.getRows();
  int64_t numLeading = cast<RankedTensorType>(rows.getType()).getRank() - 1;
  SmallVector<Attribute> places(2 - numLeading, getConstant(1));
  for (int64_t dim = 0; dim < numLeading; ++dim) {
    FailureOr<DictionaryAttr> extent = describe(getDim(rows, dim), 1);
    if (failed(extent))
      return failure();
    places.push_back(*extent);
  }
  FailureOr<DictionaryAttr> tiles =
      describe(getAsOpFoldResult(unions.getQueries()), unions.getTileQueries());
  FailureOr<DictionaryAttr> pages =
      describe(getDim(unions.getColumns(), 0), unions.getTileKeys());
  if (failed(tiles) || failed(pages))
    return failure();
  llvm::append_values(places, Attribute(*tiles), getConstant(2));
  // A page more for each tile.
  NamedAttrList more(*pages);
  more.set("plus_rows", builder.getI64IntegerAttr(first));
  Attribute allPages = more.getDictionary(builder.getContext());
  Type number = builder.getI32Type();
  tables.push_back(describeTable(builder, number, places));
  tables.push_back(describeTable(
      builder, number, {allPages, getConstant(unions.getTileKeys())}));
  tables.push_back(
      describeTable(builder, number,
                    {allPages, getConstant(unions.getTileKeys() / kWordKeys),
                     getConstant(unions.getTileQueries())}));
  return success();
}

FailureOr<DictionaryAttr>
mlir::attn::describeTables(TileProgram &program,
                           const DenseSet<int64_t> &prepared) {
  if (program.tables.empty())
    return DictionaryAttr();
  Builder builder(program.function.getContext());
  SmallVector<Attribute> tables;
  for (scf::ForallOp loop : program.prologues) {
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
      tables.push_back(describeTable(
          builder, getElementTypeOrSelf(table.getType()), extents));
    }
  }
  if (program.unions &&
      failed(describeUnions(builder, program,
                            program.function.getNumArguments() + tables.size(),
                            tables)))
    return failure();
  for (memref::AllocOp alloc : program.workspaces) {
    SmallVector<Attribute> extents;
    for (OpFoldResult size : alloc.getMixedSizes()) {
      FailureOr<DictionaryAttr> extent =
          describeExtent(builder, program.function, size, alloc);
      if (failed(extent))
        return failure();
      extents.push_back(*extent);
    }
    NamedAttrList table(
        describeTable(builder, alloc.getType().getElementType(), extents));
    if (program.zeroed.contains(alloc))
      table.set("zero", builder.getUnitAttr());
    tables.push_back(table.getDictionary(builder.getContext()));
  }
  for (auto [number, table] : llvm::enumerate(tables)) {
    if (!prepared.contains(number))
      continue;
    NamedAttrList with(cast<DictionaryAttr>(table));
    with.set("prepared", builder.getUnitAttr());
    table = with.getDictionary(builder.getContext());
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

static LogicalResult emitWords(OpBuilder &builder, KernelValues &values,
                               KernelArguments &arguments, KeyBitmaskOp words,
                               Value table, ValueRange position) {
  std::optional<unsigned> operand = values.getOperand(words.getColumns());
  FailureOr<Value> begin = values.getScalar(words.getBegin()),
                   end = values.getScalar(words.getEnd());
  if (!operand)
    return words.emitError("expects a list that is an argument of the "
                           "function")
           << otherTarget;
  if (failed(begin) || failed(end))
    return failure();
  Value columns = arguments.getMemRef(*operand);
  KeyBitmaskOp::create(builder, words.getLoc(), Type(), columns, *begin, *end,
                       table, position);
  return success();
}

/// Whether a thread fills an element: no loop is there that the threads of a
/// warp would share out.
static bool isOfThreads(scf::ForallOp loop, ArrayRef<TableElement> elements) {
  WalkResult walk = loop.getBody()->walk(
      [](LoopLikeOpInterface) { return WalkResult::interrupt(); });
  return !walk.wasInterrupted() && isElementLoop(loop) &&
         llvm::all_of(elements, [&](const TableElement &element) {
           return element.scalar &&
                  element.indices.back() == loop.getRank() - 1;
         });
}

/// The table of an element, as a kernel has it.
static Value getTable(const TableElement &element, TileProgram &program,
                      KernelArguments &arguments) {
  auto *number = llvm::find(program.tables, element.table);
  return arguments.getMemRef(program.function.getNumArguments() +
                                 (number - program.tables.begin()),
                             cast<RankedTensorType>(element.table.getType()));
}

/// Emits what a thread does, which has some elements.
static LogicalResult emitThreadElements(OpBuilder &builder,
                                        TileProgram &program,
                                        scf::ForallOp loop,
                                        ArrayRef<TableElement> elements,
                                        KernelArguments &arguments) {
  Location loc = loop.getLoc();
  KernelValues values(builder, program.function, loop, arguments,
                      program.tables);
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<SmallVector<ThreadIteration>> iterations =
      emitThreadIterations(builder, loop, values);
  if (failed(iterations))
    return failure();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  KernelValues::State outside = values.save();
  for (ThreadIteration &iteration : *iterations) {
    values.restore(outside);
    mapIndices(loop, iteration.indices, values);
    SmallVector<Value> scalars;
    for (const TableElement &element : elements) {
      FailureOr<Value> value = values.getScalar(element.scalar);
      if (failed(value))
        return failure();
      scalars.push_back(*value);
    }
    OpBuilder::InsertionGuard ofStores(builder);
    if (iteration.isThere)
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, loc, iteration.isThere,
                            /*withElseRegion=*/false)
              .thenBlock());
    for (auto [element, value] : llvm::zip_equal(elements, scalars)) {
      SmallVector<Value> at;
      for (std::optional<unsigned> index : element.indices)
        at.push_back(index ? iteration.indices[*index] : zero);
      memref::StoreOp::create(builder, loc, value,
                              getTable(element, program, arguments), at);
    }
  }
  return success();
}

static LogicalResult emitElement(OpBuilder &builder, TileProgram &program,
                                 scf::ForallOp loop,
                                 ArrayRef<TableElement> elements,
                                 KernelArguments &arguments, Value lane) {
  Location loc = loop.getLoc();
  KernelValues values(builder, program.function, loop, arguments,
                      program.tables);
  values.setLane(lane);

  OpBuilder::InsertionGuard guard(builder);
  FailureOr<WarpIteration> iteration = emitWarpIteration(builder, loop, values);
  if (failed(iteration))
    return failure();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto getPosition = [&](const TableElement &element) {
    SmallVector<Value> at;
    for (std::optional<unsigned> index : element.indices)
      at.push_back(index ? iteration->indices[*index] : zero);
    return at;
  };
  if (isOfRows(elements))
    return emitWords(builder, values, arguments, elements.front().words,
                     getTable(elements.front(), program, arguments),
                     getPosition(elements.front()));
  SmallVector<Value> scalars;
  for (const TableElement &element : elements) {
    FailureOr<Value> value = values.getScalar(element.scalar);
    if (failed(value))
      return failure();
    scalars.push_back(*value);
  }
  ScalarBuilder ints(loc, builder);
  auto store = scf::IfOp::create(ints, ints.eq(ints.toI32(lane), 0),
                                 /*withElseRegion=*/false);
  builder.setInsertionPointToStart(store.thenBlock());
  for (auto [element, value] : llvm::zip_equal(elements, scalars))
    memref::StoreOp::create(builder, loc, value,
                            getTable(element, program, arguments),
                            getPosition(element));
  return success();
}

/// Whether a kernel that has all its arguments reads the contents of nothing
/// but inputs of the function and tables that are its own or prepared.
static bool readsPrepared(gpu::GPUFuncOp kernel, func::FuncOp function,
                          llvm::iota_range<int64_t> own,
                          const DenseSet<int64_t> &prepared) {
  StringRef writable = bufferization::BufferizationDialect::kWritableAttrName;
  int64_t firstTable = function.getNumArguments();
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number) {
    auto operand =
        kernel.getArgAttrOfType<IntegerAttr>(number, hopper::kOperandAttrName);
    if (!operand || kernel.getArgAttr(number, hopper::kDimAttrName))
      continue;
    int64_t which = operand.getInt(), table = which - firstTable;
    if (table >= 0) {
      if (!llvm::is_contained(own, table) && !prepared.contains(table))
        return false;
      continue;
    }
    auto isResult = function.getArgAttrOfType<BoolAttr>(which, writable);
    if (isResult && isResult.getValue())
      return false;
  }
  return true;
}

/// Says which operand is the first table that a kernel fills. `own` are the
/// numbers of these tables, which become prepared if they can be.
static void addTables(gpu::GPUFuncOp kernel, func::FuncOp function,
                      llvm::iota_range<int64_t> own, bool isPreparation,
                      DenseSet<int64_t> &prepared) {
  Builder builder(kernel.getContext());
  kernel->setAttr(
      hopper::kElementsAttrName,
      builder.getI64IntegerAttr(function.getNumArguments() + *own.begin()));
  if (isPreparation && readsPrepared(kernel, function, own, prepared))
    prepared.insert(own.begin(), own.end());
}

/// The kernel that finds the keys of Q blocks, a CTA for each.
static LogicalResult emitUnions(OpBuilder &builder, TileProgram &program,
                                int64_t firstTable,
                                DenseSet<int64_t> &prepared) {
  KeyUnionOp unions = program.unions;
  if (!unions)
    return success();
  OpBuilder::InsertionGuard guard(builder);
  Location loc = unions.getLoc();
  gpu::GPUFuncOp kernel =
      createWarpKernel(builder, loc,
                       program.function.getName() + "_prologue" +
                           Twine(program.prologues.size()),
                       kUnionThreads);
  kernel->setAttr(hopper::kRowsAttrName, builder.getUnitAttr());
  kernel->setAttr(hopper::kBlocksAttrName, builder.getUnitAttr());
  KernelArguments arguments(program.function, kernel, /*isStrided=*/false);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  KernelValues values(builder, program.function, program.grid, arguments);
  std::optional<unsigned> rows = values.getOperand(unions.getRows()),
                          columns = values.getOperand(unions.getColumns());
  if (!rows || !columns)
    return unions.emitError("expects lists that are arguments of the function; "
                            "leave the choice to the compiler with auto");
  FailureOr<Value> queries = values.getScalar(unions.getQueries()),
                   keys = values.getScalar(unions.getKeys());
  if (failed(queries) || failed(keys))
    return failure();
  SmallVector<Value> tables;
  for (auto [number, table] : llvm::enumerate(unions.getTables()))
    tables.push_back(arguments.getMemRef(
        program.function.getNumArguments() + firstTable + number,
        cast<RankedTensorType>(table.getType())));
  KeyUnionOp::create(builder, loc, TypeRange(), arguments.getMemRef(*rows),
                     arguments.getMemRef(*columns), *queries, *keys, tables,
                     unions.getTileQueries(), unions.getTileKeys());
  gpu::ReturnOp::create(builder, loc);
  int64_t end = firstTable + int64_t(unions.getTables().size());
  addTables(kernel, program.function, llvm::seq(firstTable, end),
            /*isPreparation=*/true, prepared);
  return success();
}

LogicalResult mlir::attn::emitPrologueKernels(OpBuilder &builder,
                                              TileProgram &program,
                                              DenseSet<int64_t> &prepared) {
  int64_t firstTable = 0;
  for (auto [number, loop] : llvm::enumerate(program.prologues)) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = loop.getLoc();
    gpu::GPUFuncOp kernel = createWarpKernel(
        builder, loc, program.function.getName() + "_prologue" + Twine(number));
    FailureOr<SmallVector<TableElement>> elements = matchElements(loop);
    if (failed(elements))
      return failure();
    if (isOfRows(*elements))
      kernel->setAttr(hopper::kRowsAttrName, builder.getUnitAttr());
    KernelArguments arguments(program.function, kernel, /*isStrided=*/false);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    if (isOfThreads(loop, *elements)) {
      kernel->setAttr(hopper::kWarpElementsAttrName,
                      builder.getI64IntegerAttr(getIterationsOfThread(loop) *
                                                hopper::kWarpThreads));
      if (failed(
              emitThreadElements(builder, program, loop, *elements, arguments)))
        return failure();
    } else {
      Value lane =
          gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
      if (failed(
              emitElement(builder, program, loop, *elements, arguments, lane)))
        return failure();
    }
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    gpu::ReturnOp::create(builder, loc);
    int64_t end = firstTable + loop.getNumResults();
    addTables(kernel, program.function, llvm::seq(firstTable, end),
              loop->hasAttr(kPreparationAttrName), prepared);
    firstTable = end;
  }
  return emitUnions(builder, program, firstTable, prepared);
}
