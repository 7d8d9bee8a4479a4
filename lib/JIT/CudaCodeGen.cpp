//===- CudaCodeGen.cpp - From kernels to PTX ------------------------------===//

#include "CudaCodeGen.h"
#include "Diagnostics.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
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

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createCudaMachine(unsigned optLevel) {
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
  // A multiplication and an addition become one instruction.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, kCudaChip, "+ptx86", options, /*RM=*/std::nullopt,
      /*CM=*/std::nullopt, getCodeGenLevel(optLevel)));
  if (!machine)
    return makeCompileError("error: no code can be made for " + kCudaChip);
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
  std::optional<int64_t> rows = getInt(from, "rows");
  if (!dims || dims.size() != 4 || !rows)
    return false;
  param.kind = cuda::ParamKind::TensorMap;
  // Innermost first, and one chunk of columns of one head at a time.
  for (int64_t dim : llvm::reverse(dims.asArrayRef()))
    param.map.dims.push_back(dim);
  param.map.box = {hopper::kChunkColumns, static_cast<uint32_t>(*rows), 1, 1};
  return true;
}

static bool readParam(mlir::Attribute attribute, cuda::Param &param) {
  auto from = llvm::dyn_cast<mlir::DictionaryAttr>(attribute);
  auto kind = from ? from.getAs<mlir::StringAttr>("kind") : mlir::StringAttr();
  if (kind && kind == "counter") {
    param.kind = cuda::ParamKind::Counter;
    return true;
  }
  std::optional<int64_t> operand;
  if (!kind || !(operand = getInt(from, "operand")))
    return false;
  param.operand = *operand;
  if (kind == "map")
    return readMap(from, param);
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
  return true;
}

/// Reads all but the code from the attributes that attn-hopper-lower leaves.
static llvm::Error describeKernel(mlir::LLVM::LLVMFuncOp function,
                                  CudaKernel &kernel) {
  auto reject = [](llvm::StringRef name) {
    return makeCompileError("error: expects a lowered kernel to have '" + name +
                            "' as attn-hopper-lower makes it");
  };
  auto params =
      function->getAttrOfType<mlir::ArrayAttr>(hopper::kParamsAttrName.str());
  if (!params)
    return reject(hopper::kParamsAttrName);
  cuda::Variant &variant = kernel.variant;
  for (mlir::Attribute attribute : params)
    if (!readParam(attribute, variant.params.emplace_back()))
      return reject(hopper::kParamsAttrName);
  auto shared =
      function->getAttrOfType<mlir::IntegerAttr>(hopper::kSharedBytesAttrName);
  if (!shared)
    return reject(hopper::kSharedBytesAttrName);
  variant.dynamicSharedBytes = shared.getInt();
  auto threads =
      function->getAttrOfType<mlir::IntegerAttr>(hopper::kThreadsAttrName);
  if (!threads)
    return reject(hopper::kThreadsAttrName);
  variant.threads = threads.getInt();
  mlir::Attribute schedule = function->getAttr(hopper::kScheduleAttrName);
  if (auto tiles = llvm::dyn_cast_or_null<hopper::ScheduleAttr>(schedule)) {
    variant.tileRows = tiles.getTileM();
    variant.tileKeys = tiles.getTileN();
    variant.persistent = tiles.getPersistent();
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
          hopper::kThreadsAttrName, hopper::kScheduleAttrName,
          hopper::kGridAttrName})
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

llvm::Expected<CudaKernel> attn::generateKernel(mlir::gpu::GPUModuleOp module,
                                                const CompileOptions &options,
                                                StageRunner runStage) {
  auto isKernel = [](mlir::LLVM::LLVMFuncOp function) {
    return function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName());
  };
  auto functions = llvm::make_filter_range(
      module.getOps<mlir::LLVM::LLVMFuncOp>(), isKernel);
  if (!llvm::hasSingleElement(functions))
    return makeCompileError("error: expects one kernel for a GPU");
  mlir::LLVM::LLVMFuncOp function = *functions.begin();
  CudaKernel kernel;
  if (llvm::Error error = describeKernel(function, kernel))
    return error;
  kernel.variant.entry = makeKernelName(function.getName());

  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createCudaMachine(options.optLevel);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  auto makeModule = [&]() -> llvm::Error {
    llvm::Expected<std::unique_ptr<llvm::Module>> translated =
        translate(module, context, **machine, options.bufferName);
    if (!translated)
      return translated.takeError();
    code = std::move(*translated);
    code->getFunction(function.getName())->setName(kernel.variant.entry);
    dumpModule(options, "llvm", *code);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("translate", makeModule))
    return error;
  // No optimisation of LLVM IR: the kernel is written as it is to run, and
  // passes that move its instructions cost registers.
  auto emit = [&]() -> llvm::Error {
    llvm::Expected<std::string> ptx =
        emitCode(*code, **machine, llvm::CodeGenFileType::AssemblyFile);
    if (!ptx)
      return ptx.takeError();
    kernel.variant.ptx = std::move(*ptx);
    if (options.dumpLLVM)
      options.dumpLLVM("ptx", kernel.variant.ptx);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("codegen", emit))
    return error;
  return kernel;
}
