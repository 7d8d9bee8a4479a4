//===- MaskReport.cpp - Masks as text and as JSON -------------------------===//

#include "MaskReport.h"
#include "MaskPicture.h"
#include "Summary.h"
#include "Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace attn;
using namespace attn::cli;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::json::OStream;

/// More are not listed, or not drawn, in the text.
static constexpr size_t kMaxRows = 16;
static constexpr size_t kMaxDrawings = 4;

/// The part of tiles that are not empty.
static double getVisited(const MaskTiles &mask, const MaskHeads &heads) {
  double tiles = double(heads.tiles.size());
  return tiles == 0 ? 0 : 1 - double(heads.count(TileClass::Empty)) / tiles;
}

/// The line of the program that an attention is at, or 0.
static unsigned getLine(const MaskTiles &mask) {
  auto location = mask.op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  return location ? location.getLine() : 0;
}

//===----------------------------------------------------------------------===//
// Heads in words
//===----------------------------------------------------------------------===//

/// "0 to 3, 6" of ascending numbers.
static std::string formatRanges(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (size_t begin = 0; begin != numbers.size();) {
    size_t end = begin + 1;
    while (end != numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += text.empty() ? "" : ", ";
    text += std::to_string(numbers[begin]);
    if (end - begin > 1)
      text +=
          (end - begin == 2 ? ", " : " to ") + std::to_string(numbers[end - 1]);
    begin = end;
  }
  return text;
}

std::string cli::describeHeads(const MaskTiles &mask, const MaskHeads &heads) {
  size_t all = mask.batch * mask.heads;
  if (heads.heads.size() == all)
    return all == 1 ? "the only one" : formatv("all {0}", all).str();
  std::vector<int64_t> b, h;
  for (auto [batch, head] : heads.heads) {
    b.push_back(batch);
    h.push_back(head);
  }
  for (std::vector<int64_t> *list : {&b, &h}) {
    llvm::sort(*list);
    list->erase(llvm::unique(*list), list->end());
  }
  // All combinations of some batches and some heads.
  if (b.size() * h.size() == heads.heads.size()) {
    if (int64_t(h.size()) == mask.heads)
      return "b " + formatRanges(b);
    if (int64_t(b.size()) == mask.batch)
      return "h " + formatRanges(h);
    return "b " + formatRanges(b) + "; h " + formatRanges(h);
  }
  constexpr size_t shown = 4;
  std::string text;
  for (auto [batch, head] : llvm::ArrayRef(heads.heads).take_front(shown))
    text += formatv("{0}({1}, {2})", text.empty() ? "" : ", ", batch, head);
  if (heads.heads.size() > shown)
    text += formatv(" and {0} more", heads.heads.size() - shown);
  return text;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printCounts(raw_ostream &os, const MaskTiles &mask) {
  Table rows = {{"heads", "density", "empty", "partial", "full", "visited"}};
  for (const MaskHeads &group :
       llvm::ArrayRef(mask.groups).take_front(kMaxRows))
    rows.push_back({describeHeads(mask, group),
                    formatNumber(mask.getDensity(group), 4),
                    std::to_string(group.count(TileClass::Empty)),
                    std::to_string(group.count(TileClass::Partial)),
                    std::to_string(group.count(TileClass::Full)),
                    formatNumber(getVisited(mask, group), 4)});
  if (mask.groups.size() > 1) {
    int64_t empty = mask.count(TileClass::Empty), all = mask.getNumTiles();
    rows.push_back(
        {"together", formatNumber(mask.getDensity(), 4), std::to_string(empty),
         std::to_string(mask.count(TileClass::Partial)),
         std::to_string(mask.count(TileClass::Full)),
         formatNumber(all ? 1 - double(empty) / double(all) : 0, 4)});
  }
  printTable(os, rows);
  if (mask.groups.size() > kMaxRows)
    os << formatv("  and {0} more that differ; --format=json lists all\n",
                  mask.groups.size() - kMaxRows);
}

static void printVisits(raw_ostream &os, const MaskReport &report,
                        size_t number) {
  std::optional<double> speedup = report.getPredictedSpeedup(number);
  std::string predicted =
      "predicted speed-up " + (speedup ? formatNumber(*speedup, 4) : "-");
  if (report.compiled.empty()) {
    os << "  what the compiler visits is not known: " << report.whyNotCompiled
       << '\n'
       << "  " << predicted << " if that is what is not empty\n";
    return;
  }
  const auto &[blocks, way, cost] = report.compiled[number];
  os << formatv("  the compiler visits {0} of {1} tiles, {2} of them without "
                "asking the mask: {3}\n",
                blocks.numVisited, blocks.numTiles, blocks.numFull, predicted);
  const MaskTiles &mask = report.masks[number];
  os << formatv("  {0} are needed; how it knows: {1}\n",
                mask.getNumTiles() - mask.count(TileClass::Empty), way);
  if (!cost.empty())
    os << "  " << cost << '\n';
}

static void printDrawings(raw_ostream &os, const MaskTiles &mask) {
  TextScale scale = chooseTextScale(mask);
  std::string unit =
      formatv("a character is up to {0} tiles down and {1} across", scale.rows,
              scale.columns);
  if (scale.width == 2)
    unit = "two characters are a tile";
  os << formatv("  queries down, keys across; {0} empty, {1} partial, {2} "
                "full; {3}\n",
                kClassCharacters[0], kClassCharacters[1], kClassCharacters[2],
                unit);
  for (const MaskHeads &group :
       llvm::ArrayRef(mask.groups).take_front(kMaxDrawings)) {
    if (mask.groups.size() > 1)
      os << "  " << describeHeads(mask, group) << '\n';
    for (const std::string &line : drawText(mask, group, scale))
      os << "    " << line << '\n';
  }
  if (mask.groups.size() > kMaxDrawings)
    os << formatv("  and {0} more that differ; --show-mask=png draws all\n",
                  mask.groups.size() - kMaxDrawings);
}

void cli::printMasks(raw_ostream &os, const MaskReport &report) {
  for (auto [number, mask] : llvm::enumerate(report.masks)) {
    os << "mask";
    if (unsigned line = getLine(mask))
      os << " of the attention in line " << line;
    os << formatv(": batch {0}, {1} head{2}, {3} queries, {4} keys, in tiles "
                  "of {5}x{6}\n",
                  mask.batch, mask.heads, mask.heads == 1 ? "" : "s",
                  mask.queries, mask.keys, mask.tileRows, mask.tileColumns);
    printCounts(os, mask);
    printVisits(os, report, number);
    if (report.file.empty())
      printDrawings(os, mask);
  }
  if (report.measuredSpeedup)
    os << "  measured speed-up " << formatNumber(*report.measuredSpeedup, 4)
       << ": time without masks / time\n";
  else if (!report.whyNotMeasured.empty())
    os << "  speed-up not measured: " << report.whyNotMeasured << '\n';
  if (!report.file.empty())
    os << formatv("  drawn in {0}: {1}x{2} pixels; queries down, keys across; "
                  "grey empty, orange partial, blue full\n",
                  report.file, report.width, report.height);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Value toJSON(std::optional<double> value) {
  if (!value)
    return nullptr;
  if (std::isfinite(*value))
    return *value;
  return formatNumber(*value);
}

/// The lines of tiles, one character for each: '.', '+' and '#'.
static void printTiles(OStream &json, const MaskTiles &mask,
                       const MaskHeads &heads) {
  json.attributeArray("tiles", [&] {
    for (int64_t row = 0; row != mask.numRows; ++row) {
      std::string line;
      for (int64_t column = 0; column != mask.numColumns; ++column)
        line += ".+#"[int(heads.tiles[row * mask.numColumns + column])];
      json.value(line);
    }
  });
}

static void printGroup(OStream &json, const MaskTiles &mask,
                       const MaskHeads &group) {
  json.object([&] {
    json.attributeArray("heads", [&] {
      for (auto [b, h] : group.heads)
        json.value(llvm::json::Array{b, h});
    });
    json.attribute("allowed", group.numAllowed);
    json.attribute("density", mask.getDensity(group));
    json.attribute("empty", group.count(TileClass::Empty));
    json.attribute("partial", group.count(TileClass::Partial));
    json.attribute("full", group.count(TileClass::Full));
    json.attribute("visited", getVisited(mask, group));
    printTiles(json, mask, group);
  });
}

static void printMask(OStream &json, const MaskReport &report, size_t number) {
  const MaskTiles &mask = report.masks[number];
  json.attribute("line", int64_t(getLine(mask)));
  json.attribute("batch", mask.batch);
  json.attribute("heads", mask.heads);
  json.attribute("queries", mask.queries);
  json.attribute("keys", mask.keys);
  json.attribute("block", llvm::json::Array{mask.tileRows, mask.tileColumns});
  json.attribute("density", mask.getDensity());
  json.attribute("all", mask.getNumTiles());
  json.attribute("empty", mask.count(TileClass::Empty));
  json.attribute("partial", mask.count(TileClass::Partial));
  json.attribute("full", mask.count(TileClass::Full));
  if (report.compiled.empty()) {
    json.attribute("compiler", nullptr);
    json.attribute("compiler_unknown",
                   llvm::json::fixUTF8(report.whyNotCompiled));
  } else {
    const CompiledMask &compiled = report.compiled[number];
    json.attributeObject("compiler", [&] {
      json.attribute("visited", compiled.blocks.numVisited);
      json.attribute("full", compiled.blocks.numFull);
      json.attribute("needed",
                     mask.getNumTiles() - mask.count(TileClass::Empty));
      json.attribute("classes", compiled.way);
      json.attribute("predicate", compiled.cost);
    });
  }
  json.attribute("predicted_speedup",
                 toJSON(report.getPredictedSpeedup(number)));
  json.attributeArray("groups", [&] {
    for (const MaskHeads &group : mask.groups)
      printGroup(json, mask, group);
  });
}

void cli::printMasks(OStream &json, const MaskReport &report) {
  json.attributeArray("masks", [&] {
    for (size_t number = 0; number != report.masks.size(); ++number)
      json.object([&] { printMask(json, report, number); });
  });
  json.attribute("measured_speedup", toJSON(report.measuredSpeedup));
  if (!report.whyNotMeasured.empty())
    json.attribute("not_measured", report.whyNotMeasured);
  if (!report.file.empty())
    json.attributeObject("picture", [&] {
      json.attribute("file", llvm::json::fixUTF8(report.file));
      json.attribute("width", report.width);
      json.attribute("height", report.height);
    });
}
