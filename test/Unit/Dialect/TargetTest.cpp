//===- TargetTest.cpp - What a target says of itself ----------------------===//

#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

TEST(TargetTest, getResidentCTAs) {
  MLIRContext context;
  TargetAttr h200 = getNamedTarget(&context, "h200");
  // Of 168 registers, of 2 CTAs there are too many; then of memory.
  EXPECT_EQ(h200.getResidentCTAs(384, 168, 115712), 1);
  EXPECT_EQ(h200.getResidentCTAs(384, 80, 115712), 2);
  EXPECT_EQ(h200.getResidentCTAs(384, 80, 115713), 1);
  EXPECT_EQ(h200.getResidentCTAs(384, 80, 115713 + (200 << 10)), 0);
  // Threads and CTAs are limited, too; registers are given to whole warps.
  EXPECT_EQ(h200.getResidentCTAs(384, 8, 0), 5);
  EXPECT_EQ(h200.getResidentCTAs(1, 8, 0), 32);
  EXPECT_EQ(h200.getResidentCTAs(1, 249, 0), 8);
  // What has fewer threads and less memory.
  TargetAttr rtx5090 = getNamedTarget(&context, "rtx5090");
  EXPECT_EQ(rtx5090.getResidentCTAs(384, 8, 0), 4);
  EXPECT_EQ(rtx5090.getResidentCTAs(1, 8, 0), 24);
  EXPECT_EQ(rtx5090.getResidentCTAs(384, 80, 115712), 0);
  // No shared memory at all.
  auto small = cast<TargetAttr>(parseAttribute(
      "#attn.target<\"sm\", sms = 1, sm_shared = 2048, cta_shared = 1024, "
      "reserved_shared = 0, sm_registers = 65536, thread_registers = 255, "
      "sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>",
      &context));
  EXPECT_EQ(small.getResidentCTAs(32, 8, 0), 32);
}
