//===- MaskReport.h - Masks as text and as JSON -----------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_MASKREPORT_H
#define ATTN_TOOLS_ATTNRUN_MASKREPORT_H

#include "Mask.h"
#include "llvm/Support/JSON.h"

namespace attn::cli {

/// Heads of a mask in words: "all 8", "h 0 to 3, 6", "(0, 1), (2, 5)".
std::string describeHeads(const MaskTiles &mask, const MaskHeads &heads);

void printMasks(llvm::raw_ostream &os, const MaskReport &report);
/// The attribute "masks" and its like of the object that is being printed.
void printMasks(llvm::json::OStream &json, const MaskReport &report);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_MASKREPORT_H
