//===- OnlineTest.cpp - attn.online_attention and attn.finalize -----------===//

#include "TestHelpers.h"
#include <cmath>

using namespace attn;
using namespace attn::test;

/// A function of an online attention over all keys or, in two steps, over the
/// first 40 and the rest, and of its end. The mask is causal; blocks is the
/// text of a region or empty.
static std::string makeText(bool inTwo, const std::string &blocks = "") {
  std::string online =
      "scale 5.000000e-01 ins(%q, KEYS : tensor<1x2x50x4xf32>, KTYPE, KTYPE) "
      "OFFSETS outs(STATE : tensor<1x2x50x4xf32>, tensor<1x2x50xf32>, "
      "tensor<1x2x50xf32>)\n"
      "score(%s, %b, %h, %i, %j) { %x = arith.addf %s, %s : f32\n"
      "attn.yield %x : f32 }\n"
      "mask(%b, %h, %i, %j) { %p = arith.cmpi sle, %j, %i : index\n"
      "attn.yield %p : i1 }\n" +
      blocks + "\n";
  auto substitute = [&](const std::string &keys, const std::string &type,
                        const std::string &state, const std::string &offsets) {
    std::string text = online;
    for (const auto &[from, to] :
         {std::pair<std::string, std::string>{"KEYS", keys},
          {"KTYPE", type},
          {"STATE", state},
          {"OFFSETS", offsets}})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, from.size(), to);
    return text;
  };
  std::string text = R"(
    func.func @f(%q: tensor<1x2x50x4xf32>, %k: tensor<1x2x60x4xf32>, %v: tensor<1x2x60x4xf32>)
        -> (tensor<1x2x50x4xf32>, tensor<1x2x50xf32>) {
      %zero = arith.constant dense<0.0> : tensor<1x2x50x4xf32>
      %none = arith.constant dense<0.0> : tensor<1x2x50xf32>
      %low = arith.constant dense<0xFF800000> : tensor<1x2x50xf32>
      %c0 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      )";
  if (inTwo)
    text += R"(
      %k0 = tensor.extract_slice %k[0, 0, 0, 0][1, 2, 40, 4][1, 1, 1, 1] : tensor<1x2x60x4xf32> to tensor<1x2x40x4xf32>
      %v0 = tensor.extract_slice %v[0, 0, 0, 0][1, 2, 40, 4][1, 1, 1, 1] : tensor<1x2x60x4xf32> to tensor<1x2x40x4xf32>
      %k1 = tensor.extract_slice %k[0, 0, 40, 0][1, 2, 20, 4][1, 1, 1, 1] : tensor<1x2x60x4xf32> to tensor<1x2x20x4xf32>
      %v1 = tensor.extract_slice %v[0, 0, 40, 0][1, 2, 20, 4][1, 1, 1, 1] : tensor<1x2x60x4xf32> to tensor<1x2x20x4xf32>
      %p:3 = attn.online_attention )" +
            substitute("%k0, %v0", "tensor<1x2x40x4xf32>", "%zero, %low, %none",
                       "") +
            "%r:3 = attn.online_attention " +
            substitute("%k1, %v1", "tensor<1x2x20x4xf32>", "%p#0, %p#1, %p#2",
                       "offsets(%c0, %c0, %c0, %c40)");
  else
    text +=
        "%r:3 = attn.online_attention " +
        substitute("%k, %v", "tensor<1x2x60x4xf32>", "%zero, %low, %none", "");
  return text + R"(
      %o, %lse = attn.finalize ins(%r#0, %r#1, %r#2 : tensor<1x2x50x4xf32>, tensor<1x2x50xf32>, tensor<1x2x50xf32>)
          outs(%zero, %none : tensor<1x2x50x4xf32>, tensor<1x2x50xf32>) -> tensor<1x2x50x4xf32>, tensor<1x2x50xf32>
      return %o, %lse : tensor<1x2x50x4xf32>, tensor<1x2x50xf32>
    })";
}

static Tensor makeInput(int64_t length, uint64_t seed) {
  return makeRandom(DType::F32, {1, 2, length, 4}, seed);
}

TEST(OnlineTest, IsAttention) {
  AttentionText attention;
  attention.dtype = DType::F32;
  attention.dim = attention.valueDim = 4;
  attention.attributes = "scale 5.000000e-01";
  attention.score = "%x = arith.addf %s, %s : f32\nattn.yield %x : f32";
  attention.mask = "%p = arith.cmpi sle, %j, %i : index\nattn.yield %p : i1";
  Tensor q = makeInput(50, 1), k = makeInput(60, 2), v = makeInput(60, 3);
  Results expected = evaluate(attention.str(), {&q, &k, &v});
  for (bool inTwo : {false, true}) {
    Results results = evaluate(makeText(inTwo), {&q, &k, &v});
    for (size_t result = 0; result < 2; ++result)
      for (size_t index = 0; index < expected[result].floats.size(); ++index)
        EXPECT_NEAR(results[result].floats[index],
                    expected[result].floats[index], 1e-14);
    // Rounding of the state to f32 is what eager evaluation adds.
    Results rounded = evaluate(makeText(inTwo), {&q, &k, &v}, eager());
    for (size_t index = 0; index < expected[0].floats.size(); ++index) {
      EXPECT_NEAR(rounded[0].floats[index], expected[0].floats[index], 1e-5);
      EXPECT_EQ(rounded[0].floats[index], float(rounded[0].floats[index]));
    }
  }
}

TEST(OnlineTest, FinalizeAppliesTheRuleForEmptyRows) {
  const char *text = R"(
    func.func @f(%acc: tensor<1x1x2x1xf64>, %max: tensor<1x1x2xf64>, %sum: tensor<1x1x2xf64>)
        -> (tensor<1x1x2x1xf64>, tensor<1x1x2xf64>) {
      %o, %lse = attn.finalize layout(bshd)
          ins(%acc, %max, %sum : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>, tensor<1x1x2xf64>)
          outs(%acc, %max : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>) -> tensor<1x1x2x1xf64>, tensor<1x1x2xf64>
      return %o, %lse : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>
    })";
  Tensor acc = makeTensor(DType::F64, {1, 1, 2, 1}, {0, 6}),
         max = makeTensor(DType::F64, {1, 1, 2}, {-kInf, 3}),
         sum = makeTensor(DType::F64, {1, 1, 2}, {0, 4});
  Results results = evaluate(text, {&acc, &max, &sum});
  EXPECT_EQ(results[0].floats, (std::vector<double>{0, 1.5}));
  EXPECT_EQ(results[1].floats[0], -kInf);
  EXPECT_NEAR(results[1].floats[1], 5 * std::log(2.0), 1e-15);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A blocks region that yields four expressions of what is defined here.
static std::string makeBlocks(const std::string &yielded) {
  return "blocks(%b, %h, %i0, %i1, %skv) {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%i0p1 = arith.addi %i0, %c1 : index\n"
         "%i1p1 = arith.addi %i1, %c1 : index\n"
         "%i1m1 = arith.subi %i1, %c1 : index\n"
         "attn.yield " +
         yielded + " : index, index, index, index }";
}

TEST(OnlineTest, BlocksThatHoldAreAccepted) {
  Tensor q = makeInput(50, 1), k = makeInput(60, 2), v = makeInput(60, 3);
  // Exact, and then as wide as can be.
  evaluate(makeText(false, makeBlocks("%c0, %c0, %i0p1, %i1")), {&q, &k, &v});
  evaluate(makeText(false, makeBlocks("%c0, %c0, %c0, %skv")), {&q, &k, &v});
  // Not checked where there are offsets, nor if told so.
  evaluate(makeText(true, makeBlocks("%c0, %c0, %c0, %skv")), {&q, &k, &v});
  EvaluatorOptions options;
  options.blockRows = 0;
  evaluate(makeText(false, makeBlocks("%c0, %c0, %c0, %c0")), {&q, &k, &v},
           options);
}

TEST(OnlineTest, BlocksThatDoNotHoldAreErrors) {
  Tensor q = makeInput(50, 1), k = makeInput(60, 2), v = makeInput(60, 3);
  std::string error = getError(
      makeText(false, makeBlocks("%c0, %c0, %i1p1, %skv")), {&q, &k, &v});
  EXPECT_NE(error.find("expects keys within the full bounds of blocks to be "
                       "allowed, but got the masked key at (b, h, i, j) = (0, "
                       "0, 0, 1) and lo = 0, full_lo = 0, full_hi = 2, hi = 60 "
                       "for the rows from 0 to below 1"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("'attn.online_attention'"), std::string::npos);
  error = getError(makeText(false, makeBlocks("%c1, %c1, %i0p1, %i1")),
                   {&q, &k, &v});
  EXPECT_NE(
      error.find("expects allowed keys to lie within the bounds of "
                 "blocks, but got the key at (b, h, i, j) = (0, 0, 0, 0)"),
      std::string::npos)
      << error;
  // A claim that holds for single rows and not for tiles of several.
  error =
      getError(makeText(false, makeBlocks("%c0, %c0, %i1, %i1")), {&q, &k, &v});
  EXPECT_NE(error.find("(0, 0, 0, 1) and lo = 0, full_lo = 0, full_hi = 16, hi "
                       "= 16 for the rows from 0 to below 16"),
            std::string::npos)
      << error;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// A tiles region of a causal mask that yields two expressions of what is
/// defined here.
static std::string makeTiles(const std::string &yielded) {
  return "tiles(%b, %h, %i0, %i1, %j0, %j1) {\n"
         "%true = arith.constant true\n%false = arith.constant false\n"
         "%may = arith.cmpi slt, %j0, %i1 : index\n"
         "%must = arith.cmpi sle, %j1, %i0 : index\n"
         "%diagonal = arith.cmpi sle, %j1, %i1 : index\n"
         "attn.yield " +
         yielded + " : i1, i1 }";
}

TEST(OnlineTest, TilesThatHoldAreAccepted) {
  Tensor q = makeInput(50, 1), k = makeInput(60, 2), v = makeInput(60, 3);
  evaluate(makeText(false, makeTiles("%may, %must")), {&q, &k, &v});
  evaluate(makeText(false, makeTiles("%true, %false")), {&q, &k, &v});
  evaluate(makeText(true, makeTiles("%true, %false")), {&q, &k, &v});
  // Not checked if told so.
  EvaluatorOptions options;
  options.blockRows = 0;
  evaluate(makeText(false, makeTiles("%false, %true")), {&q, &k, &v}, options);
}

TEST(OnlineTest, TilesThatDoNotHoldAreErrors) {
  Tensor q = makeInput(50, 1), k = makeInput(60, 2), v = makeInput(60, 3);
  std::string error =
      getError(makeText(false, makeTiles("%must, %must")), {&q, &k, &v});
  EXPECT_NE(error.find("expects no allowed key in a tile that is empty, but "
                       "got the key at (b, h, i, j) = (0, 0, 0, 0) in the tile "
                       "from row 0 and key 0 of 16 each"),
            std::string::npos)
      << error;
  error = getError(makeText(false, makeTiles("%may, %diagonal")), {&q, &k, &v});
  EXPECT_NE(error.find("expects no masked key in a tile that is full, but got "
                       "the key at (b, h, i, j) = (0, 0, 0, 1)"),
            std::string::npos)
      << error;
}

/// Documents of 20 positions whose tiles are told apart by ranges, of which
/// those of keys end at %end.
static std::string makeDocuments(const std::string &end) {
  return R"(
    func.func @f(%q: tensor<1x1x40x4xf32>, %acc: tensor<1x1x40x4xf32>, %max: tensor<1x1x40xf32>,
                 %doc: tensor<1x40xi32>) -> tensor<1x1x40x4xf32> {
      %r:3 = attn.online_attention scale 1.0
          ins(%q, %q, %q : tensor<1x1x40x4xf32>, tensor<1x1x40x4xf32>, tensor<1x1x40x4xf32>)
          captures(%doc : tensor<1x40xi32>)
          outs(%acc, %max, %max : tensor<1x1x40x4xf32>, tensor<1x1x40xf32>, tensor<1x1x40xf32>)
          mask(%b, %h, %i, %j, %doc) {
            %x = tensor.extract %doc[%b, %i] : tensor<1x40xi32>
            %y = tensor.extract %doc[%b, %j] : tensor<1x40xi32>
            %p = arith.cmpi eq, %x, %y : i32
            attn.yield %p : i1
          }
          tiles(%b, %h, %i0, %i1, %j0, %j1, %doc) {
            %one = arith.constant 1 : index
            %b1 = arith.addi %b, %one : index
            %next = arith.addi %j0, %one : index
            %beyond = arith.addi %j1, %one : index
            %imin, %imax = attn.range %doc[%b, %i0] to [%b1, %i1] : tensor<1x40xi32>
            %jmin, %jmax = attn.range %doc[%b, %j0] to [%b1, )" +
         end + R"(] : tensor<1x40xi32>
            %below = arith.cmpi sle, %imin, %jmax : i32
            %above = arith.cmpi sle, %jmin, %imax : i32
            %may = arith.andi %below, %above : i1
            %ipoint = arith.cmpi eq, %imin, %imax : i32
            %jpoint = arith.cmpi eq, %jmin, %jmax : i32
            %same = arith.cmpi eq, %imin, %jmin : i32
            %points = arith.andi %ipoint, %jpoint : i1
            %must = arith.andi %points, %same : i1
            attn.yield %may, %must : i1, i1
          }
      return %r#0 : tensor<1x1x40x4xf32>
    })";
}

TEST(OnlineTest, RangesOfCapturesTellTilesApart) {
  Tensor q = makeRandom(DType::F32, {1, 1, 40, 4}, 1);
  Tensor zero =
      makeTensor(DType::F32, {1, 1, 40, 4}, std::vector<double>(160, 0.0));
  Tensor none =
      makeTensor(DType::F32, {1, 1, 40}, std::vector<double>(40, -kInf));
  std::vector<double> numbers(40, 0.0);
  std::fill(numbers.begin() + 20, numbers.end(), 1.0);
  Tensor doc = makeTensor(DType::I32, {1, 40}, numbers);
  evaluate(makeDocuments("%j1"), {&q, &zero, &none, &doc});
  // Of what is partly outside, nothing is known, which is true.
  evaluate(makeDocuments("%beyond"), {&q, &zero, &none, &doc});
  // The first key of a tile does not speak for all.
  std::string error =
      getError(makeDocuments("%next"), {&q, &zero, &none, &doc});
  EXPECT_NE(error.find("in the tile from row 0 and key 16 of 16 each"),
            std::string::npos)
      << error;
}
