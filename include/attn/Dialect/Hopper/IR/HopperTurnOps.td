//===- HopperTurnOps.td - Turns to add to memory -----------*- tablegen -*-===//
//
// CTAs that add to the same element one after the other have a counter in
// memory, which says who was last. Warps with nothing else to do wait for it
// ahead of those that compute, and write it behind them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERTURNOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERTURNOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

def Hopper_CreateTurnsOp : Hopper_Op<"create_turns"> {
  let summary = "turns that the replicas of one partition hold for those of another";
  let description = [{
    Replica `w` of the partition that holds them does so for replica `w` of the one that takes them. Their uses are numbered from 0, as those of a channel are: a turn is held
    (`hopper.hold_turn`), taken (`hopper.take_turn`) and given back (`hopper.give_turn`), and passed on (`hopper.pass_turn`) once for each number, in order.

    ```mlir
    %turns = hopper.create_turns : !hopper.turns
    ```
  }];
  let results = (outs Res<Hopper_TurnsType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_HoldTurnOp : Hopper_Op<"hold_turn", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until it is the turn of this CTA";
  let description = [{
    Waits until the element of `counters` is `after`, and then lets the replica with the number of this one have turn `number`. What others have added before they wrote `after` is
    there for that replica, which is told whether that is 0, and whether `last` holds.

    Operands: `turns`, `number`, an i32; `after`, the number of the worker before; `last`, an i1, whether there is none behind, false if it is not given; `counters`, a buffer of i32, and an index for each dimension of it.

    ```mlir
    hopper.hold_turn %turns[%n] after %p in %counters[%b, %h, %t, %w] : memref<?x?x?x2xi32>
    hopper.hold_turn %turns[%n] after %p last %l in %counters[%b, %h, %t, %w] : memref<?x?x?x2xi32>
    ```

    Errors: counters that are not of i32, or a number of indices other than their rank; outside of a partition of one thread.
  }];
  let arguments = (ins Hopper_TurnsType:$turns, I32:$number, Index:$after, Optional<I1>:$last, AnyMemRef:$counters, Variadic<Index>:$indices);
  let assemblyFormat = "$turns `[` $number `]` `after` $after (`last` $last^)? `in` $counters `[` $indices `]` attr-dict `:` type($counters)";
  let hasVerifier = 1;
}

def Hopper_TakeTurnOp : Hopper_Op<"take_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a turn that another partition holds";
  let description = [{
    Waits until turn `number` of this replica is held, and tells whether `after` of that turn is 0, so that nobody has added before, and whether `last` of it holds. It comes before what the replica
    waits for to have something to add, as both waits are one then. With a condition, which is uniform in the warpgroup, only where that holds; elsewhere the results are any values.

    Operands: `turns`; `number`, an i32; `condition`, an i1.

    ```mlir
    %first, %last = hopper.take_turn %turns[%n]
    %first, %last = hopper.take_turn %turns[%n] if %p
    ```

    Errors: outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TurnsType:$turns, I32:$number, Optional<I1>:$condition);
  let results = (outs I1:$first, I1:$last);
  let assemblyFormat = "$turns `[` $number `]` (`if` $condition^)? attr-dict";
  let hasVerifier = 1;
}

def Hopper_GiveTurnOp : Hopper_Op<"give_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "give back a turn to the partition that holds it";
  let description = [{
    Says that this replica has added what it adds in its turn. With a condition, which is uniform in the warpgroup, only where that holds.

    ```mlir
    hopper.give_turn %turns
    hopper.give_turn %turns if %p
    ```

    Errors: outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TurnsType:$turns, Optional<I1>:$condition);
  let assemblyFormat = "$turns (`if` $condition^)? attr-dict";
  let hasVerifier = 1;
}

def Hopper_PassTurnOp : Hopper_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "pass on a turn to the next CTA";
  let description = [{
    Waits until the replica with the number of this one has given back turn `number`, and then writes `own` to the element of `counters`. What the replica has added is there for whoever
    sees that number.

    Operands: as of `hopper.hold_turn`, with `own`, the number of this worker.

    ```mlir
    hopper.pass_turn %turns[%n] as %own in %counters[%b, %h, %t, %w] : memref<?x?x?x2xi32>
    ```

    Errors: as of `hopper.hold_turn`.
  }];
  let arguments = (ins Hopper_TurnsType:$turns, I32:$number, Index:$own, AnyMemRef:$counters, Variadic<Index>:$indices);
  let assemblyFormat = "$turns `[` $number `]` `as` $own `in` $counters `[` $indices `]` attr-dict `:` type($counters)";
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERTURNOPS_TD
