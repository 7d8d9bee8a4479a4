//===- ThrowTest.cpp - Functions of specifications that throw -------------===//

#include "attn/Builder/AttentionSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

using namespace attn;

TEST(AttentionSpec, FunctionsMayThrow) {
  AttentionSpec spec;
  Capture capture = spec.capture("c", DType::F32, {8});
  bool throws = true;
  spec.score([&](const ScoreArgs &at) {
    Expr element = capture[{at.j}];
    if (throws)
      throw 7;
    return at.s + element;
  });
  for (int n = 0; n != 2; ++n) {
    int caught = 0;
    try {
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      llvm::cantFail(spec.build(&context));
    } catch (int thrown) {
      caught = thrown;
    }
    EXPECT_EQ(caught, 7);
    // No function is built now.
    Expr element = capture[{0}] + 1;
  }
  throws = false;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::cantFail(spec.build(&context));
}
