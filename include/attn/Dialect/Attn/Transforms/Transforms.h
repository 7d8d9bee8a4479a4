//===- Transforms.h - Transformations of attention --------------*- C++ -*-===//
//
// What the passes of the attn dialect do, as functions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_TRANSFORMS_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_TRANSFORMS_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Where a location is in a file, "file:line:column", or "" if it is in none.
std::string getLocationText(Location loc);
/// What an error of a call that `op` is wrong with is told as.
std::string getErrorText(Operation *op, const Twine &text);

/// The texts of what the functions of a program report, by number.
SmallVector<Attribute> getSites(Operation *root);
/// Sets them, if there are any.
void setSites(Operation *root, ArrayRef<Attribute> sites);

/// The category of all remarks of the compiler.
inline constexpr llvm::StringLiteral kRemarkCategory = "attn";
/// What a remark that is about a schedule has it as.
inline constexpr llvm::StringLiteral kScheduleRemarkKey = "Schedule";

/// The name of the function around `op` for remarks, or nothing.
StringRef getFunctionName(Operation *op);

/// Operations of the index dialect become those of arith on index.
void populateIndexToArithPatterns(RewritePatternSet &patterns);
/// `scf.if` becomes `arith.select` where both sides may always be computed.
void populateBranchToSelectPatterns(RewritePatternSet &patterns);
/// A choice between a score and -inf moves behind arithmetic that keeps -inf,
/// such as the addition of a finite bias.
void populateSinkInfinityPatterns(RewritePatternSet &patterns);

/// `attn.online_step` and the ends of an online softmax become arithmetic on
/// vectors.
void populateDecomposeOnlineStepPatterns(RewritePatternSet &patterns);

/// The results of an `attn.normalize`, the second one null if it had no use,
/// and the first one before it is rounded.
struct NormalizedTile {
  Value o, lse, unrounded;
};
/// Replaces `op` by arithmetic on vectors.
NormalizedTile expandNormalize(RewriterBase &rewriter, NormalizeOp op);

/// Folds and simplifies all regions of `op`: the patterns above, upstream's
/// canonical forms, and common subexpressions.
void cleanUpRegions(AttentionLikeOpInterface op);

/// Where a mask asks for a term of the key to be one of the query, has its
/// other conditions read that of the query.
void substituteEqualTerms(RewriterBase &rewriter, AttentionLikeOpInterface op);

/// Writes the mask of `op` in the form that all its spellings share: each
/// condition is solved for the key, and has one place among the others.
void normalizeMask(RewriterBase &rewriter, AttentionLikeOpInterface op);

/// Brings the score and mask regions of `op` to the forms that later passes
/// read (see attn-canonicalize-score). An `op` without use is erased.
void canonicalizeScore(RewriterBase &rewriter, AttentionLikeOpInterface op);

/// Makes the sparsity of `op` a part of its mask (see attn-expand-sparsity),
/// but for lists with blocks of 1x1, unless `ofKeys`. Texts of errors that the
/// lists may have are added to `sites`; with `byElement` there are none.
LogicalResult expandSparsity(RewriterBase &rewriter,
                             AttentionLikeOpInterface op,
                             SmallVectorImpl<Attribute> &sites,
                             bool byElement = false, bool ofKeys = false);

/// Makes the lists of single keys of `op` a part of its mask, as bits of words
/// of queries by keys (see attn-choose-sparsity). With `asOperation` an
/// attn.key_bitmask fills the words of a query, in place of a loop.
LogicalResult expandKeyLists(RewriterBase &rewriter,
                             AttentionLikeOpInterface op, bool asOperation);

/// Whether `element` is read from words of which a position says which bit
/// counts: it has no blocks.
bool isKeyBitmaskWord(Value element);

/// Fills the `blocks` region of `op` from its mask, where the mask bounds
/// anything (see attn-classify-blocks).
void classifyBlocks(RewriterBase &rewriter, OnlineAttentionOp op);

/// Fills the `tiles` region of `op` from its mask, where bounds do not say all
/// and the mask tells tiles apart (see attn-lift-mask). With `evenIntervals`,
/// where bounds do say all too.
void liftMask(RewriterBase &rewriter, OnlineAttentionOp op,
              bool evenIntervals = false);
/// The same of a gradient, where bounds of the queries that keys meet do not
/// say all.
void liftMask(RewriterBase &rewriter, AttentionGradOp op,
              bool evenIntervals = false);

/// Replaces `op` by an online attention from the neutral state and a finalize
/// (see attn-online-softmax).
FailureOr<FinalizeOp> lowerToOnline(RewriterBase &rewriter, AttentionOp op,
                                    Rescale rescale = Rescale::Exact);

/// Gradients of queries, keys and values as attentions whose weights are what
/// probabilities are multiplied by in them (see attn-hopper-expand-gradients).
/// Those of keys and values have the keys as queries. Gradients of captures are
/// sums over pairs.
FailureOr<SmallVector<Value>> lowerToAttentions(RewriterBase &rewriter,
                                                AttentionGradOp op);

/// Queries and keys of the blocks that a mask tells apart, or 0.
struct MaskBlocks {
  int64_t rows = 0, columns = 0;
};

/// The blocks of the sparsity of `op`, or of what its mask reads at quotients
/// of positions, or those that it makes of positions by quotients; the largest
/// ones that divide all. 0 where there are none.
MaskBlocks getMaskBlocks(AttentionLikeOpInterface op);

/// Whether an index of a read in a mask of `op` is the number of a block.
bool isBlockNumber(AttentionLikeOpInterface op, Value index);

/// What a schedule for a CPU is chosen by.
struct CPUScheduleInput {
  unsigned vectorBits;      ///< width of a vector register
  unsigned vectorRegisters; ///< number of vector registers
  unsigned l1Bytes;         ///< first-level data cache
  /// How many queries there are, or 0 where only a call tells.
  int64_t queries = 0;
  /// Those that a mask tells apart.
  MaskBlocks blocks = {};
};

/// A schedule for an attention with these head dimensions and accumulator.
ScheduleAttr chooseCPUSchedule(FloatType accType, int64_t queryKeyDim,
                               int64_t valueDim, const CPUScheduleInput &input);

/// Whether each query of `op` has a list of single keys: a sparsity of lists
/// with blocks of 1x1.
bool hasKeyLists(AttentionLikeOpInterface op);

/// Elements of the rows that a score captures for a query and multiplies by
/// those of keys, where each query has a program of its own.
int64_t getCapturedRowElements(AttentionLikeOpInterface op);

/// A schedule for an attention whose queries have such lists.
RowScheduleAttr chooseCPURowSchedule(FloatType accType,
                                     const CPUScheduleInput &input);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_TRANSFORMS_H
