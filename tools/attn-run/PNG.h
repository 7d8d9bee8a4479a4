//===- PNG.h - Pictures of few colours --------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_PNG_H
#define ATTN_TOOLS_ATTNRUN_PNG_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// A picture of up to four colours.
struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  /// Row-major numbers of colours.
  std::vector<uint8_t> pixels;
  /// Red, green and blue.
  std::array<std::array<uint8_t, 3>, 4> colors = {};
};

/// The bytes of a PNG file. They are not compressed: two bits for a pixel are
/// small enough, every build writes the same bytes, and none needs zlib.
std::string encodePNG(const Picture &picture);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_PNG_H
