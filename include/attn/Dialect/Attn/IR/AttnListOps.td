//===- AttnListOps.td - Operations on lists of keys --------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNLISTOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNLISTOPS_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_KeyBitmaskOp : Attn_Op<"key_bitmask", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a list of numbers as bits of words";
  let description = [{
    Fills a row of words, `into[indices..., w]` for all `w`: bit `k` of word `w` says whether `32 * w + k` is one of
    `columns[begin], ..., columns[end - 1]`. Numbers that no word has a bit for are left out, and nothing outside of `columns` is read, whatever the ends are.

    Operands:

    * `columns`: the list, with others, as a tensor or its buffer.
    * `begin`, `end`: which part of it is the list.
    * `into`: the words, of i32.
    * `indices`: one for each dimension of `into` but the last.

    The result is `into` with the words, if it is a tensor; a buffer is written, and there is no result.

    Example:

    ```mlir
    %w = attn.key_bitmask %columns[%begin, %end] into %row[%c0, %c0, %c0]
        : tensor<?xi32>, tensor<1x1x1x?xi32> -> tensor<1x1x1x?xi32>
    ```

    Errors: columns that are no vector of i32 or i64; words of another type, or of rank 0; a number of indices other than the rank less one; a result
    that is not there for a tensor, or there for a buffer.
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$columns,
    Index:$begin, Index:$end,
    AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$into, Variadic<Index>:$indices);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $columns `[` $begin `,` $end `]` `into` $into `[` $indices `]` attr-dict
    `:` type($columns) `,` type($into) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Attn_KeyUnionOp : Attn_Op<"key_union", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the keys that some query of a tile has in its list";
  let description = [{
    Of lists in the format CSR (see `attn.attention`), each with what it is for a batch and a head, three tables by Q blocks:

    * `places[b, h, t]`: the first page of tile `t`, and the number of its keys: those that the list of some of its queries holds, once each, in ascending order.
    * `numbers[page, n]`: key `n` of a page, the pages of a tile one after the other. Where a page is longer than what is left of the keys, the rest is the number of all keys, which is no key.
    * `words[page, n / 32, m]`: bit `n mod 32` says whether query `m` of the tile has key `n` of the page in its list; not set beyond the keys.

    A list is the set of its columns that are in range, and nothing outside of `rows` and `columns` is read, whatever they hold. Tables have `ceil(E / tile_keys)` pages for the
    `E` columns, and one more for each tile. So lists of different heads and batches must be the same, or be different parts of `columns`: the number of keys of tiles for which that is not so is -1.

    Operands:

    * `rows`, `columns`: the lists, as tensors or their buffers.
    * `queries`, `keys`: how many there are of each.
    * `into`: none, or the tables, if they are buffers. Then CTA `n` of a kernel fills what belongs to tile `n`.

    The results are the tables if they are tensors.

    Example:

    ```mlir
    %places, %numbers, %words = attn.key_union %rows, %columns queries %nq keys %nk tile [64, 128]
        : tensor<4x?xi32>, tensor<?xi32> -> tensor<1x4x?x2xi32>, tensor<?x128xi32>, tensor<?x4x64xi32>
    ```

    Errors: rows of other than 1 to 3 dimensions, columns of other than one, or elements of these other than i32 or i64; a tile whose queries are no multiple of 8, or whose
    keys are no multiple of 32; tables of other types; tables as results that are buffers, or the other way round.
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$rows,
    AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$columns, Index:$queries, Index:$keys,
    Variadic<AnyMemRef>:$into, I64Attr:$tile_queries, I64Attr:$tile_keys);
  let results = (outs Variadic<AnyRankedTensor>:$tables);
  let assemblyFormat = [{
    $rows `,` $columns `queries` $queries `keys` $keys
    `tile` `[` $tile_queries `,` $tile_keys `]`
    (`into` `(` $into^ `:` type($into) `)`)? attr-dict
    `:` type($rows) `,` type($columns) (`->` type($tables)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The tables, in whichever form they are.
    ::mlir::Value getTable(unsigned number) {
      return getTables().empty() ? getInto()[number] : getTables()[number];
    }
    /// The types of tables for lists, as tensors.
    static ::llvm::SmallVector<::mlir::Type> getTableTypes(
        ::mlir::ShapedType rows, int64_t tileQueries, int64_t tileKeys);
  }];
}

def Attn_ReportOp : Attn_Op<"report", [MemoryEffects<[MemWrite]>]> {
  let summary = "report an error in the data of a program that runs";
  let description = [{
    Where `condition` holds, the error of number `site` in the function's table of sites is reported, in whose text
    `%0` and `%1` stand for `first` and `second`. The program goes on. Of several reports of one site, by
    several workers, any is kept, and its two numbers need not be of one report.

    Operands:

    * `first`, `second`: indices for the text of the error.
    * `condition`: i1.

    Example:

    ```mlir
    attn.report site 2 (%column, %numColumns) if %isOutside
    ```

    Errors: a negative site.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$site,
    Index:$first, Index:$second, I1:$condition);
  let assemblyFormat = [{
    `site` $site `(` $first `,` $second `)` `if` $condition attr-dict
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNLISTOPS_TD
