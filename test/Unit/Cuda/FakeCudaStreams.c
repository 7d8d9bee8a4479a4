/*===- FakeCudaStreams.c - Streams and events of the fake driver ----------===*/

#include "FakeCuda.h"
#include "FakeCudaState.h"
#include <stdlib.h>

/* NOLINTBEGIN(readability-identifier-naming) */

struct Event {
  float time;
};

static float now;
static int capturing = 0;

API void fakeCudaSetCapturing(int value) { capturing = value; }

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
