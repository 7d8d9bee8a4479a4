//===- NpyHeader.cpp - The header of a .npy file --------------------------===//

#include "NpyHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr llvm::StringLiteral kMagic("\x93NUMPY");

Expected<NpyPrefix> attn::parseNpyPrefix(StringRef start) {
  if (start.starts_with("PK"))
    return llvm::createStringError(
        "expects a .npy file, but got a zip archive (.npz); save "
        "the array alone with np.save");
  if (!start.starts_with(kMagic))
    return llvm::createStringError(
        "expects a .npy file, but the file does not begin with "
        "\"\\x93NUMPY\"");
  auto tooShort = [&](size_t expected) {
    return llvm::createStringError(
        llvm::formatv("expects at least {0} bytes of .npy header, "
                      "but the file holds {1}",
                      expected, start.size()));
  };
  if (start.size() < 8)
    return tooShort(8);
  unsigned major = static_cast<uint8_t>(start[6]);
  unsigned minor = static_cast<uint8_t>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    return llvm::createStringError(
        llvm::formatv("expects .npy version 1.0, 2.0 or 3.0, but "
                      "got {0}.{1}",
                      major, minor));
  size_t offset = major == 1 ? 10 : 12;
  if (start.size() < offset)
    return tooShort(offset);
  size_t size = major == 1 ? llvm::support::endian::read16le(start.data() + 8)
                           : llvm::support::endian::read32le(start.data() + 8);
  return NpyPrefix{offset, size};
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace {
/// A parser of the few Python literals that a header is made of. Each parse
/// function returns an error or consumes what it names.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text), rest(text) {}

  Expected<NpyHeader> parse();

private:
  Error fail(const llvm::Twine &expected);
  bool consume(char c);
  Error parseString(std::string &value);
  Error parseDescr();
  Error parseBool(bool &value);
  Error parseShape();

  StringRef text;
  StringRef rest;
  NpyHeader header;
};
} // namespace

/// Text of the file for a message: short and printable.
static std::string quote(StringRef text) {
  std::string quoted = "'";
  llvm::raw_string_ostream os(quoted);
  llvm::printEscapedString(text.take_front(40), os);
  os << (text.size() > 40 ? "...'" : "'");
  return quoted;
}

Error HeaderParser::fail(const llvm::Twine &expected) {
  std::string got = rest.empty() ? "the end of the header" : quote(rest);
  return llvm::createStringError(
      llvm::formatv("expects {0} at byte {1} of the .npy header, but got {2}",
                    expected.str(), text.size() - rest.size(), got));
}

/// Skips white space and then takes the character if it is next.
bool HeaderParser::consume(char c) {
  rest = rest.ltrim();
  return !rest.empty() && rest.front() == c && (rest = rest.drop_front(), true);
}

Error HeaderParser::parseString(std::string &value) {
  rest = rest.ltrim();
  if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
    return fail("a string");
  size_t end = rest.find(rest.front(), 1);
  // No string that matters here has an escape sequence.
  if (end == StringRef::npos)
    return fail("a string with an end");
  value = rest.slice(1, end).str();
  rest = rest.drop_front(end + 1);
  return Error::success();
}

Error HeaderParser::parseDescr() {
  rest = rest.ltrim();
  header.isSimpleDescr = !rest.starts_with("[") && !rest.starts_with("(");
  if (header.isSimpleDescr)
    return parseString(header.descr);
  // A structured type: take its source, to name it.
  size_t depth = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '[' || rest[i] == '(')
      ++depth;
    else if ((rest[i] == ']' || rest[i] == ')') && --depth == 0) {
      header.descr = rest.take_front(i + 1).str();
      rest = rest.drop_front(i + 1);
      return Error::success();
    }
  }
  return fail("a type with a closing bracket");
}

Error HeaderParser::parseBool(bool &value) {
  rest = rest.ltrim();
  value = rest.consume_front("True");
  if (!value && !rest.consume_front("False"))
    return fail("True or False");
  return Error::success();
}

Error HeaderParser::parseShape() {
  if (!consume('('))
    return fail("'('");
  while (!consume(')')) {
    if (header.shape.size() == kMaxRank)
      return llvm::createStringError(llvm::formatv(
          "expects a rank of at most {0}, but got more", kMaxRank));
    StringRef digits = rest.take_while(llvm::isDigit);
    int64_t size;
    if (digits.empty())
      return fail("a size");
    if (digits.getAsInteger(10, size))
      return fail("a size below 2^63");
    header.shape.push_back(size);
    rest = rest.drop_front(digits.size());
    // Python 2 wrote long integers as 3L.
    rest.consume_front("L");
    if (consume(',')) {
      rest = rest.ltrim();
      continue;
    }
    if (!rest.starts_with(")"))
      return fail("',' or ')'");
    // In Python, (3) is a number and no tuple.
    if (header.shape.size() == 1)
      return fail("','");
  }
  return Error::success();
}

Expected<NpyHeader> HeaderParser::parse() {
  bool hasDescr = false, hasOrder = false, hasShape = false;
  if (!consume('{'))
    return fail("'{'");
  while (!consume('}')) {
    StringRef beforeKey = rest;
    std::string key;
    if (Error error = parseString(key))
      return error;
    bool *seen = key == "descr"           ? &hasDescr
                 : key == "fortran_order" ? &hasOrder
                 : key == "shape"         ? &hasShape
                                          : nullptr;
    if (!seen || *seen) {
      rest = beforeKey;
      return fail("each of 'descr', 'fortran_order' and 'shape' once");
    }
    *seen = true;
    if (!consume(':'))
      return fail("':'");
    if (Error error = seen == &hasDescr   ? parseDescr()
                      : seen == &hasOrder ? parseBool(header.isFortranOrder)
                                          : parseShape())
      return error;
    if (!consume(',') && !rest.starts_with("}"))
      return fail("',' or '}'");
  }
  rest = rest.ltrim();
  if (!rest.empty())
    return fail("the end of the header");
  if (!hasDescr || !hasOrder || !hasShape)
    return fail("each of 'descr', 'fortran_order' and 'shape'");
  return std::move(header);
}

Expected<NpyHeader> attn::parseNpyHeader(StringRef text) {
  return HeaderParser(text).parse();
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

std::string attn::formatNpyStart(DType dtype, llvm::ArrayRef<int64_t> shape) {
  std::string sizes;
  for (int64_t size : shape)
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  if (shape.size() == 1)
    sizes += ',';
  std::string header = llvm::formatv(
      "{{'descr': '{0}', 'fortran_order': False, 'shape': ({1}), }",
      getNumpyDescr(dtype), sizes);
  // The header ends in a newline at a multiple of 64 bytes. kMaxRank keeps it
  // within the 65535 bytes of version 1.0.
  constexpr size_t prefix = 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  char length[2];
  llvm::support::endian::write16le(length, header.size());
  return kMagic.str() + std::string("\x01\x00", 2) + std::string(length, 2) +
         header;
}
