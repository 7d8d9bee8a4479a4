//===- Loader.cpp - Make compiled code ready to run -----------------------===//

#include "Loader.h"
#include "CodeGen.h"
#include "Symbols.h"
#include "attn/Runtime/Symbols.h"
#include "attn/Target/CPU.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace attn;
namespace orc = llvm::orc;

/// Whether this process can run the code.
static llvm::Error checkTarget(const KernelMetadata &metadata) {
  llvm::Triple needed(metadata.triple), host(llvm::sys::getProcessTriple());
  if (needed.getArch() != host.getArch() || needed.getOS() != host.getOS())
    return llvm::createStringError("expects a machine of type " + needed.str() +
                                   ", but this is " + host.str());
  std::vector<std::string> missing = getMissingFeatures(metadata.features);
  if (!missing.empty())
    return llvm::createStringError("expects a processor with " +
                                   llvm::join(missing, ", ") +
                                   ", which this one lacks");
  return llvm::Error::success();
}

LoadedCode::LoadedCode(std::unique_ptr<orc::ExecutionSession> session)
    : session(std::move(session)),
      layer(std::make_unique<orc::ObjectLinkingLayer>(
          *this->session,
          this->session->getExecutorProcessControl().getMemMgr())) {}

LoadedCode::~LoadedCode() {
  // Frees the code; there is nobody to tell of an error.
  llvm::consumeError(session->endSession());
}

/// The names that code may refer to.
static orc::SymbolMap getSymbols(orc::ExecutionSession &session) {
  orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, void *address) {
    symbols[session.intern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                     llvm::JITSymbolFlags::Exported |
                                         llvm::JITSymbolFlags::Callable};
  };
  for (const HostSymbol &symbol : getHostSymbols())
    add(symbol.name, symbol.address);
  for (const RuntimeSymbol &symbol : getRuntimeSymbols())
    add(symbol.name, symbol.address);
  return symbols;
}

llvm::Error LoadedCode::link(const KernelPackage &package) {
  llvm::Error failures = llvm::Error::success();
  session->setErrorReporter([&](llvm::Error error) {
    failures = llvm::joinErrors(std::move(failures), std::move(error));
  });
  auto link = [&]() -> llvm::Error {
    orc::JITDylib &host = session->createBareJITDylib("host");
    orc::JITDylib &code = session->createBareJITDylib("kernel");
    if (llvm::Error error =
            host.define(orc::absoluteSymbols(getSymbols(*session))))
      return error;
    code.addToLinkOrder(host);
    if (llvm::Error error = layer->add(
            code,
            llvm::MemoryBuffer::getMemBufferCopy(package.object, "kernel")))
      return error;
    llvm::Expected<orc::ExecutorSymbolDef> symbol =
        session->lookup({&code}, kRunSymbol);
    if (!symbol)
      return symbol.takeError();
    run = symbol->getAddress().toPtr<Function>();
    return llvm::Error::success();
  };
  // What fails inside of the session explains the failure of a lookup.
  llvm::Error error = link();
  error = llvm::joinErrors(std::move(failures), std::move(error));
  session->setErrorReporter(
      [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  return error;
}

llvm::Expected<std::unique_ptr<LoadedCode>>
LoadedCode::load(const KernelPackage &package) {
  if (llvm::Error error = checkTarget(package.metadata))
    return error;
  llvm::Expected<std::unique_ptr<orc::SelfExecutorProcessControl>> process =
      orc::SelfExecutorProcessControl::Create(
          nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  std::unique_ptr<LoadedCode> code(new LoadedCode(
      std::make_unique<orc::ExecutionSession>(std::move(*process))));
  if (llvm::Error error = code->link(package))
    return llvm::createStringError("cannot load the code of kernel '" +
                                   package.metadata.entry +
                                   "': " + llvm::toString(std::move(error)));
  return code;
}
