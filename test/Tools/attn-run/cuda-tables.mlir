// A mask of documents on a GPU: kernels that run before fill tables, as far as a
// driver shows that needs no GPU.

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --arg=doc='randint(0,4)' | FileCheck %s
// CHECK:      kernels
// Each warpgroup has a range of blocks of its own.
// CHECK-NEXT:   documents {{.*}}tile_m = 256, tile_n = 64
// CHECK-NEXT:   documents_prologue0 {{.*}}128 threads {{.*}}fills tables before
// CHECK-NEXT:   documents_prologue1 {{.*}}128 threads {{.*}}fills tables before
// Tiles of as many queries as keys have one table.
// CHECK-NEXT:   documents {{.*}}tile_m = 64, tile_n = 64, {{.*}} min_ctas_per_sm = 3
// CHECK-NEXT:   documents_prologue0 {{.*}}128 threads {{.*}}fills tables before
// CHECK-NEXT:   documents_prologue1 {{.*}}128 threads {{.*}}fills tables before
// What shares out the keys of few tiles has tables of its own, too.
// CHECK-NEXT:   documents {{.*}}tile_m = 64, tile_n = 128, {{.*}}split_kv
// CHECK-NEXT:   documents_prologue0 {{.*}}fills tables before
// CHECK-NEXT:   documents_prologue1 {{.*}}fills tables before
// CHECK-NEXT:   documents_prologue2 {{.*}}fills tables before
// CHECK-NEXT:   documents {{.*}}tile_m = 128, tile_n = 64
// CHECK-NEXT:   documents_prologue0 {{.*}}fills tables before
// CHECK-NEXT:   documents_prologue1 {{.*}}fills tables before
// CHECK-NEXT: arguments

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --arg=doc='randint(0,4)' --format=json | FileCheck %s --check-prefix=JSON
// JSON:      "entry": "documents",
// JSON:      "prologues": [
// JSON-NEXT:   "documents_prologue0",
// JSON-NEXT:   "documents_prologue1"
// JSON-NEXT: ]
// JSON:      tile_m = 256, tile_n = 64
// JSON:      "prologues": [
// JSON-NEXT:   "documents_prologue0",
// JSON-NEXT:   "documents_prologue1"
// JSON-NEXT: ]
// JSON:      tile_m = 64, tile_n = 64
// JSON:      "prologues": [
// JSON-NEXT:   "documents_prologue0",
// JSON-NEXT:   "documents_prologue1",
// JSON-NEXT:   "documents_prologue2"
// JSON-NEXT: ]
// JSON:      tile_m = 64, tile_n = 128
// JSON:      tile_m = 128, tile_n = 64

func.func @documents(%q: tensor<1x2x300x64xbf16>, %doc: tensor<300xi32>)
    -> (tensor<1x2x300x64xbf16> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x2x300x64xbf16>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x300x64xbf16>, tensor<1x2x300x64xbf16>,
                       tensor<1x2x300x64xbf16>)
      captures(%doc : tensor<300xi32>)
      outs(%init : tensor<1x2x300x64xbf16>)
      mask(%b, %h, %i, %j, %d) {
    %x = tensor.extract %d[%i] : tensor<300xi32>
    %y = tensor.extract %d[%j] : tensor<300xi32>
    %p = arith.cmpi eq, %x, %y : i32
    attn.yield %p : i1
  }
  return %o : tensor<1x2x300x64xbf16>
}
