// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-decompose-softmax)))' | FileCheck %s

gpu.module @m {
  // All that depends on whether a maximum has grown is under a branch.

  // CHECK-LABEL: gpu.func @lazy
  // CHECK-SAME: (%[[S:.*]]: vector<64x64xf32>, %[[A:.*]]: vector<128x64xf32>, %[[M:.*]]: vector<1x64xf32>, %[[L:.*]]: vector<4x64xf32>
  // CHECK: %[[MOST:.*]] = hopper.reduce max %[[S]]
  // CHECK: %[[GROWTH:.*]] = math.fma %[[MOST]], %{{.*}}, %[[M]]
  // CHECK: %[[GROWS:.*]] = arith.cmpf ogt, %[[GROWTH]]
  // CHECK: %[[ANY:.*]] = hopper.any %[[GROWS]]
  // CHECK: %[[R:.*]]:3 = scf.if %[[ANY]]
  // CHECK: %[[SHIFT:.*]] = arith.minnumf %{{.*}}, %[[M]]
  // CHECK: %[[D:.*]] = arith.subf %[[SHIFT]], %[[M]]
  // CHECK: math.exp2 %[[D]]
  // CHECK: } else {
  // CHECK: scf.yield %[[A]], %[[M]], %[[L]]
  // CHECK: %[[B:.*]] = vector.broadcast %[[R]]#1
  // CHECK: %[[X:.*]] = math.fma %[[S]], %{{.*}}, %[[B]]
  // CHECK: %[[P:.*]] = math.exp2 %[[X]]
  // CHECK: %[[SUM:.*]] = hopper.reduce add %[[P]] : vector<64x64xf32> -> vector<4x64xf32>
  // CHECK: arith.addf %[[R]]#2, %[[SUM]]
  gpu.func @lazy(%s: vector<64x64xf32>, %a: vector<128x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>,
                 %out: memref<?x?x?xf32>, %n: index) kernel {
    %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.5 lazy
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    hopper.step "store" in "compute" {
      hopper.store_rows %m1, %out[%n, %n, %n] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
      hopper.end
    }
    gpu.return
  }

  // The state is brought to each new maximum.

  // CHECK-LABEL: gpu.func @exact
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<1x64xf32>
  // CHECK: arith.cmpf ogt, %{{.*}}, %[[ZERO]]
  // CHECK: scf.if
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<128x64xf32>
  // CHECK: gpu.return
  gpu.func @exact(%s: vector<64x64xf32>, %a: vector<128x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) kernel {
    %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.5 exact
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    gpu.return
  }

  // Factors of rows, times the constant.

  // CHECK-LABEL: gpu.func @factors
  // CHECK-SAME: (%[[S:.*]]: vector<64x64xf32>, %[[F:.*]]: vector<1x64xf32>, %[[A:.*]]: vector<128x64xf32>, %[[M:.*]]: vector<1x64xf32>
  // CHECK: %[[MOST:.*]] = hopper.reduce max %[[S]]
  // CHECK: %[[OF_ROWS:.*]] = arith.mulf %[[F]], %{{.*}} : vector<1x64xf32>
  // CHECK: math.fma %[[MOST]], %[[OF_ROWS]], %[[M]]
  // CHECK: scf.if
  // CHECK: %[[OF_ROWS:.*]] = arith.mulf %[[F]], %{{.*}} : vector<1x64xf32>
  // CHECK: %[[MINUS:.*]] = arith.negf %[[OF_ROWS]]
  // CHECK: %[[NEXT:.*]] = arith.mulf %[[MOST]], %[[MINUS]]
  // CHECK: arith.minnumf %[[NEXT]], %[[M]]
  // CHECK: %[[OF_ROWS:.*]] = arith.mulf %[[F]], %{{.*}} : vector<1x64xf32>
  // CHECK: %[[ALL:.*]] = vector.broadcast %[[OF_ROWS]] : vector<1x64xf32> to vector<64x64xf32>
  // CHECK: math.fma %[[S]], %[[ALL]]
  gpu.func @factors(%s: vector<64x64xf32>, %f: vector<1x64xf32>, %a: vector<128x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>,
                    %out: memref<?x?x?xf32>, %n: index) kernel {
    %p, %a1, %m1, %l1 = hopper.softmax_step %s factors %f, %a, %m, %l factor 0.5 lazy
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    hopper.step "store" in "compute" {
      %t = hopper.reduce add %p : vector<64x64xf32> -> vector<4x64xf32>
      hopper.store_rows %m1, %out[%n, %n, %n] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
      hopper.end
    }
    gpu.return
  }

  // What all scores of a row get is part of what they are shifted by.

  // CHECK-LABEL: gpu.func @offset
  // CHECK-SAME: (%[[S:.*]]: vector<64x64xf32>, %[[O:.*]]: vector<1x64xf32>, %[[A:.*]]: vector<128x64xf32>, %[[M:.*]]: vector<1x64xf32>
  // CHECK: %[[MOST:.*]] = hopper.reduce max %[[S]]
  // CHECK: %[[SHIFT:.*]] = arith.addf %[[M]], %[[O]]
  // CHECK: math.fma %[[MOST]], %{{.*}}, %[[SHIFT]]
  // CHECK: %[[R:.*]]:3 = scf.if
  // CHECK: %[[MINUS:.*]] = arith.negf %[[O]]
  // CHECK: %[[NEXT:.*]] = math.fma %[[MOST]], %{{.*}}, %[[MINUS]]
  // CHECK: arith.minnumf %[[NEXT]], %[[M]]
  // CHECK: %[[SHIFT:.*]] = arith.addf %[[R]]#1, %[[O]]
  // CHECK: %[[B:.*]] = vector.broadcast %[[SHIFT]]
  // CHECK: math.fma %[[S]], %{{.*}}, %[[B]]
  gpu.func @offset(%s: vector<64x64xf32>, %o: vector<1x64xf32>, %a: vector<128x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) kernel {
    %p, %a1, %m1, %l1 = hopper.softmax_step %s offset %o, %a, %m, %l factor 0.5 lazy
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    gpu.return
  }

  // The state of no keys is not rescaled.

  // CHECK-LABEL: gpu.func @first
  // CHECK-NOT: scf.if
  // CHECK-NOT: vector<128x64xf32>,
  // CHECK-NOT: arith.subf
  // CHECK: gpu.return
  gpu.func @first(%s: vector<64x64xf32>) kernel {
    %a = arith.constant dense<0.0> : vector<128x64xf32>
    %m = arith.constant dense<3.40282347E+38> : vector<1x64xf32>
    %l = arith.constant dense<0.0> : vector<4x64xf32>
    %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.5 lazy
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    gpu.return
  }

  // What the first block's predicate reads by key is read while the product is
  // computed; in other blocks, under their branch.

  // CHECK-LABEL: gpu.func @reads
  // CHECK: %[[S:.*]] = hopper.dot
  // CHECK-NOT: arith.mulf
  // CHECK: %[[AT:.*]] = arith.addi
  // CHECK-NOT: arith.mulf
  // CHECK: attn.gather %{{.*}}[%[[AT]]]
  // CHECK: arith.mulf %[[S]]
  // CHECK: arith.select
  // CHECK: scf.if
  // CHECK: } else {
  // CHECK: attn.gather
  gpu.func @reads(%full: i1, %at: vector<64x1xindex>, %m: memref<?xi32>, %f: vector<64x64xf32>) kernel {
    %q = hopper.create_tile : !hopper.tile<64x64xbf16>
    %s = hopper.dot %q, %q : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
    %x = arith.mulf %s, %f : vector<64x64xf32>
    %a = hopper.mask %x unless %full always {
      %true = arith.constant true
      %zero = arith.constant dense<0> : vector<64x1xi32>
      %next = arith.addi %at, %at : vector<64x1xindex>
      %r = attn.gather %m[%next] mask %true : memref<?xi32>, (vector<64x1xindex>), i1 -> vector<64x1xi32>
      %c = arith.cmpi ne, %r, %zero : vector<64x1xi32>
      %p = vector.broadcast %c : vector<64x1xi1> to vector<64x64xi1>
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    %b = hopper.mask %a unless %full by_block {
      %true = arith.constant true
      %zero = arith.constant dense<0> : vector<64x1xi32>
      %r = attn.gather %m[%at] mask %true : memref<?xi32>, (vector<64x1xindex>), i1 -> vector<64x1xi32>
      %c = arith.cmpi ne, %r, %zero : vector<64x1xi32>
      %p = vector.broadcast %c : vector<64x1xi1> to vector<64x64xi1>
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    gpu.return
  }

  // Scores in one range need no maximum, and nothing is rescaled.

  // CHECK-LABEL: gpu.func @bounded
  // CHECK-SAME: (%[[S:.*]]: vector<64x64xf32>, %[[A:.*]]: vector<64x64xf32>, %[[M:.*]]: vector<1x64xf32>, %[[L:.*]]: vector<4x64xf32>,
  // CHECK-NOT: hopper.reduce max
  // CHECK-NOT: scf.if
  // CHECK: %[[SHIFT:.*]] = vector.broadcast %[[M]]
  // CHECK: %[[X:.*]] = math.fma %[[S]], %{{.*}}, %[[SHIFT]]
  // CHECK: %[[P:.*]] = math.exp2 %[[X]]
  // CHECK: %[[SUM:.*]] = hopper.reduce add %[[P]]
  // CHECK: %[[NEXT:.*]] = arith.addf %[[L]], %[[SUM]]
  // CHECK: hopper.store_rows %[[M]]
  // CHECK: arith.addf %[[A]], %[[P]]
  // CHECK: hopper.reduce add %[[NEXT]]
  gpu.func @bounded(%s: vector<64x64xf32>, %a: vector<64x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>,
                    %out: memref<?x?x?xf32>, %n: index) kernel {
    %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.5 never
        : vector<64x64xf32>, vector<64x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    hopper.step "store" in "compute" {
      hopper.store_rows %m1, %out[%n, %n, %n] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
      %x = arith.addf %a1, %p : vector<64x64xf32>
      %y = hopper.reduce add %l1 : vector<4x64xf32> -> vector<1x64xf32>
      hopper.end
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @masks
  // CHECK-SAME: (%[[S:.*]]: vector<64x64xf32>, %[[FULL:.*]]: i1, %[[P:.*]]: vector<64x64xi1>)
  // CHECK: %[[A:.*]] = scf.if %[[FULL]]
  // CHECK: scf.yield %[[S]]
  // CHECK: } else {
  // CHECK: %[[Y:.*]] = arith.select %[[P]], %[[S]], %{{.*}}
  // CHECK: scf.yield %[[Y]]
  // CHECK: }
  // CHECK: %[[B:.*]] = arith.select %[[P]], %[[A]], %{{.*}}
  // CHECK: scf.execute_region
  // CHECK: arith.select %[[P]], %[[B]], %{{.*}}
  // CHECK-NOT: arith.select
  // CHECK: gpu.return
  gpu.func @masks(%s: vector<64x64xf32>, %full: i1, %p: vector<64x64xi1>) kernel {
    %a = hopper.mask %s unless %full by_block {
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    %b = hopper.mask %a unless %full always {
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    %c = hopper.mask %b unless %full never {
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    // Of a block that may be full never, in a region, too.
    %false = arith.constant false
    %d = hopper.mask %c unless %false by_block {
      hopper.end %p : vector<64x64xi1>
    } : vector<64x64xf32>
    gpu.return
  }
}
