//===- MasksTest.cpp - Masks of the library against definitions -----------===//

#include "attn/Builder/Masks.h"
#include "../JIT/TestTensor.h"
#include "attn/Builder/BlockLayout.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attn::masks;

namespace {
constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 37, kKeys = 41;

/// The definition of a mask.
using Allowed = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

class Masks : public testing::Test {
protected:
  Masks() {
    spec.queryHeads = spec.keyHeads = kHeads;
    spec.queryKeyDim = 8;
  }

  Capture add(const char *name, DType dtype, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<double> numbers) {
    captures.emplace_back(dtype, shape, numbers);
    return shape.empty() ? spec.scalar(name, dtype)
                         : spec.capture(name, dtype, shape);
  }

  /// Where all scores are 0 and the values are the unit matrix, a row of the
  /// result is positive at the keys that the mask allows.
  void check(const Mask &mask, const Allowed &allowed,
             int64_t queries = kQueries, int64_t keys = kKeys) {
    spec.valueDim = keys;
    spec.mask(mask);
    CompileOptions options;
    options.optLevel = 0;
    options.boundsCheck = true;
    llvm::Expected<Kernel> kernel = spec.compile(options);
    ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
    TestTensor q(DType::F32, {kBatch, kHeads, queries, 8}),
        k(DType::F32, {kBatch, kHeads, keys, 8}),
        v(DType::F32, {kBatch, kHeads, keys, keys}),
        o = TestTensor::poison(DType::F32, {kBatch, kHeads, queries, keys});
    for (int64_t head = 0; head != kBatch * kHeads; ++head)
      for (int64_t j = 0; j != keys; ++j)
        v.tensor.setFromDouble((head * keys + j) * keys + j, 1);
    std::vector<TensorView> inputs = {q.view(), k.view(), v.view()};
    for (const TestTensor &capture : captures)
      inputs.push_back(capture.view());
    llvm::Error error = kernel->run(inputs, {o.view()});
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    int64_t index = 0;
    for (int64_t b = 0; b != kBatch; ++b)
      for (int64_t h = 0; h != kHeads; ++h)
        for (int64_t i = 0; i != queries; ++i)
          for (int64_t j = 0; j != keys; ++j)
            ASSERT_EQ(o[index++] > 0, allowed(b, h, i, j))
                << "(" << b << ", " << h << ", " << i << ", " << j << ")";
  }

  std::string getError(const Mask &mask) {
    spec.mask(mask);
    llvm::Expected<Kernel> kernel = spec.compile();
    EXPECT_FALSE(bool(kernel));
    return kernel ? "" : llvm::toString(kernel.takeError());
  }

  AttentionSpec spec;
  std::vector<TestTensor> captures;
};
} // namespace

static std::vector<double> iota(int64_t count,
                                llvm::function_ref<double(int64_t)> function) {
  std::vector<double> numbers;
  for (int64_t n = 0; n != count; ++n)
    numbers.push_back(function(n));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

TEST_F(Masks, And) {
  check(causal() && slidingWindow(9, 3),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return j <= i && i - j <= 9;
        });
}

TEST_F(Masks, OrNot) {
  check(!causal() || dilated(5), [](int64_t, int64_t, int64_t i, int64_t j) {
    return j > i || (i - j) % 5 == 0;
  });
}

TEST_F(Masks, Lambdas) {
  check(
      causal() && [](const MaskArgs &at) { return at.h != at.b; },
      [](int64_t b, int64_t h, int64_t i, int64_t j) {
        return j <= i && h != b;
      });
}

namespace {
/// A mask and its definition, combined at random from a few masks.
struct RandomMask {
  Mask mask;
  Allowed allowed;
  std::string text;
};
} // namespace

static RandomMask makeRandom(const RandomStream &random, uint64_t &next,
                             int depth) {
  int64_t choice = random.getInt(next++, depth == 0 ? 4 : 0, 9);
  int64_t n = random.getInt(next++, 1, 12);
  if (choice < 4) {
    RandomMask a = makeRandom(random, next, depth - 1);
    if (choice == 0)
      return {!a.mask,
              [=](int64_t b, int64_t h, int64_t i, int64_t j) {
                return !a.allowed(b, h, i, j);
              },
              "!" + a.text};
    if (choice == 1)
      return {shift(a.mask, n - 6, 4 - n),
              [=](int64_t b, int64_t h, int64_t i, int64_t j) {
                return a.allowed(b, h, i + n - 6, j + 4 - n);
              },
              "shift(" + a.text + ", " + std::to_string(n) + ")"};
    RandomMask c = makeRandom(random, next, depth - 1);
    if (choice == 2)
      return {a.mask && c.mask,
              [=](int64_t b, int64_t h, int64_t i, int64_t j) {
                return a.allowed(b, h, i, j) && c.allowed(b, h, i, j);
              },
              "(" + a.text + " && " + c.text + ")"};
    return {a.mask || c.mask,
            [=](int64_t b, int64_t h, int64_t i, int64_t j) {
              return a.allowed(b, h, i, j) || c.allowed(b, h, i, j);
            },
            "(" + a.text + " || " + c.text + ")"};
  }
  auto floor = [](int64_t a, int64_t b) { return (a - (a % b + b) % b) / b; };
  switch (choice) {
  case 4:
    return {causal(),
            [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; },
            "causal"};
  case 5:
    return {slidingWindow(n, 2),
            [=](int64_t, int64_t, int64_t i, int64_t j) {
              return i - n <= j && j <= i + 2;
            },
            "window(" + std::to_string(n) + ")"};
  case 6:
    return {dilated(n),
            [=](int64_t, int64_t, int64_t i, int64_t j) {
              return (i - j) % n == 0;
            },
            "dilated(" + std::to_string(n) + ")"};
  case 7:
    return {prefix(n),
            [=](int64_t, int64_t, int64_t, int64_t j) { return j < n; },
            "prefix(" + std::to_string(n) + ")"};
  default:
    return {blockStrided(n, 3),
            [=](int64_t, int64_t, int64_t i, int64_t j) {
              return (floor(i, n) - floor(j, n)) % 3 == 0;
            },
            "strided(" + std::to_string(n) + ")"};
  }
}

TEST_F(Masks, Combinations) {
  RandomStream random(7);
  uint64_t next = 0;
  for (int count = 0; count != 12; ++count) {
    RandomMask mask = makeRandom(random, next, 4);
    SCOPED_TRACE(mask.text);
    check(mask.mask, mask.allowed);
  }
}

TEST_F(Masks, Shift) {
  Capture offset = add("offset", DType::I64, {}, {5});
  check(shift(causal(), offset, -3),
        [](int64_t, int64_t, int64_t i, int64_t j) { return j - 3 <= i + 5; });
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

TEST_F(Masks, SameDocument) {
  auto idOf = [](int64_t b, int64_t s) { return b == 0 ? s / 13 : s * 7 % 3; };
  Capture ids = add("ids", DType::I32, {kBatch, kKeys},
                    iota(kBatch * kKeys, [&](int64_t n) {
                      return double(idOf(n / kKeys, n % kKeys));
                    }));
  check(sameDocument(ids) && causal(),
        [&](int64_t b, int64_t, int64_t i, int64_t j) {
          return idOf(b, i) == idOf(b, j) && j <= i;
        });
}

TEST_F(Masks, SameDocumentOfTwoSequences) {
  Capture queries = add("queries", DType::I16, {kQueries},
                        iota(kQueries, [](int64_t n) { return n / 10; }));
  Capture keys = add("keys", DType::I64, {kKeys},
                     iota(kKeys, [](int64_t n) { return n / 7; }));
  check(sameDocument(queries, keys),
        [](int64_t, int64_t, int64_t i, int64_t j) { return i / 10 == j / 7; });
}

TEST_F(Masks, PerDocument) {
  const int64_t ends[] = {5, 18, 19, kKeys};
  auto find = [&](int64_t s) {
    int64_t id = 0;
    while (s >= ends[id])
      ++id;
    return id;
  };
  Capture ids = add("ids", DType::I32, {kKeys},
                    iota(kKeys, [&](int64_t n) { return double(find(n)); }));
  Capture starts =
      add("starts", DType::I32, {5}, {0, 5, 18, 19, double(kKeys)});
  // The first two tokens of a document, and the last query sees the last key.
  check(perDocument(ids, starts,
                    prefix(2) || (causal(Align::LowerRight) && dilated(3))),
        [&](int64_t, int64_t, int64_t i, int64_t j) {
          int64_t id = find(i), start = id == 0 ? 0 : ends[id - 1];
          return id == find(j) &&
                 (j - start < 2 || (j <= i && (i - j) % 3 == 0));
        });
}

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

TEST_F(Masks, CausalLowerRight) {
  for (auto [queries, keys] : {std::pair(kQueries, kKeys), {41, 37}, {1, 9}})
    check(
        causal(Align::LowerRight),
        [queries = queries, keys = keys](int64_t, int64_t, int64_t i,
                                         int64_t j) {
          return j <= i + keys - queries;
        },
        queries, keys);
}

TEST_F(Masks, SlidingWindow) {
  check(slidingWindow(4, 7, Align::LowerRight),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          int64_t diagonal = i + kKeys - kQueries;
          return diagonal - 4 <= j && j <= diagonal + 7;
        });
}

TEST_F(Masks, NumbersBeyondAllLengths) {
  constexpr int64_t most = INT64_MAX;
  auto all = [](int64_t, int64_t, int64_t, int64_t) { return true; };
  auto causal = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; };
  auto future = [](int64_t, int64_t, int64_t i, int64_t j) { return j >= i; };
  auto same = [](int64_t, int64_t, int64_t i, int64_t j) { return j == i; };
  check(slidingWindow(most, most), all);
  check(slidingWindow(most, 0), causal);
  check(slidingWindow(UINT64_MAX, 0), causal);
  check(slidingWindow(0, most), future);
  check(!slidingWindow(0, most),
        [](int64_t, int64_t, int64_t i, int64_t j) { return j < i; });
  check(slidingWindow(0, most) && dilated(3),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return j >= i && (j - i) % 3 == 0;
        });
  check(slidingWindow(3, most) || prefix(2),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return j >= i - 3 || j < 2;
        });
  check(dilated(most), same);
  check(dilated(most - 1), same);
  check(dilated(int64_t(1) << 62), same);
  check(blockStrided(1, most), same);
  check(blockStrided(most, 1), all);
  check(neighborhood2D(6, 7, most, most), all, 42, 42);
}

TEST_F(Masks, LargeModuli) {
  for (int64_t modulus : {int64_t(1) << 31, int64_t(1) << 40, INT64_MAX / 2})
    check([=](const MaskArgs &at) { return (at.i + at.j) % modulus == 3; },
          [](int64_t, int64_t, int64_t i, int64_t j) { return i + j == 3; });
}

TEST_F(Masks, NumbersOfCallsBeyondAllLengths) {
  Capture number = add("number", DType::I64, {}, {});
  captures.back().tensor.setFromInt(0, INT64_MAX);
  auto future = [](int64_t, int64_t, int64_t i, int64_t j) { return j >= i; };
  check(slidingWindow(0, number), future);
  check(slidingWindow(0, number) && dilated(3),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return j >= i && (j - i) % 3 == 0;
        });
  check(slidingWindow(number, 0),
        [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; });
}

TEST_F(Masks, SumsThatWrap) {
  auto add = [](int64_t a, int64_t b) {
    return int64_t(uint64_t(a) + uint64_t(b));
  };
  constexpr int64_t most = INT64_MAX, least = INT64_MIN;
  check([=](const MaskArgs &at) { return at.i - at.j + most <= 0; },
        [=](int64_t, int64_t, int64_t i, int64_t j) {
          return add(i - j, most) <= 0;
        });
  check([=](const MaskArgs &at) { return at.i - at.j - least <= 0; },
        [=](int64_t, int64_t, int64_t i, int64_t j) {
          return add(i - j, least) <= 0;
        });
  // Of large constants, each of which leaves room.
  constexpr int64_t half = int64_t(1) << 62;
  check([=](const MaskArgs &at) { return at.i - at.j + half + half <= 0; },
        [=](int64_t, int64_t, int64_t i, int64_t j) {
          return add(i - j, least) <= 0;
        });
  check([=](const MaskArgs &at) { return at.i - at.j + most + 1 < at.h; },
        [=](int64_t, int64_t h, int64_t i, int64_t j) {
          return add(i - j, least) < h;
        });
  check([=](const MaskArgs &at) { return at.i * half > at.j; },
        [=](int64_t, int64_t, int64_t i, int64_t j) {
          return int64_t(uint64_t(i) << 62) > j;
        });
}

TEST_F(Masks, RemaindersByZero) {
  Capture zero = add("zero", DType::I64, {}, {0});
  auto all = [](int64_t, int64_t, int64_t, int64_t) { return true; };
  check([=](const MaskArgs &at) { return floorMod(at.i - at.j, zero()) == 0; },
        all);
  check([=](const MaskArgs &at) { return floorMod(at.i - at.j, 0) == 0; }, all);
  check([=](const MaskArgs &at) { return (at.i - at.j) % zero() == 0; }, all);
  check([=](const MaskArgs &at) { return floorMod(at.i - at.j, at.h) == 0; },
        [](int64_t, int64_t h, int64_t i, int64_t j) {
          return h == 0 || (i - j) % h == 0;
        });
}

TEST_F(Masks, WindowOfEachHead) {
  Capture windows = add("windows", DType::I32, {kHeads}, {0, 6, 50});
  check(slidingWindow([=](const MaskArgs &at) { return windows[{at.h}]; }, 0),
        [](int64_t, int64_t h, int64_t i, int64_t j) {
          const int64_t windows[] = {0, 6, 50};
          return j <= i && i - j <= windows[h];
        });
}

TEST_F(Masks, PrefixLM) {
  Capture lengths = add("lengths", DType::I32, {kBatch}, {0, 17});
  check(prefixLM([=](const MaskArgs &at) { return lengths[{at.b}]; }),
        [](int64_t b, int64_t, int64_t i, int64_t j) {
          return j < (b == 0 ? 0 : 17) || j <= i;
        });
}

TEST_F(Masks, Padding) {
  Capture queries = add("queries", DType::I32, {kBatch}, {30, 1});
  Capture keys = add("keys", DType::I64, {kBatch}, {0, 29});
  check(padding(keys), [](int64_t b, int64_t, int64_t, int64_t j) {
    return j < (b == 0 ? 0 : 29);
  });
  check(padding(queries, keys) || prefix(1),
        [](int64_t b, int64_t, int64_t i, int64_t j) {
          return (i < (b == 0 ? 30 : 1) && j < (b == 0 ? 0 : 29)) || j < 1;
        });
}

TEST_F(Masks, DilatedWindow) {
  check(slidingWindow(12, 12) && dilated(4),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return std::abs(i - j) <= 12 && (i - j) % 4 == 0;
        });
}

TEST_F(Masks, BlockStrided) {
  check(blockStrided(8, 2), [](int64_t, int64_t, int64_t i, int64_t j) {
    return (i / 8 - j / 8) % 2 == 0;
  });
}

TEST_F(Masks, NeighborhoodClip) {
  check(neighborhood2D(6, 7, 1, 2), [](int64_t, int64_t, int64_t i, int64_t j) {
    return std::abs(i / 7 - j / 7) <= 1 && std::abs(i % 7 - j % 7) <= 2;
  });
}

TEST_F(Masks, NeighborhoodShift) {
  Capture width = add("width", DType::I64, {}, {6});
  check(
      neighborhood2D(6, width, 2, 1, Border::Shift),
      [](int64_t, int64_t, int64_t i, int64_t j) {
        int64_t y = std::clamp<int64_t>(i / 6, 2, 3),
                x = std::clamp<int64_t>(i % 6, 1, 4);
        return std::abs(y - j / 6) <= 2 && std::abs(x - j % 6) <= 1;
      },
      36, 36);
}

TEST_F(Masks, GlobalTokens) {
  check(globalTokens(3) || slidingWindow(2, 2),
        [](int64_t, int64_t, int64_t i, int64_t j) {
          return i < 3 || j < 3 || std::abs(i - j) <= 2;
        });
}

TEST_F(Masks, GlobalFlags) {
  auto isGlobal = [](int64_t b, int64_t s) { return s % 11 == 4 * b; };
  Capture flags = add("flags", DType::I1, {kBatch, kKeys},
                      iota(kBatch * kKeys, [&](int64_t n) {
                        return double(isGlobal(n / kKeys, n % kKeys));
                      }));
  check(globalTokens(flags), [&](int64_t b, int64_t, int64_t i, int64_t j) {
    return isGlobal(b, i) || isGlobal(b, j);
  });
}

TEST_F(Masks, BlockLayout) {
  // Five blocks of 8 queries, the last one short, and six of keys.
  auto has = [](int64_t h, int64_t r, int64_t c) {
    return (h + 2 * r + 3 * c) % 4 < 2;
  };
  Capture layout = add("layout", DType::I1, {kHeads, 5, 6},
                       iota(kHeads * 30, [&](int64_t n) {
                         return double(has(n / 30, n / 6 % 5, n % 6));
                       }));
  check(blockLayout(layout, 8) && causal(),
        [&](int64_t, int64_t h, int64_t i, int64_t j) {
          return j <= i && has(h, i / 8, j / 8);
        });
}

TEST_F(Masks, BlockLayoutOfTheLibrary) {
  layouts::BigBird bigBird;
  bigBird.heads = kHeads;
  bigBird.length = 48;
  bigBird.block = 4;
  bigBird.perHead = true;
  BlockLayout blocks = llvm::cantFail(bigBird.make());
  llvm::ArrayRef<uint8_t> bytes = blocks.getBytes();
  Capture layout = add("layout", DType::I1, {kHeads, 12, 12},
                       std::vector<double>(bytes.begin(), bytes.end()));
  check(
      blockLayout(layout, 4),
      [&](int64_t, int64_t h, int64_t i, int64_t j) {
        return blocks.get(h, i / 4, j / 4);
      },
      48, 48);
}

TEST_F(Masks, BlockLayoutOfAllHeads) {
  Capture layout =
      add("layout", DType::I1, {3, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 0});
  check(blockLayout(layout, 16), [](int64_t, int64_t, int64_t i, int64_t j) {
    int64_t block = i / 16 * 3 + j / 16;
    return block == 0 || block == 2 || block == 7;
  });
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(Masks, Errors) {
  EXPECT_EQ(getError(blockStrided(0, 2)),
            "the mask of 'attention' expects the block of a stride to be at "
            "least 1, but got 0 in 'blockStrided'");
  EXPECT_EQ(getError(causal() && slidingWindow(-1, 2)),
            "the mask of 'attention' expects the keys before a window to be at "
            "least 0, but got -1 in 'slidingWindow'");
  EXPECT_EQ(getError(!dilated(0)),
            "the mask of 'attention' expects the step of a dilation to be at "
            "least 1, but got 0 in 'dilated'");
  EXPECT_EQ(getError(neighborhood2D(4, 0, 1, 1)),
            "the mask of 'attention' expects the width of an image to be at "
            "least 1, but got 0 in 'neighborhood2D'");
  // Nothing depends on it.
  EXPECT_EQ(getError(neighborhood2D(0, 4, 1, 1)),
            "the mask of 'attention' expects the height of an image to be at "
            "least 1, but got 0 in 'neighborhood2D'");
  EXPECT_EQ(getError([](const MaskArgs &at) { return at.j; }),
            "the mask of 'attention' expects a result that is bool, but got "
            "int");
}

TEST_F(Masks, CapturesOfOtherRanks) {
  Capture cube = add("cube", DType::I32, {2, 3, 4}, {});
  EXPECT_EQ(getError(sameDocument(cube)),
            "the mask of 'attention' expects an index for each of 3 "
            "dimensions of 'cube', but got 2 in 'sameDocument'");
  Capture floats = add("floats", DType::F32, {kKeys}, {});
  EXPECT_EQ(getError(globalTokens(floats)),
            "the mask of 'attention' expects flags of 'floats' to be bool, but "
            "got float in 'globalTokens'");
  EXPECT_EQ(getError(sameDocument(floats)),
            "the mask of 'attention' expects documents to be integers, but got "
            "floats of 'floats' in 'sameDocument'");
  Capture number = add("number", DType::F32, {}, {1});
  EXPECT_EQ(getError(slidingWindow(number, 0)),
            "the mask of 'attention' expects the keys before a window to be "
            "int, but got float in 'slidingWindow'");
  EXPECT_EQ(getError(blockLayout(cube, 4)),
            "the mask of 'attention' expects blocks of 'cube' to be bool, but "
            "got int in 'blockLayout'");
  EXPECT_EQ(getError(shift(causal(), 0, INT64_MAX)),
            "the mask of 'attention' expects an offset to be at most "
            "1152921504606846976, but got 9223372036854775807 in 'shift'");
  // A lambda inside of a mask is none of the library.
  EXPECT_EQ(
      getError(shift([](const MaskArgs &at) { return at.i && at.j; }, 1, 1)),
      "the mask of 'attention' expects operands of '&&' of another type "
      "than int");
}

TEST_F(Masks, SpecificationsThatAreNone) {
  auto getError = [](const AttentionSpec &spec) {
    llvm::Expected<Kernel> kernel = spec.compile();
    return kernel ? "" : llvm::toString(kernel.takeError());
  };
  AttentionSpec nameless;
  nameless.name = "";
  EXPECT_EQ(getError(nameless), "expects a specification to have a name");
  AttentionSpec typeless;
  typeless.dtype = DType(99);
  EXPECT_EQ(getError(typeless), "expects 'attention' to have an element type");
  AttentionSpec captures;
  captures.capture("bias", DType(-1), {4});
  EXPECT_EQ(getError(captures),
            "expects capture 'bias' to have an element type");
}

TEST_F(Masks, CaptureOfAnotherSpecification) {
  AttentionSpec other;
  Capture ids = other.capture("ids", DType::I32, {kKeys});
  EXPECT_NE(getError(sameDocument(ids)).find("expects"), std::string::npos);
}
