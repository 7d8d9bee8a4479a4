//===- LoadedKernel.cpp - What calls of kernels have in common ------------===//

#include "attn/Runtime/LoadedKernel.h"
#include "Views.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn;

LoadedKernel::~LoadedKernel() = default;

llvm::Expected<std::vector<Shape>>
LoadedKernel::getResultShapes(llvm::ArrayRef<TensorView> inputs) const {
  const KernelMetadata &metadata = getMetadata();
  if (llvm::Error error = checkTypes("input", metadata.inputs, inputs))
    return error;
  llvm::Expected<llvm::SmallVector<int64_t, 16>> extents =
      metadata.shapes.evaluate(inputs);
  if (!extents)
    return extents.takeError();
  std::vector<Shape> shapes;
  llvm::ArrayRef<int64_t> rest = *extents;
  for (const TensorInfo &result : metadata.results) {
    llvm::ArrayRef<int64_t> shape = rest.take_front(result.shape.size());
    shapes.emplace_back(shape.begin(), shape.end());
    rest = rest.drop_front(shape.size());
  }
  return shapes;
}

llvm::Expected<CodeChoice>
LoadedKernel::explain(llvm::ArrayRef<TensorView> inputs) const {
  if (llvm::Error error = checkTypes("input", getMetadata().inputs, inputs))
    return error;
  CodeChoice choice;
  choice.text = "what the compiler has chosen";
  choice.package = package.get();
  return choice;
}

llvm::Error LoadedKernel::checkSites(llvm::ArrayRef<int64_t> status) const {
  // One read may be compiled to several.
  std::vector<std::string> texts;
  for (auto [number, site] : llvm::enumerate(getMetadata().sites)) {
    llvm::ArrayRef<int64_t> numbers = status.slice(2 * number, 2);
    // One of the two may be that number itself, as it came with the data.
    if (numbers[0] == kNoIndex && numbers[1] == kNoIndex)
      continue;
    std::string text = fillInNumbers(site, numbers);
    if (!llvm::is_contained(texts, text))
      texts.push_back(text);
  }
  if (texts.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      std::make_error_code(std::errc::result_out_of_range),
      llvm::join(texts, "\n"));
}

llvm::Error LoadedKernel::checkCall(llvm::ArrayRef<TensorView> inputs,
                                    llvm::ArrayRef<TensorView> results) const {
  const KernelMetadata &metadata = getMetadata();
  if (llvm::Error error = checkTypes("input", metadata.inputs, inputs))
    return error;
  if (llvm::Error error = checkTypes("result", metadata.results, results))
    return error;
  if (llvm::Error error = checkMemory("input", metadata.inputs, inputs))
    return error;
  if (llvm::Error error = checkMemory("result", metadata.results, results))
    return error;
  llvm::Expected<llvm::SmallVector<int64_t, 16>> extents =
      metadata.shapes.evaluate(inputs);
  if (!extents)
    return extents.takeError();
  llvm::ArrayRef<int64_t> rest = *extents;
  for (auto [info, view] : llvm::zip_equal(metadata.results, results)) {
    llvm::ArrayRef<int64_t> got(view.shape, static_cast<size_t>(view.rank));
    llvm::ArrayRef<int64_t> shape = rest.take_front(got.size());
    rest = rest.drop_front(got.size());
    if (got != shape)
      return makeArgumentError("expects result '" + info.name +
                               "' to have shape " + formatShape(shape) +
                               " for these inputs, but got " +
                               formatShape(got));
  }
  return checkOverlap(metadata.inputs, inputs, metadata.results, results);
}

llvm::Error LoadedKernel::run(llvm::ArrayRef<TensorView> inputs,
                              llvm::ArrayRef<TensorView> results,
                              const RunOptions &options) const {
  if (llvm::Error error = checkCall(inputs, results))
    return error;
  if (options.prepared)
    if (llvm::Error error = checkPrepared(inputs, options))
      return error;
  return execute(inputs, results, options);
}
