//===- Differentiate.cpp - Programs that compute gradients ----------------===//

#include "attn/JIT/Differentiate.h"
#include "Program.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/JIT/Diagnostics.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace attn;

llvm::Expected<std::string>
attn::differentiate(llvm::StringRef program,
                    const DifferentiateOptions &options) {
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  DiagnosticCollector diagnostics(&context);
  CompileOptions compile;
  compile.entry = options.entry;
  compile.bufferName = options.bufferName;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseProgram(program, compile, &context);
  if (!module)
    return diagnostics.takeError("the program is not valid");
  mlir::func::FuncOp entry = selectEntry(*module, compile);
  if (!entry)
    return diagnostics.takeError("the program has no entry");
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createInlinerPass({}, [](mlir::OpPassManager &) {}));
  mlir::attn::AttnDifferentiatePassOptions pass;
  pass.wrt.assign(options.wrt.begin(), options.wrt.end());
  pass.tensorsOnly = options.tensorsOnly;
  pass.joint = options.joint;
  pass.nondeterministic = options.nondeterministic;
  passes.addPass(mlir::attn::createAttnDifferentiatePass(pass));
  if (failed(passes.run(*module)))
    return diagnostics.takeError("the program has no gradient");
  entry.setPrivate();
  mlir::PassManager cleanup(&context);
  cleanup.addPass(mlir::createSymbolDCEPass());
  if (failed(cleanup.run(*module)))
    return diagnostics.takeError("the program has no gradient");
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, mlir::OpPrintingFlags().enableDebugInfo());
  os << "\n";
  return text;
}
