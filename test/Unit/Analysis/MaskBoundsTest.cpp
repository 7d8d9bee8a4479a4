//===- MaskBoundsTest.cpp - Masks as trees of comparisons -----------------===//

#include "attn/Analysis/MaskBounds.h"
#include "RandomRegion.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::MaskBounds;
using mlir::attn::MaskNode;

/// The tree of a mask in words: `(and [-1j +1i >= 0] unknown)`.
static std::string print(const MaskNode &node, const MaskBounds &mask) {
  auto operands = [&]() {
    std::string text;
    for (const MaskNode *operand : node.operands)
      text += " " + print(*operand, mask);
    return text;
  };
  switch (node.kind) {
  case MaskNode::Kind::True:
    return "true";
  case MaskNode::Kind::False:
    return "false";
  case MaskNode::Kind::Unknown:
    return "unknown";
  case MaskNode::Kind::Uniform:
    return node.negated ? "not-uniform" : "uniform";
  case MaskNode::Kind::And:
    return "(and" + operands() + ")";
  case MaskNode::Kind::Or:
    return "(or" + operands() + ")";
  case MaskNode::Kind::If:
    return "(if" + operands() + ")";
  case MaskNode::Kind::Compare:
  case MaskNode::Kind::Congruent:
    break;
  }
  const mlir::attn::MaskValues &values = mask.getValues();
  std::string text = "[";
  auto add = [&](int64_t number, const std::string &name) {
    text += (number < 0 ? "" : "+") + std::to_string(number) + name + " ";
  };
  if (int64_t key = node.form.getCoefficient(values.getKeyIndex()))
    add(key, "j");
  if (int64_t query = node.form.getCoefficient(values.getQueryIndex()))
    add(query, "i");
  for (auto [value, coefficient] : node.form.terms)
    if (value != values.getKeyIndex() && value != values.getQueryIndex())
      add(coefficient, "r");
  if (node.form.constant != 0)
    add(node.form.constant, "");
  return text + ">= 0]";
}

static std::string read(const std::string &body,
                        std::string *reason = nullptr) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module =
      parse(*context, makeOnlineAttention("", body + "attn.yield %p : i1\n"));
  if (!module)
    return "";
  MaskBounds mask(getAttention(*module));
  if (reason)
    *reason = mask.getObstacleReason().str();
  return print(mask.getRoot(), mask);
}

/// The tree of `lhs predicate rhs`.
static std::string compare(const std::string &lhs, const std::string &predicate,
                           const std::string &rhs,
                           const std::string &before = "") {
  return read(before + "%p = arith.cmpi " + predicate + ", " + lhs + ", " +
              rhs + " : index\n");
}

TEST(MaskBounds, Predicates) {
  EXPECT_EQ(compare("%j", "sle", "%i"), "[-1j +1i >= 0]");
  EXPECT_EQ(compare("%j", "slt", "%i"), "[-1j +1i -1 >= 0]");
  EXPECT_EQ(compare("%j", "sge", "%i"), "[+1j -1i >= 0]");
  EXPECT_EQ(compare("%j", "sgt", "%i"), "[+1j -1i -1 >= 0]");
  EXPECT_EQ(compare("%j", "eq", "%i"), "(and [-1j +1i >= 0] [+1j -1i >= 0])");
  EXPECT_EQ(compare("%j", "ne", "%i"),
            "(or [-1j +1i -1 >= 0] [+1j -1i -1 >= 0])");
  EXPECT_EQ(compare("%j", "ule", "%i"), "[-1j +1i >= 0]");
  EXPECT_EQ(compare("%j", "ult", "%i"), "[-1j +1i -1 >= 0]");
  EXPECT_EQ(compare("%j", "uge", "%i"), "[+1j -1i >= 0]");
  EXPECT_EQ(compare("%j", "ugt", "%i"), "[+1j -1i -1 >= 0]");
}

TEST(MaskBounds, UnsignedWhereOneSideMayBeNegative) {
  std::string difference = "%d = arith.subi %i, %j : index\n"
                           "%k = arith.constant 4 : index\n";
  // 0 <= i - j < 4.
  EXPECT_EQ(compare("%d", "ult", "%k", difference),
            "(and [-1j +1i >= 0] [+1j -1i +3 >= 0])");
  EXPECT_EQ(compare("%k", "ule", "%d", difference),
            "(or [+1j -1i -1 >= 0] [-1j +1i -4 >= 0])");
  EXPECT_EQ(compare("%d", "ult", "%c0", difference), "unknown");
}

TEST(MaskBounds, LinearArithmetic) {
  EXPECT_EQ(read("%k = arith.constant 3 : index\n"
                 "%x = arith.muli %k, %j : index\n"
                 "%n = arith.constant 1 : index\n"
                 "%y = arith.shli %i, %n : index\n"
                 "%z = arith.addi %y, %c0 : index\n"
                 "%p = arith.cmpi sle, %x, %z : index\n"),
            "[-3j +2i +1r >= 0]");
  EXPECT_EQ(read("%x = arith.subi %j, %i : index\n"
                 "%y = arith.addi %x, %i : index\n"
                 "%p = arith.cmpi slt, %y, %c0 : index\n"),
            "[-1j +1r -1 >= 0]");
  EXPECT_EQ(read("%x = arith.index_cast %j : index to i64\n"
                 "%y = arith.index_cast %i : index to i64\n"
                 "%p = arith.cmpi sle, %x, %y : i64\n"),
            "[-1j +1i >= 0]");
  EXPECT_EQ(read("%x = arith.subi %j, %j : index\n"
                 "%z = arith.constant 0 : index\n"
                 "%p = arith.cmpi eq, %x, %z : index\n"),
            "true");
}

TEST(MaskBounds, BooleanOperations) {
  std::string parts = "%x = arith.cmpi sle, %j, %i : index\n"
                      "%y = arith.cmpi slt, %j, %c0 : index\n"
                      "%u = arith.cmpi slt, %b, %c0 : index\n"
                      "%t = arith.constant true\n";
  EXPECT_EQ(read(parts + "%p = arith.xori %x, %t : i1\n"), "[+1j -1i -1 >= 0]");
  EXPECT_EQ(read(parts + "%o = arith.ori %x, %y : i1\n"
                         "%p = arith.xori %o, %t : i1\n"),
            "(and [+1j -1i -1 >= 0] [+1j -1r >= 0])");
  EXPECT_EQ(read(parts + "%p = arith.select %u, %x, %y : i1\n"),
            "(if [-1j +1i >= 0] [-1j +1r -1 >= 0])");
  EXPECT_EQ(read(parts + "%p = arith.select %x, %u, %y : i1\n"),
            "(or (and [-1j +1i >= 0] uniform) (and [+1j -1i -1 >= 0] [-1j +1r "
            "-1 >= 0]))");
  EXPECT_EQ(read(parts + "%p = arith.cmpi eq, %u, %x : i1\n"),
            "(if [-1j +1i >= 0] [+1j -1i -1 >= 0])");
  EXPECT_EQ(read(parts + "%p = arith.xori %u, %x : i1\n"),
            "(if [+1j -1i -1 >= 0] [-1j +1i >= 0])");
}

TEST(MaskBounds, ValuesThatAreNotLinear) {
  EXPECT_EQ(read("%k = arith.constant 8 : index\n"
                 "%x = arith.divui %i, %k : index\n"
                 "%y = arith.divui %j, %k : index\n"
                 "%p = arith.cmpi sge, %y, %x : index\n"),
            "[+1j -8r >= 0]");
  EXPECT_EQ(read("%x = arith.maxsi %j, %c0 : index\n"
                 "%p = arith.cmpi sle, %x, %i : index\n"),
            "(and [-1j +1i >= 0] [+1i -1r >= 0])");
  EXPECT_EQ(read("%d = arith.subi %i, %j : index\n"
                 "%x = math.absi %d : index\n"
                 "%p = arith.cmpi sle, %x, %c0 : index\n"),
            "(and [+1j -1i +1r >= 0] [-1j +1i +1r >= 0])");
  EXPECT_EQ(read("%c = arith.cmpi sle, %b, %h : index\n"
                 "%x = arith.select %c, %i, %c0 : index\n"
                 "%p = arith.cmpi sle, %j, %x : index\n"),
            "[-1j +1r >= 0]");
}

TEST(MaskBounds, BooleansAsNumbers) {
  std::string side = "%x = arith.cmpi sle, %j, %i : index\n";
  EXPECT_EQ(read(side + "%n = arith.index_castui %x : i1 to index\n"
                        "%p = arith.cmpi slt, %c0, %n : index\n"),
            "(or (and [-1j +1i >= 0] [-1r >= 0]) (and [+1j -1i -1 >= 0] [-1r "
            "-1 >= 0]))");
  EXPECT_EQ(read(side + "%n = arith.extsi %x : i1 to i32\n"
                        "%z = arith.constant 0 : i32\n"
                        "%p = arith.cmpi slt, %n, %z : i32\n"),
            "[-1j +1i >= 0]");
  // A boolean that is always false has the range of the number 0.
  EXPECT_EQ(read("%k = arith.constant -1 : index\n"
                 "%x = arith.cmpi slt, %h, %k : index\n"
                 "%n = arith.index_castui %x : i1 to index\n"
                 "%p = arith.cmpi sle, %j, %n : index\n"),
            "[-1j +1r >= 0]");
}

TEST(MaskBounds, BranchesAreChoices) {
  // What is read inside a branch is not read outside of it.
  EXPECT_EQ(read("%x = arith.cmpi slt, %i, %c0 : index\n"
                 "%no = arith.constant false\n"
                 "%p = scf.if %x -> i1 {\n"
                 "  %f = tensor.extract %flag[%i] : tensor<?xi1>\n"
                 "  scf.yield %f : i1\n} else {\n  scf.yield %no : i1\n}\n"),
            "(and [-1i +1r -1 >= 0] unknown)");
}

TEST(MaskBounds, Obstacles) {
  std::string reason;
  EXPECT_EQ(read("%k = arith.constant 2 : index\n"
                 "%z = arith.constant 0 : index\n"
                 "%x = arith.remui %j, %k : index\n"
                 "%p = arith.cmpi eq, %x, %z : index\n",
                 &reason),
            "(and unknown unknown)");
  EXPECT_EQ(reason, "it is not affine in the key");
  EXPECT_EQ(read("%k = arith.constant 2 : index\n"
                 "%x = arith.remui %i, %k : index\n"
                 "%p = arith.cmpi sle, %j, %x : index\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "it neither grows nor falls with the query");
  EXPECT_EQ(read("%p = tensor.extract %flag[%j] : tensor<?xi1>\n", &reason),
            "unknown");
  EXPECT_EQ(reason, "it is no comparison of positions");
  EXPECT_EQ(read("%d = arith.subi %i, %j : index\n"
                 "%p = arith.cmpi ult, %d, %c0 : index\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "it compares unsigned integers that may be negative when "
                    "signed");
  EXPECT_EQ(read("%x = arith.cmpi sle, %j, %i : index\n"
                 "%y = arith.cmpi sle, %j, %c0 : index\n"
                 "%p = arith.cmpi ult, %x, %y : i1\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "it orders booleans");
  EXPECT_EQ(read("%x = arith.index_cast %j : index to i64\n"
                 "%y = arith.extsi %x : i64 to i128\n"
                 "%z = arith.constant 7 : i128\n"
                 "%p = arith.cmpi sle, %y, %z : i128\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "it compares integers of more than 64 bits");
  EXPECT_EQ(read("%k = arith.constant 1000000000 : index\n"
                 "%x = arith.muli %j, %k : index\n"
                 "%p = arith.cmpi sle, %x, %i : index\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "its coefficients are too large");
  EXPECT_EQ(read("%k = arith.constant 2 : index\n"
                 "%x = arith.divui %j, %k : index\n"
                 "%y = arith.muli %x, %k : index\n"
                 "%p = arith.cmpi sle, %y, %i : index\n",
                 &reason),
            "unknown");
  EXPECT_EQ(reason, "it is a multiple of a quotient");
  EXPECT_EQ(read("%x = arith.cmpi slt, %i, %c0 : index\n"
                 "%p = scf.if %x -> i1 {\n"
                 "  %n = tensor.extract %len[%h] : tensor<2xi32>\n"
                 "  %m = arith.index_cast %n : i32 to index\n"
                 "  %c = arith.cmpi sle, %j, %m : index\n"
                 "  scf.yield %c : i1\n} else {\n"
                 "  %no = arith.constant false\n  scf.yield %no : i1\n}\n",
                 &reason),
            "(and [-1i +1r -1 >= 0] unknown)");
  EXPECT_EQ(reason, "it may only be evaluated in its branch");
}

TEST(MaskBounds, NumbersAtTheEndsOf64Bits) {
  std::string before = "%d = arith.subi %i, %j : index\n"
                       "%z = arith.constant 0 : index\n"
                       "%max = arith.constant 9223372036854775807 : index\n"
                       "%min = arith.constant -9223372036854775808 : index\n"
                       "%half = arith.constant 4611686018427387904 : index\n";
  // Distances are within them,
  EXPECT_EQ(compare("%d", "sle", "%max", before), "true");
  EXPECT_EQ(compare("%d", "sgt", "%max", before), "false");
  EXPECT_EQ(compare("%d", "slt", "%half", before), "true");
  EXPECT_EQ(compare("%half", "sle", "%j", before), "false");
  // and their sums wrap.
  for (const char *sum : {"%x = arith.addi %d, %max : index\n",
                          "%x = arith.subi %d, %min : index\n",
                          "%y = arith.addi %d, %half : index\n"
                          "%x = arith.addi %half, %y : index\n",
                          "%n = arith.constant 1 : index\n"
                          "%y = arith.addi %d, %max : index\n"
                          "%x = arith.addi %y, %n : index\n",
                          "%x = arith.muli %j, %half : index\n"})
    EXPECT_EQ(compare("%x", "sle", "%z", before + sum), "unknown") << sum;
}

TEST(MaskBounds, ExpressionsThatMultiplyEndInTime) {
  // Each step uses the last one several times, so that taken apart it has
  // 3^60 leaves.
  std::string sums = "%x0 = arith.addi %i, %j : index\n";
  std::string choices = "%x0 = arith.cmpi sle, %j, %i : index\n";
  for (int step = 1; step <= 60; ++step) {
    std::string number = std::to_string(step);
    std::string last = "%x" + std::to_string(step - 1), next = "%x" + number;
    sums += "%y" + number + " = arith.addi " + last + ", " + last +
            " : index\n" + next + " = arith.subi %y" + number + ", " + last +
            " : index\n";
    choices += "%k" + number + " = arith.constant " + number + " : index\n%t" +
               number + " = arith.cmpi slt, %j, %k" + number + " : index\n" +
               next + " = arith.xori " + last + ", %t" + number + " : i1\n";
  }
  std::string reason;
  EXPECT_EQ(read(sums + "%p = arith.cmpi slt, %x60, %c0 : index\n", &reason),
            "unknown");
  EXPECT_EQ(reason, "it is not affine in the key");
  read(choices + "%p = arith.xori %x60, %x59 : i1\n", &reason);
  EXPECT_EQ(reason, "the mask has too many conditions");
}
