//===- ArgSpec.cpp - Arguments described in text --------------------------===//

#include "attn/Support/ArgSpec.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace attn;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

using Kind = ArgSpec::Kind;

namespace {
/// A parser of one spec. Each parse function returns an error or consumes what
/// it names.
class SpecParser {
public:
  explicit SpecParser(StringRef text) : text(text), rest(text) {}

  Expected<ArgSpec> parse();

private:
  Error fail(const llvm::Twine &expected);
  Error parseCharacter(char c);
  Error parseReal(double &value);
  Error parseInteger(int64_t &value);
  Error parseFullValue();
  Error parseParameters();
  Error parseShape();
  StringRef peekNumber();

  StringRef text;
  StringRef rest;
  ArgSpec spec;
};
} // namespace

Error SpecParser::fail(const llvm::Twine &expected) {
  std::string got = rest.empty() ? "the end" : "'" + rest.str() + "'";
  return llvm::createStringError(
      llvm::formatv("expects {0} at column {1} of '{2}', but got "
                    "{3}",
                    expected.str(), text.size() - rest.size() + 1, text, got));
}

Error SpecParser::parseCharacter(char c) {
  rest = rest.ltrim();
  if (!rest.consume_front(StringRef(&c, 1)))
    return fail("'" + llvm::Twine(c) + "'");
  return Error::success();
}

/// The text up to what ends a number.
StringRef SpecParser::peekNumber() {
  rest = rest.ltrim();
  return rest.take_until([](char c) { return StringRef(",():").contains(c); });
}

Error SpecParser::parseReal(double &value) {
  StringRef number = peekNumber();
  if (number.rtrim().getAsDouble(value))
    return fail("a number");
  // 1e999 reads as an infinity, which only "inf" may mean.
  if (std::isinf(value) && !number.contains_insensitive("inf"))
    return fail("a number within the range of f64");
  rest = rest.drop_front(number.size());
  return Error::success();
}

Error SpecParser::parseInteger(int64_t &value) {
  StringRef number = peekNumber();
  if (number.rtrim().getAsInteger(10, value))
    return fail("a 64-bit integer");
  rest = rest.drop_front(number.size());
  return Error::success();
}

/// An integer is kept as such, since not every one is a double.
Error SpecParser::parseFullValue() {
  spec.kind = Kind::Full;
  spec.isInteger = !peekNumber().rtrim().getAsInteger(10, spec.intLo);
  return parseReal(spec.lo);
}

Error SpecParser::parseShape() {
  Shape &shape = spec.shape.emplace();
  do {
    StringRef digits = rest.take_while(llvm::isDigit);
    int64_t size;
    if (digits.empty())
      return fail("a size");
    if (digits.getAsInteger(10, size))
      return fail("a size below 2^63");
    shape.push_back(size);
    rest = rest.drop_front(digits.size());
  } while (rest.consume_front("x"));
  return Error::success();
}

/// Parses what follows the name.
Error SpecParser::parseParameters() {
  if (spec.kind == Kind::Randn || spec.kind == Kind::Arange)
    return Error::success();
  if (Error error = parseCharacter('('))
    return error;
  if (spec.kind == Kind::Full) {
    if (Error error = parseFullValue())
      return error;
    return parseCharacter(')');
  }
  if (spec.kind == Kind::Blocks) {
    StringRef beforeNumber = rest;
    if (Error error = parseReal(spec.lo))
      return error;
    if (!(spec.lo >= 0 && spec.lo <= 1)) {
      rest = beforeNumber;
      return fail("a probability from 0 to 1");
    }
    return parseCharacter(')');
  }
  StringRef beforeRange = rest;
  bool isUniform = spec.kind == Kind::Uniform;
  if (Error error = isUniform ? parseReal(spec.lo) : parseInteger(spec.intLo))
    return error;
  if (Error error = parseCharacter(','))
    return error;
  if (Error error = isUniform ? parseReal(spec.hi) : parseInteger(spec.intHi))
    return error;
  if (Error error = parseCharacter(')'))
    return error;
  bool isRange = isUniform
                     ? spec.lo < spec.hi && std::isfinite(spec.hi - spec.lo)
                     : spec.intLo < spec.intHi;
  if (!isRange) {
    rest = beforeRange;
    return fail(isUniform ? "finite lo < hi" : "lo < hi");
  }
  return Error::success();
}

Expected<ArgSpec> SpecParser::parse() {
  if (text.ends_with(".npy") || text.contains('/')) {
    spec.kind = Kind::File;
    spec.text = text.str();
    return std::move(spec);
  }
  StringRef name = rest.take_while(llvm::isAlpha);
  auto kind = llvm::StringSwitch<std::optional<Kind>>(name)
                  .Case("randn", Kind::Randn)
                  .Case("uniform", Kind::Uniform)
                  .Case("randint", Kind::RandInt)
                  .Case("arange", Kind::Arange)
                  .Case("blocks", Kind::Blocks)
                  .Case("full", Kind::Full)
                  .Default(std::nullopt);
  if (kind) {
    spec.kind = *kind;
    rest = rest.drop_front(name.size());
    if (Error error = parseParameters())
      return error;
  } else if (Error error = parseFullValue()) {
    llvm::consumeError(std::move(error));
    return fail("randn, uniform(lo,hi), randint(lo,hi), arange, blocks(p), "
                "full(x), a number or a .npy file");
  }
  spec.text = text.drop_back(rest.size()).str();
  if (rest.empty())
    return std::move(spec);
  if (!rest.consume_front(":"))
    return fail("':' and a shape, or the end,");
  if (Error error = parseShape())
    return error;
  if (!rest.empty())
    return fail("'x' and a size, or the end,");
  return std::move(spec);
}

Expected<ArgSpec> ArgSpec::parse(StringRef text) {
  return SpecParser(text).parse();
}
