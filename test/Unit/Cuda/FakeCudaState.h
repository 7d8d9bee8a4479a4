/*===- FakeCudaState.h - What the parts of the fake driver share --*- C -*-===*/

#ifndef ATTN_TEST_UNIT_CUDA_FAKECUDASTATE_H
#define ATTN_TEST_UNIT_CUDA_FAKECUDASTATE_H

#include <pthread.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

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

enum { kNumDevices = 3 };

struct Context {
  int device;
};
struct Stream {
  struct Context *context;
};

#pragma GCC visibility push(hidden)

/* Of everything that several threads change. */
extern pthread_mutex_t mutex;

/* Adds to the log. */
void note(const char *format, ...);

/* Counts a call, and returns how it has to fail. */
int enter(const char *name);

#define ENTER()                                                                \
  do {                                                                         \
    int error = enter(__func__);                                               \
    if (error)                                                                 \
      return error;                                                            \
  } while (0)

/* The context of this thread, or NULL. */
struct Context *getCurrent(void);

#pragma GCC visibility pop

#endif /* ATTN_TEST_UNIT_CUDA_FAKECUDASTATE_H */
