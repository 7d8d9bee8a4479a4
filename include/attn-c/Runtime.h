/*===- attn-c/Runtime.h - C interface to kernel packages --------*- C -*-===*\
|*                                                                            *|
|* Loads kernels that were compiled earlier and runs them on tensors in the   *|
|* memory of a GPU. A program that does only this needs libattn-runtime       *|
|* alone, which has no compiler; docs/examples/run_package.c is an example.   *|
|* libattn has these functions, too, and those of Attn.h.                     *|
|*                                                                            *|
|* Errors. A function that can fail returns a status, and its last argument   *|
|* receives an error object with a message; that argument may be NULL. After  *|
|* success the error object is NULL. After a failure all other outputs are    *|
|* NULL, 0 or unchanged. Arguments that are NULL or out of range are errors   *|
|* and never crash; a pointer to something else than declared may.            *|
|*                                                                            *|
|* Threads. All functions may be called from any thread at any time; one      *|
|* kernel may run in several threads at once. But an object must not be       *|
|* destroyed while it is used.                                                *|
|*                                                                            *|
|* Structs. Each begins with struct_size, which the caller sets to its        *|
|* sizeof. Later versions of this header only add members at the end, and 0   *|
|* in a new member keeps the behaviour of older versions. So a program that   *|
|* was compiled with an older header works with a newer library, which takes  *|
|* missing members as 0. A program with a newer header works with an older    *|
|* library if the members that the library does not know are 0; otherwise     *|
|* the call returns ATTN_UNSUPPORTED. All elements of an array have the       *|
|* struct_size of the first. Functions, status codes and element types are    *|
|* only added, never removed.                                                 *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_C_RUNTIME_H
#define ATTN_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ATTN_C_API __attribute__((visibility("default")))
#else
#define ATTN_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Version
\*===----------------------------------------------------------------------===*/

/** 10000 * major + 100 * minor + patch. */
ATTN_C_API uint32_t attnVersion(void);

/** "major.minor.patch". */
ATTN_C_API const char *attnVersionString(void);

/*===----------------------------------------------------------------------===*\
|* Errors
\*===----------------------------------------------------------------------===*/

typedef int32_t attnStatus;
enum {
  ATTN_OK = 0,
  /** An argument of the call is wrong, or tensors do not fit the kernel. */
  ATTN_INVALID_ARGUMENT = 1,
  /** The program does not compile; the message is that of the diagnostics. */
  ATTN_COMPILE_ERROR = 2,
  /** Memory could not be allocated. */
  ATTN_OUT_OF_MEMORY = 3,
  /** In a kernel that checks bounds, a read of a capture was outside of its
   *  tensor; or lists of blocks or keys are wrong. */
  ATTN_OUT_OF_RANGE = 4,
  /** The bytes are no kernel, or one for another version or processor; or the
   *  program is right, but not for this target; or there is no driver. */
  ATTN_UNSUPPORTED = 5
};

/** "ok", "invalid argument", ...; "unknown status" for any other number. */
ATTN_C_API const char *attnStatusName(attnStatus status);

typedef struct attnError attnError;

/** The status that was returned with the error; ATTN_OK for NULL. */
ATTN_C_API attnStatus attnErrorStatus(const attnError *error);

/** Text for users, which lives as long as the error; "" for NULL. */
ATTN_C_API const char *attnErrorMessage(const attnError *error);

/** Ignores NULL. */
ATTN_C_API void attnErrorDestroy(attnError *error);

/*===----------------------------------------------------------------------===*\
|* Bytes that the library returns
\*===----------------------------------------------------------------------===*/

typedef struct attnString attnString;

/** The bytes, followed by a 0; "" for NULL. */
ATTN_C_API const char *attnStringData(const attnString *string);
ATTN_C_API size_t attnStringSize(const attnString *string);

/** Ignores NULL. */
ATTN_C_API void attnStringDestroy(attnString *string);

/*===----------------------------------------------------------------------===*\
|* Tensors
\*===----------------------------------------------------------------------===*/

typedef int32_t attnDType;
enum {
  ATTN_F64 = 0,
  ATTN_F32 = 1,
  ATTN_F16 = 2,
  ATTN_BF16 = 3,
  ATTN_I64 = 4, /**< also for index */
  ATTN_I32 = 5,
  ATTN_I16 = 6,
  ATTN_I8 = 7,
  ATTN_I1 = 8 /**< one byte, 0 or 1 */
};

/** The name as MLIR spells it, such as "bf16"; NULL for any other number. */
ATTN_C_API const char *attnDTypeName(attnDType dtype);

/** The bytes of one element; 0 for any other number. */
ATTN_C_API size_t attnDTypeSize(attnDType dtype);

/** A tensor in the caller's memory. No call keeps it or its arrays. */
typedef struct attnTensor {
  size_t struct_size;
  /** The address of the element whose indices are all 0; may be NULL for a
   *  tensor without elements. */
  void *data;
  attnDType dtype;
  /** 0 for a scalar. */
  int64_t rank;
  /** `rank` extents; may be NULL for a scalar. */
  const int64_t *shape;
  /** `rank` distances between neighbours, in elements. NULL for a tensor that
   *  is dense and row-major. The innermost one is 1, unless its extent is 0 or
   *  1. */
  const int64_t *strides;
} attnTensor;

/** One input or result of a kernel. */
typedef struct attnTensorInfo {
  size_t struct_size;
  /** May be "". All pointers live as long as the kernel. */
  const char *name;
  attnDType dtype;
  int64_t rank;
  /** `rank` extents; a negative one stands for any extent. */
  const int64_t *shape;
} attnTensorInfo;

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

/** The kind of device that a kernel runs on. */
typedef int32_t attnDevice;
enum {
  ATTN_DEVICE_CPU = 0,
  /** An NVIDIA GPU of compute capability 9.0. */
  ATTN_DEVICE_CUDA = 1
};

/** Whether kernels for a device can run here: ATTN_OK, or ATTN_UNSUPPORTED
 *  with a message that says what is missing. */
ATTN_C_API attnStatus attnDeviceCheck(attnDevice device, attnError **error);

typedef struct attnKernel attnKernel;

/** Serialises the kernel to a package, from which attnKernelLoad makes the same
 *  kernel, on this machine or another one with the same processor. A package
 *  for a GPU does not depend on the processor of the host. */
ATTN_C_API attnStatus attnKernelSave(const attnKernel *kernel,
                                     attnString **bytes, attnError **error);

/** Makes a kernel from the bytes of a package, which it copies, or from a file.
 *  The caller owns the kernel and releases it. libattn-runtime and libattn load
 *  packages for a GPU; only libattn loads packages for a CPU. */
ATTN_C_API attnStatus attnKernelLoad(const void *bytes, size_t size,
                                     attnKernel **kernel, attnError **error);
ATTN_C_API attnStatus attnKernelLoadFile(const char *path, attnKernel **kernel,
                                         attnError **error);

/** A kernel is destroyed when it has been released once more often than
 *  retained. Both ignore NULL. */
ATTN_C_API void attnKernelRetain(attnKernel *kernel);
ATTN_C_API void attnKernelRelease(attnKernel *kernel);

/*===----------------------------------------------------------------------===*\
|* Properties of a kernel
\*===----------------------------------------------------------------------===*/

/** The name of the function; "" for NULL. */
ATTN_C_API const char *attnKernelEntry(const attnKernel *kernel);

/** The device of the kernel; ATTN_DEVICE_CPU for NULL. */
ATTN_C_API attnDevice attnKernelDevice(const attnKernel *kernel);

/** 0 for NULL. */
ATTN_C_API size_t attnKernelNumInputs(const attnKernel *kernel);
ATTN_C_API size_t attnKernelNumResults(const attnKernel *kernel);

/** Fills `info`, whose struct_size the caller has set. */
ATTN_C_API attnStatus attnKernelInputInfo(const attnKernel *kernel,
                                          size_t index, attnTensorInfo *info,
                                          attnError **error);
ATTN_C_API attnStatus attnKernelResultInfo(const attnKernel *kernel,
                                           size_t index, attnTensorInfo *info,
                                           attnError **error);

/** A report of the compilation, as JSON:
 *
 *    {"target": "...", "objectSize": 12345, "milliseconds": 12.3,
 *     "stages": [{"name": "parse", "milliseconds": 0.5}, ...],
 *     "remarks": ["location: remark: name: text", ...], "warnings": "..."}
 *
 *  A kernel for a GPU also has "kernels": [{"entry": "...", "schedule": "...",
 *  "threads": 384, "sharedBytes": 181248, "ptxBytes": 61234, "cubinBytes": 0,
 *  "registers": 168, "spillBytes": 0, "stackBytes": 0, "ctasPerSm": 1}],
 *  without the last four if there was no ptxas, and with
 *  "prologues": ["..."] if prologue kernels fill tables.
 */
ATTN_C_API attnStatus attnKernelReport(const attnKernel *kernel,
                                       attnString **json, attnError **error);

/** Says which code a call with these inputs runs, and why. Only the types and
 *  extents of the inputs are read. The report is JSON:
 *
 *    "source"           "exact" or "nearest" if a tuning database has an entry
 *                       for these or for similar extents, "other-version" if
 *                       that entry is of another driver or compiler, and
 *                       otherwise "model"
 *    "choice"           the same in words
 *    "schedules"        on a CPU, the schedules of each attention, with
 *                       "reason" and "isTaken"
 *    "tuned"            the entries of the database for this program and
 *                       device, with "isTaken"
 *    "masks"            what the predicate of each mask costs, and what would
 *                       be cheaper
 *    "ruledOut"         for a GPU, how many rows of the table of schedules
 *                       each condition has ruled out
 *    "rejected"         the schedules that the compiler has rejected, and why
 *    "measuredSeconds"  if the kernel was tuned for such extents
 *    "kernels"          for a GPU, as in attnKernelReport
 *
 *  If there is a GPU, each of "kernels" has "isTaken". If they are known, it
 *  has "predictedSeconds" by the cost model, "measuredSeconds", and
 *  "rooflineShare": the least time that the GPU needs for products and memory,
 *  over the measured, or else the predicted, time. */
ATTN_C_API attnStatus attnKernelExplain(const attnKernel *kernel,
                                        const attnTensor *inputs,
                                        size_t num_inputs, attnString **report,
                                        attnError **error);

/*===----------------------------------------------------------------------===*\
|* Running
\*===----------------------------------------------------------------------===*/

/** Threads that kernels run on; see Attn.h. */
typedef struct attnThreadPool attnThreadPool;

/** Tables that a kernel has computed from the inputs that masks and sparsities
 *  read, for runs that share these inputs; see attnKernelPrepare. */
typedef struct attnPrepared attnPrepared;

/** All members but struct_size may be 0. */
typedef struct attnRunOptions {
  size_t struct_size;
  /** At most so many threads, including the caller's; 0 for all. */
  int32_t threads;
  /** NULL for the pool that the process shares. It has a thread for each
   *  processor, or as many as the environment variable ATTN_NUM_THREADS
   *  says. */
  attnThreadPool *pool;
  /** For a GPU, the CUstream on which the kernel is launched; NULL is the
   *  default stream. A GPU ignores the members above. */
  void *stream;
  /** Not 0 to check the lists of a sparsity on a GPU, before anything else
   *  runs: a wrong list is ATTN_OUT_OF_RANGE. The call then waits for the
   *  stream, which may not be captured. A CPU always checks lists. */
  int32_t check_lists;
  /** 0, for a later member. */
  int32_t reserved;
  /** The result of attnKernelPrepare for the same kernel, or NULL. Keep it
   *  until the run has ended on its device, and as long as a graph that has
   *  captured the run. */
  const attnPrepared *prepared;
} attnRunOptions;

/** Writes the extents of all results for these inputs, one result after the
 *  other. Only the types and extents of the inputs are read. `num_extents` is
 *  the size of `extents` and must be the sum of the ranks of the results. */
ATTN_C_API attnStatus attnKernelResultShapes(
    const attnKernel *kernel, const attnTensor *inputs, size_t num_inputs,
    int64_t *extents, size_t num_extents, attnError **error);

/** Runs the kernel and returns when the results are written. A result may
 *  overlap neither an input nor another result. `options` may be NULL.
 *
 *  On a GPU the call only launches the kernel on the stream, and returns before
 *  the results are written. Tensors are in the memory of the current CUDA
 *  device, except for scalars, which are in host memory and are read by this
 *  call. */
ATTN_C_API attnStatus attnKernelRun(const attnKernel *kernel,
                                    const attnTensor *inputs, size_t num_inputs,
                                    const attnTensor *results,
                                    size_t num_results,
                                    const attnRunOptions *options,
                                    attnError **error);

/** Computes, once for many runs, the tables that depend only on extents and on
 *  the inputs that masks and sparsities read, such as which tiles are needed.
 *  Runs that are given the result do not compute these tables; their results
 *  have the same bits. For a kernel without such tables the result is empty.
 *
 *  The caller owns `prepared` and destroys it; it retains the kernel. `options`
 *  may be NULL; check_lists or `prepared` in it are ATTN_INVALID_ARGUMENT.
 *
 *  The inputs of the runs must have the same extents, and the inputs that were
 *  read must hold the same values; otherwise results are undefined. Each run
 *  compares extents, and on a GPU scalars. If ATTN_CHECK_PREPARED=1 was in the
 *  environment during this call, runs compare all inputs that were read, and
 *  wait for the stream. A difference is ATTN_INVALID_ARGUMENT.
 *
 *  On a GPU the tables are computed on the stream of `options`, which may not
 *  be captured. Runs on other streams wait for them; runs may be captured. */
ATTN_C_API attnStatus attnKernelPrepare(
    const attnKernel *kernel, const attnTensor *inputs, size_t num_inputs,
    const attnRunOptions *options, attnPrepared **prepared, attnError **error);

/** The bytes of memory that the tables take on their device; 0 for NULL. */
ATTN_C_API size_t attnPreparedSize(const attnPrepared *prepared);

/** Ignores NULL. */
ATTN_C_API void attnPreparedDestroy(attnPrepared *prepared);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_RUNTIME_H */
