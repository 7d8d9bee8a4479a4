/*===- run_package.c - Run a kernel that was compiled before, from C --------===
 *
 * Prefix language model (prefix-lm.mlir) on a GPU, without a compiler:
 *
 *   attn-run prefix-lm.mlir --target=cuda --emit=package --emit-to=prefix.attn
 *   cc -std=c11 run_package.c -lattn-runtime -ldl && ./a.out prefix.attn
 *
 * Without a GPU it tells what is in the package.
 *
 *===----------------------------------------------------------------------===*/

#include "attn-c/Runtime.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/*===----------------------------------------------------------------------===*\
|* Memory of a GPU. A program that links CUDA calls cudaMalloc and cudaMemcpy.
\*===----------------------------------------------------------------------===*/

typedef unsigned long long Address;

static struct {
  int (*init)(unsigned);
  int (*retain)(void **, int);
  int (*makeCurrent)(void *);
  int (*alloc)(Address *, size_t);
  int (*copyIn)(Address, const void *, size_t);
  int (*copyOut)(void *, Address, size_t);
} cuda;

static int openCuda(void) {
  const char *name = getenv("ATTN_LIBCUDA");
  void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
  void *context;
  if (!library)
    return 0;
  *(void **)&cuda.init = dlsym(library, "cuInit");
  *(void **)&cuda.retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&cuda.makeCurrent = dlsym(library, "cuCtxSetCurrent");
  *(void **)&cuda.alloc = dlsym(library, "cuMemAlloc_v2");
  *(void **)&cuda.copyIn = dlsym(library, "cuMemcpyHtoD_v2");
  *(void **)&cuda.copyOut = dlsym(library, "cuMemcpyDtoH_v2");
  return cuda.init(0) == 0 && cuda.retain(&context, 0) == 0 &&
         cuda.makeCurrent(context) == 0;
}

/* A copy in memory of the GPU, which the end of the process frees. */
static void *copyToGPU(const void *data, size_t bytes) {
  Address address = 0;
  if (cuda.alloc(&address, bytes) != 0 ||
      cuda.copyIn(address, data, bytes) != 0)
    return NULL;
  return (void *)address;
}

/*===----------------------------------------------------------------------===*\
|* Numbers of 16 bits
\*===----------------------------------------------------------------------===*/

static uint16_t toBF16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return (uint16_t)(bits >> 16);
}

static float fromBF16(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

/*===----------------------------------------------------------------------===*\
|* The package
\*===----------------------------------------------------------------------===*/

static void printTensor(const char *kind, attnTensorInfo info) {
  printf("%s %s: ", kind, info.name);
  for (int64_t dim = 0; dim < info.rank; ++dim) {
    if (info.shape[dim] < 0)
      printf("?x");
    else
      printf("%dx", (int)info.shape[dim]);
  }
  printf("%s\n", attnDTypeName(info.dtype));
}

static int describe(const attnKernel *kernel) {
  attnString *report;
  attnTensorInfo info = {.struct_size = sizeof(info)};
  printf("kernel %s\n", attnKernelEntry(kernel));
  for (size_t n = 0; n < attnKernelNumInputs(kernel); ++n) {
    if (failed(attnKernelInputInfo(kernel, n, &info, &error)))
      return 0;
    printTensor("input", info);
  }
  for (size_t n = 0; n < attnKernelNumResults(kernel); ++n) {
    if (failed(attnKernelResultInfo(kernel, n, &info, &error)))
      return 0;
    printTensor("result", info);
  }
  /* Its variants are in "kernels". */
  if (failed(attnKernelReport(kernel, &report, &error)))
    return 0;
  printf("report %s\n", attnStringData(report));
  attnStringDestroy(report);
  return 1;
}

enum { BATCH = 2, HEADS = 8, LENGTH = 300, DIM = 64 };
enum { NUMBERS = BATCH * HEADS * LENGTH * DIM };

/* With queries of zeros all keys weigh the same: an output is the mean of the
 * values that it sees. */
static int run(const attnKernel *kernel, attnTensor *inputs,
               attnTensor *result) {
  static uint16_t zeros[NUMBERS], v[NUMBERS], o[NUMBERS];
  static const int32_t prefix[BATCH] = {0, LENGTH};
  for (int n = 0; n < NUMBERS; ++n)
    v[n] = toBF16((float)(n / DIM % LENGTH));
  inputs[0].data = inputs[1].data = copyToGPU(zeros, sizeof(zeros));
  inputs[2].data = copyToGPU(v, sizeof(v));
  inputs[3].data = copyToGPU(prefix, sizeof(prefix));
  result->data = copyToGPU(zeros, sizeof(zeros));
  if (failed(attnKernelRun(kernel, inputs, 4, result, 1, NULL, &error)))
    return 0;
  /* This waits for the kernel. */
  if (cuda.copyOut(o, (Address)result->data, sizeof(o)) != 0)
    return 0;
  for (int b = 0; b < BATCH; ++b)
    printf("batch %d, query 100: %.2f\n", b,
           fromBF16(o[(b * HEADS * LENGTH + 100) * DIM]));
  return 1;
}

int main(int argc, char **argv) {
  const int64_t extents[] = {BATCH, HEADS, LENGTH, DIM};
  const int64_t batch[] = {BATCH};
  const int64_t others[] = {BATCH, HEADS, LENGTH + 1, DIM};
  attnTensor inputs[] = {
      {sizeof(attnTensor), NULL, ATTN_BF16, 4, extents, NULL},
      {sizeof(attnTensor), NULL, ATTN_BF16, 4, extents, NULL},
      {sizeof(attnTensor), NULL, ATTN_BF16, 4, extents, NULL},
      {sizeof(attnTensor), NULL, ATTN_I32, 1, batch, NULL},
  };
  int64_t shape[4];
  attnKernel *kernel;
  int isFine;

  if (argc != 2) {
    fprintf(stderr, "usage: run_package FILE\n");
    return 2;
  }
  if (failed(attnKernelLoadFile(argv[1], &kernel, &error)))
    return 1;
  isFine = describe(kernel) &&
           !failed(attnKernelResultShapes(kernel, inputs, 4, shape, 4, &error));
  if (isFine) {
    attnTensor result = {sizeof(attnTensor), NULL, ATTN_BF16, 4, shape, NULL};
    printf("result %dx%dx%dx%d\n", (int)shape[0], (int)shape[1], (int)shape[2],
           (int)shape[3]);
    if (openCuda())
      isFine = run(kernel, inputs, &result);
    else
      isFine = !failed(attnDeviceCheck(ATTN_DEVICE_CUDA, &error));
  }
  /* What does not fit is an error before anything runs. */
  inputs[1].shape = others;
  isFine &= failed(attnKernelResultShapes(kernel, inputs, 4, shape, 4, &error));
  attnKernelRelease(kernel);
  return !isFine;
}
