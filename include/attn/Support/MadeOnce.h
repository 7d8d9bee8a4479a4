//===- MadeOnce.h - Values that are made when asked for ---------*- C++ -*-===//

#ifndef ATTN_SUPPORT_MADEONCE_H
#define ATTN_SUPPORT_MADEONCE_H

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace attn {

/// Values by keys, of which each is made when it is first asked for, in
/// whatever thread. Who asks for one that is being made waits for that one
/// alone. Needs no LLVM, as libraries that are compiled without it have it,
/// too.
template <typename Value> class MadeOnce {
public:
  /// The value of a key. `make` returns a shared pointer to it; where that is
  /// null, or an exception is thrown, the next one who asks tries again.
  template <typename Make>
  std::shared_ptr<Value> get(const std::string &key, Make make) {
    std::shared_ptr<Slot> slot = find(key);
    std::lock_guard<std::mutex> lock(slot->mutex);
    if (!slot->value)
      slot->value = make();
    return slot->value;
  }

  /// Forgets all values, and does not wait for those that are being made.
  void clear() {
    std::lock_guard<std::mutex> lock(mutex);
    slots.clear();
  }

private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<Value> value;
  };

  std::shared_ptr<Slot> find(const std::string &key) {
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Slot> &slot = slots[key];
    if (!slot)
      slot = std::make_shared<Slot>();
    return slot;
  }

  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots;
};

} // namespace attn

#endif // ATTN_SUPPORT_MADEONCE_H
