//===- Scratch.cpp - Memory for the tasks of compiled kernels -------------===//
//
// Each thread has an arena: a stack of blocks, with a stack of allocations in
// them. When nothing is allocated, one block stays, as large as was ever needed
// at a time; from then on allocation is a few instructions.
//
// Arenas are thread-local objects without a destructor, since the C++ runtime
// keeps a library loaded as long as such a destructor is due on some thread. A
// key of pthread frees the blocks of a thread that ends; a list of all arenas
// serves to free the others when the library is unloaded.
//
// Why not malloc: glibc gives the top of its heap back to the system when more
// than 128 KiB of it are free, which is a mode of the process and not for a
// library to change. Four pieces of 64 KiB that are written and freed again and
// again are 32 page faults and 51 us a round, against none and 0.14 us here.
// LLVM's BumpPtrAllocator keeps one block of 4 KiB.
//
//===----------------------------------------------------------------------===//

#include "attn/Runtime/ABI.h"
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <pthread.h>

namespace {

constexpr size_t kAlignment = 64;

/// The first block of a thread, and the largest that stays with it.
constexpr size_t kMinBlockSize = size_t(64) << 10;
constexpr size_t kMaxCachedSize = size_t(64) << 20;

struct Arena;

/// The start of a block, followed by `capacity` bytes.
struct alignas(kAlignment) Block {
  Block *below;
  size_t capacity;
  size_t used;

  char *getData() { return reinterpret_cast<char *>(this + 1); }
};

/// In front of each allocation.
struct alignas(kAlignment) Header {
  /// Null for an allocation outside of any arena.
  Arena *arena;
  Header *below;
  Block *block;
  /// Including this header.
  size_t size;
  bool isFree;
};

static_assert(sizeof(Block) == kAlignment && sizeof(Header) == kAlignment,
              "what follows must be aligned");

/// The memory of one thread. Only that thread uses it, but for `isBusy`.
struct Arena {
  Block *topBlock;
  Header *topHeader;
  /// Bytes allocated now, and at most since the last time there were none.
  size_t size;
  size_t peak;
  /// The block to make next, so that all of an earlier peak fits.
  size_t nextCapacity;
  /// Whether something is allocated. The unloading of the library sets it for
  /// good, and then leaves alone what was in use.
  std::atomic<bool> isBusy;
  bool isRegistered;
  Arena *previous;
  Arena *next;

  Header *allocate(size_t bytes);
  void free(Header *header);
  void freeBlocksAbove(Block *block);
  bool reserve(size_t bytes);
};

thread_local Arena threadArena;

/// All arenas that may own memory. It needs no code to be initialised: a fork
/// during the initialisation of a static local variable would leave it locked
/// in the child.
struct Registry {
  std::mutex mutex;
  Arena *first = nullptr;
  /// Tells that a thread ends.
  pthread_key_t key = 0;
  bool hasKey = false;

  constexpr Registry() = default;
  bool add(Arena &arena);
  void remove(Arena &arena);
};

Registry registry;

/// What happens when the library is loaded, and at exit or when it is unloaded.
struct Lifetime {
  Lifetime();
  ~Lifetime();
} lifetime;

} // namespace

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

/// Frees the blocks on top of `block`, which are unused.
void Arena::freeBlocksAbove(Block *block) {
  while (topBlock != block) {
    Block *below = topBlock->below;
    std::free(topBlock);
    topBlock = below;
  }
}

/// Makes the top block one with room for `bytes`.
bool Arena::reserve(size_t bytes) {
  if (topBlock && topBlock->capacity - topBlock->used >= bytes)
    return true;
  // An unused block that is too small would only be in the way.
  if (topBlock && topBlock->used == 0)
    freeBlocksAbove(topBlock->below);
  // Where one overflow block is not enough, the next ones grow.
  size_t capacity = std::max({bytes, nextCapacity, kMinBlockSize});
  if (topBlock)
    capacity = std::max(capacity, std::min(topBlock->capacity, kMaxCachedSize));
  auto *block = static_cast<Block *>(
      std::aligned_alloc(kAlignment, sizeof(Block) + capacity));
  if (!block)
    return false;
  *block = {topBlock, capacity, 0};
  topBlock = block;
  return true;
}

Header *Arena::allocate(size_t bytes) {
  if (!reserve(bytes))
    return nullptr;
  auto *header =
      reinterpret_cast<Header *>(topBlock->getData() + topBlock->used);
  topBlock->used += bytes;
  size += bytes;
  peak = std::max(peak, size);
  *header = {this, topHeader, topBlock, bytes, false};
  topHeader = header;
  return header;
}

void Arena::free(Header *header) {
  header->isFree = true;
  while (topHeader && topHeader->isFree) {
    topHeader->block->used -= topHeader->size;
    size -= topHeader->size;
    topHeader = topHeader->below;
  }
  if (topHeader)
    return;
  // Nothing is allocated. Keep one block if it holds all there was, otherwise
  // make one that does when it is needed.
  nextCapacity = std::min(peak, kMaxCachedSize);
  bool isEnough = !topBlock->below && topBlock->capacity <= kMaxCachedSize;
  if (!isEnough)
    freeBlocksAbove(nullptr);
  peak = 0;
  isBusy.store(false, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

Lifetime::Lifetime() {
  registry.hasKey = pthread_key_create(&registry.key, [](void *arena) {
                      registry.remove(*static_cast<Arena *>(arena));
                    }) == 0;
  pthread_atfork([] { registry.mutex.lock(); }, [] { registry.mutex.unlock(); },
                 [] {
                   // The arenas of other threads went with them: their stacks,
                   // where they were, may be used again.
                   bool hasOwn = threadArena.isRegistered;
                   registry.first = hasOwn ? &threadArena : nullptr;
                   threadArena.previous = threadArena.next = nullptr;
                   registry.mutex.unlock();
                 });
}

/// At exit other threads may still be in kernels.
Lifetime::~Lifetime() {
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (registry.hasKey)
    pthread_key_delete(registry.key);
  registry.hasKey = false;
  for (Arena *arena = registry.first; arena; arena = arena->next)
    if (!arena->isBusy.exchange(true))
      arena->freeBlocksAbove(nullptr);
}

/// Arranges that the arena's memory will be freed.
bool Registry::add(Arena &arena) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!hasKey || pthread_setspecific(key, &arena) != 0)
    return false;
  arena.isRegistered = true;
  arena.previous = nullptr;
  arena.next = first;
  if (first)
    first->previous = &arena;
  first = &arena;
  return true;
}

/// Called on the arena's thread when it ends.
void Registry::remove(Arena &arena) {
  std::lock_guard<std::mutex> lock(mutex);
  (arena.previous ? arena.previous->next : first) = arena.next;
  if (arena.next)
    arena.next->previous = arena.previous;
  arena.isRegistered = false;
  if (!arena.topHeader)
    arena.freeBlocksAbove(nullptr);
}

//===----------------------------------------------------------------------===//
// Interface of compiled code
//===----------------------------------------------------------------------===//

void *attn_rt_alloc(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX / 2)
    return nullptr;
  size_t size = (size_t(bytes) + kAlignment - 1) / kAlignment * kAlignment +
                sizeof(Header);
  Arena &arena = threadArena;
  bool isUsable =
      arena.topHeader || ((arena.isRegistered || registry.add(arena)) &&
                          !arena.isBusy.exchange(true));
  Header *header;
  if (isUsable) {
    header = arena.allocate(size);
    if (!header && !arena.topHeader)
      arena.isBusy.store(false, std::memory_order_release);
  } else {
    header = static_cast<Header *>(std::aligned_alloc(kAlignment, size));
    if (header)
      header->arena = nullptr;
  }
  return header ? header + 1 : nullptr;
}

void attn_rt_free(void *memory) {
  if (!memory)
    return;
  Header *header = static_cast<Header *>(memory) - 1;
  if (header->arena)
    header->arena->free(header);
  else
    std::free(header);
}
