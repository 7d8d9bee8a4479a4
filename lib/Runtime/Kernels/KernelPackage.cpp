//===- KernelPackage.cpp - What the compiler hands over -------------------===//

#include "attn/Runtime/KernelPackage.h"
#include "attn/Support/JSON.h"
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
                      {"shapes", shapes.toJSON()},
                      {"sites", ::toJSON(sites)}};
}

namespace attn {
static bool fromJSON(const json::Value &value, ShapeFunction &shapes,
                     json::Path path) {
  return ShapeFunction::fromJSON(value, shapes, path);
}

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
      !mapper.map("shapes", result.shapes) ||
      !mapper.map("sites", result.sites))
    return root.getError();
  if (llvm::Error error = result.shapes.validate(result.inputs, result.results))
    return error;
  return result;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

size_t KernelPackage::getCodeSize() const {
  size_t size = object.size();
  if (!program)
    return size;
  for (const cuda::LaunchInfo &launch : program->launches)
    for (const cuda::Variant &variant : launch.variants)
      size += variant.ptx.size() + variant.cubin.size();
  return size + program->checks.ptx.size();
}

// "attnkern", the sizes of both parts as 64-bit little-endian numbers, the
// metadata as JSON, the code. The code is the object file, whose size the
// metadata has as "object_bytes", or a GPU program.
static constexpr llvm::StringLiteral kMagic = "attnkern";
static constexpr size_t kHeaderSize = kMagic.size() + 2 * sizeof(uint64_t);

std::string KernelPackage::toBytes() const {
  std::string text;
  json::Value description = metadata.toJSON();
  description.getAsObject()->insert(
      {"object_bytes", static_cast<int64_t>(object.size())});
  llvm::raw_string_ostream(text) << description;
  std::string code = object;
  if (program)
    code += program->toBytes();
  char sizes[2 * sizeof(uint64_t)];
  llvm::support::endian::write64le(sizes, text.size());
  llvm::support::endian::write64le(sizes + sizeof(uint64_t), code.size());
  std::string bytes = kMagic.str();
  bytes.reserve(kHeaderSize + text.size() + code.size());
  bytes.append(sizes, sizeof(sizes));
  return bytes + text + code;
}

/// The size of the object file at the begin of `code`: all of it or nothing.
static llvm::Expected<uint64_t> getObjectSize(const json::Value &description,
                                              llvm::StringRef code) {
  std::optional<int64_t> size =
      description.getAsObject()->getInteger("object_bytes");
  if (size == 0 || (size && static_cast<uint64_t>(*size) == code.size()))
    return *size;
  return llvm::createStringError(
      "expects a kernel package with an object file of all its code, " +
      llvm::Twine(code.size()) + " bytes, or with none");
}

llvm::Expected<KernelPackage> KernelPackage::fromBytes(llvm::StringRef bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic))
    return llvm::createStringError("expects a kernel package, but got " +
                                   llvm::Twine(bytes.size()) +
                                   " bytes of something else");
  const char *sizes = bytes.data() + kMagic.size();
  uint64_t textSize = llvm::support::endian::read64le(sizes);
  uint64_t codeSize = llvm::support::endian::read64le(sizes + sizeof(uint64_t));
  llvm::StringRef rest = bytes.drop_front(kHeaderSize);
  if (textSize > rest.size() || codeSize != rest.size() - textSize)
    return llvm::createStringError(
        "expects a kernel package with metadata of " + llvm::Twine(textSize) +
        " bytes and code of " + llvm::Twine(codeSize) + " bytes, but got " +
        llvm::Twine(rest.size()) + " bytes for both");
  llvm::Expected<json::Value> value = parseJSON(rest.take_front(textSize));
  if (!value)
    return value.takeError();
  llvm::Expected<KernelMetadata> metadata = KernelMetadata::fromJSON(*value);
  if (!metadata)
    return metadata.takeError();
  llvm::StringRef code = rest.drop_front(textSize);
  llvm::Expected<uint64_t> objectSize = getObjectSize(*value, code);
  if (!objectSize)
    return objectSize.takeError();
  KernelPackage package{std::move(*metadata),
                        code.take_front(*objectSize).str(), std::nullopt};
  if (*objectSize > 0)
    return package;
  llvm::Expected<cuda::CudaProgram> program =
      cuda::CudaProgram::fromBytes(code);
  if (!program)
    return program.takeError();
  package.program = std::move(*program);
  return package;
}
