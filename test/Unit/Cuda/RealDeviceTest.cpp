//===- RealDeviceTest.cpp - Tests on a GPU, where there is one ------------===//
//
// A program of its own, as the others have the fake driver. On a machine
// without a GPU of compute capability 9.0 the tests are skipped.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "attn/Runtime/Cuda/Executable.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "attn/Support/DType.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <chrono>
#include <vector>

using namespace attn;
using namespace attn::cuda;

/// out[row * stride] = factor * row
static constexpr llvm::StringLiteral kRows = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry rows(.param .u64 out, .param .u32 extent, .param .u64 stride,
                     .param .f32 factor)
{
  .reg .pred %p;
  .reg .u32 %row, %tile, %extent;
  .reg .u64 %out, %stride, %wide;
  .reg .f32 %x, %factor;
  mov.u32 %row, %tid.x;
  mov.u32 %tile, %ctaid.x;
  mad.lo.u32 %row, %tile, 128, %row;
  ld.param.u32 %extent, [extent];
  setp.ge.u32 %p, %row, %extent;
  @%p ret;
  ld.param.u64 %out, [out];
  ld.param.u64 %stride, [stride];
  ld.param.f32 %factor, [factor];
  cvta.to.global.u64 %out, %out;
  cvt.u64.u32 %wide, %row;
  mul.lo.u64 %wide, %wide, %stride;
  shl.b64 %wide, %wide, 2;
  add.u64 %out, %out, %wide;
  cvt.rn.f32.u32 %x, %row;
  mul.f32 %x, %x, %factor;
  st.global.f32 [%out], %x;
  ret;
}
)";

/// Copies boxes of 8 rows of 64 elements of 16 bits, as they lie in shared
/// memory, to an array of boxes. Without rows it copies nothing.
static constexpr llvm::StringLiteral kBoxes = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry boxes(.param .align 64 .b8 map[128], .param .u64 out,
                      .param .u32 extent)
{
  .reg .pred %p;
  .reg .u32 %thread, %box, %row, %tile, %bar, %extent;
  .reg .u64 %map, %out, %state, %word, %offset;
  .shared .align 1024 .b8 tile[1024];
  .shared .align 8 .b64 bar;
  ld.param.u32 %extent, [extent];
  setp.eq.u32 %p, %extent, 0;
  @%p ret;
  mov.u32 %thread, %tid.x;
  mov.u32 %box, %ctaid.x;
  mov.u32 %tile, tile;
  mov.u32 %bar, bar;
  setp.ne.u32 %p, %thread, 0;
  @%p bra START;
  mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %state, [%bar], 1024;
  shl.b32 %row, %box, 3;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%tile], [%map, {0, %row}], [%bar];
START:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra WAIT;
  shl.b32 %row, %thread, 3;
  add.u32 %tile, %tile, %row;
  ld.shared.u64 %word, [%tile];
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  mad.wide.u32 %out, %box, 1024, %out;
  mad.wide.u32 %out, %thread, 8, %out;
  st.global.u64 [%out], %word;
  ret;
}
)";

static Variant makeVariant(const char *entry, llvm::StringRef ptx,
                           int32_t tileRows) {
  Variant variant;
  variant.entry = entry;
  variant.ptx = ptx.str();
  variant.threads = 128;
  variant.tileRows = tileRows;
  return variant;
}

/// The grid of both kernels: a tile for `tileRows` rows of operand 0.
static CudaProgram makeProgram(Variant variant) {
  GridInfo grid;
  grid.batchDim = grid.headDim = grid.keyDim = -1;
  grid.rowDim = 0;
  grid.keyOperand = 0;
  CudaProgram program;
  program.chip = "sm_90a";
  program.launches.push_back({grid, /*lists=*/{}, {std::move(variant)}});
  return program;
}

static Variant makeRows() {
  Variant variant = makeVariant("rows", kRows, 128);
  variant.params.resize(4);
  variant.params[1].kind = ParamKind::Extent;
  variant.params[1].bits = 32;
  variant.params[2].kind = ParamKind::Stride;
  variant.params[3].kind = ParamKind::Scalar;
  variant.params[3].operand = 1;
  variant.params[3].bits = 32;
  return variant;
}

static Variant makeBoxes(Swizzle swizzle) {
  Variant variant = makeVariant("boxes", kBoxes, 8);
  variant.params.resize(3);
  variant.params[0].kind = ParamKind::TensorMap;
  variant.params[0].operand = 1;
  variant.params[0].map.dims = {1, 0};
  variant.params[0].map.box = {64, 8};
  variant.params[0].map.swizzle = swizzle;
  variant.params[2].kind = ParamKind::Extent;
  variant.params[2].operand = 1;
  variant.params[2].bits = 32;
  return variant;
}

TEST(RealDeviceCodeTest, assembles) {
  llvm::Expected<Ptxas> ptxas = Ptxas::find();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  for (llvm::StringRef ptx : {kRows, kBoxes})
    EXPECT_TRUE(isAcceptable(get(ptxas->compile(ptx, {"sm_90a"})).report));
}

namespace {
class RealDeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<Device> found = Device::current();
    if (!found)
      GTEST_SKIP() << llvm::toString(found.takeError());
    device = *found;
  }

  std::optional<Device> device;
};
} // namespace

TEST_F(RealDeviceTest, rows) {
  constexpr int64_t kNumRows = 1000, kStride = 3;
  DeviceBuffer out =
      get(DeviceBuffer::allocate(*device, kNumRows * kStride * 4));
  Stream stream = get(Stream::create(*device));
  int64_t shape = kNumRows, stride = kStride;
  float factor = 0.5F;
  TensorView views[] = {
      {out.getData(), int32_t(DType::F32), 1, &shape, &stride},
      {&factor, int32_t(DType::F32), 0, nullptr, nullptr}};
  LaunchOptions options;
  options.stream = stream.getHandle();
  std::vector<float> result(kNumRows * kStride);
  auto check = [&](const Variant &variant) {
    Executable executable = get(Executable::load(makeProgram(variant)));
    expectSuccess(out.fill(0xff, stream.getHandle()));
    expectSuccess(executable.launch(views, options));
    expectSuccess(stream.synchronize());
    expectSuccess(out.copyTo(result.data(), result.size() * 4));
    for (int64_t row = 0; row < kNumRows; ++row) {
      EXPECT_EQ(result[row * kStride], 0.5F * float(row));
      EXPECT_NE(result[row * kStride + 1], result[row * kStride + 1]);
    }
  };
  Variant variant = makeRows();
  check(variant);
  if (llvm::Expected<Ptxas> ptxas = Ptxas::find()) {
    variant.cubin = get(ptxas->compile(kRows, {"sm_90a"})).cubin;
    check(variant);
  } else {
    llvm::consumeError(ptxas.takeError());
  }
  // The address of something that is no device memory.
  views[0].data = result.data();
  EXPECT_TRUE(contains(
      getText(get(Executable::load(makeProgram(variant))).launch(views)),
      "expects operand 0 to lie in memory of device"));
}

/// The array of boxes that the kernel makes of `keys`.
static std::vector<uint16_t> getBoxes(const std::vector<uint16_t> &keys,
                                      int64_t rows, int64_t stride,
                                      bool isSwizzled) {
  std::vector<uint16_t> result((rows + 7) / 8 * 8 * 64);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < 64; ++column) {
      int64_t piece = column / 8;
      if (isSwizzled)
        piece ^= row % 8;
      result[row * 64 + piece * 8 + column % 8] = keys[row * stride + column];
    }
  return result;
}

TEST_F(RealDeviceTest, tensorMaps) {
  // 37 rows of 64 that are 80 apart.
  constexpr int64_t kNumRows = 37, kStride = 80;
  std::vector<uint16_t> keys(kNumRows * kStride);
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<uint16_t>(i + 1);
  DeviceBuffer in = get(DeviceBuffer::allocate(*device, keys.size() * 2));
  DeviceBuffer out = get(DeviceBuffer::allocate(*device, 40 * 128));
  expectSuccess(in.copyFrom(keys.data(), keys.size() * 2));
  int64_t outShape[] = {40, 64}, outStrides[] = {64, 1};
  int64_t shape[] = {kNumRows, 64}, strides[] = {kStride, 1};
  TensorView views[] = {
      {out.getData(), int32_t(DType::BF16), 2, outShape, outStrides},
      {in.getData(), int32_t(DType::BF16), 2, shape, strides}};
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B128}) {
    Executable executable =
        get(Executable::load(makeProgram(makeBoxes(swizzle))));
    expectSuccess(out.fill(0xff));
    expectSuccess(executable.launch(views));
    expectSuccess(device->synchronize());
    std::vector<uint16_t> result(40 * 64);
    expectSuccess(out.copyTo(result.data(), result.size() * 2));
    EXPECT_EQ(result,
              getBoxes(keys, kNumRows, kStride, swizzle == Swizzle::B128));
    // No rows, and no memory for them.
    shape[0] = 0;
    views[1].data = nullptr;
    expectSuccess(executable.launch(views));
    expectSuccess(device->synchronize());
    // One row, whose stride says nothing.
    shape[0] = 1;
    strides[0] = 7;
    views[1].data = in.getData();
    expectSuccess(executable.launch(views));
    expectSuccess(device->synchronize());
    shape[0] = kNumRows;
    strides[0] = kStride;
  }
}

/// Prints how long a launch takes on the CPU. What is right depends on the
/// machine, so no number fails.
TEST_F(RealDeviceTest, launchTime) {
  DeviceBuffer out = get(DeviceBuffer::allocate(*device, 4096));
  Stream stream = get(Stream::create(*device));
  int64_t shape[] = {8, 64}, strides[] = {64, 1};
  TensorView views[] = {
      {out.getData(), int32_t(DType::BF16), 2, shape, strides},
      {out.getData(), int32_t(DType::BF16), 2, shape, strides}};
  Executable executable =
      get(Executable::load(makeProgram(makeBoxes(Swizzle::B128))));
  LaunchOptions options;
  options.stream = stream.getHandle();
  expectSuccess(executable.launch(views, options));
  expectSuccess(stream.synchronize());
  constexpr int kRounds = 200;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < kRounds; ++j)
      expectSuccess(executable.launch(views, options));
    std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kRounds);
    expectSuccess(stream.synchronize());
  }
  llvm::outs() << "a launch takes " << llvm::format("%.2f", best) << " us\n";
}
