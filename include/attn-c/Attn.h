/*===- attn-c/Attn.h - C interface ------------------------------*- C -*-===*\
|*                                                                            *|
|* Compiles attention programs, which are MLIR text, and runs them on tensors *|
|* in the memory of the host or of a GPU. docs/examples/run_c.c is a whole    *|
|* program. What is done with kernels is declared in Runtime.h, which also    *|
|* tells of errors, threads and structs.                                      *|
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

/** Receives `size` bytes of `text`, and a 0 behind them, during a compilation,
 *  in its thread. */
typedef void (*attnDump)(void *user, const char *stage, const char *text,
                         size_t size);

/** Whether schedules come from tuning databases, where these know one. */
typedef int32_t attnTuning;
enum { ATTN_TUNING_AUTO = 0, ATTN_TUNING_OFF = 1 };

/** Whether the same inputs give the same bits run after run: as the program
 *  says of each of its gradients, always, or not where gradients on a GPU are
 *  faster if they add to dq in any order. */
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
  /** If not NULL, is given the program after each pass that changed it. */
  attnDump dump_ir;
  /** If not NULL, is given the stages "llvm", "llvm-optimized" and "asm"; for a
   *  GPU, for each schedule that is tried, "llvm" and "ptx", and "ptxas" for
   *  what that program has said. */
  attnDump dump_llvm;
  /** The first argument of both. */
  void *dump_user;
  /** What the kernel runs on, an attnDevice. Compiling for a GPU needs none. */
  attnDevice device;
  /** Whether calls take schedules that were measured to be fast for extents
   *  like theirs; without effect with a schedule or a table of them. */
  attnTuning tuning;
  /** How sparse structures run: "auto", "dense", "blocks", "lists" or
   *  "gathered"; NULL for "auto", what a model of their costs says. */
  const char *sparsity;
  /** For a GPU, a file with another table of schedules than the compiler's own,
   *  by which it chooses (docs/gpu.md); NULL for its own. */
  const char *schedules;
  attnDeterminism deterministic;
  /** 0, for a later member. */
  int32_t reserved;
} attnCompileOptions;

/** Compiles `size` bytes of MLIR text or bytecode. `options` may be NULL. The
 *  kernel is the caller's, who releases it. */
ATTN_C_API attnStatus attnKernelCompile(const char *program, size_t size,
                                        const attnCompileOptions *options,
                                        attnKernel **kernel, attnError **error);

/** The program after the last run of a pass, such as "attn-tile". */
ATTN_C_API attnStatus attnPrintAfter(const char *program, size_t size,
                                     const attnCompileOptions *options,
                                     const char *pass, attnString **text,
                                     attnError **error);

/** The names of the passes, in order, one a line. */
ATTN_C_API attnStatus attnPipelinePasses(attnString **names, attnError **error);

/*===----------------------------------------------------------------------===*\
|* Tuning
\*===----------------------------------------------------------------------===*/

/** Members from `database` on may be 0. */
typedef struct attnTuneOptions {
  size_t struct_size;
  /** About how long it may take, more than 0. */
  double seconds;
  /** A program and its arguments, `num_worker` strings, that calls
   *  attnTuneWorker: what is measured runs in it, as it may crash or hang. */
  const char *const *worker;
  size_t num_worker;
  /** The file to keep the result in; NULL for the user's (ATTN_TUNING_DB). */
  const char *database;
  /** If not NULL, is told what is going on, as stage "tune". */
  attnDump progress;
  /** Its first argument. */
  void *progress_user;
  /** The most candidates that are compiled, the most promising ones by a model;
   *  0 for 32. */
  size_t max_candidates;
} attnTuneOptions;

/** Measures which schedule is fastest for a program on tensors like these, all
 *  of which are in the memory of the host, and keeps it in a database, where
 *  compilations find it. `compile` may be NULL. The report is JSON: "summary",
 *  "schedule", "threads", "seconds", "untunedSeconds", "kept", "note", for each
 *  candidate "trials", and "turns": when in the search, "elapsed", which
 *  "trial" took how many "seconds". */
ATTN_C_API attnStatus attnTune(const char *program, size_t size,
                               const attnCompileOptions *compile,
                               const attnTensor *inputs, size_t num_inputs,
                               const attnTuneOptions *options,
                               attnString **report, attnError **error);

/** What the program of a worker does: it reads commands from standard input
 *  until that ends, and answers on standard output. */
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
  /** The names of the inputs, of floats, to compute gradients with respect to,
   *  `num_wrt` of them, in any order; none for all inputs of floats that
   *  results depend on. */
  const char *const *wrt;
  size_t num_wrt;
  /** Not 0 for a program that computes and returns the results too, and does
   *  not take them. */
  int32_t joint;
  /** Not 0 to leave numbers out where no names are given: kernels for a GPU
   *  have no result for the gradient of one. */
  int32_t tensors_only;
} attnDifferentiateOptions;

/** The program, as text, that computes the gradients of another one, to be
 *  compiled as any other: its one public function takes the inputs, the results
 *  of floats and the gradients of a loss with respect to them, and returns
 * those with respect to the inputs, once each and in the order of the inputs,
 * whatever the order of `wrt`. A gradient has the name of what it is of with a
 * "d" in front. `options` may be NULL. */
ATTN_C_API attnStatus attnDifferentiate(const char *program, size_t size,
                                        const attnDifferentiateOptions *options,
                                        attnString **text, attnError **error);

/*===----------------------------------------------------------------------===*\
|* Threads of a CPU
\*===----------------------------------------------------------------------===*/

/** A pool for runs on up to `num_threads` threads, the caller's among them;
 *  the threads start when they are first needed. */
ATTN_C_API attnStatus attnThreadPoolCreate(int32_t num_threads,
                                           attnThreadPool **pool,
                                           attnError **error);

/** Ends the threads; ignores NULL. Not to be called during a run. */
ATTN_C_API void attnThreadPoolDestroy(attnThreadPool *pool);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_H */
