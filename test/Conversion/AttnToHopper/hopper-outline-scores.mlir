// RUN: attn-opt %s --attn-destination-arguments --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-outline --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-destination-arguments --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-outline --split-input-file | attn-opt --split-input-file

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, capture_stages = 1,
                             order = [load_k, qk, load_v(1), pv(1), softmax]>
!t = tensor<?x4x?x64xbf16>

// A capture with an element for each query and key comes in tiles, which are
// loaded after the keys. Numbers of 16 bits are read when the step starts,
// others where they are needed, such as bits in a predicate.

// CHECK-LABEL: gpu.func @captures(
// CHECK-NOT: memref<
// CHECK-SAME: %[[BITS:[^ ]*]]: !hopper.map<128x64xi1> {hopper.dims = array<i64: -1, -1, 0, 1>, hopper.operand = 4 : i64}
// CHECK-SAME: %[[BIAS:[^ ]*]]: !hopper.map<128x64xbf16> {hopper.dims = array<i64: 0, -1, 1, 2>, hopper.operand = 3 : i64}
// CHECK-NOT: memref<
// CHECK: hopper.work_loop (%{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[ROW:.*]], %{{.*}} = hopper.work_rows
// CHECK: hopper.pipelined_for %[[J:[^ ]*]] =
// CHECK: schedule [#hopper.place<"load_k", 0>, #hopper.place<"load_arg4", 0>, #hopper.place<"load_arg3", 0>, #hopper.place<"qk", 0>
// CHECK: %[[MASKS:.*]] = hopper.step "load_arg4" in "load" -> !hopper.tile<128x64xi1>
// CHECK-NEXT: hopper.load %[[BITS]][%{{.*}}, %{{.*}}, %[[ROW]], %[[J]]] stages 1
// CHECK: %[[BIASES:.*]] = hopper.step "load_arg3" in "load" -> !hopper.tile<128x64xbf16>
// CHECK-NEXT: hopper.load %[[BIAS]][%[[H]], %{{.*}}, %[[ROW]], %[[J]]] stages 1
// CHECK: hopper.step "softmax" in "compute"
// CHECK-NEXT: %[[OWN:.*]] = hopper.own_rows %[[BIASES]]
// CHECK-NEXT: %[[X:.*]] = hopper.load_fragment %[[OWN]] : <64x64xbf16, of 128> -> vector<64x64xbf16>
// CHECK: arith.extf %[[X]]
// CHECK: hopper.mask
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[MASKS]]
// CHECK: hopper.load_fragment %[[OWN]] : <64x64xi1, of 128> -> vector<64x64xi1>
func.func @captures(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?x?xbf16>, %bits: tensor<?x?xi1>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%bias, %bits : tensor<?x?x?xbf16>, tensor<?x?xi1>) outs(%o : !t)
      score(%x, %b, %h, %i, %j, %w, %m) {
        %e = tensor.extract %w[%h, %i, %j] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %w, %m) {
        %p = tensor.extract %m[%i, %j] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : !t
}

// -----

// The order may name the step that loads a capture. Without that it has the
// stage of the step that reads the capture.

#named = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, capture_stages = 2,
                          order = [load_arg3, load_k, qk, softmax, load_v, pv]>
#late = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, capture_stages = 2,
                         order = [load_k, qk, load_v(1), softmax(1), pv(1)]>
!t = tensor<?x4x?x64xbf16>

// CHECK-LABEL: gpu.func @named(
// CHECK: schedule [#hopper.place<"load_arg3", 0>, #hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"softmax", 0>, #hopper.place<"load_v", 0>, #hopper.place<"pv", 0>]
// CHECK: hopper.load %{{.*}} stages 2 : <64x64xf32>
// CHECK: hopper.step "softmax"
// CHECK-NEXT: arith.mulf
// CHECK: hopper.load_fragment
func.func @named(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?xf32>, %o: !t) -> !t {
  %r = attn.attention schedule #named ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<?x?xf32>) outs(%o : !t)
      score(%x, %b, %h, %i, %j, %w) {
        %e = tensor.extract %w[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %x, %e : f32
        attn.yield %y : f32
      }
  return %r : !t
}

// CHECK-LABEL: gpu.func @late(
// CHECK: schedule [#hopper.place<"load_k", 0>, #hopper.place<"load_arg3", 1>, #hopper.place<"qk", 0>
func.func @late(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?xf32>, %o: !t) -> !t {
  %r = attn.attention schedule #late ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<?x?xf32>) outs(%o : !t)
      score(%x, %b, %h, %i, %j, %w) {
        %e = tensor.extract %w[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %x, %e : f32
        attn.yield %y : f32
      }
  return %r : !t
}

// -----

// Two boxes of one capture are two tiles; one that is read twice is one.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, capture_stages = 1,
                             order = [load_k, qk, softmax, load_v, pv]>
!t = tensor<?x4x?x64xbf16>

// CHECK-LABEL: gpu.func @boxes(
// CHECK: hopper.step "load_arg3" in "load"
// CHECK: hopper.step "load_arg3_1" in "load"
// CHECK-NOT: "load_arg3
// CHECK: hopper.step "softmax"
func.func @boxes(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?x?xbf16>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<?x?x?xbf16>) outs(%o : !t)
      score(%x, %b, %h, %i, %j, %w) {
        %e = tensor.extract %w[%h, %i, %j] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        %e2 = tensor.extract %w[%b, %i, %j] : tensor<?x?x?xbf16>
        %f2 = arith.extf %e2 : bf16 to f32
        %z = arith.addf %y, %f2 : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %zero = arith.constant 0.0 : bf16
        %e = tensor.extract %w[%h, %i, %j] : tensor<?x?x?xbf16>
        %p = arith.cmpf oge, %e, %zero : bf16
        attn.yield %p : i1
      }
  return %r : !t
}

// -----

// A slope times the distance is one more step of the product of queries and
// keys, with slopes that are computed once for a work tile. What the first key
// of a block gets is an offset of the softmax. Slopes that are too large for
// that are left out, and the bias is computed for each score.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, bias_in_product,
                             order = [load_k, qk, load_v(1), pv(1), softmax]>
!t = tensor<?x4x?x64xbf16>

// CHECK-LABEL: gpu.func @alibi(
// CHECK: %[[RAMP:.*]] = hopper.create_iota_tile : <64x8xbf16>
// CHECK: hopper.work_loop
// CHECK: %[[HELD:.*]]:2 = hopper.step "hold_slopes" in "compute" -> vector<8x64xbf16>, i1 {
// CHECK:   %[[PLAIN:.*]] = hopper.any
// CHECK:   %[[LEFT:.*]] = arith.select %[[PLAIN]]
// CHECK:   %[[PARTS:.*]] = hopper.split_bf16x3 %[[LEFT]] : vector<1x64xf32> -> vector<8x64xbf16>
// CHECK:   hopper.end %[[PARTS]], %[[PLAIN]]
// CHECK: hopper.pipelined_for
// CHECK: %[[S:.*]] = hopper.step "qk" in "compute"
// CHECK:   %[[X:.*]] = hopper.dot
// CHECK:   %[[Y:.*]] = hopper.dot %[[HELD]]#0, %[[RAMP]] acc %[[X]] : vector<8x64xbf16>, <64x8xbf16>, vector<64x64xf32>
// CHECK:   hopper.end %[[Y]]
// CHECK: hopper.step "softmax" in "compute"
// CHECK:   %[[START:.*]] = arith.select %[[HELD]]#1, %{{.*}} : vector<1x64xf32>
// CHECK:   %[[BIASED:.*]] = scf.if %[[HELD]]#1 -> (vector<64x64xf32>) {
// CHECK:     arith.addf
// CHECK:   } else {
// CHECK-NEXT: scf.yield %[[S]]
// CHECK:   hopper.softmax_step %{{.*}} offset %[[START]],
func.func @alibi(%q: !t, %k: !t, %v: !t, %slopes: tensor<?xf32>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%slopes : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : !t
}

// Slopes of rows are read before the loop, one for each of them.

// CHECK-LABEL: gpu.func @row_slopes(
// CHECK: %{{.*}}:2 = hopper.step "hold_slopes" in "compute" -> vector<8x64xbf16>, i1 {
// CHECK:   attn.gather %{{.*}}[%{{[^ ]*}}] mask %{{.*}} : memref<?xf32, {{.*}}>, (vector<1x64xindex>), i1 -> vector<1x64xf32>
// CHECK:   hopper.split_bf16x3
// CHECK: hopper.pipelined_for
func.func @row_slopes(%q: !t, %k: !t, %v: !t, %slopes: tensor<?xf32>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%slopes : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %slopes) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %slope = tensor.extract %slopes[%i] : tensor<?xf32>
        %x = arith.mulf %slope, %jf : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : !t
}

// A bias that is not affine stays with the scores.

// CHECK-LABEL: gpu.func @square(
// CHECK-NOT: hopper.create_iota_tile
// CHECK: hopper.pipelined_for
// CHECK: hopper.softmax_step %{{[0-9]+}},
func.func @square(%q: !t, %k: !t, %v: !t, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %x = arith.mulf %df, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : !t
}

// -----

// What changes from block to block with an element for each key comes as a
// vector, and what does not change is read before the loop. Conditions on
// positions are one comparison with a limit of each row.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1,
                             order = [load_k, qk, load_v(1), pv(1), softmax]>
!t = tensor<?x4x?x64xbf16>

// CHECK-LABEL: gpu.func @reads(
// CHECK: attn.gather {{.*}} -> vector<1x64xf32>
// CHECK: hopper.pipelined_for
// CHECK-NOT: attn.gather
// CHECK: %[[KEYS:.*]] = hopper.step "load_vector0" in "load" -> !hopper.tile<64xf32>
// CHECK-NEXT: hopper.load_vector %{{.*}}[%{{.*}}] zero_fill stages 4 : memref<?xf32, strided<[1]>> -> <64xf32>
// CHECK-NOT: attn.gather
// CHECK: hopper.step "softmax" in "compute"
// CHECK: hopper.load_fragment %[[KEYS]] : <64xf32> -> vector<64x1xf32>
// CHECK-NOT: attn.gather
// CHECK: hopper.mask
// CHECK:   %[[LAST:.*]] = arith.subi %{{.*}}, %c1{{.*}} : index
// CHECK:   %[[LASTS:.*]] = vector.broadcast %[[LAST]] : index to vector<1x64xindex>
// CHECK:   %[[LIMIT:.*]] = arith.minsi %[[LASTS]], %{{.*}} : vector<1x64xindex>
// CHECK:   %[[ROWS:.*]] = vector.broadcast %[[LIMIT]]
// CHECK:   %[[P:.*]] = arith.cmpi sle, %{{.*}}, %[[ROWS]] : vector<64x64xindex>
// CHECK-NEXT: hopper.end %[[P]]
func.func @reads(%q: !t, %k: !t, %v: !t, %rows: tensor<?xf32>, %keys: tensor<?xf32>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%rows, %keys : tensor<?xf32>, tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %rows, %keys) {
        %x = tensor.extract %rows[%i] : tensor<?xf32>
        %y = tensor.extract %keys[%j] : tensor<?xf32>
        %xy = arith.addf %x, %y : f32
        %z = arith.addf %s, %xy : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %rows, %keys) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : !t
}

// Where the number of keys is the one condition on positions beside others, a
// second predicate asks for it, and does so in the last block alone.

// CHECK-LABEL: gpu.func @length(
// CHECK: hopper.step "softmax" in "compute"
// CHECK: attn.gather
// CHECK: %[[X:.*]] = hopper.mask %{{.*}} unless %{{.*}} by_block {
// CHECK-NEXT: arith.cmpi ne
// CHECK-NOT: arith.cmpi slt
// CHECK: } : vector<64x64xf32>
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle
// CHECK: hopper.mask %[[X]] unless %[[BEFORE]] by_block {
// CHECK-NEXT: arith.cmpi slt
func.func @length(%q: !t, %k: !t, %v: !t, %bits: tensor<?x?xi64>, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%bits : tensor<?x?xi64>) outs(%o : !t)
      mask(%b, %h, %i, %j, %bits) {
        %zero = arith.constant 0 : i64
        %x = tensor.extract %bits[%i, %j] : tensor<?x?xi64>
        %p = arith.cmpi ne, %x, %zero : i64
        attn.yield %p : i1
      }
  return %r : !t
}
