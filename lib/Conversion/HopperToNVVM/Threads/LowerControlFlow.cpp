//===- LowerControlFlow.cpp - Loops of a thread ---------------------------===//
//
// What control flow carries is carried element by element, by the patterns of
// the scf dialect. Loops over indices are here, which count in 32 bits where
// they can.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
class ForPattern : public OpConversionPattern<scf::ForOp> {
public:
  ForPattern(const TypeConverter &converter, MLIRContext *context,
             PatternBenefit benefit, Kernel &kernel)
      : OpConversionPattern(converter, context, benefit), kernel(kernel) {}

  LogicalResult
  matchAndRewrite(scf::ForOp op, OneToNOpAdaptor in,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(rewriter, op, kernel);
    bool isIndex = isa<IndexType>(op.getInductionVar().getType());
    const IndexRanges &ranges = kernel.ranges;
    unsigned bits = ranges.fitsInt32(op.getInductionVar()) &&
                            ranges.fitsInt32(op.getUpperBound()) &&
                            ranges.fitsInt32(op.getStep())
                        ? 32
                        : 64;
    auto getBound = [&](ValueRange bound) {
      return isIndex ? b.toInt(bound, bits) : bound[0];
    };
    SmallVector<Value> inits;
    for (ValueRange init : in.getInitArgs())
      llvm::append_range(inits, init);
    auto loop = scf::ForOp::create(
        b, getBound(in.getLowerBound()), getBound(in.getUpperBound()),
        getBound(in.getStep()), inits,
        // Without a terminator.
        [](OpBuilder &, Location, Value, ValueRange) {});
    Block *body = loop.getBody();
    b.setInsertionPointToStart(body);
    TypeConverter::SignatureConversion conversion(
        op.getBody()->getNumArguments());
    conversion.remapInput(0, isIndex ? b.toIndex({loop.getInductionVar(), 0})
                                     : loop.getInductionVar());
    Results results;
    ValueRange arguments = loop.getRegionIterArgs(), values = loop.getResults();
    for (auto [number, init] : llvm::enumerate(in.getInitArgs())) {
      conversion.remapInput(1 + number,
                            Elements(arguments.take_front(init.size())));
      results.emplace_back(values.take_front(init.size()));
      arguments = arguments.drop_front(init.size());
      values = values.drop_front(init.size());
    }
    Block *source = rewriter.applySignatureConversion(op.getBody(), conversion,
                                                      getTypeConverter());
    rewriter.inlineBlockBefore(source, body, body->end());
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  Kernel &kernel;
};
} // namespace

void mlir::attn::populateControlFlowPatterns(ThreadPatterns &patterns) {
  patterns.addClass<ForPattern>(/*benefit=*/2);
}
