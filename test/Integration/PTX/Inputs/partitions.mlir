// Kernels whose partitions exchange tiles, which partitions.py executes and compares with the maths.

gpu.module @m {
  // Two like replicas, for 128 keys and 80 queries at a time. Each has dS = S^T - L for its keys, with S^T = K Q^T, and
  // both write it, transposed, to one tile. Then each adds the part of dQ^T = K^T dS of its keys to memory, and
  // the first one adds all of it.
  gpu.func @same(%k: !hopper.map<128x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                 %q: !hopper.map<80x64xbf16> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                 %l: memref<?xf32> {hopper.operand = 2 : i64},
                 %parts: memref<?x5120xf32> {hopper.operand = 3 : i64},
                 %blocks: memref<?x5120xf32> {hopper.operand = 4 : i64},
                 %num: index {hopper.operand = 5 : i64, hopper.dim = 0 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c80 = arith.constant 80 : index
    %n0 = arith.constant 0 : i32
    %ks = hopper.create_channel : !hopper.channel<1x128x64xbf16>
    %qs = hopper.create_channel : !hopper.channel<2x80x64xbf16>
    %ls = hopper.create_channel : !hopper.channel<2x80xf32>
    %ds = hopper.create_channel : !hopper.channel<2x80x128xbf16>
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ks[%n0], %k[%c0, %c0, %c0] : !hopper.channel<1x128x64xbf16>, !hopper.map<128x64xbf16>
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %row = arith.muli %t, %c80 : index
        hopper.put %qs[%n], %q[%c0, %c0, %row] : !hopper.channel<2x80x64xbf16>, !hopper.map<80x64xbf16>
        hopper.put_vector %ls[%n], %l[%row] : !hopper.channel<2x80xf32>, memref<?xf32>
      }
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %kt = hopper.get %ks[%n0] : !hopper.channel<1x128x64xbf16> -> !hopper.tile<128x64xbf16>
      %krows = hopper.rows %kt[%wg] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %qt = hopper.get %qs[%n] : !hopper.channel<2x80x64xbf16> -> !hopper.tile<80x64xbf16>
        hopper.ping_pong_wait %barrier : !hopper.ping_pong
        %s0 = hopper.mma %krows, %qt : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<80x64xbf16> -> !hopper.pending<vector<80x64xf32>>
        hopper.ping_pong_arrive %barrier : !hopper.ping_pong
        %s = hopper.wait %s0 in_flight 0 : !hopper.pending<vector<80x64xf32>>
        hopper.release %qs[%n] : !hopper.channel<2x80x64xbf16>
        %lt = hopper.get %ls[%n] : !hopper.channel<2x80xf32> -> !hopper.tile<80xf32>
        %lv = hopper.load_fragment %lt : !hopper.tile<80xf32> -> vector<80x1xf32>
        hopper.release %ls[%n] : !hopper.channel<2x80xf32>
        %lb = vector.broadcast %lv : vector<80x1xf32> to vector<80x64xf32>
        %d = arith.subf %s, %lb : vector<80x64xf32>
        %dh = arith.truncf %d : vector<80x64xf32> to vector<80x64xbf16>
        hopper.put_fragment %ds[%n], %dh at %wg transposed : !hopper.channel<2x80x128xbf16>, vector<80x64xbf16>
        %dt = hopper.get %ds[%n] : !hopper.channel<2x80x128xbf16> -> !hopper.tile<80x128xbf16>
        %half = hopper.columns %dt[%wg] : !hopper.tile<80x128xbf16> -> !hopper.tile<80x64xbf16>
        %g0 = hopper.mma %krows, %half lhs_transposed : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<80x64xbf16> -> !hopper.pending<vector<80x64xf32>>
        %g1 = hopper.mma %kt, %dt lhs_transposed : !hopper.tile<128x64xbf16>, !hopper.tile<80x128xbf16> -> !hopper.pending<vector<80x64xf32>>
        %g, %h = hopper.wait %g0, %g1 in_flight 0 : !hopper.pending<vector<80x64xf32>>, !hopper.pending<vector<80x64xf32>>
        hopper.release %ds[%n] : !hopper.channel<2x80x128xbf16>
        %is0 = arith.cmpi eq, %wg, %c0 : index
        hopper.reduce_add %g, %parts[%t] : vector<80x64xf32>, memref<?x5120xf32>
        hopper.reduce_add %h, %blocks[%t] if %is0 : vector<80x64xf32>, memref<?x5120xf32>
      }
      hopper.release %ks[%n0] : !hopper.channel<1x128x64xbf16>
    }
    gpu.return
  }

  // Unlike partitions, for 64 keys and 64 queries at a time: the first has S^T, and every other time its maxima over
  // queries; the second has it from the first as a tile, and adds S^T Q, with the maxima, and S K to memory.
  gpu.func @unlike(%k: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                   %q: !hopper.map<64x64xbf16> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                   %dv: memref<?x4096xf32> {hopper.operand = 2 : i64},
                   %dq: memref<?x4096xf32> {hopper.operand = 3 : i64},
                   %num: index {hopper.operand = 4 : i64, hopper.dim = 0 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %n0 = arith.constant 0 : i32
    %ks = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %qs = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %ps = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %maxima = hopper.create_channel : !hopper.channel<1x64xf32>
    hopper.warp_specialize partition @idle replicas(2) warps(1) {
    } partition @load threads(1) {
      hopper.put %ks[%n0], %k[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %row = arith.muli %t, %c64 : index
        hopper.put %qs[%n], %q[%c0, %c0, %row] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @scores registers(160) {
      %kt = hopper.get %ks[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %qt = hopper.get %qs[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %s0 = hopper.mma %kt, %qt : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %s = hopper.wait %s0 in_flight 0 : !hopper.pending<vector<64x64xf32>>
        hopper.release %qs[%n] : !hopper.channel<2x64x64xbf16>
        %p = arith.truncf %s : vector<64x64xf32> to vector<64x64xbf16>
        hopper.put_fragment %ps[%n], %p : !hopper.channel<1x64x64xbf16>, vector<64x64xbf16>
        %max = hopper.reduce max %s : vector<64x64xf32> -> vector<1x64xf32>
        %one = arith.constant 1 : i32
        %n2 = arith.shrui %n, %one : i32
        %odd = arith.andi %n, %one : i32
        %even = arith.cmpi eq, %odd, %n0 : i32
        hopper.put_fragment %maxima[%n2], %max if %even : !hopper.channel<1x64xf32>, vector<1x64xf32>
      }
      hopper.release %ks[%n0] : !hopper.channel<1x64x64xbf16>
    } partition @sums registers(240) {
      %kt = hopper.get %ks[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %qt = hopper.get %qs[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %pt = hopper.get %ps[%n] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %p = hopper.load_fragment %pt : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        %v0 = hopper.mma %p, %qt rhs_transposed : vector<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %g0 = hopper.mma %pt, %kt lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %one = arith.constant 1 : i32
        %n2 = arith.shrui %n, %one : i32
        %odd = arith.andi %n, %one : i32
        %even = arith.cmpi eq, %odd, %n0 : i32
        %mt = hopper.get %maxima[%n2] if %even : !hopper.channel<1x64xf32> -> !hopper.tile<64xf32>
        %max = scf.if %even -> vector<1x64xf32> {
          %x = hopper.load_fragment %mt : !hopper.tile<64xf32> -> vector<1x64xf32>
          scf.yield %x : vector<1x64xf32>
        } else {
          %x = arith.constant dense<0.0> : vector<1x64xf32>
          scf.yield %x : vector<1x64xf32>
        }
        hopper.release %maxima[%n2] if %even : !hopper.channel<1x64xf32>
        %v = hopper.wait %v0 in_flight 1 : !hopper.pending<vector<64x64xf32>>
        hopper.release %qs[%n] : !hopper.channel<2x64x64xbf16>
        %sb = vector.broadcast %max : vector<1x64xf32> to vector<64x64xf32>
        %vs = arith.addf %v, %sb : vector<64x64xf32>
        hopper.reduce_add %vs, %dv[%c0] : vector<64x64xf32>, memref<?x4096xf32>
        %g = hopper.wait %g0 in_flight 0 : !hopper.pending<vector<64x64xf32>>
        hopper.release %ps[%n] : !hopper.channel<1x64x64xbf16>
        hopper.reduce_add %g, %dq[%t] : vector<64x64xf32>, memref<?x4096xf32>
      }
      hopper.release %ks[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }

  // Warps and warpgroups have messages from a thread.
  gpu.func @messages(%out: memref<?x?xi32> {hopper.operand = 0 : i64},
                     %num: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %box = hopper.create_work_queue : !hopper.work_queue<1>
    hopper.warp_specialize partition @count threads(1) {
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %x = arith.muli %n, %n : i32
        hopper.post %box[%n], %x : !hopper.work_queue<1>
      }
    } partition @warps replicas(2) warps(1) {
      %w = hopper.warpgroup_id
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %x = hopper.receive %box[%n] : !hopper.work_queue<1> -> i32
        memref.store %x, %out[%t, %w] : memref<?x?xi32>
      }
    } partition @groups replicas(2) {
      %w = hopper.warpgroup_id
      %at = arith.addi %w, %c2 : index
      scf.for %t = %c0 to %num step %c1 {
        %n = arith.index_cast %t : index to i32
        %x = hopper.receive %box[%n] : !hopper.work_queue<1> -> i32
        memref.store %x, %out[%t, %at] : memref<?x?xi32>
      }
    }
    gpu.return
  }
}
