//===- JSONTest.cpp - Tests of reading JSON -------------------------------===//

#include "attn/Support/JSON.h"
#include "gtest/gtest.h"

using namespace attn;

static std::string parse(const std::string &text) {
  auto value = parseJSON(text);
  return value ? "" : llvm::toString(value.takeError());
}

TEST(JSONTest, levels) {
  const char *error = "expects JSON of at most 64 levels";
  auto nest = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parse(nest(64)), "");
  EXPECT_EQ(parse(nest(65)), error);
  EXPECT_EQ(parse(std::string(size_t(1) << 24, '{')), error);
  // Side by side, or in a text.
  std::string flat = "[0";
  for (int i = 0; i < 100; ++i)
    flat += ",[]";
  EXPECT_EQ(parse(flat + "]"), "");
  EXPECT_EQ(parse("\"\\\"" + std::string(100, '[') + "\""), "");
  EXPECT_NE(parse("]" + nest(3)), "");
}
