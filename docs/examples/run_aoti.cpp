//===- run_aoti.cpp - Run a package of AOTInductor without Python ---------===//
//
// Runs a package of torch._inductor.aoti_compile_and_package whose model calls
// attn.torch, on the tensor in a file that torch.save has written, and writes
// the result to another one:
//
//   run_aoti MODEL.pt2 LIBATTN_TORCH.so INPUT.pt OUTPUT.pt
//
// It links PyTorch alone: the operators of attn are in libattn_torch.so, which
// docs/torch.md tells of, and which finds libattn.so next to itself or where
// ATTN_LIBRARY says.
//
//===----------------------------------------------------------------------===//

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>

static std::vector<char> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: run_aoti MODEL LIBRARY INPUT OUTPUT\n";
    return 2;
  }
  // Loading it registers attn::forward and attn::backward.
  if (!dlopen(argv[2], RTLD_NOW)) {
    std::cerr << dlerror() << "\n";
    return 1;
  }
  try {
    c10::InferenceMode inference;
    at::Tensor input = torch::jit::pickle_load(readFile(argv[3])).toTensor();
    torch::inductor::AOTIModelPackageLoader model(argv[1]);
    at::Tensor output = model.run({input}).at(0);
    std::vector<char> bytes = torch::jit::pickle_save(output.clone());
    std::ofstream(argv[4], std::ios::binary).write(bytes.data(), bytes.size());
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
