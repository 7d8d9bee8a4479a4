//===- BlockPromiseTest.cpp - The promise of the blocks region ------------===//
//
// Compares the bounds of random masks, tile by tile, with the masks themselves.
//
//===----------------------------------------------------------------------===//

#include "RandomRegion.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::OnlineAttentionOp;

namespace {
/// How much of the work the bounds save, over all tiles that were checked.
struct Savings {
  int64_t tiles = 0, keys = 0, skipped = 0, full = 0;
};

/// One mask with its bounds, to be checked on tiles.
class Promise : public ::testing::Test {
protected:
  Promise() : context(makeContext()) {}

  /// Derives the bounds; says whether there are any.
  bool derive(const std::string &mask, bool canonicalize) {
    text = makeOnlineAttention("", mask);
    module = parse(*context, text);
    if (!module)
      return false;
    op = getAttention(*module);
    original = std::make_unique<Region>();
    IRMapping mapping;
    op.getMask().cloneInto(original.get(), mapping);
    IRRewriter rewriter(context.get());
    if (canonicalize)
      mlir::attn::cleanUpRegions(op);
    mlir::attn::classifyBlocks(rewriter, op);
    EXPECT_TRUE(succeeded(verify(*module))) << text;
    return !op.getBlocks().empty();
  }

  bool isAllowed(int64_t b, int64_t h, int64_t i, int64_t j,
                 const CaptureData &data) {
    std::vector<Scalar> arguments = {Scalar::of(b), Scalar::of(h),
                                     Scalar::of(i), Scalar::of(j)};
    llvm::append_range(arguments, data.get());
    return interpret(*original, arguments)[0].integer != 0;
  }

  /// Checks one tile for all batches and heads.
  void check(int64_t begin, int64_t end, int64_t skv, const CaptureData &data) {
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t h = 0; h < kHeads; ++h) {
        std::vector<Scalar> arguments = {Scalar::of(b), Scalar::of(h),
                                         Scalar::of(begin), Scalar::of(end),
                                         Scalar::of(skv)};
        llvm::append_range(arguments, data.get());
        std::vector<Scalar> bounds = interpret(op.getBlocks(), arguments);
        int64_t lo = bounds[0].integer, fullLo = bounds[1].integer,
                fullHi = bounds[2].integer, hi = bounds[3].integer;
        std::string where =
            "b " + std::to_string(b) + " h " + std::to_string(h) + " rows " +
            std::to_string(begin) + ".." + std::to_string(end) + " skv " +
            std::to_string(skv) + " captures " + std::to_string(data.first) +
            ", " + std::to_string(data.second) + ": " + std::to_string(lo) +
            " " + std::to_string(fullLo) + " " + std::to_string(fullHi) + " " +
            std::to_string(hi) + "\n" + text;
        ASSERT_TRUE(0 <= lo && lo <= fullLo && fullLo <= fullHi &&
                    fullHi <= hi && hi <= skv)
            << where;
        for (int64_t j = 0; j < skv; ++j)
          for (int64_t i = begin; i < end; ++i) {
            bool allowed = isAllowed(b, h, i, j, data);
            ASSERT_FALSE(allowed && (j < lo || j >= hi))
                << "skips i " << i << " j " << j << " at " << where;
            ASSERT_FALSE(!allowed && j >= fullLo && j < fullHi)
                << "allows i " << i << " j " << j << " at " << where;
          }
        savings.tiles += 1;
        savings.keys += skv;
        savings.skipped += skv - (hi - lo);
        savings.full += fullHi - fullLo;
      }
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  OnlineAttentionOp op;
  std::unique_ptr<Region> original;
  std::string text;
  Savings savings;
};
} // namespace

TEST_F(Promise, HoldsForRandomMasks) {
  unsigned derived = 0, total = 1500;
  for (unsigned seed = 0; seed < total; ++seed) {
    RandomRegion random(seed);
    std::string mask = random.makeMask(/*depth=*/1 + seed % 4);
    if (!derive(mask, /*canonicalize=*/seed % 2))
      continue;
    ++derived;
    for (unsigned repeat = 0; repeat < 3; ++repeat) {
      CaptureData data = random.makeCaptures();
      int64_t skv = random.pick(0, kMaxRows);
      int64_t begin = random.pick(0, kMaxRows - 1);
      int64_t end = random.pick(begin + 1, kMaxRows);
      check(begin, end, skv, data);
      check(begin, begin + 1, skv, data);
      if (HasFatalFailure())
        return;
    }
  }
  // The test would be void if few masks were understood, or bounds were loose.
  EXPECT_GT(derived, total / 2);
  EXPECT_GT(savings.skipped, savings.keys / 5);
  EXPECT_GT(savings.full, savings.keys / 10);
  RecordProperty("derived", static_cast<int>(derived));
}

TEST_F(Promise, HoldsForCapturesNearTheEndsOf64Bits) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t extremes[] = {least, least + 1, least + 20, least / 2, -1,  0,
                              1,     most / 2,  most - 20,  most - 1,  most};
  // Both sides are free of overflow whatever the captures are.
  const char *const sides[] = {
      "%d = arith.subi %i, %j : index\n", "%d = arith.subi %j, %i : index\n",
      "%z = arith.constant 0 : index\n%d = arith.addi %j, %z : index\n",
      "%z = arith.constant 0 : index\n%d = arith.addi %i, %z : index\n",
      ("%t = arith.constant 3 : index\n%u = arith.muli %j, %t : index\n"
       "%d = arith.subi %i, %u : index\n")};
  const char *const predicates[] = {"slt", "sle", "sgt", "sge", "eq", "ne"};
  for (const char *side : sides)
    for (const char *predicate : predicates)
      for (bool swap : {false, true}) {
        std::string mask =
            std::string(side) + "%p = arith.cmpi " + predicate +
            (swap ? ", %c0, %d : index\n" : ", %d, %c0 : index\n") +
            "attn.yield %p : i1\n";
        ASSERT_TRUE(derive(mask, /*canonicalize=*/false)) << text;
        for (int64_t extreme : extremes) {
          CaptureData data{extreme, 0, {0, 0}, std::vector<int64_t>(kMaxRows)};
          check(0, 4, 9, data);
          check(3, 9, 6, data);
          if (HasFatalFailure())
            return;
        }
      }
}

TEST_F(Promise, HoldsWhereACaptureIsSubtractedFromNothing) {
  // j + c >= 0 becomes j >= 0 - c, and the least integer has no negative.
  ASSERT_TRUE(derive("%z = arith.constant 0 : index\n"
                     "%d = arith.addi %j, %c0 : index\n"
                     "%p = arith.cmpi sge, %d, %z : index\n"
                     "attn.yield %p : i1\n",
                     /*canonicalize=*/false))
      << text;
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  for (int64_t capture : {least, least + 1, int64_t(-3), int64_t(4)}) {
    CaptureData data{capture, 0, {0, 0}, std::vector<int64_t>(kMaxRows)};
    check(0, 4, 9, data);
  }
}

/// The best that bounds can be, found by looking at every key.
static std::array<int64_t, 2> findPossible(const std::vector<bool> &any) {
  auto first = llvm::find(any, true);
  if (first == any.end())
    return {0, 0};
  int64_t hi = any.size();
  while (!any[hi - 1])
    --hi;
  return {first - any.begin(), hi};
}

TEST_F(Promise, IsTightForCommonMasks) {
  const std::pair<const char *, const char *> masks[] = {
      {"causal", "%p = arith.cmpi sle, %j, %i : index\n"},
      {"bottom-right", "%o = arith.addi %i, %c0 : index\n"
                       "%p = arith.cmpi sle, %j, %o : index\n"},
      {"window", "%d = arith.subi %i, %j : index\n"
                 "%x = arith.cmpi slt, %d, %c0 : index\n"
                 "%y = arith.cmpi sle, %j, %i : index\n"
                 "%p = arith.andi %x, %y : i1\n"},
      {"two-sided window", "%d = arith.subi %i, %j : index\n"
                           "%e = math.absi %d : index\n"
                           "%p = arith.cmpi sle, %e, %c0 : index\n"},
      {"prefix", "%x = arith.cmpi sle, %j, %i : index\n"
                 "%y = arith.cmpi slt, %j, %c0 : index\n"
                 "%p = arith.ori %x, %y : i1\n"},
      {"padding", "%x = arith.cmpi slt, %i, %c0 : index\n"
                  "%y = arith.cmpi slt, %j, %c0 : index\n"
                  "%p = arith.andi %x, %y : i1\n"},
      {"blocks", "%n = arith.constant 4 : index\n"
                 "%x = arith.divui %i, %n : index\n"
                 "%y = arith.floordivsi %j, %n : index\n"
                 "%p = arith.cmpi eq, %x, %y : index\n"},
      {"stride", "%n = arith.constant 3 : index\n"
                 "%x = arith.muli %j, %n : index\n"
                 "%y = arith.addi %i, %c0 : index\n"
                 "%p = arith.cmpi sle, %x, %y : index\n"},
      {"second head only", "%n = arith.constant 1 : index\n"
                           "%x = arith.cmpi eq, %h, %n : index\n"
                           "%y = arith.cmpi sge, %j, %i : index\n"
                           "%p = arith.andi %x, %y : i1\n"}};
  for (auto [name, body] : masks) {
    // Rows of an empty window contradict themselves one by one, which the
    // interval of each condition over all rows does not see.
    bool needsKeys = StringRef(name).ends_with("window");
    ASSERT_TRUE(derive(std::string(body) + "attn.yield %p : i1\n", true));
    for (int64_t capture : {-3, 0, 2, 5, 20}) {
      if (capture <= 0 && needsKeys)
        continue;
      for (int64_t begin = 0; begin < 10; begin += 3)
        for (int64_t end : {begin + 1, begin + 4})
          for (int64_t h = 0; h < kHeads; ++h) {
            constexpr int64_t skv = 11;
            CaptureData data{capture, 0, {0, 0}, std::vector<int64_t>(14)};
            std::vector<bool> any(skv, false), all(skv, true);
            for (int64_t j = 0; j < skv; ++j)
              for (int64_t i = begin; i < end; ++i) {
                bool allowed = isAllowed(0, h, i, j, data);
                any[j] = any[j] || allowed;
                all[j] = all[j] && allowed;
              }
            std::vector<Scalar> arguments = {Scalar::of(0), Scalar::of(h),
                                             Scalar::of(begin), Scalar::of(end),
                                             Scalar::of(skv)};
            llvm::append_range(arguments, data.get());
            std::vector<Scalar> bounds = interpret(op.getBlocks(), arguments);
            std::array<int64_t, 2> possible = findPossible(any);
            std::array<int64_t, 2> full = findPossible(all);
            std::string where = std::string(name) + " with " +
                                std::to_string(capture) + ", rows " +
                                std::to_string(begin) + ".." +
                                std::to_string(end) + " h " + std::to_string(h);
            EXPECT_EQ(bounds[3].integer - bounds[0].integer,
                      possible[1] - possible[0])
                << where;
            EXPECT_EQ(bounds[2].integer - bounds[1].integer, full[1] - full[0])
                << where;
          }
    }
  }
}
