//===- KernelPackage.cpp - What the compiler hands over -------------------===//

#include "attn/JIT/KernelPackage.h"
#include "llvm/Support/Endian.h"

using namespace attn;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// JSON holds nothing but UTF-8; file names may be anything.
static json::Value toJSON(const std::string &text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

static json::Value toJSON(const std::vector<std::string> &texts) {
  json::Array array;
  for (const std::string &text : texts)
    array.push_back(toJSON(text));
  return array;
}

static json::Value toJSON(const std::vector<TensorInfo> &tensors) {
  json::Array array;
  for (const TensorInfo &tensor : tensors)
    array.push_back(json::Object{{"name", toJSON(tensor.name)},
                                 {"dtype", getName(tensor.dtype)},
                                 {"shape", json::Array(tensor.shape)}});
  return array;
}

json::Value KernelMetadata::toJSON() const {
  return json::Object{{"version", kPackageVersion},
                      {"entry", ::toJSON(entry)},
                      {"triple", triple},
                      {"cpu", cpu},
                      {"features", ::toJSON(features)},
                      {"inputs", ::toJSON(inputs)},
                      {"results", ::toJSON(results)},
                      {"constraints", ::toJSON(constraints)},
                      {"sites", ::toJSON(sites)}};
}

namespace attn {
static bool fromJSON(const json::Value &value, TensorInfo &tensor,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  std::string dtype;
  std::vector<int64_t> shape;
  if (!mapper || !mapper.map("name", tensor.name) ||
      !mapper.map("dtype", dtype) || !mapper.map("shape", shape))
    return false;
  std::optional<DType> parsed = parseDType(dtype);
  if (!parsed) {
    path.field("dtype").report("expected an element type");
    return false;
  }
  tensor.dtype = *parsed;
  tensor.shape.assign(shape.begin(), shape.end());
  return true;
}
} // namespace attn

llvm::Expected<KernelMetadata>
KernelMetadata::fromJSON(const json::Value &value) {
  json::Path::Root root("metadata");
  json::Path path(root);
  json::ObjectMapper mapper(value, path);
  KernelMetadata result;
  int64_t version = 0;
  if (!mapper || !mapper.map("version", version))
    return root.getError();
  if (version != kPackageVersion)
    return llvm::createStringError("expects a kernel package of version " +
                                   llvm::Twine(kPackageVersion) +
                                   ", but got version " + llvm::Twine(version));
  if (!mapper.map("entry", result.entry) ||
      !mapper.map("triple", result.triple) || !mapper.map("cpu", result.cpu) ||
      !mapper.map("features", result.features) ||
      !mapper.map("inputs", result.inputs) ||
      !mapper.map("results", result.results) ||
      !mapper.map("constraints", result.constraints) ||
      !mapper.map("sites", result.sites))
    return root.getError();
  return result;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

// "attnkern", the sizes of both parts as 64-bit little-endian numbers, the
// metadata as JSON, the object file.
static constexpr llvm::StringLiteral kMagic = "attnkern";
static constexpr size_t kHeaderSize = kMagic.size() + 2 * sizeof(uint64_t);

std::string KernelPackage::toBytes() const {
  std::string text;
  llvm::raw_string_ostream(text) << metadata.toJSON();
  char sizes[2 * sizeof(uint64_t)];
  llvm::support::endian::write64le(sizes, text.size());
  llvm::support::endian::write64le(sizes + sizeof(uint64_t), object.size());
  std::string bytes = kMagic.str();
  bytes.reserve(kHeaderSize + text.size() + object.size());
  bytes.append(sizes, sizeof(sizes));
  return bytes + text + object;
}

llvm::Expected<KernelPackage> KernelPackage::fromBytes(llvm::StringRef bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic))
    return llvm::createStringError("expects a kernel package, but got " +
                                   llvm::Twine(bytes.size()) +
                                   " bytes of something else");
  const char *sizes = bytes.data() + kMagic.size();
  uint64_t textSize = llvm::support::endian::read64le(sizes);
  uint64_t objectSize =
      llvm::support::endian::read64le(sizes + sizeof(uint64_t));
  llvm::StringRef rest = bytes.drop_front(kHeaderSize);
  if (textSize > rest.size() || objectSize != rest.size() - textSize)
    return llvm::createStringError(
        "expects a kernel package with metadata of " + llvm::Twine(textSize) +
        " bytes and code of " + llvm::Twine(objectSize) + " bytes, but got " +
        llvm::Twine(rest.size()) + " bytes for both");
  llvm::Expected<json::Value> value = json::parse(rest.take_front(textSize));
  if (!value)
    return value.takeError();
  llvm::Expected<KernelMetadata> metadata = KernelMetadata::fromJSON(*value);
  if (!metadata)
    return metadata.takeError();
  return KernelPackage{std::move(*metadata), rest.drop_front(textSize).str()};
}
