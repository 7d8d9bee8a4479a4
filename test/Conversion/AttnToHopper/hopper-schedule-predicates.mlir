// RUN: attn-opt %s --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse | FileCheck %s

// Predicates of conditions on positions and of others. Those on positions are
// joined apart, whatever their order, and where they are the number of keys
// alone, only the last tile asks for it.

!t = tensor<1x4x?x64xbf16>
!m = tensor<4x?x?xi1>

func.func @tensor(%q: !t, %k: !t, %v: !t, %o: !t, %m: !m) -> !t {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>
      ins(%q, %k, %v : !t, !t, !t) captures(%m : !m) outs(%o : !t)
      mask(%b, %h, %i, %j, %c) {
        %p = tensor.extract %c[%h, %i, %j] : !m
        attn.yield %p : i1
      }
  return %r : !t
}

// CHECK-LABEL: gpu.func @tensor(
// CHECK:         hopper.wait %{{.*}} in_flight 0
// CHECK:         hopper.wait %{{.*}} in_flight 1 : !hopper.pending<vector<64x64xf32>>
// CHECK-NOT:     arith.cmpi slt
// CHECK:         %[[MASKED:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<64x64xi1>, vector<64x64xf32>
// CHECK:         %[[IS_LAST:.*]] = arith.cmpi sgt, %{{.*}}, %[[END:.*]] : index
// CHECK:         %[[SCORES:.*]] = scf.if %[[IS_LAST]] -> (vector<64x64xf32>) {
// CHECK:           %[[IS_KEY:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<64x1xindex>
// CHECK:           %[[ALL:.*]] = vector.broadcast %[[IS_KEY]] : vector<64x1xi1> to vector<64x64xi1>
// CHECK:           %[[KEYS:.*]] = arith.select %[[ALL]], %[[MASKED]], %{{.*}}
// CHECK:           scf.yield %[[KEYS]]
// CHECK:         } else {
// CHECK:           scf.yield %[[MASKED]]
// CHECK:         hopper.reduce max %[[SCORES]]

func.func @causal_too(%q: !t, %k: !t, %v: !t, %o: !t, %m: !m) -> !t {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>
      ins(%q, %k, %v : !t, !t, !t) captures(%m : !m) outs(%o : !t)
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h, %i, %j] : !m
        %y = arith.cmpi sle, %j, %i : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %r : !t
}

// One limit of each query, of causality and the number of keys.
// CHECK-LABEL: gpu.func @causal_too(
// CHECK:         %[[AT:.*]] = arith.minsi %{{.*}} : vector<1x64xindex>
// CHECK-NEXT:    %[[BEHIND:.*]] = arith.addi %[[AT]], %{{.*}} : vector<1x64xindex>
// CHECK-NEXT:    %[[LEAST:.*]] = arith.minsi %{{.*}}, %[[BEHIND]] : vector<1x64xindex>
// CHECK:         %[[LIMIT:.*]] = vector.broadcast %[[LEAST]] : vector<1x64xindex> to vector<64x64xindex>
// CHECK:         hopper.wait %{{.*}} in_flight 1 : !hopper.pending<vector<64x64xf32>>
// CHECK:         %[[BELOW:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMIT]] : vector<64x64xindex>
// CHECK:         %[[BOTH:.*]] = arith.andi %[[BELOW]], %{{.*}} : vector<64x64xi1>
// CHECK-NEXT:    %{{.*}} = arith.select %[[BOTH]],

func.func @window_too(%q: !t, %k: !t, %v: !t, %o: !t, %m: !m) -> !t {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>
      ins(%q, %k, %v : !t, !t, !t) captures(%m : !m) outs(%o : !t)
      mask(%b, %h, %i, %j, %c) {
        %c100 = arith.constant 100 : index
        %x = tensor.extract %c[%h, %i, %j] : !m
        %far = arith.addi %j, %c100 : index
        %y = arith.cmpi sge, %far, %i : index
        %p = arith.andi %y, %x : i1
        attn.yield %p : i1
      }
  return %r : !t
}

// Two bounds of positions, which the next level makes one of.
// CHECK-LABEL: gpu.func @window_too(
// CHECK:         hopper.wait %{{.*}} in_flight 1 : !hopper.pending<vector<64x64xf32>>
// CHECK:         %[[FAR:.*]] = arith.cmpi sge, %{{.*}} : vector<64x64xindex>
// CHECK:         %[[NEAR:.*]] = arith.andi %{{.*}}, %[[FAR]] : vector<64x64xi1>
// CHECK:         %[[BOTH:.*]] = arith.andi %[[NEAR]], %{{.*}} : vector<64x64xi1>
// CHECK-NEXT:    %{{.*}} = arith.select %[[BOTH]],
