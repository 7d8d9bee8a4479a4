//===- MaskPicture.h - Drawings of the tiles of masks -----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_MASKPICTURE_H
#define ATTN_TOOLS_ATTNRUN_MASKPICTURE_H

#include "PNG.h"
#include "attn/Reference/MaskTiles.h"

namespace attn::cli {

/// How tiles become characters.
struct TextScale {
  /// The tiles that a cell stands for. It is partial unless all are empty or
  /// all are full.
  int64_t rows = 1;
  int64_t columns = 1;
  /// The characters of a cell.
  int64_t width = 1;
};

/// Fits the tiles of a mask into 64 columns and 64 lines. Characters are about
/// twice as high as wide, and so are the cells.
TextScale chooseTextScale(const MaskTiles &mask);

/// The characters for the classes.
constexpr const char *kClassCharacters[] = {"·", "░", "█"};

/// The lines of a drawing of the heads that are alike.
std::vector<std::string> drawText(const MaskTiles &mask, const MaskHeads &heads,
                                  TextScale scale);

/// One picture of all masks: one under the other, and the heads of one that
/// differ side by side, a pixel or a square of them for each tile. Fails if it
/// were too large.
llvm::Expected<Picture> drawPicture(llvm::ArrayRef<MaskTiles> masks);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_MASKPICTURE_H
