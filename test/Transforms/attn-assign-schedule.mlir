// RUN: attn-opt %s --attn-assign-schedule="vector-bits=512 vector-registers=32 l1-bytes=49152" | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: attn-opt %s --attn-assign-schedule="vector-bits=256 vector-registers=16 l1-bytes=32768" | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: not attn-opt %s --attn-assign-schedule="vector-bits=32" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: expects vector-bits of at least 64, and vector-registers and l1-bytes of at least 1

// CHECK-LABEL: func @f32
// WIDE: schedule<tile_m = 96, tile_n = 64, lanes = 16, unroll_m = 3, unroll_n = 8>
// NARROW: schedule<tile_m = 48, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
func.func @f32(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}

// Doubles are twice as wide, and wide heads leave less room in the cache.

// CHECK-LABEL: func @f64
// WIDE: schedule<tile_m = 24, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 8>
// NARROW: schedule<tile_m = 12, tile_n = 64, lanes = 4, unroll_m = 3, unroll_n = 4>
func.func @f64(%q: tensor<1x1x?x512xf64>, %o: tensor<1x1x?x512xf64>) -> tensor<1x1x?x512xf64> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x512xf64>, tensor<1x1x?x512xf64>, tensor<1x1x?x512xf64>)
      outs(%o : tensor<1x1x?x512xf64>)
  return %r : tensor<1x1x?x512xf64>
}

// A schedule that is there stays.

// CHECK-LABEL: func @kept
// CHECK: schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
func.func @kept(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}

// Blocks that a mask tells apart: tiles divide them, down to one vector of queries and 16 keys.

// CHECK-LABEL: func @blocks
// WIDE: schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6>
// NARROW: schedule<tile_m = 32, tile_n = 32, lanes = 8, unroll_m = 4, unroll_n = 3>
func.func @blocks(%q: tensor<1x1x?x64xf32>, %bits: tensor<?x?xi1>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      captures(%bits : tensor<?x?xi1>)
      outs(%o : tensor<1x1x?x64xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c64 = arith.constant 64 : index
        %c5 = arith.constant 5 : index
        %x = arith.divui %i, %c64 : index
        %y = arith.shrui %j, %c5 : index
        %p = tensor.extract %w[%x, %y] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xf32>
}

// CHECK-LABEL: func @small_blocks
// WIDE: schedule<tile_m = 16, tile_n = 16, lanes = 16, unroll_m = 1, unroll_n = 16>
// NARROW: schedule<tile_m = 16, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 6>
func.func @small_blocks(%q: tensor<1x1x?x64xf32>, %bits: tensor<?x?xi1>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      captures(%bits : tensor<?x?xi1>)
      outs(%o : tensor<1x1x?x64xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c16 = arith.constant 16 : index
        %x = arith.divui %i, %c16 : index
        %y = arith.divui %j, %c16 : index
        %p = tensor.extract %w[%x, %y] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xf32>
}

// Blocks that no tile divides, and those that tiles of the usual size do.

// CHECK-LABEL: func @other_blocks
// WIDE: schedule<tile_m = 96, tile_n = 64, lanes = 16, unroll_m = 3, unroll_n = 8>
// NARROW: schedule<tile_m = 48, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
func.func @other_blocks(%q: tensor<1x1x?x64xf32>, %bits: tensor<?x?xi1>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      captures(%bits : tensor<?x?xi1>)
      outs(%o : tensor<1x1x?x64xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c96 = arith.constant 96 : index
        %c10 = arith.constant 10 : index
        %x = arith.divui %i, %c96 : index
        %y = arith.divui %j, %c10 : index
        %p = tensor.extract %w[%x, %y] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xf32>
}

// A query that has a list of keys is a tile of its own.

// CHECK-LABEL: func @lists
// WIDE: schedule #attn.row_schedule<rows = 16, tile_n = 64, lanes = 16>
// NARROW: schedule #attn.row_schedule<rows = 16, tile_n = 32, lanes = 8>
func.func @lists(%q: tensor<1x1x?x64xbf16>, %o: tensor<1x1x?x64xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// One query, as in decoding, and up to a vector of them: vectors lie along keys
// and columns.
// CHECK-LABEL: func @one
// CHECK: schedule<tile_m = 1, tile_n = 128, lanes = {{16|8}}, unroll_m = 1, unroll_n = 4>
func.func @one(%q: tensor<1x1x1x64xf32>, %k: tensor<1x1x?x64xf32>, %o: tensor<1x1x1x64xf32>) -> tensor<1x1x1x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x1x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x1x64xf32>)
  return %r : tensor<1x1x1x64xf32>
}

// Tiles of keys lie in blocks of the mask.
// CHECK-LABEL: func @half
// WIDE: schedule<tile_m = 6, tile_n = 96, lanes = 16, unroll_m = 2, unroll_n = 4>
// NARROW: schedule<tile_m = 4, tile_n = 96, lanes = 8, unroll_m = 4, unroll_n = 4>
func.func @half(%q: tensor<1x1x6x64xf32>, %k: tensor<1x1x?x64xf32>, %o: tensor<1x1x6x64xf32>, %b: tensor<?x?xi1>) -> tensor<1x1x6x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x6x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      sparsity(#attn.sparsity<bits, block = 64x96> %b : tensor<?x?xi1>)
      outs(%o : tensor<1x1x6x64xf32>)
  return %r : tensor<1x1x6x64xf32>
}

// More of them: tiles have no more vectors than there are, and registers are
// for more keys.
// CHECK-LABEL: func @few
// WIDE: schedule<tile_m = 32, tile_n = 64, lanes = 16, unroll_m = 2, unroll_n = 12>
// NARROW: schedule<tile_m = 24, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
func.func @few(%q: tensor<1x1x20x64xf32>, %k: tensor<1x1x?x64xf32>, %o: tensor<1x1x20x64xf32>) -> tensor<1x1x20x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x20x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x20x64xf32>)
  return %r : tensor<1x1x20x64xf32>
}

// Where only a call tells how many queries there are, both forms stand in the
// program; the state and what alone reads it go together.

// CHECK-LABEL: func @either
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x1x?x64xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[Q]]
// WIDE: %[[MOST:.*]] = arith.constant 48 : index
// NARROW: %[[MOST:.*]] = arith.constant 24 : index
// CHECK: %[[MANY:.*]] = arith.cmpi ugt, %[[N]], %[[MOST]]
// CHECK: %[[R:.*]] = scf.if %[[MANY]] -> (tensor<1x1x?x64xf32>) {
// WIDE: attn.online_attention scale 1.0{{.*}} schedule<tile_m = 96,
// NARROW: attn.online_attention scale 1.0{{.*}} schedule<tile_m = 48,
// CHECK: %[[X:.*]] = attn.finalize
// CHECK: scf.yield %[[X]]
// CHECK: } else {
// WIDE: attn.online_attention scale 1.0{{.*}} schedule<tile_m = 8, tile_n = 128, lanes = 16, unroll_m = 4, unroll_n = 4>
// NARROW: attn.online_attention scale 1.0{{.*}} schedule<tile_m = 4, tile_n = 128, lanes = 8, unroll_m = 4, unroll_n = 4>
// CHECK: %[[Y:.*]] = attn.finalize
// CHECK: scf.yield %[[Y]]
// CHECK: return %[[R]]
func.func @either(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>, %s: tensor<1x1x?xf32>) -> tensor<1x1x?x64xf32> {
  %a:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o, %s, %s : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
  %r = attn.finalize
      ins(%a#0, %a#1, %a#2 : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      outs(%o : tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32>
  return %r : tensor<1x1x?x64xf32>
}

// A state that is a result, or that others read, has both forms on its own.

// CHECK-LABEL: func @state
// CHECK: scf.if {{.*}} -> (tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>) {
// CHECK: attn.online_attention
// CHECK: } else {
// CHECK: attn.online_attention
func.func @state(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>, %s: tensor<1x1x?xf32>) -> (tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>) {
  %a:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o, %s, %s : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
  return %a#0, %a#1, %a#2 : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>
}
