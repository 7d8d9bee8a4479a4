// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

!map = !hopper.map<64x64xbf16>

// CHECK-LABEL: gpu.func @steps
gpu.module @m {
  gpu.func @steps(%map: !map, %counter: memref<2xi32>, %n: index, %s: index) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %c0 = arith.constant 0 : index
    %first_use = arith.constant 0 : i32
    // CHECK: hopper.work_loop (%[[B:.*]], %[[H:.*]], %[[T:.*]], %[[N:.*]]) in (%{{.*}}, %{{.*}}, %{{.*}}) counter %{{.*}} : memref<2xi32> group %{{.*}} iter_args(%[[I:.*]] = %{{.*}}) : i32 {
    %r = hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> group %n iter_args(%i = %first_use) : i32 {
      // CHECK: hopper.work_rows %[[T]] of %{{.*}} size 128
      %first, %end = hopper.work_rows %t of %s size 128
      // CHECK: hopper.work_rows %[[T]] of %{{.*}} size 128 own
      %own, %own_end = hopper.work_rows %t of %s size 128 own
      // CHECK: %[[Q:.*]] = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
      %q = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
        // CHECK: hopper.load %{{.*}}[%[[B]], %[[H]], %{{.*}}] stages 1
        %x = hopper.load %map[%b, %h, %first] stages 1 : !map -> !hopper.tile<64x64xbf16>
        // CHECK: hopper.load %{{.*}}[%[[B]], %[[H]], %{{.*}}, %{{.*}}] stages 4
        %column = hopper.load %map[%b, %h, %first, %n] stages 4 : !map -> !hopper.tile<64x64xbf16>
        // CHECK: hopper.end %{{.*}} : !hopper.tile<64x64xbf16>
        hopper.end %x : !hopper.tile<64x64xbf16>
      }
      // CHECK: hopper.pipelined_for %[[J:.*]] = %{{.*}} to %{{.*}} step 64 within %{{.*}} to %{{.*}} only_last_partial iter_args(%[[A:.*]] = %{{.*}})
      // CHECK-NEXT: schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"add", 1>] exclusive ["qk"] : vector<64x64xf32> {
      %o = hopper.pipelined_for %j = %c0 to %own_end step 64 within %c0 to %end only_last_partial iter_args(%acc = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"add", 1>] exclusive ["qk"] : vector<64x64xf32> {
        %k = hopper.step "load_k" in "load" -> !hopper.tile<64x64xbf16> {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !hopper.tile<64x64xbf16>
          hopper.end %x : !hopper.tile<64x64xbf16>
        }
        %p = hopper.step "qk" in "compute" -> vector<64x64xf32> {
          // CHECK: hopper.own_rows
          %rows = hopper.own_rows %q : !hopper.tile<64x64xbf16> -> !hopper.tile<64x64xbf16>
          // CHECK: hopper.dot
          %x = hopper.dot %rows, %k : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        %next = hopper.step "add" in "compute" -> vector<64x64xf32> {
          %full = arith.cmpi sle, %j, %s : index
          // CHECK: hopper.mask %{{.*}} unless %{{.*}} by_block {
          %x = hopper.mask %p unless %full by_block {
            %allowed = arith.constant dense<true> : vector<64x64xi1>
            hopper.end %allowed : vector<64x64xi1>
          } : vector<64x64xf32>
          %y = arith.addf %acc, %x : vector<64x64xf32>
          hopper.end %y : vector<64x64xf32>
        }
        hopper.end %next : vector<64x64xf32>
      }
      hopper.end %i : i32
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @parts
  gpu.func @parts(%n: index, %parts: index) kernel {
    // CHECK: hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %[[P:.*]], %{{.*}}) in (%{{.*}}, %{{.*}}, %{{.*}}, %[[PARTS:.*]]) {
    hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %parts) {
      // CHECK: hopper.split_of_range %[[P]] of %[[PARTS]] from %{{.*}} to %{{.*}} step 64 least 4
      %first, %end = hopper.split_of_range %p of %parts from %t to %n step 64 least 4
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @classes
  gpu.func @classes(%map: !map, %lists: !hopper.map<64x64xbf16, strided, aligned>, %list: memref<?x64xi32>, %n: index, %code: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    // CHECK: hopper.pipelined_for %[[J:.*]], %[[FULL:.*]] = %{{.*}} to %{{.*}} step 64 iter_args(%[[A:.*]] = %{{.*}})
    // CHECK-NEXT: schedule [#hopper.place<"load", 0>, #hopper.place<"use", 0>] : vector<64x64xf32>
    // CHECK-NEXT: classes(%[[C:.*]]) {
    // CHECK-NEXT: arith.cmpi slt, %[[C]]
    // CHECK-NEXT: hopper.end %{{.*}}, %{{.*}} : i1, i1
    // CHECK-NEXT: } {
    %r = hopper.pipelined_for %j, %full = %n to %n step 64 iter_args(%a = %zero)
        schedule [#hopper.place<"load", 0>, #hopper.place<"use", 0>] : vector<64x64xf32>
        classes(%c) {
      %x = arith.cmpi slt, %c, %n : index
      hopper.end %x, %x : i1, i1
    } {
      %k = hopper.step "load" in "load" -> !hopper.tile<64x64xbf16> {
        // CHECK: hopper.next_block
        %next = hopper.next_block
        // CHECK: hopper.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] rows %{{.*}}[%[[J]]] stages 2 : <64x64xbf16, strided, aligned>, memref<?x64xi32> -> <64x64xbf16>
        %x = hopper.load %lists[%n, %n, %n] rows %list[%j] stages 2 : !hopper.map<64x64xbf16, strided, aligned>, memref<?x64xi32> -> !hopper.tile<64x64xbf16>
        hopper.end %x : !hopper.tile<64x64xbf16>
      }
      %s = hopper.step "use" in "compute" -> vector<64x64xf32> {
        // CHECK: hopper.mask %[[A]] unless %[[FULL]] by_block
        %x = hopper.mask %a unless %full by_block {
          %allowed = arith.constant dense<true> : vector<64x64xi1>
          hopper.end %allowed : vector<64x64xi1>
        } : vector<64x64xf32>
        hopper.end %x : vector<64x64xf32>
      }
      hopper.end %s : vector<64x64xf32>
    }
    // CHECK: hopper.pipelined_for while iter_args(%[[CODE:.*]] = %{{.*}})
    // CHECK-NEXT: schedule [#hopper.place<"next", 0>] exclusive ["next"] : i32 {
    %last = hopper.pipelined_for while iter_args(%x = %code) schedule [#hopper.place<"next", 0>] exclusive ["next"] : i32 {
      %next = hopper.step "next" in "load" -> i32 {
        hopper.end %x : i32
      }
      hopper.end %next : i32
    }
    // Those of one replica.
    // CHECK: hopper.pipelined_for while from %[[N:.*]] to %[[N]] step 64 iter_args(%{{.*}} = %{{.*}})
    // CHECK-NEXT: schedule [#hopper.place<"next", 0>] : i32 {
    %own = hopper.pipelined_for while from %n to %n step 64 iter_args(%x = %code) schedule [#hopper.place<"next", 0>] : i32 {
      %next = hopper.step "next" in "load" -> i32 {
        hopper.end %x : i32
      }
      hopper.end %next : i32
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @softmax
  gpu.func @softmax(%s: vector<64x64xf32>, %a: vector<128x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) kernel {
    // CHECK: hopper.softmax_step %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} factor 1.800000e-01 lazy : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.18 lazy
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    // CHECK: hopper.softmax_step %{{.*}} offset %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} factor 1.800000e-01 exact : vector<64x64xf32>
    %p2, %a2, %m2, %l2 = hopper.softmax_step %s offset %m, %a, %m, %l factor 0.18 exact
        : vector<64x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    %half = arith.truncf %s : vector<64x64xf32> to vector<64x64xbf16>
    // CHECK: hopper.publish %{{.*}} stages 2 : vector<64x64xbf16> -> <128x64xbf16>
    %tile = hopper.publish %half stages 2 : vector<64x64xbf16> -> !hopper.tile<128x64xbf16>
    // CHECK: hopper.publish %{{.*}} transposed stages 1 : vector<64x64xbf16> -> <64x128xbf16>
    %across = hopper.publish %half transposed stages 1 : vector<64x64xbf16> -> !hopper.tile<64x128xbf16>
    // CHECK: hopper.publish %{{.*}} stages 2 : vector<1x64xf32> -> <128xf32>
    %floats = hopper.publish %m stages 2 : vector<1x64xf32> -> !hopper.tile<128xf32>
    // CHECK: %{{.*}}, %{{.*}} = hopper.publish_bf16x3 %{{.*}} times 4.000000e+00 up_to 1.000000e+09 stages 4 : vector<48x1xf32> -> <48x8xbf16>
    %numbers = arith.constant dense<1.0> : vector<48x1xf32>
    %terms, %most = hopper.publish_bf16x3 %numbers times 4.0 up_to 1.0e9 stages 4 : vector<48x1xf32> -> !hopper.tile<48x8xbf16>
    // CHECK: hopper.own_columns %{{.*}} : <64x128xbf16> -> <64x64xbf16>
    %own = hopper.own_columns %across : !hopper.tile<64x128xbf16> -> !hopper.tile<64x64xbf16>
    // CHECK: hopper.dot %{{.*}}, %{{.*}} lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, <64x64xbf16> -> vector<64x64xf32>
    %dot = hopper.dot %own, %own lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
    // CHECK: hopper.own_columns %{{.*}} : <64x96xbf16, chunks of 48> -> <64x48xbf16, chunks of 48>
    %keys = hopper.create_tile : !hopper.tile<64x96xbf16, chunks of 48>
    %part = hopper.own_columns %keys : !hopper.tile<64x96xbf16, chunks of 48> -> !hopper.tile<64x48xbf16, chunks of 48>
    // CHECK: hopper.dot %{{.*}}, %{{.*}} lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, <64x48xbf16, chunks of 48> -> vector<48x64xf32>
    %dots = hopper.dot %own, %part lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x48xbf16, chunks of 48> -> vector<48x64xf32>
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // CHECK: hopper.next_use %{{.*}} : !hopper.channel<2x64x64xbf16>
    %n = hopper.next_use %ch : !hopper.channel<2x64x64xbf16>
    hopper.step "late" in "compute" {
      // CHECK: %[[N:.*]] = hopper.next_use %{{.*}} reader 1 : !hopper.channel<2x64x64xbf16>
      %late = hopper.next_use %ch reader 1 : !hopper.channel<2x64x64xbf16>
      // CHECK: hopper.view %{{.*}}[%[[N]]] : <2x64x64xbf16> -> <64x64xbf16>
      %view = hopper.view %ch[%late] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.end
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @vectors
  gpu.func @vectors(%source: memref<?x?x?xf32>, %b: index, %i: index, %ids: memref<?xi32>, %c: i1) kernel {
    // CHECK: hopper.load_vector %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] stages 2 : memref<?x?x?xf32> -> <80xf32>
    %x = hopper.load_vector %source[%b, %b, %i] stages 2 : memref<?x?x?xf32> -> !hopper.tile<80xf32>
    // CHECK: hopper.load_vector %{{.*}}[%{{.*}}] zero_fill if %{{.*}} stages 4 : memref<?xi32> -> <128xi32>
    %y = hopper.load_vector %ids[%i] zero_fill if %c stages 4 : memref<?xi32> -> !hopper.tile<128xi32>
    gpu.return
  }
}

// CHECK-LABEL: func @schedule
// CHECK-SAME: order = [load_k, qk, load_v(1), pv(1), softmax], exclusive = [qk, pv]>
func.func @schedule() attributes {s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1,
    order = [load_k, qk, load_v(1), pv(1), softmax], exclusive = [qk, pv]>} { return }

// CHECK-LABEL: func @partitions
// CHECK-SAME: order = [load_k, qk, act(1), load_v(2), pv(2)], partitions = {act = second, pv = third}>
func.func @partitions() attributes {s = #hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 160, head_swizzle = 1,
    order = [load_k, qk, act(1), load_v(2), pv(2)], partitions = {pv = third, act = second}>} { return }
