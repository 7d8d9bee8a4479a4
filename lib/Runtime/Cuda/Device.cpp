//===- Device.cpp - GPUs, their memory, streams and events ----------------===//

#include "attn/Runtime/Cuda/Device.h"
#include "attn/Support/Tensor.h"
#include <atomic>
#include <mutex>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// A context, and what is known of its GPU. The list only grows.
struct Device::State {
  const Driver *driver = nullptr;
  ContextHandle context = nullptr;
  DeviceHandle handle = 0;
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0, numSMs = 0, maxSharedBytes = 0;
  bool isPrimary = false;
  const State *next = nullptr;
};

static std::atomic<const Device::State *> firstState{nullptr};

/// Held while the list grows, and while a primary context is made.
static std::mutex &getStateMutex() {
  // Lives on after the end of main.
  static auto *mutex = new std::mutex;
  return *mutex;
}

template <typename Predicate>
static const Device::State *findState(Predicate predicate) {
  const Device::State *state = firstState.load(std::memory_order_acquire);
  while (state && !predicate(*state))
    state = state->next;
  return state;
}

/// Adds a state to the list, for good.
static const Device::State &publish(Device::State state) {
  state.next = firstState.load(std::memory_order_relaxed);
  const auto *result = new Device::State(std::move(state));
  firstState.store(result, std::memory_order_release);
  return *result;
}

static llvm::Error readProperties(Device::State &state) {
  const Driver &driver = *state.driver;
  std::string what =
      ("asking for the properties of device " + llvm::Twine(state.ordinal))
          .str();
  char name[256] = "";
  if (llvm::Error error = driver.check(
          driver.cuDeviceGetName(name, sizeof(name), state.handle), what))
    return error;
  state.name = name;
  const std::pair<int, int *> attributes[] = {
      {kDeviceComputeCapabilityMajor, &state.major},
      {kDeviceComputeCapabilityMinor, &state.minor},
      {kDeviceMultiprocessorCount, &state.numSMs},
      {kDeviceMaxSharedBytesPerBlockOptin, &state.maxSharedBytes}};
  for (auto [attribute, value] : attributes)
    if (llvm::Error error = driver.check(
            driver.cuDeviceGetAttribute(value, attribute, state.handle), what))
      return error;
  if (state.major != 9 || state.minor != 0)
    return llvm::createStringError(
        std::make_error_code(std::errc::not_supported),
        "expects a GPU of compute capability 9.0 (Hopper), but device " +
            llvm::Twine(state.ordinal) + " (" + state.name + ") has " +
            llvm::Twine(state.major) + "." + llvm::Twine(state.minor) +
            "; the target cpu can run it");
  return llvm::Error::success();
}

llvm::Expected<int> Device::getCount() {
  llvm::Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  int count = 0;
  if (llvm::Error error = (*driver)->check((*driver)->cuDeviceGetCount(&count),
                                           "counting the GPUs"))
    return error;
  return count;
}

llvm::Expected<Device> Device::get(int ordinal) {
  auto isIt = [&](const State &state) {
    return state.isPrimary && state.ordinal == ordinal;
  };
  if (const State *state = findState(isIt))
    return Device(*state);
  llvm::Expected<int> count = getCount();
  if (!count)
    return count.takeError();
  if (ordinal < 0 || ordinal >= *count)
    return makeArgumentError("expects a GPU from 0 to " +
                             llvm::Twine(*count - 1) + ", but got " +
                             llvm::Twine(ordinal));
  std::lock_guard<std::mutex> lock(getStateMutex());
  if (const State *state = findState(isIt))
    return Device(*state);
  State state;
  llvm::Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  state.driver = *driver;
  state.ordinal = ordinal;
  state.isPrimary = true;
  if (llvm::Error error = state.driver->check(
          state.driver->cuDeviceGet(&state.handle, ordinal), "opening a GPU"))
    return error;
  if (llvm::Error error = readProperties(state))
    return error;
  // Never released: memory and modules of others depend on it.
  if (llvm::Error error = state.driver->check(
          state.driver->cuDevicePrimaryCtxRetain(&state.context, state.handle),
          "making a context of device " + llvm::Twine(ordinal) + " (" +
              state.name + ")"))
    return error;
  // The context may be in the list already, as one that was current.
  return Device(publish(std::move(state)));
}

llvm::Expected<Device> Device::current() {
  llvm::Expected<const Driver *> found = Driver::get();
  if (!found)
    return found.takeError();
  const Driver &driver = **found;
  ContextHandle context = nullptr;
  if (llvm::Error error = driver.check(driver.cuCtxGetCurrent(&context),
                                       "asking for the current CUDA context"))
    return error;
  if (!context)
    return get(0);
  auto isIt = [&](const State &state) { return state.context == context; };
  if (const State *state = findState(isIt))
    return Device(*state);

  State state;
  state.driver = &driver;
  state.context = context;
  if (llvm::Error error = driver.check(driver.cuCtxGetDevice(&state.handle),
                                       "asking for the current GPU"))
    return error;
  llvm::Expected<int> count = getCount();
  if (!count)
    return count.takeError();
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    DeviceHandle handle = 0;
    if (driver.cuDeviceGet(&handle, ordinal) == kSuccess &&
        handle == state.handle)
      state.ordinal = ordinal;
  }
  if (llvm::Error error = readProperties(state))
    return error;
  std::lock_guard<std::mutex> lock(getStateMutex());
  if (const State *state = findState(isIt))
    return Device(*state);
  return Device(publish(std::move(state)));
}

const Driver &Device::getDriver() const { return *state->driver; }
ContextHandle Device::getContext() const { return state->context; }
int Device::getOrdinal() const { return state->ordinal; }
llvm::StringRef Device::getName() const { return state->name; }
int Device::getNumSMs() const { return state->numSMs; }
std::pair<int, int> Device::getComputeCapability() const {
  return {state->major, state->minor};
}
int Device::getMaxSharedBytes() const { return state->maxSharedBytes; }
std::string Device::describe() const {
  return ("device " + llvm::Twine(state->ordinal) + " (" + state->name + ")")
      .str();
}

/// Calls `body` with the device's context current.
template <typename Body>
static llvm::Error runOn(Device device, const llvm::Twine &what, Body body) {
  const Driver &driver = device.getDriver();
  ContextScope scope(driver, device.getContext());
  if (llvm::Error error = scope.takeError())
    return error;
  return driver.check(body(driver), what);
}

llvm::Error Device::synchronize() const {
  return runOn(*this, "waiting for " + describe(),
               [](const Driver &driver) { return driver.cuCtxSynchronize(); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

llvm::Error Device::makeMemoryError(size_t bytes,
                                    llvm::StringRef purpose) const {
  size_t free = 0, total = 0;
  if (llvm::Error error = runOn(*this, "asking for the memory that is free",
                                [&](const Driver &driver) {
                                  return driver.cuMemGetInfo(&free, &total);
                                }))
    return error;
  return llvm::createStringError(
      std::make_error_code(std::errc::not_enough_memory),
      "expects " + formatByteCount(bytes) + " of memory of " + describe() +
          (purpose.empty() ? "" : " for ") + purpose + ", but got only " +
          formatByteCount(free) + " free");
}

llvm::Expected<DeviceBuffer> DeviceBuffer::allocate(Device device,
                                                    size_t bytes) {
  DeviceBuffer buffer(device);
  buffer.bytes = bytes;
  // The driver refuses 0.
  if (bytes == 0)
    return buffer;
  auto allocate = [&](const Driver &driver) {
    return driver.cuMemAlloc(&buffer.address, bytes);
  };
  if (llvm::Error error = runOn(device, "the allocation", allocate)) {
    buffer.address = 0;
    if (!isOutOfMemory(error))
      return error;
    llvm::consumeError(std::move(error));
    return device.makeMemoryError(bytes);
  }
  return buffer;
}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(device, other.device);
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address)
    llvm::consumeError(runOn(device, "", [&](const Driver &driver) {
      return driver.cuMemFree(address);
    }));
}

llvm::Error DeviceBuffer::checkRange(size_t size, size_t offset) const {
  if (offset <= bytes && size <= bytes - offset)
    return llvm::Error::success();
  return makeArgumentError("expects a copy within " + llvm::Twine(bytes) +
                           " bytes, but got " + llvm::Twine(size) +
                           " bytes at " + llvm::Twine(offset));
}

llvm::Error DeviceBuffer::copyFrom(const void *host, size_t size,
                                   size_t offset) {
  if (llvm::Error error = checkRange(size, offset))
    return error;
  if (size == 0)
    return llvm::Error::success();
  return runOn(device, "a copy to the GPU", [&](const Driver &driver) {
    return driver.cuMemcpyHtoD(address + offset, host, size);
  });
}

llvm::Error DeviceBuffer::copyTo(void *host, size_t size, size_t offset) const {
  if (llvm::Error error = checkRange(size, offset))
    return error;
  if (size == 0)
    return llvm::Error::success();
  return runOn(device, "a copy from the GPU", [&](const Driver &driver) {
    return driver.cuMemcpyDtoH(host, address + offset, size);
  });
}

llvm::Error DeviceBuffer::fill(unsigned char value, void *stream) {
  if (bytes == 0)
    return llvm::Error::success();
  return runOn(device, "filling memory", [&](const Driver &driver) {
    return driver.cuMemsetD8Async(address, value, bytes,
                                  static_cast<StreamHandle>(stream));
  });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

llvm::Expected<Stream> Stream::create(Device device) {
  Stream stream(device);
  if (llvm::Error error =
          runOn(device, "making a stream", [&](const Driver &driver) {
            return driver.cuStreamCreate(&stream.handle, kStreamNonBlocking);
          }))
    return error;
  return stream;
}

Stream::~Stream() {
  if (handle)
    llvm::consumeError(runOn(device, "", [&](const Driver &driver) {
      return driver.cuStreamDestroy(handle);
    }));
}

llvm::Error Stream::synchronize() const {
  return runOn(device, "waiting for a stream", [&](const Driver &driver) {
    return driver.cuStreamSynchronize(handle);
  });
}

llvm::Expected<Event> Event::create(Device device) {
  Event event(device);
  if (llvm::Error error =
          runOn(device, "making an event", [&](const Driver &driver) {
            return driver.cuEventCreate(&event.handle, kEventDefault);
          }))
    return error;
  return event;
}

Event::~Event() {
  if (handle)
    llvm::consumeError(runOn(device, "", [&](const Driver &driver) {
      return driver.cuEventDestroy(handle);
    }));
}

llvm::Error Event::record(void *stream) {
  return runOn(device, "recording an event", [&](const Driver &driver) {
    return driver.cuEventRecord(handle, static_cast<StreamHandle>(stream));
  });
}

llvm::Error Event::synchronize() const {
  return runOn(device, "waiting for an event", [&](const Driver &driver) {
    return driver.cuEventSynchronize(handle);
  });
}

bool Event::isReached() const {
  return device.getDriver().cuEventQuery(handle) == kSuccess;
}

llvm::Error Event::holdUp(void *stream) const {
  return runOn(device, "waiting for an event", [&](const Driver &driver) {
    return driver.cuStreamWaitEvent(static_cast<StreamHandle>(stream), handle,
                                    /*flags=*/0);
  });
}

llvm::Expected<double> Event::getMillisecondsSince(const Event &start) const {
  float milliseconds = 0;
  if (llvm::Error error =
          runOn(device, "reading the time", [&](const Driver &driver) {
            return driver.cuEventElapsedTime(&milliseconds, start.handle,
                                             handle);
          }))
    return error;
  return static_cast<double>(milliseconds);
}
