//===- SparsityReport.cpp - Which form a sparsity runs in -----------------===//

#include "SparsityReport.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <deque>

using namespace attn;
using namespace attn::cli;
using mlir::attn::AttentionOp;
using mlir::attn::ListSizes;
using mlir::attn::SparsityForm;

/// The shape of the argument that `value` is, if it is one.
static std::optional<llvm::ArrayRef<int64_t>>
getShape(mlir::Value value, const Execution &execution) {
  while (auto cast = value.getDefiningOp<mlir::tensor::CastOp>())
    value = cast.getSource();
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  if (!argument || argument.getArgNumber() >= execution.getArguments().size())
    return std::nullopt;
  return execution.getArguments()[argument.getArgNumber()].tensor.getShape();
}

static std::optional<ListSizes> getSizes(AttentionOp op,
                                         const Execution &execution) {
  mlir::attn::AttentionLikeOpInterface attention = op;
  auto query = getShape(op.getQuery(), execution),
       key = getShape(op.getKey(), execution),
       rows = getShape(op.getSparsityOperands()[0], execution),
       columns = getShape(op.getSparsityOperands()[1], execution);
  if (!query || !key || !rows || !columns)
    return std::nullopt;
  mlir::attn::Layout layout = attention.getLayout(0);
  double heads = double((*query)[layout.b]) * double((*query)[layout.h]);
  double numLists = 1;
  for (int64_t extent : rows->drop_back())
    numLists *= double(extent);
  ListSizes sizes;
  sizes.rows = heads * double((*query)[layout.s]);
  sizes.keys = double((*key)[attention.getLayout(1).s]);
  sizes.entries = double((*columns)[0]);
  sizes.lists = numLists * double((*query)[layout.s]);
  sizes.pairs = numLists > 0 ? sizes.entries * heads / numLists : 0;
  return sizes;
}

/// As attn-choose-sparsity has it on a CPU.
static bool areRowsOnCPU(AttentionOp op, SparsityForm form,
                         const ListSizes &sizes) {
  if (form != SparsityForm::Auto)
    return form == SparsityForm::Lists;
  if (mlir::Attribute schedule = op.getScheduleAttr())
    return mlir::isa<mlir::attn::RowScheduleAttr>(schedule);
  return mlir::attn::getCPUListCosts(op).areRowsBetter(sizes);
}

/// As a launch picks a kernel.
static llvm::Expected<bool> areRowsOnGPU(const cuda::CudaProgram &program,
                                         const Execution &execution) {
  const cuda::LaunchInfo &launch = getFirstAttention(program);
  // Addresses and strides are those of whole tensors, which all kernels take.
  std::deque<Shape> strides;
  std::vector<TensorView> views;
  auto add = [&](const Tensor &tensor) {
    llvm::ArrayRef<int64_t> shape = tensor.getShape();
    Shape &steps = strides.emplace_back(shape.size(), 1);
    for (size_t dim = shape.size(); dim-- > 1;)
      steps[dim - 1] = steps[dim] * shape[dim];
    views.push_back({nullptr, static_cast<int32_t>(tensor.getDType()),
                     static_cast<int64_t>(shape.size()), shape.data(),
                     steps.data()});
  };
  for (const Argument &argument : execution.getArguments())
    add(argument.tensor);
  for (const Tensor &tensor : execution.getResults())
    add(tensor);
  llvm::Expected<cuda::LaunchExtents> extents =
      cuda::getLaunchExtents(launch.grid, views);
  if (!extents)
    return extents.takeError();
  llvm::Expected<cuda::Device> device = cuda::Device::current();
  if (!device)
    return device.takeError();
  size_t which =
      cuda::pickVariant(launch, *extents, device->getNumSMs(), views);
  return launch.variants[which].ofLists;
}

llvm::Expected<std::vector<SparsityReport>>
cli::surveySparsity(Program &program, const Kernel &kernel,
                    const Execution &execution, const Options &options) {
  std::vector<SparsityReport> reports;
  std::optional<SparsityForm> form =
      mlir::attn::parseSparsityForm(options.sparsity);
  // Whoever gives a schedule has chosen.
  if (!form || !options.schedule.empty())
    return reports;
  llvm::SmallVector<AttentionOp> attentions;
  program.entry.walk([&](AttentionOp op) {
    if (mlir::attn::hasKeyLists(op))
      attentions.push_back(op);
  });
  for (AttentionOp op : attentions) {
    std::optional<ListSizes> sizes = getSizes(op, execution);
    if (!sizes)
      continue;
    // Of a form that is asked for there is no other.
    if (*form == SparsityForm::Gathered) {
      reports.push_back({"gathered", sizes->getDensity()});
      continue;
    }
    const std::optional<cuda::CudaProgram> &gpu = kernel.package().program;
    llvm::Expected<bool> areRows =
        gpu ? areRowsOnGPU(*gpu, execution)
            : llvm::Expected<bool>(areRowsOnCPU(op, *form, *sizes));
    if (!areRows)
      return areRows.takeError();
    reports.push_back({*areRows ? "lists" : "dense", sizes->getDensity()});
  }
  return reports;
}
