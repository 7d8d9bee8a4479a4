//===- PtxasTest.cpp - Tests of running ptxas -----------------------------===//

#include "attn/Runtime/Cuda/Ptxas.h"
#include "TestHelpers.h"
#include <thread>
#include <vector>

using namespace attn::cuda;

static constexpr llvm::StringLiteral kPtx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<4>;
  .shared .align 16 .b8 s[1024];
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.shared.u32 [s], %r1;
  bar.sync 0;
  ld.shared.u32 %r2, [s];
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

/// What ptxas prints with -v, of two functions.
static constexpr llvm::StringLiteral kOutput =
    R"(ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a reason in the function 'a'
ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 48 bytes cumulative stack size, 1024 bytes smem, 528 bytes cmem[0]
ptxas info    : Compile time = 18.050 ms
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas /tmp/x.ptx, line 12; warning : Something odd: info is odd
ptxas warning : (C12) Something; error : else
Some line of a later version
)";

// Of kernels around the one that a schedule is of, nothing counts.
TEST(PtxasTest, reportOfOneFunction) {
  PtxasReport report = parsePtxasOutput(kOutput, "b");
  EXPECT_EQ(report.resources.registers, 8);
  EXPECT_EQ(report.resources.stackBytes, 0);
  EXPECT_EQ(report.resources.spillBytes, 0);
  EXPECT_EQ(parsePtxasOutput(kOutput, "a").resources.spillBytes, 84);
  // What it says is of all.
  EXPECT_EQ(report.messages.size(), 4u);
}

TEST(PtxasTest, report) {
  PtxasReport report = parsePtxasOutput(kOutput);
  EXPECT_EQ(report.resources.registers, 168);
  EXPECT_EQ(report.resources.sharedBytes, 1024);
  EXPECT_EQ(report.resources.stackBytes, 48);
  EXPECT_EQ(report.spillStoreBytes, 40);
  EXPECT_EQ(report.spillLoadBytes, 44);
  EXPECT_EQ(report.resources.spillBytes, 84);
  ASSERT_EQ(report.messages.size(), 4u);
  EXPECT_EQ(report.messages[0].code, "C7510");
  EXPECT_EQ(report.messages[0].severity, PtxasMessage::Info);
  EXPECT_TRUE(contains(report.messages[0].text, "Potential Performance Loss"));
  EXPECT_EQ(report.messages[1].text, "line 12: Something odd: info is odd");
  EXPECT_EQ(report.messages[1].severity, PtxasMessage::Warning);
  EXPECT_EQ(report.messages[2].code, "C12");
  EXPECT_EQ(report.messages[2].severity, PtxasMessage::Warning);
  EXPECT_EQ(report.messages[3].text, "Some line of a later version");
}

TEST(PtxasTest, acceptable) {
  std::string reason;
  EXPECT_TRUE(isAcceptable(parsePtxasOutput("")));
  EXPECT_FALSE(isAcceptable(parsePtxasOutput(kOutput), 83, &reason));
  EXPECT_EQ(reason, "ptxas spills registers: 40 bytes of stores and 44 bytes "
                    "of loads");
  reason.clear();
  EXPECT_FALSE(isAcceptable(parsePtxasOutput(kOutput), 84, &reason));
  EXPECT_TRUE(llvm::StringRef(reason).starts_with("ptxas says C7510"))
      << reason;
  // Without its message.
  llvm::StringRef spills = llvm::StringRef(kOutput).split('\n').second;
  EXPECT_TRUE(isAcceptable(parsePtxasOutput(spills), 84, &reason));
  EXPECT_EQ(reason, "ptxas spills registers: 40 bytes of stores and 44 bytes "
                    "of loads");
  EXPECT_FALSE(isAcceptable(
      parsePtxasOutput("ptxas info    : (C7504) Potential Performance Loss: "
                       "'setmaxnreg' ignored\n"),
      /*spillBytes=*/1000, &reason));
  EXPECT_EQ(reason, "ptxas says C7504: Potential Performance Loss: "
                    "'setmaxnreg' ignored");
  EXPECT_TRUE(isAcceptable(
      parsePtxasOutput("ptxas info    : (C7519) warpgroup.arrive is injected "
                       "in around line 9\nptxas info    : (C75) x\n"
                       "ptxas info    : (C8500) x\n")));
}

//===----------------------------------------------------------------------===//
// A script in place of ptxas
//===----------------------------------------------------------------------===//

namespace {
class FakePtxasTest : public ::testing::Test {
protected:
  Ptxas make(const std::string &script) {
    std::string path = directory.get("ptxas");
    writeFile(path, "#!/bin/sh\n" + script);
    EXPECT_FALSE(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all));
    return Ptxas(path);
  }

  ScopedDirectory directory;
};
} // namespace

// Finds the file after -o.
static const std::string kFindOutput =
    "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n";

TEST_F(FakePtxasTest, compiles) {
  Ptxas ptxas =
      make("echo \"ptxas info    : (C1) $1 $2 $3\" >&2\n" + kFindOutput +
           "printf 'code' >\"$out\"\n"
           "cat >&2 <<'END'\n" +
           kOutput.str() + "END\n");
  PtxasOptions options;
  options.chip = "sm_100";
  options.arguments = {"-O1"};
  PtxasResult result = get(ptxas.compile("text", options));
  EXPECT_EQ(result.cubin, "code");
  EXPECT_EQ(result.report.resources.registers, 168);
  ASSERT_EQ(result.report.messages.size(), 5u);
  EXPECT_EQ(result.report.messages[0].text, "-arch=sm_100 -v -O1");
}

TEST_F(FakePtxasTest, rejects) {
  Ptxas ptxas = make("echo 'ptxas info    : 0 bytes gmem'\n"
                     "echo 'ptxas /tmp/x.ptx, line 3; error   : Bad luck' >&2\n"
                     "exit 255\n");
  EXPECT_EQ(getText(ptxas.compile("text", {"sm_90a"})),
            ptxas.getPath() +
                " rejects the code (status 255):\n  line 3: Bad luck");
}

TEST_F(FakePtxasTest, failures) {
  EXPECT_TRUE(
      contains(getText(make("kill -SEGV $$\n").compile("text", {"sm_90a"})),
               " crashed"));
  EXPECT_TRUE(contains(getText(make("exit 0\n").compile("text", {"sm_90a"})),
                       "has written no code"));
  EXPECT_TRUE(
      contains(getText(Ptxas("/nowhere/ptxas").compile("text", {"sm_90a"})),
               "/nowhere/ptxas"));
  PtxasOptions options;
  options.timeoutSeconds = 0.05;
  llvm::Error error =
      make("exec sleep 100\n").compile("text", options).takeError();
  EXPECT_TRUE(contains(getText(std::move(error)), "did not finish within"));
}

TEST_F(FakePtxasTest, nothingIsLeftBehind) {
  ScopedDirectory scratch;
  ScopedVariable variable("TMPDIR", scratch.get().c_str());
  Ptxas good = make(kFindOutput + "printf 'code' >\"$out\"\n");
  EXPECT_EQ(get(good.compile("text", {"sm_90a"})).cubin, "code");
  EXPECT_NE(getText(make("exit 1\n").compile("text", {"sm_90a"})), "");
  std::error_code code;
  llvm::sys::fs::directory_iterator it(scratch.get(), code);
  EXPECT_FALSE(code);
  EXPECT_TRUE(it == llvm::sys::fs::directory_iterator());
}

TEST_F(FakePtxasTest, version) {
  EXPECT_EQ(get(make("echo ptxas; echo; echo 'Build 13'\n").getVersion()),
            "Build 13");
  EXPECT_TRUE(contains(getText(make("exit 3\n").getVersion()),
                       "to tell its version, but got status 3"));
}

TEST_F(FakePtxasTest, threads) {
  Ptxas ptxas = make(kFindOutput + "printf 'code' >\"$out\"\n");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j)
        EXPECT_EQ(get(ptxas.compile("text", {"sm_90a"})).cubin, "code");
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(FakePtxasTest, find) {
  Ptxas ptxas = make("exit 0\n");
  {
    ScopedVariable variable("ATTN_PTXAS", ptxas.getPath().c_str());
    EXPECT_EQ(get(Ptxas::find()).getPath(), ptxas.getPath());
  }
  {
    ScopedVariable variable("ATTN_PTXAS", "/nowhere/ptxas");
    EXPECT_EQ(getText(Ptxas::find()), "expects ATTN_PTXAS to name a program, "
                                      "but got '/nowhere/ptxas'");
  }
  {
    ScopedVariable variable("ATTN_PTXAS", "ptxas");
    ScopedVariable path("PATH", directory.get().c_str());
    EXPECT_EQ(get(Ptxas::find()).getPath(), ptxas.getPath());
  }
  ScopedVariable variable("ATTN_PTXAS", nullptr);
  ScopedVariable path("PATH", directory.get().c_str());
  EXPECT_EQ(get(Ptxas::find()).getPath(), ptxas.getPath());
  // Not in PATH, but below CUDA_HOME.
  ScopedVariable otherPath("PATH", "/nowhere");
  ASSERT_FALSE(llvm::sys::fs::create_directory(directory.get("bin")));
  ASSERT_FALSE(
      llvm::sys::fs::rename(ptxas.getPath(), directory.get("bin/ptxas")));
  ScopedVariable home("CUDA_HOME", directory.get().c_str());
  EXPECT_EQ(get(Ptxas::find()).getPath(), directory.get("bin/ptxas"));
}

//===----------------------------------------------------------------------===//
// The real one
//===----------------------------------------------------------------------===//

TEST(RealPtxasTest, compiles) {
  llvm::Expected<Ptxas> ptxas = Ptxas::find();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  EXPECT_TRUE(contains(get(ptxas->getVersion()), "uild")) << "a build's name";
  PtxasResult result = get(ptxas->compile(kPtx, {"sm_90a"}));
  EXPECT_TRUE(llvm::StringRef(result.cubin).starts_with("\177ELF"));
  EXPECT_GT(result.report.resources.registers, 0);
  EXPECT_EQ(result.report.resources.sharedBytes, 1024);
  EXPECT_TRUE(isAcceptable(result.report));
  for (const PtxasMessage &message : result.report.messages)
    ADD_FAILURE() << message.text;
}

TEST(RealPtxasTest, rejects) {
  llvm::Expected<Ptxas> ptxas = Ptxas::find();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  std::string broken = kPtx.str();
  broken.replace(broken.find("st.global"), 9, "st.globol");
  std::string text = getText(ptxas->compile(broken, {"sm_90a"}));
  EXPECT_TRUE(contains(text, "rejects the code (status 255):\n  line 14:"))
      << text;
}
