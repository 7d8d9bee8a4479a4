//===- HopperInterfaces.td - Interfaces of hopper ops -----*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERINTERFACES_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERINTERFACES_TD

include "mlir/IR/OpBase.td"

def Hopper_FragmentOpInterface : OpInterface<"FragmentOpInterface"> {
  let description = [{
    An operation that says how what a warpgroup holds is distributed over its threads: which layout each fragment has that it
    reads or makes. `hopper-assign-layouts` asks it, and the verifier checks it of fragments that have layouts.
  }];
  let cppNamespace = "::mlir::attn::hopper";
  let methods = [
    InterfaceMethod<"The layout of an operand or a result that is a fragment.",
      "::mlir::attn::hopper::FragmentLayout", "getLayout", (ins "::mlir::Value":$fragment),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::mlir::attn::hopper::FragmentLayout::Accumulator;">,
  ];
  let verify = "return ::mlir::attn::hopper::verifyLayouts(::llvm::cast<FragmentOpInterface>($_op));";
}

/// Of an operation whose fragments are not all accumulators.
def Hopper_OwnLayouts : DeclareOpInterfaceMethods<Hopper_FragmentOpInterface, ["getLayout"]>;

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERINTERFACES_TD
