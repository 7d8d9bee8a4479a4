// Where the assembler rejects all schedules, the one that spills least runs, and
// a remark on the attention says so.

// REQUIRES: ptxas
// RUN: env ATTN_LIBCUDA=%fake_cuda attn-run %s --entry=f --target=cuda --format=json --schedule='#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 168>' | FileCheck %s
// RUN: env ATTN_LIBCUDA=%fake_cuda attn-run %s --entry=cap --grad=q,k,v --target=cuda --arg=q=randn:1x2x64x256 --arg=k=randn:1x2x64x256 --arg=v=randn:1x2x64x256 --format=json | FileCheck %s --check-prefix=FIRST
// FIRST: remark: schedule-rejected: {{.*}}tile_n = 48, {{.*}}order = [load_k,
// FIRST: remark: schedule-spills: {{.*}}tile_n = 32, {{.*}}order = [load_k,
// FIRST-COUNT-2: remark: schedule-rejected: {{.*}}order = [load_q,
// FIRST: remark: least-spills: {{.*}}#hopper.schedule<tile_m = 64, tile_n = 64, stages = 1, registers = 240, {{[^[]*}}order = {{.*}}partitions =
// CHECK: "remarks": [
// CHECK: cuda-least-spills.mlir:[[#@LINE+8]]:8: remark: schedule-rejected: #hopper.schedule<tile_m = 128, tile_n = 128,
// CHECK: cuda-least-spills.mlir:[[#@LINE+7]]:8: remark: least-spills: right but slow: no schedule has registers for what is computed of each score, so that #hopper.schedule<tile_m = 128, tile_n = 128,

!t = tensor<1x2x?x128xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// Of dk and dv of 256 columns with two partitions some hundred bytes are spilled,
// and with one products do not run beside anything else. dq has smaller tiles.
!w = tensor<1x2x?x256xbf16>
func.func @cap(%q: !w, %k: !w, %v: !w) -> !w {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !w
  %init = tensor.empty(%n) : !w
  %o = attn.attention ins(%q, %k, %v : !w, !w, !w) outs(%init : !w)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 2.0e+01 : f32
        %d = arith.divf %s, %cap : f32
        %t = math.tanh %d : f32
        %wave = math.sin %d : f32
        %u = arith.mulf %t, %wave : f32
        %y = arith.mulf %u, %cap : f32
        attn.yield %y : f32
      }
  return %o : !w
}
