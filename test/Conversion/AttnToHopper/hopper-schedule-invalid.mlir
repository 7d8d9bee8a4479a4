// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --split-input-file --verify-diagnostics

// expected-error@+1 {{expects an attention, but 'none' has none; the target cpu can run it}}
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
  // expected-error@+1 {{expects one attention in a function for a GPU; make it two functions; the target cpu can run it}}
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
  // expected-error@+1 {{expects nothing but attention in a function for a GPU, but got 'linalg.fill'; the target cpu can run it}}
  %1 = linalg.fill ins(%one : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<1x1x?x64xbf16>, tensor<4xf32>
}

// -----

func.func @single(%q: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  // expected-error@+1 {{expects queries of bf16 or f16 on a GPU, but got 'f32'; convert it; the target cpu can run it}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%q : tensor<1x1x?x64xf32>)
  return %0 : tensor<1x1x?x64xf32>
}

// -----

func.func @computed_queries(%q: tensor<1x1x32x64xbf16>, %k: tensor<1x1x32x64xbf16>) -> tensor<1x1x32x64xbf16> {
  %n = arith.negf %q : tensor<1x1x32x64xbf16>
  // expected-error@+1 {{expects queries to be an argument of 'computed_queries', so that a GPU kernel can read or write it in place; compute it in a function of its own; the target cpu can run it}}
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
        // expected-error@+1 {{expects a capture that is an argument of the function; the target cpu can run it}}
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
  // expected-error@+1 {{expects one loop over tiles of keys on a GPU, but got 0; the target cpu can run it}}
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
  %r = scf.forall (%t) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%t] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %v = tensor.extract %x[%lo] : tensor<4xf32>
    // expected-error@+1 {{expects a loop over tiles of keys as attn-tile makes it, but it has no step 'softmax' of masked scores}}
    %y = attn.tile_loop %i = %lo to %t step 1 iter_args(%z = %s) : tensor<1xf32> {
      %a = tensor.insert %v into %z[%lo] : tensor<1xf32>
      attn.yield %a : tensor<1xf32>
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
        // expected-error@+1 {{'arith.addui_extended' has no form in a GPU kernel; the target cpu can run it}}
        %sum, %carry = arith.addui_extended %i, %j : index, i1
        attn.yield %carry : i1
      }
  return %0 : tensor<1x1x32x64xbf16>
}

// -----

#map = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d2, d0)>

// What is done after the last step would have to be done after the merge.
func.func @not_normalised(%arg0: tensor<1x1x64x8xbf16>, %arg1: tensor<1x1x?x8xbf16>, %arg2: tensor<1x1x64x8xbf16>) -> tensor<1x1x64x8xbf16> {
  %cst = arith.constant dense<1.000000e+00> : vector<64xf32>
  %cst_1 = arith.constant dense<0.510069728> : vector<16x64xf32>
  %cst_2 = arith.constant dense<0.000000e+00> : vector<16x64xf32>
  %c16 = arith.constant 16 : index
  %cst_3 = arith.constant 0.000000e+00 : bf16
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %cst_4 = arith.constant dense<0.000000e+00> : vector<64xf32>
  %cst_5 = arith.constant dense<0xFF800000> : vector<64xf32>
  %cst_6 = arith.constant dense<0.000000e+00> : vector<8x64xf32>
  // expected-error@+1 {{expects the results of attn.finalize with split_keys, which can be merged; leave out split_keys}}
  %0 = scf.forall (%arg3, %arg4, %arg5) in (1, 1, 1) shared_outs(%arg6 = %arg2) -> (tensor<1x1x64x8xbf16>) {
    %dim = tensor.dim %arg1, %c2 : tensor<1x1x?x8xbf16>
    %1 = vector.transfer_read %arg0[%c0, %c0, %c0, %c0], %cst_3 {in_bounds = [true, true], permutation_map = #map} : tensor<1x1x64x8xbf16>, vector<8x64xbf16>
    %2 = arith.extf %1 : vector<8x64xbf16> to vector<8x64xf32>
    %3:3 = attn.tile_loop %j = %c0 to %dim step 16 iter_args(%acc = %cst_6, %max = %cst_5, %sum = %cst_4)
        full(%first) within %c0 to %dim {
          %end = arith.addi %first, %c16 : index
          %isFull = arith.cmpi sle, %end, %dim : index
          attn.yield %isFull : i1
        } : vector<8x64xf32>, vector<64xf32>, vector<64xf32> {
      %k = attn.step @load_k -> (vector<16x8xf32>) {
        %11 = vector.transfer_read %arg1[%c0, %c0, %j, %c0], %cst_3 {in_bounds = [false, true]} : tensor<1x1x?x8xbf16>, vector<16x8xbf16>
        %12 = arith.extf %11 : vector<16x8xbf16> to vector<16x8xf32>
        attn.yield %12 : vector<16x8xf32>
      }
      %s = attn.step @qk -> (vector<16x64xf32>) {
        %13 = vector.contract {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %k, %2, %cst_2 : vector<16x8xf32>, vector<8x64xf32> into vector<16x64xf32>
        attn.yield %13 : vector<16x64xf32>
      }
      %p, %acc1, %max1, %sum1 = attn.step @softmax -> (vector<16x64xf32>, vector<8x64xf32>, vector<64xf32>, vector<64xf32>) {
        %18 = arith.mulf %s, %cst_1 : vector<16x64xf32>
        %26 = attn.mask_tile %18 : vector<16x64xf32> {
          %19 = vector.step : vector<16xindex>
          %20 = vector.broadcast %j : index to vector<16xindex>
          %21 = arith.addi %20, %19 : vector<16xindex>
          %22 = vector.broadcast %dim : index to vector<16xindex>
          %23 = arith.cmpi slt, %21, %22 : vector<16xindex>
          %24 = vector.shape_cast %23 : vector<16xi1> to vector<16x1xi1>
          %25 = vector.broadcast %24 : vector<16x1xi1> to vector<16x64xi1>
          attn.yield %25 : vector<16x64xi1>
        }
        %probabilities, %newAcc, %newMax, %newSum = attn.online_step %26, %acc, %max, %sum : vector<16x64xf32>, vector<8x64xf32>, vector<64xf32>
        attn.yield %probabilities, %newAcc, %newMax, %newSum : vector<16x64xf32>, vector<8x64xf32>, vector<64xf32>, vector<64xf32>
      }
      %acc2 = attn.step @pv -> (vector<8x64xf32>) {
        %17 = vector.contract {indexing_maps = [#map4, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %k, %p, %acc1 : vector<16x8xf32>, vector<16x64xf32> into vector<8x64xf32>
        attn.yield %17 : vector<8x64xf32>
      }
      attn.yield %acc2, %max1, %sum1 : vector<8x64xf32>, vector<64xf32>, vector<64xf32>
    }
    %4 = arith.cmpf oeq, %3#2, %cst_4 : vector<64xf32>
    %5 = arith.select %4, %cst, %3#2 : vector<64xi1>, vector<64xf32>
    %6 = arith.divf %cst, %5 : vector<64xf32>
    %7 = vector.broadcast %6 : vector<64xf32> to vector<8x64xf32>
    %8 = arith.mulf %3#0, %7 : vector<8x64xf32>
    %neg = arith.negf %8 : vector<8x64xf32>
    %9 = arith.truncf %neg : vector<8x64xf32> to vector<8x64xbf16>
    %10 = vector.transfer_write %9, %arg6[%c0, %c0, %c0, %c0] {in_bounds = [true, true], permutation_map = #map} : vector<8x64xbf16>, tensor<1x1x64x8xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %10 into %arg6[0, 0, 0, 0] [1, 1, 64, 8] [1, 1, 1, 1] : tensor<1x1x64x8xbf16> into tensor<1x1x64x8xbf16>
    }
  } {attn.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 208, split_keys>, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %0 : tensor<1x1x64x8xbf16>
}
