//===- ScheduleTable.h - Schedules by what a program is ---------*- C++ -*-===//
//
// The file schedules.json, which is part of the compiler, or another one that
// somebody has measured. docs/gpu.md says what is in it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULETABLE_H
#define ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULETABLE_H

#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "llvm/Support/Error.h"
#include <array>
#include <memory>

namespace mlir::attn {

class AttentionLikeOpInterface;
struct ScheduleFacts;

/// Rows of conditions on a program, each with a schedule and what it costs.
/// Pure data, of no context.
class ScheduleTable {
public:
  /// What a launch takes the kernel of a row for.
  enum class Use {
    /// One of several, by the extents.
    Usual,
    /// If ptxas compiles none of the others well.
    LastResort,
    /// Few work tiles, or long ones: it shares out the keys of a tile.
    FewTiles,
    /// Tensors that the others cannot copy.
    AnyStrides
  };

  /// All facts of one alternative lie in these ranges.
  struct Range {
    unsigned fact;
    int64_t least, most;
    /// Whether it is written as true or false.
    bool isQuestion = false;
  };
  using Alternative = SmallVector<Range, 4>;
  /// One of several alternatives; none at all stands for any program.
  struct Condition {
    SmallVector<Alternative, 1> alternatives;
    bool holds(const ScheduleFacts &facts) const;
    /// The first thing that keeps it from holding, "dim is 128, not from 8 to
    /// 64", of the alternative that lacks least; empty if it holds.
    std::string explain(const ScheduleFacts &facts) const;
  };

  /// Members that rows have where they say nothing else.
  struct Default {
    Condition when;
    std::string members;
  };
  struct Row {
    Condition when;
    Use use = Use::Usual;
    /// Text of #hopper.schedule<...>.
    std::string schedule;
    /// In microseconds, of a work tile and of each of its keys.
    double tileCost = 0, keyCost = 0;
    /// What its kernels may spill, see HopperSchedule.
    int64_t spillBytes = 0;
  };
  struct Section {
    std::vector<Default> defaults;
    std::vector<Row> rows;
    /// By which the KV block of a row shrinks until it fits the memory.
    int64_t keyStep = 16;
  };

  /// What else costs, or saves, in microseconds where it is a time.
  struct Model {
    /// The keys that a window or a document leaves as a rule, and the part of
    /// all that another mask does.
    double typicalKeys = 0, maskedPart = 1;
    /// How many times as fast a CTA is that is alone on its SM.
    double alone = 1;
    /// Instructions of score and mask for the pairs that a thread has in a KV
    /// block: ptxas finds no registers for more.
    double mostInstructions = 0;
    /// A byte of the bits of pairs, written and read once; the start of the
    /// kernel that combines parts; an element of a row of a part.
    double wordByteCost = 0, combineCost = 0, partElementCost = 0;
  };

  /// Reads a file, and checks that each row is legal on the target that it
  /// names. An error says which row is wrong.
  static llvm::Expected<std::shared_ptr<const ScheduleTable>>
  load(StringRef path, MLIRContext *context);
  static llvm::Expected<ScheduleTable> parse(StringRef text);
  /// That of the compiler.
  static std::shared_ptr<const ScheduleTable> getDefault();

  /// Whether each row has a schedule that the target can run, for the least
  /// program that takes it.
  llvm::Error verify(MLIRContext *context) const;

  /// The schedule of a row for a program, with another KV block if `tileN` is
  /// not 0. Fails where defaults and the row contradict each other.
  llvm::Expected<hopper::ScheduleAttr>
  getSchedule(const Section &section, const Row &row, ScheduleFacts facts,
              MLIRContext *context, int64_t tileN = 0) const;

  /// All sections by their names in the file.
  std::array<std::pair<StringRef, const Section *>, 4> getSections() const {
    return {{{"attention", &attention},
             {"gathered", &gathered},
             {"gradients", &gradients},
             {"query_gradients", &queryGradients}}};
  }
  /// That with the rows of an operation.
  const Section &getSection(AttentionLikeOpInterface op) const;

  /// A name for a row, by which errors and remarks tell it.
  std::string describe(const Row &row) const;

  std::string target;
  Model model;
  /// Of dense tiles, and of tiles that gather the keys of lists; of gradients
  /// whose work tiles have keys, and of those whose work tiles have queries,
  /// which are those of the compiler where a file has none.
  Section attention, gathered, gradients, queryGradients;
};

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULETABLE_H
