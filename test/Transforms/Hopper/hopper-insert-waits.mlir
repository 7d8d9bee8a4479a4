// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-waits)))' | FileCheck %s

!tile = !hopper.tile<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>

gpu.module @m {
  // Two products in flight: the first result is waited for with one started
  // since, and its tile is given back then.

  // CHECK-LABEL: gpu.func @two
  // CHECK: %[[S:.*]] = hopper.mma %{{.*}}, %[[K:.*]] :
  // CHECK-NEXT: %[[O:.*]] = hopper.mma
  // CHECK-NEXT: %[[SV:.*]] = hopper.wait %[[S]] in_flight 1
  // CHECK-NEXT: hopper.release %[[CH:.*]][%{{.*}}]
  // CHECK-NEXT: hopper.reduce max %[[SV]]
  // CHECK: %[[OV:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: hopper.reduce max %[[OV]]
  gpu.func @two(%n: i32, %p: vector<64x64xbf16>, %a: vector<64x64xf32>) kernel {
    %ch = hopper.create_channel : !channel
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %k = hopper.get %ch[%n] : !channel -> !tile
      %s = hopper.dot %q, %k : !tile, !tile -> vector<64x64xf32>
      hopper.release %ch[%n] : !channel
      %o = hopper.dot %p, %q acc %a rhs_transposed : vector<64x64xbf16>, !tile, vector<64x64xf32> -> vector<64x64xf32>
      %x = hopper.reduce max %s : vector<64x64xf32> -> vector<1x64xf32>
      %y = hopper.reduce max %o : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // With two in flight at a time, the second one waits for the first when it has
  // been started. Who waits for a product has waited for those before.

  // CHECK-LABEL: gpu.func @at_most_two
  // CHECK: %[[A:.*]] = hopper.mma
  // CHECK-NEXT: %[[B:.*]] = hopper.mma
  // CHECK-NEXT: %[[AV:.*]] = hopper.wait %[[A]] in_flight 1
  // CHECK-NEXT: hopper.release
  // CHECK-NEXT: %[[C:.*]] = hopper.mma {{.*}} lhs_transposed
  // CHECK-NEXT: %[[BV:.*]] = hopper.wait %[[B]] in_flight 1
  // CHECK-NEXT: %[[CV:.*]] = hopper.wait %[[C]] in_flight 0
  // CHECK-NEXT: hopper.reduce max %[[CV]]
  // CHECK-NEXT: hopper.reduce max %[[AV]]
  // CHECK-NEXT: hopper.reduce max %[[BV]]
  gpu.func @at_most_two(%n: i32) kernel attributes {
      hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, in_flight = 2>} {
    %c0 = arith.constant 0 : index
    %ch = hopper.create_channel : !channel
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %k = hopper.get %ch[%n] : !channel -> !tile
      %columns = hopper.columns %k[%c0] : !tile -> !tile
      %a = hopper.dot %q, %columns : !tile, !tile -> vector<64x64xf32>
      hopper.release %ch[%n] : !channel
      %b = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %c = hopper.dot %q, %q lhs_transposed : !tile, !tile -> vector<64x64xf32>
      %z = hopper.reduce max %c : vector<64x64xf32> -> vector<1x64xf32>
      %x = hopper.reduce max %a : vector<64x64xf32> -> vector<1x64xf32>
      %y = hopper.reduce max %b : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @all_before
  // CHECK: %[[A:.*]] = hopper.mma
  // CHECK-NEXT: %[[B:.*]] = hopper.mma
  // CHECK-NEXT: %[[V:.*]]:2 = hopper.wait %[[A]], %[[B]] in_flight 0
  // CHECK-NEXT: hopper.release
  // CHECK-NEXT: hopper.reduce max %[[V]]#1
  // CHECK-NEXT: hopper.reduce max %[[V]]#0
  gpu.func @all_before(%n: i32) kernel {
    %ch = hopper.create_channel : !channel
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %k = hopper.get %ch[%n] : !channel -> !tile
      %a = hopper.dot %q, %k : !tile, !tile -> vector<64x64xf32>
      hopper.release %ch[%n] : !channel
      %b = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %y = hopper.reduce max %b : vector<64x64xf32> -> vector<1x64xf32>
      %x = hopper.reduce max %a : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // A product may add to one in flight; a tile that is read by no product in
  // flight is given back where it is.

  // CHECK-LABEL: gpu.func @chain
  // CHECK: %[[S:.*]] = hopper.mma
  // CHECK-NEXT: hopper.release
  // CHECK-NEXT: %[[T:.*]] = hopper.mma %{{.*}}, %{{.*}} acc %[[S]]
  // CHECK-NEXT: %[[V:.*]] = hopper.wait %[[T]] in_flight 0
  // CHECK-NEXT: hopper.reduce max %[[V]]
  gpu.func @chain(%n: i32) kernel {
    %ch = hopper.create_channel : !channel
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %s = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      hopper.release %ch[%n] : !channel
      %t = hopper.dot %q, %q acc %s : !tile, !tile, vector<64x64xf32> -> vector<64x64xf32>
      %x = hopper.reduce max %t : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // The registers of a carried operand are written when the product that reads
  // them is done; no product is in flight at the end of an iteration.

  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[A:.*]] = %{{.*}})
  // CHECK-NEXT: %[[O:.*]] = hopper.mma %[[P]]
  // CHECK-NEXT: math.exp2
  // CHECK-NEXT: %[[V:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: %[[NEXT:.*]] = arith.truncf
  // CHECK-NEXT: scf.yield %[[NEXT]], %[[V]]
  gpu.func @carried(%lo: i32, %hi: i32, %one: i32, %p: vector<64x64xbf16>, %x: vector<64x64xf32>) kernel {
    %v = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %r:2 = scf.for %t = %lo to %hi step %one iter_args(%q = %p, %a = %x) -> (vector<64x64xbf16>, vector<64x64xf32>) : i32 {
        %o = hopper.dot %q, %v acc %a rhs_transposed : vector<64x64xbf16>, !tile, vector<64x64xf32> -> vector<64x64xf32>
        %e = math.exp2 %x : vector<64x64xf32>
        %next = arith.truncf %e : vector<64x64xf32> to vector<64x64xbf16>
        scf.yield %next, %o : vector<64x64xbf16>, vector<64x64xf32>
      }
      hopper.end
    }
    gpu.return
  }

  // A branch that is rarely taken waits for itself.

  // CHECK-LABEL: gpu.func @rare
  // CHECK: hopper.mma
  // CHECK: %[[O:.*]] = hopper.mma
  // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (!hopper.pending<vector<64x64xf32>>) {
  // CHECK-NEXT: %[[V:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[V]], %[[V]]
  // CHECK-NEXT: %[[P:.*]] = hopper.in_flight %[[Y]]
  // CHECK-NEXT: scf.yield %[[P]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[O]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[W:.*]] = hopper.wait %[[R]] in_flight 0
  // CHECK-NEXT: hopper.reduce max %[[W]]
  gpu.func @rare(%most: vector<1x64xf32>) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %s = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %next = hopper.reduce max %s : vector<64x64xf32> -> vector<1x64xf32>
      %c = arith.cmpf ogt, %next, %most : vector<1x64xf32>
      %any = hopper.any %c : vector<1x64xi1>
      %r = scf.if %any -> vector<64x64xf32> {
        %y = arith.addf %o, %o : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      } else {
        scf.yield %o : vector<64x64xf32>
      }
      %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // Also where what it depends on went through a branch, as masked scores do.

  // CHECK-LABEL: gpu.func @masked
  // CHECK: hopper.mma
  // CHECK: %[[O:.*]] = hopper.mma
  // CHECK: hopper.wait %{{.*}} in_flight 1
  // CHECK: hopper.any
  // CHECK: scf.if %{{.*}} -> (!hopper.pending<vector<64x64xf32>>) {
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[O]]
  gpu.func @masked(%most: vector<1x64xf32>, %full: i1) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %s = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %m = scf.if %full -> vector<64x64xf32> {
        scf.yield %s : vector<64x64xf32>
      } else {
        %y = arith.addf %s, %s : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      }
      %next = hopper.reduce max %m : vector<64x64xf32> -> vector<1x64xf32>
      %c = arith.cmpf ogt, %next, %most : vector<1x64xf32>
      %any = hopper.any %c : vector<1x64xi1>
      %r = scf.if %any -> vector<64x64xf32> {
        %y = arith.addf %o, %o : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      } else {
        scf.yield %o : vector<64x64xf32>
      }
      %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // Not one on what could have been found out before the product started.

  // CHECK-LABEL: gpu.func @known_before
  // CHECK: %[[O:.*]] = hopper.mma
  // CHECK: %[[V:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: scf.if %{{.*}} -> (vector<64x64xf32>) {
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[V]]
  gpu.func @known_before(%c: vector<1x64xi1>) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %any = hopper.any %c : vector<1x64xi1>
      %r = scf.if %any -> vector<64x64xf32> {
        %y = arith.addf %o, %o : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      } else {
        scf.yield %o : vector<64x64xf32>
      }
      %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // What such a branch leaves pending another product may add to.

  // CHECK-LABEL: gpu.func @added
  // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (!hopper.pending<vector<64x64xf32>>) {
  // CHECK: %[[A:.*]] = hopper.mma %{{.*}}, %{{.*}} acc %[[R]] : {{.*}}, !hopper.pending<vector<64x64xf32>> ->
  // CHECK-NEXT: %[[W:.*]] = hopper.wait %[[A]] in_flight 0
  // CHECK-NEXT: hopper.reduce max %[[W]]
  gpu.func @added(%most: vector<1x64xf32>) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %s = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %next = hopper.reduce max %s : vector<64x64xf32> -> vector<1x64xf32>
      %c = arith.cmpf ogt, %next, %most : vector<1x64xf32>
      %any = hopper.any %c : vector<1x64xi1>
      %r = scf.if %any -> vector<64x64xf32> {
        %y = arith.addf %o, %o : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      } else {
        scf.yield %o : vector<64x64xf32>
      }
      %a = hopper.dot %q, %q acc %r : !tile, !tile, vector<64x64xf32> -> vector<64x64xf32>
      %x = hopper.reduce max %a : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // So does no branch on what was known before the loop.

  // CHECK-LABEL: gpu.func @known
  // CHECK: scf.for
  // CHECK: %[[O:.*]] = hopper.mma
  // CHECK-NEXT: %[[V:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: scf.if
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[V]]
  gpu.func @known(%lo: i32, %hi: i32, %one: i32, %c: vector<1x64xi1>, %x: vector<1x64xf32>) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %any = hopper.any %c : vector<1x64xi1>
      %l = scf.for %t = %lo to %hi step %one iter_args(%most = %x) -> vector<1x64xf32> : i32 {
        %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
        %r = scf.if %any -> vector<64x64xf32> {
          %y = arith.addf %o, %o : vector<64x64xf32>
          scf.yield %y : vector<64x64xf32>
        } else {
          scf.yield %o : vector<64x64xf32>
        }
        %next = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
        scf.yield %next : vector<1x64xf32>
      }
      hopper.end
    }
    gpu.return
  }

  // Any other branch finds its operands there.

  // CHECK-LABEL: gpu.func @branch
  // CHECK: %[[O:.*]] = hopper.mma
  // CHECK-NEXT: %[[V:.*]] = hopper.wait %[[O]] in_flight 0
  // CHECK-NEXT: scf.if
  gpu.func @branch(%c: i1) kernel {
    %q = hopper.create_tile : !tile
    hopper.step "s" in "compute" {
      %o = hopper.dot %q, %q : !tile, !tile -> vector<64x64xf32>
      %r = scf.if %c -> vector<64x64xf32> {
        %y = arith.addf %o, %o : vector<64x64xf32>
        scf.yield %y : vector<64x64xf32>
      } else {
        scf.yield %o : vector<64x64xf32>
      }
      %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }
}
