//===- Generate.cpp - Random programs -------------------------------------===//
//
// Shapes, captures and integers. Masks are in GenerateMask.cpp, expressions of
// scores in GenerateScore.cpp.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include <cmath>

using namespace attn;
using namespace attn::property;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

ExprRef Generator::makeCapture(size_t number, Type type, unsigned depth) {
  const Capture &capture = program.captures[number];
  auto expr = std::make_shared<Expr>();
  expr->kind = Expr::Kind::Capture;
  expr->type = type;
  expr->capture = number;
  expr->integer = random.below(2);
  for (const CaptureDim &dim : capture.dims) {
    static const char *natural[] = {"b", "h", "i", "j"};
    ExprRef at;
    if (dim.kind != DimKind::Constant && random.chance(70))
      at = makeVariable(natural[size_t(dim.kind)]);
    else if (dim.kind == DimKind::Constant && random.chance(50))
      at = makeInt(random.below(dim.constant));
    else if (random.chance(20))
      at = makeDistance();
    else
      at = makeInteger(depth ? depth - 1 : 0);
    expr->args.push_back(at);
  }
  return expr;
}

std::optional<size_t> Generator::pickCapture(Type type) {
  std::vector<size_t> fitting;
  for (auto [number, capture] : llvm::enumerate(program.captures))
    if (type == Type::Float || (type == Type::Bool && !capture.isIndex) ||
        (type == Type::Int && !isFloat(capture.dtype)))
      fitting.push_back(number);
  if (fitting.empty())
    return std::nullopt;
  return random.pick(fitting);
}

std::optional<std::string> Generator::openLoop() {
  if (loops.size() == 2)
    return std::nullopt;
  loops.push_back("l" + std::to_string(numLoops++));
  return loops.back();
}

ExprRef Generator::makeIntegerLoop() {
  ExprRef init = makeIntegerLeaf();
  std::optional<std::string> name = openLoop();
  if (!name)
    return init;
  ExprRef carried = makeCarried(Type::Int, *name);
  ExprRef next = makeOp(Type::Int,
                        random.pick({"arith.addi", "arith.subi", "arith.xori",
                                     "arith.minsi", "arith.maxsi"}),
                        {carried, makeInteger(1)});
  loops.pop_back();
  return makeFor(*name, pickCount(), init, next, random.chance(50) ? 32 : 0);
}

ExprRef Generator::makeIntegerLeaf() {
  if (!loops.empty() && random.chance(40))
    return makeIteration(random.pick(loops));
  switch (random.below(8)) {
  case 0:
    return makeInt(random.range(-3, 20));
  case 1:
    if (std::optional<size_t> number = pickCapture(Type::Int))
      return makeCapture(*number, Type::Int, 0);
    return makeVariable("b");
  case 2: {
    std::vector<size_t> tensors;
    for (auto [number, capture] : llvm::enumerate(program.captures))
      if (!capture.dims.empty())
        tensors.push_back(number);
    if (tensors.empty())
      return makeVariable("h");
    auto expr = std::make_shared<Expr>();
    expr->kind = Expr::Kind::Dim;
    expr->type = Type::Int;
    expr->capture = random.pick(tensors);
    expr->integer = random.below(program.captures[expr->capture].dims.size());
    return expr;
  }
  case 3:
    return makeVariable(random.pick({"b", "h"}));
  default:
    return makeVariable(random.pick({"i", "j"}));
  }
}

ExprRef Generator::makeInteger(unsigned depth) {
  if (depth == 0 || random.chance(25))
    return makeIntegerLeaf();
  if (random.chance(5))
    return makeIntegerLoop();
  ExprRef a = makeInteger(depth - 1);
  unsigned width = random.chance(80) ? 0 : random.pick({32u, 64u});
  auto binary = [&](const char *name, ExprRef b) {
    return makeOp(Type::Int, name, {a, std::move(b)}, width);
  };
  switch (random.below(19)) {
  case 0:
  case 1:
    return binary("arith.addi", makeInteger(depth - 1));
  case 2:
  case 3:
    return binary("arith.subi", makeInteger(depth - 1));
  case 4:
    return binary("arith.muli", makeInt(random.range(-3, 5)));
  case 5:
    return binary(
        random.pick({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
                     "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"}),
        makeInt(random.range(1, 17)));
  case 6:
    // By what may be 0.
    return binary(
        random.pick({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
                     "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"}),
        makeInteger(depth - 1));
  case 7:
    return binary(random.pick({"arith.minsi", "arith.maxsi", "arith.minui",
                               "arith.maxui"}),
                  makeInteger(depth - 1));
  case 8:
    return binary(random.pick({"arith.andi", "arith.ori", "arith.xori"}),
                  makeInteger(depth - 1));
  case 9:
    return binary(random.pick({"arith.shrsi", "arith.shrui", "arith.shli"}),
                  makeInt(random.range(0, 6)));
  case 10:
    return makeOp(Type::Int, "math.absi", {a}, width);
  case 11:
    return makeSelect(random.chance(70) ? Expr::Kind::Select : Expr::Kind::If,
                      makeCondition(depth - 1), a, makeInteger(depth - 1));
  case 12:
    return random.chance(50)
               ? makeCast(Type::Int, makeCondition(depth - 1))
               : makeOp(Type::Int,
                        random.pick({"math.ctpop", "math.ctlz", "math.cttz"}),
                        {a}, 32);
  case 13:
  case 14:
    return makeOp(
        Type::Int,
        random.pick({"index.add", "index.sub", "index.maxs", "index.mins",
                     "index.maxu", "index.minu", "index.and", "index.or",
                     "index.xor", "index.divs", "index.divu", "index.ceildivs",
                     "index.ceildivu", "index.floordivs", "index.rems",
                     "index.remu"}),
        {a, makeInteger(depth - 1)});
  default:
    return makeRareInteger(a, depth - 1);
  }
}

/// Operations with a result of another width, with two results, or of floats.
ExprRef Generator::makeRareInteger(ExprRef a, unsigned depth) {
  unsigned width = random.pick({32u, 64u});
  switch (random.below(9)) {
  case 0: {
    // A power that varies is a product for each of its bits.
    ExprRef power = random.chance(80)
                        ? makeInt(random.pick({0, 1, 2, 3, 5, -1, -2}))
                        : makeInteger(depth);
    return makeOp(Type::Int, "math.ipowi", {a, std::move(power)}, width);
  }
  case 1:
    return makeResult(
        Type::Int,
        random.pick({"arith.mulsi_extended", "arith.mului_extended"}),
        {a, makeInteger(depth)}, random.below(2),
        random.chance(70) ? width : 0);
  case 2:
    return makeResult(Type::Int, "arith.addui_extended",
                      {a, makeInteger(depth)}, 0,
                      random.chance(70) ? width : 0);
  case 3:
    return makeCast(Type::Int, makeResult(Type::Bool, "arith.addui_extended",
                                          {a, makeInteger(depth)}, 1,
                                          random.chance(70) ? width : 0));
  case 4:
    return makeOp(Type::Int, random.pick({"arith.extsi", "arith.extui"}), {a},
                  random.pick({8u, 16u, 32u}));
  case 5:
    return makeOp(Type::Int, random.pick({"index.casts", "index.castu"}), {a},
                  random.pick({8u, 32u, 64u}));
  case 6: {
    ExprRef amount = makeInt(random.range(0, 6));
    return random.chance(50)
               ? makeOp(Type::Int, "index.mul",
                        {a, makeInt(random.range(-3, 5))})
               : makeOp(Type::Int,
                        random.pick({"index.shl", "index.shrs", "index.shru"}),
                        {a, std::move(amount)});
  }
  case 7: {
    ExprRef number = makeExactFloat().expr;
    if (random.chance(50))
      return makeConversion(Type::Int, "arith.fptosi", std::move(number),
                            random.pick({8u, 16u, 32u, 64u}));
    number = makeOp(Type::Float, "math.absf", {std::move(number)});
    return makeConversion(Type::Int, "arith.fptoui", std::move(number),
                          random.pick({8u, 32u, 64u}));
  }
  default: {
    // Of f64, rounding to f32 first may give other bits.
    bool mayRound = llvm::none_of(program.captures, [](const Capture &other) {
      return other.dtype == DType::F64;
    });
    return makeConversion(Type::Int, "arith.bitcast", makeExactFloat().expr, 0,
                          mayRound ? random.pick({"", "", "f16", "bf16"}) : "");
  }
  }
}

//===----------------------------------------------------------------------===//
// Captures and shapes
//===----------------------------------------------------------------------===//

void Generator::addCapture() {
  Capture capture;
  capture.dtype = random.chance(50) ? DType::F32 : DType(random.below(9));
  size_t rank = random.pick({0, 0, 1, 1, 1, 2, 2, 2, 3, 4});
  capture.isScalar = rank == 0 && random.chance(60);
  if (capture.isScalar && random.chance(40)) {
    capture.dtype = DType::I64;
    capture.isIndex = true;
  }
  // Dimensions in the usual order, with others in between.
  for (size_t dim = 0; dim < rank; ++dim) {
    CaptureDim extent;
    extent.kind = DimKind(random.below(5));
    // Three times 500 would take the host longer than all else.
    auto isLong = [](const CaptureDim &other) {
      return other.kind == DimKind::Queries || other.kind == DimKind::Keys;
    };
    if (isForGPU() && isLong(extent) &&
        llvm::count_if(capture.dims, isLong) > 1)
      extent.kind = DimKind::Constant;
    extent.constant = random.range(1, 7);
    // With several runs, extents that change are free.
    bool fixed = program.runs.size() == 1 || extent.kind == DimKind::Constant;
    extent.dynamic = !fixed || random.chance(50);
    capture.dims.push_back(extent);
  }
  switch (capture.dtype) {
  case DType::F64:
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    capture.fill =
        random.pick({"randn", "randn", "uniform(-1,1)", "full(0.5)"});
    break;
  case DType::I1:
    capture.fill = "randint(0,2)";
    break;
  default:
    capture.fill =
        random.pick({"randint(-4,5)", "randint(0,40)", "randint(0,3)"});
    break;
  }
  if (capture.dims.empty() && capture.fill == "randn")
    capture.fill = "uniform(-1,1)";
  program.captures.push_back(capture);
}

Sparsity Generator::makeSparsity() {
  Sparsity sparsity;
  bool isLists = random.chance(65);
  if (!isLists || random.chance(40)) {
    const int64_t blocks[] = {16, 16, 32, 48, 64, 64, 128, 256};
    sparsity.blockQueries = random.pick(llvm::ArrayRef(blocks));
    sparsity.blockKeys = random.pick(llvm::ArrayRef(blocks));
  }
  Capture capture;
  auto add = [&](DimKind kind, int64_t constant) {
    CaptureDim extent;
    extent.kind = kind;
    extent.constant = constant;
    bool fixed = program.runs.size() == 1 || kind == DimKind::Constant;
    extent.dynamic = !fixed || random.chance(50);
    capture.dims.push_back(extent);
  };
  // One for all where it is constant.
  size_t numLeading = random.range(0, 2);
  if (numLeading == 2)
    add(random.chance(50) ? DimKind::Batch : DimKind::Constant, 1);
  if (numLeading >= 1)
    add(random.chance(50) ? DimKind::Heads : DimKind::Constant, 1);
  sparsity.operand = program.captures.size();
  if (!isLists) {
    add(DimKind::QueryBlocks, sparsity.blockQueries);
    add(DimKind::KeyBlocks, sparsity.blockKeys);
    capture.dtype = DType::I1;
    capture.fill = random.pick(
        {"randint(0,2)", "randint(0,2)", "blocks(0.2)", "full(0)", "full(1)"});
    capture.isOperand = random.chance(50);
    program.captures.push_back(capture);
    return sparsity;
  }
  add(DimKind::RowStarts, sparsity.blockQueries);
  capture.dtype = random.pick({DType::I32, DType::I32, DType::I64});
  capture.fill = random.pick({"blocks(0)", "blocks(0.05)", "blocks(0.2)",
                              "blocks(0.5)", "blocks(0.5)", "blocks(1)"});
  capture.isOperand = true;
  program.captures.push_back(capture);
  CaptureDim entries;
  entries.kind = DimKind::Entries;
  entries.dynamic = true;
  capture.dims = {entries};
  if (random.chance(20))
    capture.dtype = random.pick({DType::I32, DType::I64});
  sparsity.columns = program.captures.size();
  program.captures.push_back(capture);
  return sparsity;
}

/// The form of lists of single keys, which are to be all that there is.
void Generator::pickSparsityForm() {
  for (const Attention &attention : program.attentions)
    if (!attention.sparsity || !attention.sparsity->columns ||
        attention.sparsity->blockQueries > 1)
      return;
  auto isForTiles = [](int64_t dim) { return dim % 8 == 0 && dim <= 256; };
  bool hasTiles = program.dtype != DType::F32 && isForTiles(program.keyDim) &&
                  isForTiles(program.valueDim);
  if (!isForGPU())
    program.sparsityForm = random.pick({"auto", "auto", "lists", "dense"});
  else if (hasTiles)
    program.sparsityForm =
        random.pick({"auto", "auto", "lists", "dense", "gathered"});
  else
    program.sparsityForm = random.pick({"auto", "lists"});
}

static const int64_t lengths[] = {1,  2,  3,  5,  7,  8,  13, 16, 17,  31,
                                  32, 33, 37, 61, 64, 65, 67, 97, 128, 131};

/// Around the sizes of tiles there, and several of them.
static const int64_t gpuLengths[] = {1,   2,   5,   16,  33,  63,  64,  65, 100,
                                     127, 128, 129, 192, 200, 256, 300, 500};

Lengths Generator::makeLengths() {
  llvm::ArrayRef<int64_t> from =
      isForGPU() ? llvm::ArrayRef(gpuLengths) : llvm::ArrayRef(lengths);
  Lengths result;
  result.batch = random.chance(3) ? 0 : random.range(1, 3);
  result.kvHeads = random.pick({1, 1, 2, 3});
  result.group = random.pick({1, 1, 1, 2, 3, 4});
  result.queries = random.chance(4) ? 0 : random.pick(from);
  result.keys = random.chance(4) ? 0 : random.pick(from);
  if (random.chance(20))
    result.keys = result.queries;
  if (random.chance(10))
    result.queries = 1;
  return result;
}

void Generator::makeShapes() {
  program.dtype = DType(random.pick({0, 1, 1, 1, 2, 3, 3}));
  const int64_t dims[] = {1,  2,  3,  4,  5,  8,  8,  16,
                          16, 16, 17, 24, 32, 33, 40, 64};
  program.keyDim = random.pick(llvm::ArrayRef(dims));
  program.valueDim =
      random.chance(60) ? program.keyDim : random.pick(llvm::ArrayRef(dims));
  const std::string usual[] = {"bhsd", "bshd", "sbhd", "bhds", "hbsd"};
  if (random.chance(30)) {
    std::string layout = random.pick(llvm::ArrayRef(usual));
    llvm::fill(program.layouts, layout);
  } else if (random.chance(20)) {
    for (std::string &layout : program.layouts)
      for (size_t at = 3; at > 0; --at)
        std::swap(layout[at], layout[random.below(at + 1)]);
  }
  program.runs.push_back(makeLengths());
  if (random.chance(50))
    program.runs.push_back(makeLengths());
  bool onlyFree = program.runs.size() > 1;
  for (auto &tensor : program.dynamic)
    for (bool &dim : tensor)
      dim = onlyFree || random.chance(60);
  program.broadcast = random.chance(10);
  // A batch of keys that is 1 in one run is 1 in all.
  if (program.broadcast && random.chance(50))
    program.dynamic[1][0] = program.dynamic[2][0] = false;
  for (std::string &fill : program.fills)
    if (random.chance(15))
      fill = random.pick({"randint(-2,3)", "uniform(-1,1)", "full(1)"});
  program.boundsCheck = random.chance(15);
  // What is looked for is made before LLVM optimises, which takes most of the
  // time.
  program.optLevel = random.pick({0u, 0u, 1u, 1u, 3u});
  program.strides.seed = random.chance(50) ? 1 + random.below(1 << 20) : 0;
}

/// What a GPU takes: heads that lie together. Tensor cores are for halves and
/// heads of whole groups of 16 bytes; anything else is computed by rows.
void Generator::fitShapesToGPU() {
  program.dtype = random.chance(20)
                      ? DType::F32
                      : random.pick({DType::BF16, DType::BF16, DType::F16});
  const int64_t dims[] = {8,  16, 24,  40,  64,  64,  64,
                          72, 96, 128, 128, 136, 192, 256};
  const int64_t rowDims[] = {1, 3, 5, 17, 33, 63, 100, 129, 257, 264, 300, 512};
  auto pickDim = [&] {
    return random.pick(random.chance(90) ? llvm::ArrayRef(dims)
                                         : llvm::ArrayRef(rowDims));
  };
  program.keyDim = pickDim();
  program.valueDim = random.chance(70) ? program.keyDim : pickDim();
  for (std::string &layout : program.layouts) {
    llvm::erase(layout, 'd');
    layout += 'd';
  }
  program.boundsCheck = false;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Program Generator::make() {
  program.seed = random.below(1 << 20);
  makeShapes();
  if (isForGPU())
    fitShapesToGPU();
  for (size_t n = random.pick({0, 0, 1, 1, 2, 3, 4}); n > 0; --n)
    addCapture();
  size_t number = random.chance(85) ? 1 : 2;
  for (size_t n = 0; n < number; ++n) {
    Attention attention;
    if (random.chance(50))
      attention.scale = random.pick({0.125, 0.25, 0.5, 1.0, -0.25, 0.0});
    attention.lse = random.chance(50);
    bool wide = random.chance(10);
    if (random.chance(65))
      attention.score = makeScore(attention, wide);
    else if (wide)
      attention.scale = 40;
    if (random.chance(65))
      attention.mask = makeMask();
    attention.chained = n > 0 && random.chance(50) &&
                        program.keyDim == program.valueDim &&
                        program.layouts[0] == program.layouts[3];
    program.attentions.push_back(attention);
  }
  for (Attention &attention : program.attentions)
    if (random.chance(30))
      attention.sparsity = makeSparsity();
  pickSparsityForm();
  for (Attention &attention : program.attentions)
    if (random.chance(15))
      attention.dropout = random.pick({0.0, 0.1, 0.5, 0.9});
  program.keysAreValues = random.chance(15);
  return program;
}

Program property::generate(uint64_t seed, DeviceKind device) {
  return Generator(seed, device).make();
}
