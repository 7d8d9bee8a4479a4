//===- Passes.td - What was tuned, as attributes -----------*- tablegen -*-===//

#ifndef ATTN_TUNE_PASSES_TD
#define ATTN_TUNE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnApplyTuningPass : Pass<"attn-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "write the schedules of a tuning database into a program";
  let description = [{
    Gives the attentions of each public function, and of the private functions it calls, the schedule that `file` has for the program with this
    function as its entry and for extents like `extents`: that of their bucket, otherwise that of the nearest one, as a call would take it.
    An attention that has a schedule keeps it, and `attn-run --schedule` wins over what is written.

    The program is found by its hash with the usual options: the form of sparse structures that costs least, no checks of bounds, full optimization.
    A number of threads that was tuned is no part of a schedule.

    Precondition: the program is what users write, at the tensor level. Postcondition: none.
    Fails if the file cannot be read, is damaged or of another version, or if several devices of it fit and `device` does not say which.

    Remarks: `tuned`; or `not-tuned` with the reason: nothing is known of the program or of such extents, the compiler's own choice is fastest,
    or the schedule is not legal any more.

    Before:

    ```mlir
    func.func @plain(%q: tensor<2x4x16x8xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
      %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
          outs(%o : tensor<2x4x16x8xf32>)
      return %r : tensor<2x4x16x8xf32>
    }
    ```

    After, with such an entry:

    ```mlir
    func.func @plain(%q: tensor<2x4x16x8xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
      %r = attn.attention schedule<tile_m = 16, tile_n = 32, lanes = 8, unroll_m = 2, unroll_n = 4>
          ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
          outs(%o : tensor<2x4x16x8xf32>)
      return %r : tensor<2x4x16x8xf32>
    }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"",
           "the database, or an export of one as JSON">,
    Option<"device", "device", "std::string", /*default=*/"\"cpu\"",
           "how the name of the device begins that was tuned for: \"cpu\", \"cuda\", or more of it">,
    ListOption<"extents", "extents", "int64_t",
           "the extents that the types of the arguments leave open, in their order; without them, a schedule is written if it is the same for all">
  ];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::attn::hopper::HopperDialect"];
}

#endif // ATTN_TUNE_PASSES_TD
