/*===- FakeCudaMemory.c - Memory of the fake driver's devices -------------===*/

#include "FakeCudaState.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(readability-identifier-naming) */

struct MemPool {
  int device;
  uint64_t threshold;
};
struct Allocation {
  char *address;
  size_t bytes;
  int device;
};

static struct Allocation allocations[256];

API int cuMemGetInfo_v2(size_t *freeBytes, size_t *totalBytes) {
  ENTER();
  *freeBytes = 1 << 30;
  *totalBytes = 1 << 30;
  return SUCCESS;
}

API int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  ENTER();
  if (bytes == 0)
    return INVALID_VALUE;
  if (!getCurrent())
    return INVALID_CONTEXT;
  if (bytes > 1 << 30)
    return OUT_OF_MEMORY;
  int result = OUT_OF_MEMORY;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 256 && result; ++i) {
    if (allocations[i].address)
      continue;
    allocations[i].address = aligned_alloc(256, (bytes + 255) / 256 * 256);
    allocations[i].bytes = bytes;
    allocations[i].device = getCurrent()->device;
    *pointer = (uintptr_t)allocations[i].address;
    result = SUCCESS;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

/* Call with the mutex held. */
static struct Allocation *findAllocation(unsigned long long pointer) {
  for (int i = 0; i < 256; ++i) {
    uintptr_t first = (uintptr_t)allocations[i].address;
    if (first && pointer >= first && pointer < first + allocations[i].bytes)
      return &allocations[i];
  }
  return NULL;
}

API int cuMemFree_v2(unsigned long long pointer) {
  ENTER();
  int result = INVALID_VALUE;
  pthread_mutex_lock(&mutex);
  struct Allocation *allocation = findAllocation(pointer);
  if (allocation) {
    free(allocation->address);
    allocation->address = NULL;
    result = SUCCESS;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

/* Like those of CUmemPoolProps. */
struct MemPoolProps {
  int allocationType, handleTypes, locationType, locationId;
  void *securityAttributes;
  size_t maxBytes;
  unsigned char rest[56];
};

API int cuMemPoolCreate(struct MemPool **pool,
                        const struct MemPoolProps *properties) {
  ENTER();
  static const unsigned char zeros[56];
  if (properties->allocationType != 1 || properties->locationType != 1 ||
      properties->locationId < 0 || properties->locationId >= kNumDevices ||
      properties->handleTypes || properties->securityAttributes ||
      properties->maxBytes || memcmp(properties->rest, zeros, 56) != 0)
    return INVALID_VALUE;
  *pool = calloc(1, sizeof(struct MemPool));
  (*pool)->device = properties->locationId;
  return SUCCESS;
}

API int cuMemPoolSetAttribute(struct MemPool *pool, int attribute,
                              void *value) {
  ENTER();
  if (attribute != 4)
    return INVALID_VALUE;
  memcpy(&pool->threshold, value, sizeof(pool->threshold));
  return SUCCESS;
}

API int cuMemAllocFromPoolAsync(unsigned long long *pointer, size_t bytes,
                                struct MemPool *pool, struct Stream *stream) {
  ENTER();
  if (!getCurrent() || getCurrent()->device != pool->device ||
      (stream && stream->context != getCurrent()))
    return INVALID_VALUE;
  note("take %zu on %d%s\n", bytes, pool->device, stream ? " stream" : "");
  return cuMemAlloc_v2(pointer, bytes);
}

API int cuMemFreeAsync(unsigned long long pointer, struct Stream *stream) {
  ENTER();
  note("give back%s\n", stream ? " stream" : "");
  return cuMemFree_v2(pointer);
}

API int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  ENTER();
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

API int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  ENTER();
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return SUCCESS;
}

API int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                             struct Stream *stream) {
  ENTER();
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return SUCCESS;
}

API int cuMemsetD8Async(unsigned long long to, unsigned char value,
                        size_t count, struct Stream *stream) {
  ENTER();
  memset((void *)(uintptr_t)to, value, count);
  return SUCCESS;
}

API int cuPointerGetAttribute(void *value, int attribute,
                              unsigned long long pointer) {
  ENTER();
  int result = INVALID_VALUE;
  pthread_mutex_lock(&mutex);
  struct Allocation *allocation = findAllocation(pointer);
  if (allocation && (attribute == 2 || attribute == 9)) {
    *(int *)value = attribute == 2 ? 2 : allocation->device;
    result = SUCCESS;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

/* NOLINTEND(readability-identifier-naming) */
