//===- NpyReaderTest.cpp - Tests of reading .npy files --------------------===//

#include "TestHelpers.h"
#include "attn/Support/Npy.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <fstream>
#include <sys/stat.h>

using namespace attn;
using llvm::StringRef;

/// The start of a file up to the data, for a header as it is.
static std::string makeStart(StringRef header, int major = 1) {
  char length[4];
  llvm::support::endian::write32le(length, header.size());
  return "\x93NUMPY" + std::string(1, char(major)) + std::string(1, '\0') +
         std::string(length, major == 1 ? 2 : 4) + header.str();
}

static std::string makeHeader(StringRef descr, StringRef shape,
                              StringRef order = "False") {
  return llvm::formatv(
      "{{'descr': {0}, 'fortran_order': {1}, 'shape': {2}, }\n", descr, order,
      shape);
}

static std::string makeFile(StringRef descr, StringRef shape, size_t bytes) {
  return makeStart(makeHeader(descr, shape)) + std::string(bytes, '\0');
}

namespace {
class NpyReaderTest : public testing::Test {
protected:
  llvm::Expected<Tensor> read(StringRef content,
                              const NpyExpectation &expected = {}) {
    return readNpy(directory.write("a.npy", content), expected);
  }

  /// The error of reading, without its start.
  std::string error(StringRef content, const NpyExpectation &expected = {}) {
    std::string message = messageOf(read(content, expected));
    std::string start = "cannot read '" + (directory / "a.npy") + "': ";
    EXPECT_TRUE(StringRef(message).starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  }

  std::string headerError(StringRef header) {
    return error(makeStart(header) + std::string(16, '\0'));
  }

  TemporaryDirectory directory;
};
} // namespace

TEST_F(NpyReaderTest, versions) {
  for (int major : {1, 2, 3}) {
    float data[6] = {0, 1, 2, 3, 4, 5};
    std::string file = makeStart(makeHeader("'<f4'", "(2, 3)"), major) +
                       std::string(reinterpret_cast<char *>(data), 24);
    llvm::Expected<Tensor> tensor = read(file);
    ASSERT_TRUE(bool(tensor)) << messageOf(std::move(tensor));
    EXPECT_EQ(tensor->getDType(), DType::F32);
    EXPECT_EQ(tensor->getShape(), llvm::ArrayRef<int64_t>({2, 3}));
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(tensor->getAsDouble(i), i);
  }
}

TEST_F(NpyReaderTest, whatNumpyWrites) {
  // np.save of np.arange(3, dtype=np.int16), byte by byte.
  std::string header = "{'descr': '<i2', 'fortran_order': False, "
                       "'shape': (3,), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00v\x00", 10) + header +
                     std::string("\x00\x00\x01\x00\x02\x00", 6);
  Tensor tensor = llvm::cantFail(read(file));
  EXPECT_EQ(tensor.getDType(), DType::I16);
  EXPECT_EQ(tensor.getShape(), llvm::ArrayRef<int64_t>({3}));
  EXPECT_EQ(tensor.getAsInt(2), 2);
}

TEST_F(NpyReaderTest, headersOfOtherWriters) {
  for (const char *header :
       {"{'shape':(2,3),'descr':'<f4','fortran_order':False}",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3,)}",
        "  {  'descr' : 'f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) "
        ", }  \n \n",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (2L, 3L), }"}) {
    llvm::Expected<Tensor> tensor =
        read(makeStart(header) + std::string(24, '\0'));
    ASSERT_TRUE(bool(tensor)) << messageOf(std::move(tensor));
    EXPECT_EQ(tensor->getShape(), llvm::ArrayRef<int64_t>({2, 3}));
  }
}

TEST_F(NpyReaderTest, scalarsAndEmptyArrays) {
  Tensor scalar = llvm::cantFail(read(makeFile("'<f8'", "()", 8)));
  EXPECT_EQ(scalar.getRank(), 0);
  EXPECT_EQ(scalar.getNumElements(), 1);
  Tensor empty = llvm::cantFail(read(makeFile("'<f8'", "(2, 0, 3)", 0)));
  EXPECT_EQ(empty.getShape(), llvm::ArrayRef<int64_t>({2, 0, 3}));
}

TEST_F(NpyReaderTest, booleansBecomeZeroOrOne) {
  std::string file = makeStart(makeHeader("'|b1'", "(4,)")) +
                     std::string("\x00\x01\x02\xff", 4);
  Tensor tensor = llvm::cantFail(read(file));
  EXPECT_EQ(tensor.getElements<uint8_t>(),
            llvm::ArrayRef<uint8_t>({0, 1, 1, 1}));
}

TEST_F(NpyReaderTest, bfloat16OnRequest) {
  for (const char *descr : {"'<V2'", "'|V2'", "'<u2'"}) {
    std::string file =
        makeStart(makeHeader(descr, "(1,)")) + std::string("\xc0\x3f", 2);
    NpyExpectation expected;
    expected.dtype = DType::BF16;
    Tensor tensor = llvm::cantFail(read(file, expected));
    EXPECT_EQ(tensor.getDType(), DType::BF16);
    EXPECT_EQ(tensor.getAsDouble(0), 1.5);
  }
  std::string file = makeFile("'<V2'", "(1,)", 2);
  EXPECT_EQ(error(file),
            "expects elements of f64, f32, f16, i64, i32, i16, i8 or i1, but "
            "got '<V2', which is read only where bf16 is asked for");
  EXPECT_EQ(error(file, {DType::F16, std::nullopt}),
            "expects elements of f16, but got '<V2', which is read only where "
            "bf16 is asked for");
}

TEST_F(NpyReaderTest, fortranOrder) {
  std::string data(24, '\0');
  EXPECT_EQ(error(makeStart(makeHeader("'<f4'", "(2, 3)", "True")) + data),
            "expects row-major data, but got 'fortran_order': True; save "
            "np.ascontiguousarray(array)");
  // Both orders are the same.
  Tensor row = llvm::cantFail(
      read(makeStart(makeHeader("'<f4'", "(1, 6)", "True")) + data));
  EXPECT_EQ(row.getNumElements(), 6);
}

TEST_F(NpyReaderTest, elementTypes) {
  std::string all = "expects elements of f64, f32, f16, i64, i32, i16, i8 or "
                    "i1, but got ";
  EXPECT_EQ(error(makeFile("'<c8'", "(1,)", 8)), all + "'<c8'");
  EXPECT_EQ(error(makeFile("'|O'", "(1,)", 8)), all + "'|O'");
  EXPECT_EQ(error(makeFile("[('a', '<f4', (2,)), ('b', '<i4')]", "(1,)", 12)),
            all + "structured ones, [('a', '<f4', (2,)), ('b', '<i4')]");
  EXPECT_EQ(error(makeFile("'>f4'", "(1,)", 4)),
            "expects little-endian elements, but got '>f4'; save "
            "array.astype('<f4')");
  EXPECT_EQ(error(makeFile("'<f8'", "(1,)", 8), {DType::F32, std::nullopt}),
            "expects elements of f32, but got f64 ('<f8')");
  EXPECT_EQ(error(makeFile("'<u4'", "(1,)", 8), {DType::I32, std::nullopt}),
            "expects elements of i32, but got '<u4'");
}

TEST_F(NpyReaderTest, shapes) {
  std::string file = makeFile("'<f4'", "(2, 3)", 24);
  EXPECT_EQ(error(file, {std::nullopt, Shape({2, 4})}),
            "expects 2x4xf32, but got 2x3xf32");
  EXPECT_EQ(error(file, {DType::F32, Shape({-1, 3, 1})}),
            "expects ?x3x1xf32, but got 2x3xf32");
  EXPECT_EQ(error(file, {DType::F32, Shape()}), "expects f32, but got 2x3xf32");
  Tensor tensor = llvm::cantFail(read(file, {DType::F32, Shape({-1, 3})}));
  EXPECT_EQ(tensor.getNumElements(), 6);
}

TEST_F(NpyReaderTest, sizeOfData) {
  EXPECT_EQ(error(makeFile("'<f4'", "(32, 32)", 100)),
            "expects 4096 bytes of data for 32x32xf32, but the file holds 100");
  EXPECT_EQ(error(makeFile("'<f4'", "(2, 3)", 25)),
            "expects 24 bytes of data for 2x3xf32, but the file holds 25 (more "
            "than one array in a file is not supported)");
  // Nothing of this size is allocated.
  EXPECT_EQ(error(makeFile("'<f4'", "(1000000, 1000000, 1000)", 100)),
            "expects 4000000000000000 bytes of data for "
            "1000000x1000000x1000xf32, but the file holds 100");
  EXPECT_EQ(error(makeFile("'<f4'", "(4294967296, 4294967296)", 100)),
            "expects a tensor of fewer than 2^63 bytes, but got "
            "4294967296x4294967296xf32");
}

TEST_F(NpyReaderTest, moreThanMemory) {
  // A file with a hole, of 4 TiB.
  std::string header = makeHeader("'<f4'", "(1048576, 1048576)");
  std::string path = directory.write("hole.npy", makeStart(header));
  if (llvm::sys::fs::resize_file_sparse(
          llvm::cantFail(llvm::sys::fs::openNativeFileForWrite(
              path, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_Append)),
          makeStart(header).size() + (int64_t(4) << 40)))
    GTEST_SKIP() << "no files with holes here";
  EXPECT_EQ(messageOf(readNpy(path)),
            "cannot read '" + path +
                "': cannot allocate 4.0 TiB for tensor 1048576x1048576xf32");
}

TEST_F(NpyReaderTest, notNpy) {
  std::string magic = "expects a .npy file, but the file does not begin with "
                      "\"\\x93NUMPY\"";
  EXPECT_EQ(error(""), magic);
  EXPECT_EQ(error("hello, world"), magic);
  EXPECT_EQ(error("\x93NUM"), magic);
  EXPECT_EQ(error("PK\x03\x04zip"),
            "expects a .npy file, but got a zip archive (.npz); save the array "
            "alone with np.save");
  EXPECT_EQ(error(std::string("\x93NUMPY\x04\x00    ", 12)),
            "expects .npy version 1.0, 2.0 or 3.0, but got 4.0");
  EXPECT_EQ(error(std::string("\x93NUMPY\x01\x01    ", 12)),
            "expects .npy version 1.0, 2.0 or 3.0, but got 1.1");
}

TEST_F(NpyReaderTest, truncatedHeaders) {
  EXPECT_EQ(error("\x93NUMPY\x01"),
            "expects at least 8 bytes of .npy header, but the file holds 7");
  EXPECT_EQ(error(std::string("\x93NUMPY\x02\x00\x76\x00", 10)),
            "expects at least 12 bytes of .npy header, but the file holds 10");
  EXPECT_EQ(error(std::string("\x93NUMPY\x01\x00\x76\x00{", 11)),
            "expects a .npy header of 118 bytes, but the file holds 1");
  EXPECT_EQ(error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)),
            "expects a .npy header of 4294967295 bytes, but the file holds 2");
  EXPECT_EQ(error(makeStart(std::string(1048577, ' '), 2)),
            "expects a .npy header of at most 1048576 bytes, but got 1048577");
}

TEST_F(NpyReaderTest, everyTruncationIsAnError) {
  std::string file = makeFile("'<f4'", "(2, 3)", 24);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(error(StringRef(file).take_front(size)), "") << size;
}

TEST_F(NpyReaderTest, malformedHeaders) {
  EXPECT_EQ(headerError(""), "expects '{' at byte 0 of the .npy header, but "
                             "got the end of the header");
  EXPECT_EQ(headerError("import os"), "expects '{' at byte 0 of the .npy "
                                      "header, but got 'import os'");
  EXPECT_EQ(headerError("{descr: 1}"),
            "expects a string at byte 1 of the .npy header, but got "
            "'descr: 1}'");
  EXPECT_EQ(headerError("{'descr"),
            "expects a string with an end at byte 1 of the .npy header, but "
            "got ''descr'");
  EXPECT_EQ(headerError("{'descr' '<f4'}"),
            "expects ':' at byte 9 of the .npy header, but got ''<f4'}'");
  EXPECT_EQ(headerError("{'descr': '<f4' 'shape': ()}"),
            "expects ',' or '}' at byte 16 of the .npy header, but got "
            "''shape': ()}'");
  EXPECT_EQ(headerError("{'descr': [('a', 'b'}"),
            "expects a type with a closing bracket at byte 10 of the .npy "
            "header, but got '[('a', 'b'}'");
  EXPECT_EQ(headerError("{'fortran_order': 0}"),
            "expects True or False at byte 18 of the .npy header, but got "
            "'0}'");
  EXPECT_EQ(headerError("{'descr': '<f4', 'descr': '<f4'}"),
            "expects each of 'descr', 'fortran_order' and 'shape' once at byte "
            "17 of the .npy header, but got ''descr': '<f4'}'");
  EXPECT_EQ(headerError("{'colour': 'red'}"),
            "expects each of 'descr', 'fortran_order' and 'shape' once at byte "
            "1 of the .npy header, but got ''colour': 'red'}'");
  EXPECT_EQ(headerError("{'descr': '<f4', 'shape': ()}"),
            "expects each of 'descr', 'fortran_order' and 'shape' at byte 29 "
            "of the .npy header, but got the end of the header");
  EXPECT_EQ(headerError(makeHeader("'<f4'", "()") + "x"),
            "expects the end of the header at byte 56 of the .npy header, but "
            "got 'x'");
  EXPECT_EQ(headerError("{'shape': 3}"),
            "expects '(' at byte 10 of the .npy header, but got '3}'");
  EXPECT_EQ(headerError("{'shape': (3)}"),
            "expects ',' at byte 12 of the .npy header, but got ')}'");
  EXPECT_EQ(headerError("{'shape': (3 4)}"),
            "expects ',' or ')' at byte 13 of the .npy header, but got '4)}'");
  EXPECT_EQ(headerError("{'shape': (-3,)}"),
            "expects a size at byte 11 of the .npy header, but got '-3,)}'");
  EXPECT_EQ(headerError("{'shape': (,)}"),
            "expects a size at byte 11 of the .npy header, but got ',)}'");
  EXPECT_EQ(headerError("{'shape': (9223372036854775808,)}"),
            "expects a size below 2^63 at byte 11 of the .npy header, but got "
            "'9223372036854775808,)}'");
  std::string ones;
  for (int i = 0; i < 65; ++i)
    ones += "1,";
  EXPECT_EQ(headerError("{'shape': (" + ones + ")}"),
            "expects a rank of at most 64, but got more");
  EXPECT_EQ(headerError(std::string("\x80\0 a long text that is cut somewhere "
                                    "before its end",
                                    48)),
            "expects '{' at byte 0 of the .npy header, but got '\\80\\00 a "
            "long text that is cut somewhere bef...'");
}

TEST_F(NpyReaderTest, anyByteOfTheHeaderMayBeWrong) {
  // Whatever a damaged header says, the answer is a tensor or an error.
  std::string file = makeFile("'<f4'", "(2, 3)", 24);
  for (size_t i = 0; i < file.size() - 24; ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(byte);
      if (llvm::Expected<Tensor> tensor = read(damaged)) {
        EXPECT_LE(tensor->getSizeInBytes(), 24);
      } else {
        EXPECT_NE(messageOf(tensor.takeError()), "");
      }
    }
}

TEST_F(NpyReaderTest, notAFile) {
  EXPECT_EQ(messageOf(readNpy(directory / "none.npy")),
            "cannot read '" + (directory / "none.npy") +
                "': No such file or directory");
  EXPECT_EQ(messageOf(readNpy("/dev/null")),
            "cannot read '/dev/null': expects a regular file, but got a "
            "device, pipe or socket");
  EXPECT_EQ(messageOf(readNpy("/")),
            "cannot read '/': expects a regular file, but got a directory");
  // Opening a pipe that nobody writes does not wait.
  std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(messageOf(readNpy(pipe)),
            "cannot read '" + pipe +
                "': expects a regular file, but got a device, pipe or socket");
}
