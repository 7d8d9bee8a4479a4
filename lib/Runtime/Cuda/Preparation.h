//===- Preparation.h - Tables that launches share ---------------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_PREPARATION_H
#define ATTN_LIB_RUNTIME_CUDA_PREPARATION_H

#include "Tables.h"
#include "attn/Runtime/Cuda/Executable.h"
#include <atomic>

namespace attn::cuda {

/// The tables of one launch.
struct PreparedLaunch {
  /// Which fills them and reads them.
  size_t variant = 0;
  struct Table {
    size_t number;
    int64_t bytes;
    DevicePtr address;
  };
  llvm::SmallVector<Table, 4> tables;

  /// Gives tables of a launch the memory of these, or tells that they are for
  /// other extents.
  llvm::Error placeIn(Tables &all) const;
};

/// What all preparations are.
class OwnedPreparation final : public Preparation {
public:
  OwnedPreparation(const void *owner, DeviceBuffer memory, Event filled)
      : owner(owner), memory(std::move(memory)), filled(std::move(filled)) {}
  ~OwnedPreparation() override;

  /// That of a launch.
  static const OwnedPreparation &get(const LaunchOptions &options) {
    return *static_cast<const OwnedPreparation *>(options.preparation);
  }

  size_t getBytes() const override { return memory.getSize(); }

  /// Checks that launches of this owner on a device may use it, and lets the
  /// stream wait for the tables. The context of the device is current.
  llvm::Error check(const void *executable, const Device &device,
                    void *stream) const;

  std::vector<PreparedLaunch> launches;
  const void *owner;
  DeviceBuffer memory;
  /// Reached when the tables are filled.
  Event filled;

private:
  mutable std::atomic<bool> isFilled{false};
};

/// Whether what a stream gets becomes part of a graph.
bool isCaptured(const Driver &driver, void *stream);

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_PREPARATION_H
