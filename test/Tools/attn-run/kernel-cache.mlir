// Kernels are kept on disk, and a miss tells in what the nearest one differs.
// RUN: rm -rf %t.cache %t.file
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu 2>&1 >%t.first | FileCheck %s --check-prefix=COLD
// COLD: attn: cache: miss [[KEY:[0-9a-f]+]]: nothing is kept of this program
// COLD-NEXT: attn: cache: kept [[KEY]] in
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu 2>&1 >%t.second | FileCheck %s --check-prefix=WARM
// WARM: attn: cache: hit {{[0-9a-f]+}}, in
// WARM-NOT: attn: cache
// RUN: diff %t.first %t.second
// RUN: env ATTN_CACHE_DIR=%t.cache attn-run %s --target=cpu --format=json | FileCheck %s --check-prefix=STAGES
// STAGES: "stages": [
// STAGES-NEXT: {
// STAGES-NEXT: "name": "cache"
// STAGES: "name": "load"
// STAGES-NOT: "name":
// STAGES: ]

// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu --bounds-check 2>&1 | FileCheck %s --check-prefix=DIFFERS
// DIFFERS: miss {{.*}}: another kernel of it differs in bounds check ('1', kept is '0')
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu --schedule='#attn.schedule<tile_m = 16, tile_n = 16, lanes = 4, unroll_m = 1, unroll_n = 4>' 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: miss {{.*}}: another kernel of it differs in schedule ('#attn.schedule<{{.*}}>', kept is '')
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cuda --chip=h200 --emit=package --emit-to=%t.package 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: miss {{.*}}: another kernel of it differs in target ('cuda h200', kept is 'host {{.*}}'), assembler ({{.*}}), time for

// Dumps are of a compilation, which they always run.
// RUN: rm -rf %t.dump
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu --dump-ir=%t.dump 2>&1 | FileCheck %s --check-prefix=DUMP
// DUMP-NOT: attn: cache

// A damaged entry is made again.
// RUN: %python -c "import glob, sys; [open(p, 'r+b').truncate(200) for p in glob.glob(sys.argv[1] + '/attn-*')]" %t.cache
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache attn-run %s --target=cpu 2>&1 >%t.third | FileCheck %s --check-prefix=DAMAGED
// DAMAGED: attn: cache: miss
// DAMAGED: attn: cache: kept
// RUN: diff %t.first %t.third

// Where nothing can be kept, all goes on: no folder, a full disk, no cache.
// RUN: touch %t.file
// RUN: env ATTN_CACHE_DIR=%t.file/x ATTN_LOG=cache attn-run %s --target=cpu 2>&1 >%t.fourth | FileCheck %s --check-prefix=UNKEPT
// RUN: diff %t.first %t.fourth
// RUN: env ATTN_CACHE_DIR=%t.cache/tiny ATTN_CACHE_MB=0 ATTN_LOG=cache attn-run %s --target=cpu 2>&1 | FileCheck %s --check-prefix=UNKEPT
// UNKEPT: could not keep
// RUN: env ATTN_CACHE_DIR=off ATTN_LOG=cache attn-run %s --target=cpu 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: attn: cache: off

// An error of the compilation is told each time.
// RUN: env ATTN_CACHE_DIR=%t.cache not attn-run %s --target=cpu --schedule='#attn.schedule<>' 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: env ATTN_CACHE_DIR=%t.cache not attn-run %s --target=cpu --schedule='#attn.schedule<>' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error:

func.func @causal(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x16xf32>, %v: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x16xf32>
  %init = tensor.empty(%n) : tensor<1x2x?x16xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%init : tensor<1x2x?x16xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x2x?x16xf32>
}
