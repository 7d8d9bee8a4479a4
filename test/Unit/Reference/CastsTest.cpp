//===- CastsTest.cpp - Casts and rounding ---------------------------------===//

#include "ScalarOps.h"
#include "attn/Support/Half.h"

using namespace attn;
using namespace attn::test;

void attn::test::addCasts(std::set<std::string> &names) {
  names.insert({"arith.bitcast", "arith.extf", "arith.extsi", "arith.extui",
                "arith.fptosi", "arith.fptoui", "arith.index_cast",
                "arith.index_castui", "arith.sitofp", "arith.truncf",
                "arith.trunci", "arith.uitofp", "index.casts", "index.castu",
                "math.fpowi"});
}

TEST(CastsTest, IntegerCasts) {
  EXPECT_EQ(evaluateCast("arith.extsi", "i8", DType::I8, "i32", {-3, 5}).ints,
            (Ints{-3, 5}));
  EXPECT_EQ(evaluateCast("arith.extsi", "i1", DType::I1, "i32", {0, 1}).ints,
            (Ints{0, -1}));
  EXPECT_EQ(evaluateCast("arith.extui", "i8", DType::I8, "i32", {-3, 5}).ints,
            (Ints{253, 5}));
  EXPECT_EQ(evaluateCast("arith.extui", "i1", DType::I1, "i32", {0, 1}).ints,
            (Ints{0, 1}));
  EXPECT_EQ(
      evaluateCast("arith.trunci", "i32", DType::I32, "i8", {300, -200, 7})
          .ints,
      (Ints{44, 56, 7}));
  EXPECT_EQ(evaluateCast("arith.trunci", "i32", DType::I32, "i1", {2, 3}).ints,
            (Ints{0, 1}));
  EXPECT_EQ(
      evaluateCast("arith.index_cast", "i8", DType::I8, "index", {-3}).ints,
      Ints{-3});
  EXPECT_EQ(
      evaluateCast("arith.index_cast", "i1", DType::I1, "index", {1}).ints,
      Ints{-1});
  EXPECT_EQ(
      evaluateCast("arith.index_cast", "index", DType::I64, "i8", {259}).ints,
      Ints{3});
  EXPECT_EQ(
      evaluateCast("arith.index_castui", "i8", DType::I8, "index", {-3}).ints,
      Ints{253});
  EXPECT_EQ(evaluateCast("index.casts", "i8", DType::I8, "index", {-3}).ints,
            Ints{-3});
  EXPECT_EQ(evaluateCast("index.castu", "i8", DType::I8, "index", {-3}).ints,
            Ints{253});
  EXPECT_EQ(evaluateCast("arith.bitcast", "i32", DType::I32, "i32", {7}).ints,
            Ints{7});
}

TEST(CastsTest, FloatAndIntegerCasts) {
  EXPECT_EQ(
      evaluateCast("arith.sitofp", "i8", DType::I8, "f32", {-3, 5}).floats,
      (Doubles{-3, 5}));
  EXPECT_EQ(evaluateCast("arith.sitofp", "i1", DType::I1, "f32", {1}).floats,
            Doubles{-1});
  EXPECT_EQ(
      evaluateCast("arith.uitofp", "i8", DType::I8, "f32", {-3, 5}).floats,
      (Doubles{253, 5}));
  EXPECT_EQ(evaluateCast("arith.uitofp", "i1", DType::I1, "f32", {1}).floats,
            Doubles{1});
  EXPECT_EQ(evaluateCast("arith.uitofp", "i64", DType::I64, "f64", {-1}).floats,
            Doubles{0x1p64});
  EXPECT_EQ(evaluateCast("arith.fptosi", "f64", DType::F64, "i8",
                         {-2.9, 2.9, 300, -300, kNaN, kInf, -kInf})
                .ints,
            (Ints{-2, 2, 127, -128, 0, 127, -128}));
  EXPECT_EQ(
      evaluateCast("arith.fptosi", "f64", DType::F64, "i64", {1e30, -1e30})
          .ints,
      (Ints{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(
      evaluateCast("arith.fptosi", "f64", DType::F64, "i1", {-1, 0, 1}).ints,
      (Ints{1, 0, 0}));
  EXPECT_EQ(evaluateCast("arith.fptoui", "f64", DType::F64, "i8",
                         {-2.9, 2.9, 200, 300, kNaN})
                .ints,
            (Ints{0, 2, -56, -1, 0}));
  EXPECT_EQ(
      evaluateCast("arith.fptoui", "f64", DType::F64, "i64", {1e19, 1e30}).ints,
      (Ints{int64_t(10000000000000000000u), -1}));
  EXPECT_EQ(evaluateRows("%r = math.fpowi %a, %b : f64, i8", "f64",
                         {{"f64", DType::F64, {2, 2, 0.5, -3}},
                          {"i8", DType::I8, {3, -2, 0, 3}}})
                .floats,
            (Doubles{8, 0.25, 1, -27}));
}

TEST(CastsTest, Bitcasts) {
  EXPECT_EQ(evaluateCast("arith.bitcast", "f32", DType::F32, "i32", {-2}).ints,
            Ints{int32_t(0xC0000000)});
  EXPECT_EQ(
      evaluateCast("arith.bitcast", "i32", DType::I32, "f32", {0x40490FDB})
          .floats,
      Doubles{double(3.14159274f)});
  EXPECT_EQ(evaluateCast("arith.bitcast", "f64", DType::F64, "i64", {1}).ints,
            Ints{0x3FF0000000000000});
  EXPECT_EQ(evaluateCast("arith.bitcast", "i64", DType::I64, "f64",
                         {0x3FF0000000000000p0})
                .floats,
            Doubles{1});
  EXPECT_EQ(
      evaluateCast("arith.bitcast", "f16", DType::F16, "i16", {-1.5}).ints,
      Ints{int16_t(0xBE00)});
  EXPECT_EQ(
      evaluateCast("arith.bitcast", "bf16", DType::BF16, "f16", {1}).floats,
      Doubles{double(fromF16(0x3F80))});
}

TEST(CastsTest, NarrowingRoundsInEagerModeOnly) {
  const double kSamples[] = {1 / 3.0,  65519,      65520,    1e-7, 3e-8,
                             2.9e-8,   -1e-41,     1e300,    kNaN, -kInf,
                             0x1p-133, 0x1.8p-134, 0x1p-134, 0.0,  -0.0};
  for (const auto &[type, dtype] :
       {std::pair<std::string, DType>{"f32", DType::F32},
        {"f16", DType::F16},
        {"bf16", DType::BF16}}) {
    EvaluatedTensor exact =
        evaluateCast("arith.truncf", "f64", DType::F64, type, kSamples);
    EvaluatedTensor rounded = evaluateCast("arith.truncf", "f64", DType::F64,
                                           type, kSamples, eager());
    for (auto [index, sample] : llvm::enumerate(kSamples)) {
      EXPECT_TRUE(isSame(exact.floats[index], sample));
      EXPECT_TRUE(isSame(rounded.floats[index],
                         makeScalar(dtype, sample).getAsDouble(0)))
          << type << " of " << sample;
    }
    EXPECT_EQ(evaluateCast("arith.extf", type == "f32" ? "f16" : type,
                           type == "f32" ? DType::F16 : dtype, "f64", {1.5},
                           eager())
                  .floats,
              Doubles{1.5});
  }
}

TEST(CastsTest, RoundingIsThatOfTheTypesInMemory) {
  // All 16-bit numbers, the halfway points above them, and the neighbours of
  // those.
  for (const auto &[type, dtype] :
       {std::pair<std::string, DType>{"f16", DType::F16},
        {"bf16", DType::BF16}}) {
    std::vector<double> samples;
    for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
      auto toDouble = [dtype = dtype](uint32_t bits) {
        return double(dtype == DType::F16 ? fromF16(bits) : fromBF16(bits));
      };
      double value = toDouble(bits), next = toDouble(bits + 1);
      double middle = (value + next) / 2;
      for (double x : {value, middle, std::nextafter(middle, value),
                       std::nextafter(middle, next)})
        samples.push_back(x);
    }
    EvaluatedTensor rounded =
        evaluateCast("arith.truncf", "f64", DType::F64, type, samples, eager());
    for (auto [index, sample] : llvm::enumerate(samples))
      EXPECT_TRUE(isSame(rounded.floats[index],
                         makeScalar(dtype, sample).getAsDouble(0)))
          << type << " of " << sample;
  }
}

TEST(CastsTest, EachFloatOperationRoundsInEagerMode) {
  auto run = [](EvaluatorOptions options) {
    return evaluateRows("%x = arith.mulf %a, %a : f16\n"
                        "%r = arith.divf %x, %b : f16",
                        "f16",
                        {{"f16", DType::F16, {1.0009765625, 300}},
                         {"f16", DType::F16, {3, 2}}},
                        options)
        .floats;
  };
  EXPECT_EQ(run({})[0], 1.0009765625 * 1.0009765625 / 3);
  EXPECT_EQ(run({})[1], 45000);
  double square =
      makeScalar(DType::F16, 1.0009765625 * 1.0009765625).getAsDouble(0);
  EXPECT_EQ(run(eager())[0], makeScalar(DType::F16, square / 3).getAsDouble(0));
  EXPECT_EQ(run(eager())[1], kInf);
}
