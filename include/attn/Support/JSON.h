//===- JSON.h - JSON of files that anybody may have written -----*- C++ -*-===//

#ifndef ATTN_SUPPORT_JSON_H
#define ATTN_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace attn {

/// As llvm::json::parse, which calls itself for each level of nesting; here
/// more levels than any of our texts has are an error.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text);

} // namespace attn

#endif // ATTN_SUPPORT_JSON_H
