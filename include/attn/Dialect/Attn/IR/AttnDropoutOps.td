//===- AttnDropoutOps.td - Dropout on probabilities --------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNDROPOUTOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNDROPOUTOPS_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def I64Like : TypeOrValueSemanticsContainer<I64, "i64-like">;
def IndexLike : TypeOrValueSemanticsContainer<Index, "index-like">;
def AccumulatorLike : TypeOrValueSemanticsContainer<AnyTypeOf<[F32, F64]>,
    "f32 or f64-like">;

def Attn_DropoutOp : Attn_Op<"dropout",
    !listconcat([Pure], ElementwiseMappable.traits)> {
  let summary = "what dropout multiplies the probability of a pair by";
  let description = [{
    ```
    factor = 0 if bits < probability * 2^16, otherwise 1 / (1 - probability)
    ```

    where `bits` are 16 of the 64 of Philox 2x32-7, whose key is of the head, from Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", which finds no flaw in either):

    ```
    head  = philox4x32_10(counter = (low(offset), high(offset), low(h), low(b)), key = (low(seed), high(seed)))
    words = philox2x32_7(counter = (without_bit_3(i) ^ head[1], without_bit_3(j) ^ head[2]), key = head[0])
    bits  = (words[bit_3(i)] >> 16 * bit_3(j)) mod 2^16
    ```

    `low` and `high` are the halves of 64 bits, `bit_3(n)` is `(n / 8) mod 2`, and `without_bit_3(n)` is `n / 16 * 8 + n mod 8`. So what is dropped depends on the seed, the
    offset and the logical position of the pair alone: not on tiles, schedules, targets, or the direction. One call serves four pairs, `(i, j)`, `(i, j + 8)`,
    `(i + 8, j)` and `(i + 8, j + 8)`, which one thread holds of an accumulator of queries by keys, and of one of keys by queries.

    Positions, batches and heads count modulo 2^32. `probability * 2^16` is rounded to an integer below 2^16, half to even: the fraction of pairs that are dropped is within 2^-17 of the probability.

    Operands, each a scalar or of the shape of the result:

    * `seed`, `offset`: i64. Each call of a program takes another offset.
    * `b`, `h`, `i`, `j`: the position of the pair.

    With `aligned`, the first of all `i`, and of all `j`, is a multiple of 16, and so is that of each part of a tile that is computed by itself: who computes four pairs calls Philox once.

    Example, in a `score` region, whose second result is the weight of the probability:

    ```mlir
    score(%s, %b, %h, %i, %j, %seeds, %offsets) {
      %seed = tensor.extract %seeds[] : tensor<i64>
      %offset = tensor.extract %offsets[] : tensor<i64>
      %w = attn.dropout 1.0e-01 seed %seed offset %offset at %b, %h, %i, %j : f32
      attn.yield %s, %w : f32, f32
    }
    ```

    Errors: a probability that is not at least 0 and less than 1; shapes that differ.
  }];
  let arguments = (ins F64Attr:$probability, I64Like:$seed, I64Like:$offset,
    IndexLike:$b, IndexLike:$h, IndexLike:$i, IndexLike:$j, UnitAttr:$aligned);
  let results = (outs AccumulatorLike:$factor);
  let assemblyFormat = [{
    $probability `seed` $seed `offset` $offset `at` $b `,` $h `,` $i `,` $j
    (`aligned` $aligned^)? attr-dict `:`
    custom<DropoutTypes>(type($seed), type($offset), type($b), type($h),
      type($i), type($j), type($factor))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The least bits whose pair is kept, of 16.
    uint32_t getLeastKept();
    /// What the probability of a pair that is kept is multiplied by.
    double getScale();
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNDROPOUTOPS_TD
