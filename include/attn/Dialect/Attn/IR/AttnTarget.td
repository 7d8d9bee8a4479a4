//===- AttnTarget.td - What a program is compiled for ------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTARGET_TD
#define ATTN_DIALECT_ATTN_IR_ATTNTARGET_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_TargetAttr : AttrDef<Attn_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "a GPU: its resources, and which instructions it has";
  let description = [{
    Passes for a GPU ask the attribute `attn.target` of their module, or of a parent of it, what there is. They know no chip by its name.
    Without one, they compile for an H200.

    * `chip`: the name that LLVM and ptxas have for it.
    * `sms`: multiprocessors.
    * `sm_shared`, `cta_shared`: bytes of shared memory of a multiprocessor, and the most that a CTA may have.
    * `reserved_shared`: bytes that the hardware takes of it for each CTA.
    * `sm_registers`, `thread_registers`: registers of a multiprocessor, and the most that a thread may have.
    * `warp_threads`: threads of a warp.
    * `sm_threads`, `cta_threads`, `sm_ctas`: the most threads of a multiprocessor and of a CTA, and CTAs of a multiprocessor.
    * `ptx`: the least version of PTX that has the chip, 80 for 8.0.
    * `wgmma`: whether warpgroups have products of matrices in shared memory: 64 rows, a multiple of 8 columns up to 256, and 32 bytes of the reduced extent.
    * `tma`: whether copies of boxes of tensors run in the background.
    * `cp_async`: whether threads copy up to 16 bytes at a time in the background.
    * `dependent_launch`: whether a kernel may be started while the one before it runs, and wait for its end (`griddepcontrol`).

    * `product_tflops`: products of matrices with elements of 16 bits, dense, at most, in 10^12 floating-point operations a second; 0 where it is not known.
    * `memory_gbs`: what its memory gives at most, in 10^9 bytes a second; 0 where it is not known. Both are for explanations of what was measured.

    Example:

    ```mlir
    module attributes {attn.target = #attn.target<"sm_90a", sms = 132,
        sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024,
        sm_registers = 65536, thread_registers = 255, sm_threads = 2048,
        cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true, cp_async = true, dependent_launch = true>} {
    }
    ```
  }];
  let parameters = (ins StringRefParameter<>:$chip, "int64_t":$sms,
      "int64_t":$sm_shared, "int64_t":$cta_shared, "int64_t":$reserved_shared,
      "int64_t":$sm_registers, "int64_t":$thread_registers,
      "int64_t":$sm_threads, "int64_t":$cta_threads, "int64_t":$sm_ctas,
      "int64_t":$ptx, DefaultValuedParameter<"bool", "false">:$wgmma,
      DefaultValuedParameter<"bool", "false">:$tma,
      DefaultValuedParameter<"bool", "false">:$cp_async,
      DefaultValuedParameter<"bool", "false">:$dependent_launch,
      DefaultValuedParameter<"int64_t", "32">:$warp_threads,
      DefaultValuedParameter<"int64_t", "0">:$product_tflops,
      DefaultValuedParameter<"int64_t", "0">:$memory_gbs);
  let assemblyFormat = [{
    `<` $chip `,` struct($sms, $sm_shared, $cta_shared, $reserved_shared,
        $sm_registers, $thread_registers, $sm_threads, $cta_threads, $sm_ctas,
        $ptx, $wgmma, $tma, $cp_async, $dependent_launch,
        $warp_threads, $product_tflops, $memory_gbs) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How many CTAs of so many threads, with `registers` each and
    /// `sharedBytes` together, an SM runs at a time; 0 if not even one.
    int64_t getResidentCTAs(int64_t threads, int64_t registers,
                            int64_t sharedBytes) const;
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNTARGET_TD
