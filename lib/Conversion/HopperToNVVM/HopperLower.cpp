//===- HopperLower.cpp - Give each thread its part of a kernel ------------===//

#include "KernelParameters.h"
#include "LowerPartitions.h"
#include "ScalarMath.h"
#include "Threads/ThreadPatterns.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERLOWERPASS
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// What a buffer is for a thread: see ThreadBuilder::getBuffer.
static std::optional<LogicalResult>
convertBuffer(MemRefType type, SmallVectorImpl<Type> &results) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return failure();
  results.push_back(LLVM::LLVMPointerType::get(type.getContext(), 1));
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (type.isDynamicDim(dim))
      results.push_back(IntegerType::get(type.getContext(), 32));
    if (ShapedType::isDynamic(strides[dim]))
      results.push_back(IntegerType::get(type.getContext(), 64));
  }
  return success();
}

static std::optional<LogicalResult> convertMap(hopper::MapType type,
                                               SmallVectorImpl<Type> &results) {
  MLIRContext *context = type.getContext();
  if (!type.getStrided()) {
    results.push_back(LLVM::LLVMPointerType::get(context));
    return success();
  }
  results.push_back(LLVM::LLVMPointerType::get(context, 1));
  results.append(3, IntegerType::get(context, 64));
  results.push_back(IntegerType::get(context, 32));
  return success();
}

/// What a value of each type is for a thread.
static void addConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion(
      [](IndexType type) { return IntegerType::get(type.getContext(), 64); });
  converter.addConversion([](Type type, SmallVectorImpl<Type> &results)
                              -> std::optional<LogicalResult> {
    std::optional<Fragment> fragment = Fragment::get(type);
    if (!fragment)
      return std::nullopt;
    results.append(fragment->getNumRegisters(), fragment->getRegisterType());
    return success();
  });
  converter.addConversion(
      [](hopper::TileType type,
         SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
        results.append(2, IntegerType::get(type.getContext(), 32));
        return success();
      });
  converter.addConversion(convertBuffer);
  converter.addConversion(convertMap);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Whether a thread computes with a type as it is.
static bool isScalar(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getRank() == 1 : isa<IntegerType, FloatType>(type);
}

/// Whether a boolean is one that was read, or several of them together: bytes.
static bool isOfBytes(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<GatherOp>(op) ||
         (isa_and_present<arith::AndIOp, arith::OrIOp>(op) &&
          llvm::all_of(op->getOperands(), isOfBytes));
}

static void addLegality(ConversionTarget &target,
                        const TypeConverter &converter) {
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return false; });
  target.addLegalOp<hopper::WarpSpecializeOp, hopper::YieldOp,
                    hopper::CreateChannelOp, hopper::CreateWorkQueueOp,
                    hopper::CreatePingPongOp, hopper::CreateTurnsOp>();
  target.addDynamicallyLegalDialect<arith::ArithDialect, math::MathDialect>(
      [&](Operation *op) {
        return llvm::all_of(op->getOperandTypes(), isScalar) &&
               llvm::all_of(op->getResultTypes(), isScalar) &&
               !isReplacedScalarOp(op) &&
               !(isa<arith::AndIOp, arith::OrIOp>(op) &&
                 op->getResult(0).getType().isInteger(1) &&
                 isOfBytes(op->getResult(0)));
      });
  scf::populateSCFStructuralTypeConversionTarget(converter, target);
  target.addDynamicallyLegalOp<scf::ForOp>(
      [&](Operation *op) { return converter.isLegal(op); });
  // What stands for an argument of the kernel.
  target.addDynamicallyLegalOp<UnrealizedConversionCastOp>(
      [&](UnrealizedConversionCastOp op) {
        return converter.isLegal(op.getResultTypes());
      });
}

static Elements lowerArgument(UnrealizedConversionCastOp,
                              Operands<UnrealizedConversionCastOp> in,
                              ThreadBuilder &) {
  return llvm::map_to_vector(in.getInputs(),
                             [](ValueRange input) { return input[0]; });
}

/// Where uses compute a value again, it would be their common subexpression,
/// far above them.
static void eraseRepeated(Kernel &kernel) {
  kernel.function.walk<WalkOrder::PostOrder, ReverseIterator>(
      [&](Operation *op) {
        if (kernel.facts.repeated.contains(op) && isOpTriviallyDead(op))
          op->erase();
      });
}

static LogicalResult convertOps(Kernel &kernel) {
  TypeConverter converter;
  addConversions(converter);
  MLIRContext *context = kernel.function.getContext();
  ConversionTarget target(*context);
  addLegality(target, converter);
  RewritePatternSet set(context);
  scf::populateSCFStructuralTypeConversions(converter, set);
  ThreadPatterns patterns(set, converter, kernel);
  patterns.add(lowerArgument);
  for (auto populate :
       {populateBitPatterns,         populateChannelPatterns,
        populateControlFlowPatterns, populateCopyPatterns,
        populateDiagonalPatterns,    populateDivisionPatterns,
        populateDropoutPatterns,     populateElementwisePatterns,
        populateFragmentPatterns,    populateGatherPatterns,
        populateIndexPatterns,       populatePredicatePatterns,
        populateLimitPatterns,       populateListPatterns,
        populateMatrixPatterns,      populateSplitPatterns,
        populateReductionPatterns,   populateScatterPatterns,
        populateStorePatterns,       populateSumPatterns,
        populateProloguePatterns,    populateTilePatterns,
        populatePingPongPatterns,    populateKeyUnionPatterns,
        populateVectorPatterns,      populateWorkPatterns,
        populateTurnPatterns})
    populate(patterns);
  ConversionConfig config;
  // What is known of values would be lost.
  config.foldingMode = DialectConversionFoldingMode::Never;
  if (failed(applyPartialConversion(kernel.function.getOperation(), target,
                                    std::move(set), config)))
    return failure();
  eraseRepeated(kernel);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether all threads of a kernel are alike.
static bool isPlain(gpu::GPUFuncOp kernel) {
  return kernel.getBody().front().getOps<hopper::WarpSpecializeOp>().empty() &&
         (kernel->hasAttr(hopper::kElementsAttrName) ||
          kernel->hasAttr(hopper::kChecksAttrName) ||
          kernel->hasAttr(hopper::kVectorLoopAttrName) ||
          kernel->hasAttr(hopper::kCombineAttrName));
}

static void declareShared(gpu::GPUModuleOp module) {
  if (module.lookupSymbol(kSharedName))
    return;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  LLVM::GlobalOp::create(
      b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
      /*isConstant=*/false, LLVM::Linkage::External, kSharedName, Attribute(),
      /*alignment=*/kTileAlignment, /*addrSpace=*/3);
}

/// What a launch and the translation need to know.
static void describe(Kernel &kernel, int64_t threads, int64_t ctasPerSM) {
  LLVM::LLVMFuncOp function = kernel.function;
  Builder b(function.getContext());
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.maxntid",
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  if (ctasPerSM)
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(ctasPerSM));
  function->setAttr(hopper::kSharedBytesAttrName,
                    b.getI64IntegerAttr(kernel.shared.getBytes()));
  function->setAttr(hopper::kThreadsAttrName, b.getI64IntegerAttr(threads));
  // Reductions of several floats are in PTX since 8.1.
  constexpr int64_t version = 81;
  function.walk([&](hopper::ReduceAddOp) {
    function->setAttr(hopper::kPTXVersionAttrName,
                      b.getI64IntegerAttr(version));
  });
}

static LogicalResult lowerPlain(gpu::GPUFuncOp op, bool accurateTanh) {
  auto threads = op->getAttrOfType<IntegerAttr>(hopper::kThreadsAttrName);
  if (!threads)
    return op.emitError("expects a kernel without partitions to have '")
           << hopper::kThreadsAttrName << "'";
  FailureOr<LLVM::LLVMFuncOp> function = createFunction(op);
  if (failed(function))
    return failure();
  Kernel kernel(*function, accurateTanh);
  kernel.numThreads = threads.getInt();
  // For more CTAs, as many as their shared memory leaves room for,
  // ptxas would spill registers.
  constexpr int64_t blocksPerSM = 4;
  describe(kernel, kernel.numThreads,
           op->hasAttr(hopper::kBlocksAttrName) ? blocksPerSM : 0);
  emitKernelStart(kernel);
  return convertOps(kernel);
}

static LogicalResult lowerPartitions(gpu::GPUFuncOp op, bool accurateTanh) {
  auto ops = op.getBody().front().getOps<hopper::WarpSpecializeOp>();
  if (!llvm::hasSingleElement(ops))
    return op.emitError("expects a kernel with one hopper.warp_specialize");
  hopper::WarpSpecializeOp specialize = *ops.begin();
  declareShared(op->getParentOfType<gpu::GPUModuleOp>());
  FailureOr<LLVM::LLVMFuncOp> function = createFunction(op);
  if (failed(function))
    return failure();
  Kernel kernel(*function, accurateTanh);
  kernel.specialize = specialize;
  kernel.numThreads = hopper::PartitionLayout(specialize).getNumThreads();
  if (failed(kernel.shared.assign(specialize)))
    return failure();
  int64_t most = getTarget(op).getCtaShared();
  if (kernel.shared.getBytes() > most)
    return op.emitError("expects at most ")
           << most << " bytes of shared memory for a CTA, but got "
           << kernel.shared.getBytes()
           << "; a schedule with fewer stages or smaller tiles takes less";
  describe(kernel, kernel.numThreads, specialize.getCtasPerSm());
  emitKernelStart(kernel);
  emitPartitionStarts(kernel);
  if (failed(convertOps(kernel)))
    return failure();
  emitPartitionBranches(kernel);
  return success();
}

namespace {
struct AttnHopperLower
    : public mlir::attn::impl::AttnHopperLowerPassBase<AttnHopperLower> {
  using AttnHopperLowerPassBase::AttnHopperLowerPassBase;

  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels(
        getOperation().getBody()->getOps<gpu::GPUFuncOp>());
    for (gpu::GPUFuncOp kernel : kernels) {
      bool plain = isPlain(kernel);
      if (!plain && !kernel->hasAttr(hopper::kScheduleAttrName) &&
          kernel.getBody().front().getOps<hopper::WarpSpecializeOp>().empty())
        continue;
      if (failed(verifyThreadOps(kernel)) ||
          failed(plain ? lowerPlain(kernel, accurateTanh)
                       : lowerPartitions(kernel, accurateTanh)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
