//===- AttnAttrs.td - Attributes of the attn dialect -------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNATTRS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNATTRS_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "attn/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/Dialect/SCF/IR/DeviceMappingInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Attn_ScheduleAttr : AttrDef<Attn_Dialect, "Schedule", [
    DeclareAttrInterfaceMethods<Attn_ScheduleAttrInterface>]> {
  let mnemonic = "schedule";
  let summary = "how one attention is cut into tiles for a CPU";
  let description = [{
    A schedule is data: a heuristic or a tuner chooses it, a resource model
    checks it, and the passes that make tiles and code consume it. No pass
    derives any of it from the name of an architecture.

    * `tile_m`: query rows in one tile (elements): a multiple of `lanes * unroll_m`, or fewer than `lanes`.
    * `tile_n`: keys in one tile (elements).
    * `lanes`: elements of the accumulator type in one hardware vector.
    * `unroll_m`: hardware vectors along queries held by the inner kernel.
    * `unroll_n`: rows (keys, or value columns) held by the inner kernel.

    With fewer queries than `lanes`, as in decoding, vectors lie along keys and columns.
    Then `tile_n` is a multiple of `lanes`, a power of two; `unroll_m` is the number of queries that the inner kernel computes together, a divisor of `tile_m`; those that are left are computed one by one; and `unroll_n` that of vectors of value columns.

    Example:

    ```mlir
    #attn.schedule<tile_m = 64, tile_n = 64, lanes = 16, unroll_m = 4, unroll_n = 6>
    #attn.schedule<tile_m = 1, tile_n = 128, lanes = 16, unroll_m = 1, unroll_n = 4>
    ```
  }];
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$lanes,
      "int64_t":$unrollM, "int64_t":$unrollN);
  let extraClassDeclaration = [{
    /// Whether vectors lie along keys and columns, and not along queries.
    bool hasFewQueries() const { return getTileM() < getLanes(); }
  }];
  let assemblyFormat = [{
    `<` `tile_m` `=` $tileM `,` `tile_n` `=` $tileN `,` `lanes` `=` $lanes `,`
        `unroll_m` `=` $unrollM `,` `unroll_n` `=` $unrollN `>`
  }];
  let genVerifyDecl = 1;
}

def Attn_RowScheduleAttr : AttrDef<Attn_Dialect, "RowSchedule", [
    DeclareAttrInterfaceMethods<Attn_ScheduleAttrInterface>]> {
  let mnemonic = "row_schedule";
  let summary = "how an attention whose queries are tiles of their own is computed";
  let description = [{
    A query is a tile of its own (`tile_m` is 1): one that has a list of single keys, which it shares with no other,
    and any query on a GPU whose products no matrix instruction takes.

    * `rows`: queries that one worker computes: one after the other on a core of a CPU, or by the warps of a CTA of a GPU.
    * `tile_n`: keys of one step, of which there is a score each at a time, at least two.
    * `lanes`: what shares a key: elements of the accumulator type in a hardware vector, or threads of a warp, a power of two.
    * `queries`: queries next to each other that a warp of a GPU computes together, so that it reads each key once for all of them, a divisor of `rows`; 1 if it is left out, as for lists of keys and on a CPU.

    Example:

    ```mlir
    #attn.row_schedule<rows = 16, tile_n = 32, lanes = 16>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$tileN, "int64_t":$lanes,
                        DefaultValuedParameter<"int64_t", "1">:$queries);
  let assemblyFormat = [{
    `<` `rows` `=` $rows `,` `tile_n` `=` $tileN `,` `lanes` `=` $lanes (`,` `queries` `=` $queries^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Attn_WorkerAttr : AttrDef<Attn_Dialect, "Worker", [
    DeclareAttrInterfaceMethods<DeviceMappingAttrInterface>]> {
  let mnemonic = "worker";
  let summary = "one dimension of the grid of workers";
  let description = [{
    Maps a dimension of an `scf.forall` to workers: cores of a CPU, or CTAs of a
    GPU. `attn-tile` puts it on the loop over (batch, head, Q block), which
    keeps the loop in place even where it has a single iteration.

    * `dim`: 0 for the batch, 1 for the head, 2 for the tile of queries or the row of a table, 3 for its column; of a loop over elements, the dimension of their tensor.

    Example:

    ```mlir
    scf.forall (%b, %h, %t) in (2, 8, 4) { ... }
        {mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
    ```
  }];
  let parameters = (ins "int64_t":$dim);
  let assemblyFormat = "`<` $dim `>`";
  let genVerifyDecl = 1;
}

def Attn_Rescale : I32EnumAttr<"Rescale",
    "when the online softmax brings its state to a new maximum", [
      I32EnumAttrCase<"Exact", 0, "exact">,
      I32EnumAttrCase<"Lazy", 1, "lazy">,
      I32EnumAttrCase<"Never", 2, "never">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_AccumulateMode : I32EnumAttr<"AccumulateMode",
    "in which order workers accumulate into memory that they share", [
      I32EnumAttrCase<"Add", 0, "add">,
      I32EnumAttrCase<"Ordered", 1, "ordered">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_ScatterMode : I32EnumAttr<"ScatterMode",
    "how elements of tiles are added to elements that they may share", [
      I32EnumAttrCase<"InOrder", 0, "in_order">,
      I32EnumAttrCase<"Exact", 1, "exact">,
      I32EnumAttrCase<"Disjoint", 2, "disjoint">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_SparsityFormat : I32EnumAttr<"SparsityFormat",
    "how an explicit layout of blocks is written", [
      I32EnumAttrCase<"Bits", 0, "bits">,
      I32EnumAttrCase<"Lists", 1, "lists">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}

def Attn_SparsityAttr : AttrDef<Attn_Dialect, "Sparsity"> {
  let mnemonic = "sparsity";
  let summary = "how the operands of an attention say which blocks take part";
  let description = [{
    Queries and keys are cut into blocks, counted from 0; operands of the attention say which blocks of the
    queries meet which of the keys.

    * `format`: `bits`, one i1 for each block, or `lists`, the blocks of each row of blocks.
    * `block`: queries and keys of a block. Each is a multiple of 16 from 16 to 256, or, of `lists`, both are 1: then the
      lists are those of a sparse matrix in the format CSR.

    Example:

    ```mlir
    #attn.sparsity<bits, block = 64x128>
    ```
  }];
  let parameters = (ins EnumParameter<Attn_SparsityFormat>:$format,
      "int64_t":$blockRows, "int64_t":$blockColumns);
  let assemblyFormat = [{
    `<` $format `,` `block` `=` custom<BlockExtents>($blockRows, $blockColumns) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isBits() const { return getFormat() == SparsityFormat::Bits; }
    bool isLists() const { return getFormat() == SparsityFormat::Lists; }
    /// Whether a block is one query and one key.
    bool isElementwise() const {
      return getBlockRows() == 1 && getBlockColumns() == 1;
    }
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNATTRS_TD
