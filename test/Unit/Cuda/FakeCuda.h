/*===- FakeCuda.h - What tests ask of the fake driver -------------*- C -*-===*\
|*
|* The fake has three GPUs: 0 and 2 of compute capability 9.0 with 4
|* multiprocessors, 1 of 8.0. Their memory is the host's. Kernels do nothing but
|* what a test has them do.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_TEST_UNIT_CUDA_FAKECUDA_H
#define ATTN_TEST_UNIT_CUDA_FAKECUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* What was done since the last clear, a line for each call that is noted. */
const char *fakeCudaGetLog(void);
/* The number of calls of a function since the last clear. */
int fakeCudaGetCount(const char *function);
/* Forgets the log, the counts and the failure. */
void fakeCudaClear(void);
/* Lets all calls of a function fail. */
void fakeCudaFail(const char *function, int result);
/* The sizes of the parameters of kernels, of which launches keep the values. */
void fakeCudaSetParams(const int *sizes, int count);
/* The value of the last launch. */
const void *fakeCudaGetParam(int index);

/* Lets kernels of a name call a function with the values of their parameters;
 * NULL for nothing again. One name at a time. */
void fakeCudaSetKernel(const char *name, void (*work)(void **values));

/* Whether streams are being captured from now on. */
void fakeCudaSetCapturing(int value);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_TEST_UNIT_CUDA_FAKECUDA_H */
