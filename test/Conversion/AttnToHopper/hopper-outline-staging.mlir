// Results of unlike columns: dk has staging of its own, dv is staged where v was.

// RUN: attn-opt %s --attn-to-nvvm --mlir-print-ir-after=attn-hopper-outline -o /dev/null 2>&1 | FileCheck %s

// CHECK: %[[KEYS:.*]] = hopper.create_tile : <128x24xbf16>
// CHECK: %[[VALUES:.*]] = hopper.step "load_arg2" in "load" -> !hopper.tile<128x40xbf16>
// CHECK: hopper.step "store" in "compute"
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[KEYS]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], {{.*}} : vector<24x64xbf16>
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[VALUES]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], {{.*}} : vector<40x64xbf16>
#products = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, in_flight = 2, order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red]>
#keys = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, in_flight = 2, order = [load_q, qk, exp, load_do, dp, dv, ds, dk]>
!q = tensor<2x4x300x24xbf16>
!v = tensor<2x4x300x40xbf16>
!l = tensor<2x4x300xf32>
func.func @f(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !l, %do: !v, %dq0: !q, %dk0: !q, %dv0: !v) -> (!q, !q, !v) {
  %dq, %dk, %dv = attn.attention_grad schedule #products wrt(q, k, v)
      ins(%q, %k, %v, %o, %lse, %do : !q, !q, !v, !v, !l, !v) outs(%dq0, %dk0, %dv0 : !q, !q, !v)
  return %dq, %dk, %dv : !q, !q, !v
}

// Without dq nobody reads the rows of others: dk is staged where k was.

// CHECK: %[[KEYS:.*]] = hopper.step "load_q" in "load" -> !hopper.tile<128x24xbf16>
// CHECK: %[[VALUES:.*]] = hopper.step "load_arg2" in "load" -> !hopper.tile<128x40xbf16>
// CHECK: hopper.step "store" in "compute"
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[KEYS]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], {{.*}} fresh : vector<24x64xbf16>
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[VALUES]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], {{.*}} fresh : vector<40x64xbf16>
func.func @g(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !l, %do: !v, %dk0: !q, %dv0: !v) -> (!q, !v) {
  %dk, %dv = attn.attention_grad schedule #keys wrt(k, v)
      ins(%q, %k, %v, %o, %lse, %do : !q, !q, !v, !v, !l, !v) outs(%dk0, %dv0 : !q, !v)
  return %dk, %dv : !q, !v
}
