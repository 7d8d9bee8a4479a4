// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-outline --verify-diagnostics

// Tables have an entry for each Q block that starts at a multiple of
// its size.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, short_first, persistent>
!t = tensor<2x4x?x64xbf16>

func.func @documents(%q: !t, %k: !t, %v: !t, %o: !t, %doc: tensor<2x?xi32>) -> !t {
  // expected-error @+1 {{expects a schedule without short_first where the blocks of a work tile are found from data, but got #hopper.schedule<}}
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : !t)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : !t
}
