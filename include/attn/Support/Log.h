//===- Log.h - What happens inside, for who asks ----------------*- C++ -*-===//
//
// The environment variable ATTN_LOG names topics, "cache" or "cache,tune": of
// them lines "attn: TOPIC: text" go to stderr.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_LOG_H
#define ATTN_SUPPORT_LOG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace attn {

bool isLogEnabled(llvm::StringRef topic);

/// Writes a line, at once, so that those of several processes do not mix.
void log(llvm::StringRef topic, const llvm::Twine &text);

} // namespace attn

#endif // ATTN_SUPPORT_LOG_H
