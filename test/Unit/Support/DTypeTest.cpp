//===- DTypeTest.cpp - Tests of element types -----------------------------===//

#include "attn/Support/DType.h"
#include "gtest/gtest.h"

using namespace attn;

TEST(DTypeTest, codesAreFixed) {
  // They are part of the binary interface.
  EXPECT_EQ(static_cast<int>(DType::F64), 0);
  EXPECT_EQ(static_cast<int>(DType::F32), 1);
  EXPECT_EQ(static_cast<int>(DType::F16), 2);
  EXPECT_EQ(static_cast<int>(DType::BF16), 3);
  EXPECT_EQ(static_cast<int>(DType::I64), 4);
  EXPECT_EQ(static_cast<int>(DType::I32), 5);
  EXPECT_EQ(static_cast<int>(DType::I16), 6);
  EXPECT_EQ(static_cast<int>(DType::I8), 7);
  EXPECT_EQ(static_cast<int>(DType::I1), 8);
  EXPECT_FALSE(isDTypeCode(-1));
  EXPECT_TRUE(isDTypeCode(0));
  EXPECT_TRUE(isDTypeCode(8));
  EXPECT_FALSE(isDTypeCode(9));
}

TEST(DTypeTest, properties) {
  struct {
    DType dtype;
    const char *name;
    const char *descr;
    int64_t size;
    bool isFloat;
  } cases[] = {
      {DType::F64, "f64", "<f8", 8, true},
      {DType::F32, "f32", "<f4", 4, true},
      {DType::F16, "f16", "<f2", 2, true},
      {DType::BF16, "bf16", "<V2", 2, true},
      {DType::I64, "i64", "<i8", 8, false},
      {DType::I32, "i32", "<i4", 4, false},
      {DType::I16, "i16", "<i2", 2, false},
      {DType::I8, "i8", "|i1", 1, false},
      {DType::I1, "i1", "|b1", 1, false},
  };
  for (auto &c : cases) {
    EXPECT_EQ(getName(c.dtype), c.name);
    EXPECT_EQ(getNumpyDescr(c.dtype), c.descr);
    EXPECT_EQ(getSize(c.dtype), c.size);
    EXPECT_EQ(isFloat(c.dtype), c.isFloat);
  }
}

TEST(DTypeTest, integerRange) {
  EXPECT_EQ(getIntegerRange(DType::I1).min, 0);
  EXPECT_EQ(getIntegerRange(DType::I1).max, 1);
  EXPECT_EQ(getIntegerRange(DType::I8).min, -128);
  EXPECT_EQ(getIntegerRange(DType::I8).max, 127);
  EXPECT_EQ(getIntegerRange(DType::I16).max, 32767);
  EXPECT_EQ(getIntegerRange(DType::I32).min, INT32_MIN);
  EXPECT_EQ(getIntegerRange(DType::I64).min, INT64_MIN);
  EXPECT_EQ(getIntegerRange(DType::I64).max, INT64_MAX);
}

TEST(DTypeTest, numpyDescr) {
  auto expectKind = [](llvm::StringRef descr, NumpyType::Kind kind,
                       DType dtype = DType::F32) {
    NumpyType type = parseNumpyDescr(descr);
    EXPECT_EQ(type.kind, kind) << descr.str();
    if (kind != NumpyType::Unsupported) {
      EXPECT_EQ(type.dtype, dtype) << descr.str();
    }
  };
  expectKind("<f4", NumpyType::Known, DType::F32);
  expectKind("=f8", NumpyType::Known, DType::F64);
  expectKind("f2", NumpyType::Known, DType::F16);
  expectKind("|b1", NumpyType::Known, DType::I1);
  expectKind("<i1", NumpyType::Known, DType::I8);
  expectKind(">i1", NumpyType::Known, DType::I8);
  expectKind(">f4", NumpyType::BigEndian, DType::F32);
  expectKind(">i8", NumpyType::BigEndian, DType::I64);
  expectKind("<V2", NumpyType::MaybeBF16, DType::BF16);
  expectKind("|V2", NumpyType::MaybeBF16, DType::BF16);
  expectKind("<u2", NumpyType::MaybeBF16, DType::BF16);
  expectKind(">u2", NumpyType::Unsupported);
  expectKind("<u4", NumpyType::Unsupported);
  expectKind("<c8", NumpyType::Unsupported);
  expectKind("|O", NumpyType::Unsupported);
  expectKind("<f16", NumpyType::Unsupported);
  expectKind("<f", NumpyType::Unsupported);
  expectKind("<", NumpyType::Unsupported);
  expectKind("", NumpyType::Unsupported);
}
