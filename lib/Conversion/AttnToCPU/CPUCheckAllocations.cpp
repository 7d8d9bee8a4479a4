//===- CPUCheckAllocations.cpp - End a function whose memory runs out -----===//

#include "attn/Conversion/AttnToCPU/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCPUCHECKALLOCATIONSPASS
#include "attn/Conversion/AttnToCPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

/// What finalize-memref-to-llvm calls.
static constexpr llvm::StringLiteral kAlloc =
    "_mlir_memref_to_llvm_aligned_alloc";
static constexpr llvm::StringLiteral kFree = "_mlir_memref_to_llvm_free";
/// What the runtime has instead, and the alignment it gives.
static constexpr llvm::StringLiteral kRuntimeAlloc = "attn_rt_alloc";
static constexpr llvm::StringLiteral kRuntimeFree = "attn_rt_free";
static constexpr llvm::StringLiteral kParallel = "attn_rt_parallel";
static constexpr int64_t kAlignment = 64;

namespace {
/// Checks the allocations of one function.
class Checker {
public:
  Checker(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp alloc,
          LLVM::LLVMFuncOp free)
      : function(function), alloc(alloc), free(free),
        builder(function.getContext()), loc(function.getLoc()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())),
        i64(builder.getI64Type()) {}

  LogicalResult run();

private:
  Value emitBytes(Value bytes);
  LogicalResult emitAlloc(LLVM::CallOp call, Value slot);
  void emitFree(LLVM::CallOp call);
  void emitWorkerCheck(LLVM::CallOp call);
  /// Ends the block at the builder, with a branch to the end if `isOut`.
  void emitBranch(Value isOut);
  LogicalResult emitEnd();

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, i64, value);
  }
  Value null() { return LLVM::ZeroOp::create(builder, loc, pointer); }

  LLVM::LLVMFuncOp function, alloc, free;
  OpBuilder builder;
  Location loc;
  Type pointer, i64;
  /// Where the memory that is held now is noted, null where there is none.
  SmallVector<Value> slots;
  /// By what was allocated.
  DenseMap<Value, Value> slotOf;
  /// Where the function ends early.
  Block *end = nullptr;
};
} // namespace

void Checker::emitBranch(Value isOut) {
  Block *block = builder.getInsertionBlock();
  Block *next = block->splitBlock(builder.getInsertionPoint());
  builder.setInsertionPointToEnd(block);
  LLVM::CondBrOp::create(builder, loc, isOut, end, ValueRange(), next,
                         ValueRange(), std::pair<int32_t, int32_t>(0, 1));
}

/// What is rounded up to a multiple, or the value itself. The runtime rounds,
/// too.
static Value skipRounding(Value bytes) {
  auto sub = bytes.getDefiningOp<LLVM::SubOp>();
  if (!sub)
    return bytes;
  auto rest = sub.getRhs().getDefiningOp<LLVM::URemOp>();
  auto add = sub.getLhs().getDefiningOp<LLVM::AddOp>();
  return rest && add && rest.getLhs() == add ? add.getLhs() : bytes;
}

/// The values that a product is of.
static void collectFactors(Value value, SmallVectorImpl<Value> &factors) {
  auto mul = value.getDefiningOp<LLVM::MulOp>();
  if (!mul) {
    factors.push_back(value);
    return;
  }
  collectFactors(mul.getLhs(), factors);
  collectFactors(mul.getRhs(), factors);
}

/// The bytes of an allocation, or -1, which nobody has, where 64 bits do not
/// hold them: the product of extents that finalize-memref-to-llvm makes wraps
/// around.
Value Checker::emitBytes(Value bytes) {
  Value unrounded = skipRounding(bytes);
  auto cast = unrounded.getDefiningOp<LLVM::PtrToIntOp>();
  auto end = cast ? cast.getArg().getDefiningOp<LLVM::GEPOp>() : LLVM::GEPOp();
  if (!end || end.getDynamicIndices().size() != 1 ||
      !end.getBase().getDefiningOp<LLVM::ZeroOp>())
    return bytes;
  SmallVector<Value> factors;
  collectFactors(end.getDynamicIndices()[0], factors);
  Value first = LLVM::GEPOp::create(builder, loc, pointer, end.getElemType(),
                                    end.getBase(), ArrayRef<LLVM::GEPArg>{1});
  Value product = LLVM::PtrToIntOp::create(builder, loc, i64, first);
  Value isTooLarge =
      LLVM::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {i64, builder.getI1Type()});
  for (Value factor : factors) {
    Value next =
        LLVM::UMulWithOverflowOp::create(builder, loc, type, product, factor);
    product = LLVM::ExtractValueOp::create(builder, loc, next, 0);
    Value wraps = LLVM::ExtractValueOp::create(builder, loc, next, 1);
    isTooLarge = LLVM::OrOp::create(builder, loc, isTooLarge, wraps);
  }
  return LLVM::SelectOp::create(builder, loc, isTooLarge, constant(-1),
                                product);
}

LogicalResult Checker::emitAlloc(LLVM::CallOp call, Value slot) {
  loc = call.getLoc();
  IntegerAttr alignment;
  if (!matchPattern(call.getOperand(0), m_Constant(&alignment)) ||
      alignment.getInt() > kAlignment)
    return call.emitError("expects an alignment of at most ")
           << kAlignment << " bytes";
  builder.setInsertionPoint(call);
  auto memory =
      LLVM::CallOp::create(builder, loc, alloc, emitBytes(call.getOperand(1)));
  builder.setInsertionPointAfter(call);
  call.getResult().replaceAllUsesWith(memory.getResult());
  call.erase();
  slotOf[memory.getResult()] = slot;
  LLVM::StoreOp::create(builder, loc, memory.getResult(), slot);
  emitBranch(LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                  memory.getResult(), null()));
  return success();
}

/// What a value is that is taken out of a descriptor.
static Value skipDescriptors(Value value) {
  while (auto extract = value.getDefiningOp<LLVM::ExtractValueOp>()) {
    Value container = extract.getContainer(), inserted;
    while (auto insert = container.getDefiningOp<LLVM::InsertValueOp>()) {
      if (insert.getPosition() == extract.getPosition()) {
        inserted = insert.getValue();
        break;
      }
      container = insert.getContainer();
    }
    if (!inserted)
      return value;
    value = inserted;
  }
  return value;
}

/// What is freed is held no longer. Mostly it is known which allocation that
/// was; to ask each of them would be quadratic in their number.
void Checker::emitFree(LLVM::CallOp call) {
  loc = call.getLoc();
  builder.setInsertionPoint(call);
  Value memory = call.getOperand(0);
  if (Value slot = slotOf.lookup(skipDescriptors(memory))) {
    LLVM::StoreOp::create(builder, loc, null(), slot);
    LLVM::CallOp::create(builder, loc, free, memory);
    call.erase();
    return;
  }
  for (Value slot : slots) {
    Value held = LLVM::LoadOp::create(builder, loc, pointer, slot);
    Value isThis = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                        held, memory);
    Value rest = LLVM::SelectOp::create(builder, loc, isThis, null(), held);
    LLVM::StoreOp::create(builder, loc, rest, slot);
  }
  LLVM::CallOp::create(builder, loc, free, memory);
  call.erase();
}

/// Ends the function if a worker ran out of memory.
void Checker::emitWorkerCheck(LLVM::CallOp call) {
  loc = call.getLoc();
  builder.setInsertionPointAfter(call);
  Value status = LLVM::LoadOp::create(builder, loc, i64, call.getOperand(3));
  emitBranch(LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status,
                                  constant(0)));
}

LogicalResult Checker::emitEnd() {
  loc = function.getLoc();
  builder.setInsertionPointToStart(end);
  for (Value slot : llvm::reverse(slots))
    LLVM::CallOp::create(
        builder, loc, free,
        ValueRange{LLVM::LoadOp::create(builder, loc, pointer, slot)});
  LLVM::LLVMFunctionType type = function.getFunctionType();
  if (type.getReturnType() == i64) {
    LLVM::ReturnOp::create(builder, loc, constant(1));
    return success();
  }
  if (!isa<LLVM::LLVMVoidType>(type.getReturnType()) ||
      type.getNumParams() == 0 || type.getParamType(0) != pointer)
    return function.emitError("expects a function that allocates to return "
                              "i64, or to be a worker");
  // Several workers may store the same.
  LLVM::StoreOp::create(builder, loc, constant(1), function.getArgument(0),
                        /*alignment=*/8, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::monotonic);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

LogicalResult Checker::run() {
  SmallVector<LLVM::CallOp> allocs, frees, launches;
  function.walk([&](LLVM::CallOp call) {
    std::optional<StringRef> callee = call.getCallee();
    if (callee == kAlloc)
      allocs.push_back(call);
    else if (callee == kFree)
      frees.push_back(call);
    else if (callee == kParallel)
      launches.push_back(call);
  });
  if (allocs.empty() && frees.empty() && launches.empty())
    return success();
  end = new Block();
  function.getBody().push_back(end);
  builder.setInsertionPointToStart(&function.getBody().front());
  for (size_t i = 0; i < allocs.size(); ++i)
    slots.push_back(
        LLVM::AllocaOp::create(builder, loc, pointer, pointer, constant(1)));
  for (Value slot : slots)
    LLVM::StoreOp::create(builder, loc, null(), slot);
  for (auto [call, slot] : llvm::zip_equal(allocs, slots))
    if (failed(emitAlloc(call, slot)))
      return failure();
  for (LLVM::CallOp call : frees)
    emitFree(call);
  for (LLVM::CallOp call : launches)
    emitWorkerCheck(call);
  if (end->hasNoPredecessors()) {
    end->erase();
    return success();
  }
  return emitEnd();
}

/// A function of the runtime.
static LLVM::LLVMFuncOp declare(ModuleOp module, SymbolTable &symbols,
                                StringRef name, Type result, Type argument) {
  if (auto known = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return known;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                               LLVM::LLVMFunctionType::get(result, {argument}));
  symbols.insert(function);
  return function;
}

namespace {
struct AttnCPUCheckAllocations
    : public mlir::attn::impl::AttnCPUCheckAllocationsPassBase<
          AttnCPUCheckAllocations> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context);
    LLVM::LLVMFuncOp alloc = declare(module, symbols, kRuntimeAlloc, pointer,
                                     IntegerType::get(context, 64));
    // Nothing else points to it, as with malloc.
    alloc.setResultAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                        UnitAttr::get(context));
    LLVM::LLVMFuncOp free = declare(module, symbols, kRuntimeFree,
                                    LLVM::LLVMVoidType::get(context), pointer);
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() &&
          failed(Checker(function, alloc, free).run()))
        return signalPassFailure();
    for (StringRef name : {StringRef(kAlloc), StringRef(kFree),
                           StringRef(kRuntimeAlloc), StringRef(kRuntimeFree)})
      if (Operation *function = symbols.lookup(name))
        if (SymbolTable::symbolKnownUseEmpty(function, module))
          function->erase();
  }
};
} // namespace
