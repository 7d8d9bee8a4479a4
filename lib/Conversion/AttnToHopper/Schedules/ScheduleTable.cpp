//===- ScheduleTable.cpp - Schedules by what a program is -----------------===//

#include "attn/Conversion/AttnToHopper/ScheduleTable.h"
#include "ScheduleFacts.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Support/JSON.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Threading.h"
#include <limits>

using namespace mlir;
using namespace mlir::attn;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDefaultTable =
#include "ScheduleTable.inc"
    ;
static constexpr llvm::StringLiteral kPrefix = "#hopper.schedule<";
static constexpr llvm::StringLiteral kUses[] = {"usual", "last_resort",
                                                "few_tiles", "any_strides"};
static constexpr int64_t kVersion = 1;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// What a number or a question of facts is.
static SmallVector<int64_t> getValues(const ScheduleFacts &facts) {
  SmallVector<int64_t> values;
  ScheduleFacts::forEach(
      facts, [&](StringRef, int64_t value) { values.push_back(value); });
  return values;
}

static std::optional<unsigned> findFact(StringRef name) {
  std::optional<unsigned> found;
  unsigned number = 0;
  const ScheduleFacts facts;
  ScheduleFacts::forEach(facts, [&](StringRef each, int64_t) {
    if (each == name)
      found = number;
    ++number;
  });
  return found;
}

/// The members of an object, all of which have to be known. Anything may have a
/// note for people.
static bool checkNames(const json::Value &value, ArrayRef<StringRef> names,
                       json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  for (const auto &[name, member] : *object)
    if (name != "note" && !llvm::is_contained(names, StringRef(name))) {
      path.field(name).report("unknown member");
      return false;
    }
  return true;
}

// Where the mapper of JSON finds them.
namespace mlir::attn {

using Range = ScheduleTable::Range;
using Condition = ScheduleTable::Condition;

/// true, false, a number, or the least and the most of a range.
static bool fromJSON(const json::Value &value, Range &range, json::Path path) {
  if (std::optional<bool> flag = value.getAsBoolean()) {
    range.least = range.most = *flag;
    range.isQuestion = true;
    return true;
  }
  if (std::optional<int64_t> number = value.getAsInteger()) {
    range.least = range.most = *number;
    return true;
  }
  const json::Array *ends = value.getAsArray();
  if (ends && ends->size() == 2) {
    std::optional<int64_t> least = (*ends)[0].getAsInteger(),
                           most = (*ends)[1].getAsInteger();
    if (least && most && *least <= *most) {
      range.least = *least;
      range.most = *most;
      return true;
    }
  }
  path.report("expected true, false, a number, or [least, most]");
  return false;
}

static bool fromJSON(const json::Value &value,
                     ScheduleTable::Alternative &alternative, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  for (const auto &[name, condition] : *object) {
    std::optional<unsigned> fact = findFact(name);
    if (!fact) {
      path.field(name).report("unknown condition");
      return false;
    }
    Range &range = alternative.emplace_back();
    range.fact = *fact;
    if (!fromJSON(condition, range, path.field(name)))
      return false;
  }
  return true;
}

/// An object, or an array of alternatives.
static bool fromJSON(const json::Value &value, Condition &condition,
                     json::Path path) {
  const json::Array *array = value.getAsArray();
  if (!array)
    return fromJSON(value, condition.alternatives.emplace_back(), path);
  for (auto [number, alternative] : llvm::enumerate(*array))
    if (!fromJSON(alternative, condition.alternatives.emplace_back(),
                  path.index(number)))
      return false;
  return true;
}

static bool fromJSON(const json::Value &value, ScheduleTable::Use &use,
                     json::Path path) {
  const auto *name = llvm::find(kUses, value.getAsString().value_or(""));
  if (name == std::end(kUses)) {
    path.report("expected usual, last_resort, few_tiles or any_strides");
    return false;
  }
  use = static_cast<ScheduleTable::Use>(name - std::begin(kUses));
  return true;
}

static bool fromJSON(const json::Value &value, ScheduleTable::Default &result,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && checkNames(value, {"when", "members"}, path) &&
         mapper.map("when", result.when) &&
         mapper.map("members", result.members);
}

static bool fromJSON(const json::Value &value, ScheduleTable::Row &row,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper ||
      !checkNames(
          value,
          {"when", "use", "schedule", "tile_cost", "key_cost", "spill_bytes"},
          path) ||
      !mapper.mapOptional("when", row.when) ||
      !mapper.mapOptional("use", row.use) ||
      !mapper.map("schedule", row.schedule) ||
      !mapper.mapOptional("tile_cost", row.tileCost) ||
      !mapper.mapOptional("key_cost", row.keyCost) ||
      !mapper.mapOptional("spill_bytes", row.spillBytes))
    return false;
  StringRef text = row.schedule;
  if (text.starts_with(kPrefix) && text.ends_with(">"))
    return true;
  path.field("schedule").report("expected #hopper.schedule<...>");
  return false;
}

static bool fromJSON(const json::Value &value, ScheduleTable::Section &section,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && checkNames(value, {"defaults", "rows"}, path) &&
         mapper.map("defaults", section.defaults) &&
         mapper.map("rows", section.rows);
}

static bool fromJSON(const json::Value &value, ScheduleTable::Model &model,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper &&
         checkNames(value,
                    {"typical_keys", "masked_part", "alone",
                     "most_instructions", "word_byte_cost", "combine_cost",
                     "part_element_cost"},
                    path) &&
         mapper.map("typical_keys", model.typicalKeys) &&
         mapper.map("masked_part", model.maskedPart) &&
         mapper.map("alone", model.alone) &&
         mapper.map("most_instructions", model.mostInstructions) &&
         mapper.map("word_byte_cost", model.wordByteCost) &&
         mapper.map("combine_cost", model.combineCost) &&
         mapper.map("part_element_cost", model.partElementCost);
}

} // namespace mlir::attn

llvm::Expected<ScheduleTable> ScheduleTable::parse(StringRef text) {
  llvm::Expected<json::Value> value = ::attn::parseJSON(text);
  if (!value)
    return value.takeError();
  json::Path::Root root("schedules");
  json::Path path(root);
  json::ObjectMapper mapper(*value, path);
  int64_t version = 0;
  if (!mapper || !mapper.map("version", version))
    return root.getError();
  if (version != kVersion)
    return llvm::createStringError("expects schedules of version " +
                                   llvm::Twine(kVersion) +
                                   ", but got version " + llvm::Twine(version));
  ScheduleTable table;
  if (!checkNames(*value,
                  {"version", "target", "model", "attention", "gathered",
                   "gradients", "query_gradients"},
                  path) ||
      !mapper.map("target", table.target) ||
      !mapper.map("model", table.model) ||
      !mapper.map("attention", table.attention) ||
      !mapper.map("gathered", table.gathered) ||
      !mapper.mapOptional("gradients", table.gradients) ||
      !mapper.mapOptional("query_gradients", table.queryGradients))
    return root.getError();
  // Pages of gathered keys are whole words.
  table.gathered.keyStep = kWordKeys;
  return table;
}

llvm::Expected<std::shared_ptr<const ScheduleTable>>
ScheduleTable::load(StringRef path, MLIRContext *context) {
  auto explain = [&](const llvm::Twine &text) {
    return llvm::createStringError("cannot read the schedules of '" + path +
                                   "': " + text);
  };
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return explain(buffer.getError().message());
  llvm::Expected<ScheduleTable> table = parse((*buffer)->getBuffer());
  if (!table)
    return explain(llvm::toString(table.takeError()));
  // It may be for attentions alone.
  if (table->gradients.rows.empty())
    table->gradients = getDefault()->gradients;
  if (table->queryGradients.rows.empty())
    table->queryGradients = getDefault()->queryGradients;
  if (llvm::Error error = table->verify(context))
    return explain(llvm::toString(std::move(error)));
  return std::make_shared<const ScheduleTable>(std::move(*table));
}

std::shared_ptr<const ScheduleTable> ScheduleTable::getDefault() {
  static const auto table = std::make_shared<const ScheduleTable>(
      llvm::cantFail(parse(kDefaultTable)));
  return table;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

bool ScheduleTable::Condition::holds(const ScheduleFacts &facts) const {
  SmallVector<int64_t> values = getValues(facts);
  return alternatives.empty() ||
         llvm::any_of(alternatives, [&](ArrayRef<Range> ranges) {
           return llvm::all_of(ranges, [&](const Range &range) {
             return values[range.fact] >= range.least &&
                    values[range.fact] <= range.most;
           });
         });
}

std::string
ScheduleTable::Condition::explain(const ScheduleFacts &facts) const {
  SmallVector<int64_t> values = getValues(facts);
  SmallVector<StringRef> names;
  ScheduleFacts::forEach(
      facts, [&](StringRef name, int64_t) { names.push_back(name); });
  SmallVector<Range> fewest;
  for (const Alternative &alternative : alternatives) {
    SmallVector<Range> failing =
        llvm::filter_to_vector(alternative, [&](const Range &range) {
          return values[range.fact] < range.least ||
                 values[range.fact] > range.most;
        });
    if (failing.empty())
      return "";
    if (fewest.empty() || failing.size() < fewest.size())
      fewest = std::move(failing);
  }
  if (fewest.empty())
    return "";
  // An object of JSON has no order, but facts have one.
  const Range *first = llvm::min_element(
      fewest, [](const Range &a, const Range &b) { return a.fact < b.fact; });
  int64_t value = values[first->fact];
  std::string text = names[first->fact].str() + " is ";
  if (first->isQuestion)
    return text + (value ? "true, not false" : "false, not true");
  text += std::to_string(value) + ", not ";
  return text + (first->least == first->most
                     ? std::to_string(first->least)
                     : "from " + std::to_string(first->least) + " to " +
                           std::to_string(first->most));
}

/// What the first error of some work is, or nothing if it succeeds.
static std::string explainFailure(MLIRContext *context,
                                  function_ref<LogicalResult()> work) {
  std::string message;
  auto thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread)
      return failure();
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  return succeeded(work()) ? "" : message;
}

/// The attribute, or what its verifier or its parser says.
static llvm::Expected<hopper::ScheduleAttr>
parseSchedule(StringRef text, MLIRContext *context) {
  hopper::ScheduleAttr schedule;
  std::string message = explainFailure(context, [&] {
    schedule = dyn_cast_if_present<hopper::ScheduleAttr>(
        parseAttribute(text, context));
    return success(schedule != nullptr);
  });
  if (schedule)
    return schedule;
  return llvm::createStringError(message + " in " + text);
}

const ScheduleTable::Section &
ScheduleTable::getSection(AttentionLikeOpInterface op) const {
  if (auto gradient = dyn_cast<AttentionGradOp>(*op))
    return loopsOverKeys(gradient) ? queryGradients : gradients;
  return op->hasAttr(kGatheredAttrName) ? gathered : attention;
}

std::string ScheduleTable::describe(const Row &row) const {
  for (auto [name, section] : getSections())
    if (!section->rows.empty() && &row >= &section->rows.front() &&
        &row <= &section->rows.back())
      return ("row " + llvm::Twine(&row - &section->rows.front()) + " of " +
              name)
          .str();
  llvm_unreachable("a row of another table");
}

llvm::Expected<hopper::ScheduleAttr>
ScheduleTable::getSchedule(const Section &section, const Row &row,
                           ScheduleFacts facts, MLIRContext *context,
                           int64_t tileN) const {
  auto explain = [&](llvm::Error error) {
    return llvm::createStringError(describe(row) + ": " +
                                   llvm::toString(std::move(error)));
  };
  // Defaults may ask for the work tile. Of members that are written twice the
  // last one counts.
  StringRef members = StringRef(row.schedule).drop_front(kPrefix.size());
  facts.splitsKV = row.use == Use::FewTiles;
  facts.anyStrides = row.use == Use::AnyStrides;
  StringRef tileM = members;
  if (!tileM.consume_front("tile_m = ") ||
      tileM.consumeInteger(/*Radix=*/10, facts.tileM))
    return explain(llvm::createStringError("expects tile_m first"));
  std::string text = kPrefix.str();
  for (const Default &each : section.defaults)
    if (each.when.holds(facts))
      text += each.members + ", ";
  text += members;
  if (tileN) {
    text.pop_back();
    text += ", tile_n = " + std::to_string(tileN) + ">";
  }
  llvm::Expected<hopper::ScheduleAttr> schedule = parseSchedule(text, context);
  if (!schedule)
    return explain(schedule.takeError());
  return schedule;
}

llvm::Error ScheduleTable::verify(MLIRContext *context) const {
  context->getOrLoadDialect<hopper::HopperDialect>();
  TargetAttr chip = getNamedTarget(context, target);
  if (!chip || !chip.getWgmma())
    return llvm::createStringError("expects a target with wgmma, but got '" +
                                   target + "'");
  for (auto [name, section] : getSections())
    for (const Row &row : section->rows) {
      auto reject = [&](const llvm::Twine &text) {
        return llvm::createStringError(describe(row) + ": expects " + text);
      };
      if (!std::isfinite(row.tileCost) || row.tileCost < 0 ||
          !std::isfinite(row.keyCost) || row.keyCost < 0)
        return reject("costs that are not negative");
      if (row.spillBytes < 0)
        return reject("spill_bytes that are not negative");
      SmallVector<Alternative, 1> alternatives = row.when.alternatives;
      if (alternatives.empty())
        alternatives.emplace_back();
      for (const Alternative &alternative : alternatives) {
        ScheduleFacts facts;
        unsigned number = 0;
        ScheduleFacts::forEach(facts, [&](StringRef, int64_t &fact) {
          for (const Range &range : alternative)
            if (range.fact == number)
              fact = range.least;
          ++number;
        });
        if (facts.tileM || facts.splitsKV || facts.anyStrides)
          return reject("conditions on the program");
        llvm::Expected<hopper::ScheduleAttr> schedule =
            getSchedule(*section, row, facts, context);
        if (!schedule)
          return schedule.takeError();
        if (schedule->getSplitKV() != (row.use == Use::FewTiles) ||
            schedule->getStrided() != (row.use == Use::AnyStrides))
          return reject("split_kv for few tiles alone, and strided for any "
                        "strides");
        std::string message = explainFailure(context, [&] {
          auto emit = [&] { return emitError(UnknownLoc::get(context)); };
          return hopper::verifyRegisters(emit, chip, *schedule);
        });
        if (!message.empty())
          return llvm::createStringError(describe(row) + ": " + message);
        // Gradients have other tiles, and an order of their own.
        if (section == &gradients || section == &queryGradients) {
          if (!schedule->getOrder())
            return reject("an order of steps");
          continue;
        }
        int64_t least = std::max<int64_t>(facts.dim, 8);
        if (!fitsSharedMemory(
                chip, *schedule,
                {facts.queryKeyDim, std::max(facts.valueDim, least)}))
          return reject("a schedule that fits the shared memory of " + target);
      }
    }
  return llvm::Error::success();
}
