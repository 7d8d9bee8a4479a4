// RUN: attn-run %s --until-after=attn-hopper-outline --target=cuda --schedule="#hopper.schedule<tile_m = 192, tile_n = 64, stages = 4, registers = 152, persistent, reuse_q>" | FileCheck %s
// RUN: attn-run %s --until-after=attn-hopper-outline --target=cuda --schedule="#hopper.schedule<tile_m = 192, tile_n = 64, stages = 4, registers = 152, persistent>" | FileCheck %s --check-prefix=OWN

// Four stages of blocks leave room for one tile of 48 KiB beside the queries:
// that of the next queries, if results are staged in their own.

// CHECK-NOT: hopper.create_tile
// CHECK: %[[Q:.*]] = hopper.step "load_q"
// CHECK-NEXT: hopper.load {{.*}} stages 2
// CHECK: %[[ROWS:.*]] = hopper.own_rows %[[Q]]
// CHECK: %[[STAGING:.*]] = hopper.own_rows %[[Q]]
// CHECK-NEXT: hopper.store %{{.*}}, %[[STAGING]]

// OWN: %[[TILE:.*]] = hopper.create_tile
// OWN: hopper.step "load_q"
// OWN-NEXT: hopper.load {{.*}} stages 1
// OWN: %[[STAGING:.*]] = hopper.own_rows %[[TILE]]
// OWN-NEXT: hopper.store %{{.*}}, %[[STAGING]]
func.func @plain(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %init: tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16> {
  %o = attn.attention ins(%q, %k, %v : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) outs(%init : tensor<?x?x?x128xbf16>)
  return %o : tensor<?x?x?x128xbf16>
}
