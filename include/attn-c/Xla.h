/*===- attn-c/Xla.h - Kernels as custom calls of XLA ------------*- C -*-===*\
|*                                                                            *|
|* Handlers of XLA's foreign function interface (FFI, api_version 4), for     *|
|* whoever registers them: python/attn/jax does. libattn has them, and they   *|
|* need neither Python nor a header of XLA.                                   *|
|*                                                                            *|
|* A call has these attributes, all of them strings:                          *|
|*                                                                            *|
|*   program   the text of a program in MLIR, with one public function        *|
|*   numbers   its inputs that are no tensors, whose names begin with "x", in *|
|*             their order: 16 hexadecimal digits for each, which are an int64*|
|*             or the bits of a double                                        *|
|*   wrt       "" to run the program; or names of its inputs, with a comma    *|
|*             behind each, for the gradients with respect to these           *|
|*   options   of a compilation, lines of name=value: bounds_check, opt_level,*|
|*             processor, schedule, sparsity, as attn.compile has them        *|
|*                                                                            *|
|* Its operands are the other inputs, and of gradients also the results of the*|
|* program and the gradients of a loss with respect to them; its results are  *|
|* those of the kernel. All are dense and row-major.                          *|
|*                                                                            *|
|* Kernels are compiled at the first call with such attributes.               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_C_XLA_H
#define ATTN_C_XLA_H

#include "attn-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;

/** XLA_FFI_Handlers for the platforms "cpu" and "CUDA". */
ATTN_C_API struct XLA_FFI_Error *attnXlaCpu(struct XLA_FFI_CallFrame *frame);
ATTN_C_API struct XLA_FFI_Error *attnXlaCuda(struct XLA_FFI_CallFrame *frame);

/** Forgets the kernels of calls; those that run stay valid. */
ATTN_C_API void attnXlaClear(void);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_XLA_H */
