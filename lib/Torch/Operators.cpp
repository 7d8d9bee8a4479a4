//===- Operators.cpp - attn::forward and attn::backward for PyTorch -------===//
//
// The operators of python/attn/torch/_ops.py for processes without Python, such
// as those that run what AOTInductor has made, and for those with it. By
// PyTorch's stable interface, so that one library is for all versions from 2.10
// on.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Library.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <tuple>
#include <vector>

using namespace attn_torch;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Extents = std::vector<int64_t>;

static attnDType getType(const Tensor &tensor) {
  switch (tensor.scalar_type()) {
  case ScalarType::Double:
    return ATTN_F64;
  case ScalarType::Float:
    return ATTN_F32;
  case ScalarType::Half:
    return ATTN_F16;
  case ScalarType::BFloat16:
    return ATTN_BF16;
  case ScalarType::Long:
    return ATTN_I64;
  case ScalarType::Int:
    return ATTN_I32;
  case ScalarType::Short:
    return ATTN_I16;
  case ScalarType::Char:
    return ATTN_I8;
  case ScalarType::Bool:
    return ATTN_I1;
  default:
    STD_TORCH_CHECK(false,
                    "expects a tensor of floats, of integers with a sign "
                    "or of bool, but got another type");
  }
}

/// The tensor, or a copy whose elements are next to each other in the last
/// dimension.
static Tensor withUnitStride(const Tensor &tensor) {
  int64_t rank = tensor.dim();
  if (rank == 0 || tensor.stride(rank - 1) == 1 || tensor.size(rank - 1) <= 1)
    return tensor;
  return torch::stable::contiguous(tensor);
}

/// Dense strides in the order of those of a tensor, with the last dimension
/// innermost: as attn.torch._layout has it.
static Extents getStridesLike(const Tensor &tensor, const Extents &shape) {
  std::vector<size_t> order(shape.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  // Of equal strides, the later dimension is the inner one.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensor.stride(a) > tensor.stride(b);
  });
  Extents strides(shape.size(), 1);
  int64_t step = shape.back();
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[*dim] = step;
    step *= std::max<int64_t>(shape[*dim], 1);
  }
  return strides;
}

static Extents getDenseStrides(const Extents &shape) {
  Extents strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * std::max<int64_t>(shape[dim], 1);
  return strides;
}

static Tensor makeTensor(const Tensor &like, ScalarType type,
                         const Extents &shape, const Extents &strides) {
  int32_t kind = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &kind));
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<int64_t>(shape.size()), shape.data(), strides.data(),
      static_cast<int32_t>(type), kind, like.get_device_index(), &made));
  return Tensor(made);
}

static Extents getShape(const Tensor &tensor) {
  auto sizes = tensor.sizes();
  return Extents(sizes.begin(), sizes.end());
}

namespace {
/// The arguments of a kernel in memory.
class Arguments {
public:
  void add(const Tensor &tensor) {
    Extents &numbers = kept.emplace_back(getShape(tensor));
    size_t rank = numbers.size();
    auto strides = tensor.strides();
    numbers.insert(numbers.end(), strides.begin(), strides.end());
    attnTensor view{};
    view.struct_size = sizeof(view);
    view.data = tensor.data_ptr();
    view.dtype = getType(tensor);
    view.rank = static_cast<int64_t>(rank);
    // What a vector has stays where it is when the vector moves.
    view.shape = numbers.data();
    view.strides = numbers.data() + rank;
    views.push_back(view);
  }

  /// A number, from the memory of the host.
  void add(attnDType type, int64_t integer, double number) {
    Extents &word = kept.emplace_back(1);
    attnTensor view{};
    view.struct_size = sizeof(view);
    view.data = word.data();
    view.dtype = type;
    views.push_back(view);
    if (type == ATTN_F64)
      std::memcpy(view.data, &number, sizeof(number));
    else if (auto single = static_cast<float>(number); type == ATTN_F32)
      std::memcpy(view.data, &single, sizeof(single));
    else if (auto shorter = static_cast<int32_t>(integer); type == ATTN_I32)
      std::memcpy(view.data, &shorter, sizeof(shorter));
    else if (type == ATTN_I1)
      *static_cast<char *>(view.data) = integer != 0;
    else
      word[0] = integer;
  }

  std::vector<attnTensor> views;

private:
  std::vector<Extents> kept;
};
} // namespace

/// Adds the inputs of a program: tensors, and then its numbers, behind that of
/// a mask.
static void addInputs(const Kernel &kernel, const std::vector<Tensor> &tensors,
                      const std::vector<int64_t> &ints,
                      const std::vector<double> &floats, Arguments &arguments) {
  for (const Tensor &tensor : tensors)
    arguments.add(tensor);
  size_t integer = 1, number = 0;
  size_t count = tensors.size() + ints.size() - 1 + floats.size();
  for (size_t n = tensors.size(); n < count; ++n) {
    STD_TORCH_CHECK(n < kernel.types.size(),
                    "expects as many numbers as the program has");
    attnDType type = kernel.types[n];
    bool isFloat = type == ATTN_F64 || type == ATTN_F32;
    STD_TORCH_CHECK(isFloat ? number < floats.size() : integer < ints.size(),
                    "expects numbers of the types that the program has");
    if (isFloat)
      arguments.add(type, 0, floats[number++]);
    else
      arguments.add(type, ints[integer++], 0.0);
  }
}

/// Runs a kernel on the device of the query, as work of the stream of PyTorch.
static void runOn(const Tensor &query, const Kernel &kernel,
                  const Arguments &inputs, const Arguments &results,
                  int64_t mask) {
  if (!query.is_cuda())
    return run(kernel, inputs.views, results.views, nullptr, -1, mask);
  int32_t device = query.get_device_index();
  torch::stable::accelerator::DeviceGuard guard(device);
  run(kernel, inputs.views, results.views, getCudaStream(device), device, mask);
}

/// The tensors as kernels take them: on the device of the query, as one number
/// may be in the memory of the CPU, and with elements next to each other.
static std::vector<Tensor> getTensors(const std::vector<Tensor> &inputs) {
  const Tensor &query = inputs.front();
  std::vector<Tensor> tensors;
  for (const Tensor &input : inputs) {
    Tensor tensor = input;
    if (input.is_cuda() != query.is_cuda()) {
      Extents shape = getShape(input);
      Tensor copy =
          makeTensor(query, input.scalar_type(), shape, getDenseStrides(shape));
      tensor = torch::stable::copy_(copy, input);
    }
    tensors.push_back(withUnitStride(tensor));
  }
  return tensors;
}

static Program getProgram(const std::vector<Tensor> &inputs,
                          const std::vector<int64_t> &ints,
                          const std::string &text, const std::string &options) {
  STD_TORCH_CHECK(inputs.size() >= 3 && !ints.empty(),
                  "expects a query, a key, a value and the number of a mask");
  attnDevice device = inputs[0].is_cuda() ? ATTN_DEVICE_CUDA : ATTN_DEVICE_CPU;
  return {text, options, device};
}

static std::tuple<Tensor, Tensor>
forward(std::vector<Tensor> inputs, std::vector<int64_t> ints,
        std::vector<double> floats, std::string program, std::string options) {
  auto kernel = getForward(getProgram(inputs, ints, program, options));
  const Tensor &query = inputs[0];
  Extents shape = {query.size(0), query.size(1), query.size(2),
                   inputs[2].size(3)};
  ScalarType type = query.scalar_type();
  Tensor out = makeTensor(query, type, shape, getStridesLike(query, shape));
  shape.pop_back();
  if (type != ScalarType::Double)
    type = ScalarType::Float;
  Tensor lse = makeTensor(query, type, shape, getDenseStrides(shape));
  std::vector<Tensor> tensors = getTensors(inputs);
  Arguments given, results;
  addInputs(*kernel, tensors, ints, floats, given);
  results.add(out);
  results.add(lse);
  runOn(query, *kernel, given, results, ints[0]);
  return {out, lse};
}

static std::vector<Tensor> backward(std::vector<Tensor> inputs,
                                    std::vector<int64_t> ints,
                                    std::vector<double> floats, Tensor out,
                                    Tensor lse, Tensor dOut, Tensor dLse,
                                    std::string program, std::string options,
                                    std::vector<bool> wanted) {
  STD_TORCH_CHECK(wanted.size() == inputs.size(),
                  "expects to be told of each tensor whether it is wanted");
  Program of = getProgram(inputs, ints, program, options);
  auto primal = getForward(of);
  std::vector<std::string> wrt;
  std::vector<Tensor> gradients;
  Arguments given, results;
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (!wanted[n])
      continue;
    wrt.push_back(primal->names.at(n));
    Extents shape = getShape(inputs[n]);
    Extents strides =
        n < 3 ? getStridesLike(inputs[n], shape) : getDenseStrides(shape);
    gradients.push_back(
        makeTensor(inputs[0], inputs[n].scalar_type(), shape, strides));
    results.add(gradients.back());
  }
  if (wrt.empty())
    return gradients;
  auto kernel = getGradient(of, wrt);
  std::vector<Tensor> tensors = getTensors(inputs);
  addInputs(*primal, tensors, ints, floats, given);
  std::vector<Tensor> rest = {withUnitStride(out), withUnitStride(lse),
                              withUnitStride(dOut), withUnitStride(dLse)};
  for (const Tensor &tensor : rest)
    given.add(tensor);
  runOn(inputs[0], *kernel, given, results, ints[0]);
  return gradients;
}

// As python/attn/torch/_ops.py has them.
STABLE_TORCH_LIBRARY(attn, library) {
  library.def("forward(Tensor[] inputs, SymInt[] ints, float[] floats, "
              "str program, str options) -> (Tensor, Tensor)");
  library.def("backward(Tensor[] inputs, SymInt[] ints, float[] floats, "
              "Tensor out, Tensor lse, Tensor d_out, Tensor d_lse, "
              "str program, str options, bool[] wanted) -> Tensor[]");
}

STABLE_TORCH_LIBRARY_IMPL(attn, CPU, library) {
  library.impl("forward", TORCH_BOX(&forward));
  library.impl("backward", TORCH_BOX(&backward));
}

STABLE_TORCH_LIBRARY_IMPL(attn, CUDA, library) {
  library.impl("forward", TORCH_BOX(&forward));
  library.impl("backward", TORCH_BOX(&backward));
}
