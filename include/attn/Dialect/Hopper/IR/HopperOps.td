//===- HopperOps.td - Operations of the hopper dialect -----*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD

include "attn/Dialect/Hopper/IR/HopperPartitionOps.td"
include "attn/Dialect/Hopper/IR/HopperTurnOps.td"
include "attn/Dialect/Hopper/IR/HopperWorkOps.td"
include "attn/Dialect/Hopper/IR/HopperProductOps.td"
include "attn/Dialect/Hopper/IR/HopperFragmentOps.td"
include "attn/Dialect/Hopper/IR/HopperPipelineOps.td"

#endif // ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD
