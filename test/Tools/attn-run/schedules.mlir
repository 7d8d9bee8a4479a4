// A table of schedules for a GPU that somebody has measured.

// RUN: rm -rf %t && split-file %s %t
// RUN: env ATTN_PTXAS=off attn-run %t/causal.mlir --emit=ptx --variant=all --schedules=%t/table.json 2>/dev/null | FileCheck %s
// CHECK: // variant 0 of 1: #hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240, head_swizzle = 2>
// RUN: attn-run %t/causal.mlir --target=cuda --until-after=attn-hopper-assign-schedule --schedules=%t/table.json | FileCheck %s --check-prefix=AFTER
// AFTER: schedule #hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240, head_swizzle = 2>

// It is read once, however many kernels are compiled: a pipe has no second time.

// RUN: cat %t/table.json | env ATTN_CACHE_DIR=off ATTN_PTXAS=off attn-run %t/causal.mlir --emit=ptx --variant=all --schedules=/dev/stdin | FileCheck %s

// RUN: not attn-run %t/causal.mlir --emit=ptx --schedules=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot read the schedules of '{{.*}}none.json'
// RUN: sed 's/64\]/56]/' %t/table.json > %t/other.json
// RUN: not attn-run %t/causal.mlir --emit=ptx --schedules=%t/other.json 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: causal.mlir:2:{{.*}}: error: expects a row of the table of schedules that this attention takes for any extents
// RUN: not attn-run %t/causal.mlir --target=cpu --schedules=%t/table.json 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: attn-run: error: expects --target=cuda for --schedules, but got 'cpu'

//--- table.json
{
 "version": 1, "target": "h200",
 "model": {"typical_keys": 1024, "masked_part": 0.5, "alone": 1, "most_instructions": 16384, "word_byte_cost": 0, "combine_cost": 1, "part_element_cost": 0},
 "attention": {
  "defaults": [],
  "rows": [
   {"when": {"dim": [8, 64]}, "schedule": "#hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240, head_swizzle = 2>", "tile_cost": 2, "key_cost": 0.02}
  ]
 },
 "gathered": {"defaults": [], "rows": []}
}

//--- causal.mlir
func.func @causal(%q: tensor<1x2x256x64xbf16>, %o: tensor<1x2x256x64xbf16>) -> tensor<1x2x256x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>) outs(%o : tensor<1x2x256x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x2x256x64xbf16>
}
