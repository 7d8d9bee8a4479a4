//===- ScheduleFacts.h - What schedules depend on in a program --*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_SCHEDULES_SCHEDULEFACTS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_SCHEDULES_SCHEDULEFACTS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::attn {

/// What conditions of a table of schedules are on: numbers, and questions that
/// are 0 or 1. docs/gpu.md has the names that the file has for them.
struct ScheduleFacts {
  /// Columns of queries and keys, of values, the greater and the sum of both.
  int64_t queryKeyDim = 0, valueDim = 0, dim = 0, bothDims = 0;
  /// Whether there is a mask or a sparsity; whether it bounds the keys of a
  /// query by the query, above, and on both sides.
  int64_t masked = 0, causal = 0, window = 0;
  /// Whether KV blocks without an allowed pair are found by their class; and
  /// whether the mask has a bit for each pair, which leaves out hardly any.
  int64_t classes = 0, words = 0;
  /// Whether no KV block is passed over for data, as asked for.
  int64_t whole = 0;
  /// Whether Q blocks without an allowed row are found from data.
  int64_t rowClasses = 0;
  /// Of masks that divide positions by something: whether that is no multiple
  /// of 128; whether it is one, for queries and keys; what of it divides 256
  /// queries, and 128 keys.
  int64_t smallBlocks = 0, largeBlocks = 0, blockQueries = 256, blockKeys = 128;
  /// Whether the mask divides something of positions by a number of the call,
  /// or a constant that may be the size of tiles; and whether it asks for a
  /// remainder, so that it may have the same conditions again further on.
  int64_t divides = 0, periodic = 0;
  /// Whether the mask reads a capture for each key, but not by blocks.
  int64_t maskReadsKeys = 0;
  /// Of a score without what it computes for each diagonal:
  /// whether the score is a bias in the product, which is affine in the key, or
  /// has terms of keys; reads a capture for each key that is none of these; has
  /// functions of math; is anything but a bias and such reads.
  int64_t bias = 0, keyBias = 0, scoreReadsKeys = 0, scoreFunctions = 0,
          scoreArithmetic = 0;
  /// Whether threads read a capture for each pair.
  int64_t perPair = 0;
  /// Bytes of the largest element of captures that may come in tiles, or 0.
  int64_t captureBytes = 0;
  /// Whether tiles may have queries of several heads.
  int64_t packable = 0;
  /// Whether there may be few work tiles for the SMs, or some much longer.
  int64_t fewTiles = 0;
  /// Of gradients: whether scores are kept until their gradients are computed,
  /// and whether the score region weights probabilities; which of dq and dv are
  /// wanted; whether two warpgroups share out the columns of dq; whether tiles
  /// add to dq in an order.
  int64_t keepsScores = 0, weights = 0, dq = 0, dv = 0, sharedDq = 0,
          ordered = 0;
  /// Whether pairs add to gradients of captures, along diagonals, and whether
  /// adjoints read scores.
  int64_t contributions = 0, diagonals = 0, readsScores = 0;
  /// Of a row, for defaults alone: its work tile, and its use.
  int64_t tileM = 0, splitsKV = 0, anyStrides = 0;

  /// Calls `visit` with the name and each of the facts, in one order.
  template <typename Facts, typename Visitor>
  static void forEach(Facts &facts, Visitor visit) {
    using Name = llvm::StringLiteral;
    visit(Name("qk_dim"), facts.queryKeyDim);
    visit(Name("v_dim"), facts.valueDim);
    visit(Name("dim"), facts.dim);
    visit(Name("both_dims"), facts.bothDims);
    visit(Name("masked"), facts.masked);
    visit(Name("causal"), facts.causal);
    visit(Name("window"), facts.window);
    visit(Name("classes"), facts.classes);
    visit(Name("words"), facts.words);
    visit(Name("whole"), facts.whole);
    visit(Name("row_classes"), facts.rowClasses);
    visit(Name("small_blocks"), facts.smallBlocks);
    visit(Name("large_blocks"), facts.largeBlocks);
    visit(Name("block_queries"), facts.blockQueries);
    visit(Name("block_keys"), facts.blockKeys);
    visit(Name("divides"), facts.divides);
    visit(Name("periodic"), facts.periodic);
    visit(Name("mask_reads_keys"), facts.maskReadsKeys);
    visit(Name("bias"), facts.bias);
    visit(Name("key_bias"), facts.keyBias);
    visit(Name("score_reads_keys"), facts.scoreReadsKeys);
    visit(Name("score_functions"), facts.scoreFunctions);
    visit(Name("score_arithmetic"), facts.scoreArithmetic);
    visit(Name("per_pair"), facts.perPair);
    visit(Name("capture_bytes"), facts.captureBytes);
    visit(Name("packable"), facts.packable);
    visit(Name("few_tiles"), facts.fewTiles);
    visit(Name("keeps_scores"), facts.keepsScores);
    visit(Name("weights"), facts.weights);
    visit(Name("dq"), facts.dq);
    visit(Name("dv"), facts.dv);
    visit(Name("shared_dq"), facts.sharedDq);
    visit(Name("ordered"), facts.ordered);
    visit(Name("contributions"), facts.contributions);
    visit(Name("diagonals"), facts.diagonals);
    visit(Name("reads_scores"), facts.readsScores);
    visit(Name("tile_m"), facts.tileM);
    visit(Name("splits_kv"), facts.splitsKV);
    visit(Name("any_strides"), facts.anyStrides);
  }
};

/// Those of an attention, and what else a choice is made by.
struct ProgramFacts : ScheduleFacts {
  explicit ProgramFacts(AttentionLikeOpInterface op);

  /// What may come in tiles.
  SmallVector<Type> captures;
  /// Whether some queries see keys that others do not.
  bool hasLongRows = false;
  /// How many numbers the score computes for each diagonal.
  int64_t numDiagonals = 0;

  static constexpr int64_t kBlock = 128;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_SCHEDULES_SCHEDULEFACTS_H
