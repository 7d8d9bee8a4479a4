//===- BufferizableOpInterfaceImpl.h - Tiles on buffers ---------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// Lets bufferization see through the operations of the tile level.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
