//===- KernelPackage.cpp - What the compiler hands over -------------------===//

#include "attn/Runtime/KernelPackage.h"
#include "attn/Support/JSON.h"
#include "attn/Support/JSONFields.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace attn;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

namespace attn {

template <typename Archive>
static void describe(Archive &archive, TensorInfo &tensor) {
  archive("name", tensor.name);
  auto getDTypeName = [](int32_t code) {
    return getName(static_cast<DType>(code));
  };
  archive.choice("dtype", tensor.dtype,
                 llvm::map_to_vector(llvm::seq(kNumDTypes), getDTypeName));
  archive("shape", tensor.shape);
}

template <typename Archive>
static void describe(Archive &archive, KernelMetadata &metadata) {
  archive("entry", metadata.entry);
  archive("triple", metadata.triple);
  archive("cpu", metadata.cpu);
  archive("features", metadata.features);
  archive("inputs", metadata.inputs);
  archive("results", metadata.results);
  archive("shapes", metadata.shapes);
  archive("sites", metadata.sites);
}

} // namespace attn

json::Value KernelMetadata::toJSON() const {
  return writeJSON(*this, kPackageVersion);
}

llvm::Expected<KernelMetadata>
KernelMetadata::fromJSON(const json::Value &value) {
  KernelMetadata result;
  if (llvm::Error error = readJSON(value, result, kPackageVersion, "metadata",
                                   "kernel package"))
    return error;
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
// metadata as JSON, the code, and XXH3 of all in front as another such number.
// The code is the object file, whose size the metadata has as "object_bytes",
// or a GPU program.
static constexpr llvm::StringLiteral kMagic = "attnkern";
static constexpr size_t kHeaderSize = kMagic.size() + 2 * sizeof(uint64_t);
static constexpr size_t kChecksumSize = sizeof(uint64_t);

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
  bytes.reserve(kHeaderSize + text.size() + code.size() + kChecksumSize);
  bytes.append(sizes, sizeof(sizes));
  bytes.append(text).append(code);
  char checksum[kChecksumSize];
  llvm::support::endian::write64le(checksum, llvm::xxh3_64bits(bytes));
  return bytes.append(checksum, kChecksumSize);
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
  auto isCut = [&] {
    return llvm::createStringError(
        "expects a kernel package with metadata of " + llvm::Twine(textSize) +
        " bytes and code of " + llvm::Twine(codeSize) + " bytes, but got " +
        llvm::Twine(rest.size()) + " bytes for both and a checksum of " +
        llvm::Twine(kChecksumSize));
  };
  if (textSize > rest.size())
    return isCut();
  llvm::Expected<json::Value> value = parseJSON(rest.take_front(textSize));
  if (!value)
    return llvm::createStringError(
        "expects a kernel package as it was written, but its metadata is "
        "damaged: " +
        llvm::toString(value.takeError()));
  // Another version is told as such, whatever follows in it.
  llvm::Expected<KernelMetadata> metadata = KernelMetadata::fromJSON(*value);
  if (!metadata)
    return metadata.takeError();
  llvm::StringRef code = rest.drop_front(textSize);
  if (code.size() < kChecksumSize || codeSize != code.size() - kChecksumSize)
    return isCut();
  code = code.drop_back(kChecksumSize);
  const char *checksum = bytes.end() - kChecksumSize;
  if (llvm::support::endian::read64le(checksum) !=
      llvm::xxh3_64bits(bytes.drop_back(kChecksumSize)))
    return llvm::createStringError("expects a kernel package as it was written"
                                   ", but its bytes have another checksum: "
                                   "write or copy the file again");
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
