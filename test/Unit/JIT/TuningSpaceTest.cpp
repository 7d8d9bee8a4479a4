//===- TuningSpaceTest.cpp - Tests of what a tuner may try ----------------===//

#include "attn/JIT/TuningSpace.h"
#include "attn/JIT/Kernel.h"
#include "gtest/gtest.h"
#include <set>

using namespace attn;

static std::string makeProgram(llvm::StringRef name, llvm::StringRef query,
                               llvm::StringRef type, llvm::StringRef dim,
                               llvm::StringRef schedule = "") {
  std::string tensor = ("tensor<1x2x?x" + dim + "x" + type + ">").str();
  return ("func.func @" + name + "(%" + query + ": " + tensor + ") -> " +
          tensor + " {\n  %c2 = arith.constant 2 : index\n  %n = tensor.dim %" +
          query + ", %c2 : " + tensor + "\n  %init = tensor.empty(%n) : " +
          tensor + "\n  %o = attn.attention " + schedule + " ins(%" + query +
          ", %" + query + ", %" + query + " : " + tensor + ", " + tensor +
          ", " + tensor + ") outs(%init : " + tensor +
          ")\n  return %o : " + tensor + "\n}\n")
      .str();
}

static TuningSpace get(llvm::StringRef program, DeviceKind device) {
  CompileOptions options;
  options.device = device;
  llvm::Expected<TuningSpace> space = getTuningSpace(program, options);
  EXPECT_TRUE(bool(space)) << llvm::toString(space.takeError());
  return space ? std::move(*space) : TuningSpace();
}

TEST(TuningSpaceTest, hashesWhatIsComputed) {
  std::string hash =
      get(makeProgram("f", "q", "bf16", "64"), DeviceKind::CPU).program;
  EXPECT_EQ(hash.size(), 64u);
  // Names, places and the device say nothing.
  EXPECT_EQ(hash, get("\n\n" + makeProgram("g", "other", "bf16", "64"),
                      DeviceKind::CPU)
                      .program);
  EXPECT_EQ(hash,
            get(makeProgram("f", "q", "bf16", "64"), DeviceKind::Cuda).program);
  EXPECT_EQ(hash, *getProgramHash(makeProgram("f", "q", "bf16", "64"), {}));
  // Types and head dimensions do.
  EXPECT_NE(hash,
            get(makeProgram("f", "q", "f16", "64"), DeviceKind::CPU).program);
  EXPECT_NE(hash,
            get(makeProgram("f", "q", "bf16", "128"), DeviceKind::CPU).program);
}

TEST(TuningSpaceTest, candidates) {
  std::string program = makeProgram("f", "q", "bf16", "64");
  for (DeviceKind device : {DeviceKind::CPU, DeviceKind::Cuda}) {
    TuningSpace space = get(program, device);
    EXPECT_EQ(space.obstacle, "");
    ASSERT_GT(space.candidates.size(), 10u);
    std::set<std::string> texts;
    for (const TuningCandidate &candidate : space.candidates)
      EXPECT_TRUE(texts.insert(candidate.schedule).second);
    CompileOptions options;
    options.device = device;
    options.schedule = space.candidates.front().schedule;
    llvm::Expected<KernelPackage> package = compileToPackage(program, options);
    EXPECT_TRUE(bool(package)) << llvm::toString(package.takeError());
  }
}

TEST(TuningSpaceTest, obstacles) {
  llvm::StringRef schedule =
      "schedule #attn.schedule<tile_m = 16, tile_n = 16, "
      "lanes = 4, unroll_m = 1, unroll_n = 4>";
  EXPECT_EQ(get(makeProgram("f", "q", "f32", "16", schedule), DeviceKind::CPU)
                .obstacle,
            "the program has a schedule");
  // Queries as rows have one.
  TuningSpace rows = get(makeProgram("f", "q", "f32", "16"), DeviceKind::Cuda);
  EXPECT_EQ(rows.obstacle, "rows of queries, and several attentions, have one "
                           "schedule on a GPU");
  EXPECT_EQ(rows.program.size(), 64u);
  EXPECT_EQ(get("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                "  %b = arith.addf %a, %a : tensor<4xf32>\n"
                "  return %b : tensor<4xf32>\n}",
                DeviceKind::CPU)
                .obstacle,
            "the program has no attention");
  EXPECT_FALSE(bool(llvm::expectedToOptional(getTuningSpace("none", {}))));
}
