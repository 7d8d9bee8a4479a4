//===- ThreadProgram.cpp - A kernel as one thread runs it -----------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr StringLiteral kSharedName = "attn_shared";

ThreadProgram::ThreadProgram(OpBuilder &builder, gpu::GPUFuncOp kernel,
                             bool accurateTanh)
    : b(kernel.getLoc(), builder), kernel(kernel), accurateTanh(accurateTanh) {
  b.setInsertionPoint(kernel);
}

//===----------------------------------------------------------------------===//
// Short forms
//===----------------------------------------------------------------------===//

Value ThreadProgram::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}
Value ThreadProgram::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}
Value ThreadProgram::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}
Value ThreadProgram::zext64(Value value) {
  return arith::ExtUIOp::create(b, b.getI64Type(), value);
}
Value ThreadProgram::intrinsic(StringRef name, ValueRange operands, Type type) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands)
      .getResult(0);
}
Value ThreadProgram::shuffle(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, i32(lanes),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}
void ThreadProgram::emitIfThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

int64_t ThreadProgram::getCount(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (auto pending = dyn_cast<hopper::PendingType>(type))
    vector = pending.getVector();
  if (!vector)
    return 1;
  int64_t rows = vector.getDimSize(0);
  if (vector.getDimSize(1) == 1)
    return rows / 4;
  if (rows == 1 || rows == 4)
    return 2;
  // Two 16-bit floats are one i32.
  return isa<BFloat16Type, Float16Type>(vector.getElementType()) ? rows / 4
                                                                 : rows / 2;
}

Type ThreadProgram::getElementType(Type type) {
  if (auto pending = dyn_cast<hopper::PendingType>(type))
    type = pending.getVector();
  auto vector = dyn_cast<VectorType>(type);
  if (vector && isa<BFloat16Type, Float16Type>(vector.getElementType()) &&
      vector.getDimSize(0) > 4 && vector.getDimSize(1) > 1)
    return b.getI32Type();
  return getElementTypeOrSelf(type);
}

ThreadProgram::Elements &ThreadProgram::get(Value value) {
  auto it = values.find(value);
  assert(it != values.end() && "operand is emitted before its use");
  return it->second;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult ThreadProgram::emit() {
  auto ops = kernel.getBody().front().getOps<hopper::WarpSpecializeOp>();
  if (ops.empty() && (kernel->hasAttr(hopper::kElementsAttrName) ||
                      kernel->hasAttr(hopper::kChecksAttrName) ||
                      kernel->hasAttr(hopper::kMergeAttrName)))
    return emitPlain();
  if (!llvm::hasSingleElement(ops))
    return kernel.emitError("expects a kernel with one hopper.warp_specialize");
  roles = *ops.begin();
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(kSharedName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedName, Attribute(),
                           /*alignment=*/kTileAlignment, /*addrSpace=*/3);
  }
  if (failed(emitSignature()) || failed(assignBarriers()))
    return failure();
  layOutMemory();

  int64_t threads = hopper::PartitionLayout(roles).getNumThreads();
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.maxntid",
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(roles.getCtasPerSm()));

  threadId = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  sharedBase = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 3), kSharedName);
  emitRamps();
  emitBarriers();
  // What all partitions use.
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isa<hopper::WarpSpecializeOp, hopper::CreateChannelOp,
             hopper::CreateMailboxOp, hopper::CreateTileOp,
             hopper::CreateRampOp, hopper::CreateTurnsOp>(op) &&
        failed(emitOp(op)))
      return failure();
  if (failed(emitPartitions()))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  describeLaunch(threads);
  return success();
}

/// A kernel of threads that are all alike.
LogicalResult ThreadProgram::emitPlain() {
  auto threads = kernel->getAttrOfType<IntegerAttr>(hopper::kThreadsAttrName);
  if (!threads)
    return kernel.emitError("expects a kernel without roles to have '")
           << hopper::kThreadsAttrName << "'";
  if (failed(emitSignature()))
    return failure();
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr(
      "nvvm.maxntid",
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads.getInt())}));
  // For more thread blocks, as many as their shared memory leaves room for,
  // ptxas would spill registers.
  constexpr int32_t blocksPerSM = 4;
  if (kernel->hasAttr(hopper::kBlocksAttrName))
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(blocksPerSM));
  threadId = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = arith::AndIOp::create(b, threadId, i32(hopper::kWarpThreads - 1));
  if (failed(emitBlock(kernel.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  describeLaunch(threads.getInt());
  return success();
}

/// What a launch needs to know, for whoever makes one.
void ThreadProgram::describeLaunch(int64_t threads) {
  function->setAttr(hopper::kParamsAttrName, b.getArrayAttr(params));
  function->setAttr(hopper::kSharedBytesAttrName,
                    b.getI64IntegerAttr(sharedBytes));
  function->setAttr(hopper::kThreadsAttrName, b.getI64IntegerAttr(threads));
  for (StringRef name : hopper::kLaunchAttrNames)
    if (Attribute attribute = kernel->getAttr(name))
      function->setAttr(name, attribute);
}

LogicalResult ThreadProgram::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(op)))
      return failure();
  return success();
}

LogicalResult ThreadProgram::emitOp(Operation &op) {
  b.setLoc(op.getLoc());
  auto done = [](auto...) { return success(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](scf::WhileOp op) { return emitWhile(op); })
      .Case([&](hopper::BallotOp op) { return emitBallot(op), done(); })
      .Case([&](hopper::ClaimOp op) { return emitClaim(op), done(); })
      .Case([&](hopper::RetireOp op) { return emitRetire(op), done(); })
      .Case([&](hopper::PostOp op) { return emitPost(op), done(); })
      .Case([&](hopper::ReceiveOp op) { return emitReceive(op), done(); })
      .Case([&](hopper::PutOp op) { return emitPut(op), done(); })
      .Case([&](hopper::GetOp op) { return emitGet(op), done(); })
      .Case([&](hopper::ViewOp op) { return emitView(op), done(); })
      .Case([&](hopper::PutVectorOp op) { return emitPutVector(op), done(); })
      .Case(
          [&](hopper::PutFragmentOp op) { return emitPutFragment(op), done(); })
      .Case([&](hopper::ReleaseOp op) { return emitRelease(op), done(); })
      .Case([&](hopper::SyncOp) { return emitSync(), done(); })
      .Case([&](hopper::TakeTurnOp op) {
        return emitTakeTurn(op.getTurns()), done();
      })
      .Case([&](hopper::PassTurnOp op) {
        return emitPassTurn(op.getTurns(), warpgroup), done();
      })
      .Case([&](hopper::RowsOp op) {
        hopper::TileType type = op.getResult().getType();
        int64_t rowBytes = type.isVector() ? kVectorBytes : kRowBytes;
        tiles[op.getResult()] = TileView(tiles.at(op.getSource()))
                                    .advance(getIndexInt(op.getIndex(), 32),
                                             type.getRows() * rowBytes);
        return success();
      })
      .Case([&](hopper::ColumnsOp op) {
        hopper::TileType type = op.getResult().getType();
        int64_t chunks =
            type.getColumns() / hopper::getChunkColumns(type.getElementType());
        tiles[op.getResult()] =
            TileView(tiles.at(op.getSource()))
                .advance(getIndexInt(op.getIndex(), 32),
                         chunks * type.getParentRows() * kRowBytes);
        return success();
      })
      .Case([&](hopper::LoadFragmentOp op) {
        return emitLoadFragment(op), done();
      })
      .Case([&](hopper::SplitOp op) { return emitSplit(op), done(); })
      .Case([&](hopper::MmaOp op) { return emitMma(op), done(); })
      .Case([&](hopper::WaitOp op) { return emitWait(op), done(); })
      .Case([&](hopper::InFlightOp op) {
        Elements elements = get(op.getVector());
        values[op.getResult()] = elements;
        return success();
      })
      .Case([&](hopper::IotaOp op) { return emitIota(op), done(); })
      .Case([&](hopper::ReduceOp op) { return emitReduce(op), done(); })
      .Case([&](hopper::AnyOp op) { return emitAny(op), done(); })
      .Case([&](hopper::StoreOp op) { return emitStore(op), done(); })
      .Case([&](hopper::DrainOp) { return emitDrain(), done(); })
      .Case([&](hopper::ReduceAddOp op) { return emitReduceAdd(op), done(); })
      .Case([&](hopper::StoreRowsOp op) { return emitStoreRows(op); })
      .Case([&](hopper::MergeOp op) { return emitMerge(op), done(); })
      .Case([&](gpu::SubgroupReduceOp op) { return emitWarpReduce(op); })
      .Case([&](memref::StoreOp op) { return emitElementStore(op); })
      .Case([&](memref::AtomicRMWOp op) { return emitAtomicMinimum(op); })
      .Case([&](GatherOp op) { return emitGather(op); })
      .Case([&](ListWordsOp op) {
        emitListWords(op);
        return success();
      })
      .Case([&](ListUnionsOp op) {
        emitListUnions(op);
        return success();
      })
      .Case([&](vector::BroadcastOp op) { return emitBroadcast(*op); })
      .Case([&](arith::SIToFPOp op) {
        return emitPositionsToFloat(op) ? success() : emitElementwise(*op);
      })
      .Case([&](arith::MulFOp op) { return emitMultiplication(op); })
      .Case([&](arith::ExtFOp op) { return emitExtension(*op); })
      .Case([&](arith::TruncFOp op) { return emitRounding(*op); })
      .Default([&](Operation *op) {
        if (op->hasTrait<OpTrait::ConstantLike>())
          return emitConstant(*op);
        if (auto both = dyn_cast<arith::AndIOp>(op);
            both && emitConjunction(both))
          return success();
        if (auto compare = dyn_cast<arith::CmpIOp>(op);
            compare && emitBitTest(compare))
          return success();
        bool isIndex = llvm::any_of(op->getOperandTypes(), [](Type type) {
          return getElementTypeOrSelf(type).isIndex();
        });
        for (Type type : op->getResultTypes())
          isIndex |= getElementTypeOrSelf(type).isIndex();
        if (isIndex)
          return emitIndexOp(*op);
        return emitElementwise(*op);
      });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void ThreadProgram::flattenTypes(TypeRange types,
                                 SmallVectorImpl<Type> &elements) {
  for (Type type : types)
    elements.append(getCount(type), getElementTypeOrSelf(type).isIndex()
                                        ? b.getI64Type()
                                        : getElementType(type));
}

void ThreadProgram::flatten(ValueRange range,
                            SmallVectorImpl<Value> &elements) {
  for (Value value : range) {
    if (getElementTypeOrSelf(value.getType()).isIndex())
      for (IndexElement index : getIndices(value))
        elements.push_back(toInt(index, 64));
    else
      llvm::append_range(elements, get(value));
  }
}

/// Takes the elements of each value from the front of `elements`.
void ThreadProgram::bind(ValueRange range, ValueRange &elements) {
  for (Value value : range) {
    int64_t count = getCount(value.getType());
    if (getElementTypeOrSelf(value.getType()).isIndex()) {
      SmallVector<IndexElement> &list = indices[value];
      list.clear();
      for (Value element : elements.take_front(count))
        list.push_back({element, 0});
    } else {
      values[value] = Elements(elements.take_front(count));
    }
    elements = elements.drop_front(count);
  }
}

LogicalResult ThreadProgram::emitFor(scf::ForOp op) {
  SmallVector<Value> inits;
  flatten(op.getInitArgs(), inits);
  // Bounds that fit are compared in 32 bits.
  auto getBound = [&](Value bound, unsigned bits) {
    return isa<IndexType>(bound.getType()) ? getIndexInt(bound, bits)
                                           : get(bound)[0];
  };
  unsigned bits = 64;
  if (isa<IndexType>(op.getInductionVar().getType()) &&
      getInterval(op.getInductionVar()).fitsInt32() &&
      getInterval(op.getUpperBound()).fitsInt32() &&
      getInterval(op.getStep()).fitsInt32())
    bits = 32;
  auto loop = scf::ForOp::create(b, getBound(op.getLowerBound(), bits),
                                 getBound(op.getUpperBound(), bits),
                                 getBound(op.getStep(), bits), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    if (isa<IndexType>(op.getInductionVar().getType()))
      indices[op.getInductionVar()] = {{loop.getInductionVar(), 0}};
    else
      values[op.getInductionVar()] = {loop.getInductionVar()};
    ValueRange arguments = loop.getRegionIterArgs();
    bind(op.getRegionIterArgs(), arguments);
    if (failed(emitBlock(*op.getBody())))
      return failure();
    if (!inits.empty() && failed(emitYield(*op.getBody()->getTerminator())))
      return failure();
  }
  ValueRange results = loop.getResults();
  bind(op.getResults(), results);
  return success();
}

LogicalResult ThreadProgram::emitYield(Operation &op) {
  SmallVector<Value> elements;
  flatten(op.getOperands(), elements);
  scf::YieldOp::create(b, elements);
  return success();
}

LogicalResult ThreadProgram::emitWhile(scf::WhileOp op) {
  SmallVector<Value> inits;
  flatten(op.getInits(), inits);
  SmallVector<Type> types, beforeTypes(ValueRange(inits).getTypes());
  flattenTypes(op.getResultTypes(), types);
  auto loop = scf::WhileOp::create(b, types, inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locs(beforeTypes.size(), b.getLoc());
  Block *before = b.createBlock(&loop.getBefore(), {}, beforeTypes, locs);
  ValueRange arguments = before->getArguments();
  bind(op.getBeforeArguments(), arguments);
  if (failed(emitBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  SmallVector<Value> passed;
  flatten(condition.getArgs(), passed);
  scf::ConditionOp::create(b, get(condition.getCondition())[0], passed);

  locs.assign(types.size(), b.getLoc());
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  arguments = after->getArguments();
  bind(op.getAfterArguments(), arguments);
  if (failed(emitBlock(*op.getAfterBody())) ||
      failed(emitYield(*op.getAfterBody()->getTerminator())))
    return failure();
  ValueRange results = loop.getResults();
  bind(op.getResults(), results);
  return success();
}

LogicalResult ThreadProgram::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  flattenTypes(op.getResultTypes(), types);
  auto branch = scf::IfOp::create(b, types, get(op.getCondition())[0],
                                  /*withElseRegion=*/op.elseBlock() != nullptr);
  for (bool isElse : {false, true}) {
    Block *source = isElse ? op.elseBlock() : op.thenBlock();
    if (!source)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isElse ? branch.elseBlock()
                                      : branch.thenBlock());
    if (failed(emitBlock(*source)))
      return failure();
    if (!types.empty() && failed(emitYield(*source->getTerminator())))
      return failure();
  }
  ValueRange results = branch.getResults();
  bind(op.getResults(), results);
  return success();
}
