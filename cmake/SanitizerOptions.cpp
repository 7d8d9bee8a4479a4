//===- SanitizerOptions.cpp - Defaults of the sanitizers ------------------===//
//
// Linked into each program of a sanitizer build. ASAN_OPTIONS and its kin in
// the environment override these.
//
//===----------------------------------------------------------------------===//

/// LLVM's inline allocators poison what they have not handed out. The shared
/// libraries are built without the sanitizer and hand memory out without
/// lifting the poison, so user poisoning is off. An allocation that is too
/// large returns null, as it does without the sanitizer.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1:"
         "detect_stack_use_after_return=1";
}

extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options() {
  return "allocator_may_return_null=1";
}

extern "C" const char *__ubsan_default_options();
extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
