//===- PackageTest.cpp - Tests of kernel packages -------------------------===//

#include "../Cuda/TestHelpers.h"
#include "attn/Runtime/LoadedKernel.h"
#include "llvm/Support/Endian.h"
#include <functional>
#include <random>

using namespace attn;
using cuda::get;
using cuda::getText;
using cuda::seal;
namespace json = llvm::json;

/// A kernel for a GPU whose result has the rows of its one input, which must
/// not be more than 1000.
static KernelPackage makePackage() {
  KernelPackage package;
  KernelMetadata &metadata = package.metadata;
  metadata.entry = "f";
  metadata.inputs = {{"x", DType::F32, {-1, 8}}};
  metadata.results = {{"y", DType::F32, {-1}}};
  metadata.shapes.instructions = {{ShapeOp::Extent, {0, 0}},
                                  {ShapeOp::Constant, {1000}},
                                  {ShapeOp::LeS, {0, 1}}};
  metadata.shapes.constraints = {{2, {0, 1}, "expects %1 rows, but got %0"}};
  metadata.shapes.results = {0};
  metadata.sites = {"a read"};
  cuda::Variant variant;
  variant.entry = "f";
  variant.threads = 128;
  variant.tileRows = 64;
  variant.ptx = "ptx text";
  cuda::CudaProgram program;
  program.chip = "sm_90a";
  program.launches.push_back({cuda::GridInfo(), /*lists=*/{}, {variant}});
  package.program = std::move(program);
  return package;
}

/// The bytes of a package whose metadata was changed.
static std::string edit(const std::function<void(json::Object &)> &change,
                        const KernelPackage &package = makePackage()) {
  std::string bytes = package.toBytes();
  uint64_t size = llvm::support::endian::read64le(bytes.data() + 8);
  json::Value value = get(json::parse(llvm::StringRef(bytes).substr(24, size)));
  change(*value.getAsObject());
  std::string text;
  llvm::raw_string_ostream(text) << value;
  char sizes[8];
  llvm::support::endian::write64le(sizes, text.size());
  return seal(bytes.substr(0, 8) + std::string(sizes, 8) + bytes.substr(16, 8) +
              text + bytes.substr(24 + size));
}

static std::string
getErrorOf(const std::function<void(json::Object &)> &change) {
  return getText(KernelPackage::fromBytes(edit(change)));
}

TEST(PackageTest, bytesRoundTrip) {
  KernelPackage package = makePackage();
  std::string bytes = package.toBytes();
  KernelPackage copy = get(KernelPackage::fromBytes(bytes));
  EXPECT_EQ(copy.toBytes(), bytes);
  EXPECT_EQ(copy.getDevice(), DeviceKind::Cuda);
  EXPECT_EQ(copy.getCodeSize(), 8u);
  EXPECT_EQ(copy.metadata.sites, package.metadata.sites);
  EXPECT_EQ(copy.metadata.shapes.toJSON(), package.metadata.shapes.toJSON());
  package.program.reset();
  package.object = "object";
  copy = get(KernelPackage::fromBytes(package.toBytes()));
  EXPECT_EQ(copy.object, "object");
  EXPECT_EQ(copy.getDevice(), DeviceKind::CPU);
  EXPECT_EQ(getText(loadCudaKernel(std::move(copy))),
            "expects a package for a GPU; CPU packages need libattn");
}

TEST(PackageTest, shapes) {
  auto kernel = get(loadCudaKernel(makePackage()));
  auto getRows = [&](int64_t rows) -> std::string {
    int64_t shape[] = {rows, 8};
    TensorView view = {nullptr, static_cast<int32_t>(DType::F32), 2, shape,
                       nullptr};
    auto shapes = kernel->getResultShapes({view});
    return shapes ? formatShape((*shapes)[0])
                  : llvm::toString(shapes.takeError());
  };
  EXPECT_EQ(getRows(7), "7");
  EXPECT_EQ(getRows(0), "0");
  EXPECT_EQ(getRows(1001), "expects 1000 rows, but got 1001");
  EXPECT_EQ(getRows(-1),
            "expects input 'x' to have no negative extent, but got -1");
  EXPECT_EQ(getText(kernel->getResultShapes({})), "expects 1 input, but got 0");
  EXPECT_FALSE(kernel->isOnHost(0));
}

TEST(PackageTest, errors) {
  EXPECT_EQ(getText(KernelPackage::fromBytes("")),
            "expects a kernel package, but got 0 bytes of something else");
  EXPECT_EQ(getErrorOf([](json::Object &object) { object["version"] = 4; }),
            "expects a kernel package of version 6, but got version 4");
  EXPECT_EQ(getErrorOf([](json::Object &object) { object["version"] = 7; }),
            "expects a kernel package of version 6, but got version 7");
  EXPECT_EQ(getErrorOf([](json::Object &object) { object.erase("shapes"); }),
            "missing value at metadata.shapes");
  EXPECT_EQ(getErrorOf([](json::Object &object) {
              object["results"] = json::Array();
            }),
            "expects a shape function of 0 extents of results, but got 1");
  for (json::Value size : {json::Value(1), json::Value(-1), json::Value("x")})
    EXPECT_TRUE(llvm::StringRef(getErrorOf([&](json::Object &object) {
                  object["object_bytes"] = size;
                }))
                    .starts_with("expects a kernel package with an object file "
                                 "of all its code, "));
  // A program of nothing.
  KernelPackage empty = makePackage();
  empty.program.reset();
  EXPECT_EQ(getText(KernelPackage::fromBytes(empty.toBytes())),
            "expects a GPU program, but got 0 bytes of something else");
  KernelPackage many = makePackage();
  many.program->launches[0].variants[0].tables.resize(1);
  many.program->launches[0].variants[0].tables[0].extents.resize(1);
  many.program->launches[0].variants[0].firstTable = 3;
  EXPECT_EQ(
      getText(loadCudaKernel(get(KernelPackage::fromBytes(many.toBytes())))),
      "expects a GPU program of at most 2 inputs and results, but got one of "
      "3");
  // Preparation that reads a result.
  cuda::Variant &variant = many.program->launches[0].variants[0];
  variant.firstTable = 2;
  variant.tables[0].isPrepared = true;
  cuda::PrologueKernel &prologue = variant.prologues.emplace_back();
  prologue.entry = "fill";
  prologue.threads = 32;
  prologue.elements = 2;
  prologue.params.resize(1);
  prologue.params[0].operand = 1;
  EXPECT_EQ(
      getText(loadCudaKernel(get(KernelPackage::fromBytes(many.toBytes())))),
      "expects preparation to read inputs, but got operand 1 of 1 inputs");
  // So deep that a parser that calls itself would not return.
  std::string deep =
      "attnkern" + std::string(16, '\0') + std::string(size_t(1) << 22, '[');
  llvm::support::endian::write64le(&deep[8], size_t(1) << 22);
  EXPECT_EQ(getText(KernelPackage::fromBytes(deep)),
            "expects a kernel package as it was written, but its metadata is "
            "damaged: expects JSON of at most 64 levels");
}

/// Whichever bit is another one, a package is not read.
TEST(PackageTest, checksum) {
  KernelPackage package = makePackage();
  package.program.reset();
  package.object = "machine code";
  const std::string bytes = package.toBytes();
  std::string changed = bytes;
  changed[bytes.size() - 10] ^= 1;
  EXPECT_EQ(getText(KernelPackage::fromBytes(changed)),
            "expects a kernel package as it was written, but its bytes have "
            "another checksum: write or copy the file again");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    changed = bytes;
    changed[bit / 8] ^= 1 << bit % 8;
    EXPECT_NE(getText(KernelPackage::fromBytes(changed)), "");
  }
}

/// No bytes end the process, also where their checksum is right, and what is
/// read can be used.
TEST(PackageTest, changedBytes) {
  const std::string bytes = makePackage().toBytes();
  int numRead = 0;
  auto read = [&](llvm::StringRef changed) {
    auto package = KernelPackage::fromBytes(changed);
    if (!package)
      return llvm::consumeError(package.takeError());
    auto kernel = loadCudaKernel(std::move(*package));
    if (!kernel)
      return llvm::consumeError(kernel.takeError());
    ++numRead;
    int64_t shape[] = {7, 8};
    TensorView view = {nullptr, static_cast<int32_t>(DType::F32), 2, shape,
                       nullptr};
    llvm::consumeError((*kernel)->getResultShapes({view}).takeError());
  };
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(getText(KernelPackage::fromBytes(bytes.substr(0, size))), "");
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[size] ^= 1 << bit;
      read(seal(changed));
    }
  }
  // Numbers become others of the same length, so that more is read.
  std::mt19937 random(1);
  for (int run = 0; run < 3000; ++run) {
    std::string changed = bytes;
    for (char &c : changed)
      if (c >= '0' && c <= '9' && random() % 32 == 0)
        c = '0' + random() % 10;
    read(seal(changed));
  }
  EXPECT_GT(numRead, 100);
}
