// What was tuned becomes an attribute of the program.

// RUN: rm -rf %t && mkdir %t
// RUN: env ATTN_TUNING_DB=%t/a.db attn-run %s --entry=causal --target=cpu --arg=q=randn:1x2x8x16 --tune=0.5
// RUN: attn-tune-db export --db=%t/a.db %t/a.json
// RUN: %python %S/../Tools/attn-run/Inputs/set_schedule.py %t/a.json '#attn.schedule<tile_m = 16, tile_n = 32, lanes = 4, unroll_m = 2, unroll_n = 2>'

// An export, and the database itself.

// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json --remarks-filter=attn --remark-format=emitRemark 2>%t/remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t/remarks
// RUN: attn-tune-db import --db=%t/b.db %t/a.json
// RUN: attn-opt %s --attn-apply-tuning=file=%t/b.db | FileCheck %s
// REMARK-DAG: remark: [Passed] tuned | Category:attn | Function=causal | Remark="#attn.schedule<tile_m = 16, tile_n = 32, lanes = 4, unroll_m = 2, unroll_n = 2>, tuned for q=1x2x8x16 on cpu: {{.*}} us, untuned {{.*}} us{{.*}}"
// REMARK-DAG: remark: [Missed] not-tuned | Category:attn | Function=other | Remark="nothing is known of the program

// It runs, and a schedule of the user wins.

// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json -o %t/tuned.mlir
// RUN: attn-run %t/tuned.mlir --entry=causal --target=cpu --until-after=attn-assign-schedule | FileCheck %s --check-prefix=TUNED
// RUN: attn-run %t/tuned.mlir --entry=causal --target=cpu --check | FileCheck %s --check-prefix=PASS
// RUN: attn-run %t/tuned.mlir --entry=causal --target=cpu --until-after=attn-assign-schedule --schedule='#attn.schedule<tile_m = 8, tile_n = 16, lanes = 4, unroll_m = 1, unroll_n = 4>' | FileCheck %s --check-prefix=USER
// TUNED: schedule<tile_m = 16, tile_n = 32, lanes = 4, unroll_m = 2, unroll_n = 2>
// PASS: PASS
// USER: schedule<tile_m = 8, tile_n = 16, lanes = 4, unroll_m = 1, unroll_n = 4>

// What an older version has found for the same extents is no other schedule.

// RUN: cp %t/a.json %t/older.json
// RUN: %python %S/Inputs/more_buckets.py %t/older.json older
// RUN: attn-opt %s --attn-apply-tuning=file=%t/older.json | FileCheck %s

// Where schedules differ, that for extents like those of the option, or the nearest.

// RUN: %python %S/Inputs/more_buckets.py %t/a.json
// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=DIFFER
// RUN: attn-opt %s --attn-apply-tuning="file=%t/a.json extents=128" | FileCheck %s --check-prefix=LONG
// RUN: attn-opt %s --attn-apply-tuning="file=%t/a.json extents=170" | FileCheck %s --check-prefix=LONG
// RUN: attn-opt %s --attn-apply-tuning="file=%t/a.json extents=8" | FileCheck %s
// RUN: attn-opt %s --attn-apply-tuning="file=%t/a.json extents=99999" --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: attn-opt %s --attn-apply-tuning="file=%t/a.json extents=8 device=cuda" --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not attn-opt %s --attn-apply-tuning="file=%t/a.json extents=8,128" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not attn-opt %s --attn-apply-tuning="file=%t/a.json extents=-8" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// COUNT: error: expects 1 extents, but got 2
// NEGATIVE: error: expects extents of 0 or more
// DIFFER: Function=causal | Remark="schedules differ with the extents, which no option tells
// LONG-LABEL: func private @inner
// LONG: schedule<tile_m = 32, tile_n = 64, lanes = 4, unroll_m = 2, unroll_n = 4>
// FAR: Function=causal | Remark="nothing is known of such extents
// DEVICE: Function=causal | Remark="nothing is known of the program

// A schedule that is none any more, and the compiler's own.

// RUN: %python %S/../Tools/attn-run/Inputs/set_schedule.py %t/a.json '#attn.schedule<tile_m = 7, tile_n = 0, lanes = 2, unroll_m = 1, unroll_n = 1>'
// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=ILLEGAL,UNTUNED
// RUN: %python %S/../Tools/attn-run/Inputs/set_schedule.py %t/a.json '42 : i32'
// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=NONE,UNTUNED
// RUN: %python %S/../Tools/attn-run/Inputs/set_schedule.py %t/a.json ''
// RUN: attn-opt %s --attn-apply-tuning=file=%t/a.json --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefixes=OWN,UNTUNED
// ILLEGAL: Function=causal | Remark="the schedule #attn.schedule<tile_m = 7, {{.*}}> is not legal: expects
// NONE: Function=causal | Remark="the schedule 42 : i32 is not legal: expects a schedule
// OWN: Function=causal | Remark="the compiler's choice is fastest
// UNTUNED-LABEL: func private @inner
// UNTUNED-NOT: schedule<tile_m
// UNTUNED-LABEL: func @other

// Files that cannot be read, and an entry for each of two devices.

// RUN: not attn-opt %s --attn-apply-tuning 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not attn-opt %s --attn-apply-tuning=file=%t/none 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not attn-opt %s --attn-apply-tuning=file=%s 2>&1 | FileCheck %s --check-prefix=DAMAGED
// RUN: echo '{"version": 99, "entries": []}' > %t/version.json
// RUN: not attn-opt %s --attn-apply-tuning=file=%t/version.json 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: %python %S/Inputs/more_buckets.py %t/a.json 'cpu: another'
// RUN: not attn-opt %s --attn-apply-tuning=file=%t/a.json 2>&1 | FileCheck %s --check-prefix=DEVICES
// FILE: error: expects a tuning database as the option file
// ABSENT: error: cannot read '{{.*}}none': No such file or directory
// DAMAGED: error: the tuning database '{{.*}}' is damaged
// VERSION: error: cannot read '{{.*}}version.json': {{.*}}version 99
// DEVICES: error: expects entries of one device, but got 'cpu: {{.*}}' and 'cpu: {{.*}}'; name one with the option device

func.func @causal(%q: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %o = call @inner(%q) : (tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32>
  return %o : tensor<1x2x?x16xf32>
}

// CHECK-LABEL: func private @inner
// CHECK: attn.attention schedule<tile_m = 16, tile_n = 32, lanes = 4, unroll_m = 2, unroll_n = 2>
func.func private @inner(%q: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%q : tensor<1x2x?x16xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x2x?x16xf32>
}

// Nothing is known of it, or of what it computes; and one that has a schedule keeps it.

// CHECK-LABEL: func @other
// CHECK-NOT: schedule
// CHECK-LABEL: func @kept
// CHECK: schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
func.func @other(%q: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
      outs(%q : tensor<1x2x8x8xf32>)
  return %o : tensor<1x2x8x8xf32>
}
func.func @kept(%q: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %o = attn.attention schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
      outs(%q : tensor<1x2x8x8xf32>)
  return %o : tensor<1x2x8x8xf32>
}
