//===- AttnOps.td - Operations of the attn dialect ---------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNOPS_TD

include "attn/Dialect/Attn/IR/AttnAttrs.td"
include "attn/Dialect/Attn/IR/AttnDialect.td"
include "attn/Dialect/Attn/IR/AttnInterfaces.td"
include "attn/Dialect/Attn/IR/AttnListOps.td"
include "attn/Dialect/Attn/IR/AttnPackedOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

//===----------------------------------------------------------------------===//
// Shared by the two levels of attention
//===----------------------------------------------------------------------===//

class Attn_AttentionLikeOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([
        AttrSizedOperandSegments, IsolatedFromAbove, Pure, SingleBlock,
        DestinationStyleOpInterface, Attn_AttentionLikeInterface,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<OpAsmOpInterface,
            ["getAsmBlockArgumentNames", "getAsmResultNames"]>
      ], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  code commonDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
}

//===----------------------------------------------------------------------===//
// Tensor level
//===----------------------------------------------------------------------===//

def Attn_AttentionOp : Attn_AttentionLikeOp<"attention"> {
  let summary = "attention with a score function and a mask";
  let description = [{
    For batch `b`, query head `h`, query `i`, with the key/value head
    `g = h * Hkv / Hq` and the key/value batch `c = b * Bkv / B`:

    ```
    s[j] = score(scale * sum_d q[b,h,i,d] * k[c,g,j,d], b, h, i, j)   if mask(b, h, i, j)
    s[j] = -inf                                                       otherwise
    lse[b,h,i]  = ln sum_j exp(s[j])
    o[b,h,i,e]  = sum_j w[j] * exp(s[j] - lse[b,h,i]) * v[c,g,j,e]
    ```

    where `w[j]` is 1, or the second value that `score` yields: a weight of the type of `s`, such as `attn.dropout`. One that depends on the argument `s` of the region has no gradient.

    The mask acts after the score, so a score function that is finite at -inf
    cannot bring a masked key back. A row with no allowed key gives `o = 0` and
    `lse = -inf`. Scores, softmax and sums are f32 (f64 for f64 inputs), whatever
    the element type.

    Operands:

    * `query`: `[B, Hq, Sq, Dqk]`, of f64, f32, f16 or bf16.
    * `key`: `[B or 1, Hkv, Skv, Dqk]`, same element type; `Hq` is a multiple of `Hkv`.
    * `value`: `[B or 1, Hkv, Skv, Dv]`, same element type.
    * `captures`: tensors of any rank and scalars that the regions use.
    * `sparsity`: none, or an attribute and which blocks of queries and keys take part, see below.
    * `offsets`: none, or where this operation starts in `(b, h, i, j)`, which is
      added to the indices that the regions see: a part of a larger attention sets it.
    * `outs`: destination of `o`, `[B, Hq, Sq, Dv]`, same element type as `query`,
      and, where `lse` is wanted, of `[B, Hq, Sq]` in f32 (f64 for f64 inputs).

    Lengths may be 0 and any dimension but `Dqk` and `Dv` may be dynamic. The
    order of dimensions in memory is `layout(bhsd)` unless said otherwise: one
    permutation of the letters for q, k, v and o, or `layouts(...)` with one for
    each. `lse` has the layout of `o` without `d`. Strides are free as
    long as the innermost is 1.

    Attributes: `scale` is a constant, `1/sqrt(Dqk)` if absent.

    Regions: both are optional (identity, all true), isolated, and have a single block
    whose argument types are implied: `s` is f32 (f64 for f64 inputs), `b`, `h`, `i`,
    `j` are index, then one argument for each capture. They may hold
    operations of arith, math and index, `tensor.extract`, `tensor.dim`, `scf.if`, and `scf.for` with constant bounds and a step of 1 or more; `score` also `attn.dropout`.
    Captures are read in `mask` for `i` and `j` in range, and in `score` only where
    the mask allows the key; an index outside of a capture there is undefined unless the compiler
    checks bounds. An integer division by zero gives 0.

    Sparsity: with blocks of `bi` queries and `bj` keys, `mask` above also asks that block `(i floordiv bi, j floordiv bj)`
    takes part. With `nI = ceil(Sq / bi)` and `nJ = ceil(Skv / bj)`, the operands are one of

    * `sparsity(#attn.sparsity<bits, block = bi x bj> %bits)`: block `(I, J)` takes part if `bits[b, h, I, J]`.
      `bits` is i1 of `[nI, nJ]`, `[Hq or 1, nI, nJ]`, or `[B or 1, Hq or 1, nI, nJ]`; an extent of 1 is shared.
    * `sparsity(#attn.sparsity<lists, block = bi x bj> %rows, %columns)`: if `J` is in
      `columns[rows[b, h, I]] ... columns[rows[b, h, I + 1] - 1]`. `rows` is i32 or i64 of `[nI + 1]`, `[Hq or 1, nI + 1]`, or
      `[B or 1, Hq or 1, nI + 1]`, `columns` i32 or i64 of one dimension. Rows do not decrease and lie in `columns`; the
      columns of a row ascend and are less than `nJ`. With blocks of 1x1 this is CSR.

    Blocks count from the start of the whole, so with `offsets` there may be more of them.
    Without an allowed pair in a row, it is a row without an allowed key.

    Example, a soft-cap under a causal mask with a bias for each head:

    ```mlir
    %o = attn.attention scale 1.250000e-01
        ins(%q, %k, %v : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
        captures(%bias : tensor<8xf32>)
        outs(%init : tensor<2x8x?x64xbf16>)
        score(%s, %b, %h, %i, %j, %w) {
          %cap = arith.constant 2.000000e+01 : f32
          %x = arith.divf %s, %cap : f32
          %t = math.tanh %x : f32
          %y = arith.mulf %t, %cap : f32
          %wh = tensor.extract %w[%h] : tensor<8xf32>
          %z = arith.addf %y, %wh : f32
          attn.yield %z : f32
        }
        mask(%b, %h, %i, %j, %w) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
    ```

    Example, blocks of 64 queries and 64 keys that each head chooses, causal within:

    ```mlir
    %o = attn.attention
        ins(%q, %k, %v : tensor<2x8x2048x64xbf16>, tensor<2x8x2048x64xbf16>, tensor<2x8x2048x64xbf16>)
        sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<8x33xi32>, tensor<?xi32>)
        outs(%init : tensor<2x8x2048x64xbf16>)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
    ```

    Errors: wrong ranks, element types, head dimensions, batches, lengths or head counts
    among the operands, or numbers of blocks; lists whose rows decrease or leave `columns`, or whose columns are not
    ascending or out of range, when the program runs; a head dimension that is dynamic or 0; a layout that is no permutation of
    `bhsd`; a region whose arguments or result have other types, or that holds an operation not listed above.
  }];

  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Variadic<AnyType>:$captures, Variadic<AnyRankedTensor>:$sparsityOperands,
    Variadic<Index>:$offsets, Variadic<AnyRankedTensor>:$outs,
    OptionalAttr<F64Attr>:$scale,
    OptionalAttr<AffineMapArrayAttr>:$layouts,
    OptionalAttr<Attn_AnyScheduleAttr>:$schedule,
    OptionalAttr<Attn_SparsityAttr>:$sparsity);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);

  let builders = [
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
        "::mlir::Value":$value, "::mlir::ValueRange":$captures,
        "::mlir::ValueRange":$outs,
        CArg<"::mlir::FloatAttr", "{}">:$scale,
        CArg<"::mlir::ArrayAttr", "{}">:$layouts,
        CArg<"::mlir::attn::SparsityAttr", "{}">:$sparsity,
        CArg<"::mlir::ValueRange", "{}">:$sparsityOperands)>
  ];

  let extraClassDeclaration = commonDeclaration # [{
    /// The scale in effect: the attribute, or 1/sqrt(Dqk).
    double getEffectiveScale();
    /// The destination of the log-sum-exp, or null.
    ::mlir::Value getLseInit() {
      return getOuts().size() > 1 ? getOuts()[1] : ::mlir::Value();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Online level
//===----------------------------------------------------------------------===//

def Attn_OnlineAttentionOp : Attn_AttentionLikeOp<"online_attention"> {
  let summary = "attention as an associative reduction over keys";
  let description = [{
    The same inputs as `attn.attention`, but the result is the state of the
    reduction over the keys it was given, continued from the state in `outs`.
    With `t[j] = log2(e) * s[j]`, `s[j]` as `attn.attention` defines it (masked keys are -inf):

    ```
    max'[b,h,i]   = maximum(max[b,h,i], max_j t[j])
    sum'[b,h,i]   = sum[b,h,i]   * 2^(max - max') + sum_j 2^(t[j] - max')
    acc'[b,h,i,e] = acc[b,h,i,e] * 2^(max - max') + sum_j w[j] * 2^(t[j] - max') * v[c,g,j,e]
    ```

    with `2^(-inf - -inf) = 0`. The neutral state is acc = 0, max = -inf, sum = 0.
    States of disjoint key sets merge by the same formulas, which is what
    splitting the keys over workers uses.

    `acc` is `[B, Hq, Sq, Dv]` in the layout of o, `max` and `sum` are `[B, Hq, Sq]`; all are
    f32 (f64 for f64 inputs).

    The optional `blocks` region bounds the keys that a Q block needs.
    Its arguments are `b`, `h`, `i0`, `i1`, `skv`, then one for each capture; for the query rows
    `i0 <= i < i1` and the keys `0 <= j < skv` it yields four indices `lo`, `full_lo`, `full_hi`, `hi`:
    keys below `lo` or from `hi` on are masked for every row, keys from `full_lo` to below `full_hi`
    are allowed for every row. It counts from where this operation starts, without `offsets`.
    `attn-classify-blocks` derives it from the mask.

    The optional `tiles` region says of one tile whether its keys are needed. Its arguments are `b`, `h`, `i0`, `i1`,
    `j0`, `j1`, then one for each capture; for the rows `i0 <= i < i1` and the keys `j0 <= j < j1`, with at least one of each, it
    yields two i1: the first is true unless every pair is masked for certain, the second is true only if every pair is
    allowed for certain. Besides what the other regions hold, it may hold `attn.range`.
    It counts as `blocks` does. `attn-lift-mask` derives it from the mask, where `blocks` does not say all.
    Both speak of `mask` alone, whatever `sparsity` leaves of it, but that keys of rows that `rows` leaves out may count as masked.

    The optional `rows` region says what holds for all keys of a row. Its arguments are `b`, `h`, `i`, then one for each capture; it
    yields `added`, `allowed` and `factor`: each score `s` of the row, as `score` yields it, becomes `factor * s + added`, and
    a key is masked unless `allowed` and `mask` hold. The numbers are f32 (f64 for f64 inputs), of any sign, infinite or NaN; `allowed` is an i1.
    The state in `outs` is the neutral one, or another with acc = 0 and sum = 0.
    `attn-split-row-terms` takes it out of the other regions.

    With `rescale(lazy)`, a step may keep a maximum that is too small by up to 8 (see `attn.online_step`); `max`, `sum` and `acc` then
    stand for the same state. With `rescale(never)` it may keep any maximum, also that in `outs`.

    Example:

    ```mlir
    %r:3 = attn.online_attention scale 1.250000e-01
        ins(%q, %k, %v : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
        outs(%acc, %max, %sum : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
        blocks(%b, %h, %i0, %i1, %skv) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %full = arith.addi %i0, %c1 : index
          attn.yield %c0, %c0, %full, %i1 : index, index, index, index
        }
    ```

    Errors: as for `attn.attention`; other than three `outs`; a `blocks` region that does not
    yield four indices; a `tiles` region that does not yield two i1; a `rows` region that does not yield
    numbers of the type of `acc` and, between them, an i1.
  }];

  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Variadic<AnyType>:$captures, Variadic<AnyRankedTensor>:$sparsityOperands,
    Variadic<Index>:$offsets, Variadic<AnyRankedTensor>:$outs,
    F64Attr:$scale,
    OptionalAttr<AffineMapArrayAttr>:$layouts,
    OptionalAttr<Attn_AnyScheduleAttr>:$schedule,
    OptionalAttr<Attn_SparsityAttr>:$sparsity,
    DefaultValuedAttr<Attn_Rescale, "::mlir::attn::Rescale::Exact">:$rescale);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region AnyRegion:$score, AnyRegion:$mask, AnyRegion:$blocks,
    AnyRegion:$tiles, AnyRegion:$rows);

  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::Value getAccInit() { return getOuts()[0]; }
    ::mlir::Value getMaxInit() { return getOuts()[1]; }
    ::mlir::Value getSumInit() { return getOuts()[2]; }
    /// The finalize that alone reads the state, next to it, or null.
    ::mlir::attn::FinalizeOp getOwnFinalize();
  }];
}

def Attn_FinalizeOp : Attn_Op<"finalize", [
    Pure, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "turn the state of an online attention into its results";
  let description = [{
    ```
    o[b,h,i,e]  = sum == 0 ? 0 : acc[b,h,i,e] / sum[b,h,i]
    lse[b,h,i]  = ln(2) * (max[b,h,i] + log2(sum[b,h,i]))      (-inf where sum == 0)
    ```

    Here, once, the rule for rows with no allowed key is applied and the
    base of `lse` changes from 2 to e. `acc`, `max`, `sum` are as `attn.online_attention` yields them;
    `outs` holds the destination of `o` and, where wanted, of `lse`.

    Example:

    ```mlir
    %o, %lse = attn.finalize ins(%acc, %max, %sum : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>)
        outs(%oi, %li : tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>) -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
    ```

    Errors: shapes or element types that do not fit together; a number of `outs` other than one or two.
  }];
  let arguments = (ins
    AnyRankedTensor:$acc, AnyRankedTensor:$max, AnyRankedTensor:$sum,
    Variadic<AnyRankedTensor>:$outs,
    OptionalAttr<AffineMapAttr>:$layout);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    (`layout` `(` custom<Layout>($layout)^ `)`)?
    `ins` `(` $acc `,` $max `,` $sum `:` type($acc) `,` type($max) `,` type($sum) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    ::mlir::Value getLseInit() {
      return getOuts().size() > 1 ? getOuts()[1] : ::mlir::Value();
    }
    /// The online attention whose state nobody else reads, next to it, or null.
    ::mlir::attn::OnlineAttentionOp getOwnProducer();
    /// The layout of `acc` and `o`.
    ::mlir::attn::Layout getAccLayout() {
      return getLayoutAttr()
                 ? ::mlir::attn::Layout::get(getLayoutAttr().getValue())
                 : ::mlir::attn::Layout();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Tile level
//===----------------------------------------------------------------------===//

def Attn_OnlineStepOp : Attn_Op<"online_step", [Pure,
    AllTypesMatch<["scores", "probabilities"]>, AllTypesMatch<["acc", "newAcc"]>,
    AllTypesMatch<["max", "sum", "newMax", "newSum"]>,
    OptionalTypesMatchWith<"factors have the type of max", "max", "factors", "$_self">]> {
  let summary = "one step of the online softmax on a tile of scores";
  let description = [{
    The one place that pins the arithmetic of the online softmax, so that every
    target rounds alike. Tiles are transposed: keys are rows, queries are columns. For query `i`:

    ```
    newMax[i]   = maximum(max[i], factor[i] * max_j scores[j,i])
    shift[i]    = newMax[i] == -inf ? 0 : newMax[i]
    p[j,i]      = 2^(factor[i] * scores[j,i] - shift[i])
    newSum[i]   = sum[i]   * 2^(max[i] - shift[i]) + sum_j p[j,i]
    newAcc[e,i] = acc[e,i] * 2^(max[i] - shift[i])
    ```

    `factor` is a positive constant, 1 if it is not given, times a positive number of each query, if there are `factors`. The exponent is rounded once: a product that is rounded first loses as much as all the rest of a score together where it is large.

    With `rescale(lazy)`, `newMax[i]` may be `max[i]` where the maximum of the scores is above it by no more than 8, so that
    few steps change `acc`: powers stay below 2^8, and what the state stands for is the same. With `rescale(never)`, `newMax[i]` may be `max[i]`
    in any case: all scores are known to be in one range, such as that of a soft-cap, and `max` starts so near to both of its ends that powers neither
    overflow nor vanish, so that no maximum has to be looked for. The default is `rescale(exact)`.

    The contraction of `p` with the values is a separate operation that adds to `newAcc`.

    Operands: `scores` is `vector<N x M>`, in base-2 units when multiplied by the factor, `acc` is `vector<Dv x M>`,
    `max`, `sum` and `factors` are `vector<M>`, all of one type of f32 or f64. Factors that are not positive are undefined behaviour.

    Example:

    ```mlir
    %p, %acc1, %m1, %l1 = attn.online_step %s, %acc, %m, %l factor 1.8e-01
        : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
    %p, %acc1, %m1, %l1 = attn.online_step %s, %acc, %m, %l factors %f
        : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
    ```

    Errors: ranks, query extents or element types that differ; a factor that is not positive and finite.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$scores,
    AnyVectorOfNonZeroRank:$acc, AnyVectorOfNonZeroRank:$max,
    AnyVectorOfNonZeroRank:$sum, Optional<AnyVectorOfNonZeroRank>:$factors,
    DefaultValuedAttr<Attn_Rescale, "::mlir::attn::Rescale::Exact">:$rescale,
    DefaultValuedAttr<F64Attr, "1.0">:$factor);
  let results = (outs AnyVectorOfNonZeroRank:$probabilities,
    AnyVectorOfNonZeroRank:$newAcc, AnyVectorOfNonZeroRank:$newMax,
    AnyVectorOfNonZeroRank:$newSum);
  let assemblyFormat = [{
    $scores `,` $acc `,` $max `,` $sum (`rescale` `(` $rescale^ `)`)?
    (`factor` $factor^)? (`factors` $factors^)? attr-dict
    `:` type($scores) `,` type($acc) `,` type($max)
  }];
  let hasVerifier = 1;
}

/// A tile: a vector, or a tensor whose encoding says how threads hold it.
class Attn_ElementsOf<list<Type> types> : AnyTypeOf<[VectorOfAnyRankOf<types>, RankedTensorOf<types, [
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">], "tensor with an encoding">]>;

def Attn_GatherOp : Attn_Op<"gather", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "read a captured tensor at one index per element of a tile";
  let description = [{
    `result[x] = source[indices_0[x], indices_1[x], ...]` where `mask[x]` holds and each
    index is inside of its dimension, otherwise 0: no element outside of `source` is ever read.
    With `site`, a masked-in index outside of its dimension is reported as an error of
    that number, which the function's table of sites maps to a location.

    With `rows along` a dimension of `source`, `columns along` one, or both, the elements are those of a box, which a target may copy at once:
    `indices` say where it starts; row `n` of the tile is `n` further on in the one dimension, and column `m` is `m` further on in the other. So a box
    has an element for each pair of the tile; with rows alone, for each position of the tile of the `attn.tile_loop` around; or, with
    columns alone, for each row of the worker. A box may start or end outside of `source`.

    Operands:

    * `source`: the captured tensor, or its buffer.
    * `indices`: one for each dimension of `source`, each an index or a vector of index of the result's shape; of a box, all are of type index.
    * `mask`: i1, or a vector of i1 of the result's shape.

    The result is a scalar if all indices are, or a vector, of the element type of `source`. In place of vectors there may be tensors with one encoding, which says how threads hold them.

    Example:

    ```mlir
    %x = attn.gather %bias[%h, %i] mask %p
        : tensor<8x?xf32>, (index, vector<64x32xindex>), vector<64x32xi1> -> vector<64x32xf32>
    %y = attn.gather %pairs[%i0, %j0] rows along 1 columns along 0 mask %p
        : tensor<?x?xf32>, (index, index), vector<64x32xi1> -> vector<64x32xf32>
    ```

    Errors: a number of indices other than the rank of `source`; shapes or element types that differ; a box with indices that are vectors,
    along dimensions that `source` does not have, or one for both, or of another rank than the result; rows that are not as many as the
    positions of a tile of the loop around.
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$source,
    Variadic<AnyTypeOf<[Index, Attn_ElementsOf<[Index]>]>>:$indices,
    AnyTypeOf<[I1, Attn_ElementsOf<[I1]>]>:$mask,
    OptionalAttr<I64Attr>:$site, OptionalAttr<I64Attr>:$rowDim,
    OptionalAttr<I64Attr>:$columnDim);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`rows` `along` $rowDim^)? (`columns` `along` $columnDim^)?
    `mask` $mask (`site` $site^)? attr-dict
    `:` type($source) `,` (`(` type($indices)^ `)` `,`)? type($mask) `->` type($result)
  }];
  let hasVerifier = 1;
  let builders = [
    // Without a box.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
        "::mlir::ValueRange":$indices, "::mlir::Value":$mask,
        "::mlir::IntegerAttr":$site), [{
      build($_builder, $_state, result, source, indices, mask, site,
            ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// The map from the dimensions of `source` to those of a box.
    ::std::optional<::mlir::AffineMap> getBox();
    ::llvm::LogicalResult verifyBox();
    /// Makes of a box indices that are vectors.
    void expandBox(::mlir::RewriterBase &rewriter);
  }];
}

//===----------------------------------------------------------------------===//
// Inside of the tiles region
//===----------------------------------------------------------------------===//

def Attn_RangeOp : Attn_Op<"range", [Pure, SameVariadicOperandSize,
    ParentOneOf<["OnlineAttentionOp", "AttentionGradOp"]>]> {
  let summary = "the least and the largest element of a box of a captured tensor";
  let description = [{
    With `lows[d] <= x_d < highs[d]` for each dimension `d`, `min` is the least and `max` the largest of
    `source[x_0, x_1, ...]`. Integers are signed; of i1, `min` says whether all are true and `max` whether any is.
    Where the box has no element, or a part of it is outside of `source`, they are the ends of the element type:
    nothing is known.

    The operation says what is needed, not how it is found: `attn-tile` computes it once for a tile of queries or of
    keys, whichever it depends on.

    Operands:

    * `source`: a captured tensor of integers.
    * `lows`, `highs`: one index each for each dimension of `source`.

    Example, the documents that the keys of a tile belong to:

    ```mlir
    %first, %last = attn.range %doc[%b, %j0] to [%b1, %j1] : tensor<2x?xi32>
    ```

    Errors: a number of indices other than the rank of `source`; elements that are no integers.
  }];
  let arguments = (ins AnyRankedTensor:$source, Variadic<Index>:$lows,
    Variadic<Index>:$highs);
  let results = (outs AnySignlessIntegerOrIndex:$min,
    AnySignlessIntegerOrIndex:$max);
  let assemblyFormat = [{
    $source `[` $lows `]` `to` ` ` `[` $highs `]` attr-dict
    `:` custom<RangeTypes>(type($source), type($min), type($max))
  }];
  let hasVerifier = 1;
}

def Attn_RangeOverOp : Attn_Op<"range_over", [SameVariadicOperandSize, RecursiveMemoryEffects,
    RecursivelySpeculatable, ParentOneOf<["OnlineAttentionOp", "AttentionGradOp"]>]> {
  let summary = "the least and the largest value of an expression over positions";
  let description = [{
    With `lows[d] <= x_d < highs[d]` for each position `d`, `min` is the least and `max` the largest value that `body` yields for
    `x_0, x_1, ...`. Integers are signed; of i1, `min` says whether all are true and `max` whether any is. Without a position `min` is the
    largest number of the type and `max` the least.

    It is what `attn.range` is for reads whose indices are known: for reads at positions that a capture holds, comparisons of floats, and
    whatever else has to be computed for each query or each key of a tile to know what it is for the tile. Over queries and keys both, it
    evaluates a mask. `attn-tile` computes it once for a Q block, a KV block, or a pair of them, whichever it depends on.

    Operands:

    * `lows`, `highs`: one index each for each position; one or two of them.

    Example, the first keys that the queries of a tile see, where each is that of a query's document:

    ```mlir
    %least, %most = attn.range_over (%i = %i0 to %i1) : i32 {
      %doc = tensor.extract %id[%i] : tensor<?xi32>
      %d = arith.index_cast %doc : i32 to index
      %x = tensor.extract %first[%d] : tensor<?xi32>
      attn.yield %x : i32
    }
    ```

    Errors: no position or more than two; a body that does not yield one integer of the type of the results.
  }];
  let arguments = (ins Variadic<Index>:$lows, Variadic<Index>:$highs);
  let results = (outs AnySignlessIntegerOrIndex:$min,
    AnySignlessIntegerOrIndex:$max);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Terminator
//===----------------------------------------------------------------------===//

def Attn_YieldOp : Attn_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["AttentionOp", "AttentionGradOp", "OnlineAttentionOp", "TileLoopOp", "StepOp",
                 "MaskTileOp", "AffineScoresOp", "RangeOverOp"]>]> {
  let summary = "end a region of an attention, or of a loop over tiles";
  let description = [{
    Yields the score (one float of the accumulator type), the mask (one i1), the block bounds
    (four indices), the class of a tile (two i1), or the adjoint (one float) of the region it ends; at the tile level, what a
    loop over tiles carries on (`attn.tile_loop`), the results of a step (`attn.step`), a predicate (`attn.mask_tile`), or
    scores (`attn.affine_scores`), or an integer (`attn.range_over`).

    Example:

    ```mlir
    attn.yield %s : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNOPS_TD
