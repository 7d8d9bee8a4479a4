//===- Library.cpp - The functions of libattn -----------------------------===//

#include "Library.h"
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

using namespace attn_torch;

static std::string &getGivenPath() {
  static std::string path;
  return path;
}

extern "C" {
/// Names the file to take, before an operator is called.
__attribute__((visibility("default"))) void attnTorchOpen(const char *path) {
  getGivenPath() = path;
}
}

static std::string findLibrary() {
  if (!getGivenPath().empty())
    return getGivenPath();
  if (const char *named = std::getenv("ATTN_LIBRARY"); named && *named)
    return named;
  Dl_info own;
  if (!dladdr(reinterpret_cast<void *>(&findLibrary), &own))
    return "libattn.so";
  std::string path = own.dli_fname;
  size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string::npos ? 0 : slash + 1) +
         "libattn.so";
}

static Library openLibrary() {
  std::string path = findLibrary();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw std::runtime_error(
        "cannot open libattn.so, which the operators of attn "
        "need; set ATTN_LIBRARY to its path: " +
        std::string(dlerror()));
  Library library;
#define ATTN_TORCH_FIND(name)                                                  \
  library.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name));    \
  if (!library.name)                                                           \
    throw std::runtime_error("expects '" + path +                              \
                             "' to have " #name ": it is of another version");
  ATTN_TORCH_FUNCTIONS(ATTN_TORCH_FIND)
#undef ATTN_TORCH_FIND
  return library;
}

const Library &attn_torch::getLibrary() {
  static const Library library = openLibrary();
  return library;
}

void *attn_torch::getCudaStream(int32_t device) {
  // Only a PyTorch for CUDA has this, in a library that is loaded where there
  // are tensors of CUDA.
  using Get = int32_t (*)(int32_t, void **);
  static const Get get = [] {
    void *handle = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    void *found =
        handle ? dlsym(handle, "aoti_torch_get_current_cuda_stream") : nullptr;
    return reinterpret_cast<Get>(found);
  }();
  void *stream = nullptr;
  if (!get || get(device, &stream) != 0)
    throw std::runtime_error("cannot get the stream of PyTorch for CUDA");
  return stream;
}
