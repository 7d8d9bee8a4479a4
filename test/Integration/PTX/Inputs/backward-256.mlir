// As backward-128.mlir, for D = 256, by 64 keys and 64 queries at a time. Two unlike partitions of a warpgroup share the
// products: the first has s and p, the second dp and ds, and both have half of the columns of dv, dk and dq. So p and ds
// go from one to the other as tiles.
#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, in_flight = 1>
!rows = !hopper.map<64x256xbf16>
!blocks = !hopper.map<64x256xbf16>
!out = !hopper.map<64x128xbf16>
!tile = !hopper.tile<64x256xbf16>
!half = !hopper.tile<64x128xbf16>
!quarter = !hopper.tile<64x64xbf16>
!floats = !hopper.tile<64xf32>
!scores = vector<64x64xf32>
!halves = vector<64x64xbf16>
!sum = vector<128x64xf32>

gpu.module @m {
  gpu.func @backward(%kmap: !rows {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %vmap: !rows {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %qmap: !blocks {hopper.operand = 2 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %domap: !blocks {hopper.operand = 3 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %lse: memref<?x?x?xf32> {hopper.operand = 4 : i64},
                     %delta: memref<?x?x?xf32> {hopper.operand = 5 : i64},
                     %dq: memref<?x?x?x2x4096xf32> {hopper.operand = 6 : i64},
                     %dkmap: !out {hopper.operand = 7 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %dvmap: !out {hopper.operand = 8 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                     %dqlast: memref<?x?x?x8192xf32> {hopper.operand = 9 : i64},
                     %batches: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
                     %heads: index {hopper.operand = 0 : i64, hopper.dim = 1 : i64},
                     %keys: index {hopper.operand = 0 : i64, hopper.dim = 2 : i64},
                     %queries: index {hopper.operand = 2 : i64, hopper.dim = 2 : i64})
      kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !sum
    // log2(e) / sqrt(256) and 1 / sqrt(256).
    %factor = arith.constant dense<0.09016844> : !scores
    %scale = arith.constant dense<0.0625> : !sum
    %stagea = hopper.create_tile : !quarter
    %stageb = hopper.create_tile : !quarter
    %more = arith.addi %keys, %c63 : index
    %tiles = arith.divui %more, %c64 : index
    hopper.work_loop (%b, %h, %t, %number) in (%batches, %heads, %tiles) {
      %first, %end = hopper.work_rows %t of %keys size 64
      %k = hopper.step "load_k" in "load" -> !tile {
        %x = hopper.load %kmap[%b, %h, %first] stages 1 : !rows -> !tile
        hopper.end %x : !tile
      }
      %v = hopper.step "load_v" in "load" -> !tile {
        %x = hopper.load %vmap[%b, %h, %first] stages 1 : !rows -> !tile
        hopper.end %x : !tile
      }
      %r:4 = hopper.pipelined_for %i = %c0 to %queries step 64 iter_args(%dka0 = %zero, %dva0 = %zero, %dkb0 = %zero, %dvb0 = %zero)
          schedule [#hopper.place<"load_q", 0>, #hopper.place<"load_do", 0>,
                    #hopper.place<"qk", 0>, #hopper.place<"dk.a", 1>, #hopper.place<"dq.a0", 1>, #hopper.place<"exp", 0>, #hopper.place<"dv.a", 0>,
                    #hopper.place<"red.a0", 1>, #hopper.place<"dq.a1", 1>, #hopper.place<"red.a1", 1>,
                    #hopper.place<"dp", 0>, #hopper.place<"dv.b", 0>, #hopper.place<"ds", 0>, #hopper.place<"dq.b", 0>, #hopper.place<"dk.b", 0>,
                    #hopper.place<"red.b", 0>] : !sum, !sum, !sum, !sum {
        %q, %l = hopper.step "load_q" in "load" -> !tile, !floats {
          %x = hopper.load %qmap[%b, %h, %i] stages 2 : !blocks -> !tile
          %y = hopper.load_vector %lse[%b, %h, %i] stages 2 : memref<?x?x?xf32> -> !floats
          hopper.end %x, %y : !tile, !floats
        }
        %do, %d = hopper.step "load_do" in "load" -> !tile, !floats {
          %x = hopper.load %domap[%b, %h, %i] stages 2 : !blocks -> !tile
          %y = hopper.load_vector %delta[%b, %h, %i] stages 2 : memref<?x?x?xf32> -> !floats
          hopper.end %x, %y : !tile, !floats
        }
        %s = hopper.step "qk" in "first" -> !scores {
          %x = hopper.dot %k, %q : !tile, !tile -> !scores
          hopper.end %x : !scores
        }
        %p, %pt = hopper.step "exp" in "first" -> !halves, !quarter {
          %x = hopper.load_fragment %l : !floats -> vector<64x1xf32>
          %shift = vector.broadcast %x : vector<64x1xf32> to !scores
          %y = arith.mulf %s, %factor fastmath<contract> : !scores
          %z = arith.subf %y, %shift fastmath<contract> : !scores
          %e = math.exp2 %z : !scores
          %half = arith.truncf %e : !scores to !halves
          %tile = hopper.publish %half stages 1 : !halves -> !quarter
          hopper.end %half, %tile : !halves, !quarter
        }
        %dva = hopper.step "dv.a" in "first" -> !sum {
          %columns = hopper.columns %do[%c0] : !tile -> !half
          %x = hopper.dot %p, %columns acc %dva0 rhs_transposed : !halves, !half, !sum -> !sum
          hopper.end %x : !sum
        }
        %dp = hopper.step "dp" in "second" -> !scores {
          %x = hopper.dot %v, %do : !tile, !tile -> !scores
          hopper.end %x : !scores
        }
        %dvb, %pb = hopper.step "dv.b" in "second" -> !sum, !halves {
          %x = hopper.load_fragment %pt : !quarter -> !halves
          %columns = hopper.columns %do[%c1] : !tile -> !half
          %y = hopper.dot %x, %columns acc %dvb0 rhs_transposed : !halves, !half, !sum -> !sum
          hopper.end %y, %x : !sum, !halves
        }
        %ds, %dst = hopper.step "ds" in "second" -> !halves, !quarter {
          %x = hopper.load_fragment %d : !floats -> vector<64x1xf32>
          %shift = vector.broadcast %x : vector<64x1xf32> to !scores
          %y = arith.subf %dp, %shift : !scores
          %wide = arith.extf %pb : !halves to !scores
          %z = arith.mulf %wide, %y : !scores
          %half = arith.truncf %z : !scores to !halves
          %tile = hopper.publish %half stages 1 : !halves -> !quarter
          hopper.end %half, %tile : !halves, !quarter
        }
        %dka = hopper.step "dk.a" in "first" -> !sum {
          %columns = hopper.columns %q[%c0] : !tile -> !half
          %x = hopper.dot %dst, %columns acc %dka0 rhs_transposed : !quarter, !half, !sum -> !sum
          hopper.end %x : !sum
        }
        %dkb = hopper.step "dk.b" in "second" -> !sum {
          %columns = hopper.columns %q[%c1] : !tile -> !half
          %x = hopper.dot %ds, %columns acc %dkb0 rhs_transposed : !halves, !half, !sum -> !sum
          hopper.end %x : !sum
        }
        // Columns 0 to 127 of dq in two parts, and columns 128 to 255.
        %dqa0 = hopper.step "dq.a0" in "first" -> !scores {
          %columns = hopper.columns %k[%c0] : !tile -> !quarter
          %x = hopper.dot %dst, %columns lhs_transposed rhs_transposed : !quarter, !quarter -> !scores
          hopper.end %x : !scores
        }
        %dqa1 = hopper.step "dq.a1" in "first" -> !scores {
          %columns = hopper.columns %k[%c1] : !tile -> !quarter
          %x = hopper.dot %dst, %columns lhs_transposed rhs_transposed : !quarter, !quarter -> !scores
          hopper.end %x : !scores
        }
        %dqb = hopper.step "dq.b" in "second" -> !sum {
          %columns = hopper.columns %k[%c1] : !tile -> !half
          %x = hopper.dot %dst, %columns lhs_transposed rhs_transposed : !quarter, !half -> !sum
          hopper.end %x : !sum
        }
        hopper.step "red.a0" in "first" {
          %block = arith.divui %i, %c64 : index
          hopper.reduce_add %dqa0, %dq[%b, %h, %block, %c0] : !scores, memref<?x?x?x2x4096xf32>
          hopper.end
        }
        hopper.step "red.a1" in "first" {
          %block = arith.divui %i, %c64 : index
          hopper.reduce_add %dqa1, %dq[%b, %h, %block, %c1] : !scores, memref<?x?x?x2x4096xf32>
          hopper.end
        }
        hopper.step "red.b" in "second" {
          %block = arith.divui %i, %c64 : index
          hopper.reduce_add %dqb, %dqlast[%b, %h, %block] : !sum, memref<?x?x?x8192xf32>
          hopper.end
        }
        hopper.end %dka, %dva, %dkb, %dvb : !sum, !sum, !sum, !sum
      }
      hopper.step "store.a" in "first" {
        %dv = arith.truncf %r#1 : !sum to vector<128x64xbf16>
        hopper.store %dv, %stagea, %dvmap[%b, %h, %first] : vector<128x64xbf16>, !quarter, !out
        %scaled = arith.mulf %r#0, %scale : !sum
        %dk = arith.truncf %scaled : !sum to vector<128x64xbf16>
        hopper.store %dk, %stagea, %dkmap[%b, %h, %first] : vector<128x64xbf16>, !quarter, !out
        hopper.end
      }
      hopper.step "store.b" in "second" {
        %dv = arith.truncf %r#3 : !sum to vector<128x64xbf16>
        hopper.store %dv, %stageb, %dvmap[%b, %h, %first] column %c128 : vector<128x64xbf16>, !quarter, !out
        %scaled = arith.mulf %r#2, %scale : !sum
        %dk = arith.truncf %scaled : !sum to vector<128x64xbf16>
        hopper.store %dk, %stageb, %dkmap[%b, %h, %first] column %c128 : vector<128x64xbf16>, !quarter, !out
        hopper.end
      }
    }
    gpu.return
  }
}
