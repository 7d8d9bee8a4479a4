//===- RegisterPasses.h - Upstream passes of the developer tools *- C++ -*-===//

#ifndef ATTN_PIPELINES_REGISTERPASSES_H
#define ATTN_PIPELINES_REGISTERPASSES_H

namespace mlir::attn {

/// Makes the upstream passes that our pipelines are made of, or that help to
/// look at what they do, known by their flags.
void registerUpstreamPasses();

} // namespace mlir::attn

#endif // ATTN_PIPELINES_REGISTERPASSES_H
