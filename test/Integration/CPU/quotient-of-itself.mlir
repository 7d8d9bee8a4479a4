// A number divided by itself: where the divisor is -1 or 0, another one takes
// its place, but not that of what is divided.

// RUN: attn-run %s --check --arg=n=-3 | FileCheck %s
// RUN: attn-run %s --check --arg=n=-1 | FileCheck %s
// RUN: attn-run %s --check --arg=n=0 | FileCheck %s
// RUN: attn-run %s --check --arg=n=2 | FileCheck %s
// CHECK: PASS

!t = tensor<1x2x5x8xf32>

func.func @quotients(%q: !t, %k: !t, %v: !t, %n: tensor<i64>) -> !t {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : tensor<i64>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[] : tensor<i64>
        %d = arith.divsi %x, %x : i64
        %u = arith.ceildivsi %x, %x : i64
        %f = arith.floordivsi %x, %x : i64
        %r = arith.remsi %x, %x : i64
        %du = arith.addi %d, %u : i64
        %fr = arith.subi %f, %r : i64
        %sum = arith.addi %du, %fr : i64
        %key = arith.index_cast %j : index to i64
        %y = arith.muli %sum, %key : i64
        %bias = arith.sitofp %y : i64 to f32
        %z = arith.addf %s, %bias : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[] : tensor<i64>
        %d = arith.divsi %x, %x : i64
        %zero = arith.constant 0 : i64
        %p = arith.cmpi sge, %d, %zero : i64
        attn.yield %p : i1
      }
  return %o : !t
}
