//===- CudaCodeGen.cpp - From kernels to PTX ------------------------------===//

#include "CudaCodeGen.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "attn/JIT/Diagnostics.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace attn;
namespace hopper = mlir::attn::hopper;

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

/// LLVM's option for pointers of 32 bits into shared memory, which save many
/// registers. Nothing but the command line sets it.
static llvm::cl::Option *findShortPointers() {
  // getRegisteredOptions would register --help too, which a program that
  // forgets the options of its libraries could not do again.
  auto &options = llvm::cl::SubCommand::getTopLevel().OptionsMap;
  auto found = options.find("nvptx-short-ptr");
  return found == options.end() ? nullptr : found->second;
}

/// The option as the first call found it: a program may forget the options of
/// its libraries later.
static llvm::cl::Option *getShortPointers() {
  static llvm::cl::Option *option = findShortPointers();
  return option;
}

void attn::keepCompilerOptions() { getShortPointers(); }

/// Below, accumulators are copied while products are in flight, for which ptxas
/// would wait.
static constexpr unsigned kLeastOptLevel = 1;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createCudaMachine(llvm::StringRef chip, unsigned optLevel, int64_t ptxVersion) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Without the option the code is right, but takes more registers.
    if (llvm::cl::Option *option = getShortPointers())
      option->addOccurrence(0, option->ArgStr, "true");
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return makeCompileError("error: " + message);
  llvm::TargetOptions options;
  // A multiplication and an addition become one instruction where that is
  // allowed (hopper-allow-contraction).
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, chip, "+ptx" + std::to_string(ptxVersion), options,
      /*RM=*/std::nullopt,
      /*CM=*/std::nullopt,
      getCodeGenLevel(std::max(optLevel, kLeastOptLevel))));
  if (!machine)
    return makeCompileError("error: no code can be made for " + chip);
  return machine;
}

//===----------------------------------------------------------------------===//
// The description of a launch
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getInt(mlir::DictionaryAttr dictionary,
                                     llvm::StringRef name) {
  if (auto number = dictionary.getAs<mlir::IntegerAttr>(name))
    return number.getInt();
  return std::nullopt;
}

static bool readMap(mlir::DictionaryAttr from, cuda::Param &param) {
  auto dims = from.getAs<mlir::DenseI64ArrayAttr>("dims");
  std::optional<int64_t> rows = getInt(from, "rows"),
                         columns = getInt(from, "columns");
  if (!dims || dims.size() != 4 || !rows || !columns)
    return false;
  param.kind = cuda::ParamKind::TensorMap;
  // Innermost first, and one chunk of columns of one head at a time.
  for (int64_t dim : llvm::reverse(dims.asArrayRef()))
    param.map.dims.push_back(dim);
  param.map.box = {static_cast<uint32_t>(*columns),
                   static_cast<uint32_t>(*rows), 1, 1};
  // Heads before rows.
  param.map.packed = from.contains("packed");
  if (param.map.packed) {
    std::swap(param.map.dims[1], param.map.dims[2]);
    std::swap(param.map.box[1], param.map.box[2]);
  }
  return true;
}

static bool readParam(mlir::Attribute attribute, cuda::Param &param) {
  auto from = llvm::dyn_cast<mlir::DictionaryAttr>(attribute);
  auto kind = from ? from.getAs<mlir::StringAttr>("kind") : mlir::StringAttr();
  if (kind && kind == "counter") {
    param.kind = cuda::ParamKind::Counter;
    return true;
  }
  if (kind && kind == "packed_count") {
    param.kind = cuda::ParamKind::PackedCount;
    param.bits = 32;
    return true;
  }
  std::optional<int64_t> operand;
  if (!kind || !(operand = getInt(from, "operand")))
    return false;
  param.operand = *operand;
  if (kind == "map")
    return readMap(from, param);
  if (std::optional<int64_t> alignment = getInt(from, "alignment"))
    param.alignment = *alignment;
  if (kind == "pointer") {
    param.kind = cuda::ParamKind::Pointer;
    return true;
  }
  if (kind == "scalar") {
    param.kind = cuda::ParamKind::Scalar;
    param.bits = 0;
    return true;
  }
  bool isLong = kind == "long_extent", isExtent = isLong || kind == "extent";
  std::optional<int64_t> dim = getInt(from, "dim");
  if ((!isExtent && kind != "stride") || !dim)
    return false;
  param.kind = isExtent ? cuda::ParamKind::Extent : cuda::ParamKind::Stride;
  param.dim = *dim;
  param.bits = isExtent && !isLong ? 32 : 64;
  return true;
}

static bool readGrid(mlir::DictionaryAttr from, cuda::GridInfo &grid) {
  if (!from)
    return false;
  auto dims = from.getAs<mlir::DenseI64ArrayAttr>("dims");
  std::optional<int64_t> operand = getInt(from, "operand"),
                         keyOperand = getInt(from, "key_operand"),
                         keyDim = getInt(from, "key_dim");
  if (!dims || dims.size() != 3 || !operand || !keyOperand || !keyDim)
    return false;
  grid.operand = *operand;
  grid.batchDim = dims[0];
  grid.headDim = dims[1];
  grid.rowDim = dims[2];
  grid.keyOperand = *keyOperand;
  grid.keyDim = *keyDim;
  // Only where heads are packed.
  grid.keyHeadDim = getInt(from, "key_head_dim").value_or(-1);
  return true;
}

static llvm::Error reject(llvm::StringRef name) {
  return makeCompileError("error: expects a lowered kernel to have '" + name +
                          "' as attn-hopper-lower makes it");
}

/// Reads what all kernels have.
static llvm::Error describeCode(mlir::LLVM::LLVMFuncOp function,
                                std::vector<cuda::Param> &params,
                                int32_t &threads) {
  auto attributes =
      function->getAttrOfType<mlir::ArrayAttr>(hopper::kParamsAttrName.str());
  if (!attributes)
    return reject(hopper::kParamsAttrName);
  for (mlir::Attribute attribute : attributes)
    if (!readParam(attribute, params.emplace_back()))
      return reject(hopper::kParamsAttrName);
  auto number =
      function->getAttrOfType<mlir::IntegerAttr>(hopper::kThreadsAttrName);
  if (!number)
    return reject(hopper::kThreadsAttrName);
  threads = number.getInt();
  return llvm::Error::success();
}

static bool readExtents(mlir::ArrayAttr from,
                        llvm::SmallVectorImpl<cuda::TableExtent> &extents) {
  for (auto extent : from.getAsRange<mlir::DictionaryAttr>()) {
    cuda::TableExtent &result = extents.emplace_back();
    if (extent.contains("num_splits")) {
      result.isNumSplits = true;
      continue;
    }
    if (std::optional<int64_t> more = getInt(extent, "plus_rows"))
      result.plusRows = *more;
    if (std::optional<int64_t> size = getInt(extent, "extent")) {
      result.size = *size;
      continue;
    }
    std::optional<int64_t> operand = getInt(extent, "operand"),
                           dim = getInt(extent, "dim"),
                           divisor = getInt(extent, "divisor");
    if (!operand || !dim || !divisor)
      return false;
    result.operand = *operand;
    result.dim = *dim;
    result.divisor = *divisor;
  }
  return true;
}

static bool readTables(mlir::DictionaryAttr from, int32_t &firstTable,
                       std::vector<cuda::TableInfo> &infos) {
  std::optional<int64_t> first = getInt(from, "first");
  auto tables = from.getAs<mlir::ArrayAttr>("tables");
  if (!first || !tables)
    return false;
  firstTable = *first;
  for (auto table : tables.getAsRange<mlir::DictionaryAttr>()) {
    std::optional<int64_t> bytes = getInt(table, "bytes");
    auto extents = table.getAs<mlir::ArrayAttr>("extents");
    if (!bytes || !extents)
      return false;
    cuda::TableInfo &info = infos.emplace_back();
    info.elementBytes = *bytes;
    info.isZero = table.contains("zero");
    info.isPrepared = table.contains("prepared");
    if (!readExtents(extents, info.extents))
      return false;
  }
  return true;
}

/// Reads what a kernel that combines results of parts has.
static llvm::Error describeCombine(mlir::LLVM::LLVMFuncOp function,
                                   cuda::CombineKernel &combine) {
  static_assert(cuda::kMinSplitBlocks == hopper::kMinSplitBlocks,
                "a launch has no more parts than kernels share out keys to");
  if (llvm::Error error =
          describeCode(function, combine.params, combine.threads))
    return error;
  auto warps =
      function->getAttrOfType<mlir::IntegerAttr>(hopper::kCombineAttrName);
  if (!warps)
    return reject(hopper::kCombineAttrName);
  combine.warpsPerRow = warps.getInt();
  return llvm::Error::success();
}

/// Reads what a kernel of a loop over vectors has.
static llvm::Error describeLoop(mlir::LLVM::LLVMFuncOp function,
                                cuda::LoopKernel &loop) {
  if (llvm::Error error = describeCode(function, loop.params, loop.threads))
    return error;
  auto launch = function->getAttrOfType<mlir::DictionaryAttr>(
      hopper::kVectorLoopAttrName);
  auto extents =
      launch ? launch.getAs<mlir::ArrayAttr>("extents") : mlir::ArrayAttr();
  if (!extents || !readExtents(extents, loop.extents))
    return reject(hopper::kVectorLoopAttrName);
  loop.isBehind = launch.contains("behind");
  return llvm::Error::success();
}

/// Reads what memory a launch takes, and all launches of a program.
static llvm::Error describeMemory(mlir::LLVM::LLVMFuncOp function,
                                  CudaKernel &kernel) {
  cuda::Variant &variant = kernel.variant;
  if (auto tables = function->getAttrOfType<mlir::DictionaryAttr>(
          hopper::kTablesAttrName))
    if (!readTables(tables, variant.firstTable, variant.tables))
      return reject(hopper::kTablesAttrName);
  auto scratch =
      function->getAttrOfType<mlir::DictionaryAttr>(hopper::kScratchAttrName);
  if (scratch && !readTables(scratch, kernel.firstScratch, kernel.scratch))
    return reject(hopper::kScratchAttrName);
  return llvm::Error::success();
}

/// Of a loop over elements alone: what a variant has without a kernel.
static llvm::Error describeLoopsAlone(mlir::LLVM::LLVMFuncOp loop,
                                      CudaKernel &kernel) {
  kernel.variant.schedule = "elements";
  kernel.variant.tileRows = 1;
  cuda::GridInfo &grid = kernel.grid;
  grid.batchDim = grid.headDim = grid.rowDim = grid.keyDim = -1;
  grid.keyOperand = grid.operand;
  std::vector<cuda::Param> params;
  if (llvm::Error error = describeCode(loop, params, kernel.variant.threads))
    return error;
  return describeMemory(loop, kernel);
}

/// Reads all but the code from the attributes that attn-hopper-lower leaves.
static llvm::Error describeKernel(mlir::LLVM::LLVMFuncOp function,
                                  CudaKernel &kernel) {
  cuda::Variant &variant = kernel.variant;
  if (llvm::Error error =
          describeCode(function, variant.params, variant.threads))
    return error;
  if (llvm::Error error = describeMemory(function, kernel))
    return error;
  auto shared =
      function->getAttrOfType<mlir::IntegerAttr>(hopper::kSharedBytesAttrName);
  if (!shared)
    return reject(hopper::kSharedBytesAttrName);
  variant.dynamicSharedBytes = shared.getInt();
  mlir::Attribute schedule = function->getAttr(hopper::kScheduleAttrName);
  if (auto tiles = llvm::dyn_cast_or_null<hopper::ScheduleAttr>(schedule)) {
    variant.tileRows = tiles.getTileM();
    variant.tileKeys = tiles.getTileN();
    variant.persistent = tiles.getPersistent();
    variant.mostPackedHeads = tiles.getMostPackedHeads();
  } else if (auto rows = llvm::dyn_cast_or_null<mlir::attn::RowScheduleAttr>(
                 schedule)) {
    variant.tileRows = rows.getRows();
  } else {
    return reject(hopper::kScheduleAttrName);
  }
  llvm::raw_string_ostream(variant.schedule) << schedule;
  if (!readGrid(
          function->getAttrOfType<mlir::DictionaryAttr>(hopper::kGridAttrName),
          kernel.grid))
    return reject(hopper::kGridAttrName);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// A name that PTX allows.
static std::string makeKernelName(llvm::StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (result.empty() || llvm::isDigit(result[0]))
    result = "_" + result;
  return result;
}

/// The module as LLVM IR. The text of an error is empty where the context has
/// been told it.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(mlir::gpu::GPUModuleOp kernels, llvm::LLVMContext &context,
          const llvm::TargetMachine &machine, llvm::StringRef name) {
  mlir::OpBuilder builder(kernels.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder, kernels.getLoc());
  builder.setInsertionPointToStart(module->getBody());
  for (mlir::Operation &op : *kernels.getBody()) {
    mlir::Operation *copy = builder.clone(op);
    // Nothing that translates to code.
    for (llvm::StringRef attribute :
         {hopper::kParamsAttrName, hopper::kSharedBytesAttrName,
          hopper::kThreadsAttrName, hopper::kPTXVersionAttrName})
      copy->removeAttr(attribute);
    for (llvm::StringRef attribute : hopper::kLaunchAttrNames)
      copy->removeAttr(attribute);
  }
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(*module, context, name);
  if (!code)
    return makeCompileError("");
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple());
  return code;
}

namespace {
/// Leaves out a pass of the code generator that compares each address of a
/// block with all before it, and takes seconds where there are hundreds.
struct PassGate : llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return name != "slsr";
  }
};
} // namespace

/// Whether some block computes so many addresses. Where there are few, the pass
/// saves registers.
static bool hasManyAddresses(const llvm::Module &module) {
  constexpr int64_t many = 100;
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      if (llvm::count_if(block, llvm::IsaPred<llvm::GetElementPtrInst>) > many)
        return true;
  return false;
}

static bool isKernel(mlir::LLVM::LLVMFuncOp function) {
  return function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName());
}

/// The kernels of a module as LLVM IR.
static llvm::Expected<CudaCode> makeCode(mlir::gpu::GPUModuleOp module,
                                         const CompileOptions &options,
                                         StageRunner runStage) {
  mlir::attn::TargetAttr target = mlir::attn::getTarget(module);
  int64_t ptxVersion = target.getPtx();
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    if (auto version = function->getAttrOfType<mlir::IntegerAttr>(
            hopper::kPTXVersionAttrName))
      ptxVersion = std::max(ptxVersion, version.getInt());
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createCudaMachine(target.getChip(), options.optLevel, ptxVersion);
  if (!machine)
    return machine.takeError();
  CudaCode code;
  code.machine = std::move(*machine);
  code.context = std::make_unique<llvm::LLVMContext>();
  auto makeModule = [&]() -> llvm::Error {
    llvm::Expected<std::unique_ptr<llvm::Module>> translated =
        translate(module, *code.context, *code.machine, options.bufferName);
    if (!translated)
      return translated.takeError();
    code.module = std::move(*translated);
    for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
      if (isKernel(function))
        code.module->getFunction(function.getName())
            ->setName(makeKernelName(function.getName()));
    static PassGate gate;
    if (hasManyAddresses(*code.module))
      code.context->setOptPassGate(gate);
    dumpModule(options, "llvm", *code.module);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("translate", makeModule))
    return error;
  return code;
}

// No optimisation of LLVM IR: the kernel is written as it is to run, and passes
// that move its instructions cost registers.
llvm::Expected<std::string> attn::emitPTX(CudaCode code) {
  return emitCode(*code.module, *code.machine,
                  llvm::CodeGenFileType::AssemblyFile);
}

llvm::Expected<CudaKernel> attn::translateKernel(mlir::gpu::GPUModuleOp module,
                                                 const CompileOptions &options,
                                                 StageRunner runStage) {
  mlir::LLVM::LLVMFuncOp function, combine;
  llvm::SmallVector<mlir::LLVM::LLVMFuncOp> prologues, loops;
  for (auto candidate : module.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (!isKernel(candidate))
      continue;
    if (candidate->hasAttr(hopper::kElementsAttrName)) {
      prologues.push_back(candidate);
      continue;
    }
    if (candidate->hasAttr(hopper::kVectorLoopAttrName)) {
      loops.push_back(candidate);
      continue;
    }
    if (candidate->hasAttr(hopper::kCombineAttrName)) {
      combine = candidate;
      continue;
    }
    if (function)
      return makeCompileError("error: expects one kernel for a GPU");
    function = candidate;
  }
  if (!function && loops.empty())
    return makeCompileError("error: expects one kernel for a GPU");
  CudaKernel kernel;
  kernel.target = mlir::attn::getTarget(module);
  if (llvm::Error error = function ? describeKernel(function, kernel)
                                   : describeLoopsAlone(loops.front(), kernel))
    return error;
  if (function)
    kernel.variant.entry = makeKernelName(function.getName());
  for (mlir::LLVM::LLVMFuncOp prologue : prologues) {
    cuda::PrologueKernel &info = kernel.variant.prologues.emplace_back();
    if (llvm::Error error = describeCode(prologue, info.params, info.threads))
      return error;
    auto elements =
        prologue->getAttrOfType<mlir::IntegerAttr>(hopper::kElementsAttrName);
    if (!elements)
      return reject(hopper::kElementsAttrName);
    info.elements = elements.getInt();
    info.byRow = prologue->hasAttr(hopper::kRowsAttrName);
    info.byBlock = prologue->hasAttr(hopper::kBlocksAttrName);
    if (auto count = prologue->getAttrOfType<mlir::IntegerAttr>(
            hopper::kWarpElementsAttrName))
      info.warpElements = int32_t(count.getInt());
    info.entry = makeKernelName(prologue.getName());
  }
  for (mlir::LLVM::LLVMFuncOp loop : loops) {
    cuda::LoopKernel &info = kernel.variant.loops.emplace_back();
    if (llvm::Error error = describeLoop(loop, info))
      return error;
    info.entry = makeKernelName(loop.getName());
  }
  if (combine) {
    cuda::CombineKernel &info = kernel.variant.combine.emplace();
    if (llvm::Error error = describeCombine(combine, info))
      return error;
    info.entry = makeKernelName(combine.getName());
  }

  llvm::Expected<CudaCode> code = makeCode(module, options, runStage);
  if (!code)
    return code.takeError();
  kernel.code = std::move(*code);
  return kernel;
}

//===----------------------------------------------------------------------===//
// Checks of lists
//===----------------------------------------------------------------------===//

static llvm::Error describeCheck(mlir::LLVM::LLVMFuncOp function,
                                 cuda::ListChecks &checks) {
  cuda::CheckKernel &kernel = checks.kernels.emplace_back();
  kernel.entry = makeKernelName(function.getName());
  if (llvm::Error error = describeCode(function, kernel.params, kernel.threads))
    return error;
  auto launch = function->getAttrOfType<mlir::DictionaryAttr>(
      hopper::kChecksAttrName.str());
  if (!launch)
    return reject(hopper::kChecksAttrName);
  auto extents = launch.getAs<mlir::ArrayAttr>("extents");
  std::optional<int64_t> words = getInt(launch, "words"),
                         sites = getInt(launch, "sites");
  if (!extents || !words || !sites || !readExtents(extents, kernel.extents))
    return reject(hopper::kChecksAttrName);
  checks.words = *words;
  checks.numSites = *sites;
  return llvm::Error::success();
}

llvm::Expected<cuda::ListChecks>
attn::generateChecks(mlir::gpu::GPUModuleOp module,
                     const CompileOptions &options, StageRunner runStage) {
  cuda::ListChecks checks;
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    if (isKernel(function))
      if (llvm::Error error = describeCheck(function, checks))
        return error;
  llvm::Expected<CudaCode> code = makeCode(module, options, runStage);
  if (!code)
    return code.takeError();
  auto emit = [&]() -> llvm::Error {
    llvm::Expected<std::string> ptx = emitPTX(std::move(*code));
    if (!ptx)
      return ptx.takeError();
    checks.ptx = std::move(*ptx);
    if (options.dumpLLVM)
      options.dumpLLVM("ptx", checks.ptx);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("codegen", emit))
    return error;
  return checks;
}
