//===- RuntimeOnlyTest.cpp - Tests of libattn-runtime ---------------------===//

#include "attn-c/Runtime.h"
#include "gtest/gtest.h"
#include <string>

/// The text of the error that a call must have made.
static std::string takeText(attnStatus status, attnStatus expected,
                            attnError *const &error) {
  EXPECT_EQ(status, expected);
  EXPECT_EQ(attnErrorStatus(error), expected);
  std::string text = attnErrorMessage(error);
  attnErrorDestroy(error);
  return text;
}

TEST(RuntimeOnlyTest, devices) {
  attnError *error;
  EXPECT_EQ(takeText(attnDeviceCheck(ATTN_DEVICE_CPU, &error), ATTN_UNSUPPORTED,
                     error),
            "expects ATTN_DEVICE_CUDA; kernels for a CPU need libattn");
  EXPECT_EQ(takeText(attnDeviceCheck(2, &error), ATTN_UNSUPPORTED, error),
            "expects ATTN_DEVICE_CPU or ATTN_DEVICE_CUDA, but got 2");
}

TEST(RuntimeOnlyTest, load) {
  attnError *error;
  attnKernel *kernel;
  EXPECT_EQ(takeText(attnKernelLoad("abc", 3, &kernel, &error),
                     ATTN_UNSUPPORTED, error),
            "expects a kernel package, but got 3 bytes of something else");
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(takeText(attnKernelLoad(nullptr, 3, &kernel, &error),
                     ATTN_INVALID_ARGUMENT, error),
            "expects the bytes of a kernel, but got NULL");
  EXPECT_EQ(takeText(attnKernelLoad("abc", 3, nullptr, &error),
                     ATTN_INVALID_ARGUMENT, error),
            "expects a place for the kernel, but got NULL");
  EXPECT_EQ(takeText(attnKernelLoadFile(nullptr, &kernel, &error),
                     ATTN_INVALID_ARGUMENT, error),
            "expects the path of a file, but got NULL");
  EXPECT_EQ(takeText(attnKernelLoadFile("abc", nullptr, &error),
                     ATTN_INVALID_ARGUMENT, error),
            "expects a place for the kernel, but got NULL");
  EXPECT_EQ(takeText(attnKernelLoadFile("/nonexistent", &kernel, &error),
                     ATTN_INVALID_ARGUMENT, error),
            "cannot read '/nonexistent': No such file or directory");
  EXPECT_EQ(kernel, nullptr);
  attnKernelRelease(nullptr);
}
