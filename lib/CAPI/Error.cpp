//===- Error.cpp - Errors, strings and versions of the C interface --------===//

#include "CAPI.h"

using namespace attn;

attnStatus attn::capi::fail(attnError **error, attnStatus status,
                            const llvm::Twine &message) {
  if (error)
    *error = new attnError{status, message.str()};
  return status;
}

attnStatus attn::capi::fail(attnError **error, llvm::Error reason,
                            attnStatus otherwise) {
  std::string message;
  attnStatus status = otherwise;
  llvm::handleAllErrors(
      std::move(reason), [&](const llvm::ErrorInfoBase &info) {
        message += (message.empty() ? "" : "\n") + info.message();
        std::error_code code = info.convertToErrorCode();
        if (code == std::errc::invalid_argument)
          status = ATTN_INVALID_ARGUMENT;
        else if (code == std::errc::not_enough_memory)
          status = ATTN_OUT_OF_MEMORY;
        else if (code == std::errc::not_supported ||
                 code == std::errc::no_such_device)
          status = ATTN_UNSUPPORTED;
        else if (code == std::errc::result_out_of_range)
          status = ATTN_OUT_OF_RANGE;
      });
  return fail(error, status, message);
}

attnStatus attn::capi::succeed(attnString **out, std::string bytes,
                               attnError **error) {
  *out = new attnString{std::move(bytes)};
  return succeed(error);
}

uint32_t attnVersion() {
  return 10000 * ATTN_VERSION_MAJOR + 100 * ATTN_VERSION_MINOR +
         ATTN_VERSION_PATCH;
}

const char *attnVersionString() { return ATTN_VERSION_STRING; }

const char *attnStatusName(attnStatus status) {
  switch (status) {
  case ATTN_OK:
    return "ok";
  case ATTN_INVALID_ARGUMENT:
    return "invalid argument";
  case ATTN_COMPILE_ERROR:
    return "compile error";
  case ATTN_OUT_OF_MEMORY:
    return "out of memory";
  case ATTN_OUT_OF_RANGE:
    return "out of range";
  case ATTN_UNSUPPORTED:
    return "unsupported";
  default:
    return "unknown status";
  }
}

attnStatus attnErrorStatus(const attnError *error) {
  return error ? error->status : ATTN_OK;
}

const char *attnErrorMessage(const attnError *error) {
  return error ? error->message.c_str() : "";
}

void attnErrorDestroy(attnError *error) { delete error; }

const char *attnStringData(const attnString *string) {
  return string ? string->bytes.c_str() : "";
}

size_t attnStringSize(const attnString *string) {
  return string ? string->bytes.size() : 0;
}

void attnStringDestroy(attnString *string) { delete string; }

const char *attnDTypeName(attnDType dtype) {
  // The names are literals, and so end with a 0.
  return isDTypeCode(dtype) ? getName(DType(dtype)).data() : nullptr;
}

size_t attnDTypeSize(attnDType dtype) {
  return isDTypeCode(dtype) ? getSize(DType(dtype)) : 0;
}
