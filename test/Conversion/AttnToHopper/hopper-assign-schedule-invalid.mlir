// RUN: attn-opt %s --split-input-file --attn-hopper-assign-schedule --verify-diagnostics

// A schedule of tiles does not help.
func.func @scheduled(%q: tensor<1x1x?x4xbf16>) -> tensor<1x1x?x4xbf16> {
  // expected-error@+1 {{expects head dimensions that are multiples of 8 for tiles on a GPU, of values up to 256 and of queries up to 576, of gradients and lists of keys up to 256, but got 4 and 4; leave the choice of a schedule and of a form to the compiler}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>)
      outs(%q : tensor<1x1x?x4xbf16>)
  return %r : tensor<1x1x?x4xbf16>
}

// The target has no registers for that.

// -----

!t = tensor<1x1x?x64xbf16>
func.func @registers(%q: !t) -> !t {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the producer, but got 248, which leave 8}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 248, head_swizzle = 1>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @registers(%q: !t) -> !t {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the producer, but got 168, which leave 8}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 128, stages = 2, registers = 168, head_swizzle = 1>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @registers(%q: !t) -> !t {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the producer, but got 120, which leave 0}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 256, tile_n = 128, stages = 2, registers = 120, head_swizzle = 1>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @registers(%q: !t) -> !t {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the producer, but got 144, which leave 16}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 144, min_ctas_per_sm = 3>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @registers(%q: !t) -> !t {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the producer, but got 248, which leave 8}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 248, order = [qk, pv], partitions = {pv = second}>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

// One with more has them.
!t = tensor<1x1x?x64xbf16>
module attributes {attn.target = #attn.target<"sm_large", sms = 1, sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024,
    sm_registers = 131072, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true>} {
  func.func @many_registers(%q: !t) -> !t {
    %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 248, head_swizzle = 1>
        ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
    return %r : !t
  }
}


// -----

// Scores, results and probabilities are in registers at the same time.
!t = tensor<1x1x?x128xbf16>
func.func @tiles(%q: !t) -> !t {
  // expected-error@+1 {{expects a schedule with tiles of which a thread has its part in 112 registers, but of scores it has 128, of results 64, of probabilities 64; take a smaller tile_n or more registers, or leave the choice of a schedule to the compiler}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 256, tile_n = 256, stages = 1, registers = 112>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>
func.func @queries(%q: !t) -> !t {
  // expected-error@+1 {{in 152 registers, but of scores it has 64, of results 64, of queries 32;}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 1, registers = 152, q_in_registers, order = [load_k, qk, softmax, load_v, pv]>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

// Without queries or a second product beside the first, they may fit; the
// assembler tells.
!t = tensor<1x1x?x128xbf16>
func.func @one_by_one(%q: !t) -> !t {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 1, registers = 152, order = [load_k, qk, softmax, load_v, pv]>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

// Nothing is carried from block to block if there is one.
!t = tensor<1x1x128x128xbf16>
func.func @one_block(%q: !t) -> !t {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 1, registers = 152>
      ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>
!l = tensor<1x1x?xf32>
func.func @lse_alone(%q: !t, %l: !l) -> !l {
  %r, %lse = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 1, registers = 152>
      ins(%q, %q, %q : !t, !t, !t) outs(%q, %l : !t, !l)
  return %lse : !l
}
