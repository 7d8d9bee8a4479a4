//===- ProtocolTerms.h - Integers that both roles compute -------*- C++ -*-===//
//
// The two roles of a kernel agree on what to copy because they compute the same
// numbers. A term is a number in a form that is equal for both: a sum of atoms,
// where equal computations from equal terms are one atom.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLTERMS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLTERMS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include <map>

namespace mlir::attn::protocol {

/// `constant + sum of coefficient * atom`, modulo 2^bits.
struct Term {
  unsigned bits = 32;
  uint64_t constant = 0;
  /// By number of the atom; no coefficient is 0.
  SmallVector<std::pair<unsigned, uint64_t>, 2> parts;

  bool isConstant() const { return parts.empty(); }
  /// The only atom of a term that is one, with nothing added.
  std::optional<unsigned> getAtom() const;
  bool operator==(const Term &other) const {
    return bits == other.bits && constant == other.constant &&
           parts == other.parts;
  }
};

/// `a + factor * b`.
Term combine(const Term &a, const Term &b, uint64_t factor = 1);
inline Term add(const Term &a, uint64_t value) {
  return combine(a, Term{a.bits, value, {}});
}
inline Term subtract(const Term &a, const Term &b) {
  return combine(a, b, ~uint64_t(0));
}

/// What is known about the integers of a kernel at the place that is looked at.
class TermTable {
public:
  /// Of an integer or index. What is computed by other than pure arithmetic is
  /// equal only to itself.
  Term get(Value value);
  /// Sets what a value is, until its region is forgotten.
  void bind(Value value, const Term &term) { known[value] = term; }
  /// Forgets values in the regions of an operation, which will be looked at
  /// again with other arguments.
  void forget(Operation *op);

  Term getFresh(unsigned bits);
  /// The same atom each time for the same name and terms.
  Term getNamed(StringRef name, unsigned bits, ArrayRef<Term> terms);

  /// Facts hold until they are dropped.
  struct Mark {
    size_t facts, orders;
  };
  Mark getMark() const { return {facts.size(), orders.size()}; }
  void dropFacts(Mark mark) {
    facts.truncate(mark.facts);
    orders.truncate(mark.orders);
  }
  /// Assumes that a condition, an i1, holds or does not.
  void assume(const Term &condition, bool holds);

  bool areEqual(const Term &a, const Term &b) const;
  /// Whether `a <= b` can be proven, as signed numbers.
  bool isAtMost(const Term &a, const Term &b, unsigned depth = 6) const;
  /// Whether two conditions are the same, one of which may ask for the sign of
  /// a number that the other one has chosen.
  bool areEquivalent(const Term &a, const Term &b) const;
  /// Facts about what a term is computed from count, too, but not those about
  /// what is `depth` operations away.
  ConstantIntRanges getRange(const Term &term, unsigned depth = 4) const;

private:
  struct Atom {
    unsigned bits;
    /// What computes it from `operands`, if that is known.
    Operation *op = nullptr;
    SmallVector<Term> operands;
    /// Without facts, which an atom outlives.
    std::optional<ConstantIntRanges> range;
  };
  struct Fact {
    Term term;
    ConstantIntRanges range;
  };

  /// `smaller < larger`, or equal if that is allowed, as signed numbers.
  struct Order {
    Term smaller, larger;
    bool isStrict;
  };

  std::optional<std::pair<Term, Term>> getDifference(const Term &term,
                                                     unsigned depth) const;
  std::optional<ConstantIntRanges>
  inferRange(Operation *op, ArrayRef<Term> operands, unsigned depth) const;
  Term evaluate(Value value);
  Term getPure(Operation *op, unsigned bits);
  Term getAtom(ArrayRef<uint64_t> key, ArrayRef<Term> terms, Atom atom);
  const Atom *findAtom(const Term &term) const;

  DenseMap<Value, Term> known;
  SmallVector<Atom> atoms;
  std::map<SmallVector<uint64_t>, unsigned> numbers;
  SmallVector<Fact> facts;
  SmallVector<Order> orders;
};

/// Whether all threads of a consumer have the same value.
bool isSameForThreads(Value value);

/// The bits of an integer or index; 0 for other types.
unsigned getBits(Type type);

} // namespace mlir::attn::protocol

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOLTERMS_H
