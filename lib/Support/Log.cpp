//===- Log.cpp - What happens inside, for who asks ------------------------===//

#include "attn/Support/Log.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

bool attn::isLogEnabled(llvm::StringRef topic) {
  const char *value = std::getenv("ATTN_LOG");
  if (!value)
    return false;
  llvm::SmallVector<llvm::StringRef> topics;
  llvm::StringRef(value).split(topics, ',');
  return llvm::is_contained(topics, topic);
}

void attn::log(llvm::StringRef topic, const llvm::Twine &text) {
  llvm::errs() << ("attn: " + topic + ": " + text + "\n").str();
}
