// RUN: attn-opt %s --attn-destination-arguments --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-outline --split-input-file --verify-diagnostics

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, softmax, load_v, pv]>
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

// A gradient of a number is one, too, which is computed of what is in memory.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, softmax, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
// expected-error @+1 {{expects a function for a GPU to return tensors, but its result 1 is a scalar of type 'f32'; of gradients, name those that are wanted without those of numbers, or make the number a tensor of rank 0; the target cpu can run it}}
func.func @scalar(%q: !t, %x: tensor<f32>, %o: !t) -> (!t, f32) {
  %s = tensor.extract %x[] : tensor<f32>
  %r = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r, %s : !t, f32
}

// -----

// A schedule that does not name a step of the program, or names one that is not
// there.

#short = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, load_v, pv]>
!t = tensor<2x8x?x64xbf16>
func.func @missing(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects a schedule with a place for each step of the loop, but got none for 'softmax'; the steps are load_k, qk, softmax, load_v, pv}}
  %r = attn.attention schedule #short ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

#long = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, softmax, load_v, pv, dq]>
!t = tensor<2x8x?x64xbf16>
func.func @unknown(%q: !t, %o: !t) -> !t {
  // expected-error @+1 {{expects a schedule with places for the steps of the loop, but got one for 'dq'; the steps are load_k, qk, softmax, load_v, pv}}
  %r = attn.attention schedule #long ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

#late = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, load_v, pv, softmax]>
!t = tensor<2x8x?x64xbf16>
func.func @too_early(%q: !t, %o: !t) -> !t {
  // expected-error @+2 {{expects 'pv' to come after 'softmax' in the schedule, as it uses its result}}
  // expected-note @+1 {{which is this step}}
  %r = attn.attention schedule #late ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

// Of a part, what is combined is the accumulator, normalised.

#split = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, split_kv, order = [load_k, qk, load_v, pv]>
#row = affine_map<()[s0] -> (s0 * 64)>
#rows = affine_map<()[s0] -> (-s0 * 64 + 128, 64)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#nk = affine_map<(n, m, k) -> (n, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#kn = affine_map<(n, m, k) -> (k, n)>
!t = tensor<2x8x128x64xbf16>
func.func @not_merged(%q: !t, %k: !t, %v: !t, %init: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  // expected-error @+1 {{expects the results of attn.finalize with split_kv, which can be combined; leave out split_kv}}
  %r = scf.forall (%i, %j, %t) in (2, 8, 2) shared_outs(%o = %init) -> (!t) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%t]
    %queries = vector.transfer_read %q[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : !t, vector<64x64xbf16>
    %queries32 = arith.extf %queries : vector<64x64xbf16> to vector<64x64xf32>
    %sum = attn.tile_loop %x = %c0 to %c128 step 64 iter_args(%acc = %zero) : vector<64x64xf32> {
      %keys = attn.step @load_k -> (vector<64x64xf32>) {
        %y = vector.transfer_read %k[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : !t, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %scores = attn.step @qk -> (vector<64x64xf32>) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %keys, %queries32, %zero : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      %values = attn.step @load_v -> (vector<64x64xf32>) {
        %y = vector.transfer_read %v[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : !t, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %next = attn.step @pv -> (vector<64x64xf32>) {
        %y = vector.contract {indexing_maps = [#kn, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %values, %scores, %acc : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      attn.yield %next : vector<64x64xf32>
    }
    %rounded = arith.truncf %sum : vector<64x64xf32> to vector<64x64xbf16>
    %slice = tensor.extract_slice %o[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : !t to tensor<1x1x?x64xbf16>
    %written = vector.transfer_write %rounded, %slice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x64xbf16>, tensor<1x1x?x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %written into %o[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into !t
    }
  } {attn.schedule = #split, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r : !t
}

// -----

// A state that comes from elsewhere.

#from = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!t = tensor<1x1x64x64xbf16>
func.func @state(%q: !t, %acc: tensor<1x1x64x64xf32>, %stat: tensor<1x1x64xf32>, %o: !t) -> !t {
  // expected-error @+1 {{expects a state that starts as that of no keys on a GPU; the target cpu can run it}}
  %s:3 = attn.online_attention scale 1.0 schedule #from ins(%q, %q, %q : !t, !t, !t)
      outs(%acc, %stat, %stat : tensor<1x1x64x64xf32>, tensor<1x1x64xf32>, tensor<1x1x64xf32>)
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<1x1x64x64xf32>, tensor<1x1x64xf32>, tensor<1x1x64xf32>) outs(%o : !t) -> !t
  return %r : !t
}

// -----

// The softmax rescales what products add to, in registers.

#partitions = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 160, head_swizzle = 1, order = [load_k, qk, load_v(1), pv(1), softmax], partitions = {pv = second}>
!t = tensor<2x8x?x64xbf16>
func.func @sum_elsewhere(%q: !t, %o: !t, %n: index) -> !t {
  // expected-error @+1 {{expects one partition for the steps of an online softmax, which exchange registers, but got 'compute' for 'qk' and 'second' for 'pv'; leave partitions out, or name one for qk, softmax, pv}}
  %r = attn.attention schedule #partitions ins(%q, %q, %q : !t, !t, !t) captures(%n : index) outs(%o : !t)
      mask(%b, %h, %i, %j, %w) {
        %d = arith.subi %i, %j : index
        %p = arith.cmpi sle, %d, %w : index
        attn.yield %p : i1
      }
  return %r : !t
}
