//===- CPUOutlineParallel.cpp - Run loops over tiles on several threads ---===//

#include "attn/Conversion/AttnToCPU/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCPUOUTLINEPARALLELPASS
#include "attn/Conversion/AttnToCPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Moves the loops of one function to workers.
class Outliner {
public:
  Outliner(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols), builder(function.getContext()),
        converter(function.getContext()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  LogicalResult run();

private:
  /// The bounds of one dimension of a loop.
  struct Dimension {
    Value lower, step, count;
  };

  LogicalResult outline(scf::ForallOp loop, unsigned number);
  SmallVector<Dimension> emitDimensions(scf::ForallOp loop);
  func::FuncOp createWorker(scf::ForallOp loop, unsigned number,
                            ArrayRef<Value> captures, LLVM::LLVMStructType env,
                            ArrayRef<Dimension> dimensions);
  void emitTask(scf::ForallOp loop, Value task, IRMapping &mapping,
                ArrayRef<Dimension> dimensions);
  func::FuncOp getRuntimeFunction(StringRef name, FunctionType type);

  Value i64(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  /// `value` as a value of another type that stands for the same.
  Value cast(Type type, Value value) {
    return value.getType() == type
               ? value
               : UnrealizedConversionCastOp::create(builder, loc, type, value)
                     .getResult(0);
  }
  /// The address of a field of an environment.
  Value fieldAddress(LLVM::LLVMStructType type, Value env, unsigned field) {
    return LLVM::GEPOp::create(
        builder, loc, pointer, type, env,
        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(field)});
  }

  func::FuncOp function;
  SymbolTable &symbols;
  OpBuilder builder;
  LLVMTypeConverter converter;
  Type pointer;
  Location loc = function.getLoc();
};
} // namespace

func::FuncOp Outliner::getRuntimeFunction(StringRef name, FunctionType type) {
  if (auto known = symbols.lookup<func::FuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  auto declaration = func::FuncOp::create(builder, loc, name, type);
  declaration.setPrivate();
  symbols.insert(declaration);
  return declaration;
}

SmallVector<Outliner::Dimension> Outliner::emitDimensions(scf::ForallOp loop) {
  SmallVector<Dimension> dimensions;
  for (auto [lower, upper, step] :
       llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                       loop.getMixedStep())) {
    Dimension dimension;
    Value count = getValueOrCreateConstantIndexOp(builder, loc, upper);
    if (!isZeroInteger(lower)) {
      dimension.lower = getValueOrCreateConstantIndexOp(builder, loc, lower);
      count = arith::SubIOp::create(builder, loc, count, dimension.lower);
    }
    if (!isOneInteger(step)) {
      dimension.step = getValueOrCreateConstantIndexOp(builder, loc, step);
      count = arith::CeilDivSIOp::create(builder, loc, count, dimension.step);
    }
    // Two negative numbers would have a positive product.
    if (!getConstantIntValue(upper) || dimension.lower)
      count = arith::MaxSIOp::create(builder, loc, count, index(0));
    dimension.count = count;
    dimensions.push_back(dimension);
  }
  return dimensions;
}

/// Buffers of constant size that each run of `body` allocates at its top and
/// frees, with the operation that does.
static SmallVector<std::pair<memref::AllocOp, memref::DeallocOp>>
getScratch(Block &body) {
  SmallVector<std::pair<memref::AllocOp, memref::DeallocOp>> scratch;
  for (auto alloc : body.getOps<memref::AllocOp>()) {
    if (!alloc.getType().hasStaticShape() || alloc->getNumOperands() != 0)
      continue;
    for (Operation *user : alloc->getUsers())
      if (auto dealloc = dyn_cast<memref::DeallocOp>(user);
          dealloc && dealloc->getBlock() == &body)
        scratch.push_back({alloc, dealloc});
  }
  return scratch;
}

/// Emits one task: the induction variables, then the body.
void Outliner::emitTask(scf::ForallOp loop, Value task, IRMapping &mapping,
                        ArrayRef<Dimension> dimensions) {
  Value rest =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), task);
  SmallVector<Value> ids = loop.getInductionVars();
  for (size_t dim = dimensions.size(); dim-- > 0;) {
    const Dimension &dimension = dimensions[dim];
    Value id = rest;
    if (dim > 0) {
      Value count = mapping.lookup(dimension.count);
      id = arith::RemUIOp::create(builder, loc, rest, count);
      rest = arith::DivUIOp::create(builder, loc, rest, count);
    }
    if (dimension.step)
      id = arith::MulIOp::create(builder, loc, id,
                                 mapping.lookup(dimension.step));
    if (dimension.lower)
      id = arith::AddIOp::create(builder, loc, id,
                                 mapping.lookup(dimension.lower));
    mapping.map(ids[dim], id);
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (!mapping.contains(&op))
      builder.clone(op, mapping);
}

func::FuncOp Outliner::createWorker(scf::ForallOp loop, unsigned number,
                                    ArrayRef<Value> captures,
                                    LLVM::LLVMStructType env,
                                    ArrayRef<Dimension> dimensions) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(function);
  auto worker = func::FuncOp::create(
      builder, loc, (function.getName() + ".worker" + Twine(number)).str(),
      builder.getFunctionType({pointer, pointer}, {}));
  worker.setPrivate();
  symbols.insert(worker);
  Block *entry = worker.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  IRMapping mapping;
  unsigned field = 1;
  for (Value capture : captures) {
    if (Operation *op = capture.getDefiningOp();
        op && op->hasTrait<OpTrait::ConstantLike>()) {
      builder.clone(*op, mapping);
      continue;
    }
    Type type = env.getBody()[field];
    Value address = fieldAddress(env, worker.getArgument(0), field++);
    Value loaded = LLVM::LoadOp::create(builder, loc, type, address);
    mapping.map(capture, cast(capture.getType(), loaded));
  }
  auto scratch = getScratch(*loop.getBody());
  for (auto [alloc, dealloc] : scratch) {
    mapping.map(alloc.getOperation(), builder.clone(*alloc, mapping));
    // Marks it as dealt with.
    mapping.map(dealloc.getOperation(), dealloc.getOperation());
  }

  func::FuncOp nextTask = getRuntimeFunction(
      "attn_rt_next_task",
      builder.getFunctionType({pointer}, {builder.getI64Type()}));
  auto tasks = scf::WhileOp::create(
      builder, loc, TypeRange{builder.getI64Type()}, ValueRange(),
      [&](OpBuilder &, Location, ValueRange) {
        Value task = func::CallOp::create(builder, loc, nextTask,
                                          ValueRange{worker.getArgument(1)})
                         .getResult(0);
        Value isTask = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, task, i64(0));
        scf::ConditionOp::create(builder, loc, isTask, task);
      },
      [&](OpBuilder &, Location, ValueRange arguments) {
        emitTask(loop, arguments[0], mapping, dimensions);
        scf::YieldOp::create(builder, loc);
      });
  builder.setInsertionPointAfter(tasks);
  for (auto [alloc, dealloc] : llvm::reverse(scratch))
    memref::DeallocOp::create(builder, dealloc.getLoc(),
                              mapping.lookup(alloc.getResult()));
  func::ReturnOp::create(builder, loc);
  return worker;
}

LogicalResult Outliner::outline(scf::ForallOp loop, unsigned number) {
  loc = loop.getLoc();
  if (loop->getNumResults() != 0)
    return loop.emitOpError("expects no results: run attn-bufferize before "
                            "attn-cpu-outline-parallel");
  builder.setInsertionPoint(loop);
  SmallVector<Dimension> dimensions = emitDimensions(loop);
  Value total = index(1);
  for (const Dimension &dimension : dimensions)
    total = arith::MulIOp::create(builder, loc, total, dimension.count);

  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(loop.getRegion(), captures);
  for (auto [number, dimension] : llvm::enumerate(dimensions))
    for (Value value : {dimension.lower, dimension.step,
                        number > 0 ? dimension.count : Value()})
      if (value)
        captures.insert(value);

  SmallVector<Type> fields = {builder.getI64Type()};
  SmallVector<Value> values = {i64(0)};
  for (Value capture : captures) {
    if (matchPattern(capture, m_Constant()))
      continue;
    Type type = converter.convertType(capture.getType());
    if (!type)
      return loop.emitOpError("expects values from outside to have a type that "
                              "LLVM has, but got ")
             << capture.getType();
    fields.push_back(type);
    values.push_back(cast(type, capture));
  }
  auto envType =
      LLVM::LLVMStructType::getLiteral(function.getContext(), fields);
  Value env;
  {
    // On the stack once, also where the loop runs repeatedly.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    env = LLVM::AllocaOp::create(builder, loc, pointer, envType, i64(1));
  }
  for (auto [field, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(builder, loc, value,
                          fieldAddress(envType, env, field));

  func::FuncOp worker =
      createWorker(loop, number, captures.getArrayRef(), envType, dimensions);
  Value address = func::ConstantOp::create(
      builder, loc, worker.getFunctionType(), worker.getName());
  Type i64Type = builder.getI64Type();
  func::FuncOp parallel = getRuntimeFunction(
      "attn_rt_parallel",
      builder.getFunctionType({pointer, i64Type, pointer, pointer}, {}));
  Value numTasks = arith::IndexCastOp::create(builder, loc, i64Type, total);
  func::CallOp::create(builder, loc, parallel,
                       ValueRange{function.getArguments().back(), numTasks,
                                  cast(pointer, address), env});
  loop.erase();
  return success();
}

LogicalResult Outliner::run() {
  if (function.getNumResults() != 0)
    return function.emitOpError("expects no results: run attn-bufferize before "
                                "attn-cpu-outline-parallel");
  if (failed(function.insertArgument(function.getNumArguments(), pointer,
                                     DictionaryAttr(), function.getLoc())))
    return failure();
  // A buffer becomes several arguments, so what is said of it has no place.
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    for (StringRef name :
         {StringRef(kNameAttrName), StringRef(kStatusAttrName)})
      function.removeArgAttr(number, name);
  SmallVector<scf::ForallOp> loops;
  function.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
    loops.push_back(loop);
    return WalkResult::skip();
  });
  for (auto [number, loop] : llvm::enumerate(loops))
    if (failed(outline(loop, number)))
      return failure();

  Type i64Type = builder.getI64Type();
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), i64Type));
  for (auto op : function.getFunctionBody().getOps<func::ReturnOp>()) {
    builder.setInsertionPoint(op);
    op.getOperandsMutable().assign(i64(0));
  }
  return success();
}

namespace {
struct AttnCPUOutlineParallel
    : public mlir::attn::impl::AttnCPUOutlineParallelPassBase<
          AttnCPUOutlineParallel> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr(kConstraintsAttrName))
        continue;
      if (function.isPublic()) {
        functions.push_back(function);
        continue;
      }
      WalkResult walk = function.walk([](scf::ForallOp loop) {
        loop.emitOpError("expects to be in a public function: inline calls "
                         "before attn-cpu-outline-parallel");
        return WalkResult::interrupt();
      });
      if (walk.wasInterrupted())
        return signalPassFailure();
    }
    for (func::FuncOp function : functions)
      if (failed(Outliner(function, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace
