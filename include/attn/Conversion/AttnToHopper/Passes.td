//===- Passes.td - Passes from tiles to Hopper kernels ----*- tablegen -*-===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD
#define ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnHopperAssignSchedulePass : Pass<"attn-hopper-assign-schedule"> {
  let summary = "choose how each attention runs on a Hopper GPU";
  let description = [{
    Gives each attention that has none a `#hopper.schedule`, by its head dimensions and by whether it has a mask, and a bias that is affine in the key; one whose queries have lists of
    single keys gets an `#attn.row_schedule`.

    With `list`, remarks tell all schedules of the table for each attention, in the order in which a compilation tries them.

    Elements other than bf16 and f16, and head dimensions that are no multiples of 8 up to 256, have a schedule of single queries. A score that does not ask for the product of queries and keys gets it by a choice that is never taken, as kernels start from one.

    Postcondition: each attention has a schedule.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
      %r = attn.attention ins(%q, %q, %q : tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>) outs(%o : tensor<1x8x?x128xbf16>)
      return %r : tensor<1x8x?x128xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%q: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
      %r = attn.attention schedule #hopper.schedule<tile_m = ...>
    ...
      return %r : tensor<1x8x?x128xbf16>
    }
    ```

    Errors: a schedule of tiles for other head dimensions.
  }];
  let options = [
    Option<"list", "list", "bool", "false", "Tell all schedules of the table for each attention">
  ];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

def AttnHopperOutlinePass : Pass<"attn-hopper-outline", "::mlir::ModuleOp"> {
  let summary = "turn loops over tiles into kernels of named steps";
  let description = [{
    Each function whose body is one `scf.forall` with a `#hopper.schedule` that has an `order` becomes a kernel in a `gpu.module` of its name and `.cuda`: a `hopper.work_loop` with
    the steps of the worker's program, as a warpgroup runs them for its 64 rows.

    * Steps of `attn.tile_loop` keep their names. Those that load a tile are in the partition `load`, the others in `compute`. The loop has the places that the schedule gives them.
    * `load_q` and, with `q_in_registers`, `hold_q` come before the loop, and `store` behind it.
    * The state of `attn.online_step` becomes that of `hopper.softmax_step`; `attn.mask_tile` becomes `hopper.mask`, with the class of the block. Where the number of keys is the only condition
      on positions beside others, a `hopper.mask` of its own asks for it, in the last block alone.
    * With a region `needed` the loop has `classes`. What they need that is the same for all blocks is computed in front of the loop.
    * Loops that fill tables become kernels, as by `attn-hopper-schedule`. Rows that a table names are loaded by its list.
    * What is the same for all blocks is computed before the loop, and what is read by key, when its step starts.
    * With `capture_stages`, captures that are read at `[..., i, ..., j]` come in tiles. Argument `N` is loaded by a step `load_argN` (other boxes of it: `load_argN_1`, ...), which an order may name.
      Otherwise it has the stage of the step that reads the capture, and comes right after the first step of the order that loads.
    * With `bias_in_product`, the step of the product of scores with a bias that is affine in the key adds a second product, of the slopes and the numbers of the keys in the block. A step `hold_slopes` before the
      loop computes the slopes; what the first key of a block gets is the `offset` of `hopper.softmax_step`. Slopes that are too large for that are left out, and the bias computed for each score.
    * What is multiplied is rounded to the element type of the tiles, as an eager program does.

    Arguments and attributes of the kernel are those of `attn-hopper-schedule`, which makes kernels with other schedules.

    Precondition: results are destination arguments (`attn-destination-arguments`). Postcondition: such functions are gone.

    Before:

    ```mlir
    %r = scf.forall (%b, %h, %t) in (1, 8, %tiles) shared_outs(%o = %out) -> (tensor<1x8x?x64xbf16>) {
      %state:3 = attn.tile_loop %j = %lo to %hi step 128 iter_args(...) ... {
        %k = attn.step @load_k -> (vector<128x64xf32>) { ... }
        ...
      }
    } {attn.schedule = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_group = 1,
                                        order = [load_k, qk, load_v(1), pv(1), softmax]>}
    ```

    After:

    ```mlir
    gpu.module @f.cuda {
      gpu.func @f(...) kernel {
        hopper.work_loop (%b, %h, %t, %n) in (%c1, %c8, %tiles) {
          %q = hopper.step "load_q" in "load" -> !hopper.tile<128x64xbf16> { ... }
          %state:3 = hopper.pipelined_for %j = %lo to %hi step 128 iter_args(...)
              schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_v", 1>, ...] ... {
            %k = hopper.step "load_k" in "load" -> !hopper.tile<128x64xbf16> { ... }
            ...
          }
          hopper.step "store" in "compute" { ... }
        }
        gpu.return
      }
    }
    ```

    Errors: what such kernels do not have yet: tiles that are not needed between others (`needed`), tables, parts of keys; a step without a place, or a place without a step.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperSchedulePass : Pass<"attn-hopper-schedule", "::mlir::ModuleOp"> {
  let summary = "turn loops over tiles into warp-specialised kernels";
  let description = [{
    Each function whose body is one `scf.forall` with a `#hopper.schedule`, as `attn-tile` makes it, becomes a kernel in a
    `gpu.module` of its name and `.cuda`. One iteration of the loop is the work of a thread block. Its loop over tiles of keys is an `attn.tile_loop`
    with the steps `qk`, of one product, `softmax`, of an `attn.mask_tile` and an `attn.online_step` of what that gives, and `pv`, of one product that adds to the accumulator.

    * The producer copies queries, and the tiles of keys and values in the order in which the consumers need them,
      into channels of `stages` tiles.
    * Each consumer has 64 of the queries. Tiles of keys are visited from the last to the first. The scores of the next tile
      are started before the values of this one, and both run while the softmax of the next tile is computed.
    * Rows of results are rescaled only if a maximum of a warp's rows grew, with `rescale(lazy)` by more than 2^8 since the last time; until then sums
      and results are relative to an older maximum, which changes no result but for rounding. What is carried is not the maximum
      but the shift that scores get because of it, so that a tile in which no maximum grows has no operation for that.
    * A factor of all scores is applied with the maximum in one multiply-add before the exponential.
    * Each consumer computes with the tiles that its own rows need, from the limits of the loop as a function of rows, and releases the others unread.
    * Its first tile, the last one of the loop, is masked in any case; the others branch on the region `full`, or are unmasked where only that one can be
      partial (`only_last_partial`): without a mask, and under a causal one with tiles of a multiple of 64 keys.
    * Where the loop has a region `needed`, the producer is a warp, whose threads compute
      the class of 32 tiles at a time; it copies those that are needed, and sends with the queries the first one's code, and with each tile of keys that of the
      next one: the position of its first key, and 1 more if it needs the predicate, or -1 for none. All consumers compute with all of these tiles.
    * Other loops of the function fill tables that the first one reads an element at a time. Each becomes a kernel that is to run before, with a warp for
      each iteration, which writes one element; the threads of the warp share out a loop of `minsi`, `maxsi`, `andi` or `ori` in it.
    * Where keys and values are rows that a row of a table names, a warpgroup copies them (`hopper.put` with a list), and `attn.list_unions`, which fills
      such tables, becomes a kernel that is to run before, with a thread block for each tile of queries. Such a schedule is not `persistent`.
    * With `capture_stages`, captures of 16 bits that are read at `[..., i, ..., j]` come in tiles of queries by keys, too.
    * With `bias_in_product`, scores `scale * product + bias`, or a positive multiple, whose bias is affine in the key with a slope that is the same for all
      keys, get a second product: of the slopes of the queries, as sums of three numbers of the element type, and of the positions of keys in their tile, in shared
      memory. What the first key of a tile gets is one number for each query, and goes where maxima do. Slopes by which scores in a tile differ by more than
      2^10 in base 2, or which are no number, are left out by the warps that have them, which compute the bias for each score. Other scores, and those of f16 whose scale
      is above 1.38, are computed as without it.
    * With `strided`, all threads of the producer copy tiles, for tensors that the hardware cannot map.
    * Results of a persistent kernel are staged in shared memory of their own, some columns at a time where there is not enough for
      all, so that the next queries can come early. Otherwise they are staged in place of the queries, which are released after that.
    * A persistent kernel whose queries stay in shared memory until the last product has two tiles of them where there is memory for it.
    * Probabilities are rounded to the element type of the values before they are multiplied, as an eager program does.

    The arguments of the kernel say in attributes what the caller is to pass: `hopper.operand`, the number of an argument of the function;
    `hopper.dim`, for an extent of it; `hopper.dims`, for a map, the dimensions of the operand in the order batch, head, row, column.
    Tables are operands after those of the function; `hopper.tables` gives their extents, and `hopper.elements` of a kernel that fills some, the operand that has as many elements as it needs warps.
    The kernel's attribute `hopper.grid` says which extents give the number of tiles (`operand` and its `dims`: batch, head, row) and of keys (`key_operand`, `key_dim`).
    Where heads are packed (`attn.pack_heads`), it says where the heads of keys are (`key_head_dim`), and an argument `hopper.packed_count` is how many are one.
    Boxes of queries and results have rows of so many heads then.

    Precondition: results are destination arguments (`attn-destination-arguments`); queries, keys, values and captures are arguments.
    Postcondition: such functions are gone.

    Before, without most operations on vectors:

    ```mlir
    %r = scf.forall (%b, %h, %t) in (1, 8, %tiles) shared_outs(%o = %out) -> (tensor<1x8x?x64xbf16>) {
      %q = vector.transfer_read %queries[%b, %h, %row, %c0], %pad : tensor<1x8x?x64xbf16>, vector<64x128xbf16>
      %state:3 = attn.tile_loop %j = %c0 to %keys step 128 iter_args(...) : ... {
        %k = attn.step @load_k -> (vector<128x64xf32>) { ... }
        %s = attn.step @qk -> (vector<128x128xf32>) { ... }
        ...
      }
      ...
    } {attn.schedule = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240>}
    ```

    After:

    ```mlir
    gpu.module @f.cuda {
      gpu.func @f(%queries: !hopper.map<128x64xbf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 0 : i64}, ...) kernel {
        %qs = hopper.create_channel : !hopper.channel<1x128x64xbf16>
        %ks = hopper.create_channel : !hopper.channel<2x128x64xbf16>
        %vs = hopper.create_channel : !hopper.channel<2x128x64xbf16>
        hopper.warp_specialize partition @load threads(1) {
          hopper.put %qs[%c0], %queries[%b, %h, %row] : !hopper.channel<1x128x64xbf16>, !hopper.map<128x64xbf16>
          ...
        } partition @compute replicas(2) registers(240) {
          %q = hopper.get %qs[%c0] : !hopper.channel<1x128x64xbf16> -> !hopper.tile<128x64xbf16>
          ...
        }
        gpu.return
      }
    }
    ```

    Errors: a function that holds other computations; tensors that are not arguments; element types other than bf16 and f16; an attention that starts from a state or has offsets;
    loops besides it that do not write one element of tables in an iteration, or whose extents are not those of arguments.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperChecksPass : Pass<"attn-hopper-checks", "::mlir::ModuleOp"> {
  let summary = "turn loops that check lists into kernels";
  let description = [{
    Each function in which a loop reports errors (`attn.report`), as `attn-check-lists` makes it with `by-list`, becomes a `gpu.module` of its name and `.checks`, with a
    kernel for each such loop and nothing else: all that does not report anything is left out, attention, too.

    A warp has an iteration of the loop, and its threads share out the loops in it that have no results. A report becomes a minimum in memory, so that it does not
    depend on who comes first: of each site there are three words of 64 bits, the place of an error, by the number of the iteration of the innermost loop that it is in, and its two
    numbers. Where the words are all ones first, and the kernel runs once more with the words that it has left, they hold the first error of each site.

    The words are an operand after those of the function. The attribute `hopper.checks` of a kernel gives its number (`words`), how many sites there are (`sites`), and as in `hopper.tables` the
    `extents` whose product is the number of warps that are needed.

    Precondition: results are destination arguments (`attn-destination-arguments`); lists are arguments. Postcondition: such functions are gone.

    Before, without the rest of the function:

    ```mlir
    scf.forall (%b, %h, %i) in (1, 1, %queries) {
      ...
      scf.for %n = %begin to %end step %c1 {
        %column = tensor.extract %columns[%n] : tensor<?xi32>
        ...
        attn.report site 2(%at, %keys) if %isOutside
      }
    }
    ```

    After:

    ```mlir
    gpu.module @f.checks {
      gpu.func @f_check0(...) kernel {
        ...
        scf.for %n = %first to %end step %c32 {
          %column = attn.gather %columns[%n] ...
          scf.if %isOutside {
            %before = memref.atomic_rmw minu %place, %words[%c6] : (i64, memref<12xi64, strided<[1]>>) -> i64
            %isFirst = arith.cmpi uge, %before, %place : i64
            scf.if %isFirst {
              memref.store %0, %words[%c7] : memref<12xi64, strided<[1]>>
              memref.store %1, %words[%c8] : memref<12xi64, strided<[1]>>
            }
          }
        }
        gpu.return
      }
    }
    ```

    Errors: lists that are not arguments; operations with effects other than reports.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperVerifyProtocolPass : Pass<"attn-hopper-verify-protocol", "::mlir::gpu::GPUModuleOp"> {
  let summary = "prove that the roles of a kernel fit together";
  let description = [{
    Changes nothing. A kernel whose producer and consumers it cannot prove to fit together is an error.

    Of each consumer it proves that

    * it releases each tile that it gets once, after a `hopper.wait` that leaves none of the products in flight that read it, and reads no tile
      after its release; nor does it hold more tiles than a channel has;
    * `hopper.wait` waits for the product of its operand, and all products are waited for;
    * it takes and passes turns alternately;
    * a channel's memory is reused for results only after its last use, or while its one tile is held and no product may read it; the tile is not read
      after that, and not released before a `hopper.drain` waits for stores from it. Of such a channel each consumer uses only its own rows. It writes to no
      other tile of a channel;
    * it holds as many tiles and turns after an iteration of a loop, or one side of a branch, as before it, or after the other.

    Tiles of a channel are got and released in order, so a tile is known by how many were got before. A loop is followed until an iteration
    starts from a state in which an earlier one did: the tiles that are held, what loop arguments are, and which of the products
    started last may be running. All later iterations do what has been seen. Where paths meet, a product may be running if it may be on one of them.

    Of the producer and the consumers together it proves that

    * each use of a channel or mailbox has the number after the one before, so that each is put once, and got and released once by each consumer, in the
      right stage and phase;
    * producer and consumers have the same uses: where loops and branches that hold steps of the protocol come in the same order in both roles,
      with the same bounds and conditions; elsewhere, by the sum of uses of each role;
    * all consumers take as many turns;
    * no role waits for ever.

    Numbers are sums of what both roles compute from the same: arithmetic on arguments, the number of the thread block, captures, messages and notes. A
    condition that asks for the sign of a message is that by which the producer has chosen it, if it has chosen between a number that
    is not negative by its computation and a negative constant. A loop is followed from any numbers, which says by how much an iteration makes
    each larger; numbers that start a constant apart and grow equally stay that far apart, and one that grows by a constant is a multiple of the iteration's
    number.

    For the last point, the roles are run step by step from one loop or branch to the next, with all consumers, stages and turns. If all get there, they get through
    a loop of any number of iterations, as each starts with as many tiles in each channel as the first. In the kernel, roles do not
    wait for each other there. But what a step waits for are counts that only grow, so that a role that has gone on cannot make another one wait
    for what it got before: if one order of all steps completes, every order does.

    Where roles have other loops and branches than each other, as each consumer computes with a range of its own of the tiles of keys, and passes over
    the others, each role is followed alone. Its loops have steps of 1 and an end that is provably not before the start, by ranges, by conditions of branches
    and by `min`, `max`, `select` and differences, so that it is known which number follows a loop. In the end, the consumers' numbers must be the producer's. Turns
    must be as many as uses of some channel, and bounds and conditions the same for all threads of a consumer.

    That none waits for ever is then shown by running all ways: each branch, and each number of iterations of each loop with which a consumer uses as much as
    the producer, whatever the bounds. Two consumers are enough. If all roles wait, the producer waits for a consumer that waits for the producer, or for its
    turn, and then the one that has the turn waits for the producer; without the others, these could have come as far, and would wait as well. Few iterations
    are enough: all loops must use each channel equally often in an iteration. If all roles wait, and each has done an iteration, it is the same without one of each;
    and without one that is not begun, if each has one left. So of the fewest iterations with which roles wait for ever one role has done none, and one has none
    left; but roles are at most the tiles of a channel apart.

    Precondition: steps of the protocol are in `scf.for`, `scf.while` and `scf.if` only. Postcondition: the same program.

    Before and after:

    ```mlir
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        hopper.put %ch[%i], %map[%b, %h, %r] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
      }
    } partition @compute registers(240) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
        %s = hopper.mma %q, %t : vector<64x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
        %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<128x64xf32>>
        hopper.release %ch[%i] : !hopper.channel<2x128x64xbf16>
        ...
      }
    }
    ```

    Errors: whatever cannot be proven.
  }];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

#endif // ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD
