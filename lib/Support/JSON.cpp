//===- JSON.cpp - JSON of files that anybody may have written -------------===//

#include "attn/Support/JSON.h"
#include "llvm/ADT/Twine.h"

using namespace attn;

llvm::Expected<llvm::json::Value> attn::parseJSON(llvm::StringRef text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"')
      isString = !isString;
    else if (isString && c == '\\')
      ++i;
    else if (!isString && (c == '[' || c == '{'))
      ++depth;
    else if (!isString && (c == ']' || c == '}'))
      --depth;
    if (depth > kMaxDepth)
      return llvm::createStringError("expects JSON of at most " +
                                     llvm::Twine(kMaxDepth) + " levels");
  }
  return llvm::json::parse(text);
}
