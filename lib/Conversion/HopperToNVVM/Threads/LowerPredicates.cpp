//===- LowerPredicates.cpp - Predicates of fragments as words -------------===//
//
// A predicate of an accumulator is a tree of conditions, of which each row has
// its own. Where those on positions would take many comparisons, a row has
// words with a bit for each element instead, and joins of conditions are joins
// of words. The assembler moves seven bits to predicates at once (R2P).
//
// What depends on data for each pair is compared for each element. It holds
// besides, or, where it is an alternative to conditions that words save more
// comparisons of, it becomes bits of a word.
//
//===----------------------------------------------------------------------===//

#include "PositionBits.h"
#include "ThreadPatterns.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

/// With fewer comparisons of a thread's elements, these take less registers.
static constexpr int64_t kFewestComparisons = 64;
/// Rows of a thread in an accumulator.
static constexpr int64_t kNumRows = 2;
/// Of more runs of positions in a row, words take longer than comparisons.
static constexpr size_t kMostRuns = 4;

namespace {
/// The conditions of a row, one for each of a thread's columns.
using RowConditions = SmallVector<Value>;
using Conditions = std::array<RowConditions, kNumRows>;

/// Conditions that are words.
struct Bits {
  enum class Kind {
    Uniform,  // one for all elements of a row
    Columns,  // one for both rows
    Elements, // one of each element
    Interval, // positions between bounds
    Residue,  // remainders of positions that are a number of the row
    Below,    // remainders of positions that are less than one
    And,
    Or,
    Xor
  };
  Kind kind;
  Conditions conditions;
  const Bits *lhs = nullptr, *rhs = nullptr;
  /// Of intervals.
  std::array<SmallVector<PositionRun>, kNumRows> runs;
  std::array<Value, kNumRows> lower, upper;
  /// Of remainders, those of the positions and the number of the row.
  Conditions remainders;
  std::array<Value, kNumRows> rest;
  Divisor divisor;
  /// Whether bits are those of the others instead, and whether remainders that
  /// are the number itself are less, too.
  bool isNot = false, isOrEqual = false;
};

/// What holds where `bits` and each of `others` do; either may be absent.
struct Predicate {
  const Bits *bits = nullptr;
  SmallVector<Conditions> others;
};

/// Finds the words of a predicate.
class PredicateParser {
public:
  explicit PredicateParser(ThreadBuilder &b) : b(b) {}

  Predicate parse(const Conditions &conditions);

private:
  Predicate parseNew(const Conditions &conditions);
  Predicate parseLimits(const Conditions &conditions);
  Predicate parseJoint(const Conditions &conditions);
  const Bits *parseRemainders(const Conditions &conditions, unsigned number);
  /// All of a predicate as bits: its own, those of conditions that hold
  /// besides, one of each column where both rows have the same, or one of each
  /// element.
  const Bits *getBits(const Conditions &conditions);
  Bits *make(Bits::Kind kind, const Conditions &conditions) {
    bits.push_back(std::make_unique<Bits>());
    bits.back()->kind = kind;
    bits.back()->conditions = conditions;
    return bits.back().get();
  }

  ThreadBuilder &b;
  std::vector<std::unique_ptr<Bits>> bits;
  /// By the first condition, as parts may be used more than once.
  DenseMap<Value, std::pair<Conditions, Predicate>> known;
};

/// Makes words of bits.
class WordBuilder {
public:
  WordBuilder(ThreadBuilder &b, const Bits &root)
      : b(b), root(root), positions(b) {
    note(root);
  }
  /// The words of a row.
  SmallVector<Value> get(const Bits &bits, int64_t row);
  /// Whether rows have bits of the root in common.
  bool areShared() const {
    return root.kind == Bits::Kind::Interval &&
           root.lower[0] == root.lower[1] && root.upper[0] == root.upper[1];
  }
  /// The bit of an element of the root.
  Value test(int64_t row, int64_t column);

private:
  void note(const Bits &bits);
  SmallVector<Value> emit(const Bits &bits, int64_t row);
  Value emitRemainders(const Bits &bits, int64_t row, int64_t first);

  ThreadBuilder &b;
  const Bits &root;
  PositionBits positions;
  SmallPtrSet<const Bits *, 8> noted;
  DenseMap<std::pair<const Bits *, int64_t>, SmallVector<Value>> words;
};
} // namespace

/// Whether both are one value, or the same constant.
static bool areSame(Value x, Value y) {
  Attribute left, right;
  return x == y || (matchPattern(x, m_Constant(&left)) &&
                    matchPattern(y, m_Constant(&right)) && left == right);
}

static bool areAll(const Conditions &conditions,
                   function_ref<bool(Value)> holds) {
  return llvm::all_of(conditions, [&](const RowConditions &row) {
    return llvm::all_of(row, holds);
  });
}

static Conditions map(const Conditions &conditions,
                      function_ref<Value(Value)> get) {
  Conditions result;
  for (auto [from, to] : llvm::zip_equal(conditions, result))
    to = llvm::map_to_vector(from, get);
  return result;
}

/// Whether some bits are of each element.
static bool hasElements(const Bits &bits) {
  return bits.kind == Bits::Kind::Elements ||
         (bits.lhs && (hasElements(*bits.lhs) || hasElements(*bits.rhs)));
}

/// How many comparisons and joins for each element words are in place of, less
/// what it takes to make bits of others.
static int64_t countComparisons(const Bits &bits,
                                SmallPtrSetImpl<const Bits *> &visited) {
  if (!visited.insert(&bits).second)
    return 0;
  int64_t count = 0;
  for (auto [row, own] : llvm::enumerate(bits.conditions)) {
    auto numColumns = static_cast<int64_t>(own.size());
    constexpr int64_t bitCost = 2;
    if (bits.kind == Bits::Kind::Elements)
      count -= bitCost * numColumns;
    else if (bits.kind == Bits::Kind::Interval)
      count += numColumns * (bool(bits.lower[row]) + bool(bits.upper[row]));
    else if (bits.lhs || bits.kind == Bits::Kind::Residue ||
             bits.kind == Bits::Kind::Below)
      count += numColumns;
  }
  for (const Bits *operand : {bits.lhs, bits.rhs})
    if (operand)
      count += countComparisons(*operand, visited);
  return count;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Conditions on positions, with one pair of bounds for each row.
Predicate PredicateParser::parseLimits(const Conditions &conditions) {
  const DenseMap<Value, Limits> &limits = b.kernel.facts.limits;
  if (!areAll(conditions, [&](Value value) { return limits.contains(value); }))
    return {};
  Bits interval{Bits::Kind::Interval, conditions};
  bool hasRest = bool(limits.at(conditions[0][0]).rest);
  for (auto [row, own] : llvm::enumerate(conditions)) {
    const Limits &first = limits.at(own.front());
    SmallVector<int64_t> positions;
    for (Value condition : own) {
      const Limits &other = limits.at(condition);
      if (other.lower != first.lower || other.upper != first.upper ||
          bool(other.rest) != hasRest)
        return {};
      positions.push_back(other.position);
    }
    interval.lower[row] = first.lower;
    interval.upper[row] = first.upper;
    interval.runs[row] = getPositionRuns(positions);
    if (interval.runs[row].empty() || interval.runs[row].size() > kMostRuns)
      return {};
  }
  Predicate rest;
  if (hasRest)
    rest = parse(
        map(conditions, [&](Value value) { return limits.at(value).rest; }));
  Bits *bits = make(Bits::Kind::Interval, conditions);
  *bits = interval;
  if (rest.bits) {
    Bits *both = make(Bits::Kind::And, conditions);
    both->lhs = bits;
    both->rhs = rest.bits;
    bits = both;
  }
  return {bits, rest.others};
}

/// The number that is extended.
static Value getNarrow(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) ? op->getOperand(0)
                                                             : value;
}

/// Comparisons of remainders, of which operand `number` is of the positions.
const Bits *PredicateParser::parseRemainders(const Conditions &conditions,
                                             unsigned number) {
  using Order = arith::CmpIPredicate;
  const DenseMap<Value, Remainder> &facts = b.kernel.facts.remainders;
  auto first = conditions[0][0].getDefiningOp<arith::CmpIOp>();
  if (!first)
    return nullptr;
  Order given = first.getPredicate();
  Bits found{Bits::Kind::Residue, conditions};
  for (auto [row, own] : llvm::enumerate(conditions)) {
    SmallVector<int64_t> positions;
    for (Value condition : own) {
      auto op = condition.getDefiningOp<arith::CmpIOp>();
      if (!op || op.getPredicate() != given)
        return nullptr;
      Value value = getNarrow(op->getOperand(number)),
            rest = op->getOperand(1 - number);
      auto known = facts.find(value);
      if (known == facts.end())
        return nullptr;
      const Remainder &remainder = known->second;
      if (row == 0 && positions.empty())
        found.divisor = remainder.divisor;
      if (positions.empty())
        found.rest[row] = rest;
      found.remainders[row].push_back(value);
      positions.push_back(remainder.dividend.offset);
      Value base = facts.at(found.remainders[row][0]).dividend.base;
      if (!areSame(rest, found.rest[row]) || remainder.dividend.base != base ||
          !(remainder.divisor == found.divisor))
        return nullptr;
    }
    if (getPositionRuns(positions).size() != 1)
      return nullptr;
  }
  switch (given) {
  case Order::eq:
    break;
  case Order::ne:
    found.isNot = true;
    break;
  case Order::slt:
  case Order::sle:
  case Order::sgt:
  case Order::sge:
    found.kind = Bits::Kind::Below;
    found.isNot = given == Order::sgt || given == Order::sge;
    found.isOrEqual = given == Order::sle || given == Order::sgt;
    // With the remainder on the right, `x < r` is not `r <= x`.
    if (number == 1) {
      found.isNot = !found.isNot;
      found.isOrEqual = !found.isOrEqual;
    }
    break;
  default:
    return nullptr;
  }
  Bits *bits = make(found.kind, conditions);
  *bits = found;
  return bits;
}

const Bits *PredicateParser::getBits(const Conditions &conditions) {
  Predicate predicate = parse(conditions);
  if (predicate.bits && predicate.others.empty())
    return predicate.bits;
  if (conditions[0] == conditions[1])
    return make(Bits::Kind::Columns, conditions);
  if (!predicate.bits)
    return make(Bits::Kind::Elements, conditions);
  const Bits *all = predicate.bits;
  for (const Conditions &other : predicate.others) {
    Bits *both = make(Bits::Kind::And, conditions);
    both->lhs = all;
    both->rhs = make(Bits::Kind::Elements, other);
    all = both;
  }
  return all;
}

static std::optional<Bits::Kind> getJointKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Bits::Kind>>(op)
      .Case([](arith::AndIOp) { return Bits::Kind::And; })
      .Case([](arith::OrIOp) { return Bits::Kind::Or; })
      .Case([](arith::XOrIOp) { return Bits::Kind::Xor; })
      .Default([](Operation *) { return std::nullopt; });
}

/// What joins two conditions, the same for all elements.
Predicate PredicateParser::parseJoint(const Conditions &conditions) {
  Operation *first = conditions[0][0].getDefiningOp();
  std::optional<Bits::Kind> kind;
  if (first)
    kind = getJointKind(first);
  if (!kind || !areAll(conditions, [&](Value value) {
        Operation *op = value.getDefiningOp();
        return op && op->getName() == first->getName();
      }))
    return {};
  auto getOperands = [&](unsigned number) {
    return map(conditions, [&](Value value) {
      return value.getDefiningOp()->getOperand(number);
    });
  };
  Conditions lhs = getOperands(0), rhs = getOperands(1);
  if (kind == Bits::Kind::And) {
    Predicate left = parse(lhs), right = parse(rhs);
    if (!left.bits && !right.bits)
      return {};
    llvm::append_range(left.others, right.others);
    if (!left.bits || !right.bits)
      return {left.bits ? left.bits : right.bits, left.others};
    Bits *both = make(*kind, conditions);
    both->lhs = left.bits;
    both->rhs = right.bits;
    return {both, left.others};
  }
  const Bits *left = getBits(lhs), *right = getBits(rhs);
  // What rows share is joined once for both.
  bool isShared = conditions[0] == conditions[1];
  if (isShared &&
      (left->kind == Bits::Kind::Columns || right->kind == Bits::Kind::Columns))
    return {};
  Bits *either = make(*kind, conditions);
  either->lhs = left;
  either->rhs = right;
  SmallPtrSet<const Bits *, 8> visited;
  if (hasElements(*either) &&
      countComparisons(*either, visited) < kNumRows * int64_t(lhs[0].size()))
    return {};
  return {either, {}};
}

Predicate PredicateParser::parseNew(const Conditions &conditions) {
  if (llvm::all_of(conditions, [](const RowConditions &row) {
        return llvm::all_of(
            row, [&](Value value) { return areSame(value, row.front()); });
      }))
    return {make(Bits::Kind::Uniform, conditions), {}};
  if (Predicate limits = parseLimits(conditions);
      limits.bits || !limits.others.empty())
    return limits;
  for (unsigned number : {0, 1})
    if (const Bits *remainders = parseRemainders(conditions, number))
      return {remainders, {}};
  if (Predicate joint = parseJoint(conditions); joint.bits)
    return joint;
  return {nullptr, {conditions}};
}

Predicate PredicateParser::parse(const Conditions &conditions) {
  auto it = known.find(conditions[0][0]);
  if (it != known.end() && it->second.first == conditions)
    return it->second.second;
  Predicate predicate = parseNew(conditions);
  known[conditions[0][0]] = {conditions, predicate};
  return predicate;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void WordBuilder::note(const Bits &bits) {
  if (!noted.insert(&bits).second)
    return;
  if (bits.kind == Bits::Kind::Interval)
    for (int64_t row = 0; row < kNumRows; ++row)
      positions.noteInterval(bits.lower[row], bits.upper[row], bits.runs[row]);
  for (const Bits *operand : {bits.lhs, bits.rhs})
    if (operand)
      note(*operand);
}

/// A word of comparisons of remainders.
Value WordBuilder::emitRemainders(const Bits &bits, int64_t row,
                                  int64_t first) {
  Value remainder = bits.remainders[row][first], rest = bits.rest[row];
  int64_t count = std::min(
      static_cast<int64_t>(bits.conditions[row].size()) - first, kWordBits);
  Value word = bits.kind == Bits::Kind::Residue
                   ? positions.emitResidue(bits.divisor, remainder, rest, count)
                   : positions.emitBelow(bits.divisor, remainder, rest,
                                         bits.isOrEqual, count);
  return bits.isNot ? b.xorI(word, -1) : word;
}

SmallVector<Value> WordBuilder::emit(const Bits &bits, int64_t row) {
  const RowConditions &conditions = bits.conditions[row];
  auto numColumns = static_cast<int64_t>(conditions.size());
  SmallVector<Value> list;
  auto join = [&](function_ref<Value(Value, Value)> emitJoint) {
    for (auto [x, y] :
         llvm::zip_equal(get(*bits.lhs, row), get(*bits.rhs, row)))
      list.push_back(emitJoint(x, y));
    return list;
  };
  switch (bits.kind) {
  case Bits::Kind::Uniform:
    for (int64_t first = 0; first < numColumns; first += kWordBits)
      list.push_back(b.select(conditions.front(), b.i32(-1), b.i32(0)));
    return list;
  case Bits::Kind::Columns:
  case Bits::Kind::Elements:
    for (auto [n, condition] : llvm::enumerate(conditions)) {
      auto bit = static_cast<int32_t>(uint32_t(1) << n % kWordBits);
      Value own = b.select(condition, b.i32(bit), b.i32(0));
      if (n % kWordBits == 0)
        list.push_back(own);
      else
        list.back() = b.orI(list.back(), own);
    }
    return list;
  case Bits::Kind::Interval:
    return positions.emitInterval(bits.lower[row], bits.upper[row],
                                  bits.runs[row], numColumns);
  case Bits::Kind::Residue:
  case Bits::Kind::Below:
    for (int64_t first = 0; first < numColumns; first += kWordBits)
      list.push_back(emitRemainders(bits, row, first));
    return list;
  case Bits::Kind::And:
    return join([&](Value x, Value y) { return b.andI(x, y); });
  case Bits::Kind::Or:
    return join([&](Value x, Value y) { return b.orI(x, y); });
  case Bits::Kind::Xor:
    return join([&](Value x, Value y) { return b.xorI(x, y); });
  }
  llvm_unreachable("all kinds are handled");
}

SmallVector<Value> WordBuilder::get(const Bits &bits, int64_t row) {
  if (row > 0 && bits.conditions[row] == bits.conditions[0])
    return get(bits, 0);
  auto it = words.find({&bits, row});
  if (it == words.end())
    it = words.try_emplace({&bits, row}, emit(bits, row)).first;
  return it->second;
}

Value WordBuilder::test(int64_t row, int64_t column) {
  if (root.kind == Bits::Kind::Interval && root.runs[row].size() == 1) {
    // Rows may have bits in common, which are tested once.
    auto [shared, first] = positions.emitShared(
        root.lower[row], root.upper[row], root.runs[row].front());
    column += first;
    return b.testBit(shared[column / kWordBits], column % kWordBits);
  }
  SmallVector<Value> own = get(root, row);
  return b.testBit(own[column / kWordBits], column % kWordBits);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

static FailureOr<Elements> lowerSelect(arith::SelectOp op,
                                       Operands<arith::SelectOp> in,
                                       ThreadBuilder &b) {
  ValueRange values = in.getCondition();
  std::optional<Fragment> fragment = Fragment::get(op.getType());
  if (!fragment || fragment->layout != hopper::FragmentLayout::Accumulator ||
      fragment->isPacked() || values.size() != in.getTrueValue().size() ||
      values.size() != in.getFalseValue().size())
    return failure();
  Conditions conditions;
  for (auto [e, condition] : llvm::enumerate(values))
    conditions[fragment->getRow(e)].push_back(condition);
  PredicateParser parser(b);
  Predicate predicate = parser.parse(conditions);
  SmallPtrSet<const Bits *, 8> visited;
  if (!predicate.bits ||
      countComparisons(*predicate.bits, visited) < kFewestComparisons)
    return failure();
  WordBuilder words(b, *predicate.bits);
  // A row after the other, so that words of few of them are live at a time.
  auto getTurn = [&](size_t e) {
    return words.areShared() ? 0 : fragment->getRow(e);
  };
  Elements list(values.size());
  for (int64_t turn = 0; turn < kNumRows; ++turn) {
    for (size_t e = 0; e < values.size(); ++e) {
      if (getTurn(e) != turn)
        continue;
      int64_t row = fragment->getRow(e), column = fragment->getColumn(e);
      Value condition = words.test(row, column);
      for (const Conditions &other : predicate.others)
        condition = b.andI(condition, other[row][column]);
      list[e] =
          b.select(condition, in.getTrueValue()[e], in.getFalseValue()[e]);
    }
  }
  return list;
}

void mlir::attn::populatePredicatePatterns(ThreadPatterns &patterns) {
  patterns.add(lowerSelect, /*benefit=*/4);
}
