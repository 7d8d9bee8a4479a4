//===- MaskPicture.cpp - Drawings of the tiles of masks -------------------===//

#include "MaskPicture.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace attn;
using namespace attn::cli;
using llvm::Expected;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TextScale cli::chooseTextScale(const MaskTiles &mask) {
  constexpr int64_t size = 64;
  if (mask.numColumns * 2 <= size && mask.numRows <= size)
    return {1, 1, 2};
  int64_t columns =
      std::max(ceilDiv(mask.numColumns, size), ceilDiv(mask.numRows, 2 * size));
  return {2 * columns, columns, 1};
}

/// The class of a rectangle of tiles.
static TileClass join(const MaskTiles &mask, const MaskHeads &heads,
                      int64_t row, int64_t column, TextScale scale) {
  int64_t endRow = std::min(row + scale.rows, mask.numRows);
  int64_t endColumn = std::min(column + scale.columns, mask.numColumns);
  TileClass first = heads.tiles[row * mask.numColumns + column];
  for (int64_t r = row; r != endRow; ++r)
    for (int64_t c = column; c != endColumn; ++c)
      if (heads.tiles[r * mask.numColumns + c] != first)
        return TileClass::Partial;
  return first;
}

std::vector<std::string>
cli::drawText(const MaskTiles &mask, const MaskHeads &heads, TextScale scale) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < mask.numRows; row += scale.rows) {
    std::string line;
    for (int64_t column = 0; column < mask.numColumns; column += scale.columns)
      for (int64_t n = 0; n != scale.width; ++n)
        line += kClassCharacters[int(join(mask, heads, row, column, scale))];
    lines.push_back(std::move(line));
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

namespace {
/// Where the drawings of a mask lie.
struct Grid {
  /// Pixels of a tile's side, and of a drawing.
  int64_t zoom;
  int64_t width;
  int64_t height;
  /// Drawings side by side.
  int64_t columns;
  int64_t rows;
};
} // namespace

/// Pixels between drawings.
static constexpr int64_t kGap = 8;

static Grid makeGrid(const MaskTiles &mask) {
  // Large enough to be seen, where tiles are few.
  constexpr int64_t side = 512, maxZoom = 16;
  Grid grid;
  int64_t longest = std::max({mask.numRows, mask.numColumns, int64_t(1)});
  grid.zoom = std::clamp<int64_t>(side / longest, 1, maxZoom);
  grid.width = mask.numColumns * grid.zoom;
  grid.height = mask.numRows * grid.zoom;
  int64_t count = std::max<int64_t>(1, mask.groups.size());
  grid.columns = std::ceil(std::sqrt(double(count)));
  grid.rows = ceilDiv(count, grid.columns);
  return grid;
}

Expected<Picture> cli::drawPicture(llvm::ArrayRef<MaskTiles> masks) {
  constexpr int64_t maxPixels = int64_t(1) << 28;
  // The last colour is that of the ground.
  constexpr uint8_t ground = 3;
  Picture picture;
  picture.colors = {{{0xe6, 0xe6, 0xe6},
                     {0xf2, 0x9e, 0x38},
                     {0x1f, 0x4e, 0x8c},
                     {0xff, 0xff, 0xff}}};
  picture.width = picture.height = kGap;
  for (const MaskTiles &mask : masks) {
    Grid grid = makeGrid(mask);
    picture.width =
        std::max(picture.width, kGap + grid.columns * (grid.width + kGap));
    picture.height += grid.rows * (grid.height + kGap);
  }
  if (double(picture.width) * double(picture.height) > double(maxPixels))
    return llvm::createStringError(llvm::formatv(
        "expects a picture of at most {0} pixels, but got {1}x{2}; larger "
        "tiles make it smaller",
        maxPixels, picture.width, picture.height));
  picture.pixels.assign(picture.width * picture.height, ground);

  int64_t top = kGap;
  for (const MaskTiles &mask : masks) {
    Grid grid = makeGrid(mask);
    for (size_t number = 0; number != mask.groups.size(); ++number) {
      int64_t left =
          kGap + int64_t(number) % grid.columns * (grid.width + kGap);
      int64_t y0 = top + int64_t(number) / grid.columns * (grid.height + kGap);
      const std::vector<TileClass> &tiles = mask.groups[number].tiles;
      for (int64_t y = 0; y != grid.height; ++y)
        for (int64_t x = 0; x != grid.width; ++x)
          picture.pixels[(y0 + y) * picture.width + left + x] =
              uint8_t(tiles[y / grid.zoom * mask.numColumns + x / grid.zoom]);
    }
    top += grid.rows * (grid.height + kGap);
  }
  return std::move(picture);
}
