//===- HopperWorkOps.td - Work tiles and ping-pong ---------*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERWORKOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERWORKOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

//===----------------------------------------------------------------------===//
// Distribution of work
//===----------------------------------------------------------------------===//

def Hopper_FetchNextOp : Hopper_Op<"fetch_next", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "fetch the next work tile of the launch";
  let description = [{
    The number of CTAs plus the number of fetches that the launch has made before. So CTAs that first do
    the work that has their own number, and then what they fetch until that is beyond the last, do all work once.
    The counter is 0 at the start of a launch.

    ```mlir
    %n = hopper.fetch_next %counter : memref<2xi32>
    ```

    Errors: outside of a partition of one thread or one warp.
  }];
  let arguments = (ins MemRefOf<[I32]>:$counter);
  let results = (outs I32:$result);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def Hopper_ResetCounterOp : Hopper_Op<"reset_counter", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reset the counter of the tile scheduler";
  let description = [{
    The last CTA of a launch that runs it makes the counter 0 again, so that nothing has to be done between launches.

    ```mlir
    hopper.reset_counter %counter : memref<2xi32>
    ```

    Errors: outside of a partition of one thread or one warp.
  }];
  let arguments = (ins MemRefOf<[I32]>:$counter);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def Hopper_BallotOp : Hopper_Op<"ballot"> {
  let summary = "what the threads of a warp say to a condition";
  let description = [{
    Bit `n` is the condition of the thread with `gpu.lane_id` `n`.

    ```mlir
    %bits = hopper.ballot %condition
    ```

    Errors: in a partition of one thread.
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I32:$bits);
  let assemblyFormat = "$condition attr-dict";
  let hasVerifier = 1;
}

def Hopper_CreateWorkQueueOp : Hopper_Op<"create_work_queue"> {
  let summary = "a ring of two messages in shared memory";
  let description = [{
    ```mlir
    %m = hopper.create_work_queue : !hopper.work_queue<2>
    ```
  }];
  let results = (outs Res<Hopper_WorkQueueType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_PostOp : Hopper_Op<"post", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "send a message to the consumers";
  let description = [{
    Use `number` of the work queue, counted from 0; waits until all consumers have received use `number - 2`.

    ```mlir
    hopper.post %m[%n], %a, %b : !hopper.work_queue<2>
    ```

    Errors: a message of another length; outside of a partition of one thread or one warp.
  }];
  let arguments = (ins Hopper_WorkQueueType:$work_queue, I32:$number, Variadic<I32>:$values);
  let assemblyFormat = "$work_queue `[` $number `]` `,` $values attr-dict `:` type($work_queue)";
  let hasVerifier = 1;
}

def Hopper_ReceiveOp : Hopper_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a message from the producer";
  let description = [{
    ```mlir
    %a, %b = hopper.receive %m[%n] : !hopper.work_queue<2> -> i32, i32
    ```

    Errors: a message of another length; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_WorkQueueType:$work_queue, I32:$number);
  let results = (outs Variadic<I32>:$values);
  let assemblyFormat = "$work_queue `[` $number `]` attr-dict `:` type($work_queue) `->` type($values)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ping-pong barrier
//===----------------------------------------------------------------------===//

def Hopper_CreatePingPongOp : Hopper_Op<"create_ping_pong"> {
  let summary = "let consumers take turns";
  let description = [{
    It is the turn of consumer 0.

    ```mlir
    %t = hopper.create_ping_pong : !hopper.ping_pong
    ```
  }];
  let results = (outs Res<Hopper_PingPongType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Hopper_PingPongUserOp<string mnemonic> : Hopper_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins Hopper_PingPongType:$ping_pong);
  let assemblyFormat = "$ping_pong attr-dict `:` type($ping_pong)";
  let hasVerifier = 1;
}

def Hopper_PingPongWaitOp : Hopper_PingPongUserOp<"ping_pong_wait"> {
  let summary = "wait for this consumer's turn";
  let description = [{
    ```mlir
    hopper.ping_pong_wait %t : !hopper.ping_pong
    ```

    Errors: outside of a partition of warpgroups.
  }];
}

def Hopper_PingPongArriveOp : Hopper_PingPongUserOp<"ping_pong_arrive"> {
  let summary = "give the turn to the next consumer";
  let description = [{
    The last one gives it to the first.

    ```mlir
    hopper.ping_pong_arrive %t : !hopper.ping_pong
    ```

    Errors: outside of a partition of warpgroups.
  }];
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERWORKOPS_TD
