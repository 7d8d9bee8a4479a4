// What a program is compiled for on a GPU is data: --chip, or `attn.target` of
// the program.

// RUN: env ATTN_PTXAS=off attn-run %s --emit=ptx --chip=h100 2>/dev/null | FileCheck %s --check-prefix=HOPPER
// RUN: env ATTN_PTXAS=off attn-run %s --emit=ptx --chip=sm_90a 2>/dev/null | FileCheck %s --check-prefix=HOPPER
// HOPPER: .version 8.0
// HOPPER: .target sm_90a
// HOPPER: wgmma.mma_async

// Without products of matrices in shared memory there are rows.
// RUN: env ATTN_PTXAS=off attn-run %s --emit=ptx --chip=b200 --variant=all 2>/dev/null | FileCheck %s --check-prefix=B200
// B200: // variant 0 of 1: #attn.row_schedule<
// B200: .version 8.6
// B200: .target sm_100a
// B200-NOT: wgmma
// RUN: env ATTN_PTXAS=off attn-run %s --emit=ptx --chip=sm_120a 2>/dev/null | FileCheck %s --check-prefix=SM120
// SM120: .version 8.7
// SM120: .target sm_120a

// RUN: env ATTN_PTXAS=off not attn-run %s --emit=ptx --chip=b200 --schedule='#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>' 2>&1 | FileCheck %s --check-prefix=TILES
// TILES: error: expects a target with wgmma for tiles on a GPU, but sm_100a has none; leave the choice of a schedule and of a form to the compiler

// RUN: env ATTN_PTXAS=off not attn-run %s --emit=ptx --chip=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expects a GPU to be one of h200, h100, b200, rtx5090, or the name of its chip, but got 'sm_70'

// RUN: not attn-run %s --target=cpu --chip=h200 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: attn-run: error: expects --target=cuda for --chip, but got 'cpu'

// The program may say so itself: with less memory, tiles are smaller.
// RUN: attn-opt %s --attn-online-softmax --attn-hopper-assign-schedule=list 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: remark: schedule: #hopper.schedule<tile_m = 192, tile_n = 128
// RUN: sed 's/^module /module attributes {attn.target = #attn.target<"sm_90a", sms = 132, sm_shared = 102400, cta_shared = 101376, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true>} /' %s > %t.mlir
// RUN: attn-opt %t.mlir --attn-online-softmax --attn-hopper-assign-schedule=list 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: tile_m = 192, tile_n = 128
// SMALL: remark: schedule: #hopper.schedule<

// A package says whether its kernels wait for each other: only then may they
// start early.
// RUN: env ATTN_PTXAS=off attn-run %t.mlir --target=cuda --emit=package | grep -a -o '"dependent_launch":[a-z]*\|griddepcontrol.wait' | FileCheck %s --check-prefix=ORDERED
// ORDERED-NOT: griddepcontrol
// ORDERED: "dependent_launch":false
// ORDERED-NOT: griddepcontrol
// RUN: env ATTN_PTXAS=off attn-run %s --target=cuda --chip=h200 --emit=package | grep -a -o '"dependent_launch":[a-z]*\|griddepcontrol.wait' | FileCheck %s --check-prefix=EARLY
// EARLY: "dependent_launch":true
// EARLY: griddepcontrol.wait
module {
  func.func @f(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x8x?x64xbf16>, %v: tensor<?x8x?x64xbf16>, %init: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
    %o = attn.attention
        ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
        outs(%init : tensor<?x8x?x64xbf16>)
    return %o : tensor<?x8x?x64xbf16>
  }
}
