// RUN: attn-opt %s --attn-hopper-assign-schedule | FileCheck %s

// The widest of the head dimensions and whether there is a mask decide.

// CHECK-LABEL: func @narrow
// CHECK: schedule #hopper.schedule<tile_m = {{[0-9]+}}, tile_n = {{[0-9]+}}, stages = {{[124]}}, registers = {{[0-9]+}}, head_swizzle = 1
// CHECK-NOT: longest_first
// CHECK: return
func.func @narrow(%q: tensor<1x1x?x64xbf16>, %o: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%o : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// Under a mask, the tiles of the last queries, which have more keys under a
// causal one, come first.

// CHECK-LABEL: func @masked
// CHECK: schedule #hopper.schedule<{{.*}}head_swizzle = {{[0-9]+}}, head_swizzle_keys = {{[0-9]+}}, longest_first
func.func @masked(%q: tensor<1x1x?x128xf16>, %o: tensor<1x1x?x128xf16>) -> tensor<1x1x?x128xf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>)
      outs(%o : tensor<1x1x?x128xf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x128xf16>
}

// What has one dimension of 256 has the schedule of what has two.

// CHECK-LABEL: func @wide_keys
// CHECK: schedule #hopper.schedule<[[WIDE:tile_m = 128, .*]]>
// CHECK-LABEL: func @wide_values
// CHECK: schedule #hopper.schedule<[[WIDE]]>
// CHECK-LABEL: func @wide
// CHECK: schedule #hopper.schedule<[[WIDE]]>
func.func @wide_keys(%q: tensor<1x1x?x256xbf16>, %v: tensor<1x1x?x8xbf16>) -> tensor<1x1x?x8xbf16> {
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x8xbf16>)
      outs(%v : tensor<1x1x?x8xbf16>)
  return %r : tensor<1x1x?x8xbf16>
}
func.func @wide_values(%q: tensor<1x1x?x8xbf16>, %v: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x8xbf16>, tensor<1x1x?x8xbf16>, tensor<1x1x?x256xbf16>)
      outs(%v : tensor<1x1x?x256xbf16>)
  return %r : tensor<1x1x?x256xbf16>
}
func.func @wide(%q: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>)
      outs(%q : tensor<1x1x?x256xbf16>)
  return %r : tensor<1x1x?x256xbf16>
}

// A bias that is affine in the key is part of the product, also in pieces, and
// one of the square of the distance is not.

// CHECK-LABEL: func @alibi
// CHECK: schedule #hopper.schedule<{{.*}}, bias_in_product>
// CHECK-LABEL: func @absolute
// CHECK: schedule #hopper.schedule<{{.*}}, bias_in_product>
// CHECK-LABEL: func @square
// CHECK-NOT: bias_in_product
// CHECK: return
func.func @alibi(%q: tensor<1x1x?x64xbf16>, %slope: f32) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      captures(%slope : f32) outs(%q : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %x) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %bias = arith.mulf %x, %df : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}
func.func @absolute(%q: tensor<1x1x?x64xbf16>, %slope: f32) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      captures(%slope : f32) outs(%q : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %x) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %a = math.absi %di : i32
        %df = arith.sitofp %a : i32 to f32
        %bias = arith.mulf %x, %df : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}
func.func @square(%q: tensor<1x1x?x64xbf16>, %slope: f32) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      captures(%slope : f32) outs(%q : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %x) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %a = arith.muli %di, %di : i32
        %df = arith.sitofp %a : i32 to f32
        %bias = arith.mulf %x, %df : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}

// A schedule that is there stays.

// CHECK-LABEL: func @kept
// CHECK: schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 4, registers = 56, head_swizzle = 3, persistent>
func.func @kept(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 4, registers = 56, head_swizzle = 3, persistent>
      ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// The state of an attention that goes on has a schedule, too.

// CHECK-LABEL: func @online
// CHECK: attn.online_attention scale 1.250000e-01 schedule #hopper.schedule<
func.func @online(%q: tensor<1x1x?x64xbf16>, %o: tensor<1x1x?x64xf32>, %l: tensor<1x1x?xf32>) -> tensor<1x1x?x64xf32> {
  %r:3 = attn.online_attention scale 0.125 ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%o, %l, %l : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
  return %r#0 : tensor<1x1x?x64xf32>
}

// -----

// With lists of keys, as many threads share a row as read it at once, but at
// most eight.

// CHECK-LABEL: func.func @lists
// CHECK: attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 4>
// CHECK: attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
func.func @lists(%q: tensor<1x2x?x24xbf16>, %f: tensor<1x2x?x64xf32>, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> (tensor<1x2x?x24xbf16>, tensor<1x2x?x64xf32>) {
  %r = attn.attention ins(%q, %q, %q : tensor<1x2x?x24xbf16>, tensor<1x2x?x24xbf16>, tensor<1x2x?x24xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%q : tensor<1x2x?x24xbf16>)
  %s = attn.attention ins(%f, %f, %f : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%f : tensor<1x2x?x64xf32>)
  return %r, %s : tensor<1x2x?x24xbf16>, tensor<1x2x?x64xf32>
}

// A score of a bias alone asks for the product, as kernels start from one.

// CHECK-LABEL: func @bias
// CHECK: score(%[[S:[^ ]*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[C:.*]]) {
// CHECK: %[[B:.*]] = tensor.extract %[[C]][%[[I]], %[[J]]]
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[J]], %{{.*}} : index
// CHECK: %[[Y:.*]] = arith.select %[[IS]], %[[B]], %[[S]] : f32
// CHECK: attn.yield %[[Y]]
func.func @bias(%q: tensor<1x1x?x64xbf16>, %w: tensor<?x?xf32>, %o: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      captures(%w : tensor<?x?xf32>)
      outs(%o : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        %y = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}

// So does one that does nothing with it, and an adjoint that the gradients of
// scores are lost in.

// CHECK-LABEL: func @lost
// CHECK: score(%[[S:[^ ]*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[J:[^ ]*]]) {
// CHECK: %[[Y:.*]] = arith.select %{{.*}}, %{{.*}}, %[[S]] : f32
// CHECK: attn.yield %[[Y]]
// CHECK: adjoint(%[[X:[^ ]*]], %[[DS:[^ ]*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[J:[^ ]*]]) {
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[J]], %{{.*}} : index
// CHECK: %[[DX:.*]] = arith.select %[[IS]], %{{.*}}, %[[DS]] : f32
// CHECK: attn.yield %[[DX]]
func.func @lost(%q: tensor<1x1x?x64xbf16>, %l: tensor<1x1x?xf32>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention_grad wrt(q) ins(%q, %q, %q, %q, %l, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?xf32>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %unused = arith.addf %s, %one : f32
        attn.yield %one : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j) {
        %zero = arith.constant 0.0 : f32
        attn.yield %zero : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}

// One inside of a branch is enough.

// CHECK-LABEL: func @branch
// CHECK: score
// CHECK-NOT: arith.select
// CHECK: adjoint
// CHECK-NOT: arith.select
// CHECK: return
func.func @branch(%q: tensor<1x1x?x64xbf16>, %l: tensor<1x1x?xf32>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention_grad wrt(q) ins(%q, %q, %q, %q, %l, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?xf32>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %is = arith.cmpi sle, %j, %i : index
        %y = scf.if %is -> f32 {
          %t = arith.addf %s, %s : f32
          scf.yield %t : f32
        } else {
          scf.yield %one : f32
        }
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j) {
        %zero = arith.constant 0.0 : f32
        %is = arith.cmpi sle, %j, %i : index
        %dx = scf.if %is -> f32 {
          %t = arith.addf %ds, %ds : f32
          scf.yield %t : f32
        } else {
          scf.yield %zero : f32
        }
        attn.yield %dx : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}

// What no matrix instruction takes is computed query by query, as many at a
// time as there are registers for; of long rows fewer, by more lanes.

// CHECK-LABEL: func @keys
// CHECK: schedule #attn.row_schedule<rows = 32, tile_n = 32, lanes = 8, queries = 8>
func.func @keys(%q: tensor<1x1x?x60xbf16>, %v: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x60xbf16>, tensor<1x1x?x60xbf16>, tensor<1x1x?x64xbf16>)
      outs(%v : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// CHECK-LABEL: func @values
// CHECK: schedule #attn.row_schedule<rows = 16, tile_n = 32, lanes = 16, queries = 4>
func.func @values(%q: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x264xbf16>) -> tensor<1x1x?x264xbf16> {
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x264xbf16>)
      outs(%v : tensor<1x1x?x264xbf16>)
  return %r : tensor<1x1x?x264xbf16>
}

// CHECK-LABEL: func @floats
// CHECK: schedule #attn.row_schedule<rows = 32, tile_n = 32, lanes = 8, queries = 8>
func.func @floats(%q: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%q : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}
