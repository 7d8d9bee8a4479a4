// Another table of schedules than that of the compiler.

// RUN: rm -rf %t && split-file %s %t

// Rows are taken in their order where their conditions hold. A row has what the
// defaults say, but where it says something else, and the KV block is smaller
// where there is no memory for it. The first row that is taken is no last resort.
// RUN: attn-opt %t/programs.mlir --attn-hopper-assign-schedule="list schedules=%t/good.json" 2>&1 | FileCheck %s
// CHECK: schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 232, head_swizzle = 4, ping_pong>, tile_cost = 2.0000, key_cost = 0.0100, row 0 of attention
// CHECK: schedule: #hopper.schedule<tile_m = 64, tile_n = 16, stages = 1, registers = 240, head_swizzle = 1>, tile_cost = 3.0000, row 1 of attention
// CHECK: schedule: #hopper.schedule<tile_m = 64, tile_n = 96, {{.*}}head_swizzle = 1>, tile_cost = 1.0000, spill_bytes = 8, row 2 of attention
// CHECK: split-KV: {{.*}} split_kv>, {{.*}}row 3 of attention

// RUN: attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/good.json | FileCheck %s --check-prefix=FIRST-ROW
// FIRST-ROW: schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 232, head_swizzle = 4, ping_pong>

// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot read the schedules of '{{.*}}none.json': No such file or directory
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/version.json 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: cannot read the schedules of '{{.*}}': expects schedules of version 1, but got version 7

// What is wrong is told by its place in the file, or by the number of its row.
// RUN: sed 's/"masked": true/"maskde": true/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=CONDITION
// CONDITION: unknown condition at schedules.attention.defaults[0].when.maskde
// RUN: sed 's/"members"/"member"/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=MEMBER
// MEMBER: unknown member at schedules.attention.defaults[0].member
// RUN: sed 's/\[8, 64\]/[64, 8]/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: expected true, false, a number, or [least, most] at schedules.attention.rows[0].when.dim
// RUN: sed 's/"last_resort"/"rarely"/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=USE
// USE: expected usual, last_resort, few_tiles or any_strides at schedules.attention.rows[1].use
// RUN: sed 's/#hopper.schedule<tile_m = 64, tile_n = 16/#attn.schedule<tile_m = 64, tile_n = 16/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// ATTRIBUTE: expected #hopper.schedule<...> at schedules.attention.rows[1].schedule
// RUN: sed 's/registers = 240/registers = 241/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// ILLEGAL: row 1 of attention: expects registers to be a multiple of 8 from 24 to 256, but got 241 in #hopper.schedule<
// RUN: sed 's/stages = 1/stages = 4, tile_n = 256/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: row 1 of attention: expects a schedule that fits the shared memory of h200
// RUN: sed 's/"tile_cost": 3/"tile_cost": -3/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=COST
// COST: row 1 of attention: expects costs that are not negative
// RUN: sed 's/"spill_bytes": 8/"spill_bytes": -8/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=SPILLS
// SPILLS: row 2 of attention: expects spill_bytes that are not negative
// RUN: sed 's/, split_kv//' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: row 3 of attention: expects split_kv for few tiles alone, and strided for any strides
// RUN: sed 's/"dim": 256/"tile_m": 64/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=OF-ROW
// OF-ROW: row 1 of attention: expects conditions on the program
// RUN: sed 's/#hopper.schedule<tile_m = 64, tile_n = 16, stages = 1/#hopper.schedule<stages = 1, tile_m = 64, tile_n = 16/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: row 1 of attention: expects tile_m first
// RUN: sed 's/h200/b200/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: expects a target with wgmma, but got 'b200'

// A table may have nothing for a program, and defaults may contradict a row.
// RUN: sed 's/"dim": 256/"dim": 248/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: expects a row of the table of schedules that this attention takes for any extents
// RUN: sed 's/"masked": true/"causal": false/; s/head_swizzle = 4/zigzag, longest_first/' %t/good.json > %t/bad.json
// RUN: not attn-opt %t/programs.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: row 0 of attention: expects longest_first or zigzag, not both in #hopper.schedule<

// Gradients have rows of their own, of whose steps a program has those that it
// needs; a table without any takes those of the compiler.
// RUN: sed 's/^ "gathered"/ "gradients": {"defaults": [], "rows": [{"schedule": "#hopper.schedule<tile_m = 64, tile_n = 32, stages = 1, registers = 240, order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red]>", "tile_cost": 7}]},\n&/' %t/good.json > %t/gradients.json
// RUN: attn-opt %t/gradient.mlir --attn-hopper-assign-schedule="list schedules=%t/gradients.json" 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: schedule: #hopper.schedule<tile_m = 64, tile_n = 32, {{.*}}order = [load_q, qk, exp, load_do, dv]>, tile_cost = 7.0000, row 0 of gradients
// RUN: attn-opt %t/gradient.mlir --attn-hopper-assign-schedule="list schedules=%t/good.json" 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: schedule: #hopper.schedule<tile_m = 128, {{.*}} of gradients
// RUN: sed 's/, order = .*red\]>/>/' %t/gradients.json > %t/bad.json
// RUN: not attn-opt %t/gradient.mlir --attn-hopper-assign-schedule=schedules=%t/bad.json 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: row 0 of gradients: expects an order of steps

//--- gradient.mlir
func.func @gradient(%x: tensor<1x1x?x64xbf16>, %l: tensor<1x1x?xf32>) -> tensor<1x1x?x64xbf16> {
  %d = attn.attention_grad wrt(v) ins(%x, %x, %x, %x, %l, %x : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?xf32>, tensor<1x1x?x64xbf16>) outs(%x : tensor<1x1x?x64xbf16>)
  return %d : tensor<1x1x?x64xbf16>
}

//--- good.json
{
 "version": 1, "target": "h200", "note": "for people",
 "model": {"typical_keys": 1024, "masked_part": 0.5, "alone": 1, "most_instructions": 16384, "word_byte_cost": 0, "combine_cost": 1, "part_element_cost": 0},
 "attention": {
  "defaults": [{"when": {"masked": true}, "members": "head_swizzle = 4"}],
  "rows": [
   {"when": {"dim": [8, 64]}, "schedule": "#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 232, ping_pong>", "tile_cost": 2, "key_cost": 0.02},
   {"when": {"dim": 256}, "use": "last_resort", "schedule": "#hopper.schedule<tile_m = 64, tile_n = 16, stages = 1, registers = 240>", "tile_cost": 3},
   {"when": [{"dim": 128}, {"dim": 256}], "schedule": "#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 240>", "tile_cost": 1, "spill_bytes": 8},
   {"when": {"dim": 256}, "use": "few_tiles", "schedule": "#hopper.schedule<tile_m = 64, tile_n = 16, stages = 2, registers = 240, split_kv>", "tile_cost": 1}
  ]
 },
 "gathered": {"defaults": [], "rows": []}
}

//--- version.json
{"version": 7}

//--- programs.mlir
func.func @narrow(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>) outs(%q : tensor<1x1x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xbf16>
}
func.func @wide(%q: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>) outs(%q : tensor<1x1x?x256xbf16>)
  return %r : tensor<1x1x?x256xbf16>
}
