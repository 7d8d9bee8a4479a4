//===- XlaFfi.h - What we take of XLA's foreign functions -------*- C++ -*-===//
//
// The part of the C ABI of XLA (xla/ffi/api/c_api.h, which jaxlib ships) that
// Xla.cpp needs, in the order of its members there: so that no build needs
// jaxlib. This part is the same in versions 0.1 to 0.3; test_jax_calls.py
// compares it with the header of the jaxlib that is installed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CAPI_XLAFFI_H
#define ATTN_LIB_CAPI_XLAFFI_H

#include <cstddef>
#include <cstdint>

struct XLA_FFI_Error;

namespace attn::xla {

inline constexpr int kMajor = 0;
inline constexpr int kOldestMinor = 1;
inline constexpr int kNewestMinor = 3;

struct Extension {
  size_t structSize;
  int32_t type;
  Extension *next;
};
inline constexpr int32_t kMetadataExtension = 1;

struct ApiVersion {
  size_t structSize;
  Extension *extensions;
  int majorVersion;
  int minorVersion;
};

struct Metadata {
  size_t structSize;
  ApiVersion version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

enum ErrorCode : int32_t {
  kUnknown = 2,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kOutOfRange = 11,
  kUnimplemented = 12,
};

struct ErrorCreateArgs {
  size_t structSize;
  Extension *extensions;
  const char *message;
  int32_t code;
};

struct StreamGetArgs {
  size_t structSize;
  Extension *extensions;
  void *context;
  void *stream;
};

/// What comes behind `getStream` is not called here.
struct Api {
  size_t structSize;
  Extension *extensions;
  ApiVersion version;
  const void *internal;
  XLA_FFI_Error *(*createError)(ErrorCreateArgs *);
  void (*getMessage)(void *);
  void (*destroyError)(void *);
  XLA_FFI_Error *(*registerHandler)(void *);
  XLA_FFI_Error *(*getStream)(StreamGetArgs *);
};

enum DataType : int32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 16,
};

struct Buffer {
  size_t structSize;
  Extension *extensions;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
};

/// Operands or results, of which a type of 1 is a Buffer.
struct Buffers {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  int32_t *types;
  void **items;
};
inline constexpr int32_t kBufferType = 1;

struct Bytes {
  const char *data;
  size_t size;
};

/// Of which a type of 4 is a string, and its value Bytes.
struct Attributes {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  int32_t *types;
  Bytes **names;
  void **values;
};
inline constexpr int32_t kStringType = 4;

struct CallFrame {
  size_t structSize;
  Extension *extensions;
  const Api *api;
  void *context;
  int32_t stage;
  Buffers operands;
  Buffers results;
  Attributes attributes;
};

} // namespace attn::xla

#endif // ATTN_LIB_CAPI_XLAFFI_H
