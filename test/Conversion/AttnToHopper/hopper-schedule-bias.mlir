// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --split-input-file | FileCheck %s

// A slope times the distance is one more step of the product of queries and
// keys: the slopes, split into numbers of 16 bits, times the position in the
// tile. What the first key of a tile gets goes where maxima do: 0.125 is the
// scale, 0.180 and 1.44 are that times log2(e) and log2(e).

// CHECK-LABEL: gpu.func @alibi(
// CHECK: %[[RAMP:.*]] = hopper.create_ramp : <64x8xbf16>
// CHECK: } partition @compute
// CHECK:   %[[SLOPE:.*]] = attn.gather {{.*}} -> f32
// CHECK:   %[[SLOPES:.*]] = vector.broadcast %[[SLOPE]] : f32 to vector<1x64xf32>
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[SLOPES]], %[[EIGHT:cst.*]] : vector<1x64xf32>
// Slopes that are large, or no number, and what the first key of all gets.
// CHECK:   %[[SIZE:.*]] = math.absf %[[SCALED]]
// CHECK:   %[[STEEP:.*]] = arith.cmpf ugt, %[[SIZE]],
// CHECK:   arith.cmpf ugt
// CHECK:   %[[EITHER:.*]] = arith.ori %[[STEEP]],
// CHECK:   %[[PLAIN:.*]] = hopper.any %[[EITHER]]
// CHECK:   %[[LEFT:.*]] = arith.select %[[PLAIN]], %{{.*}}, %[[SCALED]]
// CHECK:   %[[PARTS:.*]] = hopper.split %[[LEFT]] : vector<1x64xf32> -> vector<8x64xbf16>
// CHECK:   scf.for
// CHECK:     %[[S:.*]] = hopper.mma %{{.*}}, %{{.*}} : !hopper.tile<64x64xbf16, of 128>
// CHECK:     %[[B:.*]] = hopper.mma %[[PARTS]], %[[RAMP]] acc %[[S]] :
// CHECK:     hopper.mma {{.*}} rhs_transposed
// What the first key gets is computed beside them.
// CHECK:     %[[D:.*]] = arith.sitofp %{{.*}} : vector<1x64xi32> to vector<1x64xf32>
// CHECK:     %[[AT:.*]] = arith.mulf %[[SLOPES]], %[[D]] : vector<1x64xf32>
// CHECK:     %[[AT2:.*]] = arith.mulf %[[AT]], %{{.*}} : vector<1x64xf32>
// CHECK:     %[[START:.*]] = arith.select %[[PLAIN]], %{{.*}}, %[[AT2]]
// CHECK:     %[[PRODUCT:.*]] = hopper.wait %[[B]] in_flight 1
// CHECK:     %[[VALUES:.*]] = scf.if %[[PLAIN]] -> (vector<64x64xf32>) {
// CHECK:       arith.sitofp %{{.*}} : vector<64x64xi32> to vector<64x64xf32>
// CHECK:     } else {
// CHECK-NEXT:  scf.yield %[[PRODUCT]]
// CHECK:     %[[MAX:.*]] = hopper.reduce max %[[VALUES]]
// CHECK:     %[[SUM:.*]] = arith.addf %{{.*}}, %[[START]] : vector<1x64xf32>
// CHECK:     math.fma %[[MAX]], %{{.*}}, %[[SUM]]
// CHECK:     scf.if
// CHECK:       %[[MINUS:.*]] = arith.negf %[[START]]
// CHECK:       math.fma %[[MAX]], %{{.*}}, %[[MINUS]]
// CHECK:     %[[SHIFT:.*]] = arith.addf %{{.*}}, %[[START]] : vector<1x64xf32>
// CHECK:     %[[SHIFTS:.*]] = vector.broadcast %[[SHIFT]]
// CHECK:     math.fma %[[VALUES]], %{{.*}}, %[[SHIFTS]] : vector<64x64xf32>
func.func @alibi(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// Without it in the schedule, it is computed for each score.

// CHECK-LABEL: gpu.func @computed(
// CHECK-NOT: hopper.create_ramp
// CHECK-NOT: hopper.split
func.func @computed(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// Under a mask, scores are replaced after the bias is there.

// CHECK-LABEL: gpu.func @causal(
// CHECK: hopper.split
// CHECK: scf.for
// CHECK:   %[[PRODUCT:.*]] = hopper.wait %{{.*}} in_flight 1
// CHECK:   %[[VALUES:.*]] = scf.if %{{.*}} -> (vector<64x64xf32>) {
// CHECK:   } else {
// CHECK-NEXT: scf.yield %[[PRODUCT]]
// CHECK-NEXT: }
// CHECK:   hopper.reduce max %[[VALUES]]
func.func @causal(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %slopes) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// Slopes that are computed, for each query, and several terms; a positive
// factor of all.

// CHECK-LABEL: gpu.func @terms(
// CHECK: %[[RAMP:.*]] = hopper.create_ramp : <64x8xf16>
// CHECK: %[[ROWS:.*]] = attn.gather {{.*}} -> vector<1x64xf32>
// CHECK: %[[HEAD:.*]] = math.exp2 %{{.*}} : f32
// CHECK: %[[ROW:.*]] = arith.divf %{{.*}}, %[[ROWS]] : vector<1x64xf32>
// CHECK: %[[Z:.*]] = arith.mulf %[[ROW]],
// CHECK: %[[HEADS:.*]] = vector.broadcast %[[HEAD]] : f32 to vector<1x64xf32>
// CHECK: %[[X:.*]] = arith.mulf %[[HEADS]],
// CHECK: %[[SUM:.*]] = arith.addf %[[Z]], %[[X]]
// CHECK: math.absf %[[SUM]]
// CHECK: hopper.split %{{.*}} : vector<1x64xf32> -> vector<8x64xf16>
func.func @terms(%q: tensor<?x4x?x64xf16>, %o: tensor<?x4x?x64xf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %minus = arith.constant -5.000000e-01 : f32
        %hi = arith.index_cast %h : index to i32
        %hf = arith.sitofp %hi : i32 to f32
        %power = arith.mulf %hf, %minus : f32
        %slope = math.exp2 %power : f32
        %x = arith.mulf %df, %slope : f32
        %ji = arith.index_cast %j : index to i64
        %jf = arith.sitofp %ji : i64 to f32
        %row = tensor.extract %slopes[%i] : tensor<?xf32>
        %n = arith.negf %jf : f32
        %z = arith.divf %n, %row : f32
        %both = arith.subf %z, %row : f32
        %first = arith.subf %s, %both : f32
        %sum = arith.addf %x, %first : f32
        %two = arith.constant 2.000000e+00 : f32
        %y = arith.mulf %sum, %two : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xf16>
}

// -----

// Positions take memory, so that fewer columns of results are staged at a time.

// CHECK-LABEL: gpu.func @staged(
// CHECK: hopper.create_tile : <128x64xbf16>
// CHECK: hopper.create_ramp : <112x8xbf16>
// CHECK-LABEL: gpu.func @not_staged(
// CHECK: hopper.create_tile : <128x128xbf16>
func.func @staged(%q: tensor<1x1x?x192xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 112, registers = 240, persistent, bias_in_product>
      ins(%q, %q, %v : tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16>, tensor<1x1x?x128xbf16>)
      outs(%v : tensor<1x1x?x128xbf16>)
      score(%s, %b, %h, %i, %j) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %y = arith.addf %s, %jf : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x128xbf16>
}
func.func @not_staged(%q: tensor<1x1x?x192xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 112, registers = 240, persistent>
      ins(%q, %q, %v : tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16>, tensor<1x1x?x128xbf16>)
      outs(%v : tensor<1x1x?x128xbf16>)
      score(%s, %b, %h, %i, %j) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %y = arith.addf %s, %jf : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x128xbf16>
}

// -----

// No bias that is affine in the key: the absolute distance.

// CHECK-LABEL: gpu.func @absolute(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @absolute(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %a = math.absf %df : f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %a : f32
        %y = arith.subf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A cap on top of it.

// CHECK-LABEL: gpu.func @capped(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @capped(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %u = arith.addf %s, %x : f32
        %y = math.tanh %u : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A bias after a choice.

// CHECK-LABEL: gpu.func @chosen(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @chosen(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %ten = arith.constant 10 : index
        %c = arith.cmpi slt, %j, %ten : index
        %half = arith.constant 5.000000e-01 : f32
        %less = arith.mulf %s, %half : f32
        %t = arith.select %c, %s, %less : f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %t, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// The square of the distance.

// CHECK-LABEL: gpu.func @square(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @square(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %x = arith.mulf %df, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A slope of the key, read or computed.

// CHECK-LABEL: gpu.func @of_key(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @of_key(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%j] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// CHECK-LABEL: gpu.func @of_block(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @of_block(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %c64 = arith.constant 64 : index
        %n = arith.divui %j, %c64 : index
        %slope = tensor.extract %slopes[%n] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A bias of the query alone, which needs no product.

// CHECK-LABEL: gpu.func @of_query(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @of_query(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %x = tensor.extract %slopes[%i] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A bias that is rounded to 16 bits.

// CHECK-LABEL: gpu.func @rounded(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @rounded(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to bf16
        %x = arith.extf %df : bf16 to f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// A negative scale; and one for which f16 has no parts that are small enough.

// CHECK-LABEL: gpu.func @negative(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @negative(%q: tensor<?x4x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention scale -1.250000e-01 schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// CHECK-LABEL: gpu.func @large_scale(
// CHECK-NOT: hopper.create_ramp
// CHECK: gpu.return
func.func @large_scale(%q: tensor<?x4x?x64xf16>, %o: tensor<?x4x?x64xf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xf16> {
  %r = attn.attention scale 8.000000e+00 schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, bias_in_product>
      ins(%q, %q, %q : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xf16>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %slopes[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xf16>
}
