/*===- FakeCuda.c - A driver without a GPU, for tests ---------------------===*/

#include "FakeCuda.h"
#include "FakeCudaState.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* NOLINTBEGIN(readability-identifier-naming) */

enum { kMaxCounters = 64 };

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/*===----------------------------------------------------------------------===*\
|* The log, counters and failures
\*===----------------------------------------------------------------------===*/

static char logText[1 << 16];
static struct {
  char name[64];
  int count;
} counters[kMaxCounters];
static char failing[64];
static int failure;

void note(const char *format, ...) {
  va_list arguments;
  pthread_mutex_lock(&mutex);
  size_t length = strlen(logText);
  va_start(arguments, format);
  vsnprintf(logText + length, sizeof(logText) - length, format, arguments);
  va_end(arguments);
  pthread_mutex_unlock(&mutex);
}

int enter(const char *name) {
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

static struct Context contexts[kNumDevices] = {{0}, {1}, {2}};
static _Thread_local struct Context *stack[16];
static _Thread_local int depth;

API int cuDevicePrimaryCtxRetain(struct Context **context, int device) {
  ENTER();
  *context = &contexts[device];
  return SUCCESS;
}

struct Context *getCurrent(void) { return depth ? stack[depth] : NULL; }

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

/* NOLINTEND(readability-identifier-naming) */
