//===- Tangents.h - Derivatives of a compiled region ------------*- C++ -*-===//
//
// Forward mode: with each register of a Program that has been run goes the
// derivative of what it holds with respect to one input, the seed. Derivatives
// of instructions are written down here and nowhere else, so that what
// compilers do can be judged by them. No MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_TANGENTS_H
#define ATTN_LIB_REFERENCE_TANGENTS_H

#include "Program.h"

namespace attn::reference {

/// An input whose derivative is 1.
struct Seed {
  enum Kind : uint8_t {
    /// A float register of the row stage, or of the lane stage.
    RowRegister,
    LaneRegister,
    /// What an access reads, by its number.
    Access,
  };
  Kind kind;
  uint32_t number;
};

/// A derivative, and the sum of the magnitudes of the terms that it is the sum
/// of, which is larger where these cancel out.
struct Tangent {
  double value = 0, magnitude = 0;
};

/// The derivatives with respect to one seed.
class Tangents {
public:
  Tangents(const Program &program, Seed seed);

  /// After the frame has run its row stage, and for one lane after it has run
  /// the lane stage.
  void runRow(Frame &frame);
  void runLane(Frame &frame, unsigned lane);

  /// Of a float register of the lane stage.
  const Tangent &getLane(uint32_t reg) const { return lanes[reg]; }

private:
  const Program &program;
  Seed seed;
  std::vector<Tangent> rows, lanes;
};

/// Whether access `number` is in the row stage; it is in one of them.
bool isRowAccess(const Program &program, uint32_t number);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_TANGENTS_H
