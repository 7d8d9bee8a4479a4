//===- NpyReader.cpp - Reading of .npy files ------------------------------===//

#include "NpyHeader.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

// Elements are copied from the file as they are.
static_assert(llvm::endianness::native == llvm::endianness::little,
              "the reader and the writer of .npy files expect a "
              "little-endian machine");

/// A header of a real array has some hundred bytes.
static constexpr size_t kMaxHeaderSize = size_t(1) << 20;

/// Reads up to `size` bytes, fewer only where the file ends.
static Expected<size_t> readBytes(int fd, void *buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    // Linux transfers at most 2 GiB at a time.
    ssize_t got = llvm::sys::RetryAfterSignal(
        -1, ::read, fd, static_cast<char *>(buffer) + done, size - done);
    if (got < 0)
      return llvm::errorCodeToError(llvm::errnoAsErrorCode());
    if (got == 0)
      break;
    done += got;
  }
  return done;
}

/// Decides the element type of the tensor.
static Expected<DType> chooseDType(const NpyHeader &header,
                                   const NpyExpectation &expected) {
  std::string wanted =
      expected.dtype
          ? llvm::formatv("expects elements of {0}", getName(*expected.dtype))
          : std::string("expects elements of f64, f32, f16, i64, i32, i16, i8 "
                        "or i1");
  if (!header.isSimpleDescr)
    return llvm::createStringError(llvm::formatv(
        "{0}, but got structured ones, {1}", wanted, header.descr));
  NumpyType type = parseNumpyDescr(header.descr);
  switch (type.kind) {
  case NumpyType::Known:
    if (expected.dtype && *expected.dtype != type.dtype)
      return llvm::createStringError(llvm::formatv("{0}, but got {1} ('{2}')",
                                                   wanted, getName(type.dtype),
                                                   header.descr));
    return type.dtype;
  case NumpyType::BigEndian:
    return llvm::createStringError(
        llvm::formatv("expects little-endian elements, but got '{0}'; save "
                      "array.astype('{1}')",
                      header.descr, getNumpyDescr(type.dtype)));
  case NumpyType::MaybeBF16:
    if (expected.dtype == DType::BF16)
      return DType::BF16;
    return llvm::createStringError(llvm::formatv(
        "{0}, but got '{1}', which is read only where bf16 is asked for",
        wanted, header.descr));
  case NumpyType::Unsupported:
    break;
  }
  return llvm::createStringError(
      llvm::formatv("{0}, but got '{1}'", wanted, header.descr));
}

static Error makeSizeError(llvm::ArrayRef<int64_t> shape, DType dtype,
                           uint64_t bytes, uint64_t available) {
  return llvm::createStringError(llvm::formatv(
      "expects {0} bytes of data for {1}, but the file holds {2}{3}", bytes,
      formatTensorType(shape, dtype), available,
      available > bytes ? " (more than one array in a file is not supported)"
                        : ""));
}

/// Checks the header and makes a tensor, whose data is the `available` bytes
/// that follow in the file.
static Expected<Tensor> createFor(const NpyHeader &header,
                                  const NpyExpectation &expected,
                                  uint64_t available) {
  Expected<DType> dtype = chooseDType(header, expected);
  if (!dtype)
    return dtype.takeError();
  if (expected.shape && !matchesShape(header.shape, *expected.shape))
    return llvm::createStringError(llvm::formatv(
        "expects {0}, but got {1}", formatTensorType(*expected.shape, *dtype),
        formatTensorType(header.shape, *dtype)));
  Expected<int64_t> bytes = getDenseSize(header.shape, *dtype);
  if (!bytes)
    return bytes.takeError();
  // Where no two elements can be swapped both orders are one.
  bool hasOrder = *bytes != 0 && llvm::count_if(header.shape, [](int64_t size) {
                                   return size > 1;
                                 }) > 1;
  if (header.isFortranOrder && hasOrder)
    return llvm::createStringError(
        "expects row-major data, but got 'fortran_order': True; "
        "save np.ascontiguousarray(array)");
  if (uint64_t(*bytes) != available)
    return makeSizeError(header.shape, *dtype, *bytes, available);
  return Tensor::create(*dtype, header.shape);
}

static Expected<Tensor> read(const std::string &path,
                             const NpyExpectation &expected) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  auto closeFile = llvm::scope_exit([fd] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  if (!S_ISREG(status.st_mode))
    return llvm::createStringError(llvm::formatv(
        "expects a regular file, but got {0}",
        S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket"));
  size_t fileSize = status.st_size;

  std::string start(kNpyMaxPrefix, '\0');
  Expected<size_t> startSize = readBytes(fd, start.data(), start.size());
  if (!startSize)
    return startSize.takeError();
  start.resize(*startSize);
  Expected<NpyPrefix> prefix = parseNpyPrefix(start);
  if (!prefix)
    return prefix.takeError();
  size_t dataOffset = prefix->headerOffset + prefix->headerSize;
  if (dataOffset > fileSize)
    return llvm::createStringError(llvm::formatv(
        "expects a .npy header of {0} bytes, but the file holds {1}",
        prefix->headerSize, fileSize - prefix->headerOffset));
  if (prefix->headerSize > kMaxHeaderSize)
    return llvm::createStringError(
        llvm::formatv("expects a .npy header of at most {0} bytes, but got {1}",
                      kMaxHeaderSize, prefix->headerSize));

  std::string text(prefix->headerSize, '\0');
  if (::lseek(fd, prefix->headerOffset, SEEK_SET) < 0)
    return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  Expected<size_t> textSize = readBytes(fd, text.data(), text.size());
  if (!textSize)
    return textSize.takeError();
  text.resize(*textSize);
  Expected<NpyHeader> header = parseNpyHeader(text);
  if (!header)
    return header.takeError();

  Expected<Tensor> tensor = createFor(*header, expected, fileSize - dataOffset);
  if (!tensor)
    return tensor;
  size_t bytes = tensor->getSizeInBytes();
  Expected<size_t> dataSize = readBytes(fd, tensor->getData(), bytes);
  if (!dataSize)
    return dataSize.takeError();
  // Somebody has shortened the file since its size was asked for.
  if (*dataSize != bytes)
    return makeSizeError(tensor->getShape(), tensor->getDType(), bytes,
                         *dataSize);
  if (tensor->getDType() == DType::I1)
    for (uint8_t &value : tensor->getElements<uint8_t>())
      value = value != 0;
  return tensor;
}

Expected<Tensor> attn::readNpy(StringRef path, const NpyExpectation &expected) {
  std::string name = path.str();
  Expected<Tensor> tensor = read(name, expected);
  if (tensor)
    return tensor;
  return llvm::createStringError("cannot read '" + name +
                                 "': " + llvm::toString(tensor.takeError()));
}
