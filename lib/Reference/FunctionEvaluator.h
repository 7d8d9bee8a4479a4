//===- FunctionEvaluator.h - Evaluate the body of a function ----*- C++ -*-===//

#ifndef ATTN_LIB_REFERENCE_FUNCTIONEVALUATOR_H
#define ATTN_LIB_REFERENCE_FUNCTIONEVALUATOR_H

#include "Array.h"
#include "AttentionObserver.h"
#include "RegionCompiler.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn::reference {

class FunctionEvaluator {
public:
  using Values = llvm::SmallVector<ArrayPtr, 4>;

  /// `depth` counts the calls that are being evaluated. An observer may be
  /// null.
  FunctionEvaluator(const EvaluatorOptions &options, unsigned depth,
                    AttentionObserver *observer = nullptr)
      : options(options), depth(depth), observer(observer) {}

  llvm::Expected<Values> call(mlir::func::FuncOp function,
                              llvm::ArrayRef<ArrayPtr> arguments);

private:
  /// Evaluates all operations; gives the operands of the terminator.
  llvm::Expected<Values> evaluateBlock(mlir::Block &block);
  llvm::Error evaluateOp(mlir::Operation *op);

  // Control flow, in FunctionEvaluator.cpp.
  llvm::Error evaluateCall(mlir::func::CallOp op);
  llvm::Error evaluateIf(mlir::scf::IfOp op);
  llvm::Error evaluateFor(mlir::scf::ForOp op);
  llvm::Error evaluateReport(mlir::attn::ReportOp op);
  llvm::Error evaluateAttn(mlir::Operation *op);
  /// Shows an operation of the attn dialect to the observer, and gives results
  /// without elements to it; false if its results are needed.
  llvm::Expected<bool> observe(mlir::Operation *op,
                               const AttentionInputs &inputs,
                               llvm::ArrayRef<const Array *> outs);

  // In ParallelOps.cpp.
  llvm::Error evaluateForall(mlir::scf::ForallOp op);

  // Scalars and elementwise operations, in ElementwiseOps.cpp.
  llvm::Error evaluateConstant(mlir::arith::ConstantOp op);
  llvm::Error evaluateElementwise(mlir::Operation *op);

  // In TensorOps.cpp.
  llvm::Error evaluateTensorOp(mlir::Operation *op);
  llvm::Error evaluateEmpty(mlir::tensor::EmptyOp op);
  llvm::Error evaluateDim(mlir::tensor::DimOp op);
  llvm::Error evaluateExtract(mlir::tensor::ExtractOp op);
  llvm::Error evaluateInsert(mlir::tensor::InsertOp op);
  llvm::Error evaluateExtractSlice(mlir::tensor::ExtractSliceOp op);
  llvm::Error evaluateInsertSlice(mlir::tensor::InsertSliceOp op);
  llvm::Error
  evaluateParallelInsertSlice(mlir::tensor::ParallelInsertSliceOp op,
                              Array &result);
  template <typename OpTy> llvm::Error insertSlice(OpTy op, Array &result);
  llvm::Error evaluateReshape(mlir::Operation *op, const Shape &shape);
  llvm::Error evaluateFromElements(mlir::tensor::FromElementsOp op);
  llvm::Error evaluateSplat(mlir::tensor::SplatOp op);
  llvm::Error evaluatePad(mlir::tensor::PadOp op);
  llvm::Error evaluateGenerate(mlir::tensor::GenerateOp op);
  /// Fills `result` with what a region yields for each index.
  llvm::Error fillFromRegion(mlir::Region &region, Array &result);

  // In LinalgOps.cpp.
  llvm::Error evaluateLinalg(mlir::linalg::LinalgOp op);

  const ArrayPtr &get(mlir::Value value) const {
    return values.find(value)->second;
  }
  int64_t getIndex(mlir::Value value) const { return get(value)->ints[0]; }
  Shape getIndices(llvm::ArrayRef<mlir::OpFoldResult> mixed) const;
  Shape getIndices(mlir::ValueRange range) const;
  void set(mlir::Value value, Array array) {
    values[value] = std::make_shared<Array>(std::move(array));
  }
  /// An uninitialised array of a tensor type whose dynamic sizes are given.
  llvm::Expected<Array> makeArray(mlir::Value value, const Shape &shape) const;
  /// The values of this function, for regions that use what is around them.
  RegionCompiler::OuterValues getOuterValues() const;

  const EvaluatorOptions &options;
  unsigned depth;
  AttentionObserver *observer;
  llvm::DenseMap<mlir::Value, ArrayPtr> values;
};

/// An error unless 0 <= index < extent holds in each dimension.
llvm::Error checkIndices(mlir::Operation *op, llvm::ArrayRef<int64_t> indices,
                         llvm::ArrayRef<int64_t> shape);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_FUNCTIONEVALUATOR_H
