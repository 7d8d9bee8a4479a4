//===- CodeGenTest.cpp - Tests of what emits code -------------------------===//

#include "../../../lib/JIT/CodeGen.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

/// PTX of a function with two sums, b + 7 s and b + 14 s, behind so many
/// stores.
static std::string emitSums(unsigned numStores) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string text = "define i32 @f(i32 %b, i32 %s, ptr %p) {\n";
  for (unsigned number = 0; number < numStores; ++number)
    text += "  store volatile i32 %b, ptr %p\n";
  text += R"(  %s7 = mul i32 %s, 7
  %s14 = mul i32 %s, 14
  %x = add i32 %b, %s7
  store volatile i32 %x, ptr %p
  %y = add i32 %b, %s14
  ret i32 %y
})";
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, diagnostic, context);
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!module || !target)
    return diagnostic.getMessage().str() + message;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "sm_90", "", {}, std::nullopt));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::Expected<std::string> code =
      attn::emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile);
  return code ? *code : llvm::toString(code.takeError());
}

TEST(CodeGen, ReducesStrengthOfFunctionsThatAreNotTooLarge) {
  // The second sum is 7 s more than the first one.
  auto multiplies = [](unsigned numStores) {
    return emitSums(numStores).find(", 14") != std::string::npos;
  };
  EXPECT_FALSE(multiplies(10));
  EXPECT_TRUE(multiplies(13000));
}
