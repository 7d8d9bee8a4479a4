// As backward.mlir, for D = 64 and blocks of 128 queries. dq is computed the other way round: each replica has that of 64
// queries.
#tiles = affine_map<()[s0] -> (s0 ceildiv 128)>
#row = affine_map<()[s0] -> (s0 * 128)>
#rows = affine_map<()[s0, s1] -> (s0 - s1 * 128, 128)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#nk = affine_map<(n, m, k) -> (n, k)>
#mk = affine_map<(n, m, k) -> (m, k)>
#km = affine_map<(n, m, k) -> (k, m)>
#nm = affine_map<(n, m, k) -> (n, m)>
#kn = affine_map<(n, m, k) -> (k, n)>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, in_flight = 2,
                             order = [load_q, qk, load_do, dp, exp, dv, ds, dq(1), dk, red(1)]>
!half = tensor<?x?x?x64xbf16>
!sums = memref<?x?x?x128x64xf32, #hopper.fragment_order<m = 3, n = 4>>
!floats = tensor<?x?x?xf32>
!scores = vector<128x128xf32>
!rows = vector<128x64xf32>
!sum = vector<64x128xf32>
func.func @backward(%k: !half, %v: !half, %q: !half, %do: !half, %lse: !floats, %delta: !floats,
                    %dq: !sums, %dkinit: !half, %dvinit: !half) -> (!half, !half) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %b = tensor.dim %k, %c0 : !half
  %h = tensor.dim %k, %c1 : !half
  %keys = tensor.dim %k, %c2 : !half
  %queries = tensor.dim %q, %c2 : !half
  %pad = arith.constant 0.0 : bf16
  %pad32 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : !sum
  %nothing = arith.constant dense<0.0> : !sum
  %none = arith.constant dense<0.0> : !scores
  // log2(e) / sqrt(64) and 1 / sqrt(64).
  %factor = arith.constant dense<0.18033688> : !scores
  %scale = arith.constant dense<0.125> : !sum
  %tiles = affine.apply #tiles()[%keys]
  %r:2 = scf.forall (%i, %j, %t) in (%b, %h, %tiles) shared_outs(%odk = %dkinit, %odv = %dvinit) -> (!half, !half) {
    %row = affine.apply #row()[%t]
    %count = affine.min #rows()[%keys, %t]
    %k16 = vector.transfer_read %k[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : !half, vector<64x128xbf16>
    %k32 = arith.extf %k16 : vector<64x128xbf16> to !sum
    %v16 = vector.transfer_read %v[%i, %j, %row, %c0], %pad {in_bounds = [true, false], permutation_map = #columns} : !half, vector<64x128xbf16>
    %v32 = arith.extf %v16 : vector<64x128xbf16> to !sum
    %within = vector.step : vector<128xindex>
    %first = vector.broadcast %row : index to vector<128xindex>
    %position = arith.addi %within, %first : vector<128xindex>
    %key = vector.broadcast %position : vector<128xindex> to vector<128x128xindex>
    %sums:2 = attn.tile_loop %x = %c0 to %queries step 128 iter_args(%dk0 = %zero, %dv0 = %zero)
        full(%start) {
          %end = affine.apply #row()[%t]
          %c127 = arith.constant 127 : index
          %last = arith.addi %end, %c127 : index
          %p = arith.cmpi sge, %start, %last : index
          attn.yield %p : i1
        } : !sum, !sum {
      %queries32, %l = attn.step @load_q -> (!rows, vector<128xf32>) {
        %y = vector.transfer_read %q[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : !half, vector<128x64xbf16>
        %z = arith.extf %y : vector<128x64xbf16> to !rows
        %w = vector.transfer_read %lse[%i, %j, %x], %pad32 {in_bounds = [true]} : !floats, vector<128xf32>
        attn.yield %z, %w : !rows, vector<128xf32>
      }
      %s = attn.step @qk -> (!scores) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %queries32, %k32, %none : !rows, !sum into !scores
        attn.yield %y : !scores
      }
      %p = attn.step @exp -> (vector<128x128xbf16>) {
        %column = vector.shape_cast %l : vector<128xf32> to vector<128x1xf32>
        %shift = vector.broadcast %column : vector<128x1xf32> to !scores
        %y = attn.mask_tile %s : !scores {
          %own = vector.step : vector<128xindex>
          %start = vector.broadcast %x : index to vector<128xindex>
          %at = arith.addi %own, %start : vector<128xindex>
          %one = vector.shape_cast %at : vector<128xindex> to vector<128x1xindex>
          %query = vector.broadcast %one : vector<128x1xindex> to vector<128x128xindex>
          %allowed = arith.cmpi sle, %key, %query : vector<128x128xindex>
          attn.yield %allowed : vector<128x128xi1>
        }
        %z = arith.mulf %y, %factor fastmath<contract> : !scores
        %w = arith.subf %z, %shift fastmath<contract> : !scores
        %e = math.exp2 %w : !scores
        %half = arith.truncf %e : !scores to vector<128x128xbf16>
        attn.yield %half : vector<128x128xbf16>
      }
      %do32, %d = attn.step @load_do -> (!rows, vector<128xf32>) {
        %y = vector.transfer_read %do[%i, %j, %x, %c0], %pad {in_bounds = [false, true]} : !half, vector<128x64xbf16>
        %z = arith.extf %y : vector<128x64xbf16> to !rows
        %w = vector.transfer_read %delta[%i, %j, %x], %pad32 {in_bounds = [true]} : !floats, vector<128xf32>
        attn.yield %z, %w : !rows, vector<128xf32>
      }
      %dp = attn.step @dp -> (!scores) {
        %y = vector.contract {indexing_maps = [#nk, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %do32, %v32, %none : !rows, !sum into !scores
        attn.yield %y : !scores
      }
      %dv = attn.step @dv -> (!sum) {
        %p32 = arith.extf %p : vector<128x128xbf16> to !scores
        %y = vector.contract {indexing_maps = [#kn, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %do32, %p32, %dv0 : !rows, !scores into !sum
        attn.yield %y : !sum
      }
      %ds = attn.step @ds -> (!scores) {
        %column = vector.shape_cast %d : vector<128xf32> to vector<128x1xf32>
        %shift = vector.broadcast %column : vector<128x1xf32> to !scores
        %y = arith.subf %dp, %shift : !scores
        %p32 = arith.extf %p : vector<128x128xbf16> to !scores
        %z = arith.mulf %p32, %y : !scores
        attn.yield %z : !scores
      }
      %dqs = attn.step @dq -> (!sum) {
        %y = vector.contract {indexing_maps = [#nk, #mk, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %k32, %ds, %nothing : !sum, !scores into !sum
        attn.yield %y : !sum
      }
      %dk = attn.step @dk -> (!sum) {
        %y = vector.contract {indexing_maps = [#kn, #km, #nm], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %queries32, %ds, %dk0 : !rows, !scores into !sum
        attn.yield %y : !sum
      }
      attn.step @red {
        %block = arith.divui %x, %c128 : index
        attn.accumulate add %dqs into %dq[%i, %j, %block, %c0, %c0] map affine_map<(b, h, t, m, n) -> (n, m)> : !sum, !sums
        attn.yield
      }
      attn.yield %dk, %dv : !sum, !sum
    }
    %scaled = arith.mulf %sums#0, %scale : !sum
    %dk16 = arith.truncf %scaled : !sum to vector<64x128xbf16>
    %dv16 = arith.truncf %sums#1 : !sum to vector<64x128xbf16>
    %dkslice = tensor.extract_slice %odk[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : !half to tensor<1x1x?x64xbf16>
    %dkout = vector.transfer_write %dk16, %dkslice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x128xbf16>, tensor<1x1x?x64xbf16>
    %dvslice = tensor.extract_slice %odv[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : !half to tensor<1x1x?x64xbf16>
    %dvout = vector.transfer_write %dv16, %dvslice[%c0, %c0, %c0, %c0] {in_bounds = [true, false], permutation_map = #columns} : vector<64x128xbf16>, tensor<1x1x?x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %dkout into %odk[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into !half
      tensor.parallel_insert_slice %dvout into %odv[%i, %j, %row, 0] [1, 1, %count, 64] [1, 1, 1, 1] : tensor<1x1x?x64xbf16> into !half
    }
  } {attn.schedule = #schedule, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
  return %r#0, %r#1 : !half, !half
}
