/*===- FakeCuda.c - A driver without a GPU, for tests ---------------------===*/

#include "FakeCuda.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* NOLINTBEGIN(readability-identifier-naming) */

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  NOT_FOUND = 500,
};

struct Context {
  int device;
};
struct Stream {
  struct Context *context;
};
struct Event {
  float time;
};
struct Function {
  char name[64];
  int dynamicShared;
  int isUnloaded;
};
enum { kMaxFunctions = 4 };
struct Module {
  struct Function functions[kMaxFunctions];
  struct Module *next;
};
struct MemPool {
  int device;
  uint64_t threshold;
};
struct Allocation {
  char *address;
  size_t bytes;
  int device;
};

enum { kNumDevices = 3, kMaxCounters = 64, kMaxParams = 32 };

static struct Context contexts[kNumDevices] = {{0}, {1}, {2}};
static _Thread_local struct Context *stack[16];
static _Thread_local int depth;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char logText[1 << 16];
static struct {
  char name[64];
  int count;
} counters[kMaxCounters];
static char failing[64];
static int failure;
static struct Allocation allocations[256];
static struct Module *modules;
static float now;
static int paramSizes[kMaxParams], numParams;
static char params[kMaxParams][128];

static void note(const char *format, ...) {
  va_list arguments;
  pthread_mutex_lock(&mutex);
  size_t length = strlen(logText);
  va_start(arguments, format);
  vsnprintf(logText + length, sizeof(logText) - length, format, arguments);
  va_end(arguments);
  pthread_mutex_unlock(&mutex);
}

/* Counts a call, and returns how it has to fail. */
static int enter(const char *name) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kMaxCounters; ++i) {
    if (counters[i].count == 0)
      snprintf(counters[i].name, sizeof(counters[i].name), "%s", name);
    if (strcmp(counters[i].name, name) == 0) {
      ++counters[i].count;
      break;
    }
  }
  int result = strcmp(failing, name) == 0 ? failure : SUCCESS;
  pthread_mutex_unlock(&mutex);
  return result;
}

#define ENTER()                                                                \
  do {                                                                         \
    int error = enter(__func__);                                               \
    if (error)                                                                 \
      return error;                                                            \
  } while (0)

API const char *fakeCudaGetLog(void) { return logText; }

API int fakeCudaGetCount(const char *function) {
  int count = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kMaxCounters; ++i)
    if (strcmp(counters[i].name, function) == 0)
      count = counters[i].count;
  pthread_mutex_unlock(&mutex);
  return count;
}

API void fakeCudaClear(void) {
  pthread_mutex_lock(&mutex);
  logText[0] = 0;
  failing[0] = 0;
  memset(counters, 0, sizeof(counters));
  pthread_mutex_unlock(&mutex);
}

API void fakeCudaFail(const char *function, int result) {
  pthread_mutex_lock(&mutex);
  snprintf(failing, sizeof(failing), "%s", function);
  failure = result;
  pthread_mutex_unlock(&mutex);
}

API void fakeCudaSetParams(const int *sizes, int count) {
  numParams = count;
  memcpy(paramSizes, sizes, count * sizeof(int));
}

static char workName[64];
static void (*work)(void **values) = NULL;

API void fakeCudaSetKernel(const char *name, void (*function)(void **values)) {
  snprintf(workName, sizeof(workName), "%s", name);
  work = function;
}

static int capturing = 0;

API void fakeCudaSetCapturing(int value) { capturing = value; }

API const void *fakeCudaGetParam(int index) { return params[index]; }

/*===----------------------------------------------------------------------===*\
|* The driver and devices
\*===----------------------------------------------------------------------===*/

API int cuInit(unsigned flags) {
  ENTER();
  return flags ? INVALID_VALUE : SUCCESS;
}

API int cuDriverGetVersion(int *version) {
  ENTER();
  *version = 13000;
  return SUCCESS;
}

API int cuGetErrorName(int error, const char **text) {
  switch (error) {
  case INVALID_VALUE:
    *text = "CUDA_ERROR_INVALID_VALUE";
    return SUCCESS;
  case OUT_OF_MEMORY:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return SUCCESS;
  case INVALID_IMAGE:
    *text = "CUDA_ERROR_INVALID_IMAGE";
    return SUCCESS;
  case INVALID_PTX:
    *text = "CUDA_ERROR_INVALID_PTX";
    return SUCCESS;
  case NOT_FOUND:
    *text = "CUDA_ERROR_NOT_FOUND";
    return SUCCESS;
  default:
    return INVALID_VALUE;
  }
}

API int cuGetErrorString(int error, const char **text) {
  *text = "said the fake";
  return SUCCESS;
}

API int cuDeviceGetCount(int *count) {
  ENTER();
  *count = kNumDevices;
  return SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal) {
  ENTER();
  if (ordinal < 0 || ordinal >= kNumDevices)
    return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

API int cuDeviceGetName(char *name, int size, int device) {
  ENTER();
  snprintf(name, size, "Fake %d", device);
  return SUCCESS;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER();
  switch (attribute) {
  case 16:
    *value = 4;
    return SUCCESS;
  case 75:
    *value = device == 1 ? 8 : 9;
    return SUCCESS;
  case 76:
    *value = 0;
    return SUCCESS;
  case 97:
    *value = 232448;
    return SUCCESS;
  default:
    return INVALID_VALUE;
  }
}

/*===----------------------------------------------------------------------===*\
|* Contexts
\*===----------------------------------------------------------------------===*/

API int cuDevicePrimaryCtxRetain(struct Context **context, int device) {
  ENTER();
  *context = &contexts[device];
  return SUCCESS;
}

API int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER();
  return SUCCESS;
}

static struct Context *getCurrent(void) { return depth ? stack[depth] : NULL; }

API int cuCtxGetCurrent(struct Context **context) {
  ENTER();
  *context = getCurrent();
  return SUCCESS;
}

API int cuCtxSetCurrent(struct Context *context) {
  ENTER();
  depth = context != NULL;
  stack[depth] = context;
  return SUCCESS;
}

API int cuCtxPushCurrent_v2(struct Context *context) {
  ENTER();
  stack[++depth] = context;
  return SUCCESS;
}

API int cuCtxPopCurrent_v2(struct Context **context) {
  ENTER();
  *context = stack[depth--];
  return SUCCESS;
}

API int cuCtxGetDevice(int *device) {
  ENTER();
  if (!getCurrent())
    return INVALID_CONTEXT;
  *device = getCurrent()->device;
  return SUCCESS;
}

API int cuCtxSynchronize(void) {
  ENTER();
  return getCurrent() ? SUCCESS : INVALID_CONTEXT;
}

/*===----------------------------------------------------------------------===*\
|* Code
\*===----------------------------------------------------------------------===*/

/* Modules stay for good, so that the use of one that is unloaded is seen. */
static int makeModule(struct Module **module) {
  *module = calloc(1, sizeof(struct Module));
  pthread_mutex_lock(&mutex);
  (*module)->next = modules;
  modules = *module;
  pthread_mutex_unlock(&mutex);
  return SUCCESS;
}

API int cuModuleLoadData(struct Module **module, const void *image) {
  ENTER();
  if (!getCurrent())
    return INVALID_CONTEXT;
  if (memcmp(image, "\177ELF", 4) != 0)
    return INVALID_IMAGE;
  note("load cubin on %d\n", getCurrent()->device);
  return makeModule(module);
}

API int cuModuleLoadDataEx(struct Module **module, const void *image,
                           unsigned numOptions, int *options, void **values) {
  ENTER();
  if (!getCurrent())
    return INVALID_CONTEXT;
  if (strstr(image, "bad")) {
    if (numOptions == 2 && options[0] == 5 && options[1] == 6)
      snprintf(values[0], (size_t)values[1], "ptxas says it is bad\n");
    return INVALID_PTX;
  }
  note("load ptx on %d\n", getCurrent()->device);
  return makeModule(module);
}

API int cuModuleUnload(struct Module *module) {
  ENTER();
  note("unload\n");
  for (int i = 0; i < kMaxFunctions; ++i)
    module->functions[i].isUnloaded = 1;
  return SUCCESS;
}

API int cuModuleGetFunction(struct Function **function, struct Module *module,
                            const char *name) {
  ENTER();
  if (strcmp(name, "missing") == 0)
    return NOT_FOUND;
  for (int i = 0; i < kMaxFunctions; ++i) {
    *function = &module->functions[i];
    if ((*function)->name[0] && strcmp((*function)->name, name) != 0)
      continue;
    snprintf((*function)->name, sizeof((*function)->name), "%s", name);
    return SUCCESS;
  }
  return NOT_FOUND;
}

API int cuFuncSetAttribute(struct Function *function, int attribute,
                           int value) {
  ENTER();
  if (attribute != 8)
    return INVALID_VALUE;
  note("shared %s %d\n", function->name, value);
  function->dynamicShared = value;
  return SUCCESS;
}

API int cuFuncGetAttribute(int *value, int attribute,
                           struct Function *function) {
  ENTER();
  *value = attribute == 1 ? 1024 : 0;
  return SUCCESS;
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks,
                                                    struct Function *function,
                                                    int numThreads,
                                                    size_t sharedBytes) {
  ENTER();
  *numBlocks = numThreads > 1000 ? 0 : sharedBytes > 100000 ? 1 : 2;
  return SUCCESS;
}

struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  struct Stream *stream;
  const struct {
    int id;
    char padding[4];
    int value;
    char reserved[60];
  } *attributes;
  unsigned numAttributes;
};

API int cuLaunchKernelEx(const struct LaunchConfig *config,
                         struct Function *function, void **values,
                         void **extra) {
  ENTER();
  unsigned gridX = config->gridX, gridY = config->gridY, gridZ = config->gridZ,
           blockX = config->blockX, blockY = config->blockY,
           blockZ = config->blockZ, sharedBytes = config->sharedBytes;
  struct Stream *stream = config->stream;
  /* Programmatic stream serialization, and nothing else. */
  int isDependent = config->numAttributes == 1;
  if (config->numAttributes > 1 ||
      (isDependent &&
       (config->attributes->id != 6 || config->attributes->value != 1)))
    return INVALID_VALUE;
  if (!getCurrent() || extra || gridX == 0 || function->isUnloaded ||
      sharedBytes > (unsigned)function->dynamicShared ||
      (stream && stream->context != getCurrent()))
    return INVALID_VALUE;
  note("launch %s on %d grid %u,%u,%u block %u,%u,%u shared %u%s%s\n",
       function->name, getCurrent()->device, gridX, gridY, gridZ, blockX,
       blockY, blockZ, sharedBytes, stream ? " stream" : "",
       isDependent ? " dependent" : "");
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < numParams; ++i)
    memcpy(params[i], values[i], paramSizes[i]);
  pthread_mutex_unlock(&mutex);
  if (work && strcmp(function->name, workName) == 0)
    work(values);
  return SUCCESS;
}

/* The map says what it was made from. */
API int cuTensorMapEncodeTiled(uint64_t *map, int dataType, uint32_t rank,
                               void *address, const uint64_t *extents,
                               const uint64_t *strides, const uint32_t *box,
                               const uint32_t *elementStrides, int interleave,
                               int swizzle, int l2Promotion, int oobFill) {
  ENTER();
  if ((uintptr_t)map % 64 || rank < 1 || rank > 5 || (uintptr_t)address % 16 ||
      !address || interleave || oobFill)
    return INVALID_VALUE;
  memset(map, 0, 128);
  map[0] = (uintptr_t)address;
  map[1] = dataType | rank << 8 | swizzle << 16 | (uint64_t)l2Promotion << 24;
  for (uint32_t i = 0; i < rank; ++i) {
    if (extents[i] < 1 || extents[i] > UINT64_C(1) << 32 || box[i] < 1 ||
        box[i] > 256 || elementStrides[i] != 1)
      return INVALID_VALUE;
    map[2 + i] = extents[i];
    map[11 + i] = box[i];
    if (i + 1 == rank)
      break;
    if (strides[i] % 16 || strides[i] >= UINT64_C(1) << 40)
      return INVALID_VALUE;
    map[7 + i] = strides[i];
  }
  return SUCCESS;
}

/*===----------------------------------------------------------------------===*\
|* Memory
\*===----------------------------------------------------------------------===*/

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

API int cuMemsetD32Async(unsigned long long to, unsigned value, size_t count,
                         struct Stream *stream) {
  ENTER();
  for (size_t i = 0; i < count; ++i)
    ((unsigned *)(uintptr_t)to)[i] = value;
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

/*===----------------------------------------------------------------------===*\
|* Streams and events
\*===----------------------------------------------------------------------===*/

API int cuStreamCreate(struct Stream **stream, unsigned flags) {
  ENTER();
  *stream = calloc(1, sizeof(struct Stream));
  (*stream)->context = getCurrent();
  return SUCCESS;
}

API int cuStreamDestroy_v2(struct Stream *stream) {
  ENTER();
  free(stream);
  return SUCCESS;
}

API int cuStreamSynchronize(struct Stream *stream) {
  ENTER();
  return SUCCESS;
}

API int cuStreamGetCtx(struct Stream *stream, struct Context **context) {
  ENTER();
  *context = stream->context;
  return SUCCESS;
}

API int cuStreamIsCapturing(struct Stream *stream, int *status) {
  ENTER();
  *status = capturing;
  return SUCCESS;
}

API int cuThreadExchangeStreamCaptureMode(int *mode) {
  static _Thread_local int current = 0;
  ENTER();
  int old = current;
  current = *mode;
  *mode = old;
  note("capture mode %d\n", current);
  return SUCCESS;
}

API int cuEventCreate(struct Event **event, unsigned flags) {
  ENTER();
  *event = calloc(1, sizeof(struct Event));
  return SUCCESS;
}

API int cuEventRecord(struct Event *event, struct Stream *stream) {
  ENTER();
  event->time = now;
  now += 1.5F;
  return SUCCESS;
}

API int cuEventQuery(struct Event *event) {
  ENTER();
  return SUCCESS;
}

API int cuStreamWaitEvent(struct Stream *stream, struct Event *event,
                          unsigned flags) {
  ENTER();
  note("wait for event%s\n", stream ? " stream" : "");
  return SUCCESS;
}

API int cuEventSynchronize(struct Event *event) {
  ENTER();
  note("reach event\n");
  return SUCCESS;
}

API int cuEventElapsedTime(float *milliseconds, struct Event *from,
                           struct Event *to) {
  ENTER();
  *milliseconds = to->time - from->time;
  return SUCCESS;
}

API int cuEventDestroy_v2(struct Event *event) {
  ENTER();
  free(event);
  return SUCCESS;
}

/* NOLINTEND(readability-identifier-naming) */
