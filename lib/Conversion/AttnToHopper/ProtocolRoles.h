//===- ProtocolRoles.h - Producer and consumers side by side ----*- C++ -*-===//
//
// Follows both roles at the same time (ProtocolRoles.cpp), loops for all
// iterations at once (ProtocolLoops.cpp). Where the roles have other loops and
// branches than each other, each is followed alone, and all ways that they may
// take are run against each other (ProtocolRanges.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLROLES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLROLES_H

#include "Protocol.h"
#include "ProtocolTerms.h"

namespace mlir::attn::protocol {

/// A ring, and the number of the first use that is not released. Where the
/// producer is followed alone, of the first that is not put.
struct NumberedRing : Ring {
  Term released;
  /// What comes with uses that have not been received: a message, a note, or
  /// nothing.
  SmallVector<SmallVector<Term>> messages;
};

/// A number that changes from one iteration of a loop to the next.
struct Carried {
  Term init;
  /// What any iteration adds.
  Term growth;
  /// Which of the numbers it is equal to at the start of each iteration.
  size_t group = 0, next = 0;
};

/// Steps, and the loop or branch that follows them; none at the end.
struct Section {
  SmallVector<Operation *> steps;
  Operation *meeting = nullptr;
};

/// One way through a block: steps, with the iterations of loops between them.
struct Way {
  struct Piece {
    SmallVector<Step> steps;
    /// Null for steps that are done once.
    Operation *loop = nullptr;
  };
  SmallVector<Piece> pieces;
  size_t getNumLoops() const {
    return llvm::count_if(pieces, [](const Piece &p) { return p.loop; });
  }
};

class RolesCheck {
public:
  explicit RolesCheck(const Roles &roles) : roles(roles) {}
  LogicalResult check();

private:
  // Where only one role is followed, what is of the other one is null.
  LogicalResult walk(Block *producer, Block *consumer, Operation *owner);
  LogicalResult walkSteps(const Section &producer, const Section &consumer);
  LogicalResult walkProducerStep(Operation *op);
  LogicalResult walkConsumerStep(Operation *op);
  LogicalResult walkMeeting(Operation *producer, Operation *consumer);
  Term getChoice(const Term &condition, const Term &a, const Term &b);
  LogicalResult walkIf(scf::IfOp producer, scf::IfOp consumer);
  LogicalResult walkFor(scf::ForOp producer, scf::ForOp consumer);
  LogicalResult walkWhile(scf::WhileOp producer, scf::WhileOp consumer);
  LogicalResult walkLoop(Operation *producer, Operation *consumer,
                         ArrayRef<std::pair<Value, Term>> carried,
                         std::optional<Term> trip,
                         function_ref<FailureOr<SmallVector<Term>>()> body,
                         function_ref<LogicalResult()> end);
  LogicalResult verifyNumber(Operation *op, Value number, const Term &expected);
  LogicalResult verifySame(Operation *producer, Operation *consumer,
                           ArrayRef<NumberedRing> before);

  bool isApart(Block *producer, Block *consumer);
  LogicalResult walkApart(Block *producer, Block *consumer, Operation *owner);
  LogicalResult verifyEqualUses(ArrayRef<NumberedRing> start,
                                ArrayRef<NumberedRing> puts, Operation *owner);
  LogicalResult addWays(Block *block, SmallVectorImpl<Way> &ways);
  LogicalResult runWays(ArrayRef<Way> producer, ArrayRef<Way> consumer,
                        Operation *owner);

  SmallVector<Section> split(Block *block);
  NumberedRing *findRing(Operation *op);
  Step getStep(Operation *op);
  SmallVector<Step> getSteps(ArrayRef<Operation *> ops) {
    return llvm::map_to_vector(ops, [&](Operation *op) { return getStep(op); });
  }
  /// Those of the values that are integers.
  void addTerms(ValueRange values, SmallVectorImpl<Term> &list) {
    for (Value value : values)
      if (getBits(value.getType()))
        list.push_back(terms.get(value));
  }
  void addCarried(ValueRange arguments, ValueRange inits,
                  SmallVectorImpl<std::pair<Value, Term>> &list) {
    for (auto [argument, init] : llvm::zip_equal(arguments, inits))
      if (getBits(argument.getType()))
        list.push_back({argument, terms.get(init)});
  }

  Roles roles;
  TermTable terms;
  SmallVector<NumberedRing> rings;
  /// Loops and branches with steps.
  DenseSet<Operation *> meetings;
  /// Which roles are followed.
  enum class Followed { Both, Producer, Consumers } followed = Followed::Both;
  /// Whether numbers stand for any.
  bool isMeasuring = false;
};

} // namespace mlir::attn::protocol

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLROLES_H
