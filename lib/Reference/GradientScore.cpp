//===- GradientScore.cpp - The score of a gradient, and its derivative ----===//

#include "GradientScore.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
using mlir::attn::kGradCapture;

Expected<std::unique_ptr<GradientScore>>
GradientScore::create(mlir::attn::AttentionGradOp op,
                      const AttentionInputs &inputs, EvalMode mode,
                      const GradientRounding &rounding, const Arrays &results,
                      std::vector<std::vector<double>> &variances) {
  std::unique_ptr<GradientScore> score;
  if (op.getScore().empty())
    return score;
  score.reset(new GradientScore(inputs, mode, rounding));
  if (Error error = score->compile(op, results, variances))
    return std::move(error);
  return score;
}

/// Scalar captures are no constants here.
Error GradientScore::compile(mlir::attn::AttentionGradOp op,
                             const Arrays &results,
                             std::vector<std::vector<double>> &variances) {
  RegionCompiler &compiler = code.compiler;
  mlir::Block &block = op.getScore().front();
  code.s = compiler.bindLane(block.getArgument(0));
  code.b = compiler.bindRow(block.getArgument(1));
  code.h = compiler.bindRow(block.getArgument(2));
  code.i = compiler.bindRow(block.getArgument(3));
  code.j = compiler.bindLane(block.getArgument(4));
  std::vector<std::pair<uint32_t, int64_t>> scalars;
  for (auto [number, capture] : llvm::enumerate(inputs.captures)) {
    mlir::Value argument =
        block.getArgument(mlir::attn::kNumScoreArgs + number);
    if (capture->type.isFloat() &&
        !mlir::isa<mlir::ShapedType>(argument.getType()))
      scalars.push_back({compiler.bindRow(argument), number});
    else
      compiler.bindArray(argument, *capture, number);
  }
  if (Error error = code.compile(block))
    return error;
  // All that is read is of the program as it is now.
  const Program &program = code.program;
  frame = std::make_unique<Frame>(program);
  tangents.emplace(program, Seed{Seed::LaneRegister, code.s});
  auto add = [&](int64_t capture, Seed seed, const Access *access, bool isRow) {
    auto found = llvm::find(op.getWrt(), kGradCapture + capture);
    if (capture < 0 || found == op.getWrt().end())
      return;
    size_t number = found - op.getWrt().begin();
    contributions.push_back({Tangents(program, seed), results[number].get(),
                             &variances[number], access, isRow});
  };
  for (auto [reg, capture] : scalars) {
    frame->rowFloat(reg) = inputs.captures[capture]->floats[0];
    add(capture, {Seed::RowRegister, reg}, nullptr, true);
  }
  for (auto [number, access] : llvm::enumerate(program.accesses))
    add(access.capture, {Seed::Access, uint32_t(number)}, &access,
        isRowAccess(program, number));
  return Error::success();
}

std::string GradientScore::describe(int64_t j) const {
  const std::array<int64_t, 4> &at = inputs.offsets;
  return code.compiler.describe(frame->getError()) + " at (b, h, i, j) = (" +
         std::to_string(row.b + at[0]) + ", " + std::to_string(row.h + at[1]) +
         ", " + std::to_string(row.i + at[2]) + ", " +
         std::to_string(j + at[3]) + ")";
}

std::string GradientScore::setRow(RowId id, int64_t firstKey) {
  row = id;
  frame->rowInt(code.b) = id.b + inputs.offsets[0];
  frame->rowInt(code.h) = id.h + inputs.offsets[1];
  frame->rowInt(code.i) = id.i + inputs.offsets[2];
  if (!frame->runRow())
    return describe(firstKey);
  tangents->runRow(*frame);
  for (Contribution &to : contributions)
    to.tangents.runRow(*frame);
  return {};
}

std::string GradientScore::run(const std::vector<double> &s, int64_t begin,
                               llvm::ArrayRef<int64_t> lanes) {
  double *in = frame->laneFloats(code.s);
  int64_t *j = frame->laneInts(code.j);
  for (auto [lane, at] : llvm::enumerate(lanes)) {
    in[lane] = s[begin + at];
    j[lane] = begin + at + inputs.offsets[3];
  }
  if (!frame->runLanes(lanes.size()))
    return describe(begin + lanes[frame->getError().lane]);
  return {};
}

/// The element of the capture that a lane reads.
int64_t GradientScore::getElement(const Contribution &to, unsigned lane) const {
  if (!to.access)
    return 0;
  Shape strides = to.gradient->strides();
  int64_t element = 0;
  for (auto [stride, reg] : llvm::zip_equal(strides, to.access->indices))
    element +=
        stride * (to.isRow ? frame->rowInt(reg) : frame->laneInts(reg)[lane]);
  return element;
}

void GradientScore::reverse(int64_t begin, llvm::ArrayRef<int64_t> lanes,
                            double *gradient, double *weight) {
  for (auto [lane, at] : llvm::enumerate(lanes)) {
    double &g = gradient[begin + at];
    // A gradient that cancels out has the noise of what it is the sum of.
    if (weight[begin + at] == 0)
      continue;
    for (Contribution &to : contributions) {
      to.tangents.runLane(*frame, lane);
      const Tangent &tangent = to.tangents.getLane(code.results[0]);
      if (tangent.magnitude == 0)
        continue;
      int64_t element = getElement(to, lane);
      double &sum = to.gradient->floats[element];
      if (g != 0 && tangent.value != 0)
        sum =
            rounding.roundAccumulator(sum + rounding.round(g * tangent.value));
      double term = weight[begin + at] * tangent.magnitude;
      if (!rounding.eager)
        (*to.variance)[element] += term * term;
    }
    tangents->runLane(*frame, lane);
    const Tangent &tangent = tangents->getLane(code.results[0]);
    g = tangent.value == 0 || g == 0 ? 0 : rounding.round(g * tangent.value);
    weight[begin + at] *= tangent.magnitude;
  }
}
