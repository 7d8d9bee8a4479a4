//===- BasicsTest.cpp - Versions, codes and strings -----------------------===//

#include "TestHelpers.h"

TEST(Version, NumberAndTextAgree) {
  uint32_t version = attnVersion();
  std::string text = std::to_string(version / 10000) + "." +
                     std::to_string(version / 100 % 100) + "." +
                     std::to_string(version % 100);
  EXPECT_EQ(text, attnVersionString());
}

TEST(Status, Names) {
  EXPECT_STREQ(attnStatusName(ATTN_OK), "ok");
  EXPECT_STREQ(attnStatusName(ATTN_INVALID_ARGUMENT), "invalid argument");
  EXPECT_STREQ(attnStatusName(ATTN_COMPILE_ERROR), "compile error");
  EXPECT_STREQ(attnStatusName(ATTN_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(attnStatusName(ATTN_OUT_OF_RANGE), "out of range");
  EXPECT_STREQ(attnStatusName(ATTN_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(attnStatusName(-1), "unknown status");
  EXPECT_STREQ(attnStatusName(6), "unknown status");
}

TEST(DType, NamesAndSizes) {
  const std::vector<std::pair<std::string, size_t>> expected = {
      {"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8},
      {"i32", 4}, {"i16", 2}, {"i8", 1},  {"i1", 1}};
  for (size_t code = 0; code < expected.size(); ++code) {
    EXPECT_EQ(attnDTypeName(code), expected[code].first);
    EXPECT_EQ(attnDTypeSize(code), expected[code].second);
  }
  for (attnDType code : {-1, 9, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(attnDTypeName(code), nullptr);
    EXPECT_EQ(attnDTypeSize(code), 0u);
  }
}

TEST(Null, IsHarmlessWhereNothingCanFail) {
  EXPECT_EQ(attnErrorStatus(nullptr), ATTN_OK);
  EXPECT_STREQ(attnErrorMessage(nullptr), "");
  attnErrorDestroy(nullptr);
  EXPECT_STREQ(attnStringData(nullptr), "");
  EXPECT_EQ(attnStringSize(nullptr), 0u);
  attnStringDestroy(nullptr);
  attnKernelRetain(nullptr);
  attnKernelRelease(nullptr);
  attnThreadPoolDestroy(nullptr);
  EXPECT_STREQ(attnKernelEntry(nullptr), "");
  EXPECT_EQ(attnKernelNumInputs(nullptr), 0u);
  EXPECT_EQ(attnKernelNumResults(nullptr), 0u);
}

TEST(ThreadPool, HasLimits) {
  attnThreadPool *pool = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects from 1 to 1024 threads, but got 0",
                attnThreadPoolCreate, 0, &pool);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects from 1 to 1024 threads, but got 1025",
                attnThreadPoolCreate, 1025, &pool);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the pool, but got NULL",
                attnThreadPoolCreate, 2, nullptr);
  EXPECT_EQ(pool, nullptr);
}
