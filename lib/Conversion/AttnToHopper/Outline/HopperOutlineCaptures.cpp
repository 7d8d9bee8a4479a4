//===- HopperOutlineCaptures.cpp - Captures that come in tiles ------------===//
//
// What scores and masks read of a capture with an element for each row and
// position is a box for each block, which can be copied at once; what they
// read with an element for each position is a vector. A step of its own loads
// either.
// Where the order does not name that step it has the stage of the step that
// reads the capture. One that loads boxes comes right after the first one that
// loads anything: the first product does not wait for it, and what follows the
// product does not wait for a later block. One that loads vectors comes
// after all that load tiles, as far as it is read later: threads copy them
// while the producer would wait for the next block.
//
// Other boxes are read an element at a time.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::attn;

SharedUse Outliner::getSharedUse(int64_t valueDim, ArrayRef<Type> captures) {
  int64_t numDiagonals = 0;
  loop->walk([&](SpreadDiagonalsOp) { ++numDiagonals; });
  return {query.columns, valueDim, captures, numDiagonals};
}

SmallVector<Type> Outliner::getCaptureTypes() {
  return llvm::map_to_vector(captures, [](const OutlinedCapture &capture) {
    return capture.access.elementType;
  });
}

/// Whether the position of what is read is known to who copies the block: it is
/// not computed of what a loop around the read has in each iteration.
static bool isOfBlock(GatherOp read, TileLoopOp loop) {
  auto isOfLoopWithin = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *parent = argument ? argument.getOwner()->getParentOp() : nullptr;
    return parent && loop->isProperAncestor(parent) &&
           parent->isProperAncestor(read);
  };
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  for (Value index : read.getIndices()) {
    llvm::SetVector<Operation *> slice;
    (void)getBackwardSlice(index, &slice, options);
    if (isOfLoopWithin(index) || llvm::any_of(slice, [&](Operation *op) {
          return llvm::any_of(op->getOperands(), isOfLoopWithin);
        }))
      return false;
  }
  return true;
}

/// The box of a capture that can be copied as a tile, with a row for each query
/// and a column for each key, which are columns and rows of scores.
static std::optional<TileAccess> getCaptureTile(GatherOp read, TileLoopOp loop,
                                                func::FuncOp function) {
  auto type = dyn_cast<VectorType>(read.getType());
  auto argument = dyn_cast<BlockArgument>(read.getSource());
  if (!read.getRowDim() || !read.getColumnDim() || !argument ||
      argument.getOwner() != &function.getFunctionBody().front() ||
      !isCaptureTileElement(type.getElementType()) || !isOfBlock(read, loop))
    return std::nullopt;
  auto column = static_cast<int64_t>(*read.getRowDim()),
       row = static_cast<int64_t>(*read.getColumnDim()),
       rank = static_cast<int64_t>(read.getIndices().size());
  if (column != rank - 1 || rank > 4)
    return std::nullopt;
  TileAccess access;
  access.argument = argument.getArgNumber();
  access.columns = type.getDimSize(0);
  access.elementType = type.getElementType();
  for (int64_t dim = 0; dim < column; ++dim)
    if (dim != row)
      access.dims.push_back(dim);
  access.dims.resize(2, -1);
  access.dims.append({row, column});
  Attribute zero = Builder(read.getContext()).getIndexAttr(0);
  for (int64_t dim : access.dims)
    access.position.push_back(dim < 0 ? OpFoldResult(zero)
                                      : OpFoldResult(read.getIndices()[dim]));
  return access;
}

/// Whether what is read for each position of a block can be copied as a vector.
static bool isCaptureVector(GatherOp read, TileLoopOp loop) {
  if (!read.getRowDim() || read.getColumnDim() ||
      *read.getRowDim() + 1 != read.getIndices().size() ||
      !isOfBlock(read, loop))
    return false;
  auto type = cast<VectorType>(read.getType());
  return type.getDimSize(0) % 8 == 0 && !type.getElementType().isIndex();
}

/// Vectors are small, and are read later than the tiles of their block. So that
/// no copy waits for that, there are more of them than of tiles where there is
/// memory.
static constexpr int64_t kVectorStages[] = {4, 2};

/// What scores and predicates read by position, as far as there is memory.
void Outliner::matchVectors() {
  // What gradients have in shared memory is not counted.
  if (results.empty() || !isAttention())
    return;
  // What a predicate alone reads comes for partial blocks alone: copies for
  // each block would cost full ones more than partial ones gain.
  bool havePredicates = loop.hasNeeded() && loop.hasFull();
  SmallVector<Type> types;
  loop.getBody().walk([&](GatherOp read) {
    if (schedule.getCaptureStages() && getCaptureTile(read, loop, function))
      types.push_back(getElementTypeOrSelf(read.getType()));
  });
  int64_t free = getFreeSharedBytes(getTarget(function), schedule,
                                    getSharedUse(getResultColumns(), types));
  auto match = [&](GatherOp read, MaskTileOp mask) {
    if ((mask && !havePredicates) || readsOfKeys.contains(read) ||
        !values->getOperand(read.getSource()) || !isCaptureVector(read, loop))
      return;
    auto isSame = [&](const OutlinedVector &other) {
      GatherOp first = other.reads.front();
      // What comes for all blocks is there for partial ones.
      return (!other.mask || other.mask == mask) &&
             first.getSource() == read.getSource() &&
             first.getIndices() == read.getIndices();
    };
    auto *found = llvm::find_if(vectors, isSame);
    if (found == vectors.end()) {
      int64_t bytes = hopper::getVectorBytes(
          loop.getStep(), getElementTypeOrSelf(read.getType()));
      const int64_t *stages = llvm::find_if(kVectorStages, [&](int64_t stages) {
        return stages * bytes <= free;
      });
      if (stages == std::end(kVectorStages))
        return;
      free -= *stages * bytes;
      found = &vectors.emplace_back();
      found->stages = *stages;
      found->step = ("load_vector" + Twine(vectors.size() - 1)).str();
      found->mask = mask;
    }
    found->reads.push_back(read);
  };
  for (bool ofMask : {false, true})
    loop.getBody().walk([&](GatherOp read) {
      auto mask = read->getParentOfType<MaskTileOp>();
      if (static_cast<bool>(mask) == ofMask)
        match(read, mask);
    });
}

/// Whether a step loads what is read.
bool Outliner::isLoaded(GatherOp read) {
  return llvm::any_of(captures,
                      [&](const OutlinedCapture &capture) {
                        return llvm::is_contained(capture.reads, read);
                      }) ||
         llvm::any_of(vectors, [&](const OutlinedVector &vector) {
           return llvm::is_contained(vector.reads, read);
         });
}

/// Reads an element at a time what does not come in tiles or vectors.
void Outliner::expandBoxes() {
  IRRewriter rewriter(function.getContext());
  grid.walk([&](GatherOp read) {
    if (read.getBox() && !isLoaded(read) &&
        (schedule.getCaptureStages() == 0 ||
         !getCaptureTile(read, loop, function)))
      read.expandBox(rewriter);
  });
  // They share positions with all else.
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, grid);
}

void Outliner::matchCaptures() {
  loop.getBody().walk([&](GatherOp read) {
    std::optional<TileAccess> access = getCaptureTile(read, loop, function);
    if (!access)
      return;
    auto isSame = [&](const OutlinedCapture &other) {
      return other.access.argument == access->argument &&
             other.access.dims == access->dims &&
             other.access.position == access->position;
    };
    auto *found = llvm::find_if(captures, isSame);
    if (found == captures.end()) {
      std::string name = ("load_arg" + Twine(access->argument)).str();
      auto isOfArgument = [&](const OutlinedCapture &other) {
        return other.access.argument == access->argument;
      };
      // Other boxes of it have a number of their own.
      if (int64_t before = llvm::count_if(captures, isOfArgument))
        name += ("_" + Twine(before)).str();
      found = &captures.emplace_back(OutlinedCapture{*access, {}, name});
    }
    found->reads.push_back(read);
  });
}

/// Whether a position is computed of a number of the user's.
static bool isOfCaptures(Value position, func::FuncOp function) {
  auto isCapture = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && !isa<ShapedType>(value.getType()) &&
           argument.getOwner() == &function.getBody().front();
  };
  if (!position.getDefiningOp())
    return isCapture(position);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(position, &slice, options);
  // What kernels in front have stored in tables is theirs.
  return llvm::any_of(slice, [&](Operation *op) {
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    bool isOfTable =
        extract && extract.getTensor().getDefiningOp<scf::ForallOp>();
    return (isa<tensor::ExtractOp, GatherOp>(op) && !isOfTable) ||
           llvm::any_of(op->getOperands(), isCapture);
  });
}

/// Where a box starts in one dimension. Coordinates have 32 bits, and what is
/// outside of a tensor on one side remains so.
FailureOr<Value> Outliner::emitCoordinate(OpFoldResult position) {
  FailureOr<Value> value = values->getScalar(position);
  auto dynamic = dyn_cast<Value>(position);
  if (failed(value) || !dynamic || !isOfCaptures(dynamic, function))
    return value;
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value low = arith::MaxSIOp::create(builder, loc, *value,
                                     index(-hopper::kMaxPosition));
  return arith::MinSIOp::create(builder, loc, low, index(hopper::kMaxPosition))
      .getResult();
}

/// The step of a loop that an operation is in, or null.
static StepOp getStepOf(Operation *op) {
  auto step = dyn_cast<StepOp>(op);
  return step ? step : op->getParentOfType<StepOp>();
}

/// The order of the schedule, with the steps that load captures.
ArrayAttr Outliner::placeCaptures() {
  SmallVector<hopper::PlaceAttr> places(
      getOrder().getAsRange<hopper::PlaceAttr>());
  auto find = [&](StringRef name) {
    return llvm::find_if(places, [&](hopper::PlaceAttr place) {
      return place.getName() == name;
    });
  };
  // Terms of keys are read in front of all, so that they come while the loader
  // waits for a free tile. They are given in front of the product that adds
  // them, behind all loads, which do not wait for them.
  if (affine && affine.getKeys()) {
    StringRef product =
        affine.getProduct().getDefiningOp<StepOp>().getStepName();
    llvm::SmallDenseSet<StringRef> loads;
    for (auto step : loop.getBody().getOps<StepOp>())
      if (step.getNumResults() && blocks.contains(step.getResult(0)))
        loads.insert(step.getStepName());
    auto *reader = find(product);
    int64_t stage = reader == places.end() ? 0 : reader->getStage();
    auto isLoad = [&](hopper::PlaceAttr other) {
      return loads.contains(other.getName());
    };
    SmallVector<hopper::PlaceAttr> behind(reader, places.end());
    places.erase(reader, places.end());
    llvm::copy_if(behind, std::back_inserter(places), isLoad);
    llvm::copy_if(behind, std::back_inserter(places), std::not_fn(isLoad));
    auto insert = [&](StringRef name, hopper::PlaceAttr *at) {
      if (find(name) == places.end())
        places.insert(
            at, hopper::PlaceAttr::get(builder.getContext(), name, stage));
    };
    insert(kKeyTermsStep, find(product));
    insert(kReadTermsStep, places.begin());
  }
  // Where those that the order does not name go.
  size_t first = 0, last = 0;
  for (auto step : loop.getBody().getOps<StepOp>())
    if (step.getNumResults() && blocks.contains(step.getResult(0)))
      if (auto *place = find(step.getStepName()); place != places.end()) {
        size_t after = place - places.begin() + 1;
        first = first ? std::min(first, after) : after;
        last = std::max(last, after);
      }
  auto place = [&](StringRef name, GatherOp read, size_t &next) {
    if (find(name) != places.end())
      return;
    int64_t stage = 0;
    size_t at = next;
    if (StepOp reader = getStepOf(read))
      if (auto *found = find(reader.getStepName()); found != places.end()) {
        stage = found->getStage();
        at = std::min<size_t>(at, found - places.begin());
      }
    places.insert(places.begin() + at,
                  hopper::PlaceAttr::get(builder.getContext(), name, stage));
    next = at + 1;
  };
  for (const OutlinedVector &vector : vectors)
    place(vector.step, vector.reads.front(), last);
  for (const OutlinedCapture &capture : captures)
    place(capture.step, capture.reads.front(), first);
  return builder.getArrayAttr(
      SmallVector<Attribute>(places.begin(), places.end()));
}

LogicalResult Outliner::emitCaptureLoads() {
  for (const OutlinedCapture &capture : captures) {
    FailureOr<Value> tile =
        emitLoadStep(capture.step, capture.access, schedule.getTileM(),
                     schedule.getCaptureStages());
    if (failed(tile))
      return failure();
    for (GatherOp read : capture.reads)
      values->setTile(read.getResult(), *tile);
  }
  for (const OutlinedVector &vector : vectors) {
    GatherOp read = vector.reads.front();
    auto type = cast<VectorType>(read.getType());
    hopper::StepOp step =
        createStep(vector.step, kLoadPartition,
                   hopper::TileType::get(
                       builder.getContext(), type.getDimSize(0), /*columns=*/0,
                       type.getElementType(), type.getDimSize(0)));
    Value isRead;
    if (vector.mask)
      isRead = arith::XOrIOp::create(
          builder, loc, isFull,
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
    FailureOr<Value> loaded =
        emitVector(read.getSource(), read.getIndices(), type, vector.stages,
                   /*zeroFill=*/true, isRead);
    if (failed(loaded))
      return failure();
    hopper::EndOp::create(builder, loc, *loaded);
    builder.setInsertionPointAfter(step);
    for (GatherOp other : vector.reads)
      values->setTile(other.getResult(), step.getResult(0));
  }
  return success();
}

/// Starts a step with what it reads of captures of 16 bits. Others are read
/// where they are needed, as there are no registers for these beside a product.
void Outliner::emitCaptures(StepOp step) {
  for (const OutlinedCapture &capture : captures)
    for (GatherOp read : capture.reads)
      if (read->getParentOp() == step &&
          hopper::getElementBytes(capture.access.elementType) == 2)
        // Of a tile, which is always read.
        (void)values->getVector(read.getResult(), VectorKind::Both);
}
