//===- HopperFragmentOps.td - Fragments and results --------*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERFRAGMENTOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERFRAGMENTOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def Hopper_BroadcastOp : Hopper_Op<"broadcast", [Pure]> {
  let summary = "a fragment whose rows, columns or elements are all the same";
  let description = [{
    `vector.broadcast` once layouts are assigned: `result[n, m]` is `source`, `source[0, m]` of `rows` or `source[n, 0]` of `columns`. No element moves between threads.

    ```mlir
    %y = hopper.broadcast %x : f32 -> tensor<1x64xf32, #hopper.layout<rows>>
    %z = hopper.broadcast %y : tensor<1x64xf32, #hopper.layout<rows>> -> tensor<80x64xf32, #hopper.layout<accumulator>>
    ```

    Errors: rows to other than `accumulator` or `partial`; columns to other than `accumulator` of as many; any other fragment; element types that differ.
  }];
  let arguments = (ins AnyType:$source);
  let results = (outs Hopper_LaidOut<[AnyType]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_IotaOp : Hopper_Op<"iota", [Hopper_OwnLayouts, Pure]> {
  let summary = "positions within a vector";
  let description = [{
    `0, 1, ...` along the keys for `vector<N x 1 x index>`, along the queries for `vector<1 x 64 x index>`, and over the threads, more than once, for `vector<1 x T x index>` with a multiple T of 128.

    ```mlir
    %i = hopper.iota : vector<128x1xindex>
    ```

    Errors: another shape, or a number of keys that is not a multiple of 8.
  }];
  let results = (outs Hopper_FragmentOf<[Index]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_PositionOp : Hopper_Op<"position", [Pure]> {
  let summary = "a position, an extent, or the number of a batch or head";
  let description = [{
    The index that a number stands for, of which it is known that `0 <= source <= 2^30`, so that threads can compute with it in
    32 bits. The caller of a kernel ensures that lengths, batches and heads are in that range. Of the number of a tile of `of`
    positions it is known that `of * source` is a position, too.

    ```mlir
    %i = hopper.position %n
    %tile = hopper.position %t of 128
    ```

    Errors: tiles of less than one position.
  }];
  let arguments = (ins I32:$source, DefaultValuedAttr<I64Attr, "1">:$of);
  let results = (outs Index:$result);
  let assemblyFormat = "$source (`of` $of^)? attr-dict";
  let extraClassDeclaration = [{
    /// The largest number it may be.
    int64_t getMost() { return kMaxPosition / getOf(); }
  }];
  let hasVerifier = 1;
}

def Hopper_ReduceOp : Hopper_Op<"reduce", [Hopper_OwnLayouts, Pure]> {
  let summary = "reduce over the rows of a vector";
  let description = [{
    `max`: `result[0, m] = max_n source[n, m]`, ignoring NaN, of type `vector<1 x 64>`.
    `add`: to `vector<1 x 64>`, the sum over n; to `vector<4 x 64>`, four sums `result[p, m]` over the `n` with
    `n / 2 mod 4 = p`, each in the thread that holds them. Those four are a source, too, of their sum.

    ```mlir
    %m = hopper.reduce max %s : vector<128x64xf32> -> vector<1x64xf32>
    ```

    Errors: another kind; a source of other than 64 queries, or of a number of rows that is not a multiple of 8; a result of another shape.
  }];
  let arguments = (ins StrAttr:$kind, Hopper_FragmentOf<[F32]>:$source);
  let results = (outs Hopper_FragmentOf<[F32]>:$result);
  let assemblyFormat = "custom<Keyword>($kind) $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_AnyOp : Hopper_Op<"any", [Hopper_OwnLayouts, Pure]> {
  let summary = "whether a condition holds for some query of a warp";
  let description = [{
    The result is the same for all threads of a warp, and may differ between warps.

    ```mlir
    %p = hopper.any %c : vector<1x64xi1>
    ```
  }];
  let arguments = (ins Hopper_FragmentOf<[I1]>:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

def Hopper_CreateTileOp : Hopper_Op<"create_tile"> {
  let summary = "a tile in shared memory that results are staged in";
  let description = [{
    ```mlir
    %t = hopper.create_tile : !hopper.tile<128x64xbf16>
    ```
  }];
  let results = (outs Res<Hopper_TileType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_StoreOp : Hopper_Op<"store", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "write the rows of a consumer to a tensor";
  let description = [{
    `map[batch, head, row + m, c] = vector[c, m]` where row and column are in range, for a packed map of P heads
    `map[batch, head + m mod P, row + m / P, c] = vector[c, m]`, by way of the tile `staging`,
    64 rows that belong to this consumer. With a column, which is a multiple of 64, columns are those from there on. The copy is asynchronous; `hopper.drain`, the next store, and the end of the
    kernel wait for it. A tile with fewer columns, in multiples of 64, is used for one part after the other; for a strided map it has all.
    `fresh` says that nothing has been copied from the tile yet, so that the store need not wait for those before it.

    ```mlir
    hopper.store %v, %st, %map[%b, %h, %r] fresh
        : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
    hopper.store %v, %st, %map[%b, %h, %r] column %c
        : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
    ```

    Errors: extents or element types that differ; a column of a strided map; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[BF16, F16]>:$vector, Hopper_TileType:$staging,
      Hopper_MapType:$map, Index:$batch, Index:$head, Index:$row,
      Optional<Index>:$column, UnitAttr:$fresh);
  let assemblyFormat = [{
    $vector `,` $staging `,` $map `[` $batch `,` $head `,` $row `]` (`column` $column^)? (`fresh` $fresh^)? attr-dict
    `:` type($vector) `,` type($staging) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Hopper_DrainOp : Hopper_Op<"drain", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until stores have read shared memory";
  let description = [{
    Of all tiles that this consumer has stored from, its rows have been read when each of its warps has come past.

    ```mlir
    hopper.drain
    ```

    Errors: outside of a partition of warpgroups.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Hopper_StoreRowsOp : Hopper_Op<"store_rows", [Hopper_OwnLayouts, AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "write one element, or one row, for each query of a consumer";
  let description = [{
    `memref[indices..., row + m] = vector[0, m]`, with `row + m` as the index of dimension `dim`, where it is below `end`. A vector of more
    rows than one is written along the last dimension of the buffer, whose extent it has, and whose index is left out:
    `memref[indices..., row + m, ..., c] = vector[c, m]`. Rows of such a buffer are aligned to 8 bytes.

    ```mlir
    hopper.store_rows %v, %lse[%b, %h, %r] dim 2 end %e : vector<1x64xf32>, memref<?x?x?xf32>
    hopper.store_rows %o, %parts[%b, %h, %r, %part] dim 2 end %e : vector<128x64xf32>, memref<?x?x?x?x128xf32>
    hopper.store_rows %v, %lse[%b, %h, %r] dim 2 end %e packed %p heads 1 : vector<1x64xf32>, memref<?x?x?xf32>
    ```

    With `packed`, the indices and the end count heads and rows as `attn.pack_gqa` of so many heads does, with the heads in dimension `heads`.

    Errors: another shape of the vector; a buffer of other elements; a number of indices other than the rank, or than the rank without the columns;
    a dimension that is not that of an index, or heads in that of the rows; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, AnyMemRef:$memref,
      Variadic<Index>:$indices, I64Attr:$dim, Index:$end, Optional<Index>:$packed,
      OptionalAttr<I64Attr>:$heads);
  let assemblyFormat = [{
    $vector `,` $memref `[` $indices `]` `dim` $dim `end` $end
    (`packed` $packed^ `heads` $heads)? attr-dict
    `:` type($vector) `,` type($memref)
  }];
  let hasVerifier = 1;
}

def Hopper_ReduceAddOp : Hopper_Op<"reduce_add", [
    Hopper_FragmentOpInterface, AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add what a warpgroup holds to memory";
  let description = [{
    Adds each element of a vector to one of a buffer, which others may add to at the same time, in any order. The last dimension of the buffer, whose index is left out, has the elements in
    the order of registers, so that each warp adds to 512 contiguous bytes at a time: element `4 * (128 * j + t) + 2 * r + p` is that of
    `n = 8 * j + 2 * (t mod 4) + p` and `m = 16 * (t / 32) + t mod 32 / 4 + 8 * r`, for `t` from 0 to 127. Its rows are aligned to 16 bytes.

    With counters, nobody else adds at the same time, and sums are the same each time: the warpgroup waits until an element of `counters` is `after`, adds, or stores where that is 0, and then
    writes `own` to it, as i32. `hopper-insert-turns` lets others wait and write (`hopper.take_turn`). The condition is uniform in the warpgroup then.

    With `first`, which is uniform in the warpgroup, it stores where that holds.

    With `last`, which is uniform in the warpgroup, it writes where that holds what the sum is times `scale`, rounded to the element type of `out`, in place of adding to `memref`:
    `out[..., o_m + m, ..., o_n + n] = round(scale * (memref + vector)[n, m])` where `o_m + m < end_m` and `o_n + n < end_n` if these are given, with `o_m` and `o_n` as the indices of dimensions `m` and `n` of `out`.
    Where `first` holds as well, `memref` counts as zeros.
    One of them is the last one and contiguous; its rows are aligned to 16 bytes, and its end is a multiple of 8.

    With a condition, which is uniform in a warp, elements are added only where that holds. Sums flush denormal numbers.

    ```mlir
    hopper.reduce_add %v, %blocks[%b, %h, %t] : vector<80x64xf32>, memref<?x?x?x5120xf32>
    hopper.reduce_add %v, %blocks[%b, %h, %t] after %p as %n in %counters[%b, %h, %t] : vector<80x64xf32>, memref<?x?x?x5120xf32>, memref<?x?x?xi32>
    hopper.reduce_add %v, %blocks[%b, %h, %t] first %first : vector<80x64xf32>, memref<?x?x?x5120xf32>
    hopper.reduce_add %v, %blocks[%b, %h, %t] first %first last %last to %out[%b, %h, %r, %c] m 3 n 2 end_m %e end_n %f scale 1.250000e-01
        : vector<80x64xf32>, memref<?x?x?x5120xf32> to memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
    ```

    Errors: a vector of other than 64 columns, or of a number of rows that is not a multiple of 8; a buffer of other elements; a number of indices other than the rank less one;
    a last dimension of another extent, or that is not contiguous;
    counters that are not of i32, or a number of indices of them other than their rank; both counters and `first`;
    `last` with neither; a number of indices of `out` other than its rank, or dimensions that are the same or are not any of it, or none of which is a contiguous last one; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, AnyMemRef:$memref, Variadic<Index>:$indices,
      Optional<I1>:$condition,
      Optional<Index>:$after, Optional<Index>:$own, Optional<AnyMemRef>:$counters, Variadic<Index>:$counter_indices,
      Optional<I1>:$first, Optional<I1>:$last, Optional<MemRefOf<[BF16, F16]>>:$out, Variadic<Index>:$out_indices,
      OptionalAttr<I64Attr>:$out_m, OptionalAttr<I64Attr>:$out_n, Optional<Index>:$out_end_m, Optional<Index>:$out_end_n,
      DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let assemblyFormat = [{
    $vector `,` $memref `[` $indices `]` (`if` $condition^)?
    (`after` $after^ `as` $own `in` $counters `[` $counter_indices `]`)? (`first` $first^)?
    (`last` $last^ `to` $out `[` $out_indices `]` `m` $out_m `n` $out_n (`end_m` $out_end_m^)? (`end_n` $out_end_n^)?)? (`scale` $scale^)? attr-dict
    `:` type($vector) `,` type($memref) (`,` type($counters)^)? (`to` type($out)^)?
  }];
  let hasVerifier = 1;
}

def Hopper_DiagonalSumsOp : Hopper_Op<"diagonal_sums", [
    Hopper_OwnLayouts, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the sums over the diagonals of what a warpgroup holds";
  let description = [{
    `result[0, d] = sum of vector[n, m] over all n, m with n - m + 64 = d`, which thread d has, in a fixed order. The vector goes through the tile, of 64 rows of 72 floats, which no other warpgroup uses.

    ```mlir
    %s = hopper.diagonal_sums %v via %t : vector<64x64xf32>, !hopper.tile<4608xf32> -> vector<1x128xf32>
    ```

    Errors: another vector than one of 64 x 64; another tile or result; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, Hopper_TileType:$tile);
  let results = (outs Hopper_FragmentOf<[F32]>:$sums);
  let assemblyFormat = [{
    $vector `via` $tile attr-dict `:` type($vector) `,` type($tile) `->` type($sums)
  }];
  let hasVerifier = 1;
}

def Hopper_PutDiagonalsOp : Hopper_Op<"put_diagonals", [
    Hopper_OwnLayouts, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "write an element for each diagonal of a fragment";
  let description = [{
    `tile[d] = diagonals[0, d]`, of which thread t has the elements t, t + 128 and so on. No other warpgroup uses the tile. The threads of the warpgroup wait for each other before and after that, so that
    all have read what was there, and may read what is: it must not be where some of the warps are not.

    ```mlir
    hopper.put_diagonals %x in %t : vector<1x128xf32>, !hopper.tile<128xf32>
    ```

    Errors: a number of diagonals that is no multiple of 128; another tile; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$diagonals, Hopper_TileType:$tile);
  let assemblyFormat = "$diagonals `in` $tile attr-dict `:` type($diagonals) `,` type($tile)";
  let hasVerifier = 1;
}

def Hopper_SpreadDiagonalsOp : Hopper_Op<"spread_diagonals", [
    Hopper_OwnLayouts, MemoryEffects<[MemRead]>]> {
  let summary = "a fragment of which all elements of a diagonal are one";
  let description = [{
    `vector[n, m] = tile[n - m + 64]`, for N x 64 elements.

    ```mlir
    %v = hopper.spread_diagonals %t : !hopper.tile<128xf32> -> vector<64x64xf32>
    ```

    Errors: fewer floats than N + 64; another tile or result; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TileType:$tile);
  let results = (outs Hopper_FragmentOf<[F32]>:$vector);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($vector)";
  let hasVerifier = 1;
}

def Hopper_ScatterAddOp : Hopper_Op<"scatter_add", [
    Hopper_OwnLayouts, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add each element that a warpgroup holds to one of a buffer";
  let description = [{
    Where `mask[n, m]` holds and each index is inside of its dimension,

    `memref[i_0[n, m], i_1[n, m], ...] += vector[n, m]`

    An index is a number, or a fragment with an extent of 1 along what it does not depend on. Where no index depends on `n`, or on `m`, the elements along that are summed
    first, in registers and by shuffles, in f32 and in a fixed order: one addition is left for 64 `m`, for each `n` and warp, or for a warp. Of 128 numbers, each thread adds its own.
    What all threads of a warp add to one element at run time is summed first as well. Of four rows, the parts of sums that `hopper.reduce` gives, the sums are added: no index depends on `n`.

    A buffer of i64 has the words of exact sums, as `attn.scatter exact` has them, without an index for its first dimension: integers are added atomically, in any order.
    One of f32 is added to by atomic operations as well, so that its sums are the same each time only where no two elements go to the same one.

    ```mlir
    hopper.scatter_add %v into %words[%h, %i] if %p : vector<64x64xf32>, memref<10x8x?xi64>, (index, vector<64x1xindex>), vector<64x64xi1>
    hopper.scatter_add %v into %sums[%i, %j] if %p : vector<64x64xf32>, memref<?x?xf32>, (vector<64x1xindex>, vector<1x64xindex>), vector<64x64xi1>
    ```

    Errors: a vector of other than 64 columns and a multiple of 8 rows, or four, or 128 columns and one row; indices or a mask of other shapes; a buffer of other elements than f32 and
    words; a number of indices other than its rank, or than that less one; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, AnyMemRef:$memref,
      Variadic<AnyTypeOf<[Index, Hopper_FragmentOf<[Index]>]>>:$indices, Hopper_FragmentOf<[I1]>:$mask);
  let assemblyFormat = [{
    $vector `into` $memref `[` $indices `]` `if` $mask attr-dict
    `:` type($vector) `,` type($memref) `,` (`(` type($indices)^ `)` `,`)? type($mask)
  }];
  let extraClassDeclaration = [{
    /// Whether the buffer has exact sums.
    bool isExact() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()).getElementType().isInteger(64); }
  }];
  let hasVerifier = 1;
}

def Hopper_CombineOp : Hopper_Op<"combine", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combine the parts of a row of a result";
  let description = [{
    What a warp does: up to 64 columns of a row, from the parts that its keys were shared out to. A part is a normalised row of f32 in `parts`, and
    the log-sum-exp of its scores in base 2 in `lses`, which is -inf where the part has no key for the row; the part is not read then.
    With `w[p] = 2^lses[row..., p]`, and for `c` from the column that is the index of dimension `dim` of the result,

    * `into[..., c] = sum_p w[p] * parts[row..., p, c] / sum_p w[p]`, or 0 if all parts are empty,
    * `lse[lse_indices...] = log(sum_p w[p])`, in base e, or -inf; by the warp that has column 0.

    Sums are taken in an order that depends on the number of parts alone. Rows of parts are contiguous and aligned to 16 bytes.

    ```mlir
    hopper.combine %parts, %lses[%b, %h, %r] into %o[%b, %h, %r, %c] dim 3 lse %lse[%b, %h, %r]
        : memref<?x?x?x?x128xf32>, memref<?x?x?x?xf32>, memref<?x?x?x128xbf16>, memref<?x?x?xf32>
    ```

    Errors: parts whose rows are not of a multiple of 8 columns, or not as long as those of the result; a number of indices other than the rank, or
    for `row` other than three; a dimension that is not one of the result.
  }];
  let arguments = (ins MemRefRankOf<[F32], [5]>:$parts, MemRefRankOf<[F32], [4]>:$lses,
      Variadic<Index>:$row, MemRefRankOf<[BF16, F16, F32], [4]>:$into, Variadic<Index>:$indices, I64Attr:$dim,
      Optional<MemRefRankOf<[F32], [3]>>:$lse, Variadic<Index>:$lse_indices);
  let assemblyFormat = [{
    $parts `,` $lses `[` $row `]` `into` $into `[` $indices `]` `dim` $dim
    (`lse` $lse^ `[` $lse_indices `]`)? attr-dict
    `:` type($parts) `,` type($lses) `,` type($into) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERFRAGMENTOPS_TD
