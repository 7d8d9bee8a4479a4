//===- RandomRegion.cpp - Random score and mask regions -------------------===//

#include "RandomRegion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn::test;

int64_t RandomRegion::pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine() % (high - low + 1));
}

std::string RandomRegion::define(const std::string &text) {
  std::string name = "%x" + std::to_string(count++);
  body += name + " = " + text + "\n";
  return name;
}

std::string RandomRegion::constant(int64_t value) {
  return define("arith.constant " + std::to_string(value) + " : index");
}

std::string RandomRegion::binary(const std::string &op, unsigned depth) {
  std::string a = integer(depth), b = integer(depth);
  return define("arith." + op + " " + a + ", " + b + " : index");
}

/// Arithmetic on a narrower type, which may wrap.
std::string RandomRegion::narrow(unsigned depth) {
  std::string type = pick(0, 3) == 0 ? "i8" : pick(0, 1) ? "i32" : "i64";
  std::string flags = type == "i8" || pick(0, 1) ? "" : " overflow<nsw>";
  static const char *const ops[] = {"addi", "subi", "muli"};
  std::string a =
      define("arith.index_cast " + integer(depth) + " : index to " + type);
  std::string b =
      define("arith.index_cast " + integer(0) + " : index to " + type);
  std::string sum = define(std::string("arith.") + ops[pick(0, 2)] + " " + a +
                           ", " + b + flags + " : " + type);
  return define((pick(0, 3) ? "arith.index_cast " : "arith.index_castui ") +
                sum + " : " + type + " to index");
}

std::string RandomRegion::integer(unsigned depth) {
  static const char *const leaves[] = {"%i", "%j", "%i", "%j",  "%i",
                                       "%j", "%b", "%h", "%c0", "%c1"};
  int64_t kind = depth == 0 ? pick(0, 2) : pick(0, 21);
  switch (kind) {
  case 0:
  case 1:
    if (pick(0, 7) == 0)
      return define("arith.index_cast " +
                    define("tensor.extract %len[%b] : tensor<2xi32>") +
                    " : i32 to index");
    return leaves[pick(0, 9)];
  case 2:
    return pick(0, 2) ? leaves[pick(0, 9)] : constant(pick(-6, 8));
  case 3:
  case 4:
  case 5:
    return binary("addi", depth - 1);
  case 6:
  case 7:
  case 8:
    return binary("subi", depth - 1);
  case 9: {
    std::string factor = constant(pick(-3, 3)), a = integer(depth - 1);
    return define("arith.muli " +
                  (pick(0, 1) ? factor + ", " + a : a + ", " + factor) +
                  " : index");
  }
  case 10: {
    static const char *const ops[] = {"floordivsi", "ceildivsi", "divsi",
                                      "divui",      "ceildivui", "remsi"};
    // Unsigned division of a negative number gives one that no sum may use.
    std::string op = ops[pick(0, 5)];
    std::string a = op.back() == 'i' && op[op.size() - 2] == 'u'
                        ? leaves[pick(0, 5)]
                        : integer(depth - 1);
    std::string divisor = constant(pick(1, 5));
    return define("arith." + op + " " + a + ", " + divisor + " : index");
  }
  case 11:
    return binary("maxsi", depth - 1);
  case 12:
    return binary("minsi", depth - 1);
  case 13:
    return define("math.absi " + integer(depth - 1) + " : index");
  case 14: {
    std::string condition = boolean(depth - 1), a = integer(depth - 1);
    return define("arith.select " + condition + ", " + a + ", " +
                  integer(depth - 1) + " : index");
  }
  case 15: {
    static const char *const ops[] = {"shli", "shrsi"};
    std::string a = integer(depth - 1), by = constant(pick(0, 2));
    return define(std::string("arith.") + ops[pick(0, 1)] + " " + a + ", " +
                  by + " : index");
  }
  case 16:
    return narrow(depth - 1);
  case 18: {
    // Unsigned operations on positions, which are not negative.
    static const char *const ops[] = {"remui", "shrui", "minui", "maxui"};
    int64_t which = pick(0, 3);
    return define(std::string("arith.") + ops[which] + " " +
                  leaves[pick(0, 5)] + ", " +
                  constant(which == 0 ? pick(1, 8) : pick(0, 4)) + " : index");
  }
  case 19:
  case 20: {
    static const char *const ops[] = {"andi", "ori", "xori"};
    std::string a = integer(depth - 1);
    std::string b = pick(0, 2) ? constant(pick(0, 15)) : integer(depth - 1);
    return define(std::string("arith.") + ops[pick(0, 2)] + " " + a + ", " + b +
                  " : index");
  }
  case 21: {
    std::string at = leaves[pick(0, 5)];
    if (pick(0, 2) == 0)
      at = define("arith.divui " + at + ", " + constant(pick(1, 4)) +
                  " : index");
    return define("arith.index_cast " +
                  define("tensor.extract %doc[" + at + "] : tensor<?xi32>") +
                  " : i32 to index");
  }
  default:
    return define("arith.index_castui " +
                  define("arith.extui " + boolean(depth - 1) + " : i1 to i32") +
                  " : i32 to index");
  }
}

/// A branch that reads a table only where the index is in range.
std::string RandomRegion::guarded(unsigned depth) {
  std::string limit = constant(kMaxRows), zero = constant(0);
  std::string at = integer(depth);
  std::string below =
      define("arith.cmpi slt, " + at + ", " + limit + " : index");
  std::string above =
      define("arith.cmpi sge, " + at + ", " + zero + " : index");
  std::string inside = define("arith.andi " + below + ", " + above + " : i1");
  std::string saved = std::move(body);
  body.clear();
  std::string yes = define("tensor.extract %flag[" + at + "] : tensor<?xi1>");
  if (pick(0, 1))
    yes = define("arith.andi " + yes + ", " + boolean(depth) + " : i1");
  std::string thenBody = std::move(body);
  body.clear();
  std::string no = boolean(depth);
  std::string elseBody = std::move(body);
  body = std::move(saved);
  return define("scf.if " + inside + " -> i1 {\n" + thenBody + "scf.yield " +
                yes + " : i1\n} else {\n" + elseBody + "scf.yield " + no +
                " : i1\n}");
}

std::string RandomRegion::boolean(unsigned depth) {
  int64_t kind = depth == 0 ? pick(0, 5) : pick(0, 15);
  switch (kind) {
  case 6:
  case 7:
  case 8: {
    std::string a = boolean(depth - 1), b = boolean(depth - 1);
    return define("arith.andi " + a + ", " + b + " : i1");
  }
  case 9:
  case 10: {
    std::string a = boolean(depth - 1), b = boolean(depth - 1);
    return define("arith.ori " + a + ", " + b + " : i1");
  }
  case 11: {
    std::string a = boolean(depth - 1);
    std::string b =
        pick(0, 1) ? define("arith.constant true") : boolean(depth - 1);
    return define("arith.xori " + a + ", " + b + " : i1");
  }
  case 12: {
    std::string c = boolean(depth - 1), a = boolean(depth - 1);
    return define("arith.select " + c + ", " + a + ", " + boolean(depth - 1) +
                  " : i1");
  }
  case 13: {
    std::string a = boolean(depth - 1), b = boolean(depth - 1);
    return define(std::string("arith.cmpi ") + (pick(0, 1) ? "eq, " : "ne, ") +
                  a + ", " + b + " : i1");
  }
  case 14:
    return guarded(depth - 1);
  case 15:
    return pick(0, 1) ? define("tensor.extract %flag[%i] : tensor<?xi1>")
                      : define("tensor.extract %flag[%j] : tensor<?xi1>");
  default: {
    static const char *const predicates[] = {"slt", "sle", "sgt", "sge", "slt",
                                             "sle", "sgt", "sge", "ult", "ule",
                                             "ugt", "uge", "eq",  "ne"};
    std::string a = integer(depth), b = integer(depth);
    return define(std::string("arith.cmpi ") + predicates[pick(0, 13)] + ", " +
                  a + ", " + b + " : index");
  }
  }
}

std::string RandomRegion::makeMask(unsigned depth) {
  body.clear();
  std::string result = boolean(depth);
  return body + "attn.yield " + result + " : i1\n";
}

/// The score, or arithmetic on it that may or may not keep -inf.
std::string RandomRegion::shift(const std::string &score) {
  if (pick(0, 1))
    return score;
  static const char *const constants[] = {"2.0", "-2.0", "0.25", "0xFF800000",
                                          "0x7F800000"};
  std::string other;
  if (pick(0, 1))
    other = define(std::string("arith.constant ") + constants[pick(0, 4)] +
                   " : f32");
  else
    other =
        define("arith.sitofp " +
               define("arith.index_cast " + integer(1) + " : index to i32") +
               " : i32 to f32");
  static const char *const ops[] = {"addf", "subf", "mulf", "divf"};
  std::string operands =
      pick(0, 1) ? score + ", " + other : other + ", " + score;
  return define(std::string("arith.") + ops[pick(0, 3)] + " " + operands +
                " : f32");
}

std::string RandomRegion::makeScore(unsigned depth) {
  body.clear();
  std::string infinity = define("arith.constant 0xFF800000 : f32");
  std::string score = "%s";
  if (pick(0, 1)) {
    std::string factor = define("arith.constant 2.0 : f32");
    score = define("arith.mulf " + score + ", " + factor + " : f32");
  }
  for (int64_t times = pick(0, 3); times > 0; --times) {
    std::string condition = boolean(depth);
    score = define(
        "arith.select " + condition + ", " +
        (pick(0, 1) ? score + ", " + infinity : infinity + ", " + score) +
        " : f32");
    score = shift(score);
  }
  return body + "attn.yield " + score + " : f32\n";
}

CaptureData RandomRegion::makeCaptures() {
  CaptureData data{pick(-8, 18), pick(-8, 18), {}, {}, {}};
  for (int64_t b = 0; b < kBatch; ++b)
    data.lengths.push_back(pick(-2, kMaxRows + 2));
  for (int64_t row = 0; row < kMaxRows; ++row)
    data.flags.push_back(-pick(0, 1));
  // In order, as documents are, or not.
  int64_t last = pick(-2, 2), isSorted = pick(0, 2);
  for (int64_t row = 0; row < kMaxRows; ++row) {
    last = isSorted ? last + (pick(0, 3) == 0) : pick(-2, 14);
    data.documents.push_back(last);
  }
  return data;
}

std::string mlir::attn::test::makeOnlineAttention(const std::string &score,
                                                  const std::string &mask) {
  std::string text = R"(
func.func @f(%q: tensor<2x2x?x8xf32>, %k: tensor<2x2x?x8xf32>,
             %v: tensor<2x2x?x8xf32>, %a: tensor<2x2x?x8xf32>,
             %m: tensor<2x2x?xf32>, %l: tensor<2x2x?xf32>, %c0: index,
             %c1: index, %len: tensor<2xi32>, %flag: tensor<?xi1>,
             %doc: tensor<?xi32>)
    -> tensor<2x2x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %k, %v : tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>,
          tensor<2x2x?x8xf32>)
      captures(%c0, %c1, %len, %flag, %doc : index, index, tensor<2xi32>,
               tensor<?xi1>, tensor<?xi32>)
      outs(%a, %m, %l : tensor<2x2x?x8xf32>, tensor<2x2x?xf32>,
           tensor<2x2x?xf32>)
)";
  if (!score.empty())
    text += "score(%s, %b, %h, %i, %j, %c0, %c1, %len, %flag, %doc) {\n" +
            score + "}\n";
  if (!mask.empty())
    text +=
        "mask(%b, %h, %i, %j, %c0, %c1, %len, %flag, %doc) {\n" + mask + "}\n";
  return text + "return %r#0 : tensor<2x2x?x8xf32>\n}\n";
}

OwningOpRef<ModuleOp> mlir::attn::test::parse(MLIRContext &context,
                                              const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

mlir::attn::OnlineAttentionOp mlir::attn::test::getAttention(ModuleOp module) {
  mlir::attn::OnlineAttentionOp found;
  module.walk([&](mlir::attn::OnlineAttentionOp op) { found = op; });
  return found;
}

std::unique_ptr<MLIRContext> mlir::attn::test::makeContext() {
  auto context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context
      ->loadDialect<mlir::attn::AttnDialect, arith::ArithDialect,
                    func::FuncDialect, index::IndexDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
  return context;
}
