//===- Prepared.cpp - What calls of a kernel share ------------------------===//

#include "Views.h"
#include "attn/Runtime/LoadedKernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <cstring>

using namespace attn;

Prepared::~Prepared() = default;

namespace {
/// Of a kernel that computes nothing ahead.
class NothingPrepared final : public Prepared {
public:
  size_t getBytes() const override { return 0; }
};
} // namespace

static Shape getShape(const TensorView &view) {
  return Shape(view.shape, view.shape + view.rank);
}

/// Whether contents that have changed are to be found.
static bool looksForChanges() {
  const char *value = std::getenv("ATTN_CHECK_PREPARED");
  return value && *value && llvm::StringRef(value) != "0";
}

/// Appends the elements from a dimension on.
static void addElements(const TensorView &view, const char *at, int64_t dim,
                        std::string &bytes) {
  auto size = static_cast<int64_t>(getSize(static_cast<DType>(view.dtype)));
  bool isRow = dim + 1 == view.rank && view.strides[dim] == 1;
  if (dim == view.rank || isRow) {
    bytes.append(at, isRow ? size * view.shape[dim] : size);
    return;
  }
  for (int64_t i = 0; i < view.shape[dim]; ++i)
    addElements(view, at + i * view.strides[dim] * size, dim + 1, bytes);
}

llvm::Expected<std::string>
LoadedKernel::readElements(const TensorView &input, const RunOptions &) const {
  std::string bytes;
  addElements(input, static_cast<const char *>(input.data), 0, bytes);
  return bytes;
}

llvm::Expected<std::shared_ptr<Prepared>>
LoadedKernel::computePrepared(llvm::ArrayRef<TensorView>,
                              const RunOptions &) const {
  return std::make_shared<NothingPrepared>();
}

llvm::Expected<std::shared_ptr<const Prepared>>
LoadedKernel::prepare(llvm::ArrayRef<TensorView> inputs,
                      const RunOptions &options) const {
  // What a call would check, but for results.
  if (llvm::Error error = getResultShapes(inputs).takeError())
    return std::move(error);
  if (llvm::Error error = checkMemory("input", getMetadata().inputs, inputs))
    return std::move(error);
  llvm::Expected<std::shared_ptr<Prepared>> made =
      computePrepared(inputs, options);
  if (!made)
    return made.takeError();
  Prepared &prepared = **made;
  // Another kernel may have done it for this one.
  if (prepared.kernel)
    return std::move(*made);
  prepared.kernel = shared_from_this();
  llvm::append_range(prepared.shapes, llvm::map_range(inputs, getShape));
  for (size_t input : getPreparedInputs()) {
    if (!isOnHost(input) || inputs[input].rank != 0) {
      if (!looksForChanges())
        continue;
      llvm::Expected<std::string> bytes = readElements(inputs[input], options);
      if (!bytes)
        return bytes.takeError();
      prepared.hashes.emplace_back(input, llvm::xxh3_64bits(*bytes));
      continue;
    }
    prepared.scalars.emplace_back(input, std::string());
    addElements(inputs[input], static_cast<const char *>(inputs[input].data), 0,
                prepared.scalars.back().second);
  }
  return std::move(*made);
}

llvm::Error LoadedKernel::checkPrepared(llvm::ArrayRef<TensorView> inputs,
                                        const RunOptions &options) const {
  const Prepared &prepared = *options.prepared;
  const KernelMetadata &metadata = getMetadata();
  if (!owns(prepared, inputs))
    return makeArgumentError("expects what '" + metadata.entry +
                             "' itself has prepared for such inputs, but got "
                             "what another kernel has");
  for (auto [info, view, shape] :
       llvm::zip_equal(metadata.inputs, inputs, prepared.shapes))
    if (getShape(view) != shape)
      return makeArgumentError("expects input '" + info.name +
                               "' to have shape " + formatShape(shape) +
                               ", which it was prepared for, but got " +
                               formatShape(getShape(view)));
  auto reject = [&](size_t input) {
    return makeArgumentError("expects input '" + metadata.inputs[input].name +
                             "' to hold what it held when '" + metadata.entry +
                             "' was prepared: prepare again after a change");
  };
  for (const auto &[input, bytes] : prepared.scalars)
    if (std::memcmp(inputs[input].data, bytes.data(), bytes.size()) != 0)
      return reject(input);
  for (const auto &[input, hash] : prepared.hashes) {
    // By the kernel that has prepared: another one that runs it may not know
    // what memory it is.
    llvm::Expected<std::string> bytes =
        prepared.kernel->readElements(inputs[input], options);
    if (!bytes)
      return bytes.takeError();
    if (llvm::xxh3_64bits(*bytes) != hash)
      return reject(input);
  }
  return llvm::Error::success();
}
