//===- Passes.td - Passes of the hopper dialect ------------*- tablegen -*-===//
//
// Passes in the order in which the pipeline runs them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_TD
#define ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def HopperInsertChannelsPass : Pass<"hopper-insert-channels", "::mlir::gpu::GPUFuncOp"> {
  let summary = "let tiles go from partition to partition by way of channels";
  let description = [{
    A tile that a step loads and that steps of another partition use becomes a copy into a channel (`hopper.put`, `hopper.put_vector`), and so does one that the replicas of a partition publish for another one or for
    all of themselves (`hopper.put_fragment`). It arrives (`hopper.get`) in the step of the other partition that runs first
    of those that use it, and is given back (`hopper.release`) in the one that runs last, behind the last operation that reads it; by stage and order in a pipelined loop. Steps of a later stage than the first one name it again (`hopper.view`). Around a loop that uses it, these are steps of
    their own, called by the name of the step that loads with `.get` and `.release`. Where results are staged in the tile, stores have read it before (`hopper.drain`). Uses have no numbers yet (`hopper.next_use`).

    A vector that is loaded under a condition is put under that condition, and is got and given back in the predicate of the `hopper.mask` that reads it.

    Of a loop with `classes`, the tiles that another partition gets in front of it last, and those that it gets first in an iteration, come with a payload: the code of the block that is next (`hopper.next_block`).

    Precondition: a tile that is loaded is a result of its step. Postcondition: no `hopper.load`, `hopper.load_vector` or `hopper.publish` is left.

    Before:

    ```mlir
    %k = hopper.step "load_k" in "load" -> !hopper.tile<80x128xbf16> {
      %x = hopper.load %map[%b, %h, %j] stages 2 : !hopper.map<80x128xbf16> -> !hopper.tile<80x128xbf16>
      hopper.end %x : !hopper.tile<80x128xbf16>
    }
    %s = hopper.step "qk" in "compute" -> vector<80x64xf32> {
      %x = hopper.dot %q, %k : !hopper.tile<64x128xbf16, of 192>, !hopper.tile<80x128xbf16> -> vector<80x64xf32>
      hopper.end %x : vector<80x64xf32>
    }
    ```

    After:

    ```mlir
    hopper.step "load_k" in "load" {
      %n = hopper.next_use %ch : !hopper.channel<2x80x128xbf16>
      hopper.put %ch[%n], %map[%b, %h, %j] : !hopper.channel<2x80x128xbf16>, !hopper.map<80x128xbf16>
      hopper.end
    }
    %s = hopper.step "qk" in "compute" -> vector<80x64xf32> {
      %n = hopper.next_use %ch : !hopper.channel<2x80x128xbf16>
      %k = hopper.get %ch[%n] : !hopper.channel<2x80x128xbf16> -> !hopper.tile<80x128xbf16>
      %x = hopper.dot %q, %k : ...
      %m = hopper.next_use %ch : !hopper.channel<2x80x128xbf16>
      hopper.release %ch[%m] : !hopper.channel<2x80x128xbf16>
      hopper.end %x : vector<80x64xf32>
    }
    ```

    Errors: a tile that nobody uses, or that is loaded and used in one partition; a vector under a condition that others than one predicate read; a loop with classes and a partition that gets nothing in front of it or in stage 0.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"];
}

def HopperInsertTurnsPass : Pass<"hopper-insert-turns", "::mlir::gpu::GPUFuncOp"> {
  let summary = "let idle warps wait for the turns to add to memory";
  let description = [{
    A `hopper.reduce_add` with counters waits in the middle of an iteration for another CTA, and for its own additions to be seen before it writes its number. Instead it takes a turn, which
    another partition holds for it: a thread for each replica, in warps beside the one that copies. For the step `red` of `compute`, partition `compute_turns` has the steps

    * `hold_red`, which waits for the counter ahead of the additions, and
    * `pass_red`, which waits until they have been started, and writes the counter when they are seen by all.

    Both compute the place of the counter again. Where the number of the CTA before is read from memory, `read_red` does that, while the turn of the block before is taken: the others are
    of stage 1 then. Turns of all steps of an iteration are held before the first one is passed on. Steps of one
    partition that add behind the same CTA, as those that add parts of the columns, have one turn: the first takes it, and the last gives it back.

    Postcondition: no `hopper.reduce_add` with counters is left.

    Before:

    ```mlir
    hopper.step "red" in "compute" {
      hopper.reduce_add %dq, %sums[%h, %t] after %p as %own in %counters[%h, %t] : vector<80x64xf32>, memref<?x?x5120xf32>, memref<?x?xi32>
      hopper.end
    }
    ```

    After:

    ```mlir
    hopper.step "hold_red" in "compute_turns" {
      %n = hopper.next_use %turns : !hopper.turns
      hopper.hold_turn %turns[%n] after %p in %counters[%h, %t] : memref<?x?xi32>
      hopper.end
    }
    hopper.step "pass_red" in "compute_turns" {
      %n = hopper.next_use %turns : !hopper.turns
      hopper.pass_turn %turns[%n] as %own in %counters[%h, %t] : memref<?x?xi32>
      hopper.end
    }
    %is_first = hopper.step "take_red" in "compute" -> i1 {
      %n = hopper.next_use %turns : !hopper.turns
      %first, %last = hopper.take_turn %turns[%n]
      hopper.end %first : i1
    }
    hopper.step "red" in "compute" {
      hopper.reduce_add %dq, %sums[%h, %t] first %is_first : vector<80x64xf32>, memref<?x?x5120xf32>
      %n = hopper.next_use %turns : !hopper.turns
      hopper.give_turn %turns[%n] : !hopper.turns
      hopper.end
    }
    ```

    Errors: such an addition outside of a step, or in a region inside of one.
  }];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

def HopperCheckProtocolPass : Pass<"hopper-check-protocol", "::mlir::gpu::GPUFuncOp"> {
  let summary = "check that no partition waits for ever";
  let description = [{
    Changes nothing. Of each loop over blocks and over work tiles it makes the graph of what waits for what: a copy for a free place of its channel, a use for its tile, a replica for its turn, also one to add to memory: for other CTAs it is waited as if they were done.
    An edge has the number of iterations between its ends. Partitions wait for each other for ever if and only if a cycle has 0 iterations or less.
    A tile counts as given back where the products that read it are waited for, with at most as many in flight as the schedule says.

    It runs before partitions are cut, when all of them are one loop: each is used as often by all partitions then, and in the same order.

    Errors: such a cycle, with what is on it. More stages, or another order, help.
  }];
}

def HopperSpecializePass : Pass<"hopper-specialize", "::mlir::gpu::GPUFuncOp"> {
  let summary = "cut a kernel into a region for each partition";
  let description = [{
    The program of a kernel becomes `hopper.warp_specialize`, with a region for each partition: its steps, the loops around them, and the scalars that these need.
    Carried values that a partition does not need are gone, and so are the places of steps that it does not have. One thread copies the boxes that the hardware copies; with
    strided maps a warpgroup does.

    Of several replicas of a partition, each has 64 rows of a work tile (`hopper.work_rows ... own`). A loop whose bounds depend on rows is bounded by those of the replica, `within`
    those of all.

    A loop with `classes` becomes one with `while`. A partition that copies finds the blocks: its 32 threads have the class of a block each, and the next block is a bit of what they say (`hopper.ballot`). It looks for the
    first block in front of what comes with its code, and for the next one in a step of its own, `blocks.search`. Other partitions have the codes from payloads, and need no class, no bound and no range of their own.

    Precondition: channels are in place (`hopper-insert-channels`). Postcondition: nothing goes from region to region but by channels.

    Before:

    ```mlir
    hopper.work_loop (%b, %h, %t, %n) in (%B, %H, %T) {
      hopper.step "load_q" in "load" { ... }
      %r = hopper.pipelined_for %j = %lo to %hi step 80 iter_args(%a = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>] : vector<80x64xf32> { ... }
    }
    ```

    After:

    ```mlir
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %n) in (%B, %H, %T) {
        hopper.step "load_q" in "load" { ... }
        hopper.pipelined_for %j = %lo to %hi step 80 schedule [#hopper.place<"load_k", 0>] { ... }
      }
    } partition @compute replicas(3) registers(160) {
      hopper.work_loop (%b, %h, %t, %n) in (%B, %H, %T) {
        %r = hopper.pipelined_for %j = %lo to %hi step 80 iter_args(%a = %zero) schedule [#hopper.place<"qk", 0>] : vector<80x64xf32> { ... }
      }
    }
    ```

    Partitions that copy have one thread, and those that hold turns one for each replica that takes them. A partition that computes has a replica for each 64 rows of a work tile if it is the only one, otherwise one.

    Errors: a value other than a tile that another partition needs; no step that copies tiles.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"];
}

def HopperPipelinePass : Pass<"hopper-pipeline", "::mlir::gpu::GPUFuncOp"> {
  let summary = "expand the loops of each partition by their schedules";
  let description = [{
    `hopper.pipelined_for` becomes `scf.for` over the number of a block, from the last block to the first. Steps of stage 1 run beside those of stage 0 of the next block, in the order of the schedule, with a
    prologue and an epilogue (`scf::pipelineForLoop`); steps then are inlined.

    There is no prologue, which would be a copy of most of the body, where late steps carry nothing from block to block, and wait for no tiles but those that their own partition publishes. The late steps of the first
    iterations then compute with zeros, also with tiles of zeros that are put in front of the loop, and add nothing to memory (`hopper.reduce_add ... if`), nor take a turn (`hopper.next_use ... skipped`). Behind the loop stand the late steps of the last blocks.

    Blocks that are not for a replica are waited for and given back unread, in the order in which what is of one block comes. The replicas of a partition take turns from the first to the last of the steps that exclude each other.
    A `hopper.mask` of the first block that is visited is `always` computed, where that has a prologue; with `only_last_partial`, that of the others `never` is.

    Precondition: `hopper-specialize`. Postcondition: no `hopper.pipelined_for` and no `hopper.step` is left.

    Before:

    ```mlir
    %r = hopper.pipelined_for %j = %lo to %hi step 80 iter_args(%a = %zero)
        schedule [#hopper.place<"qk", 0>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] : vector<128x64xf32> { ... }
    ```

    After:

    ```mlir
    %r = scf.if %hasBlocks {
      (qk, softmax of the last block)
      %2 = scf.for %t = %first to %end step %one {
        (qk of a block, pv of the block visited before, softmax)
      }
      (pv of the first block)
    }
    ```

    A loop with `while` becomes `scf.while`: it is pipelined as a loop over all numbers, which then goes on while the code of a block is not negative.

    A loop over the blocks of several heads delinearizes its position (`affine.delinearize_index`). The loop carries these indices then, and counts them down from block to block with a comparison each, so that no thread divides in it:
    a late step has those of the block before.

    Errors: stages other than 0 and 1, where a loop is told its blocks; an innermost extent of the position that is not known to be a multiple of the loop's step.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::attn::hopper::HopperDialect"];
}

def HopperDecomposeSoftmaxPass : Pass<"hopper-decompose-softmax", "::mlir::gpu::GPUFuncOp"> {
  let summary = "expand steps of the online softmax, and masks";
  let description = [{
    `hopper.softmax_step` becomes arithmetic. With `lazy`, all that depends on whether a maximum has grown is under a branch that is rarely taken (`hopper.any`); with `exact` there is no branch. Of a state that is known
    to be that of no keys nothing is rescaled. `hopper.mask` becomes a select, under a branch where it depends on the block.

    Before:

    ```mlir
    %p, %a, %m, %l = hopper.softmax_step %s, %acc, %shift, %sum factor 1.8e-01 exact : ...
    ```

    After:

    ```mlir
    %most = hopper.reduce max %s : vector<80x64xf32> -> vector<1x64xf32>
    %0 = arith.mulf %most, %minus_factor : vector<1x64xf32>
    %m = arith.minnumf %0, %shift : vector<1x64xf32>
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::attn::hopper::HopperDialect"];
}

def HopperInsertWaitsPass : Pass<"hopper-insert-waits", "::mlir::gpu::GPUFuncOp"> {
  let summary = "make products asynchronous, with waits where results are needed";
  let description = [{
    `hopper.dot` becomes `hopper.mma`, and `hopper.wait` is put in front of the first operation that needs a product, with the number of products started since. An operation needs a product

    * whose result it reads, unless it is a product that adds to it;
    * that reads the registers of a carried value, if the operation computes the next one;
    * at the end of an iteration, of a branch and of the kernel: none is in flight then;
    * with `in_flight` in the schedule of the kernel, that starts as the last of so many since that one.

    A branch on a `hopper.any` of the same iteration, which is rarely taken, waits for itself: where it is not taken the product stays pending. One on what was known before does not.
    Who waits for a product has waited for those before it. A `hopper.release` of a tile that a product in flight reads moves behind the wait for that product.

    Postcondition: no `hopper.dot` is left.

    Before:

    ```mlir
    %s = hopper.dot %q, %k : ...
    %o = hopper.dot %p, %v acc %a rhs_transposed : ...
    hopper.release %kch[%n] : !hopper.channel<2x80x128xbf16>
    %most = hopper.reduce max %s : vector<80x64xf32> -> vector<1x64xf32>
    ```

    After:

    ```mlir
    %0 = hopper.mma %q, %k : ...
    %1 = hopper.mma %p, %v acc %a rhs_transposed : ...
    %s = hopper.wait %0 in_flight 1 : !hopper.pending<vector<80x64xf32>>
    hopper.release %kch[%n] : !hopper.channel<2x80x128xbf16>
    %most = hopper.reduce max %s : vector<80x64xf32> -> vector<1x64xf32>
    ...
    %o = hopper.wait %1 in_flight 0 : !hopper.pending<vector<128x64xf32>>
    ```
  }];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

def HopperNumberChannelsPass : Pass<"hopper-number-channels", "::mlir::gpu::GPUFuncOp"> {
  let summary = "compute which use of a channel each one is";
  let description = [{
    Replaces `hopper.next_use`. In each partition the copies into a channel, its tiles that are got, and those that are given back are counted from 0. In a loop with so many uses in each iteration the variable
    counts; in one of unknown length counts are carried. Counts that grow by a constant with each work tile are a multiple of its number, and others are carried from work tile to work tile, those that grow alike as one value.

    Postcondition: no `hopper.next_use` is left.

    Errors: a loop in which iterations may differ in how often they use a channel.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"];
}

def HopperLowerWorkLoopPass : Pass<"hopper-lower-work-loop", "::mlir::gpu::GPUFuncOp"> {
  let summary = "decide which work tiles a CTA has, and in which order";
  let description = [{
    `hopper.work_loop` becomes a loop of what the CTA fetches, if the kernel is persistent: the partition that copies fetches the next work tile (`hopper.fetch_next`) when it has started all copies of one, and tells the others (`hopper.post`). The first one is that of the CTA's number, or fetched, too,
    where there are turns: a work tile then waits for those before it, which have to be of CTAs that run. Otherwise a CTA has one work tile, that of its number. The order is that of the kernel's schedule. `hopper.work_rows` becomes arithmetic.

    Precondition: `hopper-specialize`.

    Errors: a loop outside of a partition.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"];
}

def HopperAllowContractionPass : Pass<"hopper-allow-contraction", "::mlir::gpu::GPUFuncOp"> {
  let summary = "say which products and sums may be one instruction";
  let description = [{
    Additions, subtractions and multiplications of f32 get `fastmath<contract>` where rounding once in place of twice changes no more than last bits: of what depends on a product of matrices, and of what meets such a value
    by operations that are continuous everywhere. What a comparison, a rounding to integers, a root, a logarithm, a quotient or an angle reads is rounded after each operation, as the program says, and as the tables of a mask and a CPU have it.

    Before:

    ```mlir
    %bias = arith.mulf %slope, %distance : vector<80x64xf32>
    %score = arith.addf %product, %bias : vector<80x64xf32>
    %limit = arith.mulf %rate, %row : vector<1x64xf32>
    %allowed = arith.cmpf ole, %key, %limit : vector<1x64xf32>
    ```

    After:

    ```mlir
    %bias = arith.mulf %slope, %distance fastmath<contract> : vector<80x64xf32>
    %score = arith.addf %product, %bias fastmath<contract> : vector<80x64xf32>
    %limit = arith.mulf %rate, %row : vector<1x64xf32>
    %allowed = arith.cmpf ole, %key, %limit : vector<1x64xf32>
    ```
  }];
}

def HopperAssignLayoutsPass : Pass<"hopper-assign-layouts", "::mlir::gpu::GPUFuncOp"> {
  let summary = "say which thread of a warpgroup holds which elements";
  let description = [{
    Fragments, vectors of rank 2 and what products are writing, become tensors whose encoding is a `#hopper.layout`. Operations of the hopper dialect say which layouts their operands and results have. Elementwise
    operations, `attn.gather` and control flow have one layout for what they combine or carry, so that constants and broadcasts get the one that their users need. `vector.broadcast` becomes `hopper.broadcast`.
    A fragment of which nobody says anything, as nobody needs it, has the layout that its shape fits.

    Postcondition: no vector of rank 2 is left.

    Before:

    ```mlir
    %s = hopper.wait %0 in_flight 0 : !hopper.pending<vector<80x64xf32>>
    %most = hopper.reduce max %s : vector<80x64xf32> -> vector<1x64xf32>
    %all = vector.broadcast %most : vector<1x64xf32> to vector<80x64xf32>
    %d = arith.subf %s, %all : vector<80x64xf32>
    ```

    After:

    ```mlir
    %s = hopper.wait %0 in_flight 0 : !hopper.pending<tensor<80x64xf32, #hopper.layout<accumulator>>>
    %most = hopper.reduce max %s : tensor<80x64xf32, #hopper.layout<accumulator>> -> tensor<1x64xf32, #hopper.layout<rows>>
    %all = hopper.broadcast %most : tensor<1x64xf32, #hopper.layout<rows>> -> tensor<80x64xf32, #hopper.layout<accumulator>>
    %d = arith.subf %s, %all : tensor<80x64xf32, #hopper.layout<accumulator>>
    ```

    Errors: an operation on fragments that is none of these; fragments that would need two layouts; a shape that the layout has not, such as a tile of 4 columns in registers; a kernel with a fragment as argument.
  }];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

#endif // ATTN_DIALECT_HOPPER_TRANSFORMS_PASSES_TD
