//===- ThreadPatterns.h - Patterns that lower to a thread -------*- C++ -*-===//
//
// A pattern is a function of an operation, the values that a thread has for
// each of its operands, and a builder. It gives those of the results: `void`
// for none, `Elements` for one result, `Results` for several; or, where another
// pattern may do it, a FailureOr of these, before it has built anything.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADPATTERNS_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADPATTERNS_H

#include "ThreadBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::attn {

using Results = SmallVector<Elements>;

/// The values for each operand.
template <typename OpT>
using Operands = typename OpT::template GenericAdaptor<ArrayRef<ValueRange>>;

/// That of an optional operand of one value, or null.
inline Value getOptional(ValueRange values) {
  return values.empty() ? Value() : values[0];
}

namespace detail {
inline FailureOr<Results> toResults(Elements elements) {
  return Results{std::move(elements)};
}
inline FailureOr<Results> toResults(Results results) { return results; }
template <typename T> FailureOr<Results> toResults(FailureOr<T> result) {
  if (failed(result))
    return failure();
  return toResults(std::move(*result));
}

template <typename OpT, typename ResultT>
class ThreadPattern : public OpConversionPattern<OpT> {
public:
  using Function = ResultT (*)(OpT, Operands<OpT>, ThreadBuilder &);
  ThreadPattern(const TypeConverter &converter, MLIRContext *context,
                PatternBenefit benefit, Kernel &kernel, Function function)
      : OpConversionPattern<OpT>(converter, context, benefit), kernel(kernel),
        function(function) {}

  LogicalResult
  matchAndRewrite(OpT op, Operands<OpT> operands,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(rewriter, op, kernel);
    if constexpr (std::is_void_v<ResultT>) {
      function(op, operands, b);
      rewriter.eraseOp(op);
    } else {
      FailureOr<Results> results = toResults(function(op, operands, b));
      if (failed(results))
        return failure();
      rewriter.replaceOpWithMultiple(op, std::move(*results));
    }
    return success();
  }

private:
  Kernel &kernel;
  Function function;
};

/// Of any operation.
class AnyThreadPattern : public ConversionPattern {
public:
  using Function = FailureOr<Elements> (*)(Operation *, ArrayRef<ValueRange>,
                                           ThreadBuilder &);
  AnyThreadPattern(const TypeConverter &converter, MLIRContext *context,
                   PatternBenefit benefit, Kernel &kernel, Function function)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), benefit, context),
        kernel(kernel), function(function) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(rewriter, op, kernel);
    FailureOr<Elements> elements = function(op, operands, b);
    if (failed(elements))
      return failure();
    rewriter.replaceOpWithMultiple(op, Results{std::move(*elements)});
    return success();
  }

private:
  Kernel &kernel;
  Function function;
};
} // namespace detail

/// Takes functions as patterns.
class ThreadPatterns {
public:
  ThreadPatterns(RewritePatternSet &patterns, const TypeConverter &converter,
                 Kernel &kernel)
      : patterns(patterns), converter(converter), kernel(kernel) {}

  template <typename OpT, typename ResultT>
  void add(ResultT (*function)(OpT, Operands<OpT>, ThreadBuilder &),
           PatternBenefit benefit = 1) {
    patterns.add<detail::ThreadPattern<OpT, ResultT>>(
        converter, patterns.getContext(), benefit, kernel, function);
  }
  void addForAny(detail::AnyThreadPattern::Function function,
                 PatternBenefit benefit = 1) {
    patterns.add<detail::AnyThreadPattern>(converter, patterns.getContext(),
                                           benefit, kernel, function);
  }
  /// A pattern of its own class.
  template <typename PatternT> void addClass(PatternBenefit benefit = 1) {
    patterns.add<PatternT>(converter, patterns.getContext(), benefit, kernel);
  }

private:
  RewritePatternSet &patterns;
  const TypeConverter &converter;
  Kernel &kernel;
};

// A family each.
void populateBitPatterns(ThreadPatterns &patterns);
void populateChannelPatterns(ThreadPatterns &patterns);
void populateControlFlowPatterns(ThreadPatterns &patterns);
void populateCopyPatterns(ThreadPatterns &patterns);
void populateDivisionPatterns(ThreadPatterns &patterns);
void populateDropoutPatterns(ThreadPatterns &patterns);
void populateElementwisePatterns(ThreadPatterns &patterns);
void populateFragmentPatterns(ThreadPatterns &patterns);
void populateGatherPatterns(ThreadPatterns &patterns);
void populateIndexPatterns(ThreadPatterns &patterns);
void populatePredicatePatterns(ThreadPatterns &patterns);
void populateLimitPatterns(ThreadPatterns &patterns);
void populateListPatterns(ThreadPatterns &patterns);
void populateMatrixPatterns(ThreadPatterns &patterns);
void populateSplitPatterns(ThreadPatterns &patterns);
void populateReductionPatterns(ThreadPatterns &patterns);
void populateDiagonalPatterns(ThreadPatterns &patterns);
void populateScatterPatterns(ThreadPatterns &patterns);
void populateStorePatterns(ThreadPatterns &patterns);
void populateSumPatterns(ThreadPatterns &patterns);
void populateProloguePatterns(ThreadPatterns &patterns);
void populateTilePatterns(ThreadPatterns &patterns);
void populateTurnPatterns(ThreadPatterns &patterns);
void populatePingPongPatterns(ThreadPatterns &patterns);
void populateKeyUnionPatterns(ThreadPatterns &patterns);
void populateVectorPatterns(ThreadPatterns &patterns);
void populateWorkPatterns(ThreadPatterns &patterns);

/// Fails with a diagnostic at each operation that threads cannot compute.
LogicalResult verifyThreadOps(Operation *root);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADPATTERNS_H
