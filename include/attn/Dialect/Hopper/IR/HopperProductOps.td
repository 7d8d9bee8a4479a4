//===- HopperProductOps.td - Matrix products ---------------*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERPRODUCTOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERPRODUCTOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def Hopper_RowsOp : Hopper_Op<"rows", [Pure]> {
  let summary = "some rows of a tile";
  let description = [{
    The R rows from row `R * index` on, of as many as the result has. A warpgroup has 64.

    ```mlir
    %r = hopper.rows %t[%wg] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
    %x = hopper.rows %v[%wg] : !hopper.tile<128xf32> -> !hopper.tile<64xf32, of 128>
    ```

    Errors: a result of rows that are not a multiple of 8 that divides those of the source, or of other columns; rows of rows.
  }];
  let arguments = (ins Hopper_TileType:$source, Index:$index);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_ColumnsOp : Hopper_Op<"columns", [Pure]> {
  let summary = "some columns of a tile";
  let description = [{
    The C columns from column `C * index` on, of as many as the result has. Those behind the last column of the source fill its last 128 bytes of a row,
    which a copy of a tensor fills with zeros.

    ```mlir
    %c = hopper.columns %t[%wg] : !hopper.tile<128x128xbf16> -> !hopper.tile<128x64xbf16>
    ```

    Errors: a result of columns that are not a multiple of those of 128 bytes that divides those of the source, or of other rows.
  }];
  let arguments = (ins Hopper_TileType:$source, Index:$index);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_LoadFragmentOp : Hopper_Op<"load_fragment", [Hopper_OwnLayouts, MemoryEffects<[MemRead]>]> {
  let summary = "hold rows of a tile in registers";
  let description = [{
    `result[c, m] = tile[m, c]` for the 64 rows of a tile. Of an i8 or i1, what is not 0 in memory is an i1 that is set. Of a tile that is a
    vector, `result[n, 0] = tile[n]`, or, of f32 and i32, `result[0, m] = tile[m]` for 64 rows.

    ```mlir
    %q = hopper.load_fragment %r : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
    %l = hopper.load_fragment %v : !hopper.tile<80xf32> -> vector<80x1xf32>
    %m = hopper.load_fragment %w : !hopper.tile<64xf32> -> vector<1x64xf32>
    ```

    Errors: a tile of other than 64 rows; a result of other columns or element type; rows of a vector that is not of f32 or i32; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TileType:$tile);
  let results = (outs Hopper_FragmentOf<[BF16, F16, F32, F64, I64, I32, I16, I8, I1]>:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_NegateRowsOp : Hopper_Op<"negate_rows", [Hopper_OwnLayouts, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "negate rows of a tile in place";
  let description = [{
    Changes the sign of all elements of row `m`, of the 64 of a tile, where `where[0, m]` is set. What the warpgroup reads of the tile from there on, matrix
    products included, are the new elements. No other warpgroup may read these rows, and the tile has to be full.

    ```mlir
    hopper.negate_rows %r where %p : !hopper.tile<64x128xbf16, of 192>, vector<1x64xi1>
    ```

    Errors: a tile of other than 64 rows, or of elements that are not bf16 or f16; other than an i1 for each row; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TileType:$tile, Hopper_FragmentOf<[I1]>:$where);
  let assemblyFormat = "$tile `where` $where attr-dict `:` type($tile) `,` type($where)";
  let hasVerifier = 1;
}

def Hopper_MmaOp : Hopper_Op<"mma", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start a matrix product";
  let description = [{
    Starts, for the 64 rows `m` that a warpgroup has of its result,

    ```
    result[n, m] = acc[n, m] + sum_k rhs[n, k] * lhs[k, m]
    ```

    as one group that `hopper.wait` waits for. Which of queries, keys and columns `n`, `m` and `k` are is up to the program. Operands:

    * `lhs`: `vector<K x 64>` of bf16 or f16; or 64 rows of a tile, `lhs[k, m] = tile[m, k]`; or with `lhs_transposed` 64 columns of one,
      `lhs[k, m] = tile[k, m]`.
    * `rhs`: a tile of the same element type, `rhs[n, k] = tile[n, k]`, or with `rhs_transposed` `tile[k, n]`.
    * `acc`: `vector<N x 64>` of f32, or pending; absent for 0.

    `N` is a multiple of 8 up to 256. `K` is a multiple of 16, or if it is along the columns of tiles of 8; the last half of a step is 0 then, as tiles
    hold 0 up to the next multiple of 16, and so does `lhs` in registers.

    ```mlir
    %s = hopper.mma %q, %k : vector<64x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
    %o = hopper.mma %p, %v acc %a rhs_transposed : vector<128x64xbf16>, !hopper.tile<128x64xbf16>, vector<64x64xf32>
        -> !hopper.pending<vector<64x64xf32>>
    %dq = hopper.mma %ds, %k lhs_transposed rhs_transposed : !hopper.tile<128x64xbf16>, !hopper.tile<128x256xbf16>
        -> !hopper.pending<vector<256x64xf32>>
    ```

    Errors: extents that do not fit; other element types; `lhs_transposed` of a vector; outside of a partition of warpgroups.
  }];
  let arguments = (ins AnyTypeOf<[Hopper_TileType, Hopper_FragmentOf<[BF16, F16]>]>:$lhs,
      Hopper_TileType:$rhs, Optional<AnyTypeOf<[Hopper_FragmentOf<[F32]>, Hopper_PendingType]>>:$acc,
      UnitAttr:$rhs_transposed, UnitAttr:$lhs_transposed);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^)? (`lhs_transposed` $lhs_transposed^)? (`rhs_transposed` $rhs_transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_CreateIotaTileOp : Hopper_Op<"create_iota_tile"> {
  let summary = "a tile in shared memory whose rows hold their number";
  let description = [{
    `result[n, c] = n`, from the start of the kernel on. As an operand of a product, it multiplies what it meets with the position of a key in its tile.

    ```mlir
    %r = hopper.create_iota_tile : !hopper.tile<128x8xbf16>
    ```

    Errors: more than 256 rows, whose numbers bf16 does not have; other than 8 columns; rows of a larger tile.
  }];
  let results = (outs Res<Hopper_TileType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_SplitBF16x3Op : Hopper_Op<"split_bf16x3", [Hopper_OwnLayouts, Pure]> {
  let summary = "a number for each query as a sum of numbers of 16 bits";
  let description = [{
    `result[0, m] + result[1, m] + result[2, m]` is `source[0, m]` up to rounding of f32: each is what the ones before leave, rounded. The other
    rows are 0. So a product with it is a product with f32 in place of numbers of 16 bits. A source that is no finite number of the element type gives NaN or
    an infinity. With `behind_ones`, rows 0 to 2 are 1, and the parts are rows 3 to 5: for a tile of `hopper.publish_bf16x3`.

    ```mlir
    %p = hopper.split_bf16x3 %x : vector<1x64xf32> -> vector<8x64xbf16>
    %p = hopper.split_bf16x3 %x behind_ones : vector<1x64xf32> -> vector<8x64xbf16>
    ```

    Errors: other than 8 rows of 64 queries, of one row.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$source, UnitAttr:$behind_ones);
  let results = (outs Hopper_FragmentOf<[BF16, F16]>:$result);
  let assemblyFormat = "$source (`behind_ones` $behind_ones^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_WaitOp : Hopper_Op<"wait", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>,
    InferTypeOpAdaptor]> {
  let summary = "wait for matrix products";
  let description = [{
    Waits until at most `in_flight` of the products that this warpgroup started last are still running, of which
    those of `pending` must not be any, and returns their vectors.

    ```mlir
    %v = hopper.wait %s in_flight 1 : !hopper.pending<vector<128x64xf32>>
    %x, %y = hopper.wait %a, %b in_flight 0 : !hopper.pending<vector<128x64xf32>>, !hopper.pending<vector<64x64xf32>>
    ```

    Errors: other than 0 to 7 products in flight; nothing to wait for; outside of a partition of warpgroups.
  }];
  let arguments = (ins Variadic<Hopper_PendingType>:$pending, I64Attr:$in_flight);
  let results = (outs Variadic<Hopper_FragmentOf<[F32]>>:$values);
  let assemblyFormat = "$pending `in_flight` $in_flight attr-dict `:` type($pending)";
  let hasVerifier = 1;
}

def Hopper_InFlightOp : Hopper_Op<"in_flight", [Hopper_FragmentOpInterface, Pure,
    TypesMatchWith<"the operand is the vector of the result", "result", "vector",
                   "::llvm::cast<PendingType>($_self).getFragment()">]> {
  let summary = "treat a vector as pending";
  let description = [{
    Where paths meet of which some have waited.

    ```mlir
    %p = hopper.in_flight %v : !hopper.pending<vector<64x64xf32>>
    ```
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = "$vector attr-dict `:` type($result)";
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERPRODUCTOPS_TD
