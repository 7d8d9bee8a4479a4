//===- Judge.h - Whether a candidate's results are right --------*- C++ -*-===//

#ifndef ATTN_LIB_TUNE_JUDGE_H
#define ATTN_LIB_TUNE_JUDGE_H

#include "attn/JIT/Compiler.h"
#include "attn/Reference/Check.h"
#include <optional>

namespace attn::tune {

/// How far one result is from that of the compiler's choice: the largest
/// difference of two elements, and the largest magnitude of an element.
struct Difference {
  double difference = 0, magnitude = 0;
};

/// Judges results that differ from those of the compiler's choice by the rule
/// of attn/Reference/Check.h.
class Judge {
public:
  /// All of them must live as long as the judge.
  Judge(llvm::StringRef program, const CompileOptions &options,
        llvm::ArrayRef<const Tensor *> inputs)
      : program(program), options(options), inputs(inputs) {}

  /// An error says why results are wrong. The first call evaluates the
  /// reference and eager code, for some rows of large tensors. No two elements
  /// may be further apart than both may be off. Where the reference would take
  /// too long, only that is asked, with what roundings of the type amount to.
  llvm::Error check(llvm::ArrayRef<Tensor> results,
                    llvm::ArrayRef<Difference> differences);

private:
  llvm::Error evaluate();

  llvm::StringRef program;
  const CompileOptions &options;
  llvm::ArrayRef<const Tensor *> inputs;
  bool isEvaluated = false;
  std::vector<EvaluatedTensor> reference, eager;
};

} // namespace attn::tune

#endif // ATTN_LIB_TUNE_JUDGE_H
