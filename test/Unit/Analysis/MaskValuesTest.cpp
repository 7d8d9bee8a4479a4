//===- MaskValuesTest.cpp - Facts about values in a mask ------------------===//

#include "attn/Analysis/MaskValues.h"
#include "RandomRegion.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::FloorDivision;
using mlir::attn::MaskValues;
using mlir::attn::Trend;

namespace {
/// The facts about `%x` in a mask body that defines it.
struct Facts {
  explicit Facts(const std::string &body) : context(makeContext()) {
    std::string text = body + "%yes = arith.constant true\n"
                              "attn.yield %yes : i1\n";
    module = parse(*context, makeOnlineAttention("", text));
    auto op = getAttention(*module);
    values = std::make_unique<MaskValues>(op);
    // The value before the constant that is yielded.
    Operation *last = op.getMask().front().getTerminator()->getPrevNode();
    x = last->getPrevNode()->getResult(0);
  }
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<MaskValues> values;
  Value x;
};
} // namespace

TEST(MaskValues, Dependences) {
  Facts sum("%x = arith.addi %i, %c0 : index\n");
  EXPECT_TRUE(sum.values->dependsOnQuery(sum.x));
  EXPECT_FALSE(sum.values->dependsOnKey(sum.x));
  Facts read("%n = tensor.extract %len[%b] : tensor<2xi32>\n"
             "%x = arith.index_cast %n : i32 to index\n");
  EXPECT_TRUE(read.values->isUniform(read.x));
  Facts branch("%c = arith.cmpi slt, %b, %h : index\n"
               "%x = scf.if %c -> index {\n scf.yield %j : index\n} else {\n"
               " scf.yield %b : index\n}\n");
  EXPECT_TRUE(branch.values->dependsOnKey(branch.x));
  EXPECT_FALSE(branch.values->dependsOnQuery(branch.x));
}

TEST(MaskValues, Trends) {
  auto trend = [](const std::string &body) {
    Facts facts(body);
    return facts.values->getTrend(facts.x);
  };
  EXPECT_EQ(trend("%x = arith.addi %c0, %c1 : index\n"), Trend::Constant);
  EXPECT_EQ(trend("%x = arith.subi %i, %c0 : index\n"), Trend::Increasing);
  EXPECT_EQ(trend("%x = arith.subi %c0, %i : index\n"), Trend::Decreasing);
  EXPECT_EQ(trend("%x = arith.addi %i, %j : index\n"), Trend::Unknown);
  EXPECT_EQ(trend("%k = arith.constant -3 : index\n"
                  "%x = arith.muli %i, %k : index\n"),
            Trend::Decreasing);
  EXPECT_EQ(trend("%x = arith.muli %i, %b : index\n"), Trend::Increasing);
  EXPECT_EQ(trend("%x = arith.muli %i, %c0 : index\n"), Trend::Unknown);
  EXPECT_EQ(trend("%k = arith.constant 4 : index\n"
                  "%x = arith.ceildivsi %i, %k : index\n"),
            Trend::Increasing);
  EXPECT_EQ(trend("%k = arith.constant 4 : index\n"
                  "%x = arith.remsi %i, %k : index\n"),
            Trend::Unknown);
  EXPECT_EQ(trend("%x = arith.divsi %i, %c0 : index\n"), Trend::Unknown);
  EXPECT_EQ(trend("%x = arith.maxsi %i, %c0 : index\n"), Trend::Increasing);
  EXPECT_EQ(trend("%k = arith.subi %c0, %i : index\n"
                  "%x = arith.minsi %i, %k : index\n"),
            Trend::Unknown);
  EXPECT_EQ(trend("%c = arith.cmpi slt, %b, %h : index\n"
                  "%x = arith.select %c, %i, %c0 : index\n"),
            Trend::Increasing);
  EXPECT_EQ(trend("%c = arith.cmpi slt, %i, %h : index\n"
                  "%x = arith.select %c, %i, %c0 : index\n"),
            Trend::Unknown);
}

TEST(MaskValues, NarrowIntegersCountWhereTheyCannotWrap) {
  auto isExact = [](const std::string &body) {
    Facts facts(body);
    return facts.values->isExact(facts.x.getDefiningOp());
  };
  EXPECT_TRUE(isExact("%x = arith.index_cast %i : index to i32\n"));
  EXPECT_TRUE(isExact("%x = arith.index_cast %i : index to i64\n"));
  EXPECT_FALSE(isExact("%x = arith.index_cast %i : index to i16\n"));
  EXPECT_FALSE(isExact("%x = arith.index_cast %c0 : index to i32\n"));
  EXPECT_TRUE(isExact("%k = arith.constant 1 : i32\n"
                      "%n = arith.index_cast %i : index to i32\n"
                      "%x = arith.addi %n, %k : i32\n"));
  EXPECT_FALSE(isExact("%k = arith.constant 2 : i32\n"
                       "%n = arith.index_cast %i : index to i32\n"
                       "%x = arith.addi %n, %k : i32\n"));
  EXPECT_TRUE(isExact("%k = arith.constant 2 : i32\n"
                      "%n = arith.index_cast %i : index to i32\n"
                      "%x = arith.addi %n, %k overflow<nsw> : i32\n"));
  EXPECT_TRUE(isExact("%x = arith.muli %i, %c0 : index\n"));
  EXPECT_FALSE(isExact("%x = arith.remsi %i, %c0 : index\n"));
  EXPECT_FALSE(isExact("%d = arith.subi %i, %j : index\n"
                       "%n = arith.index_cast %d : index to i32\n"
                       "%x = arith.extui %n : i32 to i64\n"));
}

TEST(MaskValues, WideIntegersCountUnlessNumbersAreTooLarge) {
  auto isExact = [](const std::string &body) {
    Facts facts(body);
    return facts.values->isExact(facts.x.getDefiningOp());
  };
  std::string max = "%k = arith.constant 9223372036854775807 : index\n";
  EXPECT_FALSE(isExact(max + "%x = arith.addi %i, %k : index\n"));
  EXPECT_TRUE(isExact(max + "%x = arith.subi %k, %i : index\n"));
  EXPECT_FALSE(isExact(max + "%y = arith.subi %k, %i : index\n"
                             "%x = arith.addi %y, %j : index\n"));
  // What is computed from a sum that wraps, too.
  EXPECT_FALSE(isExact(max + "%y = arith.addi %i, %k : index\n"
                             "%x = arith.addi %y, %i : index\n"));
  EXPECT_FALSE(isExact(max + "%y = arith.addi %i, %k : index\n"
                             "%z = arith.maxsi %y, %i : index\n"
                             "%x = arith.subi %z, %i : index\n"));
  EXPECT_FALSE(isExact("%k = arith.constant 4611686018427387904 : index\n"
                       "%y = arith.addi %i, %k : index\n"
                       "%x = arith.addi %y, %k : index\n"));
  EXPECT_FALSE(isExact("%k = arith.constant 40 : index\n"
                       "%x = arith.shli %i, %k : index\n"));
  // A capture is taken to leave room for positions, not for such numbers.
  EXPECT_TRUE(isExact("%x = arith.addi %i, %c0 : index\n"));
  EXPECT_FALSE(isExact(max + "%x = arith.addi %c0, %k : index\n"));
}

TEST(MaskValues, FloorDivisions) {
  auto divide = [](const std::string &body) {
    Facts facts(body);
    std::optional<FloorDivision> division =
        facts.values->getFloorDivision(facts.x);
    return division ? std::pair(division->addend, division->divisor)
                    : std::pair<int64_t, int64_t>(0, 0);
  };
  using Pair = std::pair<int64_t, int64_t>;
  std::string four = "%k = arith.constant 4 : index\n"
                     "%d = arith.subi %i, %j : index\n";
  EXPECT_EQ(divide(four + "%x = arith.floordivsi %d, %k : index\n"),
            Pair(0, 4));
  EXPECT_EQ(divide(four + "%x = arith.ceildivsi %d, %k : index\n"), Pair(3, 4));
  EXPECT_EQ(divide(four + "%x = arith.shrsi %d, %k : index\n"), Pair(0, 16));
  EXPECT_EQ(divide(four + "%x = arith.divui %j, %k : index\n"), Pair(0, 4));
  // Rounds towards zero below it.
  EXPECT_EQ(divide(four + "%x = arith.divsi %d, %k : index\n"), Pair(0, 0));
  EXPECT_EQ(divide(four + "%x = arith.divui %d, %k : index\n"), Pair(0, 0));
  EXPECT_EQ(divide(four + "%x = arith.floordivsi %k, %d : index\n"),
            Pair(0, 0));
}

TEST(MaskValues, ReadsInBranchesAreGuarded) {
  Facts facts("%c = arith.cmpi slt, %b, %h : index\n"
              "%x = scf.if %c -> i32 {\n"
              "  %n = tensor.extract %len[%h] : tensor<2xi32>\n"
              "  scf.yield %n : i32\n} else {\n"
              "  %z = arith.constant 0 : i32\n  scf.yield %z : i32\n}\n");
  EXPECT_FALSE(facts.values->isGuarded(facts.x));
  Operation *branch = facts.x.getDefiningOp();
  Value read = branch->getRegion(0).front().getTerminator()->getOperand(0);
  Value zero = branch->getRegion(1).front().getTerminator()->getOperand(0);
  EXPECT_TRUE(facts.values->isGuarded(read));
  EXPECT_FALSE(facts.values->isGuarded(zero));
}
