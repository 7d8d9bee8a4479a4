//===- Device.h - GPUs, their memory, streams and events --------*- C++ -*-===//

#ifndef ATTN_RUNTIME_CUDA_DEVICE_H
#define ATTN_RUNTIME_CUDA_DEVICE_H

#include "attn/Runtime/Cuda/Driver.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>

namespace attn::cuda {

/// A GPU that our code runs on, and a context of it. A small value; what it
/// refers to lives until the process ends. Contexts that others have made must
/// live as long as they are used here.
class Device {
public:
  struct State;

  /// The number of GPUs, of any kind.
  static llvm::Expected<int> getCount();

  /// A GPU in its primary context, which the CUDA runtime and what is built on
  /// it use too. Fails unless the GPU has compute capability 9.0.
  static llvm::Expected<Device> get(int ordinal);

  /// The calling thread's current context and its GPU; without one, get(0).
  static llvm::Expected<Device> current();

  const Driver &getDriver() const;
  ContextHandle getContext() const;
  int getOrdinal() const;
  llvm::StringRef getName() const;
  int getNumSMs() const;
  /// {9, 0}
  std::pair<int, int> getComputeCapability() const;
  /// The shared memory that one block can ask for.
  int getMaxSharedBytes() const;
  /// "device 0 (NVIDIA H200)"
  std::string describe() const;

  /// Waits for all work of the context.
  llvm::Error synchronize() const;

  /// The error, std::errc::not_enough_memory, of so many bytes that there are
  /// not, and what they are for.
  llvm::Error makeMemoryError(size_t bytes, llvm::StringRef purpose = "") const;

  /// Whether both are the same context.
  friend bool operator==(Device a, Device b) {
    return a.getContext() == b.getContext();
  }
  friend bool operator!=(Device a, Device b) { return !(a == b); }

private:
  explicit Device(const State &state) : state(&state) {}

  const State *state;
};

/// Memory of a GPU.
class DeviceBuffer {
public:
  /// Memory, not initialised. The address is a multiple of 256; it is null for
  /// 0 bytes. Lack of memory is std::errc::not_enough_memory.
  static llvm::Expected<DeviceBuffer> allocate(Device device, size_t bytes);

  DeviceBuffer(DeviceBuffer &&other) noexcept : device(other.device) {
    *this = std::move(other);
  }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer();

  Device getDevice() const { return device; }
  size_t getSize() const { return bytes; }
  DevicePtr getAddress() const { return address; }
  void *getData() const { return reinterpret_cast<void *>(address); }

  /// Copies `size` bytes at `offset` in the buffer, and waits until the copy is
  /// done.
  llvm::Error copyFrom(const void *host, size_t size, size_t offset = 0);
  llvm::Error copyTo(void *host, size_t size, size_t offset = 0) const;

  /// Sets all bytes, as work of the stream.
  llvm::Error fill(unsigned char value, void *stream = nullptr);

private:
  explicit DeviceBuffer(Device device) : device(device) {}
  llvm::Error checkRange(size_t size, size_t offset) const;

  Device device;
  DevicePtr address = 0;
  size_t bytes = 0;
};

/// A queue of work. It does not wait for the default stream, nor that for it.
class Stream {
public:
  static llvm::Expected<Stream> create(Device device);

  Stream(Stream &&other) noexcept : device(other.device) {
    *this = std::move(other);
  }
  Stream &operator=(Stream &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Stream();

  /// A CUstream.
  void *getHandle() const { return handle; }
  /// Waits for the work.
  llvm::Error synchronize() const;

private:
  explicit Stream(Device device) : device(device) {}

  Device device;
  StreamHandle handle = nullptr;
};

/// A point of time in a stream.
class Event {
public:
  static llvm::Expected<Event> create(Device device);

  Event(Event &&other) noexcept : device(other.device) {
    *this = std::move(other);
  }
  Event &operator=(Event &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Event();

  /// Is reached when the work that is now in the stream is done.
  llvm::Error record(void *stream);
  llvm::Error synchronize() const;
  /// Whether it is reached; not for an event that a graph has captured.
  bool isReached() const;
  /// Lets the work that a stream gets from now on wait for it.
  llvm::Error holdUp(void *stream) const;
  /// The time from another event to this one. Both must be reached.
  llvm::Expected<double> getMillisecondsSince(const Event &start) const;

private:
  explicit Event(Device device) : device(device) {}

  Device device;
  EventHandle handle = nullptr;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DEVICE_H
