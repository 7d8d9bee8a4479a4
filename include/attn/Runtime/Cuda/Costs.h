//===- Costs.h - What a kernel costs ----------------------------*- C++ -*-===//

#ifndef ATTN_RUNTIME_CUDA_COSTS_H
#define ATTN_RUNTIME_CUDA_COSTS_H

#include "llvm/ADT/StringRef.h"

namespace attn::cuda {

/// What a launch with a schedule costs, in any unit; see pickVariant. The
/// compiler says it of a schedule, and a kernel package has it of a variant.
struct Costs {
  /// A Q block, and what each of its keys adds.
  double tileCost = 0, keyCost = 0;
  /// Where the keys of a tile do not grow with all keys as a rule, how many
  /// they are, 0 elsewhere; and what each key costs a tile that needs all of
  /// them nevertheless, 0 if none does. `tileCost` has the cost of the typical
  /// keys, but where keys are shared out.
  double typicalKeys = 0, longKeyCost = 0;
  /// Whether those that need all keys are few, so that they may take longer
  /// than all others; otherwise they count only where there are few tiles.
  bool fewAreLong = false;
  /// A row of a head of a batch, a pair in lists of single keys, an entry of
  /// these, and a byte of a table.
  double rowCost = 0, pairCost = 0, entryCost = 0, tableCost = 0;
  /// To combine parts of the keys: once, and for each row of a part.
  double combineCost = 0, splitRowCost = 0;

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
  }
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_COSTS_H
