//===- AttnGradOps.td - Gradients of attention ------------*- tablegen -*-===//
//
// The reverse of attn.attention at the tensor level.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNGRADOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNGRADOPS_TD

include "attn/Dialect/Attn/IR/AttnAttrs.td"
include "attn/Dialect/Attn/IR/AttnDialect.td"
include "attn/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def Attn_AttentionGradOp : Attn_Op<"attention_grad", [
    AttrSizedOperandSegments, IsolatedFromAbove, Pure, SingleBlock,
    DestinationStyleOpInterface, Attn_AttentionLikeInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
        ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "gradients of an attention";
  let description = [{
    With what `attn.attention` computes from `q`, `k`, `v` and the captures `w`, and with the gradients `do` and `dlse` of a loss with respect to `o` and `lse`,
    the gradients of that loss with respect to the inputs that `wrt` names. For each batch `b`, query head `h`, query `i` and key `j`, with the
    key/value head `g = h * Hkv / Hq` and the key/value batch `c = b * Bkv / B`:

    ```
    x[j]   = scale * sum_d q[b,h,i,d] * k[c,g,j,d]
    s[j]   = score(x[j], b, h, i, j)
    p[j]   = exp(s[j] - lse[b,h,i])     if mask(b, h, i, j), otherwise 0
    dp[j]  = sum_e do[b,h,i,e] * v[c,g,j,e]
    delta  = sum_e do[b,h,i,e] * o[b,h,i,e] - dlse[b,h,i]
    ds[j]  = p[j] * (w[j] * dp[j] - delta)
    dx[j]  = adjoint(x[j], ds[j], b, h, i, j)

    dq[b,h,i,d] = scale * sum_j dx[j] * k[c,g,j,d]
    dk[c,g,j,d] = scale * sum over b, h of c, g, and over i of dx[j] * q[b,h,i,d]
    dv[c,g,j,e] =         sum over b, h of c, g, and over i of w[j] * p[j] * do[b,h,i,e]
    dw[n][m]    = sum over b, h, i, j of what adjoint adds to element m of capture n (attn.contribute)
    ```

    where `w[j]` is the second value that the score yields, or 1. It has no gradient.

    Pairs with `p[j] = 0` add nothing to any sum, whatever else is not a number there, so that a row without a key has no gradient.
    Sums are f32 (f64 for f64 inputs) and results are rounded once. The same inputs give the same bits, unless the op is `nondeterministic`.

    Operands:

    * `query`, `key`, `value`, `captures`, `sparsity`, `offsets`: those of the attention.
    * `output`, `lse`: its results, which are all that is kept of it.
    * `output_grad`: `do`, of the type of `o`. `lse_grad`: `dlse`, of the type of `lse`, or none where the loss does not depend on it.
    * `outs`: a destination for each gradient, of the shape and the element type of the input. That of a scalar has rank 0.

    Attributes: `wrt(q, k, v, 0, 1, ...)` says which gradients are wanted, in that order, captures by their number. They are of floats, and nothing else is computed. `scale` and layouts are those
    of the attention; `dq`, `dk`, `dv` have the layouts of `q`, `k`, `v`. With `attributes {nondeterministic}` workers may add to `dq` in the order in which they come, which saves
    a GPU the wait for each other.

    Regions: `score` and `mask` are those of the attention. `adjoint` is the derivative of `score`, and there if and only if that is. Its arguments are `s`, here the
    argument of the score, and `ds`, then those of the score behind `s`. It yields `dx`, and may hold what the score may, and `attn.contribute`. A loop may begin where the
    induction variable of one around it stands, as one over the iterations before. `attn-differentiate` makes it.
    The reference evaluator does not read it, but differentiates `score` on its own.
    The optional `tiles` is that of `attn.online_attention`: whether some pair of a tile of queries and keys may be allowed, and whether all must be. `attn-lift-mask`
    derives it from the mask, where bounds of the queries that keys meet do not say all.

    Example, the gradients of a soft-cap with a bias for each head:

    ```mlir
    %dq, %dk, %dv, %dw = attn.attention_grad scale 1.250000e-01 wrt(q, k, v, 0)
        ins(%q, %k, %v, %o, %lse, %do : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xbf16>)
        captures(%bias : tensor<8xf32>)
        outs(%qi, %ki, %vi, %wi : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<8xf32>)
        score(%s, %b, %h, %i, %j, %w) {
          %t = math.tanh %s : f32
          %wh = tensor.extract %w[%h] : tensor<8xf32>
          %y = arith.addf %t, %wh : f32
          attn.yield %y : f32
        }
        adjoint(%s, %ds, %b, %h, %i, %j, %w) {
          attn.contribute %ds to %w[%h] : f32, tensor<8xf32>
          %t = math.tanh %s : f32
          %tt = arith.mulf %t, %t : f32
          %x = arith.mulf %ds, %tt : f32
          %dx = arith.subf %ds, %x : f32
          attn.yield %dx : f32
        }
    ```

    Errors: those of `attn.attention`; operands that do not fit the attention; a `wrt` that names nothing, an input twice or out of order, a capture that there is not, or one of integers;
    outs that do not fit what is wanted; a score without its adjoint, or the other way round; a weight that depends on the score; a `tiles` region that does not yield two i1.
  }];

  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    AnyRankedTensor:$output, AnyRankedTensor:$lse, AnyRankedTensor:$outputGrad,
    Optional<AnyRankedTensor>:$lseGrad,
    Variadic<AnyType>:$captures, Variadic<AnyRankedTensor>:$sparsityOperands,
    Variadic<Index>:$offsets, Variadic<AnyRankedTensor>:$outs,
    DenseI64ArrayAttr:$wrt,
    OptionalAttr<F64Attr>:$scale,
    OptionalAttr<AffineMapArrayAttr>:$layouts,
    OptionalAttr<Attn_AnyScheduleAttr>:$schedule,
    OptionalAttr<Attn_SparsityAttr>:$sparsity,
    UnitAttr:$nondeterministic);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region AnyRegion:$score, AnyRegion:$mask, AnyRegion:$adjoint,
    AnyRegion:$tiles);

  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// The scale in effect: the attribute, or 1/sqrt(Dqk).
    double getEffectiveScale();
    /// The destination of the gradient of an input, numbered as in `wrt`, or
    /// null where it is not wanted.
    ::mlir::Value getOutOf(int64_t input);
    /// The input of that number.
    ::mlir::Value getInput(int64_t input);
  }];
}

def Attn_ContributeOp : Attn_Op<"contribute", [MemoryEffects<[MemWrite]>]> {
  let summary = "add to the gradient of a capture";
  let description = [{
    In the region `adjoint` of an `attn.attention_grad`, adds `value` to the element of the gradient of `capture` at `indices`. Where that gradient is not wanted, nothing happens.
    An index outside is undefined, as reading it in the score is.

    Operands:

    * `value`: in the type in which gradients are summed.
    * `capture`: the argument of the region that the capture is. A scalar has no indices.
    * `indices`: one for each dimension of the capture.

    Example:

    ```mlir
    attn.contribute %ds to %bias[%h, %i] : f32, tensor<8x?xbf16>
    attn.contribute %y to %temperature : f32, f32
    ```

    Errors: a capture that is no argument of the region or not of floats; a number of indices other than its rank; a value of another type than that of sums.
  }];
  let arguments = (ins AnyFloat:$value, AnyType:$capture, Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `to` $capture (`[` $indices^ `]`)? attr-dict `:` type($value) `,` type($capture)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the capture.
    int64_t getCaptureNumber();
  }];
}

def Attn_ScatterOp : Attn_Op<"scatter", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "add elements of a tile, each to an element of a tensor";
  let description = [{
    The tile level's `attn.contribute`: for each position `x` of the tile, where `mask[x]` holds and each index is inside of its dimension,

    ```
    into[indices_0[x], indices_1[x], ...] += values[x]
    ```

    Sums are the same each time the program runs, which the mode is a way to:

    * without one, a worker has `into` for itself, and adds one after the other, the last dimension of the tile the fastest;
    * `exact`: many workers add to `into`, in any order. An element is an exact sum, `into[0][...]` to `into[9][...]`, each of which starts as 0:

      ```
      into[0] * 2^-149 + into[1] * 2^(32-149) + ... + into[8] * 2^(8*32-149)
      ```

      An f32 is added to two of these words by atomic operations on integers, so that nothing is rounded and no order differs. Bits 0, 1 and 2 of `into[9]` say that some
      value was NaN, +inf, -inf. A word takes 2^31 additions. `attn.exact_sum` reads the sum. Before values are added they may be summed within the tile, in f32 and in a fixed order, where they go to the same element: the
      shapes of indices tell.
    * `disjoint`: many workers add to `into`, but no two positions of tiles to the same element.

    Operands:

    * `values`: the tile, of the element type of `into`, or f32 with `exact`.
    * `into`: a tensor or its buffer. With `exact` it is a buffer of i64, with a first dimension of 10.
    * `indices`: one for each dimension of `into`, but for the first one with `exact`. Each is an index or a vector of index of the tile's shape; with a mode, it may have extent 1 in a dimension along which it is the same.
    * `mask`: a vector of i1 of the tile's shape.

    The result is `into` with the sums, if it is a tensor; a buffer is written, and there is no result.

    Example:

    ```mlir
    %t = attn.scatter %x into %sum[%h, %i] mask %p
        : vector<64x32xf32>, tensor<8x?xf32>, (index, vector<64x32xindex>), vector<64x32xi1> -> tensor<8x?xf32>
    attn.scatter exact %x into %words[%h, %i] mask %p
        : vector<64x32xf32>, memref<10x8x?xi64>, (index, vector<64x1xindex>), vector<64x32xi1>
    ```

    Errors: a number of indices other than the rank of `into`, or with `exact` than that less one; shapes or element types that differ; with `exact`, a tensor, or other words than ten of i64; a result that is not there for a tensor, or there for a buffer.
  }];
  let arguments = (ins DefaultValuedAttr<Attn_ScatterMode, "::mlir::attn::ScatterMode::InOrder">:$mode,
    VectorOfAnyRankOf<[AnyFloat]>:$values,
    AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$into,
    Variadic<AnyTypeOf<[Index, VectorOfAnyRankOf<[Index]>]>>:$indices,
    VectorOfAnyRankOf<[I1]>:$mask);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    ($mode^)? $values `into` $into `[` $indices `]` `mask` $mask attr-dict
    `:` type($values) `,` type($into) `,` (`(` type($indices)^ `)` `,`)? type($mask) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Attn_SumDiagonalsOp : Attn_Op<"sum_diagonals", [Pure]> {
  let summary = "the sums over the diagonals of a tile";
  let description = [{
    Of a tile of N x M elements the N + M sums

    ```
    result[d] = sum of tile[n, m] over all n, m with n - m + M = d
    ```

    in a fixed order; no element has `d = 0`. Elements that go to one place where their row and column differ by the same are added to memory as one number.

    Example:

    ```mlir
    %s = attn.sum_diagonals %x : vector<64x64xf32> -> vector<128xf32>
    ```

    Errors: a tile of other than two dimensions; a result of other elements, or of another extent.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$tile);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$sums);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($sums)";
  let hasVerifier = 1;
}

def Attn_AddRowsOp : Attn_Op<"add_rows", [Pure, AllTypesMatch<["sums", "result"]>]> {
  let summary = "add the rows of a tile to four parts of their sum";
  let description = [{
    Of each column, the four numbers of the result sum up to those of `sums` and all of the tile's for which `mask` holds. Which of the four a row is added to is left
    open, but is the same each time. Loops carry such sums, so that their parts are added to each other once, behind the loop.

    Operands:

    * `tile`: N x M elements.
    * `sums`: the parts before, 4 x M elements.
    * `mask`: for each element of the tile.

    Example:

    ```mlir
    %next = attn.add_rows %x to %sums mask %p : vector<80x128xf32>, vector<4x128xf32>, vector<80x128xi1>
    ```

    Errors: sums of other than four rows or of another number of columns; a mask of another shape.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$tile, VectorOfRankAndType<[2], [F32]>:$sums,
    VectorOfRankAndType<[2], [I1]>:$mask);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$result);
  let assemblyFormat = "$tile `to` $sums `mask` $mask attr-dict `:` type($tile) `,` type($sums) `,` type($mask)";
  let hasVerifier = 1;
}

def Attn_ExactSumOp : Attn_Op<"exact_sum", [MemoryEffects<[MemRead]>]> {
  let summary = "read a sum that attn.scatter exact has made";
  let description = [{
    The sum of all values that `attn.scatter exact` has added to an element, rounded to f32. NaN where one of them was NaN, or where there were both infinities; otherwise the infinity, if there was one.

    Operands:

    * `words`: the buffer, of ten words for each element.
    * `indices`: one for each dimension of the buffer but the first one.

    Example:

    ```mlir
    %x = attn.exact_sum %words[%h, %i] : memref<10x8x?xi64>
    ```

    Errors: a buffer of other words than ten of i64; a number of indices other than its rank less one.
  }];
  let arguments = (ins AnyMemRef:$words, Variadic<Index>:$indices);
  let results = (outs F32:$sum);
  let assemblyFormat = [{
    $words `[` $indices `]` attr-dict `:` type($words)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNGRADOPS_TD
