/*===- run_c.c - Compile and run an attention from C ------------------------===
 *
 * A sliding window of 4 keys over 8 positions.
 *
 *   cc -std=c11 run_c.c -lattn && ./a.out
 *
 *===----------------------------------------------------------------------===*/

#include "attn-c/Attn.h"
#include <stdio.h>
#include <string.h>

static const char program[] =
    "!t = tensor<?x?x?x8xf32>\n"
    "func.func @window(%q: !t, %k: !t, %v: !t, %size: index) -> !t {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  %c1 = arith.constant 1 : index\n"
    "  %c2 = arith.constant 2 : index\n"
    "  %batch = tensor.dim %q, %c0 : !t\n"
    "  %heads = tensor.dim %q, %c1 : !t\n"
    "  %length = tensor.dim %q, %c2 : !t\n"
    "  %init = tensor.empty(%batch, %heads, %length) : !t\n"
    "  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)\n"
    "      captures(%size : index) outs(%init : !t)\n"
    "      mask(%b, %h, %i, %j, %n) {\n"
    "        %first = arith.subi %i, %n : index\n"
    "        %after = arith.cmpi sgt, %j, %first : index\n"
    "        %causal = arith.cmpi sle, %j, %i : index\n"
    "        %p = arith.andi %after, %causal : i1\n"
    "        attn.yield %p : i1\n"
    "      }\n"
    "  return %o : !t\n"
    "}\n";

/* What the last call that failed has to say. A call sets it before `failed` is
 * entered; as an argument beside the call it might be read before. */
static attnError *error;

/* Prints and destroys the error of a call; returns whether there is one. */
static int failed(attnStatus status) {
  if (status == ATTN_OK)
    return 0;
  fprintf(stderr, "%s: %s\n", attnStatusName(status), attnErrorMessage(error));
  attnErrorDestroy(error);
  return 1;
}

int main(void) {
  enum { LENGTH = 8, DIM = 8 };
  static float q[LENGTH * DIM], k[LENGTH * DIM], v[LENGTH * DIM];
  static float o[LENGTH * DIM];
  int64_t size = 4;
  int64_t shape[4];
  attnKernel *kernel;

  printf("attn %s\n", attnVersionString());
  if (failed(
          attnKernelCompile(program, strlen(program), NULL, &kernel, &error)))
    return 1;

  /* With queries of zeros all keys weigh the same, so that an output is the
   * mean of the values in the window. */
  for (int n = 0; n < LENGTH * DIM; ++n) {
    k[n] = (float)(n % 7);
    v[n] = (float)(n / DIM);
  }
  const int64_t extents[] = {1, 1, LENGTH, DIM};
  attnTensor inputs[] = {
      {sizeof(attnTensor), q, ATTN_F32, 4, extents, NULL},
      {sizeof(attnTensor), k, ATTN_F32, 4, extents, NULL},
      {sizeof(attnTensor), v, ATTN_F32, 4, extents, NULL},
      {sizeof(attnTensor), &size, ATTN_I64, 0, NULL, NULL},
  };
  int bad = failed(attnKernelResultShapes(kernel, inputs, 4, shape, 4, &error));
  if (!bad) {
    printf("result %dx%dx%dx%d\n", (int)shape[0], (int)shape[1], (int)shape[2],
           (int)shape[3]);
    attnTensor result = {sizeof(attnTensor), o, ATTN_F32, 4, shape, NULL};
    bad = failed(attnKernelRun(kernel, inputs, 4, &result, 1, NULL, &error));
  }
  for (int i = 0; !bad && i < LENGTH; ++i)
    printf("query %d: %.2f\n", i, o[i * DIM]);

  attnKernelRelease(kernel);
  return bad;
}
