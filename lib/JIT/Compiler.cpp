//===- Compiler.cpp - From a program to a kernel package ------------------===//

#include "attn/JIT/Compiler.h"
#include "Compilation.h"
#include "KernelCache.h"
#include "Program.h"
#include "TranslateShapeFunction.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Pipelines/AttnToCPU.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>

using namespace attn;

static mlir::DialectRegistry createRegistry() {
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  return registry;
}

llvm::Error Compilation::runStage(llvm::StringRef name,
                                  llvm::function_ref<llvm::Error()> work) {
  auto start = std::chrono::steady_clock::now();
  llvm::Error error = work();
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  report.stages.push_back({name.str(), time.count()});
  return error;
}

/// Says what GPU a program is compiled for, if that was asked for.
static llvm::Error setTarget(mlir::ModuleOp module, llvm::StringRef name) {
  if (name.empty())
    return llvm::Error::success();
  mlir::attn::TargetAttr target =
      mlir::attn::getNamedTarget(module.getContext(), name);
  if (!target)
    return makeCompileError("error: expects a GPU to be one of " +
                            llvm::join(mlir::attn::getTargetNames(), ", ") +
                            ", or the name of its chip, but got '" + name +
                            "'");
  module->setAttr(mlir::attn::kTargetAttrName, target);
  return llvm::Error::success();
}

llvm::Error Compilation::prepare(mlir::ModuleOp module,
                                 const CompileOptions &options,
                                 DiagnosticCollector &diagnostics) {
  bool isCuda = options.device == DeviceKind::Cuda;
  // An enumerator that is none is a number of a caller.
  if (!isCuda && options.device != DeviceKind::CPU)
    return makeOptionError("error: expects a device that is CPU or Cuda, but "
                           "got " +
                           llvm::Twine(static_cast<int32_t>(options.device)));
  if (isCuda && options.boundsCheck)
    return makeCompileError("error: expects no check of bounds on a GPU; leave "
                            "it out, or compile for the CPU");
  metadata = KernelMetadata();
  if (isCuda) {
    if (llvm::Error error = setTarget(module, options.chip))
      return error;
    report.target = "cuda: " + mlir::attn::getTarget(module).getChip().str();
  } else {
    llvm::Expected<CPUTarget> found = getCPUTarget(options.target);
    if (!found)
      return makeOptionError("error: " + llvm::toString(found.takeError()));
    target = std::move(*found);
    report.target = target.name + ": " + target.cpu + ", vectors of " +
                    std::to_string(target.vectorBits) + " bits";
    metadata.triple = target.triple;
    metadata.cpu = target.cpu;
    metadata.features = target.required;
  }
  if (options.optLevel > 3)
    return makeOptionError("error: expects an optimisation level from 0 to 3, "
                           "but got " +
                           llvm::Twine(options.optLevel));
  if (!mlir::attn::parseSparsityForm(options.sparsity))
    return makeOptionError("error: expects a form of a sparsity to be auto, "
                           "dense, blocks, lists or gathered, but got '" +
                           options.sparsity + "'");
  entryPoint = EntryPoint();
  if (failed(prepareProgram(module, options, metadata, entryPoint)))
    return diagnostics.takeError("the program has no entry");
  for (const TensorInfo &result : metadata.results)
    entryPoint.arguments.push_back(
        {static_cast<unsigned>(result.shape.size()), /*isScalar=*/false});
  return llvm::Error::success();
}

llvm::Error Compilation::runPasses(llvm::StringRef stage, PipelineBuilder build,
                                   mlir::ModuleOp module,
                                   DiagnosticCollector &diagnostics) {
  return runStage(stage, [&]() -> llvm::Error {
    mlir::PassManager passes(module->getContext(),
                             mlir::ModuleOp::getOperationName());
    build(passes);
    passes.enableVerifier(verifiesPasses);
    if (mlir::failed(passes.run(module)) ||
        (!verifiesPasses && mlir::failed(mlir::verify(module))) ||
        mlir::failed(takeShapeFunction(module)))
      return diagnostics.takeError("the stage " + stage + " failed");
    return llvm::Error::success();
  });
}

llvm::Error Compilation::runPipeline(mlir::ModuleOp module,
                                     DiagnosticCollector &diagnostics,
                                     PassTracker &tracker) {
  mlir::attn::AttnToCPUOptions pipeline;
  pipeline.vectorBits = target.vectorBits;
  pipeline.vectorRegisters = target.vectorRegisters;
  pipeline.l1Bytes = target.l1Bytes;
  pipeline.boundsCheck = options.boundsCheck;
  pipeline.sparsity = options.sparsity;
  return runStages(mlir::attn::getAttnToCPUStages(), pipeline, module,
                   diagnostics, tracker);
}

std::vector<std::string> Compilation::getTexts(mlir::Operation *op,
                                               llvm::StringRef name) {
  std::vector<std::string> texts;
  if (auto array = op->getAttrOfType<mlir::ArrayAttr>(name))
    for (mlir::Attribute text : array)
      texts.push_back(mlir::cast<mlir::StringAttr>(text).str());
  return texts;
}

mlir::LogicalResult Compilation::takeShapeFunction(mlir::ModuleOp module) {
  // What is to be printed is what passes make.
  if (!options.untilAfter.empty())
    return mlir::success();
  auto shapesOp =
      module.lookupSymbol<mlir::func::FuncOp>(entryPoint.function + ".shapes");
  if (!shapesOp || !shapesOp->hasAttr(mlir::attn::kConstraintsAttrName))
    return mlir::success();
  mlir::FailureOr<ShapeFunction> shapes = translateShapeFunction(shapesOp);
  if (mlir::failed(shapes))
    return mlir::failure();
  metadata.shapes = std::move(*shapes);
  shapesOp.erase();
  return mlir::success();
}

/// Fills in what only the lowered program tells.
void Compilation::readSites(mlir::ModuleOp module) {
  // Checked reads report to a buffer of their own.
  auto function =
      module.lookupSymbol<mlir::LLVM::LLVMFuncOp>(entryPoint.function);
  if (function && function.getNumArguments() != entryPoint.getNumWords()) {
    entryPoint.arguments.push_back({/*rank=*/1, /*isScalar=*/false});
    metadata.sites = getTexts(module, mlir::attn::kSitesAttrName);
  }
}

/// An error without text is one that the context has been told.
static llvm::Error explain(llvm::Error error,
                           DiagnosticCollector &diagnostics) {
  std::string text;
  std::error_code code = llvm::inconvertibleErrorCode();
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    text += info.message();
    // Those that makeCompileError and makeOptionError have.
    std::error_code own = info.convertToErrorCode();
    if (own == std::errc::not_supported || own == std::errc::invalid_argument)
      code = own;
  });
  if (text.empty())
    return diagnostics.takeError("translation to LLVM failed");
  return llvm::createStringError(code, text);
}

llvm::Expected<KernelPackage>
Compilation::compile(mlir::ModuleOp module, DiagnosticCollector &diagnostics) {
  RemarkCollector remarks(module->getContext(), report.remarks);
  PassTracker tracker(module->getContext(), options);
  if (options.device == DeviceKind::Cuda) {
    llvm::Expected<KernelPackage> package =
        compileForCuda(module, diagnostics, tracker);
    report.warnings = diagnostics.takeWarnings();
    if (package)
      report.objectSize = package->getCodeSize();
    return package ? std::move(package)
                   : explain(package.takeError(), diagnostics);
  }
  if (llvm::Error error = prepare(module, options, diagnostics))
    return error;
  if (llvm::Error error = runPipeline(module, diagnostics, tracker))
    return error;
  readSites(module);
  auto stage = [&](llvm::StringRef name,
                   llvm::function_ref<llvm::Error()> work) {
    return runStage(name, work);
  };
  llvm::Expected<std::string> object =
      generateObject(module, entryPoint, target, options, stage);
  report.warnings = diagnostics.takeWarnings();
  if (!object)
    return explain(object.takeError(), diagnostics);
  report.objectSize = object->size();
  return KernelPackage{std::move(metadata), std::move(*object), std::nullopt};
}

llvm::Expected<std::string>
Compilation::printAfter(mlir::ModuleOp module,
                        DiagnosticCollector &diagnostics) {
  std::vector<std::string> names = getPipelinePasses(options.device);
  size_t count = llvm::count(names, options.untilAfter);
  if (count == 0) {
    std::string message = "error: expects a pass of the pipeline, but got '" +
                          options.untilAfter + "'; the passes are";
    for (const std::string &name : names)
      if (message.find(" " + name + ",") == std::string::npos)
        message += " " + name + ",";
    message.pop_back();
    return makeOptionError(message);
  }
  RemarkCollector remarks(module->getContext(), report.remarks);
  PassTracker tracker(module->getContext(), options, count);
  if (llvm::Error error = prepare(module, options, diagnostics))
    return error;
  if (llvm::Error error =
          options.device == DeviceKind::Cuda
              ? runCudaPipeline(module, options.sparsity, diagnostics, tracker)
              : runPipeline(module, diagnostics, tracker))
    return error;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// Runs `work` on a module that is made from text in a context of its own.
template <typename T>
static llvm::Expected<T>
withText(llvm::StringRef program, const CompileOptions &options,
         CompileReport &report,
         llvm::Expected<T> (Compilation::*work)(mlir::ModuleOp,
                                                DiagnosticCollector &)) {
  // Programs are small, and callers have threads of their own.
  mlir::MLIRContext context(createRegistry(),
                            mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  DiagnosticCollector diagnostics(&context);
  Compilation compilation(options, report);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::Error error = compilation.runStage("parse", [&]() -> llvm::Error {
    module = parseProgram(program, options, &context);
    return module ? llvm::Error::success()
                  : diagnostics.takeError("the program is not valid");
  });
  if (error)
    return error;
  return (compilation.*work)(*module, diagnostics);
}

/// Runs `work` on a copy of a module.
template <typename T>
static llvm::Expected<T>
withModule(mlir::ModuleOp module, const CompileOptions &options,
           CompileReport &report,
           llvm::Expected<T> (Compilation::*work)(mlir::ModuleOp,
                                                  DiagnosticCollector &)) {
  mlir::MLIRContext *context = module->getContext();
  context->appendDialectRegistry(createRegistry());
  DiagnosticCollector diagnostics(context);
  Compilation compilation(options, report);
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  return (compilation.*work)(*copy, diagnostics);
}

llvm::Expected<KernelPackage>
attn::compileToPackage(llvm::StringRef program, const CompileOptions &options,
                       CompileReport *report) {
  CompileReport ignored;
  CompileReport &told = report ? *report : ignored;
  auto compile = [&] {
    return withText(program, options, told, &Compilation::compile);
  };
  std::optional<KernelKey> key = getKernelKey(program, options);
  return key ? getCachedPackage(*key, told, compile) : compile();
}

llvm::Expected<KernelPackage>
attn::compileToPackage(mlir::ModuleOp module, const CompileOptions &options,
                       CompileReport *report) {
  CompileReport ignored;
  CompileReport &told = report ? *report : ignored;
  auto compile = [&] {
    return withModule(module, options, told, &Compilation::compile);
  };
  // With the places in it that messages name.
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, mlir::OpPrintingFlags().enableDebugInfo());
  std::optional<KernelKey> key = getKernelKey(text, options);
  return key ? getCachedPackage(*key, told, compile) : compile();
}

llvm::Expected<std::string> attn::printAfter(llvm::StringRef program,
                                             const CompileOptions &options) {
  CompileReport ignored;
  return withText(program, options, ignored, &Compilation::printAfter);
}

llvm::Expected<std::string> attn::printAfter(mlir::ModuleOp module,
                                             const CompileOptions &options) {
  CompileReport ignored;
  return withModule(module, options, ignored, &Compilation::printAfter);
}

llvm::Expected<TuningSpace>
attn::getTuningSpace(llvm::StringRef program, const CompileOptions &options) {
  CompileReport ignored;
  return withText(program, options, ignored, &Compilation::getTuningSpace);
}

/// Appends the flags of passes, those of nested pipelines too. Only the text of
/// a pipeline tells what is nested: "builtin.module(cse,gpu.module(cse{x=1}))".
static void appendPasses(mlir::OpPassManager &passes,
                         std::vector<std::string> &names) {
  std::string text, name;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  unsigned optionDepth = 0;
  for (char c : text) {
    if (c == '{')
      ++optionDepth;
    bool isName = optionDepth == 0 && c != ',' && c != '(' && c != ')';
    if (c == '}')
      --optionDepth;
    else if (isName)
      name += c;
    // A name before a bracket is that of an operation.
    if (c == '(' && optionDepth == 0)
      name.clear();
    if (!isName && !name.empty() && optionDepth == 0) {
      names.push_back(name);
      name.clear();
    }
  }
}

std::vector<std::string> attn::getPipelinePasses(DeviceKind device) {
  std::vector<std::string> names;
  auto append = [&](auto stages, const auto &options) {
    for (const auto &stage : stages) {
      mlir::OpPassManager passes(mlir::ModuleOp::getOperationName());
      stage.build(passes, options);
      appendPasses(passes, names);
    }
  };
  if (device == DeviceKind::Cuda)
    append(mlir::attn::getAttnToNVVMStages(), mlir::attn::AttnToNVVMOptions());
  else
    append(mlir::attn::getAttnToCPUStages(), mlir::attn::AttnToCPUOptions());
  return names;
}
