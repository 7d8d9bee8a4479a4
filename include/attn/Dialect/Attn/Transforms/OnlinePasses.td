//===- OnlinePasses.td - Passes of the online level --------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_ONLINEPASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_ONLINEPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Tensor to online level
//===----------------------------------------------------------------------===//

def AttnOnlineSoftmaxPass : Pass<"attn-online-softmax"> {
  let summary = "make the softmax of attentions an associative reduction over keys";
  let description = [{
    Replaces each `attn.attention` by an `attn.online_attention` that starts
    from the neutral state (acc = 0, max = -inf, sum = 0) and an
    `attn.finalize`. The regions move over unchanged; the scale becomes explicit.

    Precondition: none. Postcondition: no `attn.attention` is left.

    Before:

    ```mlir
    func.func @plain(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x8xf32>,
                     %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
      %r = attn.attention ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
          outs(%o : tensor<2x4x16x8xf32>)
      return %r : tensor<2x4x16x8xf32>
    }
    ```

    After:

    ```mlir
    %acc = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
    %max = linalg.fill ins(%neg_inf : f32) outs(%1 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %sum = linalg.fill ins(%zero : f32) outs(%2 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %s0, %s1, %s2 = attn.online_attention scale 0.35355339059327373
        ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>)
    %r = attn.finalize ins(%s0, %s1, %s2 : tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>)
        outs(%o : tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
    ```
  }];
  let options = [
    Option<"rescale", "rescale", "::mlir::attn::Rescale", /*default=*/"::mlir::attn::Rescale::Exact",
           "whether steps of the softmax bring the state to each new maximum, or only to one that is much larger (attn.online_step)",
           [{::llvm::cl::values(
               clEnumValN(::mlir::attn::Rescale::Exact, "exact", "to each new maximum"),
               clEnumValN(::mlir::attn::Rescale::Lazy, "lazy", "to one that is larger by more than 8, in base 2; or never where all scores are in a range, such as that of a soft-cap"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// Online level
//===----------------------------------------------------------------------===//

def AttnClassifyBlocksPass : Pass<"attn-classify-blocks"> {
  let summary = "derive the keys that a Q block needs from its mask";
  let description = [{
    Fills the `blocks` region of each `attn.online_attention` that has a mask and no bounds yet.

    The mask is read as a tree of conjunctions, disjunctions, negations and choices over
    comparisons `a * j + r >= 0`, where `a` is a constant and `r` a sum of integers that do not
    depend on `j` and grow or fall with `i`: `i` itself, multiples, quotients, minima and maxima of
    such, and anything made of `b`, `h` and captures. Comparisons may be of any
    predicate (unsigned ones where the sign of one side is known), on index or integers.
    `maxsi`, `minsi`, `absi`, `select`, and quotients of `j` by a positive constant are taken apart too.
    All else is unknown.

    Over the rows `i0 <= i < i1` a comparison is an interval of keys for which some row allows the key, and one
    for which all do. A conjunction intersects both. A disjunction takes the hull of the
    first, and of the second the union if it is an interval, otherwise the longer one.
    A choice by a condition that does not depend on `i` and `j` selects. What is unknown may allow any
    key, and allows none for certain; where nothing is known of the whole
    mask the region stays absent.

    The region holds straight-line code. It yields `0 <= lo <= full_lo <= full_hi <= hi <= skv`
    for `0 <= i0 < i1` and any `skv`, where captures are read as the mask reads them for every key, so
    that it is for tiles that have a row and a key.

    Lengths, batches and heads are taken to be below 2^31, and arithmetic on index and i64 in the mask
    that a captured integer takes part in not to overflow, unless a number leaves it no room; all other
    integers may wrap. A single captured integer in a comparison
    may have any value. Where several meet in one comparison, those beyond 2^44 in magnitude stand for infinity.

    Precondition: none, though masks are best understood after `attn-canonicalize-score`.
    An attention with offsets is left alone.
    Postcondition: none; bounds are optional.

    Remarks: `classified`, or `partial-everywhere` with the reason, at the operation
    that was not understood.

    Before, a sliding window:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        mask(%b, %h, %i, %j) {
          %c128 = arith.constant 128 : index
          %d = arith.subi %i, %j : index
          %near = arith.cmpi slt, %d, %c128 : index
          %past = arith.cmpi sle, %j, %i : index
          %p = arith.andi %near, %past : i1
          attn.yield %p : i1
        }
    ```

    After, the same with:

    ```mlir
        blocks(%b, %h, %i0, %i1, %skv) {
          %c0 = arith.constant 0 : index
          %c-128 = arith.constant -128 : index
          %c-127 = arith.constant -127 : index
          %c1 = arith.constant 1 : index
          %0 = arith.addi %i0, %c-127 : index
          %1 = arith.addi %i1, %c-128 : index
          %2 = arith.addi %i0, %c1 : index
          %hi = arith.minsi %i1, %skv : index
          %3 = arith.maxsi %0, %c0 : index
          %lo = arith.minsi %3, %hi : index
          %4 = arith.maxsi %1, %c0 : index
          %full_lo = arith.minsi %4, %hi : index
          %5 = arith.minsi %2, %skv : index
          %full_hi = arith.maxsi %full_lo, %5 : index
          attn.yield %lo, %full_lo, %full_hi, %hi : index, index, index, index
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnLiftMaskPass : Pass<"attn-lift-mask"> {
  let summary = "derive whether a tile of queries and keys is needed from its mask";
  let description = [{
    Fills the `tiles` region of each `attn.online_attention` whose mask bounds in `blocks` do
    not describe: one that allows keys in several intervals (a window and some keys for all, blocks with gaps,
    all but some keys), or in ones that depend on data (documents). So it does of each `attn.attention_grad` where bounds do not describe the queries that keys meet.

    The region is the mask itself, lifted from a pair `(i, j)` to the pairs of a tile: straight-line code on
    the ends of intervals. `i` becomes the interval from `i0` to `i1 - 1`, `j` that from `j0` to `j1 - 1`; `b`, `h`, captured scalars
    and what is computed from these alone are exact. A comparison becomes two, whether it may hold and whether it must,
    and conjunction, disjunction, negation and choice act on these pairs.

    * Sums, differences, products, minima, maxima, `absi`, `select`, `scf.if`, conversions: the exact interval, if each
      operand occurs once. Sums that leave 64 bits saturate. Integers of fewer bits that may wrap may be anything.
    * Quotients and right shifts by positive integers that are constant or the same for the tile: exact.
    * Remainders and the low bits of an integer: exact where the interval lies within one period, otherwise the
      whole period. Whether a remainder by a constant equals an integer is exact for any interval.
    * Other `andi`, `ori`, `xori` on integers that are not negative: the bits above the highest one that changes within the tile
      are exact, and the others are unknown.
    * A read of a captured tensor of integers: the least and the largest element that its indices reach (`attn.range`), if these are at
      most some 256 for a tile. With i1, whether any and whether all are true.
    * All else may be anything that the analysis of ranges does not rule out.

    A tile is empty, or needs no predicate, only if that is certain for each pair on its own: sound whatever the captures hold,
    under the assumptions of `attn-classify-blocks`. A mask of which it is certain for all tiles that no pair is allowed becomes
    `false`, with the bounds of that, and one that allows all pairs of any tile is removed.

    Precondition: none, though `attn-classify-blocks` runs before it, since a mask of intervals is left to it. An attention with
    offsets is left alone, and so is one whose tiles the mask does not tell apart. Postcondition: none; the region is optional.

    Remarks: `lifted`.

    Before, the first 4 keys and a window:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        mask(%b, %h, %i, %j) {
          %c4 = arith.constant 4 : index
          %c128 = arith.constant 128 : index
          %d = arith.subi %i, %j : index
          %a = math.absi %d : index
          %near = arith.cmpi slt, %a, %c128 : index
          %first = arith.cmpi slt, %j, %c4 : index
          %p = arith.ori %near, %first : i1
          attn.yield %p : i1
        }
    ```

    After, the same with:

    ```mlir
        tiles(%b, %h, %i0, %i1, %j0, %j1) {
          %c0 = arith.constant 0 : index
          %c128 = arith.constant 128 : index
          %c4 = arith.constant 4 : index
          %c1 = arith.constant 1 : index
          %0 = arith.subi %i1, %c1 : index
          %1 = arith.subi %j1, %c1 : index
          %2 = arith.subi %i0, %1 : index
          %3 = arith.subi %0, %j0 : index
          %4 = arith.subi %c0, %3 : index
          %5 = arith.subi %c0, %2 : index
          %6 = arith.maxsi %2, %4 : index
          %7 = arith.maxsi %6, %c0 : index
          %8 = arith.maxsi %5, %3 : index
          %9 = arith.cmpi slt, %7, %c128 : index
          %10 = arith.cmpi slt, %8, %c128 : index
          %11 = arith.cmpi slt, %j0, %c4 : index
          %12 = arith.cmpi slt, %1, %c4 : index
          %may = arith.ori %9, %11 : i1
          %must = arith.ori %10, %12 : i1
          attn.yield %may, %must : i1, i1
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnSplitRowTermsPass : Pass<"attn-split-row-terms"> {
  let summary = "take what all keys of a row share out of scores and masks";
  let description = [{
    A number that is added to each score of a row changes no probability, and a row that a mask leaves out has no key: both can wait
    for the end of the row, where they cost an operation for each row, not for each pair. A number that each score of a row is
    multiplied by is a factor of the exponent, which has one anyway. This pass moves all three to the `rows` region of
    `attn.online_attention`: of a score, what is added to it or subtracted and depends neither on the key nor on the score, and,
    where the score is the product times such numbers, the factors and divisors that are no constants; of a
    mask, such conditions of a conjunction. Terms of a sum that is added as a whole stay, as `a[i]` in `s + (a[i] - c[j])`: they
    may be large, and cancel. Factors stay under lists of keys.

    Sums are taken in another order than the score has them, so that a result may differ by rounding.
    Scores stay where a step keeps no maximum (`rescale(never)`), which counts with their range.

    Where conditions move, `blocks` and `tiles` are derived here: Q blocks without a row need no key, and which keys are full is a
    matter of what is left of the mask alone. `attn-classify-blocks` and `attn-lift-mask`, which come after, keep them.

    Precondition: `attn-online-softmax`. Postcondition: none.

    Before:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        captures(%a : tensor<?xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        score(%s, %b, %h, %i, %j, %w0) {
          %x = tensor.extract %w0[%i] : tensor<?xf32>
          %y = arith.addf %s, %x : f32
          attn.yield %y : f32
        }
    ```

    After:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        captures(%a : tensor<?xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        rows(%b, %h, %i, %w0) {
          %x = tensor.extract %w0[%i] : tensor<?xf32>
          %true = arith.constant true
          %one = arith.constant 1.000000e+00 : f32
          attn.yield %x, %true, %one : f32, i1, f32
        }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnPlaceScalePass : Pass<"attn-place-scale"> {
  let summary = "multiply by the scale where it takes the fewest operations";
  let description = [{
    A score region gets products times `scale`, which takes a multiplication for each pair. Exponents have a factor anyway, and sums a fused multiply-add.
    Where a score is homogeneous in its argument, as `s * s` or `max(s, 0) * a[j]` are, of degree 2 and 1, this pass leaves out the scale, and multiplies what is yielded by a power of it:
    a constant factor of a score, which `attn-tile` makes a part of the exponent. What has to be multiplied by the scale in front of other operations, such as functions, is, if all takes fewer multiplications for a pair than
    the scale of its argument. Numbers that all pairs of a head share are divided by the scale in place of a score that is compared with them.

    Products, sums, minima, maxima, comparisons, selections, negations and absolute values carry a degree, of at most 2. Scales that are not positive stay, and those whose powers are no normal numbers of f32.

    Precondition: `attn-online-softmax`. Postcondition: none. What chooses a schedule should come before: it has the score as it is.

    Before:

    ```mlir
    %r:3 = attn.online_attention scale 5.000000e-01
        ins(%q, %k, %v : tensor<2x4x?x4xf32>, tensor<2x4x?x4xf32>, tensor<2x4x?x4xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x4xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        score(%s, %b, %h, %i, %j) {
          %x = arith.mulf %s, %s : f32
          attn.yield %x : f32
        }
    ```

    After:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x4xf32>, tensor<2x4x?x4xf32>, tensor<2x4x?x4xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x4xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        score(%s, %b, %h, %i, %j) {
          %x = arith.mulf %s, %s : f32
          %c = arith.constant 2.500000e-01 : f32
          %y = arith.mulf %x, %c : f32
          attn.yield %y : f32
        }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnAssignSchedulePass : Pass<"attn-assign-schedule"> {
  let summary = "choose how each attention is cut into tiles";
  let description = [{
    Gives each attention that has none a `#attn.schedule`, chosen for a CPU
    with vectors of `vector-bits`, `vector-registers` of them, and a first-level
    data cache of `l1-bytes`: the inner kernel holds as many sums as the
    registers allow, and the tiles that one step touches fit in the cache. Where the mask reads captures at
    quotients of positions by constants, which tell blocks apart, a tile divides a block if it can.

    Few queries, as in decoding, have tiles of their own (see `#attn.schedule`). Where only a call tells how many there are, an online attention and
    the `attn.finalize` that alone reads it stand in the program twice, which takes the form of few up to half as many queries as a tile of many has.

    Precondition: static head dimensions. Postcondition: each attention has a schedule.

    Before:

    ```mlir
    %s:3 = attn.online_attention scale 1.0
        ins(%q, %k, %k : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
        outs(%acc, %max, %sum : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
    %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
        outs(%o : tensor<1x1x?x64xf32>)
    ```

    After:

    ```mlir
    %n = tensor.dim %q, %c2 : tensor<1x1x?x64xf32>
    %many = arith.cmpi ugt, %n, %c48 : index
    %r = scf.if %many -> (tensor<1x1x?x64xf32>) {
      %s:3 = attn.online_attention schedule<tile_m = 96, tile_n = 64, lanes = 16, unroll_m = 3, unroll_n = 8> ...
      %x = attn.finalize ins(%s#0, %s#1, %s#2 : ...) outs(%o : tensor<1x1x?x64xf32>)
      scf.yield %x : tensor<1x1x?x64xf32>
    } else {
      %s:3 = attn.online_attention schedule<tile_m = 8, tile_n = 128, lanes = 16, unroll_m = 4, unroll_n = 4> ...
      %x = attn.finalize ins(%s#0, %s#1, %s#2 : ...) outs(%o : tensor<1x1x?x64xf32>)
      scf.yield %x : tensor<1x1x?x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"256",
           "width of a vector register in bits">,
    Option<"vectorRegisters", "vector-registers", "unsigned", /*default=*/"16",
           "number of vector registers">,
    Option<"l1Bytes", "l1-bytes", "unsigned", /*default=*/"32768",
           "size of the first-level data cache in bytes">
  ];
}

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_ONLINEPASSES_TD
