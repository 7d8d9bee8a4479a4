//===- HopperOpBase.td - What operations of hopper share ---*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPEROPBASE_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPEROPBASE_TD

include "attn/Dialect/Hopper/IR/HopperDialect.td"
include "attn/Dialect/Hopper/IR/HopperInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Hopper_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hopper_Dialect, mnemonic, traits>;

#endif // ATTN_DIALECT_HOPPER_IR_HOPPEROPBASE_TD
