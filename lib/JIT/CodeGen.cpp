//===- CodeGen.cpp - From the LLVM dialect to an object file --------------===//

#include "CodeGen.h"
#include "attn/JIT/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace attn;

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

llvm::CodeGenOptLevel attn::getCodeGenLevel(unsigned level) {
  return level == 0   ? llvm::CodeGenOptLevel::None
         : level == 1 ? llvm::CodeGenOptLevel::Less
         : level == 2 ? llvm::CodeGenOptLevel::Default
                      : llvm::CodeGenOptLevel::Aggressive;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const CPUTarget &target, unsigned optLevel) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(target.triple);
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return makeCompileError("error: " + message);
  // Code is loaded anywhere in the address space; calls to the C library go
  // through stubs that the loader makes.
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.cpu, target.getFeatureString(), llvm::TargetOptions(),
      llvm::Reloc::PIC_, llvm::CodeModel::Small, getCodeGenLevel(optLevel)));
  if (!machine)
    return makeCompileError("error: no code can be made for " + target.triple);
  return machine;
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

size_t EntryPoint::getNumWords() const {
  size_t count = 1;
  for (const Argument &argument : arguments)
    count += argument.isScalar ? 1 : 3 + 2 * argument.rank;
  return count;
}

/// Adds the function with the symbol that the loader knows.
static llvm::Error addEntryPoint(llvm::Module &module,
                                 const EntryPoint &entryPoint) {
  llvm::Function *callee = module.getFunction(entryPoint.function);
  if (!callee || callee->arg_size() != entryPoint.getNumWords())
    return makeCompileError(
        "error: expects '" + entryPoint.function + "' to have " +
        llvm::Twine(entryPoint.getNumWords()) + " arguments after lowering");
  if (llvm::GlobalValue *taken = module.getNamedValue(kRunSymbol))
    taken->setName("program." + kRunSymbol);
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type *pointer = builder.getPtrTy();
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getInt64Ty(), {pointer, pointer},
                              /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, kRunSymbol, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::SmallVector<llvm::Value *> words;
  auto nextType = [&] {
    return callee->getFunctionType()->getParamType(words.size());
  };
  for (auto [number, argument] : llvm::enumerate(entryPoint.arguments)) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(
        pointer, function->getArg(0), number);
    llvm::Value *descriptor = builder.CreateLoad(pointer, slot);
    auto load = [&](llvm::Type *type, unsigned word) -> llvm::Value * {
      llvm::Value *address = builder.CreateConstInBoundsGEP1_64(
          builder.getInt64Ty(), descriptor, word);
      return builder.CreateLoad(type, address);
    };
    if (!argument.isScalar) {
      for (unsigned word = 0; word < 3 + 2 * argument.rank; ++word)
        words.push_back(load(nextType(), word));
      continue;
    }
    llvm::Type *type = nextType();
    // A byte holds a boolean.
    bool isBool = type->isIntegerTy(1);
    llvm::Value *value = builder.CreateLoad(isBool ? builder.getInt8Ty() : type,
                                            load(pointer, 1));
    words.push_back(isBool ? builder.CreateIsNotNull(value) : value);
  }
  words.push_back(function->getArg(1));
  builder.CreateRet(builder.CreateCall(callee, words));
  return llvm::Error::success();
}

/// Sets what code generation reads from each function.
static void setAttributes(llvm::Module &module, const CPUTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getName() != kRunSymbol)
      function.setLinkage(llvm::Function::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    std::string features = target.getFeatureString();
    if (!features.empty())
      function.addFnAttr("target-features", features);
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBits));
  }
}

//===----------------------------------------------------------------------===//
// Optimisation and code
//===----------------------------------------------------------------------===//

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = level > 1;
  tuning.SLPVectorization = level > 1;
  tuning.LoopInterleaving = level > 1;
  // Schedules say how loops are unrolled. To unroll them again takes a quarter
  // to 40 % of the time of a compilation, and code is as fast without it.
  tuning.LoopUnrolling = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  // Its search for loops that are checksums ends after minutes, or never, where
  // a loop has many operations that depend on each other.
  static const bool once = llvm::DisableLIRP::HashRecognize = true;
  (void)once;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      chosen == llvm::OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(chosen)
          : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}

/// Straight-line strength reduction takes 14 of 17 s for a function of 24,000
/// instructions, whose code is the same without it, and 0.3 s for one of 6,000
/// (LLVM 22 asks each time whether an expression may be poison).
static constexpr unsigned kMostReducedInstructions = 12000;

namespace {
/// The passes of a code generator, without those that a module is too large
/// for.
class CodePasses : public llvm::legacy::PassManager {
public:
  explicit CodePasses(const llvm::Module &module)
      : isLarge(llvm::any_of(module, [](const llvm::Function &function) {
          return function.getInstructionCount() > kMostReducedInstructions;
        })) {}

  void add(llvm::Pass *pass) override {
    if (isLarge && pass->getPassName() == "Straight line strength reduction")
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

private:
  bool isLarge;
};
} // namespace

llvm::Expected<std::string> attn::emitCode(llvm::Module &module,
                                           llvm::TargetMachine &machine,
                                           llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  CodePasses passes(module);
  if (machine.addPassesToEmitFile(passes, os, nullptr, type))
    return makeCompileError("error: the code generator emits no such file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

void attn::dumpModule(const CompileOptions &options, llvm::StringRef stage,
                      const llvm::Module &module) {
  if (!options.dumpLLVM)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  options.dumpLLVM(stage, text);
}

llvm::Expected<std::string> attn::generateObject(mlir::ModuleOp module,
                                                 const EntryPoint &entryPoint,
                                                 const CPUTarget &target,
                                                 const CompileOptions &options,
                                                 StageRunner runStage) {
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createMachine(target, options.optLevel);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  auto translate = [&]() -> llvm::Error {
    code = mlir::translateModuleToLLVMIR(module, context, options.bufferName);
    if (!code)
      return makeCompileError("");
    code->setDataLayout((*machine)->createDataLayout());
    code->setTargetTriple((*machine)->getTargetTriple());
    if (llvm::Error error = addEntryPoint(*code, entryPoint))
      return error;
    setAttributes(*code, target);
    dumpModule(options, "llvm", *code);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("translate", translate))
    return error;
  auto optimizeCode = [&] {
    optimize(*code, **machine, options.optLevel);
    dumpModule(options, "llvm-optimized", *code);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("optimize", optimizeCode))
    return error;

  if (options.dumpLLVM) {
    // The code generator changes the module, so the text is made of a copy.
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*code);
    llvm::Expected<std::string> text =
        emitCode(*copy, **machine, llvm::CodeGenFileType::AssemblyFile);
    if (!text)
      return text.takeError();
    options.dumpLLVM("asm", *text);
  }
  std::string object;
  auto emitObject = [&]() -> llvm::Error {
    llvm::Expected<std::string> bytes =
        emitCode(*code, **machine, llvm::CodeGenFileType::ObjectFile);
    if (!bytes)
      return bytes.takeError();
    object = std::move(*bytes);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("codegen", emitObject))
    return error;
  return object;
}
