// A program of tiles that is not attention: o = relu(q k^T / 8)^2 v, two products with
// a function of each element between them.
#tiles = affine_map<()[s0] -> (s0 ceildiv 128)>
#row = affine_map<()[s0] -> (s0 * 128)>
#rows = affine_map<()[s0, s1] -> (s0 - s1 * 128, 128)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#nk = affine_map<(n, m, k) -> (n, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#kn = affine_map<(n, m, k) -> (k, n)>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1,
                             order = [load_k, qk, load_v(1), pv(1), act]>
func.func @chain(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %n = tensor.dim %k, %c2 : tensor<?x?x?x64xbf16>
  %init = tensor.empty(%b, %h, %s) : tensor<?x?x?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %scale = arith.constant dense<0.125> : vector<64x128xf32>
  %tiles = affine.apply #tiles()[%s]
  %r = scf.forall (%i, %j, %t) in (%b, %h, %tiles) shared_outs(%o = %init) -> (tensor<?x?x?x64xbf16>) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%s, %t]
    %queries = vector.transfer_read %q[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : tensor<?x?x?x64xbf16>, vector<64x128xbf16>
    %queries32 = arith.extf %queries : vector<64x128xbf16> to vector<64x128xf32>
    %sum = attn.tile_loop %x = %c0 to %n step 64 iter_args(%acc = %zero) : vector<64x128xf32> {
      %keys = attn.step @load_k -> (vector<64x64xf32>) {
        %y = vector.transfer_read %k[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %scores = attn.step @qk -> (vector<64x128xf32>) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %keys, %queries32, %zero : vector<64x64xf32>, vector<64x128xf32> into vector<64x128xf32>
        attn.yield %y : vector<64x128xf32>
      }
      %act = attn.step @act -> (vector<64x128xf32>) {
        %y = arith.mulf %scores, %scale : vector<64x128xf32>
        %z = arith.maximumf %y, %zero : vector<64x128xf32>
        %w = arith.mulf %z, %z : vector<64x128xf32>
        attn.yield %w : vector<64x128xf32>
      }
      %values = attn.step @load_v -> (vector<64x64xf32>) {
        %y = vector.transfer_read %v[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : tensor<?x?x?x64xbf16>, vector<64x64xbf16>
        %z = arith.extf %y : vector<64x64xbf16> to vector<64x64xf32>
        attn.yield %z : vector<64x64xf32>
      }
      %next = attn.step @pv -> (vector<64x128xf32>) {
        %y = vector.contract {indexing_maps = [#kn, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %values, %act, %acc : vector<64x64xf32>, vector<64x128xf32> into vector<64x128xf32>
        attn.yield %y : vector<64x128xf32>
      }
      attn.yield %next : vector<64x128xf32>
    }
    %rounded = arith.truncf %sum : vector<64x128xf32> to vector<64x128xbf16>
    %slice = tensor.extract_slice %o[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<?x?x?x64xbf16> to tensor<1x1x?x64xbf16>
    %written = vector.transfer_write %rounded, %slice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x128xbf16>, tensor<1x1x?x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %written into %o[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into tensor<?x?x?x64xbf16>
    }
  } {attn.schedule = #schedule, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r : tensor<?x?x?x64xbf16>
}
