//===- CPUTest.cpp - Description of a processor ---------------------------===//

#include "attn/Target/CPU.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

using namespace attn;

static bool isX86() {
  return llvm::Triple(llvm::sys::getProcessTriple()).getArch() ==
         llvm::Triple::x86_64;
}

static CPUTarget get(llvm::StringRef name) {
  return llvm::cantFail(getCPUTarget(name));
}

TEST(CPUTarget, HostRunsItsOwnCode) {
  CPUTarget host = get("");
  EXPECT_EQ(host.name, "host");
  EXPECT_EQ(host.triple, llvm::sys::getProcessTriple());
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_GE(host.vectorBits, 128u);
  EXPECT_GE(host.vectorRegisters, 16u);
  EXPECT_GE(host.l1Bytes, 4096u);
  EXPECT_GE(host.l2Bytes, host.l1Bytes);
  EXPECT_TRUE(getMissingFeatures(host.required).empty());
  EXPECT_TRUE(llvm::is_sorted(host.required));
}

TEST(CPUTarget, NamedLevels) {
  if (!isX86())
    GTEST_SKIP() << "levels of x86-64";
  CPUTarget baseline = get("baseline"), avx2 = get("avx2"),
            avx512 = get("avx512");
  EXPECT_EQ(baseline.vectorBits, 128u);
  EXPECT_EQ(baseline.getFeatureString(), "");
  EXPECT_TRUE(baseline.required.empty());
  EXPECT_EQ(avx2.vectorBits, 256u);
  EXPECT_EQ(avx2.vectorRegisters, 16u);
  EXPECT_TRUE(llvm::is_contained(avx2.required, "f16c"));
  EXPECT_EQ(avx512.vectorBits, 512u);
  EXPECT_EQ(avx512.vectorRegisters, 32u);
  EXPECT_NE(avx512.getFeatureString().find("+avx512vl"), std::string::npos);
}

TEST(CPUTarget, VectorsFollowFeatures) {
  llvm::StringMap<bool> features;
  for (llvm::StringRef name : {"avx2", "fma", "f16c", "avx512f", "avx512dq",
                               "avx512vl", "avx512bw", "avx512cd"})
    features[name] = true;
  auto bits = [&] {
    return describeCPU("x86_64-pc-linux-gnu", "x", features).vectorBits;
  };
  EXPECT_EQ(bits(), 512u);
  features["avx512bw"] = false;
  EXPECT_EQ(bits(), 256u);
  features["fma"] = false;
  EXPECT_EQ(bits(), 128u);
  CPUTarget arm = describeCPU("aarch64-unknown-linux-gnu", "generic", {});
  EXPECT_EQ(arm.vectorBits, 128u);
  EXPECT_EQ(arm.vectorRegisters, 32u);
}

TEST(CPUTarget, FeaturesHaveSigns) {
  llvm::StringMap<bool> features;
  features["b"] = true;
  features["a"] = false;
  CPUTarget target = describeCPU("x86_64-pc-linux-gnu", "x", features);
  EXPECT_EQ(target.getFeatureString(), "+b,-a");
  EXPECT_EQ(target.required, std::vector<std::string>{"b"});
}

TEST(CPUTarget, UnknownNameIsAnError) {
  llvm::Expected<CPUTarget> target = getCPUTarget("z80");
  ASSERT_FALSE(static_cast<bool>(target));
  EXPECT_EQ(llvm::toString(target.takeError()),
            isX86() ? "expects the target to be host, baseline, avx2 or "
                      "avx512, but got 'z80'"
                    : "expects the target to be host, baseline, but got 'z80'");
}

TEST(CPUTarget, MissingFeaturesAreNamed) {
  EXPECT_EQ(getMissingFeatures({"no-such-feature"}),
            std::vector<std::string>{"no-such-feature"});
}
