//===- BufferizableOpInterfaceImpl.cpp - Tiles on buffers -----------------===//

#include "attn/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A gather reads its source and yields a vector, which is no buffer.
template <typename OpTy>
struct GatherOpInterface
    : public bufferization::BufferizableOpInterface::ExternalModel<
          GatherOpInterface<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const bufferization::AnalysisState &) const {
    return false;
  }
  bufferization::AliasingValueList
  getAliasingValues(Operation *, OpOperand &,
                    const bufferization::AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto gather = cast<OpTy>(op);
    if (!isa<TensorType>(gather.getSource().getType()))
      return success();
    FailureOr<Value> buffer =
        getBuffer(rewriter, gather.getSource(), options, state);
    if (failed(buffer))
      return failure();
    rewriter.modifyOpInPlace(
        gather, [&] { gather.getSourceMutable().assign(*buffer); });
    return success();
  }
};
/// A scatter adds to what it takes, in place.
struct ScatterOpInterface
    : public bufferization::BufferizableOpInterface::ExternalModel<
          ScatterOpInterface, ScatterOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const bufferization::AnalysisState &) const {
    return true;
  }
  bufferization::AliasingValueList
  getAliasingValues(Operation *op, OpOperand &,
                    const bufferization::AnalysisState &) const {
    return {{op->getResult(0), bufferization::BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto scatter = cast<ScatterOp>(op);
    if (!isa<TensorType>(scatter.getInto().getType()))
      return success();
    FailureOr<Value> buffer =
        getBuffer(rewriter, scatter.getInto(), options, state);
    if (failed(buffer))
      return failure();
    ScatterOp::create(rewriter, op->getLoc(), Type(), scatter.getMode(),
                      scatter.getValues(), *buffer, scatter.getIndices(),
                      scatter.getMask());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *buffer);
    return success();
  }
};
} // namespace

void mlir::attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    GatherOp::attachInterface<GatherOpInterface<GatherOp>>(*context);
    GatherRowsOp::attachInterface<GatherOpInterface<GatherRowsOp>>(*context);
    ScatterOp::attachInterface<ScatterOpInterface>(*context);
  });
}
