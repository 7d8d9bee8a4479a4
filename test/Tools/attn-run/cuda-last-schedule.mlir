// Where the assembler rejects all schedules, the last one runs, and a remark
// on the attention says so.

// REQUIRES: ptxas
// RUN: env ATTN_LIBCUDA=%fake_cuda attn-run %s --target=cuda --format=json --schedule='#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 168>' | FileCheck %s
// CHECK: "remarks": [
// CHECK: cuda-last-schedule.mlir:[[#@LINE+8]]:8: remark: schedule-rejected: #hopper.schedule<tile_m = 128, tile_n = 128,
// CHECK: cuda-last-schedule.mlir:[[#@LINE+7]]:8: remark: last-schedule: right but slow: no schedule has registers for what is computed of each score, so that #hopper.schedule<tile_m = 128, tile_n = 128,

!t = tensor<1x2x?x128xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
