/*===- attn-c/Runtime.h - C interface to kernel packages --------*- C -*-===*\
|*                                                                            *|
|* Loads kernels that have been compiled before and runs them on tensors in   *|
|* the memory of a GPU. A program that does no more needs libattn-runtime     *|
|* alone, in which there is no compiler; docs/examples/run_package.c is one.  *|
|* libattn has these functions, too, and those of Attn.h.                     *|
|*                                                                            *|
|* Errors. A function that can fail returns a status, and its last argument   *|
|* takes an error object with a message; it may be NULL. After success it is  *|
|* NULL. After a failure all other outputs are NULL, 0 or unchanged. No       *|
|* argument makes a function crash that is NULL or out of range; a pointer    *|
|* that points to something else than declared does.                          *|
|*                                                                            *|
|* Threads. All functions may be called from any thread at any time; one      *|
|* kernel may run in several threads at once. Only the destruction of an      *|
|* object must not happen during its use.                                     *|
|*                                                                            *|
|* Structs. Each begins with struct_size, which the caller sets to its        *|
|* sizeof. Later versions of this header add members at the end only, and 0   *|
|* in a new member means what was the case before. So a program that was      *|
|* compiled with an older header works with a newer library: what the struct  *|
|* lacks is taken as 0. And the other way round, as long as the members that  *|
|* the library does not know are 0; otherwise ATTN_UNSUPPORTED. Elements of   *|
|* an array have the struct_size of the first. Functions, status codes and    *|
|* element types are only ever added.                                         *|
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
  /** Memory could not be had. */
  ATTN_OUT_OF_MEMORY = 3,
  /** A read of a capture left its tensor, in a kernel that checks bounds, or
   *  lists of blocks or keys are none. */
  ATTN_OUT_OF_RANGE = 4,
  /** The bytes of a kernel are none, or not for this version or processor; or
   *  the program is right, but not for this target; or there is no driver. */
  ATTN_UNSUPPORTED = 5
};

/** "ok", "invalid argument", ...; "unknown status" for any other number. */
ATTN_C_API const char *attnStatusName(attnStatus status);

typedef struct attnError attnError;

/** What the function returned that made the error; ATTN_OK for NULL. */
ATTN_C_API attnStatus attnErrorStatus(const attnError *error);

/** Text for users, which lives as long as the error; "" for NULL. */
ATTN_C_API const char *attnErrorMessage(const attnError *error);

/** Ignores NULL. */
ATTN_C_API void attnErrorDestroy(attnError *error);

/*===----------------------------------------------------------------------===*\
|* Bytes that the library hands out
\*===----------------------------------------------------------------------===*/

typedef struct attnString attnString;

/** The bytes, and a 0 behind them; "" for NULL. */
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
  /** The element whose indices are all 0; may be NULL without elements. */
  void *data;
  attnDType dtype;
  /** 0 for a scalar. */
  int64_t rank;
  /** `rank` extents; may be NULL for a scalar. */
  const int64_t *shape;
  /** `rank` distances between neighbours, in elements. NULL for a tensor that
   *  is dense and row-major. */
  const int64_t *strides;
} attnTensor;

/** One input or result of a kernel. */
typedef struct attnTensorInfo {
  size_t struct_size;
  /** May be "". All pointers live as long as the kernel. */
  const char *name;
  attnDType dtype;
  int64_t rank;
  /** `rank` extents, negative where any is allowed. */
  const int64_t *shape;
} attnTensorInfo;

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

/** What a kernel runs on. */
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

/** The kernel as a package: bytes that attnKernelLoad makes the same kernel
 *  from, on this machine or another one with the same processor. A package for
 *  a GPU does not depend on the processor of the host. */
ATTN_C_API attnStatus attnKernelSave(const attnKernel *kernel,
                                     attnString **bytes, attnError **error);

/** Makes a kernel from the bytes of a package, which it copies, or from those
 *  of a file. The kernel is the caller's, who releases it. Packages for a GPU
 *  are for libattn-runtime and libattn, those for a CPU for libattn. */
ATTN_C_API attnStatus attnKernelLoad(const void *bytes, size_t size,
                                     attnKernel **kernel, attnError **error);
ATTN_C_API attnStatus attnKernelLoadFile(const char *path, attnKernel **kernel,
                                         attnError **error);

/** A kernel is destroyed when it has been released once more often than
 *  retained. Both ignore NULL. */
ATTN_C_API void attnKernelRetain(attnKernel *kernel);
ATTN_C_API void attnKernelRelease(attnKernel *kernel);

/*===----------------------------------------------------------------------===*\
|* What a kernel is
\*===----------------------------------------------------------------------===*/

/** The name of the function; "" for NULL. */
ATTN_C_API const char *attnKernelEntry(const attnKernel *kernel);

/** What the kernel runs on; ATTN_DEVICE_CPU for NULL. */
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

/** What the compilation did, as JSON:
 *
 *    {"target": "...", "objectSize": 12345, "milliseconds": 12.3,
 *     "stages": [{"name": "parse", "milliseconds": 0.5}, ...],
 *     "remarks": ["location: remark: name: text", ...], "warnings": "..."}
 *
 *  A kernel for a GPU also has "kernels": [{"entry": "...", "schedule": "...",
 *  "threads": 384, "sharedBytes": 181248, "ptxBytes": 61234, "cubinBytes": 0,
 *  "registers": 168, "spillBytes": 0, "stackBytes": 0, "ctasPerSm": 1}],
 *  without the last four where there was no ptxas, and with
 *  "prologues": ["..."] where kernels fill tables before.
 */
ATTN_C_API attnStatus attnKernelReport(const attnKernel *kernel,
                                       attnString **json, attnError **error);

/** Which code a call with these inputs runs, of which only types and extents
 *  are read, as JSON: "source", which is "exact" or "nearest" for what a tuning
 *  database has for such extents or the nearest ones, "other-version" for such
 *  extents but another driver or compiler, and otherwise "model"; "choice", the
 *  same in words; of a CPU "schedules", that of each attention, with its
 *  "reason" and "isTaken"; "tuned", what a database has for this program and
 *  device, with "isTaken"; "masks", what the predicate of each mask costs and
 *  what would be cheaper; of a GPU "ruledOut", how many rows of the table of
 *  schedules each condition has ruled out; "rejected", the schedules that the
 *  compiler has rejected, and why; "measuredSeconds" where it was tuned for
 *  such extents; and of a GPU "kernels" as above, with "isTaken" where there is
 *  one, and where that is known "predictedSeconds" by the model of costs,
 *  "measuredSeconds", and "rooflineShare": what part of the time, of that which
 *  was measured if it is there, the GPU needs at least for products and memory.
 *  */
ATTN_C_API attnStatus attnKernelExplain(const attnKernel *kernel,
                                        const attnTensor *inputs,
                                        size_t num_inputs, attnString **report,
                                        attnError **error);

/*===----------------------------------------------------------------------===*\
|* Running
\*===----------------------------------------------------------------------===*/

/** Threads that kernels run on; see Attn.h. */
typedef struct attnThreadPool attnThreadPool;

/** What a kernel has found from the inputs that masks and sparsities read, for
 *  runs that share these; see attnKernelPrepare. */
typedef struct attnPrepared attnPrepared;

/** All members but struct_size may be 0. */
typedef struct attnRunOptions {
  size_t struct_size;
  /** At most so many threads, the caller's among them; 0 for all. */
  int32_t threads;
  /** NULL for the pool that the process shares, which has a thread for each
   *  processor or as many as the variable ATTN_NUM_THREADS says. */
  attnThreadPool *pool;
  /** For a GPU, the CUstream that the run becomes work of; NULL is the default
   *  stream. The members above mean nothing there. */
  void *stream;
  /** Not 0 to check the lists of a sparsity on a GPU, too, before anything else
   *  runs: a list that is none is ATTN_OUT_OF_RANGE. The call waits for the
   *  stream then, which may not be captured. A CPU always checks them. */
  int32_t check_lists;
  /** 0, for a later member. */
  int32_t reserved;
  /** What attnKernelPrepare has made of the same kernel, or NULL. Keep it as
   *  long as the run takes on its device, and graphs that have captured it. */
  const attnPrepared *prepared;
} attnRunOptions;

/** The extents of all results for these inputs, of which types and extents are
 *  read and no data, one result behind the other. `num_extents` is the room in
 *  `extents` and must be the sum of the ranks of the results. */
ATTN_C_API attnStatus attnKernelResultShapes(
    const attnKernel *kernel, const attnTensor *inputs, size_t num_inputs,
    int64_t *extents, size_t num_extents, attnError **error);

/** Runs the kernel and returns when the results are written. A result may
 *  overlap neither an input nor another result. `options` may be NULL.
 *
 *  On a GPU the call returns at once, and the results are written when the
 *  stream has come to that. Tensors are in the memory of the current device of
 *  CUDA, but scalars, which are read by this call, in that of the host. */
ATTN_C_API attnStatus attnKernelRun(const attnKernel *kernel,
                                    const attnTensor *inputs, size_t num_inputs,
                                    const attnTensor *results,
                                    size_t num_results,
                                    const attnRunOptions *options,
                                    attnError **error);

/** Computes what depends on nothing but extents and the inputs that masks and
 *  sparsities read, such as which tiles are needed, once for many runs. Runs
 *  with it leave that out; their results have the same bits. Of a kernel that
 *  computes nothing ahead, it is empty. It is the caller's, who destroys it; it
 *  keeps the kernel. `options` may be NULL; with check_lists or `prepared` set
 *  it is ATTN_INVALID_ARGUMENT.
 *
 *  The inputs of such runs have the same extents, and those that were read hold
 *  what they held: otherwise results are undefined. Extents are compared, and
 *  scalars on a GPU; with ATTN_CHECK_PREPARED=1 in the environment when it was
 *  prepared, all that was read: ATTN_INVALID_ARGUMENT. The comparison of
 *  tensors waits for the stream.
 *
 *  On a GPU it is work of the stream of `options`, which may not be captured;
 *  runs on other streams wait for it, and runs may be captured. */
ATTN_C_API attnStatus attnKernelPrepare(
    const attnKernel *kernel, const attnTensor *inputs, size_t num_inputs,
    const attnRunOptions *options, attnPrepared **prepared, attnError **error);

/** The bytes of memory that it takes on its device; 0 for NULL. */
ATTN_C_API size_t attnPreparedSize(const attnPrepared *prepared);

/** Ignores NULL. */
ATTN_C_API void attnPreparedDestroy(attnPrepared *prepared);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_RUNTIME_H */
