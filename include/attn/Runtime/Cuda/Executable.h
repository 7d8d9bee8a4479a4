//===- Executable.h - GPU kernels, ready to launch --------------*- C++ -*-===//

#ifndef ATTN_RUNTIME_CUDA_EXECUTABLE_H
#define ATTN_RUNTIME_CUDA_EXECUTABLE_H

#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Runtime/TensorView.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace attn::cuda {

/// Tables of a program that its launches share; see Executable::prepareTables.
/// Whoever has it owns their memory, and keeps it as long as launches that were
/// given it run, and as graphs that have captured them.
class Preparation {
public:
  virtual ~Preparation();
  /// The memory that it takes on the device.
  virtual size_t getBytes() const = 0;
};

struct LaunchOptions {
  /// A CUstream; null is the default stream of the device's context.
  void *stream = nullptr;
  /// Where to run. Null is Device::current().
  const Device *device = nullptr;
  /// The variant of each launch, or -1 for that of pickVariant.
  int32_t variant = -1;
  /// What errors call the operands, if not "operand 0" and so on.
  llvm::ArrayRef<std::string> names;
  /// If not null, what prepareTables of the executable has made with operands
  /// of the same extents: kernels whose tables are there do not run.
  const Preparation *preparation = nullptr;
};

/// A program of the GPU. Its functions may be called from any number of threads
/// at the same time. A kernel's code is loaded when it is first launched in a
/// context, which takes milliseconds from a cubin and seconds from PTX.
/// Contexts must live as long as the executable, and it as long as graphs that
/// have captured its launches. Its end waits for launches that run, and may be
/// while a stream is being captured.
class Executable {
public:
  /// Checks a program. This needs no GPU and no driver.
  static llvm::Expected<Executable> load(CudaProgram program);

  Executable(Executable &&other) noexcept;
  Executable &operator=(Executable &&other) noexcept;
  ~Executable();

  const CudaProgram &getProgram() const;

  /// The launches of the program, as work of a stream. Operands are inputs,
  /// then results; they lie in the memory of the device, except those of rank
  /// 0 that a kernel takes by value, which lie in host memory and are read
  /// before this returns. Element types and shapes must be those the program
  /// was made for, which is the caller's to check. What is checked is that the
  /// launch is possible:
  ///
  /// * An operand with a tensor map starts at a multiple of 16 bytes, its first
  ///   mapped dimension has stride 1, and the others have strides that are no
  ///   less than 0, less than 2^40 bytes and multiples of 16 bytes. Where the
  ///   extent is 1 the stride may be anything. Extents are less than 2^32.
  /// * Operands with elements lie in memory of the device. This is asked of the
  ///   driver when an address has not been seen for some time.
  /// * The stream is one of the device's context.
  ///
  /// Without tiles nothing is launched. An operand without elements may have
  /// any address: its tensor maps show one element of the grid's operand
  /// instead, as the hardware knows no empty tensors. The kernel has to see
  /// from the extents that there is nothing, and must not write there.
  ///
  /// After the first call with the same shapes, strides and addresses a launch
  /// takes no lock and no memory from the heap. It may be captured in a graph.
  llvm::Error launch(llvm::ArrayRef<TensorView> operands,
                     const LaunchOptions &options = {}) const;

  /// Runs what is preparation (TableInfo::isPrepared), as work of the stream,
  /// and keeps its tables. Operands are those of a launch; the data of results
  /// may be null. Later launches with it read what it has found, whatever the
  /// operands hold that CudaProgram::getPreparedOperands names. Launches on
  /// other streams wait for the tables. In a graph that is captured, launches
  /// are with tables that were prepared before: the host waits for them, and
  /// a stream that is captured is an error here.
  llvm::Expected<std::unique_ptr<Preparation>>
  prepareTables(llvm::ArrayRef<TensorView> operands,
                const LaunchOptions &options = {}) const;

  /// Looks for errors in lists, with the operands of a launch, and waits for
  /// what is found: the stream may not be captured. `numbers` has two for each
  /// site of CudaProgram::checks; where a site has an error, those of the first
  /// one are written. Does nothing for a program without lists. The first call
  /// in a context lets the driver compile the checks.
  llvm::Error checkLists(llvm::ArrayRef<TensorView> operands,
                         llvm::MutableArrayRef<int64_t> numbers,
                         const LaunchOptions &options = {}) const;

private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_EXECUTABLE_H
