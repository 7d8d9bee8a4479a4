// RUN: attn-opt %s --attn-hopper-split-gradients --split-input-file | FileCheck %s

// dq has work tiles of its own, with the same operands, and regions.
// CHECK-LABEL: func @wide
// CHECK: %[[Q:.*]] = attn.attention_grad wrt(q)
// CHECK: outs(%arg7 : tensor<1x2x?x256xbf16>)
// CHECK: arith.cmpi sle
// CHECK: %[[K:.*]], %[[V:.*]] = attn.attention_grad wrt(k, v)
// CHECK: outs(%arg8, %arg6 : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>)
// CHECK: arith.cmpi sle
// CHECK: return %[[V]], %[[Q]], %[[K]]
!t = tensor<1x2x?x256xbf16>
!l = tensor<1x2x?xf32>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %dv: !t, %dq: !t, %dk: !t) -> (!t, !t, !t) {
  %r:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !l, !t)
    outs(%dq, %dk, %dv : !t, !t, !t)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %r#2, %r#0, %r#1 : !t, !t, !t
}

// -----

// With 128 columns, keys and values have registers beside parts of dq.
// CHECK-LABEL: func @narrow
// CHECK: attn.attention_grad wrt(q, k)
!t = tensor<1x2x?x128xbf16>
!l = tensor<1x2x?xf32>
func.func @narrow(%x: !t, %lse: !l) -> (!t, !t) {
  %r:2 = attn.attention_grad wrt(q, k)
    ins(%x, %x, %x, %x, %lse, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x : !t, !t)
  return %r#0, %r#1 : !t, !t
}

// -----

// Nor is there anything to do where there is nothing to split off, types have no tiles, or somebody has given a schedule.
// CHECK-LABEL: func @keys
// CHECK: attn.attention_grad wrt(k, v)
// CHECK-LABEL: func @queries
// CHECK: attn.attention_grad wrt(q)
// CHECK-LABEL: func @floats
// CHECK: attn.attention_grad wrt(q, k)
// CHECK-LABEL: func @given
// CHECK: attn.attention_grad schedule {{.*}} wrt(q, k)
!t = tensor<1x2x?x256xbf16>
!f = tensor<1x2x?x256xf32>
!l = tensor<1x2x?xf32>
func.func @keys(%x: !t, %lse: !l) -> (!t, !t) {
  %r:2 = attn.attention_grad wrt(k, v)
    ins(%x, %x, %x, %x, %lse, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x : !t, !t)
  return %r#0, %r#1 : !t, !t
}
func.func @queries(%x: !t, %lse: !l) -> !t {
  %r = attn.attention_grad wrt(q)
    ins(%x, %x, %x, %x, %lse, %x : !t, !t, !t, !t, !l, !t) outs(%x : !t)
  return %r : !t
}
func.func @floats(%x: !f, %lse: !l) -> (!f, !f) {
  %r:2 = attn.attention_grad wrt(q, k)
    ins(%x, %x, %x, %x, %lse, %x : !f, !f, !f, !f, !l, !f) outs(%x, %x : !f, !f)
  return %r#0, %r#1 : !f, !f
}
func.func @given(%x: !t, %lse: !l) -> (!t, !t) {
  %r:2 = attn.attention_grad schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1, registers = 240> wrt(q, k)
    ins(%x, %x, %x, %x, %lse, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x : !t, !t)
  return %r#0, %r#1 : !t, !t
}
