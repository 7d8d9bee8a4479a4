// RUN: attn-opt %s --attn-hopper-outline --split-input-file --verify-diagnostics

#tiles = affine_map<()[s0] -> (s0 ceildiv 64)>
#row = affine_map<()[s0] -> (s0 * 64)>
#rows = affine_map<()[s0, s1] -> (s0 - s1 * 64, 64)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#nk = affine_map<(n, m, k) -> (n, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk]>
func.func @many_dims(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x?x64xbf16>, %o: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %tiles = affine.apply #tiles()[%s]
  %r = scf.forall (%i, %j, %t) in (%b, %h, %tiles) shared_outs(%out = %o) -> (tensor<?x?x?x64xbf16>) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%s, %t]
    %queries = vector.transfer_read %q[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
    %queries32 = arith.extf %queries : vector<64x64xbf16> to vector<64x64xf32>
    %sum = attn.tile_loop %x = %c0 to %s step 64 iter_args(%acc = %zero) : vector<64x64xf32> {
      %keys = attn.step @load_k -> (vector<64x64xf32>) {
        // expected-error @+1 {{expects a tensor of at most 4 dimensions, but got 5}}
        %y = vector.transfer_read %k[%i, %i, %j, %x, %c0], %pad {in_bounds = [false, true]} : tensor<?x?x?x?x64xbf16>, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %next = attn.step @qk -> (vector<64x64xf32>) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %keys, %queries32, %acc : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      attn.yield %next : vector<64x64xf32>
    }
    %rounded = arith.truncf %sum : vector<64x64xf32> to vector<64x64xbf16>
    %slice = tensor.extract_slice %out[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<?x?x?x64xbf16> to tensor<1x1x?x64xbf16>
    %written = vector.transfer_write %rounded, %slice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x64xbf16>, tensor<1x1x?x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %written into %out[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into tensor<?x?x?x64xbf16>
    }
  } {attn.schedule = #schedule, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r : tensor<?x?x?x64xbf16>
}

// -----

#tiles = affine_map<()[s0] -> (s0 ceildiv 64)>
#row = affine_map<()[s0] -> (s0 * 64)>
#rows = affine_map<()[s0, s1] -> (s0 - s1 * 64, 64)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#nk = affine_map<(n, m, k) -> (n, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk]>
func.func @f32(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xf32>, %o: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %pad32 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %tiles = affine.apply #tiles()[%s]
  %r = scf.forall (%i, %j, %t) in (%b, %h, %tiles) shared_outs(%out = %o) -> (tensor<?x?x?x64xbf16>) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%s, %t]
    %queries = vector.transfer_read %q[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
    %queries32 = arith.extf %queries : vector<64x64xbf16> to vector<64x64xf32>
    %sum = attn.tile_loop %x = %c0 to %s step 64 iter_args(%acc = %zero) : vector<64x64xf32> {
      %keys = attn.step @load_k -> (vector<64x64xf32>) {
        // expected-error @+1 {{expects a tile of bf16 or f16 of an argument of the function on a GPU, but got one of 'f32'}}
        %y = vector.transfer_read %k[%i, %j, %x, %c0], %pad32 {in_bounds = [false, true]} : tensor<?x?x?x64xf32>, vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      %next = attn.step @qk -> (vector<64x64xf32>) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %keys, %queries32, %acc : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      attn.yield %next : vector<64x64xf32>
    }
    %rounded = arith.truncf %sum : vector<64x64xf32> to vector<64x64xbf16>
    %slice = tensor.extract_slice %out[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<?x?x?x64xbf16> to tensor<1x1x?x64xbf16>
    %written = vector.transfer_write %rounded, %slice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x64xbf16>, tensor<1x1x?x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %written into %out[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into tensor<?x?x?x64xbf16>
    }
  } {attn.schedule = #schedule, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r : tensor<?x?x?x64xbf16>
}

// -----

#tiles = affine_map<()[s0] -> (s0 ceildiv 64)>
#row = affine_map<()[s0] -> (s0 * 64)>
#rows = affine_map<()[s0, s1] -> (s0 - s1 * 64, 64)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#columns3 = affine_map<(d0, d1, d2) -> (d2, d1)>
#nk = affine_map<(n, m, k) -> (n, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk]>
func.func @few_dims(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %o: tensor<?x?x64xbf16>) -> tensor<?x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %tiles = affine.apply #tiles()[%s]
  %r = scf.forall (%i, %j, %t) in (%b, %h, %tiles) shared_outs(%out = %o) -> (tensor<?x?x64xbf16>) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%s, %t]
    %queries = vector.transfer_read %q[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
    %queries32 = arith.extf %queries : vector<64x64xbf16> to vector<64x64xf32>
    %sum = attn.tile_loop %x = %c0 to %s step 64 iter_args(%acc = %zero) : vector<64x64xf32> {
      %keys = attn.step @load_k -> (vector<64x64xf32>) {
        %y = vector.transfer_read %k[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %next = attn.step @qk -> (vector<64x64xf32>) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %keys, %queries32, %acc : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        attn.yield %y : vector<64x64xf32>
      }
      attn.yield %next : vector<64x64xf32>
    }
    %rounded = arith.truncf %sum : vector<64x64xf32> to vector<64x64xbf16>
    %slice = tensor.extract_slice %out[%i, %row, 0] [1, %count, 64] [1, 1, 1] : tensor<?x?x64xbf16> to tensor<1x?x64xbf16>
    %written = vector.transfer_write %rounded, %slice[%c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns3} : vector<64x64xbf16>, tensor<1x?x64xbf16>
    scf.forall.in_parallel {
      // expected-error @+1 {{expects a result with batch, head, row and column, but got 'tensor<?x?x64xbf16>'}}
      tensor.parallel_insert_slice %written into %out[%i, %row, 0] [1, %count, 64] [1, 1, 1] : tensor<1x?x64xbf16> into tensor<?x?x64xbf16>
    }
  } {attn.schedule = #schedule, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r : tensor<?x?x64xbf16>
}
