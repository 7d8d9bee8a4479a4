// RUN: attn-opt %s --attn-destination-arguments --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-outline --split-input-file --verify-diagnostics

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, order = [load_k, qk, softmax, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
func.func @gaps(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects all tiles within the loop's bounds to be needed for a schedule with an order; leave out the order}}
  %r = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) {
        %c200 = arith.constant 200 : index
        %c4 = arith.constant 4 : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi sle, %d, %c200 : index
        %past = arith.cmpi sle, %j, %i : index
        %window = arith.andi %near, %past : i1
        %first = arith.cmpi slt, %j, %c4 : index
        %p = arith.ori %window, %first : i1
        attn.yield %p : i1
      }
  return %r : !t
}

// -----

#split = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, split_keys, order = [load_k, qk, softmax, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
func.func @split(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects a schedule with an order to be without split_keys, overlap_tiles, bias_in_product and capture_stages}}
  %r = attn.attention schedule #split ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, order = [load_k, qk, softmax, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
func.func @around(%q: !t, %o: !t) -> (!t, tensor<4xf32>) {
  // expected-error @+2 {{expects nothing but attention in a function for a GPU, but got 'tensor.generate'}}
  %c1 = arith.constant 1.0 : f32
  %x = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %c1 : f32
  } : tensor<4xf32>
  %r = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r, %x : !t, tensor<4xf32>
}

// -----

// A schedule that does not name a step of the program, or names one that is not
// there.

#short = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, order = [load_k, qk, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
func.func @missing(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects a place in the schedule of the loop for 'softmax'}}
  %r = attn.attention schedule #short ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

#long = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, order = [load_k, qk, softmax, load_v, pv, dq]>
!t = tensor<2x8x?x64xbf16>
func.func @unknown(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects a step 'dq', which its schedule names}}
  %r = attn.attention schedule #long ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

#late = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_group = 1, order = [load_k, qk, load_v, pv, softmax]>
!t = tensor<2x8x?x64xbf16>
func.func @too_early(%q: !t, %o: !t) -> !t {
  // expected-error @+2 {{expects 'pv' to come after 'softmax' in the schedule, as it uses its result}}
  // expected-note @+1 {{which is this step}}
  %r = attn.attention schedule #late ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}
