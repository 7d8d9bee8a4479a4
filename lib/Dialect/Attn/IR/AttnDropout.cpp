//===- AttnDropout.cpp - Dropout on probabilities -------------------------===//

#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Weights of attentions
//===----------------------------------------------------------------------===//

/// What the score yields; nothing without one.
static OperandRange getYielded(AttentionLikeOpInterface op) {
  return op.getScore().front().getTerminator()->getOperands();
}

Value mlir::attn::getWeight(AttentionLikeOpInterface op) {
  if (op.getScore().empty() || getYielded(op).size() < 2)
    return {};
  return getYielded(op)[1];
}

bool mlir::attn::weightReadsScore(AttentionLikeOpInterface op) {
  Value weight = getWeight(op);
  if (!weight)
    return false;
  SetVector<Value> needed;
  needed.insert(weight);
  for (unsigned next = 0; next < needed.size(); ++next)
    if (Operation *inner = needed[next].getDefiningOp())
      inner->walk(
          [&](Operation *part) { needed.insert_range(part->getOperands()); });
  return needed.contains(op.getScore().getArgument(0));
}

LogicalResult mlir::attn::verifyConstantWeight(AttentionLikeOpInterface op) {
  if (!weightReadsScore(op))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitError("expects the weight that the score region yields not to "
                    "depend on the score, as it has no gradient");
  diagnostic.attachNote(getWeight(op).getLoc()) << "computed here";
  return diagnostic;
}

bool mlir::attn::changesScores(AttentionLikeOpInterface op) {
  return !op.getScore().empty() &&
         getYielded(op)[0] != op.getScore().getArgument(0);
}

//===----------------------------------------------------------------------===//
// attn.dropout
//===----------------------------------------------------------------------===//

/// Of scalars, the type of the result says all.
static ParseResult parseDropoutTypes(OpAsmParser &parser, Type &seed,
                                     Type &offset, Type &b, Type &h, Type &i,
                                     Type &j, Type &factor) {
  Builder &builder = parser.getBuilder();
  if (failed(parser.parseOptionalLParen())) {
    seed = offset = builder.getI64Type();
    b = h = i = j = builder.getIndexType();
    return parser.parseType(factor);
  }
  for (Type *type : {&seed, &offset, &b, &h, &i, &j})
    if ((type != &seed && parser.parseComma()) || parser.parseType(*type))
      return failure();
  return failure(parser.parseRParen() || parser.parseArrow() ||
                 parser.parseType(factor));
}

static void printDropoutTypes(OpAsmPrinter &printer, Operation *op, Type, Type,
                              Type, Type, Type, Type, Type factor) {
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>))
    printer << "(" << op->getOperandTypes() << ") -> ";
  printer << factor;
}

LogicalResult DropoutOp::verify() {
  double p = getProbability().convertToDouble();
  if (!(p >= 0 && p < 1))
    return emitOpError("expects a probability that is at least 0 and less "
                       "than 1, but got ")
           << getProbabilityAttr();
  return success();
}

uint32_t DropoutOp::getLeastKept() {
  double least = getProbability().convertToDouble() * 0x1p16;
  return static_cast<uint32_t>(std::min(std::nearbyint(least), 0x1p16 - 1));
}

double DropoutOp::getScale() {
  return 1 / (1 - getProbability().convertToDouble());
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnDropoutOps.cpp.inc"
