// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-expand-sparsity=by-element=true --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-outline | FileCheck %s

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, persistent, order = [load_k, qk, load_v(1), pv(1), softmax]>
!q = tensor<2x4x?x64xbf16>
!k = tensor<2x2x?x64xbf16>

// Kernels fill tables before, as they do for any kernel. The range of blocks,
// and what a class needs that is the same for all of them, is read before the
// queries are loaded; whether a block is full is known in its body. What the
// predicate reads by key is copied for blocks that are not.

// CHECK: gpu.func @documents_prologue0(
// CHECK-SAME: hopper.elements = 6 : i64
// CHECK: gpu.func @documents_prologue1(
// CHECK: gpu.func @documents_prologue2(
// CHECK: gpu.func @documents(
// CHECK-SAME: hopper.tables = {first = 6 : i64, tables = [
// CHECK-SAME: prepared}
// CHECK: hopper.work_loop (%[[B:.*]], %{{.*}}, %{{.*}}, %{{.*}}) in
// CHECK-COUNT-4: attn.gather %{{.*}}[%[[B]], %{{.*}}, %{{.*}}] mask %{{.*}} -> i32
// CHECK: hopper.step "load_q" in "load"
// CHECK: hopper.pipelined_for %[[J:.*]], %[[FULL:.*]] = %{{.*}} to %{{.*}} step 64 iter_args
// CHECK-NEXT: schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_v", 1>, #hopper.place<"load_vector0", 0>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] :
// CHECK-NEXT: classes(%[[C:.*]]) {
// CHECK: %[[TILE:.*]] = arith.divui %[[C]]
// CHECK: attn.gather %{{.*}}, %[[TILE]]]
// CHECK: attn.gather %{{.*}}, %[[TILE]]]
// CHECK-NOT: attn.gather
// CHECK: hopper.end %{{.*}}, %{{.*}} : i1, i1
// CHECK-NEXT: } {
// CHECK: %[[IDS:.*]] = hopper.step "load_vector0" in "load" -> !hopper.tile<64xi32>
// CHECK: %[[PARTIAL:.*]] = arith.xori %[[FULL]]
// CHECK: hopper.load_vector %{{.*}}[%{{.*}}, %{{.*}}] zero_fill if %[[PARTIAL]] stages 4
// CHECK: hopper.mask %{{.*}} unless %[[FULL]] by_block
// CHECK-NEXT: hopper.load_fragment %[[IDS]]
func.func @documents(%q: !q, %k: !k, %v: !k, %o: !q, %doc: tensor<2x?xi32>) -> !q {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !q, !k, !k)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : !q)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : !q
}

// Where both classes look at an element under one branch, it is read once.

// CHECK-LABEL: gpu.func @bits
// CHECK: classes(
// CHECK: scf.if
// CHECK: attn.gather
// CHECK-NOT: scf.if
// CHECK-NOT: attn.gather
// CHECK: hopper.end %{{.*}}, %{{.*}} : i1, i1
func.func @bits(%q: !q, %k: !k, %v: !k, %o: !q, %bits: tensor<2x4x?x?xi1>) -> !q {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !q, !k, !k)
      sparsity(#attn.sparsity<bits, block = 128x64> %bits : tensor<2x4x?x?xi1>)
      outs(%o : !q)
  return %r : !q
}

// Vectors come before they are read, whatever the order is.

#plain = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, order = [load_k, qk, softmax, load_v, pv]>

// CHECK-LABEL: gpu.func @in_order(
// CHECK: schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_vector0", 0>, #hopper.place<"softmax", 0>, #hopper.place<"load_v", 0>, #hopper.place<"pv", 0>]
func.func @in_order(%q: !q, %k: !k, %v: !k, %o: !q, %doc: tensor<2x?xi32>) -> !q {
  %r = attn.attention schedule #plain ins(%q, %k, %v : !q, !k, !k)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : !q)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : !q
}

// What reads the queries is no preparation, whatever else reads them.

// CHECK-LABEL: gpu.func @queries_are_read_by_the_mask(
// CHECK-SAME: hopper.tables = {first = 6 : i64
// CHECK-NOT: prepared
// CHECK: gpu.return
func.func @queries_are_read_by_the_mask(%q: !q, %k: !k, %v: !k, %o: !q, %doc: tensor<2x?xi32>) -> !q {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !q, !k, !k)
      captures(%doc, %q : tensor<2x?xi32>, !q)
      outs(%o : !q)
      mask(%b, %h, %i, %j, %d, %w) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : bf16
        %f = tensor.extract %w[%b, %h, %i, %c0] : !q
        %same = arith.cmpi eq, %x, %y : i32
        %large = arith.cmpf ogt, %f, %zero : bf16
        %p = arith.andi %same, %large : i1
        attn.yield %p : i1
      }
  return %r : !q
}

// What a score reads by key, too, is copied once, for all blocks.

// CHECK-LABEL: gpu.func @shared(
// CHECK: hopper.pipelined_for
// CHECK: %[[IDS:.*]] = hopper.step "load_vector0" in "load" -> !hopper.tile<64xi32>
// CHECK-NEXT: hopper.load_vector %{{.*}}[%{{.*}}, %{{.*}}] zero_fill stages 4
// CHECK-NOT: hopper.load_vector
// CHECK: hopper.load_fragment %[[IDS]]
// CHECK: hopper.mask
// CHECK-NOT: attn.gather
// CHECK: gpu.return
func.func @shared(%q: !q, %k: !k, %v: !k, %o: !q, %doc: tensor<2x?xi32>) -> !q {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !q, !k, !k)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : !q)
      score(%s, %b, %h, %i, %j, %d) {
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %f = arith.sitofp %y : i32 to f32
        %t = arith.addf %s, %f : f32
        attn.yield %t : f32
      }
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : !q
}
