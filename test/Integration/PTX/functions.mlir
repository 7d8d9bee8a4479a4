// All functions on f32 in one kernel, and those on integers: nothing is called,
// nothing is divided exactly, and ptxas finds registers for it.

// REQUIRES: ptxas
// RUN: env ATTN_PTXAS=off attn-run %s --target=cuda --emit=ptx --schedule='#hopper.schedule<tile_m = 64, tile_n = 16, registers = 232>' > %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --implicit-check-not='.extern .func' --implicit-check-not=call --implicit-check-not=div.r --implicit-check-not=div.f --implicit-check-not=sqrt.r
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | %python %S/Inputs/spills.py

// CHECK: .visible .entry functions(
// CHECK: wgmma.mma_async

func.func @functions(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %o: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      outs(%o : tensor<?x?x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %c2 = arith.constant 2.0 : f32
        %acos = math.acos %s : f32
        %acosh = math.acosh %acos : f32
        %asin = math.asin %acosh : f32
        %asinh = math.asinh %asin : f32
        %atan = math.atan %asinh : f32
        %atan2 = math.atan2 %atan, %s : f32
        %atanh = math.atanh %atan2 : f32
        %cbrt = math.cbrt %atanh : f32
        %cos = math.cos %cbrt : f32
        %cosh = math.cosh %cos : f32
        %erf = math.erf %cosh : f32
        %erfc = math.erfc %erf : f32
        %expm1 = math.expm1 %erfc : f32
        %log10 = math.log10 %expm1 : f32
        %log1p = math.log1p %log10 : f32
        %powf = math.powf %log1p, %c2 : f32
        %pows = math.powf %powf, %s : f32
        %sin = math.sin %pows : f32
        %sinh = math.sinh %sin : f32
        %tan = math.tan %sinh : f32
        %clamp = math.clampf %tan to [%acos, %sin] : f32
        %ceil = math.ceil %clamp : f32
        %floor = math.floor %ceil : f32
        %round = math.round %floor : f32
        %roundeven = math.roundeven %round : f32
        %trunc = math.trunc %roundeven : f32
        %sign = math.copysign %trunc, %s : f32
        %abs = math.absf %sign : f32
        %fma = math.fma %abs, %s, %tan : f32
        %exp = math.exp %fma : f32
        %exp2 = math.exp2 %exp : f32
        %log = math.log %exp2 : f32
        %log2 = math.log2 %log : f32
        %rsqrt = math.rsqrt %log2 : f32
        %sqrt = math.sqrt %rsqrt : f32
        %tanh = math.tanh %sqrt : f32
        %rem = arith.remf %tanh, %s : f32
        %sum = arith.addf %rem, %fma : f32
        attn.yield %sum : f32
      }
      mask(%b, %h, %i, %j) {
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %xor = arith.xori %i32, %j32 : i32
        %ones = math.ctpop %xor : i32
        %left = math.ctlz %xor : i32
        %right = math.cttz %xor : i32
        %abs = math.absi %xor : i32
        %0 = arith.addi %ones, %left : i32
        %1 = arith.addi %0, %right : i32
        %2 = arith.cmpi slt, %1, %abs : i32
        attn.yield %2 : i1
      }
  return %r : tensor<?x?x?x64xbf16>
}
