// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-pack-gqa --split-input-file --verify-diagnostics

!q = tensor<2x8x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
func.func @head(%q: !q, %k: !k, %oi: !q, %n: tensor<8xi32>) -> !q {
  // expected-error@+1 {{expects bounds of keys that are those of all heads with pack_gqa, but got some that depend on the head; leave out pack_gqa}}
  %o = attn.attention schedule #s ins(%q, %k, %k : !q, !k, !k) captures(%n : tensor<8xi32>) outs(%oi : !q)
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h] : tensor<8xi32>
        %y = arith.index_cast %x : i32 to index
        %p = arith.cmpi slt, %j, %y : index
        attn.yield %p : i1
      }
  return %o : !q
}

// -----

!q = tensor<2x8x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
func.func @documents(%q: !q, %k: !k, %oi: !q, %n: tensor<?xi32>) -> !q {
  // expected-error@+1 {{expects a mask whose keys are one interval with pack_gqa, but got a tiles region; leave out pack_gqa}}
  %o = attn.attention schedule #s ins(%q, %k, %k : !q, !k, !k) captures(%n : tensor<?xi32>) outs(%oi : !q)
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i] : tensor<?xi32>
        %y = tensor.extract %c[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %o : !q
}

// -----

!q = tensor<2x8x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
func.func @sparsity(%q: !q, %k: !k, %oi: !q, %bits: tensor<2x8x?x?xi1>) -> !q {
  // expected-error@+1 {{expects no sparsity with pack_gqa, but got one; leave out pack_gqa}}
  %o = attn.attention schedule #s ins(%q, %k, %k : !q, !k, !k)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<2x8x?x?xi1>) outs(%oi : !q)
  return %o : !q
}

// -----

func.func @state(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %a: tensor<2x8x?x64xf32>, %m: tensor<2x8x?xf32>)
    -> (tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>) {
  // expected-error@+1 {{expects a state that one attn.finalize takes with pack_gqa, but got another use; leave out pack_gqa}}
  %r:3 = attn.online_attention scale 1.250000e-01 schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
      ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%a, %m, %m : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>)
  return %r#0, %r#1, %r#2 : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>
}

// -----

func.func @start(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %a: tensor<2x8x?x64xf32>, %m: tensor<2x8x?xf32>, %oi: tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16> {
  // expected-error@+1 {{expects a state that starts filled with pack_gqa, but got another one; leave out pack_gqa}}
  %r:3 = attn.online_attention scale 1.250000e-01 schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
      ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%a, %m, %m : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>)
  %o = attn.finalize ins(%r#0, %r#1, %r#2 : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>) outs(%oi : tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16>
  return %o : tensor<2x8x?x64xbf16>
}

// -----

func.func @offsets(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %a: tensor<2x8x?x64xf32>, %m: tensor<2x8x?xf32>, %x: index)
    -> (tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>) {
  // expected-error@+1 {{expects an attention that starts at 0 with pack_gqa, but got offsets; leave out pack_gqa}}
  %r:3 = attn.online_attention scale 1.250000e-01 schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
      ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      offsets(%x, %x, %x, %x)
      outs(%a, %m, %m : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>)
  return %r#0, %r#1, %r#2 : tensor<2x8x?x64xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>
}
