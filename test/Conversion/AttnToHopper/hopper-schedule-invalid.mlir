// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --split-input-file --verify-diagnostics

// expected-error@+1 {{expects an attention, but 'none' has none; run with --target=cpu}}
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @no_schedule(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expects a schedule for a GPU: run attn-hopper-assign-schedule}}
  %r = scf.forall (%t) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%t] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%t] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

// -----

func.func @schedule_of_cpu(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  // expected-error@+1 {{expects a #hopper.schedule for a GPU, but got #attn.schedule<tile_m = 16}}
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// -----

func.func @two(%q: tensor<1x1x?x64xbf16>, %k: tensor<1x1x?x64xbf16>) -> (tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>) {
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %k, %k : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
  // expected-error@+1 {{expects one attention in a function for a GPU; make it two functions, or run with --target=cpu}}
  %1 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%k, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%k : tensor<1x1x?x64xbf16>)
  return %0, %1 : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>
}

// -----

func.func @other_work(%q: tensor<1x1x?x64xbf16>, %x: tensor<4xf32>) -> (tensor<1x1x?x64xbf16>, tensor<4xf32>) {
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      outs(%q : tensor<1x1x?x64xbf16>)
  %one = arith.constant 1.0 : f32
  // expected-error@+1 {{expects nothing but attention in a function for a GPU, but got 'linalg.fill'; run with --target=cpu}}
  %1 = linalg.fill ins(%one : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<1x1x?x64xbf16>, tensor<4xf32>
}

// -----

func.func @single(%q: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  // expected-error@+1 {{expects queries of bf16 or f16 on a GPU, but got 'f32'; convert it, or run with --target=cpu}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%q : tensor<1x1x?x64xf32>)
  return %0 : tensor<1x1x?x64xf32>
}

// -----

func.func @computed_queries(%q: tensor<1x1x32x64xbf16>, %k: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %n = arith.negf %q : tensor<1x1x32x64xbf16>
  // expected-error@+1 {{expects queries to be an argument of 'computed_queries', so that a GPU kernel can read or write it in place; compute it in a function of its own, or run with --target=cpu}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%n, %k, %k : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      outs(%q : tensor<1x1x32x64xbf16>)
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

func.func @computed_keys(%q: tensor<1x1x32x64xbf16>, %k: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %n = arith.negf %k : tensor<1x1x32x64xbf16>
  // expected-error@+1 {{expects keys to be an argument of 'computed_keys'}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %n, %k : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      outs(%q : tensor<1x1x32x64xbf16>)
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

func.func @computed_values(%q: tensor<1x1x32x64xbf16>, %k: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %n = arith.negf %k : tensor<1x1x32x64xbf16>
  // expected-error@+1 {{expects values to be an argument of 'computed_values'}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %k, %n : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      outs(%q : tensor<1x1x32x64xbf16>)
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

func.func @computed_capture(%q: tensor<1x1x32x64xbf16>, %x: tensor<32xf32>) -> tensor<1x1x32x64xbf16> {
  %n = arith.negf %x : tensor<32xf32>
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      captures(%n : tensor<32xf32>)
      outs(%q : tensor<1x1x32x64xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        // expected-error@+1 {{expects a capture that is an argument of the function; run with --target=cpu}}
        %y = tensor.extract %c[%j] : tensor<32xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

// A state that an earlier part of the keys has left.
func.func @state(%q: tensor<1x1x32x64xbf16>, %acc: tensor<1x1x32x64xf32>, %max: tensor<1x1x32xf32>, %sum: tensor<1x1x32xf32>)
    -> (tensor<1x1x32x64xf32>, tensor<1x1x32xf32>, tensor<1x1x32xf32>) {
  // expected-error@+1 {{expects a loop over tiles of keys as attn-tile makes it, but it continues a state, which GPU kernels do not}}
  %0:3 = attn.online_attention scale 0.125 schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      outs(%acc, %max, %sum : tensor<1x1x32x64xf32>, tensor<1x1x32xf32>, tensor<1x1x32xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x1x32x64xf32>, tensor<1x1x32xf32>, tensor<1x1x32xf32>
}

// -----

// Loops that are not what attn-tile makes.

func.func @no_loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expects one loop over tiles of keys on a GPU, but got 0, as no key is allowed; run with --target=cpu}}
  %r = scf.forall (%t) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%t] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%t] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  } {attn.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>}
  return %r : tensor<4xf32>
}

// -----

func.func @no_step(%x: tensor<4xf32>, %lo: index) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %r = scf.forall (%t) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%t] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %v = tensor.extract %x[%lo] : tensor<4xf32>
    // expected-error@+1 {{expects a loop over tiles of keys as attn-tile makes it, but it has no single step of the softmax}}
    %y = scf.for %i = %lo to %t step %c1 iter_args(%z = %s) -> (tensor<1xf32>) {
      %a = tensor.insert %v into %z[%lo] : tensor<1xf32>
      scf.yield %a : tensor<1xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%t] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  } {attn.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>}
  return %r : tensor<4xf32>
}

// -----

func.func @no_form(%q: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>, tensor<1x1x32x64xbf16>)
      outs(%q : tensor<1x1x32x64xbf16>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'arith.addui_extended' has no form in a GPU kernel; run with --target=cpu}}
        %sum, %carry = arith.addui_extended %i, %j : index, i1
        attn.yield %carry : i1
      }
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

// The rows of a tile before the first one would be those of the first.
func.func @overlap_of_one_tile(%q: tensor<1x4x100x64xbf16>, %k: tensor<1x4x?x64xbf16>, %o: tensor<1x4x100x64xbf16>) -> tensor<1x4x100x64xbf16> {
  // expected-error@+1 {{expects more queries than tile_m with overlap_tiles, or a number that is not known; leave out overlap_tiles}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, q_in_registers, overlap_tiles>
      ins(%q, %k, %k : tensor<1x4x100x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      outs(%o : tensor<1x4x100x64xbf16>)
  return %r : tensor<1x4x100x64xbf16>
}
