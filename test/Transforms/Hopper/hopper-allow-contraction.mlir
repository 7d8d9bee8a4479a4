// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-allow-contraction)))' | FileCheck %s

!tile = !hopper.tile<64x64xbf16>
!v = vector<64x64xf32>

gpu.module @m {
  // What depends on a product, and what is added to it.

  // CHECK-LABEL: gpu.func @score
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: arith.negf
  // CHECK: arith.subf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract> :
  gpu.func @score(%q: !tile, %k: !tile, %a: !v, %x: !v) kernel {
    %s = hopper.dot %q, %k : !tile, !tile -> !v
    %scaled = arith.mulf %s, %a : !v
    %bias = arith.mulf %a, %x : !v
    %less = arith.negf %bias : !v
    %all = arith.subf %less, %a : !v
    %y = arith.addf %scaled, %all : !v
    %max = hopper.reduce max %y : !v -> vector<1x64xf32>
    gpu.return
  }

  // What a comparison or a rounding to integers reads is rounded each time; so is
  // what also goes elsewhere.

  // CHECK-LABEL: gpu.func @limits
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: math.floor
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: arith.cmpf
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract> :
  gpu.func @limits(%q: !tile, %k: !tile, %a: !v, %x: !v) kernel {
    %s = hopper.dot %q, %k : !tile, !tile -> !v
    %product = arith.mulf %a, %x : !v
    %sum = arith.addf %product, %x : !v
    %floor = math.floor %sum : !v
    %limit = arith.mulf %x, %x : !v
    %allowed = arith.cmpf ole, %a, %limit : !v
    %bias = arith.select %allowed, %floor, %limit : vector<64x64xi1>, !v
    %y = arith.addf %s, %bias : !v
    %max = hopper.reduce max %y : !v -> vector<1x64xf32>
    gpu.return
  }

  // A difference of squares may cancel to 0, a sum of such may not.

  // CHECK-LABEL: gpu.func @roots
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: arith.subf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: math.sqrt
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: math.sqrt
  gpu.func @roots(%q: !tile, %k: !tile, %a: !v, %x: !v) kernel {
    %s = hopper.dot %q, %k : !tile, !tile -> !v
    %aa = arith.mulf %a, %a : !v
    %bb = arith.mulf %s, %s : !v
    %xx = arith.mulf %x, %x : !v
    %difference = arith.subf %aa, %xx : !v
    %root = math.sqrt %difference : !v
    %sum = arith.addf %bb, %bb : !v
    %other = math.sqrt %sum : !v
    %y = arith.divf %other, %root : !v
    %max = hopper.reduce max %y : !v -> vector<1x64xf32>
    gpu.return
  }

  // Through a branch, but not into a loop, and not of f64.

  // CHECK-LABEL: gpu.func @regions
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> :
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<64x64xf32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract> :
  gpu.func @regions(%q: !tile, %k: !tile, %a: !v, %x: !v, %p: i1, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = hopper.dot %q, %k : !tile, !tile -> !v
    %bias = scf.if %p -> !v {
      %one = arith.mulf %a, %x : !v
      scf.yield %one : !v
    } else {
      scf.yield %a : !v
    }
    %start = arith.mulf %x, %x : !v
    %z = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %start) -> !v : i32 {
      %next = math.floor %carried : !v
      scf.yield %next : !v
    }
    %all = arith.addf %s, %bias : !v
    %y = arith.maximumf %all, %z : !v
    %max = hopper.reduce max %y : !v -> vector<1x64xf32>
    gpu.return
  }

  // Without a product all is as the program says.

  // CHECK-LABEL: gpu.func @elements
  // CHECK-NOT: fastmath
  // CHECK: gpu.return
  gpu.func @elements(%a: f32, %x: f32, %to: memref<f32>) kernel {
    %product = arith.mulf %a, %x : f32
    %sum = arith.addf %product, %x : f32
    memref.store %sum, %to[] : memref<f32>
    gpu.return
  }
}
