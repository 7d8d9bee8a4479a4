/*===- FakeCudaCode.c - Modules and launches of the fake driver -----------===*/

#include "FakeCuda.h"
#include "FakeCudaState.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(readability-identifier-naming) */

struct Function {
  char name[64];
  int dynamicShared;
  int isUnloaded;
};
enum { kMaxFunctions = 16, kMaxParams = 32 };
struct Module {
  struct Function functions[kMaxFunctions];
  struct Module *next;
};

static struct Module *modules;

/* What tests ask of launches. */
static int paramSizes[kMaxParams], numParams;
static char params[kMaxParams][128];

API void fakeCudaSetParams(const int *sizes, int count) {
  numParams = count;
  if (count != 0) /* memcpy takes no null pointer, even for nothing. */
    memcpy(paramSizes, sizes, count * sizeof(int));
}

static char workName[64];
static void (*work)(void **values) = NULL;

API void fakeCudaSetKernel(const char *name, void (*function)(void **values)) {
  snprintf(workName, sizeof(workName), "%s", name);
  work = function;
}

API const void *fakeCudaGetParam(int index) { return params[index]; }

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

/* NOLINTEND(readability-identifier-naming) */
