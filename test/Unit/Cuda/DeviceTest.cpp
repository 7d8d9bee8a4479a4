//===- DeviceTest.cpp - Tests of devices, memory, streams and events ------===//

#include "attn/Runtime/Cuda/Device.h"
#include "FakeCuda.h"
#include "TestHelpers.h"
#include <thread>

using namespace attn::cuda;

namespace {
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    useFakeDriver();
    fakeCudaClear();
    get(Driver::get())->cuCtxSetCurrent(nullptr);
  }
};
} // namespace

TEST_F(DeviceTest, properties) {
  EXPECT_EQ(get(Device::getCount()), 3);
  Device device = get(Device::get(0));
  EXPECT_EQ(device.getOrdinal(), 0);
  EXPECT_EQ(device.getName(), "Fake 0");
  EXPECT_EQ(device.getNumSMs(), 4);
  EXPECT_EQ(device.getComputeCapability(), std::make_pair(9, 0));
  EXPECT_EQ(device.getMaxSharedBytes(), 232448);
  EXPECT_EQ(device.describe(), "device 0 (Fake 0)");
  EXPECT_EQ(device, get(Device::get(0)));
  EXPECT_NE(device, get(Device::get(2)));
  expectSuccess(device.synchronize());
}

TEST_F(DeviceTest, wrongDevices) {
  EXPECT_EQ(getText(Device::get(1)),
            "expects a GPU of compute capability 9.0 (Hopper), but device 1 "
            "(Fake 1) has 8.0; the target cpu can run it");
  EXPECT_EQ(getText(Device::get(3)), "expects a GPU from 0 to 2, but got 3");
  EXPECT_EQ(getText(Device::get(-1)), "expects a GPU from 0 to 2, but got -1");
}

TEST_F(DeviceTest, current) {
  // Nothing is current: the first GPU.
  EXPECT_EQ(get(Device::current()).getOrdinal(), 0);
  // The driver is left as it was.
  ContextHandle context = nullptr;
  const Driver &driver = *get(Driver::get());
  driver.cuCtxGetCurrent(&context);
  EXPECT_EQ(context, nullptr);

  Device second = get(Device::get(2));
  driver.cuCtxSetCurrent(second.getContext());
  EXPECT_EQ(get(Device::current()), second);
  std::thread([] { EXPECT_EQ(get(Device::current()).getOrdinal(), 0); }).join();
}

TEST_F(DeviceTest, currentContextOfOthers) {
  // A wrong device that somebody else has made current.
  const Driver &driver = *get(Driver::get());
  ContextHandle context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 1);
  driver.cuCtxSetCurrent(context);
  EXPECT_TRUE(contains(getText(Device::current()), "but device 1 (Fake 1)"));
}

TEST_F(DeviceTest, buffers) {
  Device device = get(Device::get(0));
  DeviceBuffer buffer = get(DeviceBuffer::allocate(device, 1000));
  EXPECT_EQ(buffer.getSize(), 1000u);
  EXPECT_EQ(buffer.getAddress() % 256, 0u);
  int numbers[] = {1, 2, 3}, back[] = {0, 0, 0};
  expectSuccess(buffer.copyFrom(numbers, sizeof(numbers), 8));
  expectSuccess(buffer.copyTo(back, sizeof(back), 8));
  EXPECT_EQ(back[2], 3);
  Stream stream = get(Stream::create(device));
  expectSuccess(buffer.fill(1, stream.getHandle()));
  expectSuccess(stream.synchronize());
  expectSuccess(buffer.copyTo(back, sizeof(back)));
  EXPECT_EQ(back[0], 0x01010101);
  EXPECT_EQ(getText(buffer.copyTo(back, 8, 996)),
            "expects a copy within 1000 bytes, but got 8 bytes at 996");
  EXPECT_EQ(getText(buffer.copyFrom(back, size_t(-1), 8)),
            "expects a copy within 1000 bytes, but got 18446744073709551615 "
            "bytes at 8");

  DeviceBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.getSize(), 1000u);
  moved = get(DeviceBuffer::allocate(device, 0));
  EXPECT_EQ(moved.getData(), nullptr);
  expectSuccess(moved.copyTo(nullptr, 0));
}

TEST_F(DeviceTest, buffersAreFreed) {
  Device device = get(Device::get(0));
  {
    DeviceBuffer a = get(DeviceBuffer::allocate(device, 1));
    DeviceBuffer b = std::move(a);
    a = get(DeviceBuffer::allocate(device, 2));
  }
  EXPECT_EQ(fakeCudaGetCount("cuMemAlloc_v2"), 2);
  EXPECT_EQ(fakeCudaGetCount("cuMemFree_v2"), 2);
}

TEST_F(DeviceTest, outOfMemory) {
  llvm::Expected<DeviceBuffer> buffer =
      DeviceBuffer::allocate(get(Device::get(0)), size_t(1) << 40);
  llvm::Error error = buffer.takeError();
  EXPECT_TRUE(isOutOfMemory(error));
  EXPECT_EQ(getText(std::move(error)),
            "expects 1.0 TiB of memory of device 0 (Fake 0), but got only "
            "1.0 GiB free");
  // Other failures are not mistaken for it.
  fakeCudaFail("cuMemAlloc_v2", kErrorInvalidValue);
  EXPECT_EQ(getText(DeviceBuffer::allocate(get(Device::get(0)), 8)),
            "the allocation failed: CUDA_ERROR_INVALID_VALUE: said the fake");
}

TEST_F(DeviceTest, events) {
  Device device = get(Device::get(0));
  Stream stream = get(Stream::create(device));
  Event start = get(Event::create(device)), stop = get(Event::create(device));
  expectSuccess(start.record(stream.getHandle()));
  expectSuccess(stop.record(stream.getHandle()));
  expectSuccess(stop.synchronize());
  EXPECT_EQ(get(stop.getMillisecondsSince(start)), 1.5);
}
