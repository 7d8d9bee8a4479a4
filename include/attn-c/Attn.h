/*===- attn-c/Attn.h - C interface ------------------------------*- C -*-===*\
|*                                                                            *|
|* Compiles attention programs, which are MLIR text, and runs them on tensors *|
|* in the memory of the host or of a GPU. docs/examples/run_c.c is a whole    *|
|* program. Runtime.h declares the functions that load, run and describe      *|
|* kernels, and the rules for errors, threads and structs.                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_C_ATTN_H
#define ATTN_C_ATTN_H

#include "attn-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Compilation
\*===----------------------------------------------------------------------===*/

/** Receives `size` bytes of `text`, followed by a 0. It is called during a
 *  compilation, in the thread that compiles. */
typedef void (*attnDump)(void *user, const char *stage, const char *text,
                         size_t size);

/** Whether kernels take schedules from tuning databases that have one. */
typedef int32_t attnTuning;
enum { ATTN_TUNING_AUTO = 0, ATTN_TUNING_OFF = 1 };

/** Whether the same inputs give the same bits run after run: as the program
 *  says for each of its gradients; always; or not, so that gradients on a GPU
 *  add to dq in any order, which is faster. */
typedef int32_t attnDeterminism;
enum {
  ATTN_DETERMINISM_AS_WRITTEN = 0,
  ATTN_DETERMINISTIC = 1,
  ATTN_NONDETERMINISTIC = 2
};

/** All members but struct_size may be 0. */
typedef struct attnCompileOptions {
  size_t struct_size;
  /** The function to compile; NULL for the only public one. */
  const char *entry;
  /** The name of the program in messages; NULL for "<input>". */
  const char *buffer_name;
  /** The processor: NULL for the one this runs on, or "baseline", "avx2" or
   *  "avx512". Means nothing for a GPU. */
  const char *target;
  /** A schedule for all attentions, such as "#attn.schedule<tile_m = ...>" or,
   *  for a GPU, "#hopper.schedule<tile_m = ...>"; NULL to let the compiler
   *  choose. */
  const char *schedule;
  /** Not 0 to check the reads of captures at run time. */
  int32_t bounds_check;
  /** Effort of LLVM: 1 to 3, 0 for the usual one, -1 for none. */
  int32_t opt_level;
  /** If not NULL, is called with the program after each pass that changed
   *  it. */
  attnDump dump_ir;
  /** If not NULL, is called with the stages "llvm", "llvm-optimized" and "asm";
   *  for a GPU, for each schedule that is tried, with "llvm", "ptx", and
   *  "ptxas", the output of that program. */
  attnDump dump_llvm;
  /** The first argument of both. */
  void *dump_user;
  /** What the kernel runs on, an attnDevice. Compiling for a GPU needs none. */
  attnDevice device;
  /** Whether calls take schedules that were measured to be fast for similar
   *  extents. Has no effect if `schedule` or `schedules` is set. */
  attnTuning tuning;
  /** How sparse structures run: "auto" (by a cost model), "dense", "blocks",
   *  "lists" or "gathered"; NULL for "auto". */
  const char *sparsity;
  /** For a GPU, a file with a table of schedules that replaces the compiler's
   *  own (docs/gpu.md); NULL for the compiler's own. */
  const char *schedules;
  attnDeterminism deterministic;
  /** 0, for a later member. */
  int32_t reserved;
} attnCompileOptions;

/** Compiles `size` bytes of MLIR text or bytecode. `options` may be NULL. The
 *  caller owns the kernel and releases it with attnKernelRelease. */
ATTN_C_API attnStatus attnKernelCompile(const char *program, size_t size,
                                        const attnCompileOptions *options,
                                        attnKernel **kernel, attnError **error);

/** The program after the last run of a pass, such as "attn-tile". */
ATTN_C_API attnStatus attnPrintAfter(const char *program, size_t size,
                                     const attnCompileOptions *options,
                                     const char *pass, attnString **text,
                                     attnError **error);

/** The names of the passes of the CPU pipeline, in order, one on each line. */
ATTN_C_API attnStatus attnPipelinePasses(attnString **names, attnError **error);

/*===----------------------------------------------------------------------===*\
|* Tuning
\*===----------------------------------------------------------------------===*/

/** Members from `database` on may be 0. */
typedef struct attnTuneOptions {
  size_t struct_size;
  /** About how long the tuning may take, in seconds; more than 0. */
  double seconds;
  /** A program and its arguments, `num_worker` strings, that calls
   *  attnTuneWorker. Candidates run in this process, as they may crash or
   *  hang. */
  const char *const *worker;
  size_t num_worker;
  /** The file to keep the result in; NULL for the user's (ATTN_TUNING_DB). */
  const char *database;
  /** If not NULL, is called with messages on the progress, as stage "tune". */
  attnDump progress;
  /** Its first argument. */
  void *progress_user;
  /** At most so many candidates are compiled, the most promising ones by a cost
   *  model; 0 for 32. */
  size_t max_candidates;
} attnTuneOptions;

/** Measures which schedule is fastest for a program on tensors like these, and
 *  keeps it in a database, where compilations find it. The tensors are in host
 *  memory, also for a GPU. `compile` may be NULL.
 *
 *  The report is JSON: "summary", "schedule", "threads", "seconds",
 *  "untunedSeconds", "kept", "note"; "trials", one for each candidate; and
 *  "turns", one for each measurement: the time in the search ("elapsed"), the
 *  number of the "trial", and the measured "seconds". */
ATTN_C_API attnStatus attnTune(const char *program, size_t size,
                               const attnCompileOptions *compile,
                               const attnTensor *inputs, size_t num_inputs,
                               const attnTuneOptions *options,
                               attnString **report, attnError **error);

/** The main loop of a worker program: reads commands from standard input until
 *  its end, and answers on standard output. */
ATTN_C_API void attnTuneWorker(void);

/*===----------------------------------------------------------------------===*\
|* Gradients
\*===----------------------------------------------------------------------===*/

/** All members but struct_size may be 0. */
typedef struct attnDifferentiateOptions {
  size_t struct_size;
  /** The function to differentiate; NULL for the only public one. */
  const char *entry;
  /** The name of the program in messages; NULL for "<input>". */
  const char *buffer_name;
  /** The names of the inputs to compute gradients with respect to, `num_wrt` of
   *  them, in any order. The inputs have elements of floats. With no names, all
   *  inputs of floats that results depend on. */
  const char *const *wrt;
  size_t num_wrt;
  /** Not 0 for a program that computes the results and returns them too,
   *  instead of taking them as inputs. */
  int32_t joint;
  /** Not 0 to leave scalar inputs out if no names are given: kernels for a GPU
   *  return no gradients of scalars. */
  int32_t tensors_only;
} attnDifferentiateOptions;

/** The text of a program that computes the gradients of another program, to be
 *  compiled like any program. Its one public function takes the inputs, the
 *  results of floats, and the gradients of a loss with respect to these
 *  results. It returns the gradients with respect to the inputs, each once and
 *  in the order of the inputs, whatever the order of `wrt`. The name of a
 *  gradient is "d" and the name of its input. `options` may be NULL. */
ATTN_C_API attnStatus attnDifferentiate(const char *program, size_t size,
                                        const attnDifferentiateOptions *options,
                                        attnString **text, attnError **error);

/*===----------------------------------------------------------------------===*\
|* Threads of a CPU
\*===----------------------------------------------------------------------===*/

/** Makes a pool for runs on up to `num_threads` threads, including the
 *  caller's. The threads start when they are first needed. */
ATTN_C_API attnStatus attnThreadPoolCreate(int32_t num_threads,
                                           attnThreadPool **pool,
                                           attnError **error);

/** Ends the threads; ignores NULL. Not to be called during a run. */
ATTN_C_API void attnThreadPoolDestroy(attnThreadPool *pool);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_H */
