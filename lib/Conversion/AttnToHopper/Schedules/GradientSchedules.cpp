//===- GradientSchedules.cpp - Schedules of gradients ---------------------===//
//
// The queries of a block are as many as columns of dq are not: a replica has 64
// of what is not among the rows of the work tile, see emitAllRowsProduct.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Which of the parts of dq that are computed one after the other a place is
/// for: those of the first warpgroup, those of the second, or all.
enum class Parts { All, OfFirst, OfSecond };
/// A step of an iteration, late if it is of the block before.
struct Place {
  StringRef name;
  bool isLate = false;
  Parts parts = Parts::All;
};
} // namespace

/// Whether gradients of scores are computed: not for those of values alone.
static bool needsScores(AttentionGradOp op) {
  return op.getOutOf(kGradQuery) || op.getOutOf(kGradKey) ||
         hasContributions(op);
}

static int64_t getNumParts(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  return attention.getQueryKeyDim() / getColumnsAtOnce(op);
}

/// How many parts of dq the first of two warpgroups computes, so that both have
/// about as much to multiply. It has the scores and dk, and dp if derivatives
/// of scores are computed; the second has dv, or else dp.
static int64_t getNumPartsOfFirst(AttentionGradOp op) {
  bool hasScore = !op.getScore().empty();
  int64_t first = 1 + (op.getOutOf(kGradKey) ? 1 : 0) + hasScore,
          second = (op.getOutOf(kGradValue) ? 1 : 0) + !hasScore,
          parts = getNumParts(op);
  return std::clamp<int64_t>(parts * (second + 1 - first) / 2, 0, parts);
}

/// The steps that compute and add a part of dq.
static SmallVector<std::string> getSumSteps(AttentionGradOp op, int64_t part) {
  std::string suffix =
      getNumParts(op) == 1 ? std::string() : std::to_string(part);
  return {"dq" + suffix, "red" + suffix};
}

/// Without the steps of gradients that are not wanted. Where dq is computed in
/// parts, each is added before the next one is computed.
static ArrayAttr getOrder(AttentionGradOp op, ArrayRef<Place> places) {
  Builder builder(op.getContext());
  SmallVector<Attribute> order;
  int64_t parts = getNumParts(op);
  auto add = [&](const Twine &name, bool isLate) {
    order.push_back(hopper::PlaceAttr::get(builder.getContext(), name.str(),
                                           isLate ? 1 : 0));
  };
  for (const Place &place : places) {
    bool isSum = place.name == "dq" || place.name == "red";
    bool isWanted =
        llvm::StringSwitch<bool>(place.name)
            .Cases({"dq", "red"}, op.getOutOf(kGradQuery) != nullptr)
            .Cases({"dp", "ds"}, needsScores(op))
            .Case("dk", op.getOutOf(kGradKey) != nullptr)
            .Case("dv", op.getOutOf(kGradValue) != nullptr)
            .Default(true);
    if (!isWanted)
      continue;
    if (!isSum || (parts == 1 && place.parts == Parts::All)) {
      add(place.name, place.isLate);
      continue;
    }
    int64_t middle = getNumPartsOfFirst(op);
    int64_t first = place.parts == Parts::OfSecond ? middle : 0,
            end = place.parts == Parts::OfFirst ? middle : parts;
    if (place.name == "dq")
      for (int64_t part = first; part < end; ++part)
        for (const std::string &step : getSumSteps(op, part))
          add(step, place.isLate);
  }
  return builder.getArrayAttr(order);
}

/// Of a head dimension for which one warpgroup cannot hold dk and dv: the first
/// has scores and dk, the second dv and what goes with its operands, and both
/// have parts of dq. Tiles that cross are rounded, which the argument of a
/// score's derivative is not.
static DictionaryAttr getPartitions(AttentionGradOp op) {
  Builder builder(op.getContext());
  SmallVector<NamedAttribute> partitions;
  auto add = [&](StringRef step) {
    partitions.push_back(
        builder.getNamedAttr(step, builder.getStringAttr("second")));
  };
  if (needsScores(op) && op.getScore().empty()) {
    add("dp");
    add("ds");
  }
  if (op.getOutOf(kGradValue))
    add("dv");
  if (op.getOutOf(kGradQuery) && !partitions.empty())
    for (int64_t part = getNumPartsOfFirst(op); part < getNumParts(op); ++part)
      for (const std::string &step : getSumSteps(op, part))
        add(step);
  return builder.getDictionaryAttr(partitions);
}

SmallVector<HopperSchedule>
mlir::attn::getGradientSchedules(AttentionGradOp gradient) {
  AttentionLikeOpInterface op = gradient;
  Builder builder(op.getContext());
  int64_t queryKeyDim = op.getQueryKeyDim(), valueDim = op.getValueDim();
  int64_t dim = std::max(queryKeyDim, valueDim);
  bool isMasked = !op.getMask().empty();
  // Work tiles of a head that run at a time and add in an order wait for each
  // other, each for a part of an iteration of the one before: the more heads
  // take turns, the fewer they are. In any order it is for the longest ones of
  // several heads to come first.
  bool isOrdered =
      gradient.getOutOf(kGradQuery) && !gradient.getNondeterministic();
  int64_t headSwizzle = isOrdered ? 32 : isMasked ? 8 : 1;
  SmallVector<HopperSchedule> schedules;
  auto add = [&](int64_t tileM, int64_t tileN, int64_t stages,
                 int64_t registers, int64_t minCtasPerSm, ArrayRef<Place> order,
                 ArrayRef<StringRef> exclusive, double tileCost, double keyCost,
                 DictionaryAttr partitions = {},
                 bool isStrided = false) -> HopperSchedule & {
    SmallVector<Attribute> names;
    for (StringRef name : exclusive)
      names.push_back(builder.getStringAttr(name));
    HopperSchedule &added = schedules.emplace_back();
    added.schedule = hopper::ScheduleAttr::get(
        op.getContext(), tileM, tileN, stages, registers, headSwizzle,
        /*headSwizzleKeys=*/0, /*captureStages=*/0, minCtasPerSm,
        /*inFlight=*/tileM > 64 ? 2
        : partitions            ? 0
                                : 1,
        /*longestFirst=*/false, /*zigzag=*/false,
        /*shortFirst=*/false, /*persistent=*/false, /*pingPong=*/false,
        /*qInRegisters=*/false, /*biasInProduct=*/false, isStrided,
        /*splitKV=*/false, /*packGQA=*/false,
        /*reuseQ=*/false, getOrder(gradient, order),
        names.empty() ? ArrayAttr() : builder.getArrayAttr(names), partitions);
    added.isForAnyStrides = isStrided;
    added.tileCost = tileCost;
    added.keyCost = isMasked ? keyCost / 2 : keyCost;
    return added;
  };
  // dq is computed one block later, beside what follows.
  const Place late[] = {{"load_q"}, {"qk"},       {"exp"}, {"load_do"},
                        {"dp"},     {"dv"},       {"ds"},  {"dq", true},
                        {"dk"},     {"red", true}};
  const Place plain[] = {{"load_q"}, {"qk"}, {"exp"}, {"load_do"}, {"dp"},
                         {"dv"},     {"ds"}, {"dq"},  {"dk"},      {"red"}};
  StringRef last = needsScores(gradient) ? "dp" : "dv";
  auto addStrided = [&](int64_t tileN) {
    add(64, tileN, 1, 240, 1, plain, {}, 5.0, 200.0e-3, {},
        /*isStrided=*/true);
  };
  // Where pairs add to gradients of captures takes registers, as do scores that
  // adjoints read: they stay until then, beside the dx of a late dq.
  if (hasContributions(gradient) && dim <= 128) {
    bool ofDiagonals = hasSumsOfDiagonals(gradient);
    bool isRead = readsScores(gradient);
    ArrayRef<Place> order = isRead ? ArrayRef(plain) : ArrayRef(late);
    SmallVector<StringRef> exclusive = {"exp", last};
    if (queryKeyDim == 128) {
      // With scores that adjoints read ptxas spills 8 to 72 bytes, stores and
      // loads together, which costs less than smaller tiles
      // (docs/benchmarks.md).
      if (!ofDiagonals)
        add(128, 80, 2, 240, 1, order, exclusive, 5.0, 38.0e-3).spillBytes = 96;
      add(128, kDiagonalRows, 2, 240, 1, order, exclusive, 5.0, 42.0e-3);
    } else {
      // Turns take registers, too.
      if (isRead)
        exclusive.clear();
      if (dim <= 64 && !ofDiagonals)
        add(128, 128, 2, 240, 1, order, exclusive, 5.0, 24.0e-3);
      add(64, kDiagonalRows, 1, 216, 2, plain, {}, 3.0, 30.0e-3);
    }
    add(64, kDiagonalRows, 2, 240, 1, plain, {}, 5.0, 60.0e-3).isLastResort =
        true;
    addStrided(kDiagonalRows);
    return schedules;
  }
  // Scores take the registers of that, and those of blocks with weights.
  bool hasBoth = getWeight(op) && changesScores(op);
  bool isLate = !changesScores(op) && gradient.getOutOf(kGradQuery);
  if (queryKeyDim > 64 && queryKeyDim <= 128 && queryKeyDim % 16 == 0 &&
      valueDim <= 128) {
    // The columns of dq are shared out, of which there are 128 in shared
    // memory.
    int64_t numQueries = dim <= 96 && !getWeight(op) ? 96 : 80;
    if (isLate)
      add(128, numQueries, 2, 240, 1, late, {"exp", last}, 5.0, 33.0e-3);
    if (!hasBoth)
      add(128, numQueries, 2, 240, 1, plain, {"exp", last}, 5.0, 35.0e-3);
    add(128, 64, 2, 240, 1, plain, {"exp", last}, 5.0, 37.0e-3).isLastResort =
        !hasBoth;
    if (hasBoth)
      add(128, 48, 2, 240, 1, plain, {"exp", last}, 5.0, 40.0e-3).isLastResort =
          true;
  } else if (dim <= 64 && !hasBoth) {
    if (isLate)
      add(128, 128, 2, 240, 1, late, {"exp", last}, 5.0, 19.0e-3);
    add(128, 128, 2, 240, 1, plain, {}, 5.0, 21.0e-3);
  } else if (dim <= 128) {
    // Two CTAs have shared memory for one block of queries each.
    add(64, 64, 1, 216, 2, plain, {}, 3.0, 25.0e-3);
  }
  if (dim > 128 && !getPartitions(gradient).empty()) {
    // The first warpgroup has dk and its parts of dq of the block before,
    // beside the probabilities of the next one.
    const Place crossed[] = {{"load_q"},
                             {"qk"},
                             {"dk", true},
                             {"exp"},
                             {"dq", true, Parts::OfFirst},
                             {"load_do"},
                             {"dp"},
                             {"dv"},
                             {"ds"},
                             {"dq", false, Parts::OfSecond}};
    const Place split[] = {{"load_q"}, {"qk"}, {"exp"}, {"load_do"}, {"dp"},
                           {"dv"},     {"ds"}, {"dk"},  {"dq"},      {"red"}};
    // With a score, the second one gives nothing back, so that tiles that it
    // gets take the memory of a second stage.
    bool hasScore = !op.getScore().empty();
    if (!hasScore)
      add(64, 64, 2, 240, 1, crossed, {}, 5.0, 36.0e-3,
          getPartitions(gradient));
    add(64, 64, hasScore ? 1 : 2, 240, 1, split, {}, 5.0, 40.0e-3,
        getPartitions(gradient));
  }
  add(64, 64, dim <= 128 ? 2 : 1, 240, 1, plain, {}, 5.0, 40.0e-3)
      .isLastResort = !schedules.empty();
  addStrided(64);
  return schedules;
}
