//===- Costs.h - What a kernel costs ----------------------------*- C++ -*-===//

#ifndef ATTN_RUNTIME_CUDA_COSTS_H
#define ATTN_RUNTIME_CUDA_COSTS_H

#include "llvm/ADT/StringRef.h"

namespace attn::cuda {

/// What a launch with a schedule costs, in microseconds of the GPU that its
/// table of schedules was measured on; see pickVariant. The compiler says it of
/// a schedule, and a kernel package has it of a variant. All zeros for a
/// schedule of which nothing is known.
struct Costs {
  /// The tile of a variant that is for tensors which no other one can copy:
  /// more than any other costs, and nothing is known of its time.
  static constexpr double kLastTileCost = 1e9;

  /// A Q block, and what each of its keys adds.
  double tileCost = 0, keyCost = 0;
  /// Where the keys of a tile do not grow with all keys as a rule, how many
  /// they are, 0 elsewhere; and what each key costs a tile that needs all of
  /// them nevertheless, 0 if none does.
  double typicalKeys = 0, longKeyCost = 0;
  /// Whether those that need all keys are few, so that they may take longer
  /// than all others; otherwise they count only where there are few tiles.
  bool fewAreLong = false;
  /// A row of a head of a batch, a pair in lists of single keys, an entry of
  /// these, and a byte of a table.
  double rowCost = 0, pairCost = 0, entryCost = 0, tableCost = 0;
  /// To combine parts of the keys: once, and for each row of a part.
  double combineCost = 0, splitRowCost = 0;
  /// Floating-point operations, in products of elements of 16 bits, for each
  /// row of a head of a batch and each key, or each pair of a list: the part of
  /// them that masks leave as a rule. 0 if that is not known.
  double pairOperations = 0;

  /// Calls `visit` with the name and each of the numbers of `costs`, for all
  /// that prints, checks, writes and reads them.
  template <typename CostsOrConst, typename Visitor>
  static void forEach(CostsOrConst &costs, Visitor visit) {
    using Name = llvm::StringLiteral;
    visit(Name("tile_cost"), costs.tileCost);
    visit(Name("key_cost"), costs.keyCost);
    visit(Name("typical_keys"), costs.typicalKeys);
    visit(Name("long_key_cost"), costs.longKeyCost);
    visit(Name("few_are_long"), costs.fewAreLong);
    visit(Name("row_cost"), costs.rowCost);
    visit(Name("pair_cost"), costs.pairCost);
    visit(Name("entry_cost"), costs.entryCost);
    visit(Name("table_cost"), costs.tableCost);
    visit(Name("combine_cost"), costs.combineCost);
    visit(Name("split_row_cost"), costs.splitRowCost);
    visit(Name("pair_operations"), costs.pairOperations);
  }
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_COSTS_H
