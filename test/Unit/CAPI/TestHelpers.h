//===- TestHelpers.h - Shared by the tests of the C interface ---*- C++ -*-===//
//
// The tests are linked with the shared library alone, as a user's program is.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_CAPI_TESTHELPERS_H
#define ATTN_TEST_UNIT_CAPI_TESTHELPERS_H

#include "attn-c/Attn.h"
#include "gtest/gtest.h"
#include <cstring>
#include <memory>
#include <string>
#include <vector>

struct Release {
  void operator()(attnError *error) const { attnErrorDestroy(error); }
  void operator()(attnString *string) const { attnStringDestroy(string); }
  void operator()(attnKernel *kernel) const { attnKernelRelease(kernel); }
  void operator()(attnThreadPool *pool) const { attnThreadPoolDestroy(pool); }
};
template <typename T> using Owner = std::unique_ptr<T, Release>;

/// What a call returned, with the error that it made.
struct Outcome {
  attnStatus status;
  std::string message;
};

/// Calls `function(arguments..., &error)`.
template <typename Function, typename... Args>
Outcome call(Function function, Args... args) {
  attnError *error = reinterpret_cast<attnError *>(1);
  attnStatus status = function(args..., &error);
  Owner<attnError> owner(error);
  EXPECT_EQ(attnErrorStatus(error), status);
  EXPECT_EQ(error == nullptr, status == ATTN_OK);
  return {status, attnErrorMessage(error)};
}

/// Expects a call to fail with a status and a message that contains `text`; it
/// has to return the same status to those who want no message.
template <typename Function, typename... Args>
void expectFailure(attnStatus status, const std::string &text,
                   Function function, Args... args) {
  Outcome outcome = call(function, args...);
  EXPECT_EQ(outcome.status, status) << outcome.message;
  EXPECT_NE(outcome.message.find(text), std::string::npos) << outcome.message;
  EXPECT_EQ(function(args..., nullptr), status);
}

template <typename Function, typename... Args>
void expectSuccess(Function function, Args... args) {
  Outcome outcome = call(function, args...);
  EXPECT_EQ(outcome.status, ATTN_OK) << outcome.message;
}

/// Scores are all 0, so an output row is the mean of the values.
inline constexpr char kMean[] = R"mlir(
func.func @mean(%q: tensor<?x?x?x2xf32> {attn.name = "query"},
    %k: tensor<?x?x?x2xf32>, %v: tensor<?x?x?x4xf32>)
    -> (tensor<?x?x?x4xf32>, tensor<?x?x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x2xf32>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x2xf32>
  %m = tensor.dim %q, %c2 : tensor<?x?x?x2xf32>
  %init = tensor.empty(%b, %h, %m) : tensor<?x?x?x4xf32>
  %linit = tensor.empty(%b, %h, %m) : tensor<?x?x?xf32>
  %o, %lse = attn.attention scale 0.0
      ins(%q, %k, %v
          : tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x4xf32>)
      outs(%init, %linit : tensor<?x?x?x4xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x4xf32>, tensor<?x?x?xf32>
}
)mlir";

/// The same with a bias that is read at `%at + key`.
inline constexpr char kLookup[] = R"mlir(
func.func @lookup(%q: tensor<1x1x1x1xf32>, %v: tensor<1x1x3x1xf32>,
    %bias: tensor<?xf32>, %at: index) -> tensor<1x1x1x1xf32> {
  %init = tensor.empty() : tensor<1x1x1x1xf32>
  %o = attn.attention scale 0.0
      ins(%q, %v, %v
          : tensor<1x1x1x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>)
      captures(%bias, %at : tensor<?xf32>, index)
      outs(%init : tensor<1x1x1x1xf32>)
      score(%s, %b, %h, %i, %j, %t, %a) {
        %x = arith.addi %a, %j : index
        %y = tensor.extract %t[%x] : tensor<?xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %o : tensor<1x1x1x1xf32>
}
)mlir";

/// Compiles a program that is expected to be right.
inline Owner<attnKernel> compile(const std::string &program,
                                 const attnCompileOptions *options = nullptr) {
  attnKernel *kernel = nullptr;
  Outcome outcome =
      call(attnKernelCompile, program.data(), program.size(), options, &kernel);
  EXPECT_EQ(outcome.status, ATTN_OK) << outcome.message;
  return Owner<attnKernel>(kernel);
}

/// Compile options with only their size set.
inline attnCompileOptions makeOptions() {
  attnCompileOptions options = {};
  options.struct_size = sizeof(options);
  return options;
}

/// A dense tensor of floats with its view.
struct Floats {
  Floats(std::vector<int64_t> extents, std::vector<float> numbers)
      : shape(std::move(extents)), data(std::move(numbers)) {}
  /// Filled with one number.
  Floats(std::vector<int64_t> extents, float number) : shape(extents) {
    size_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    data.assign(size, number);
  }

  attnTensor view() {
    return {sizeof(attnTensor),    data.data(),  ATTN_F32,
            int64_t(shape.size()), shape.data(), nullptr};
  }

  std::vector<int64_t> shape;
  std::vector<float> data;
};

inline attnTensor makeIndex(int64_t &value) {
  return {sizeof(attnTensor), &value, ATTN_I64, 0, nullptr, nullptr};
}

#endif // ATTN_TEST_UNIT_CAPI_TESTHELPERS_H
