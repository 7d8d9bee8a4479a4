//===- AttnInterfaces.td - Interfaces of the attn dialect --*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD
#define ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_AttentionLikeInterface : OpInterface<"AttentionLikeOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    What `attn.attention` and `attn.online_attention` have in common: the
    inputs, the captures, the layouts, and the two regions. Patterns and
    analyses on regions are written once against it.
  }];
  let methods = [
    InterfaceMethod<"The queries.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"The keys.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The values.", "::mlir::Value", "getValue">,
    InterfaceMethod<"The captured tensors and scalars.",
        "::mlir::OperandRange", "getCaptures">,
    InterfaceMethod<"The captured tensors and scalars, to change them.",
        "::mlir::MutableOperandRange", "getCapturesMutable">,
    InterfaceMethod<"Positions of (b, h, i, j) where this operation starts; "
        "empty or four.", "::mlir::OperandRange", "getOffsets">,
    InterfaceMethod<"What the operands of the sparsity mean, or null where there "
        "are none.", "::mlir::attn::SparsityAttr", "getSparsityAttr">,
    InterfaceMethod<"The bits, or the rows and the columns, of the sparsity; may "
        "be empty.", "::mlir::OperandRange", "getSparsityOperands">,
    InterfaceMethod<"The operands of the sparsity, to change them.",
        "::mlir::MutableOperandRange", "getSparsityOperandsMutable">,
    InterfaceMethod<"The score region; may be empty.", "::mlir::Region &",
        "getScore">,
    InterfaceMethod<"The mask region; may be empty.", "::mlir::Region &",
        "getMask">,
    InterfaceMethod<"Layouts of q, k, v, o, or null where all are bhsd.",
        "::mlir::ArrayAttr", "getLayoutsAttr">
  ];
  let extraSharedClassDeclaration = [{
    /// Regions whose arguments end with one argument for each capture.
    ::llvm::SmallVector<::mlir::Region *> getCaptureRegions() {
      ::llvm::SmallVector<::mlir::Region *> regions;
      for (::mlir::Region &region : $_op->getRegions())
        if (!region.empty())
          regions.push_back(&region);
      return regions;
    }
    /// The layout of q (0), k (1), v (2), or o (3).
    ::mlir::attn::Layout getLayout(unsigned which) {
      ::mlir::ArrayAttr layouts = $_op.getLayoutsAttr();
      return layouts ? ::mlir::attn::Layout::get(
          ::llvm::cast<::mlir::AffineMapAttr>(layouts[which]).getValue())
                     : ::mlir::attn::Layout();
    }
    ::mlir::RankedTensorType getQueryType() {
      return ::llvm::cast<::mlir::RankedTensorType>($_op.getQuery().getType());
    }
    ::mlir::RankedTensorType getKeyType() {
      return ::llvm::cast<::mlir::RankedTensorType>($_op.getKey().getType());
    }
    ::mlir::RankedTensorType getValueType() {
      return ::llvm::cast<::mlir::RankedTensorType>($_op.getValue().getType());
    }
    /// f64 for f64 inputs, otherwise f32.
    ::mlir::FloatType getAccumulatorType() {
      return ::mlir::attn::getAccumulatorType(getQueryType().getElementType());
    }
    /// Head dimension of queries and keys.
    int64_t getQueryKeyDim() {
      return getQueryType().getDimSize(getLayout(0).d);
    }
    /// Head dimension of values and results.
    int64_t getValueDim() { return getValueType().getDimSize(getLayout(2).d); }
  }];
}

def Attn_ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    What the passes above the machine level ask of a schedule. Each kind of target has its own
    schedule attribute, with more in it.
  }];
  let methods = [
    InterfaceMethod<"Query rows in one tile.", "int64_t", "getTileM">,
    InterfaceMethod<"Keys in one tile.", "int64_t", "getTileN">,
    InterfaceMethod<[{Whether tiles of all classes share one loop over keys on the target,
      rather than a loop for each class where they are intervals.}],
      "bool", "hasSingleKeyLoop">,
    InterfaceMethod<[{How many query heads of a group a tile has at most, a power of two
      that divides the rows of a tile; 1 where each tile is of one head.}],
      "int64_t", "getMostPackedHeads", (ins), [{}], [{ return 1; }]>,
    InterfaceMethod<[{Query rows that find out together which KV blocks they compute with:
      all rows of a tile, unless partitions of a worker have some of them each.}],
      "int64_t", "getPartitionRows", (ins), [{}], [{ return $_attr.getTileM(); }]>,
    InterfaceMethod<[{What the first row of each tile is a multiple of, and of each part of a tile that
      a partition computes by itself.}],
      "int64_t", "getRowAlignment", (ins), [{}], [{ return $_attr.getTileM(); }]>,
    InterfaceMethod<[{Whether what scores have of a diagonal is computed once for it, as `attn.spread_diagonals`.}],
      "bool", "spreadsDiagonals", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{Whether work tiles of keys may add to sums one after the other, in the order in which they
      are started, which `emitPlaceInTurns` tells.}],
      "bool", "hasPlacesInTurns", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{Emits the place of a work tile of keys in the order in which those of its head are started,
      where each waits for those before it; or the work tile that is at a place, as this is its own inverse. There are
      `heads` with `count` work tiles each, of the type of `tile`, which is an integer or an index.}],
      "::mlir::Value", "emitPlaceInTurns",
      (ins "::mlir::attn::ScalarBuilder &":$b, "::mlir::Value":$tile, "::mlir::Value":$count, "::mlir::Value":$heads),
      [{}], [{ return tile; }]>,
    InterfaceMethod<[{Whether the last work tile that adds to sums in one order rounds them, and not a loop behind,
      where their columns are the last dimension of the result.}],
      "bool", "roundsLastSums", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{How many columns of a product over all rows of a work tile, of `rows` rows and `columns` columns,
      each partition of a worker computes, with all of the rows; 0 where they share out the rows, or all columns in as
      many as a partition has rows.}],
      "int64_t", "getSharedOutColumns", (ins "int64_t":$rows, "int64_t":$columns), [{}], [{ return 0; }]>,
    InterfaceMethod<[{The layout of a buffer of this shape that work tiles add sums to, of whose dimension `m`
      each partition of a worker has as many elements as it has rows, and all of `n`, or all of `m` where they share out
      `n`; null for rows.}],
      "::mlir::MemRefLayoutAttrInterface", "getSumLayout",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "unsigned":$m, "unsigned":$n), [{}], [{ return {}; }]>
  ];
}

/// Any attribute that is a schedule.
def Attn_AnyScheduleAttr : Attr<
    CPred<"::llvm::isa<::mlir::attn::ScheduleAttrInterface>($_self)">, "a schedule"> {
  let storageType = "::mlir::attn::ScheduleAttrInterface";
  let returnType = "::mlir::attn::ScheduleAttrInterface";
  let convertFromStorage = "$_self";
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD
