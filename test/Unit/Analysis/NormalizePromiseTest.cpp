//===- NormalizePromiseTest.cpp - Normal forms of masks mean the same -----===//
//
// Compares random masks with their normal forms, pair by pair.
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
/// A mask next to its normal form.
class NormalizePromise : public ::testing::Test {
protected:
  NormalizePromise() : context(makeContext()) {}

  void normalize(const std::string &mask) {
    text = makeOnlineAttention("", mask);
    before = parse(*context, text);
    after = parse(*context, text);
    ASSERT_TRUE(before && after);
    from = getAttention(*before);
    to = getAttention(*after);
    IRRewriter rewriter(context.get());
    mlir::attn::normalizeMask(rewriter, to);
    ASSERT_TRUE(succeeded(verify(*after))) << text;
  }

  std::string print() {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    after->print(stream);
    return printed;
  }

  bool isAllowed(OnlineAttentionOp op, ArrayRef<int64_t> positions,
                 const CaptureData &data) {
    std::vector<Scalar> arguments;
    for (int64_t position : positions)
      arguments.push_back(Scalar::of(position));
    llvm::append_range(arguments, data.get());
    return interpret(op.getMask(), arguments)[0].integer != 0;
  }

  void check(const CaptureData &data) {
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t h = 0; h < kHeads; ++h)
        for (int64_t i = 0; i < kMaxRows; ++i)
          for (int64_t j = 0; j < kMaxRows; ++j)
            checkPair({b, h, i, j}, data);
  }

  void checkPair(ArrayRef<int64_t> positions, const CaptureData &data) {
    ASSERT_EQ(isAllowed(from, positions, data), isAllowed(to, positions, data))
        << "b " << positions[0] << " h " << positions[1] << " i "
        << positions[2] << " j " << positions[3] << " captures " << data.first
        << ", " << data.second << "\n"
        << text << print();
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> before, after;
  OnlineAttentionOp from, to;
  std::string text;
};
} // namespace

TEST_F(NormalizePromise, HoldsForRandomMasks) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomRegion random(seed);
    normalize(random.makeMask(/*depth=*/1 + seed % 4));
    check(random.makeCaptures());
    if (HasFatalFailure())
      return;
  }
}

TEST_F(NormalizePromise, IsReachedAtOnce) {
  unsigned changed = 0, total = 300;
  for (unsigned seed = 0; seed < total; ++seed) {
    RandomRegion random(seed);
    normalize(random.makeMask(/*depth=*/1 + seed % 3));
    std::string once = print();
    IRRewriter rewriter(context.get());
    mlir::attn::normalizeMask(rewriter, to);
    changed += print() != once;
  }
  // Terms that only become equal by what the last time has found.
  EXPECT_LE(changed, total / 20);
}

TEST_F(NormalizePromise, HoldsForCapturesNearTheEndsOf64Bits) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t extremes[] = {least, least + 1, least + 20, least / 2, -1,  0,
                              1,     most / 2,  most - 20,  most - 1,  most};
  // Both sides are free of overflow whatever the captures are.
  const char *const sides[] = {
      "%d = arith.subi %i, %j : index\n",
      "%d = arith.subi %j, %i : index\n",
      "%z = arith.constant 0 : index\n%d = arith.addi %j, %z : index\n",
      "%z = arith.constant 0 : index\n%d = arith.addi %i, %z : index\n",
      "%z = arith.constant 5 : index\n%d = arith.subi %z, %i : index\n",
      "%z = arith.constant 3 : index\n%d = arith.floordivsi %j, %z : index\n",
      "%z = arith.subi %i, %j : index\n%d = math.absi %z : index\n",
      ("%t = arith.constant 3 : index\n%u = arith.muli %j, %t : index\n"
       "%d = arith.subi %i, %u : index\n"),
      "%z = arith.constant 5 : index\n%d = arith.minsi %c1, %z : index\n",
      "%d = arith.maxsi %c1, %j : index\n"};
  const char *const predicates[] = {"slt", "sle", "sgt", "sge", "eq",
                                    "ne",  "ult", "uge", "ugt", "ule"};
  for (const char *side : sides)
    for (const char *predicate : predicates)
      for (bool swap : {false, true}) {
        normalize(std::string(side) + "%p = arith.cmpi " + predicate +
                  (swap ? ", %c0, %d : index\n" : ", %d, %c0 : index\n") +
                  "attn.yield %p : i1\n");
        for (int64_t first : extremes)
          for (int64_t second : extremes) {
            CaptureData data{
                first, second, {0, 0}, std::vector<int64_t>(kMaxRows)};
            for (int64_t i : {0, 3, 13})
              for (int64_t j : {0, 1, 4, 13})
                checkPair({0, 1, i, j}, data);
            if (HasFatalFailure())
              return;
          }
      }
}

TEST_F(NormalizePromise, HoldsForPositionsNearTheLastOne) {
  // Lengths are below 2^31.
  constexpr int64_t last = (int64_t(1) << 31) - 2;
  const char *const masks[] = {"%d = arith.subi %i, %j : index\n"
                               "%p = arith.cmpi slt, %d, %c0 : index\n",
                               "%x = arith.index_cast %i : index to i32\n"
                               "%y = arith.index_cast %j : index to i32\n"
                               "%z = arith.subi %x, %y : i32\n"
                               "%d = arith.index_cast %z : i32 to index\n"
                               "%p = arith.cmpi sge, %d, %c0 : index\n",
                               // The sum wraps, and keeps to it.
                               "%x = arith.index_cast %i : index to i32\n"
                               "%y = arith.index_cast %j : index to i32\n"
                               "%z = arith.addi %x, %y : i32\n"
                               "%p = arith.cmpi sge, %z, %x : i32\n",
                               "%t = arith.constant 1 : index\n"
                               "%u = arith.addi %j, %t : index\n"
                               "%x = arith.index_cast %u : index to i32\n"
                               "%y = arith.index_cast %i : index to i32\n"
                               "%p = arith.cmpi sgt, %x, %y : i32\n",
                               "%t = arith.constant 2 : i32\n"
                               "%x = arith.index_cast %i : index to i32\n"
                               "%y = arith.index_cast %j : index to i32\n"
                               "%u = arith.muli %x, %t : i32\n"
                               "%v = arith.muli %y, %t : i32\n"
                               "%p = arith.cmpi slt, %u, %v : i32\n"};
  for (const char *mask : masks) {
    normalize(std::string(mask) + "attn.yield %p : i1\n");
    for (int64_t capture : {-last - 1, int64_t(-1), int64_t(0), int64_t(1024),
                            last, last + 1, last + 2}) {
      CaptureData data{capture, 0, {0, 0}, std::vector<int64_t>(kMaxRows)};
      for (int64_t i : {int64_t(0), last / 2, last / 2 + 1, last - 1, last})
        for (int64_t j : {int64_t(0), last / 2, last / 2 + 1, last - 1, last})
          checkPair({0, 0, i, j}, data);
      if (HasFatalFailure())
        return;
    }
  }
}
