//===- AttnPackedOps.td - Operations on packed heads -------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNPACKEDOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNPACKEDOPS_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PackedCountOp : Attn_Op<"packed_count", [Pure]> {
  let summary = "how many heads of a group share a tile";
  let description = [{
    A group is the heads of queries that one head of keys and values serves, `extent(query, query_heads) / extent(key, key_heads)` of them.
    The result is a power of two up to `most` that divides the heads of a group, or 1 where there are none. Which one is chosen by what
    launches the program, and is the same everywhere in it.

    Operands:

    * `query`, `key`: tensors with the heads of queries and keys as dimensions `query_heads` and `key_heads`.

    Example:

    ```mlir
    %p = attn.packed_count %q heads 1 of %k heads 1 most 64 : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    ```

    Errors: dimensions that are not of the tensors; `most` that is no power of two.
  }];
  let arguments = (ins AnyRankedTensor:$query, I64Attr:$queryHeads,
    AnyRankedTensor:$key, I64Attr:$keyHeads, I64Attr:$most);
  let results = (outs Index:$count);
  let assemblyFormat = [{
    $query `heads` $queryHeads `of` $key `heads` $keyHeads `most` $most attr-dict
    `:` type($query) `,` type($key)
  }];
  let hasVerifier = 1;
}

class Attn_PackedViewOp<string mnemonic> : Attn_Op<mnemonic, [Pure]> {
  let arguments = (ins AnyRankedTensor:$source, Index:$count,
    I64Attr:$heads, I64Attr:$rows);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `by` $count `heads` $heads `rows` $rows attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_PackGQAOp : Attn_PackedViewOp<"pack_gqa"> {
  let summary = "see the rows of several heads as rows of one";
  let description = [{
    A view of `source` in which `count` heads that follow each other are one, whose rows are those of the first query of
    each, then those of the second query, and so on. With `heads` as dimension `h` and `rows` as dimension `i`,

    ```
    result[.., h, .., r, ..] = source[.., h * count + r mod count, .., r / count, ..]
    ```

    so that there are `extent / count` heads with `extent * count` rows. `count` is positive and divides the number of heads. The
    heads of a group use the same keys, and a tile of such rows reads them once for all.

    Operands:

    * `source`: queries, or a destination.
    * `count`: heads that become one.

    Example:

    ```mlir
    %packed = attn.pack_gqa %q by %p heads 1 rows 2 : tensor<2x32x?x128xbf16> -> tensor<2x?x?x128xbf16>
    ```

    Errors: dimensions that are the same, or not of the tensor; a result whose heads or rows are static, or that has another
    rank, element type, or other extents than the source.
  }];
}

def Attn_UnpackHeadsOp : Attn_PackedViewOp<"unpack_heads"> {
  let summary = "see rows of packed heads as those of each head";
  let description = [{
    The inverse of `attn.pack_gqa`:

    ```
    result[.., h, .., i, ..] = source[.., h / count, .., i * count + h mod count, ..]
    ```

    Operands:

    * `source`: a result of packed heads.
    * `count`: heads that are one.

    Example:

    ```mlir
    %o = attn.unpack_heads %packed by %p heads 1 rows 2 : tensor<2x?x?x128xbf16> -> tensor<2x32x?x128xbf16>
    ```

    Errors: dimensions that are the same, or not of the tensor; a source whose heads or rows are static, or that has another
    rank, element type, or other extents than the result.
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNPACKEDOPS_TD
