/* A libattn.so whose kernels compute nothing: a hook is told of each that is
   compiled, by its program, and of what is prepared. */
#include "attn-c/Attn.h"

void (*hook)(const char *what);

attnStatus attnKernelCompile(const char *program, size_t size,
                             const attnCompileOptions *options,
                             attnKernel **kernel, attnError **error) {
  hook(program);
  *kernel = (attnKernel *)1;
  return ATTN_OK;
}

attnStatus attnKernelPrepare(const attnKernel *kernel, const attnTensor *inputs,
                             size_t num_inputs, const attnRunOptions *options,
                             attnPrepared **prepared, attnError **error) {
  hook("prepare");
  *prepared = (attnPrepared *)1;
  return ATTN_OK;
}

attnStatus attnKernelRun(const attnKernel *kernel, const attnTensor *inputs,
                         size_t num_inputs, const attnTensor *results,
                         size_t num_results, const attnRunOptions *options,
                         attnError **error) {
  return ATTN_OK;
}

size_t attnKernelNumInputs(const attnKernel *kernel) { return 0; }
void attnKernelRelease(attnKernel *kernel) {}
void attnPreparedDestroy(attnPrepared *prepared) {}

/* Nothing calls these. */
const char *attnErrorMessage(const attnError *error) { return 0; }
void attnErrorDestroy(attnError *error) {}
const char *attnStringData(const attnString *string) { return 0; }
size_t attnStringSize(const attnString *string) { return 0; }
void attnStringDestroy(attnString *string) {}

attnStatus attnKernelInputInfo(const attnKernel *kernel, size_t index,
                               attnTensorInfo *info, attnError **error) {
  return ATTN_OK;
}

attnStatus attnDifferentiate(const char *program, size_t size,
                             const attnDifferentiateOptions *options,
                             attnString **text, attnError **error) {
  return ATTN_OK;
}
