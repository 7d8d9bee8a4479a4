// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels)))' | FileCheck %s

!map = !hopper.map<64x64xbf16>
!tile = !hopper.tile<64x64xbf16>

// A tile of a block arrives in the step that runs first of those that use it,
// by stage and order, and is given back in the last one. That of a work tile
// arrives before the loop.

// CHECK-LABEL: gpu.func @loop
// CHECK-DAG: %[[K:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK-DAG: %[[Q:.*]] = hopper.create_channel : <1x64x64xbf16>
// CHECK: hopper.step "load_q" in "load" {
// CHECK-NEXT: %[[N:.*]] = hopper.next_use %[[Q]]
// CHECK-NEXT: hopper.put %[[Q]][%[[N]]]
// CHECK: %[[OWN:.*]] = hopper.step "load_q.get" in "compute" -> !hopper.tile<64x64xbf16> {
// CHECK-NEXT: %[[N:.*]] = hopper.next_use %[[Q]]
// CHECK-NEXT: hopper.get %[[Q]][%[[N]]]
// CHECK: hopper.pipelined_for
// CHECK: hopper.step "load_k" in "load" {
// CHECK: hopper.put %[[K]]
// CHECK: %[[TILE:.*]]:2 = hopper.step "qk" in "compute" -> vector<64x64xf32>, !hopper.tile<64x64xbf16> {
// CHECK: hopper.get %[[K]]
// CHECK: hopper.dot %[[OWN]]
// CHECK-NOT: hopper.release
// CHECK: hopper.step "late" in "compute"
// CHECK-NOT: hopper.get
// CHECK: hopper.own_rows %[[TILE]]#1
// CHECK-NEXT: %[[FRAGMENT:.*]] = hopper.load_fragment
// CHECK-NEXT: hopper.next_use %[[K]]
// CHECK-NEXT: hopper.release %[[K]]
// CHECK-NEXT: arith.addf %[[FRAGMENT]]
// CHECK: hopper.step "load_q.release" in "compute" {
// CHECK: hopper.release %[[Q]]
gpu.module @m {
  gpu.func @loop(%map: !map, %n: index) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %q = hopper.step "load_q" in "load" -> !tile {
        %x = hopper.load %map[%b, %h, %t] stages 1 : !map -> !tile
        hopper.end %x : !tile
      }
      hopper.pipelined_for %j = %n to %n step 64
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"late", 0>] {
        %k = hopper.step "load_k" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        %s = hopper.step "qk" in "compute" -> vector<64x64xf32> {
          %x = hopper.dot %q, %k : !tile, !tile -> vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        %v = hopper.step "late" in "compute" -> vector<64x64xbf16> {
          %rows = hopper.own_rows %k : !tile -> !tile
          %x = hopper.load_fragment %rows : !tile -> vector<64x64xbf16>
          %y = arith.addf %x, %x : vector<64x64xbf16>
          hopper.end %y : vector<64x64xbf16>
        }
      }
    }
    gpu.return
  }
}

// -----

// A tile in which results are staged is given back when stores have read it.

// CHECK-LABEL: gpu.func @staged
// CHECK: hopper.step "hold" in "compute" -> !hopper.tile<64x64xbf16> {
// CHECK: hopper.get
// CHECK-NOT: hopper.release
// CHECK: hopper.step "store" in "compute" {
// CHECK: hopper.store
// CHECK-NEXT: hopper.drain
// CHECK-NEXT: hopper.next_use
// CHECK-NEXT: hopper.release
gpu.module @m {
  gpu.func @staged(%map: !hopper.map<64x64xbf16>, %out: !hopper.map<64x64xbf16>, %n: index, %v: vector<64x64xbf16>) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %q = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
        %x = hopper.load %map[%b, %h, %t] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.end %x : !hopper.tile<64x64xbf16>
      }
      hopper.step "hold" in "compute" {
        %x = hopper.load_fragment %q : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        hopper.end
      }
      hopper.step "store" in "compute" {
        %rows = hopper.own_rows %q : !hopper.tile<64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.store %v, %rows, %out[%b, %h, %t] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// What replicas hold goes to another partition as a tile, of which each gives its
// rows; a tile may go to several partitions.

// CHECK-LABEL: gpu.func @published
// CHECK: %[[Q:.*]] = hopper.create_channel : <1x128x64xbf16>
// CHECK: %[[P:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK: hopper.step "first" in "first" {
// CHECK: hopper.get %[[Q]]
// CHECK: hopper.release %[[Q]]
// CHECK: hopper.next_use %[[P]]
// CHECK: %[[WG:.*]] = hopper.warpgroup_id
// CHECK: hopper.put_fragment %[[P]][%{{.*}}], %{{.*}} at %[[WG]] : <2x128x64xbf16>, vector<64x64xbf16>
// CHECK: hopper.step "second" in "second" {
// CHECK: hopper.get %[[P]]
// CHECK: hopper.get %[[Q]]
// CHECK: hopper.release %[[Q]]
// CHECK: hopper.release %[[P]]
gpu.module @m {
  gpu.func @published(%map: !hopper.map<128x64xbf16>, %n: index) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %q = hopper.step "load_q" in "load" -> !hopper.tile<128x64xbf16> {
        %x = hopper.load %map[%b, %h, %t] stages 1 : !hopper.map<128x64xbf16> -> !hopper.tile<128x64xbf16>
        hopper.end %x : !hopper.tile<128x64xbf16>
      }
      %p = hopper.step "first" in "first" -> !hopper.tile<128x64xbf16> {
        %rows = hopper.own_rows %q : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
        %x = hopper.load_fragment %rows : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
        %y = hopper.publish %x stages 2 : vector<64x64xbf16> -> !hopper.tile<128x64xbf16>
        hopper.end %y : !hopper.tile<128x64xbf16>
      }
      hopper.step "second" in "second" {
        %rows = hopper.own_rows %q : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
        %x = hopper.load_fragment %rows : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
        %more = hopper.own_rows %p : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
        %y = hopper.load_fragment %more : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// What replicas publish goes to all of them, too. A tile that is used in several
// stages arrives in the first one, is named again in the others, and is given back
// in the last one. Floats are copied as tiles are.

// CHECK-LABEL: gpu.func @exchanged
// CHECK: %[[Q:.*]] = hopper.create_channel : <2x64x128xbf16>
// CHECK: %[[L:.*]] = hopper.create_channel : <2x64xf32>
// CHECK: %[[P:.*]] = hopper.create_channel : <2x64x128xbf16>
// CHECK: hopper.step "load" in "load" {
// CHECK: hopper.put %[[Q]]
// CHECK: hopper.put_vector %[[L]][%{{.*}}], %{{.*}}[%{{.*}}] : <2x64xf32>, memref<?xf32>
// CHECK: hopper.step "give" in "compute" {
// CHECK: %[[N:.*]] = hopper.next_use %[[L]] :
// CHECK-NEXT: %[[FLOATS:.*]] = hopper.get %[[L]][%[[N]]]
// CHECK: %[[N:.*]] = hopper.next_use %[[Q]] :
// CHECK-NEXT: %[[TILE:.*]] = hopper.get %[[Q]][%[[N]]]
// CHECK: hopper.own_columns %[[TILE]]
// CHECK-NOT: hopper.release %[[Q]]
// CHECK: hopper.load_fragment %[[FLOATS]]
// CHECK-NEXT: hopper.next_use %[[L]]
// CHECK-NEXT: hopper.release %[[L]]
// CHECK: hopper.put_fragment %[[P]][%{{.*}}], %{{.*}} at %{{.*}} transposed
// CHECK: hopper.step "late" in "compute" {
// CHECK: hopper.get %[[P]]
// CHECK: %[[N:.*]] = hopper.next_use %[[Q]] reader 1
// CHECK-NEXT: %[[AGAIN:.*]] = hopper.view %[[Q]][%[[N]]]
// CHECK: hopper.dot %{{.*}}, %[[AGAIN]]
// CHECK: hopper.release %[[P]]
// CHECK-NEXT: hopper.next_use %[[Q]] :
// CHECK-NEXT: hopper.release %[[Q]]
gpu.module @m {
  gpu.func @exchanged(%map: !hopper.map<64x128xbf16>, %floats: memref<?xf32>, %n: index) kernel {
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load", 0>, #hopper.place<"give", 0>, #hopper.place<"late", 1>] {
      %q, %l = hopper.step "load" in "load" -> !hopper.tile<64x128xbf16>, !hopper.tile<64xf32> {
        %x = hopper.load %map[%n, %n, %j] stages 2 : !hopper.map<64x128xbf16> -> !hopper.tile<64x128xbf16>
        %y = hopper.load_vector %floats[%j] stages 2 : memref<?xf32> -> !hopper.tile<64xf32>
        hopper.end %x, %y : !hopper.tile<64x128xbf16>, !hopper.tile<64xf32>
      }
      %p = hopper.step "give" in "compute" -> !hopper.tile<64x128xbf16> {
        %columns = hopper.own_columns %q : !hopper.tile<64x128xbf16> -> !hopper.tile<64x64xbf16>
        %x = hopper.load_fragment %columns : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        %y = hopper.load_fragment %l : !hopper.tile<64xf32> -> vector<64x1xf32>
        %tile = hopper.publish %x transposed stages 2 : vector<64x64xbf16> -> !hopper.tile<64x128xbf16>
        hopper.end %tile : !hopper.tile<64x128xbf16>
      }
      hopper.step "late" in "compute" {
        %columns = hopper.own_columns %p : !hopper.tile<64x128xbf16> -> !hopper.tile<64x64xbf16>
        %x = hopper.dot %columns, %q lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x128xbf16> -> vector<128x64xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unused(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    // expected-error @+1 {{expects a use of the tile that it gives}}
    %q = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
      %x = hopper.load %map[%n, %n, %n] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.end %x : !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @own_partition(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    // expected-note @+1 {{which is where it comes from}}
    %q = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
      %x = hopper.load %map[%n, %n, %n] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.end %x : !hopper.tile<64x64xbf16>
    }
    hopper.step "use" in "load" {
      // expected-error @+1 {{expects the tile of 'load_q' to go to other partitions, but got it in 'load'}}
      %x = hopper.load_fragment %q : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      hopper.end
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @outside(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    // expected-error @+1 {{expects to be in a step}}
    %x = hopper.load %map[%n, %n, %n] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @inside(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    hopper.step "load_q" in "load" {
      // expected-error @+1 {{expects its tile to be a result of its step, and to have no other use there}}
      %x = hopper.load %map[%n, %n, %n] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.end
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_step(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    %q = hopper.step "load_q" in "load" -> !hopper.tile<64x64xbf16> {
      %x = hopper.load %map[%n, %n, %n] stages 1 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.end %x : !hopper.tile<64x64xbf16>
    }
    // expected-error @+1 {{expects to be in a step, as it uses a tile of another one}}
    %x = hopper.own_rows %q : !hopper.tile<64x64xbf16> -> !hopper.tile<64x64xbf16>
    gpu.return
  }
}

// -----

// What comes under a condition is put, got and given back where that holds.

gpu.module @m {
  // CHECK-LABEL: gpu.func @conditional
  // CHECK: %[[IDS:.*]] = hopper.create_channel : <4x64xi32>
  // CHECK: hopper.step "load_ids" in "load" {
  // CHECK-NEXT: scf.if %[[C:.*]] {
  // CHECK-NEXT: %[[N:.*]] = hopper.next_use %[[IDS]]
  // CHECK-NEXT: hopper.put_vector %[[IDS]][%[[N]]], %{{.*}}[%{{.*}}] zero_fill
  // CHECK: hopper.step "softmax" in "compute"
  // CHECK-NEXT: hopper.mask
  // CHECK-NEXT: %[[N:.*]] = hopper.next_use %[[IDS]]
  // CHECK-NEXT: %[[TILE:.*]] = hopper.get %[[IDS]][%[[N]]]
  // CHECK-NEXT: hopper.load_fragment %[[TILE]]
  // CHECK-NEXT: %[[N:.*]] = hopper.next_use %[[IDS]]
  // CHECK-NEXT: hopper.release %[[IDS]][%[[N]]]
  gpu.func @conditional(%ids: memref<?xi32>, %n: index, %c: i1, %full: i1, %s: vector<64x64xf32>, %row: vector<64x64xi32>) kernel {
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_ids", 0>, #hopper.place<"softmax", 0>] {
      %l = hopper.step "load_ids" in "load" -> !hopper.tile<64xi32> {
        %y = hopper.load_vector %ids[%j] zero_fill if %c stages 4 : memref<?xi32> -> !hopper.tile<64xi32>
        hopper.end %y : !hopper.tile<64xi32>
      }
      hopper.step "softmax" in "compute" {
        %x = hopper.mask %s unless %full by_block {
          %v = hopper.load_fragment %l : !hopper.tile<64xi32> -> vector<64x1xi32>
          %b = vector.broadcast %v : vector<64x1xi32> to vector<64x64xi32>
          %p = arith.cmpi eq, %b, %row : vector<64x64xi32>
          hopper.end %p : vector<64x64xi1>
        } : vector<64x64xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @conditional_elsewhere(%ids: memref<?xi32>, %n: index, %c: i1) kernel {
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_ids", 0>, #hopper.place<"softmax", 0>] {
      %l = hopper.step "load_ids" in "load" -> !hopper.tile<64xi32> {
        // expected-error @+1 {{expects a tile that comes under a condition to be used in the predicate of one hopper.mask}}
        %y = hopper.load_vector %ids[%j] zero_fill if %c stages 4 : memref<?xi32> -> !hopper.tile<64xi32>
        hopper.end %y : !hopper.tile<64xi32>
      }
      hopper.step "softmax" in "compute" {
        %v = hopper.load_fragment %l : !hopper.tile<64xi32> -> vector<64x1xi32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// The largest of the numbers of a tile comes as its payload, for steps behind the
// one that gets the tile, too.

// CHECK-LABEL: gpu.func @key_terms
// CHECK: %[[T:.*]] = hopper.create_channel : <4x64x8xbf16, payload>
// CHECK: hopper.step "key_terms" in "load" {
// CHECK:   hopper.put_bf16x3 %[[T]][%{{.*}}], %{{.*}} times 2.000000e+00 up_to 8.000000e+00 : <4x64x8xbf16, payload>, vector<64x1xf32>
// CHECK:   hopper.end
// CHECK: %[[ADD:.*]]:2 = hopper.step "add" in "compute" -> vector<64x64xf32>, f32 {
// CHECK:   %[[TILE:.*]], %[[PAYLOAD:.*]] = hopper.get %[[T]]
// CHECK:   %[[MOST:.*]] = arith.bitcast %[[PAYLOAD]] : i32 to f32
// CHECK:   hopper.dot %{{.*}}, %[[TILE]] acc
// CHECK:   hopper.release %[[T]]
// CHECK:   hopper.end %{{.*}}, %[[MOST]] : vector<64x64xf32>, f32
// CHECK: hopper.step "use" in "compute" {
// CHECK:   arith.addf %[[ADD]]#1, %[[ADD]]#1
gpu.module @m {
  gpu.func @key_terms(%x: vector<64x1xf32>, %y: vector<8x64xbf16>, %s: vector<64x64xf32>, %n: index) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %tile, %most = hopper.step "key_terms" in "load" -> !hopper.tile<64x8xbf16>, f32 {
        %0, %1 = hopper.publish_bf16x3 %x times 2.0 up_to 8.0 stages 4 : vector<64x1xf32> -> !hopper.tile<64x8xbf16>
        hopper.end %0, %1 : !hopper.tile<64x8xbf16>, f32
      }
      %sum = hopper.step "add" in "compute" -> vector<64x64xf32> {
        %0 = hopper.dot %y, %tile acc %s : vector<8x64xbf16>, !hopper.tile<64x8xbf16>, vector<64x64xf32> -> vector<64x64xf32>
        hopper.end %0 : vector<64x64xf32>
      }
      hopper.step "use" in "compute" {
        %0 = arith.addf %most, %most : f32
        hopper.end
      }
    }
    gpu.return
  }
}
