//===- Differentiate.cpp - Gradients in the C interface -------------------===//

#include "attn/JIT/Differentiate.h"
#include "CAPI.h"
#include "attn-c/Attn.h"

using namespace attn;
using namespace attn::capi;

template <>
constexpr size_t attn::capi::kFirstSize<attnDifferentiateOptions> =
    offsetof(attnDifferentiateOptions, tensors_only) +
    sizeof(attnDifferentiateOptions::tensors_only);

static attnStatus readOptions(const attnDifferentiateOptions *from,
                              DifferentiateOptions &options,
                              attnError **error) {
  if (!from)
    return ATTN_OK;
  attnDifferentiateOptions given;
  if (attnStatus status =
          readStruct(from, given, "attnDifferentiateOptions", error))
    return status;
  if (given.entry)
    options.entry = given.entry;
  if (given.buffer_name)
    options.bufferName = given.buffer_name;
  if (given.num_wrt > 0 && !given.wrt)
    return failNull(error, "names of inputs");
  for (size_t index = 0; index < given.num_wrt; ++index) {
    if (!given.wrt[index])
      return failNull(error, "the name of an input");
    options.wrt.push_back(given.wrt[index]);
  }
  options.joint = given.joint != 0;
  options.tensorsOnly = given.tensors_only != 0;
  return ATTN_OK;
}

attnStatus attnDifferentiate(const char *program, size_t size,
                             const attnDifferentiateOptions *options,
                             attnString **text, attnError **error) {
  if (!text)
    return failNull(error, "a place for the text");
  *text = nullptr;
  if (!program)
    return failNull(error, "a program");
  DifferentiateOptions ours;
  if (attnStatus status = readOptions(options, ours, error))
    return status;
  llvm::Expected<std::string> gradient =
      differentiate(llvm::StringRef(program, size), ours);
  if (!gradient)
    return fail(error, gradient.takeError(), ATTN_COMPILE_ERROR);
  return succeed(text, std::move(*gradient), error);
}
