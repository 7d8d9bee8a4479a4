//===- PNG.cpp - Pictures of few colours ----------------------------------===//
//
// As in "Portable Network Graphics (PNG) Specification", third edition, with
// the blocks of RFC 1951 (deflate) that store bytes as they are, in the frame
// of RFC 1950 (zlib).
//
//===----------------------------------------------------------------------===//

#include "PNG.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"

using namespace attn::cli;
using llvm::StringRef;

static void append32(std::string &bytes, uint32_t number) {
  char text[4];
  llvm::support::endian::write32be(text, number);
  bytes.append(text, sizeof(text));
}

/// A length, a name, the data, and a checksum of both.
static void appendChunk(std::string &file, StringRef name, StringRef data) {
  append32(file, data.size());
  std::string chunk = (name + data).str();
  file += chunk;
  append32(file, llvm::crc32(llvm::arrayRefFromStringRef(chunk)));
}

static uint32_t adler32(StringRef data) {
  uint32_t a = 1, b = 0;
  for (uint8_t byte : data.bytes()) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

/// A stream of zlib that holds the bytes as they are.
static std::string store(StringRef data) {
  constexpr size_t maxBlock = 65535;
  const uint32_t checksum = adler32(data);
  std::string stream = "\x78\x01";
  do {
    StringRef block = data.take_front(maxBlock);
    data = data.drop_front(block.size());
    stream += data.empty() ? '\1' : '\0';
    char sizes[4];
    llvm::support::endian::write16le(sizes, block.size());
    llvm::support::endian::write16le(sizes + 2, ~block.size());
    stream.append(sizes, sizeof(sizes));
    stream += block;
  } while (!data.empty());
  append32(stream, checksum);
  return stream;
}

std::string attn::cli::encodePNG(const Picture &picture) {
  constexpr char bitDepth = 2, indexedColors = 3;
  std::string header;
  append32(header, picture.width);
  append32(header, picture.height);
  header += {bitDepth, indexedColors, 0, 0, 0};
  std::string palette;
  for (const auto &color : picture.colors)
    palette.append(color.begin(), color.end());

  // Four pixels to a byte, the first in the highest bits, and before each row
  // the number of its filter, which is none.
  std::string rows;
  for (int64_t y = 0; y != picture.height; ++y) {
    rows += '\0';
    const uint8_t *row = picture.pixels.data() + y * picture.width;
    for (int64_t x = 0; x < picture.width; x += 4) {
      unsigned byte = 0;
      for (int64_t n = x; n != x + 4; ++n)
        byte = byte << 2 | (n < picture.width ? row[n] : 0);
      rows += char(byte);
    }
  }

  std::string file = "\x89PNG\r\n\x1a\n";
  appendChunk(file, "IHDR", header);
  appendChunk(file, "PLTE", palette);
  appendChunk(file, "IDAT", store(rows));
  appendChunk(file, "IEND", "");
  return file;
}
