// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --attn-hopper-verify-protocol --split-input-file -o /dev/null

// The keys of a tile of queries are shared out to thread blocks. Each writes a
// normalised row and its log-sum-exp, and a kernel merges them: a warp for each
// row of up to 64 columns.

// CHECK-LABEL: gpu.func @plain_merge(
// CHECK-SAME: %[[LSES:[^ ]*]]: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {hopper.operand = 6 : i64}
// CHECK-SAME: %[[PARTS:[^ ]*]]: memref<?x?x?x?x96xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 5 : i64}
// CHECK-SAME: %[[H:[^ ]*]]: index {hopper.dim = 1 : i64, hopper.operand = 5 : i64}
// CHECK-SAME: %[[LSE:[^ ]*]]: memref<?x?x?xf32, strided<[?, ?, 1]>> {hopper.operand = 4 : i64}
// CHECK-SAME: %[[O:[^ ]*]]: memref<?x?x?x96xbf16, strided<[?, ?, ?, 1]>> {hopper.operand = 3 : i64}
// CHECK-SAME: kernel attributes {hopper.merge = 2 : i64, hopper.threads = 128 : i64}
// CHECK: %[[BLOCK:.*]] = gpu.block_id
// CHECK: scf.if
// CHECK: hopper.merge %[[PARTS]], %[[LSES]][%[[BI:.*]], %[[HI:.*]], %[[RI:.*]]] into %[[O]][%[[BI]], %[[HI]], %[[RI]], %{{.*}}] dim 3 lse %[[LSE]][%[[BI]], %[[HI]], %[[RI]]]

// CHECK-LABEL: gpu.func @plain(
// CHECK-SAME: %[[LSES:[^ ]*]]: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {hopper.operand = 6 : i64}
// CHECK-SAME: %[[PARTS:[^ ]*]]: memref<?x?x?x?x96xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 5 : i64}
// CHECK-SAME: %[[NUM:[^ ]*]]: index {hopper.dim = 3 : i64, hopper.operand = 6 : i64}
// CHECK-NOT: !hopper.map<64x96xbf16> {{.*}}hopper.operand = 3
// CHECK-SAME: hopper.schedule = #hopper.schedule<{{.*}}split_keys>
// CHECK-SAME: hopper.tables = {first = 5 : i64, tables = [{bytes = 4 : i64, extents = [{dim = 0 : i64, divisor = 1 : i64, operand = 3 : i64}, {dim = 1 : i64, divisor = 1 : i64, operand = 3 : i64}, {dim = 2 : i64, divisor = 1 : i64, operand = 3 : i64}, {parts}, {extent = 96 : i64}]}, {bytes = 4 : i64, extents = [{{.*}}, {parts}]}]}
// CHECK-NOT: hopper.create_tile
// CHECK: hopper.warp_specialize
// The parts of a tile are neighbours in the grid.
// CHECK: %[[N:.*]] = arith.index_cast %[[NUM]] : index to i32
// CHECK: %[[PART:.*]] = arith.remui %[[BLOCK:.*]], %[[N]]
// CHECK: arith.divui %[[BLOCK]], %[[N]]
// All parts have as many tiles, at least 4, but for the last ones.
// CHECK: %[[ALL:.*]] = arith.divui %{{.*}}, %c64_i32
// CHECK: %[[SIZE:.*]] = arith.maxui %{{.*}}, %c4_i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %[[SIZE]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[ALL]], %[[FIRST]]
// CHECK: %[[OWN:.*]] = arith.minsi %[[LEFT]], %[[SIZE]]
// CHECK: %[[LO:.*]] = arith.muli %[[FIRST]], %c64_i32
// CHECK: arith.maxsi %[[OWN]], %c0_i32
// CHECK: } partition @compute
// CHECK: %[[HASKEYS:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: %[[STATE:.*]]:3 = scf.if %[[HASKEYS]]
// CHECK: %[[SUM:.*]] = hopper.reduce add %[[STATE]]#2
// CHECK: %[[INDEX:.*]] = hopper.position %{{.*}}
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]],
// CHECK: %[[POSITIVE:.*]] = arith.select %[[EMPTY]],
// CHECK: %[[LOG:.*]] = math.log2 %[[POSITIVE]]
// CHECK: %[[L:.*]] = arith.addf %[[STATE]]#1, %[[LOG]]
// CHECK: %[[LSEPART:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[L]]
// CHECK: hopper.store_rows %[[LSEPART]], %[[LSES]][%[[B:.*]], %[[H:.*]], %[[R:.*]], %[[INDEX]]] dim 2 end %[[END:.*]] :
// CHECK: scf.if %[[HASKEYS]] {
// CHECK:   %[[ROWS:.*]] = arith.mulf %[[STATE]]#0,
// CHECK:   hopper.store_rows %[[ROWS]], %[[PARTS]][%[[B]], %[[H]], %[[R]], %[[INDEX]]] dim 2 end %[[END]] : vector<96x64xf32>
// CHECK: }
// CHECK-NOT: hopper.store
func.func @plain(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x96xbf16>)
    -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %oi = tensor.empty(%b, %h, %s) : tensor<?x?x?x96xbf16>
  %li = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %o, %l = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 208, thread_blocks = 2, split_keys>
      ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x96xbf16>)
      outs(%oi, %li : tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>)
  return %o, %l : tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>
}

// -----

// By class, with several warpgroups, another order of dimensions, and tables of
// the mask, before which those of parts do not come.

// CHECK-LABEL: gpu.func @documents_merge(
// CHECK-SAME: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 12 : i64}
// CHECK-SAME: kernel attributes {hopper.merge = 1 : i64
// CHECK: hopper.merge %{{.*}}, %{{.*}}[%[[B:.*]], %[[H:.*]], %[[R:.*]]] into %{{.*}}[%[[B]], %[[R]], %[[H]], %{{.*}}] dim 3 :
// CHECK-LABEL: gpu.func @documents(
// CHECK-SAME: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 12 : i64}
// CHECK: %[[KEYS:.*]] = hopper.get %{{.*}} : <{{.*}}, notes>
// CHECK: hopper.store_rows %{{.*}} : vector<1x64xf32>
// CHECK: scf.if
// CHECK: hopper.store_rows %{{.*}} : vector<64x64xf32>
func.func @documents(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x2x64xf16>, %v: tensor<?x?x2x64xf16>, %ids: tensor<?xi32>,
                     %o: tensor<?x?x4x64xf16>) -> tensor<?x?x4x64xf16> {
  %r = attn.attention layout(bshd) schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 208, split_keys>
      ins(%q, %k, %v : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>)
      captures(%ids : tensor<?xi32>) outs(%o : tensor<?x?x4x64xf16>)
      mask(%b, %h, %i, %j, %c) {
    %x = tensor.extract %c[%i] : tensor<?xi32>
    %y = tensor.extract %c[%j] : tensor<?xi32>
    %p = arith.cmpi eq, %x, %y : i32
    attn.yield %p : i1
  }
  return %r : tensor<?x?x4x64xf16>
}
