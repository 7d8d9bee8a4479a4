// RUN: attn-opt %s --attn-hopper-assign-schedule=list --split-input-file 2>&1 | FileCheck %s

// Attentions whose heads may share keys have a schedule with tiles of several
// heads.

// CHECK: schedule: {{.*}}pack_gqa>
// CHECK: for any strides
func.func @any(%q: tensor<2x?x?x128xbf16>, %k: tensor<2x?x?x128xbf16>, %o: tensor<2x?x?x128xbf16>) -> tensor<2x?x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x?x?x128xbf16>, tensor<2x?x?x128xbf16>, tensor<2x?x?x128xbf16>)
      outs(%o : tensor<2x?x?x128xbf16>)
  return %r : tensor<2x?x?x128xbf16>
}

// -----

// CHECK: schedule: {{.*}}pack_gqa>
// CHECK: for any strides
func.func @known(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x8x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x8x?x64xbf16>
}

// -----

// CHECK: schedule: {{.*}}pack_gqa>
// CHECK: for any strides
func.func @few_queries(%q: tensor<2x8x256x256xbf16>, %k: tensor<2x2x?x256xbf16>, %o: tensor<2x8x256x256xbf16>) -> tensor<2x8x256x256xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x256x256xbf16>, tensor<2x2x?x256xbf16>, tensor<2x2x?x256xbf16>)
      outs(%o : tensor<2x8x256x256xbf16>)
  return %r : tensor<2x8x256x256xbf16>
}

// -----

// A score may depend on the head.

// CHECK: schedule: {{.*}}pack_gqa>
// CHECK: for any strides
func.func @by_head(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x?x128xbf16>, %c: tensor<8xf32>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      captures(%c : tensor<8xf32>)
      outs(%o : tensor<2x8x?x128xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h] : tensor<8xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x8x?x128xbf16>
}

// -----

// Not where it takes long to compile and may be of no use.

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @large(%q: tensor<2x?x?x136xbf16>, %k: tensor<2x?x?x136xbf16>, %o: tensor<2x?x?x136xbf16>) -> tensor<2x?x?x136xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x?x?x136xbf16>, tensor<2x?x?x136xbf16>, tensor<2x?x?x136xbf16>)
      outs(%o : tensor<2x?x?x136xbf16>)
  return %r : tensor<2x?x?x136xbf16>
}

// -----

// All have keys of their own, or groups have an odd number.

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @no_group(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x8x?x128xbf16>, %o: tensor<2x8x?x128xbf16>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
      outs(%o : tensor<2x8x?x128xbf16>)
  return %r : tensor<2x8x?x128xbf16>
}

// -----

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @odd_group(%q: tensor<2x6x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x6x?x128xbf16>) -> tensor<2x6x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      outs(%o : tensor<2x6x?x128xbf16>)
  return %r : tensor<2x6x?x128xbf16>
}

// -----

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @no_heads(%q: tensor<2x0x?x128xbf16>, %k: tensor<2x0x?x128xbf16>, %o: tensor<2x0x?x128xbf16>) -> tensor<2x0x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x0x?x128xbf16>, tensor<2x0x?x128xbf16>, tensor<2x0x?x128xbf16>)
      outs(%o : tensor<2x0x?x128xbf16>)
  return %r : tensor<2x0x?x128xbf16>
}

// -----

// Tiles of one head are full.

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @many_queries(%q: tensor<2x8x257x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x257x128xbf16>) -> tensor<2x8x257x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x257x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      outs(%o : tensor<2x8x257x128xbf16>)
  return %r : tensor<2x8x257x128xbf16>
}

// -----

// Bounds are those of one head, classes of tiles, too, and captures by head and
// key are read in tiles of one head.

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @mask_by_head(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x?x128xbf16>, %c: tensor<8xindex>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      captures(%c : tensor<8xindex>)
      outs(%o : tensor<2x8x?x128xbf16>)
      mask(%b, %h, %i, %j, %c) {
        %n = tensor.extract %c[%h] : tensor<8xindex>
        %p = arith.cmpi slt, %j, %n : index
        attn.yield %p : i1
      }
  return %r : tensor<2x8x?x128xbf16>
}

// -----

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @documents(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x?x128xbf16>, %c: tensor<?xi32>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      captures(%c : tensor<?xi32>)
      outs(%o : tensor<2x8x?x128xbf16>)
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i] : tensor<?xi32>
        %y = tensor.extract %c[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : tensor<2x8x?x128xbf16>
}

// -----

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @by_head_and_key(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x?x128xbf16>, %c: tensor<8x?xf32>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      captures(%c : tensor<8x?xf32>)
      outs(%o : tensor<2x8x?x128xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h, %j] : tensor<8x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x8x?x128xbf16>
}

// -----

// CHECK-NOT: pack_gqa
// CHECK: for any strides
func.func @sparsity(%q: tensor<2x8x?x128xbf16>, %k: tensor<2x2x?x128xbf16>, %o: tensor<2x8x?x128xbf16>, %c: tensor<2x8x?x?xi1>) -> tensor<2x8x?x128xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x8x?x128xbf16>, tensor<2x2x?x128xbf16>, tensor<2x2x?x128xbf16>)
      sparsity(#attn.sparsity<bits, block = 128x128> %c : tensor<2x8x?x?xi1>)
      outs(%o : tensor<2x8x?x128xbf16>)
  return %r : tensor<2x8x?x128xbf16>
}
