//===- Unfused.cpp - Attention as three passes over a matrix --------------===//
//
// Compiled with -O3 -march=native -ffast-math and vectorised expf, so that the
// softmax is as fast as a compiler makes it.
//
//===----------------------------------------------------------------------===//

#include "Unfused.h"
#include <atomic>
#include <cblas.h>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace attn::benchmarks;

/// The softmax of one row of scores in place. Keys from `end` on are masked.
static void softmaxRow(float *row, int64_t end, int64_t length, float scale) {
  float max = std::numeric_limits<float>::lowest();
  for (int64_t j = 0; j < end; ++j)
    max = row[j] > max ? row[j] : max;
  float shift = max * scale, sum = 0;
  for (int64_t j = 0; j < end; ++j) {
    row[j] = std::exp(row[j] * scale - shift);
    sum += row[j];
  }
  float factor = 1.0f / sum;
  for (int64_t j = 0; j < end; ++j)
    row[j] *= factor;
  for (int64_t j = end; j < length; ++j)
    row[j] = 0;
}

/// Calls `body` with 0 to `count` - 1 on `threads` threads.
template <typename Body>
static void parallelFor(int64_t count, unsigned threads, Body body) {
  std::atomic<int64_t> next{0};
  auto work = [&](unsigned thread) {
    for (int64_t n; (n = next++) < count;)
      body(n, thread);
  };
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread)
    others.emplace_back(work, thread);
  work(0);
  for (std::thread &other : others)
    other.join();
}

Unfused::Unfused(Sizes sizes, unsigned threads)
    : sizes(sizes), threads(threads), scores(threads) {
  // Written once, so that no run pays for the first touch of a page.
  for (std::vector<float> &matrix : scores)
    matrix.assign(sizes.length * sizes.length, 0.0f);
}

void Unfused::runHead(int64_t head, const float *q, const float *k,
                      const float *v, float *o, float *matrix, bool causal,
                      unsigned softmaxThreads) {
  int64_t length = sizes.length, dim = sizes.dim, at = head * length * dim;
  float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, length, length, dim, 1,
              q + at, dim, k + at, dim, 0, matrix, length);
  constexpr int64_t rowsPerTask = 64;
  parallelFor((length + rowsPerTask - 1) / rowsPerTask, softmaxThreads,
              [&](int64_t task, unsigned) {
                int64_t end = std::min(length, (task + 1) * rowsPerTask);
                for (int64_t i = task * rowsPerTask; i < end; ++i)
                  softmaxRow(matrix + i * length, causal ? i + 1 : length,
                             length, scale);
              });
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, length, dim, length, 1,
              matrix, length, v + at, dim, 0, o + at, dim);
}

void Unfused::runThreadsInside(const float *q, const float *k, const float *v,
                               float *o, bool causal) {
  openblas_set_num_threads(static_cast<int>(threads));
  for (int64_t head = 0; head < sizes.heads; ++head)
    runHead(head, q, k, v, o, scores[0].data(), causal, threads);
}

void Unfused::runThreadsOutside(const float *q, const float *k, const float *v,
                                float *o, bool causal) {
  openblas_set_num_threads(1);
  parallelFor(sizes.heads, threads, [&](int64_t head, unsigned thread) {
    runHead(head, q, k, v, o, scores[thread].data(), causal, 1);
  });
}

std::string Unfused::describe() {
  return std::string(openblas_get_config()) + ", kernels " +
         openblas_get_corename();
}

void attn::benchmarks::ensureFastKernels(char **argv) {
  if (std::getenv("OPENBLAS_CORETYPE"))
    return;
  const char *core = nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    core = "SKYLAKEX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    core = "HASWELL";
  if (!core)
    return;
  setenv("OPENBLAS_CORETYPE", core, 1);
  execv("/proc/self/exe", argv);
}
