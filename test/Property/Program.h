//===- Program.h - Random attention programs --------------------*- C++ -*-===//
//
// What a test case is: a function with attention on arguments of given shapes
// and contents. It is kept as a tree that can be printed as MLIR and made
// smaller. Any change that keeps the types of expressions gives a valid case
// again: reads of captures are kept inside when they are printed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_PROPERTY_PROGRAM_H
#define ATTN_TEST_PROPERTY_PROGRAM_H

#include "attn/JIT/Compiler.h"
#include "attn/Support/ArgSpec.h"
#include <memory>
#include <string>
#include <vector>

namespace attn::property {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Float is the type of scores, Int is index.
enum class Type { Float, Int, Bool };

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

/// A value in a region. Nodes may be shared.
struct Expr {
  enum class Kind {
    /// `name`: s, b, h, i, j, or one of a loop.
    Variable,
    /// `number` or `integer`.
    Constant,
    /// The operation `name`, or the result `integer` of it.
    Op,
    /// The operation and predicate `name` on two arguments of one type.
    Compare,
    /// args[0] ? args[1] : args[2], as arith.select and as scf.if.
    Select,
    If,
    /// Of a Bool to Int or Float, or between Int and Float by the operation
    /// `name`, where it is not arith.sitofp.
    Cast,
    /// An element of a capture at args, or a scalar capture.
    Capture,
    /// Dimension `integer` of a capture.
    Dim,
    /// A loop of `integer` iterations that carries args[0] and makes args[1] of
    /// it, in integers of `width` bits, or index. In args[1], the Variables of
    /// `name` and "c", and of `name` and "r", are what is carried and the
    /// number of the iteration; elsewhere they are 0.
    For,
  };

  Kind kind;
  Type type;
  std::string name;
  double number = 0;
  int64_t integer = 0;
  size_t capture = 0;
  /// The bits that an Int operation is computed in, 0 for index.
  unsigned width = 0;
  /// The type that a Float operation is computed in, if not that of scores.
  std::string floatType;
  std::vector<ExprRef> args;

  bool isVariable(llvm::StringRef wanted) const {
    return kind == Kind::Variable && name == wanted;
  }
};

ExprRef makeVariable(llvm::StringRef name);
/// What the loop `loop` carries, or the number of its iteration.
ExprRef makeCarried(Type type, llvm::StringRef loop);
ExprRef makeIteration(llvm::StringRef loop);
ExprRef makeFor(llvm::StringRef name, int64_t count, ExprRef init, ExprRef next,
                unsigned width = 0);
ExprRef makeFloat(double number);
ExprRef makeInt(int64_t number);
ExprRef makeBool(bool value);
ExprRef makeOp(Type type, llvm::StringRef name, std::vector<ExprRef> args,
               unsigned width = 0);
/// A result of an operation that has several.
ExprRef makeResult(Type type, llvm::StringRef name, std::vector<ExprRef> args,
                   int64_t number, unsigned width = 0);
ExprRef makeOpIn(llvm::StringRef floatType, llvm::StringRef name,
                 std::vector<ExprRef> args);
/// From Float to Int, or back, by an operation.
ExprRef makeConversion(Type type, llvm::StringRef name, ExprRef from,
                       unsigned width = 0, llvm::StringRef floatType = "");
ExprRef makeCompare(llvm::StringRef name, ExprRef lhs, ExprRef rhs,
                    unsigned width = 0);
ExprRef makeSelect(Expr::Kind kind, ExprRef condition, ExprRef yes, ExprRef no);
ExprRef makeCast(Type type, ExprRef from, unsigned width = 0);

/// The number of nodes, counted each time they are used.
size_t getSize(const ExprRef &expr);

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The run-time extents of one run.
struct Lengths {
  int64_t batch = 1;
  int64_t kvHeads = 1;
  /// Query heads for each head of keys and values.
  int64_t group = 1;
  int64_t queries = 1;
  int64_t keys = 1;

  int64_t getHeads() const { return kvHeads * group; }
};

/// Which extent a dimension of a capture has. QueryBlocks and KeyBlocks count
/// blocks of `constant`, RowStarts has one more; Entries are all that lists
/// hold.
enum class DimKind {
  Batch,
  Heads,
  Queries,
  Keys,
  Constant,
  QueryBlocks,
  KeyBlocks,
  RowStarts,
  Entries
};

struct CaptureDim {
  DimKind kind = DimKind::Constant;
  int64_t constant = 1;
  bool dynamic = false;

  int64_t get(const Lengths &lengths) const;
};

struct Capture {
  DType dtype = DType::F32;
  /// An index, which has the dtype I64, or a scalar of the dtype.
  bool isScalar = false;
  bool isIndex = false;
  /// Of a sparsity alone: regions do not get it.
  bool isOperand = false;
  std::vector<CaptureDim> dims;
  /// What is written before the shape in an ArgSpec.
  std::string fill = "randn";
};

struct Sparsity {
  /// The captures that are its bits, or rows and columns of lists.
  size_t operand = 0;
  std::optional<size_t> columns;
  int64_t blockQueries = 1;
  int64_t blockKeys = 1;
};

struct Attention {
  std::optional<double> scale;
  ExprRef score, mask;
  /// The probability of dropout, by the seed of the program.
  std::optional<double> dropout;
  std::optional<Sparsity> sparsity;
  bool lse = false;
  /// Whether its queries are the output of the attention before.
  bool chained = false;
};

/// How a tensor lies in memory: extra elements between its rows and slices, and
/// the dimensions but the innermost in another order. 0 is dense.
struct Strides {
  uint64_t seed = 0;
};

struct Program {
  DeviceKind device = DeviceKind::CPU;
  DType dtype = DType::F32;
  int64_t keyDim = 8;
  int64_t valueDim = 8;
  /// Of q, k, v and o, such as "bhsd".
  std::string layouts[4] = {"bhsd", "bhsd", "bhsd", "bhsd"};
  /// Whether batch, heads and length of q (and o), k and v are free in types.
  bool dynamic[3][3] = {};
  /// Keys and values have one batch for all.
  bool broadcast = false;
  /// Attentions read keys in place of values as well, if these have one type.
  bool keysAreValues = false;
  std::vector<Capture> captures;
  std::vector<Attention> attentions;
  /// What is written before the shape in the ArgSpecs of q, k and v.
  std::string fills[3] = {"randn", "randn", "randn"};

  /// Run in turn with one kernel.
  std::vector<Lengths> runs;
  bool boundsCheck = false;
  /// As CompileOptions::sparsity.
  std::string sparsityForm = "auto";
  unsigned optLevel = 3;
  Strides strides;
  /// Of the data.
  uint64_t seed = 0;

  bool isF64() const { return dtype == DType::F64; }
  size_t getNumInputs() const { return 3 + captures.size(); }
  /// The extents of an input.
  Shape getInputShape(size_t input, const Lengths &lengths) const;
  DType getInputDType(size_t input) const;
  /// The extents of o, or of lse.
  Shape getResultShape(bool ofLse, const Lengths &lengths) const;
  /// The contents of an input as an ArgSpec, with its shape.
  std::string getInputSpec(size_t input, const Lengths &lengths) const;
  llvm::Expected<Tensor> makeInput(size_t input, const Lengths &lengths) const;
  /// Whether it is made of the input before, the rows of lists.
  bool isColumns(size_t input) const;
};

/// The program as MLIR.
std::string print(const Program &program);

/// Lines of comment that say what the case is and how it is run.
std::string printCommands(const Program &program, llvm::StringRef path);

/// A random program for a device. The same seed gives the same one.
Program generate(uint64_t seed, DeviceKind device);

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// What became of a case. The text is empty if all is right.
struct Outcome {
  enum class Kind {
    Right,
    /// The compiler says that the program is one for a CPU.
    Unsupported,
    /// The compiler rejects the program.
    Rejected,
    /// The process died.
    Crash,
    Timeout,
    /// The kernel reports an error.
    RunError,
    /// Results are wrong, differ between runs, or something else was written.
    Wrong,
    NotDeterministic,
    StrayWrite,
    /// The reference cannot evaluate the program.
    NoReference,
  };
  Kind kind = Kind::Right;
  std::string text;

  bool isFailure() const {
    return kind != Kind::Right && kind != Kind::Unsupported;
  }
};

llvm::StringRef getName(Outcome::Kind kind);

/// How cases are checked.
struct CheckOptions {
  /// Seconds that one may take.
  unsigned timeout = 60;
  /// Spoils results before they are compared, to test the comparison.
  bool spoil = false;
  /// Compiles and does not run.
  bool compileOnly = false;
  /// Of the program that computes gradients.
  bool gradients = false;
};

/// Compiles and runs a program and compares the results with the reference, in
/// a process of its own.
Outcome check(const Program &program, const CheckOptions &options);

/// Makes a failing program smaller as long as it fails in the same way and
/// `mayContinue` agrees.
Program shrink(const Program &program, Outcome::Kind kind,
               llvm::function_ref<Outcome(const Program &)> check,
               llvm::function_ref<bool()> mayContinue);

} // namespace attn::property

#endif // ATTN_TEST_PROPERTY_PROGRAM_H
