// The gradients of softmax(q k^T / sqrt(128)) v for one work tile of 128 keys, D = 128, as steps of a loop over blocks of
// 80 queries, which backward.py executes and compares with the maths. Products have the keys of a replica as rows:
// s = k q^T and dp = v do^T are of 64 keys, so that p and ds are operands of dv += p do and dk += ds q from registers. The
// ds of both replicas is one tile, of queries and keys, from which each computes 64 columns of dq.
//
// lse is in base 2. It has infinities, and delta zeros, behind the last query, up to the end of a block: p is 0 there.
#schedule = #hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 240, head_swizzle = 1, in_flight = 2>
!rows = !hopper.map<128x128xbf16>
!blocks = !hopper.map<80x128xbf16>
!out = !hopper.map<64x128xbf16>
!resident = !hopper.tile<128x128xbf16>
!streamed = !hopper.tile<80x128xbf16>
!own = !hopper.tile<64x128xbf16, of 128>
!floats = !hopper.tile<80xf32>
!scores = vector<80x64xf32>
!halves = vector<80x64xbf16>
!sum = vector<128x64xf32>

gpu.module @m {
  gpu.func @backward(%kmap: !rows {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %vmap: !rows {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %qmap: !blocks {hopper.operand = 2 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %domap: !blocks {hopper.operand = 3 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %lse: memref<?x?x?xf32> {hopper.operand = 4 : i64},
                     %delta: memref<?x?x?xf32> {hopper.operand = 5 : i64},
                     %dq: memref<?x?x?x2x5120xf32> {hopper.operand = 6 : i64},
                     %dkmap: !out {hopper.operand = 7 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %dvmap: !out {hopper.operand = 8 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %batches: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
                     %heads: index {hopper.operand = 0 : i64, hopper.dim = 1 : i64},
                     %keys: index {hopper.operand = 0 : i64, hopper.dim = 2 : i64},
                     %queries: index {hopper.operand = 2 : i64, hopper.dim = 2 : i64})
      kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c80 = arith.constant 80 : index
    %c127 = arith.constant 127 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !sum
    // log2(e) / sqrt(128) and 1 / sqrt(128).
    %factor = arith.constant dense<0.12751741> : !scores
    %scale = arith.constant dense<0.088388348> : !sum
    %more = arith.addi %keys, %c127 : index
    %tiles = arith.divui %more, %c128 : index
    %staging = hopper.create_tile : !resident
    hopper.work_loop (%b, %h, %t, %number) in (%batches, %heads, %tiles) {
      %first, %end = hopper.work_rows %t of %keys size 128
      %k = hopper.step "load_k" in "load" -> !resident {
        %x = hopper.load %kmap[%b, %h, %first] stages 1 : !rows -> !resident
        hopper.end %x : !resident
      }
      %v = hopper.step "load_v" in "load" -> !resident {
        %x = hopper.load %vmap[%b, %h, %first] stages 1 : !rows -> !resident
        hopper.end %x : !resident
      }
      %r:2 = hopper.pipelined_for %i = %c0 to %queries step 80 iter_args(%dk0 = %zero, %dv0 = %zero)
          schedule [#hopper.place<"load_q", 0>, #hopper.place<"qk", 0>, #hopper.place<"exp", 0>, #hopper.place<"load_do", 0>, #hopper.place<"dp", 0>,
                    #hopper.place<"dv", 0>, #hopper.place<"ds", 0>, #hopper.place<"dq", 1>, #hopper.place<"dk", 0>, #hopper.place<"red", 1>] exclusive ["exp", "dp"] : !sum, !sum {
        %q, %l = hopper.step "load_q" in "load" -> !streamed, !floats {
          %x = hopper.load %qmap[%b, %h, %i] stages 2 : !blocks -> !streamed
          %y = hopper.load_vector %lse[%b, %h, %i] stages 2 : memref<?x?x?xf32> -> !floats
          hopper.end %x, %y : !streamed, !floats
        }
        %s = hopper.step "qk" in "compute" -> !scores {
          %rows = hopper.own_rows %k : !resident -> !own
          %x = hopper.dot %rows, %q : !own, !streamed -> !scores
          hopper.end %x : !scores
        }
        %p = hopper.step "exp" in "compute" -> !halves {
          %x = hopper.load_fragment %l : !floats -> vector<80x1xf32>
          %shift = vector.broadcast %x : vector<80x1xf32> to !scores
          %y = arith.mulf %s, %factor fastmath<contract> : !scores
          %z = arith.subf %y, %shift fastmath<contract> : !scores
          %e = math.exp2 %z : !scores
          %half = arith.truncf %e : !scores to !halves
          hopper.end %half : !halves
        }
        %do, %d = hopper.step "load_do" in "load" -> !streamed, !floats {
          %x = hopper.load %domap[%b, %h, %i] stages 2 : !blocks -> !streamed
          %y = hopper.load_vector %delta[%b, %h, %i] stages 2 : memref<?x?x?xf32> -> !floats
          hopper.end %x, %y : !streamed, !floats
        }
        %dp = hopper.step "dp" in "compute" -> !scores {
          %rows = hopper.own_rows %v : !resident -> !own
          %x = hopper.dot %rows, %do : !own, !streamed -> !scores
          hopper.end %x : !scores
        }
        %dv = hopper.step "dv" in "compute" -> !sum {
          %x = hopper.dot %p, %do acc %dv0 rhs_transposed : !halves, !streamed, !sum -> !sum
          hopper.end %x : !sum
        }
        %ds, %dst = hopper.step "ds" in "compute" -> !halves, !streamed {
          %x = hopper.load_fragment %d : !floats -> vector<80x1xf32>
          %shift = vector.broadcast %x : vector<80x1xf32> to !scores
          %y = arith.subf %dp, %shift : !scores
          %wide = arith.extf %p : !halves to !scores
          %z = arith.mulf %wide, %y : !scores
          %half = arith.truncf %z : !scores to !halves
          %tile = hopper.publish %half transposed stages 2 : !halves -> !streamed
          hopper.end %half, %tile : !halves, !streamed
        }
        %dqs = hopper.step "dq" in "compute" -> !scores {
          %columns = hopper.own_columns %k : !resident -> !hopper.tile<128x64xbf16>
          %x = hopper.dot %columns, %dst lhs_transposed : !hopper.tile<128x64xbf16>, !streamed -> !scores
          hopper.end %x : !scores
        }
        %dk = hopper.step "dk" in "compute" -> !sum {
          %x = hopper.dot %ds, %q acc %dk0 rhs_transposed : !halves, !streamed, !sum -> !sum
          hopper.end %x : !sum
        }
        hopper.step "red" in "compute" {
          %block = arith.divui %i, %c80 : index
          %wg = hopper.warpgroup_id
          hopper.reduce_add %dqs, %dq[%b, %h, %block, %wg] : !scores, memref<?x?x?x2x5120xf32>
          hopper.end
        }
        hopper.end %dk, %dv : !sum, !sum
      }
      hopper.step "store" in "compute" {
        %rows = hopper.own_rows %staging : !resident -> !own
        %dv = arith.truncf %r#1 : !sum to vector<128x64xbf16>
        hopper.store %dv, %rows, %dvmap[%b, %h, %first] : vector<128x64xbf16>, !own, !out
        %scaled = arith.mulf %r#0, %scale : !sum
        %dk = arith.truncf %scaled : !sum to vector<128x64xbf16>
        hopper.store %dk, %rows, %dkmap[%b, %h, %first] : vector<128x64xbf16>, !own, !out
        hopper.end
      }
    }
    gpu.return
  }
}
