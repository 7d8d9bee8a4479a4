//===- DriverTest.cpp - Tests of opening the driver -----------------------===//

#include "attn/Runtime/Cuda/Driver.h"
#include "FakeCuda.h"
#include "TestHelpers.h"

using namespace attn::cuda;

TEST(DriverTest, opens) {
  useFakeDriver();
  fakeCudaClear();
  Driver driver = get(Driver::open(ATTN_FAKE_CUDA));
  EXPECT_EQ(driver.version, 13000);
  EXPECT_EQ(fakeCudaGetCount("cuInit"), 1);
  const Driver *shared = get(Driver::get());
  fakeCudaClear();
  EXPECT_EQ(shared, get(Driver::get()));
  EXPECT_EQ(fakeCudaGetCount("cuInit"), 0);
}

TEST(DriverTest, noLibrary) {
  std::string text = getText(Driver::open("/nowhere/libcuda.so.1"));
  EXPECT_TRUE(
      contains(text, "no CUDA driver: cannot open /nowhere/libcuda.so.1 ("))
      << text;
  EXPECT_TRUE(llvm::StringRef(text).ends_with("); the target cpu can run it"))
      << text;
}

TEST(DriverTest, noSymbol) {
  std::string text = getText(Driver::open("libm.so.6"));
  EXPECT_EQ(text, "expects the CUDA driver libm.so.6 to have cuInit (CUDA 12.0 "
                  "or later), but it has not; update the driver, or the target "
                  "cpu can run it");
}

TEST(DriverTest, doesNotStart) {
  fakeCudaClear();
  fakeCudaFail("cuInit", kErrorNoDevice);
  EXPECT_EQ(getText(Driver::open(ATTN_FAKE_CUDA)),
            "expects a GPU, but the CUDA driver finds none; the target "
            "cpu can run it");
  fakeCudaFail("cuInit", 803);
  EXPECT_TRUE(contains(getText(Driver::open(ATTN_FAKE_CUDA)),
                       "does not start: unknown CUDA error 803; the target"));
  fakeCudaClear();
}

TEST(DriverTest, errors) {
  Driver driver = get(Driver::open(ATTN_FAKE_CUDA));
  expectSuccess(driver.check(kSuccess, "nothing"));
  llvm::Error error = driver.check(kErrorOutOfMemory, "the allocation");
  EXPECT_TRUE(isOutOfMemory(error));
  EXPECT_EQ(getText(std::move(error)), "the allocation failed: "
                                       "CUDA_ERROR_OUT_OF_MEMORY: said the "
                                       "fake");
  error = driver.check(kErrorInvalidValue, "the call");
  EXPECT_FALSE(isOutOfMemory(error));
  EXPECT_EQ(llvm::errorToErrorCode(std::move(error)),
            std::make_error_code(std::errc::invalid_argument));
}
