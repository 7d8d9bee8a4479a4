// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --split-input-file | FileCheck %s

// A capture with an element for each query and key comes in tiles of queries by
// keys, next to the keys, and is held in registers before the scores are there.
// Both kinds of tiles read the same.

// CHECK-LABEL: gpu.func @bias(
// CHECK-SAME: %[[MAP:[^ ]*]]: !hopper.map<128x64xbf16> {hopper.dims = array<i64: 0, -1, 1, 2>, hopper.operand = 3 : i64}
// CHECK-NOT: memref
// CHECK: %[[QS:.*]] = hopper.create_channel : <1x128x64xbf16>
// CHECK: %[[KS:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK: %[[VS:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK: %[[BS:.*]] = hopper.create_channel : <1x128x64xbf16>
// CHECK: partition @load
// CHECK:   hopper.put %[[QS]]
// CHECK:   hopper.put %[[KS]][%c0_i32], %{{.*}}[%{{.*}}, %{{.*}}, %[[KEY:.*]]] :
// CHECK:   hopper.put %[[BS]][%c0_i32], %[[MAP]][%[[HEAD:.*]], %c0, %[[ROW:.*]]] column %[[KEY]] :
// CHECK:   scf.for
// CHECK:     hopper.put %[[KS]][%[[T:.*]]], %{{.*}}[%{{.*}}, %{{.*}}, %[[KEY:.*]]] :
// CHECK:     hopper.put %[[BS]][%[[T]]], %[[MAP]][%[[HEAD]], %c0, %[[ROW]]] column %[[KEY]] :
// CHECK:     hopper.put %[[VS]]
// CHECK: } partition @compute
// CHECK:   %[[TILE:.*]] = hopper.get %[[BS]][%[[N:.*]]] :
// CHECK:   %[[ROWS:.*]] = hopper.rows %[[TILE]]
// CHECK:   hopper.load_fragment %[[ROWS]] : <64x64xbf16, of 128> -> vector<64x64xbf16>
// CHECK:   hopper.release %[[BS]][%[[N]]]
// CHECK:   scf.for
// CHECK:     hopper.mma
// CHECK:     %[[TILE:.*]] = hopper.get %[[BS]][%[[N:.*]]] :
// CHECK:     %[[FRAGMENT:.*]] = hopper.load_fragment
// CHECK:     hopper.release %[[BS]][%[[N]]]
// CHECK:     hopper.wait %{{.*}} in_flight 1
// CHECK:     arith.extf %[[FRAGMENT]] : vector<64x64xbf16> to vector<64x64xf32>
// CHECK-NOT: attn.gather
func.func @bias(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %v: tensor<?x4x?x64xbf16>, %bias: tensor<?x?x?xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, capture_stages = 1>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%bias : tensor<?x?x?xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%x, %mb, %h, %i, %j, %w) {
        %e = tensor.extract %w[%h, %i, %j] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// What is no box of queries by keys is read element by element: the transpose,
// elements of 64 bits, another distance than 1, a diagonal, and columns alone.

// CHECK-LABEL: gpu.func @others(
// CHECK-COUNT-3: hopper.create_channel
// CHECK-NOT: hopper.create_channel
// CHECK: } partition @compute
// CHECK-COUNT-5: attn.gather
func.func @others(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %v: tensor<?x4x?x64xbf16>, %t: tensor<?x?xbf16>, %w: tensor<?x?xi64>, %c: tensor<?xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, capture_stages = 1>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%t, %w, %c : tensor<?x?xbf16>, tensor<?x?xi64>, tensor<?xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%x, %mb, %h, %i, %j, %ct, %cw, %cc) {
        %two = arith.constant 2 : index
        %j2 = arith.muli %j, %two : index
        %0 = tensor.extract %ct[%j, %i] : tensor<?x?xbf16>
        %n = tensor.extract %cw[%i, %j] : tensor<?x?xi64>
        %1 = arith.sitofp %n : i64 to f32
        %2 = tensor.extract %ct[%i, %j2] : tensor<?x?xbf16>
        %3 = tensor.extract %ct[%j, %j] : tensor<?x?xbf16>
        %4 = tensor.extract %cc[%j] : tensor<?xbf16>
        %5 = arith.addf %0, %2 : bf16
        %6 = arith.addf %3, %4 : bf16
        %7 = arith.addf %5, %6 : bf16
        %8 = arith.extf %7 : bf16 to f32
        %9 = arith.addf %1, %8 : f32
        %y = arith.addf %x, %9 : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// Of other than 16 bits, elements are held once the scores are there, as they
// would take twice the registers beside the product.

// CHECK-LABEL: gpu.func @floats(
// CHECK-SAME: !hopper.map<128x64xi1> {hopper.dims = array<i64: 0, -1, 1, 2>, hopper.operand = 4 : i64}
// CHECK-SAME: !hopper.map<128x64xf32> {hopper.dims = array<i64: -1, -1, 0, 1>, hopper.operand = 3 : i64}
// CHECK-NOT: memref
// CHECK: } partition @compute
// CHECK:   scf.for
// CHECK:     hopper.mma
// CHECK-NOT: hopper.load_fragment
// CHECK:     hopper.wait %{{.*}} in_flight 1
// CHECK-DAG: hopper.load_fragment %{{.*}} : <64x64xf32, of 128> -> vector<64x64xf32>
// CHECK-DAG: hopper.load_fragment %{{.*}} : <64x64xi1, of 128> -> vector<64x64xi1>
// CHECK-NOT: attn.gather
func.func @floats(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %v: tensor<?x4x?x64xbf16>, %bias: tensor<?x?xf32>, %on: tensor<?x?x?xi1>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, capture_stages = 1>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      captures(%bias, %on : tensor<?x?xf32>, tensor<?x?x?xi1>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%x, %mb, %h, %i, %j, %w, %m) {
        %e = tensor.extract %w[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %x, %e : f32
        attn.yield %y : f32
      }
      mask(%mb, %h, %i, %j, %w, %m) {
        %p = tensor.extract %m[%mb, %i, %j] : tensor<?x?x?xi1>
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// For tensors of any strides, maps and the producer say so.

// CHECK-LABEL: gpu.func @strided(
// CHECK-SAME: !hopper.map<128x64xbf16, strided>
// CHECK-SAME: !hopper.map<64x64xbf16, strided>
// CHECK: hopper.warp_specialize partition @load {
func.func @strided(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x4x?x64xbf16>, %v: tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 208, strided>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
  return %r : tensor<?x4x?x64xbf16>
}
