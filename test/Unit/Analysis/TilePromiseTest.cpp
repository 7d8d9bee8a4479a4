//===- TilePromiseTest.cpp - The promise of the tiles region --------------===//
//
// Compares the classes of tiles of random masks with the masks themselves, and
// counts the tiles that named masks need.
//
//===----------------------------------------------------------------------===//

#include "RandomRegion.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::OnlineAttentionOp;

namespace {
struct Tile {
  int64_t b, h, i0, i1, j0, j1;
};

enum class TileClass { Empty, Partial, Full };

/// How many tiles are of each class.
struct Counts {
  int64_t empty = 0, partial = 0, full = 0;
  bool operator==(const Counts &other) const {
    return empty == other.empty && partial == other.partial &&
           full == other.full;
  }
};

std::ostream &operator<<(std::ostream &stream, const Counts &counts) {
  return stream << counts.empty << " empty, " << counts.partial << " partial, "
                << counts.full << " full";
}

/// One mask with what is known of its tiles.
class TilePromise : public ::testing::Test {
protected:
  TilePromise() : context(makeContext()) {}

  /// Derives the regions as the pipeline does, or, with `evenIntervals`, the
  /// tiles of all masks and no bounds.
  void derive(const std::string &mask, bool evenIntervals) {
    text = makeOnlineAttention("", mask);
    module = parse(*context, text);
    ASSERT_TRUE(module);
    op = getAttention(*module);
    original = std::make_unique<Region>();
    IRMapping mapping;
    op.getMask().cloneInto(original.get(), mapping);
    IRRewriter rewriter(context.get());
    mlir::attn::cleanUpRegions(op);
    if (!evenIntervals)
      mlir::attn::classifyBlocks(rewriter, op);
    mlir::attn::liftMask(rewriter, op, evenIntervals);
    ASSERT_TRUE(succeeded(verify(*module))) << text;
  }

  bool isAllowed(int64_t b, int64_t h, int64_t i, int64_t j,
                 const CaptureData &data) {
    std::vector<Scalar> arguments = {Scalar::of(b), Scalar::of(h),
                                     Scalar::of(i), Scalar::of(j)};
    llvm::append_range(arguments, data.get());
    return interpret(*original, arguments)[0].integer != 0;
  }

  std::vector<Scalar> run(Region &region, std::vector<int64_t> leading,
                          const CaptureData &data) {
    std::vector<Scalar> arguments;
    for (int64_t value : leading)
      arguments.push_back(Scalar::of(value));
    llvm::append_range(arguments, data.get());
    return interpret(region, arguments);
  }

  /// What attn-tile makes of a tile.
  TileClass classify(const Tile &tile, int64_t skv, const CaptureData &data) {
    bool may = true, must = op.getMask().empty();
    if (!op.getBlocks().empty()) {
      std::vector<Scalar> bounds =
          run(op.getBlocks(), {tile.b, tile.h, tile.i0, tile.i1, skv}, data);
      may = tile.j1 > bounds[0].integer && tile.j0 < bounds[3].integer &&
            bounds[0].integer < bounds[3].integer;
      must = tile.j0 >= bounds[1].integer && tile.j1 <= bounds[2].integer;
    }
    if (!op.getTiles().empty()) {
      std::vector<Scalar> answer =
          run(op.getTiles(),
              {tile.b, tile.h, tile.i0, tile.i1, tile.j0, tile.j1}, data);
      may = may && answer[0].integer;
      must = must || answer[1].integer;
    }
    if (!may)
      return TileClass::Empty;
    return must ? TileClass::Full : TileClass::Partial;
  }

  /// Compares one tile with the mask for all batches and heads.
  void check(Tile tile, int64_t skv, const CaptureData &data) {
    for (tile.b = 0; tile.b < kBatch; ++tile.b)
      for (tile.h = 0; tile.h < kHeads; ++tile.h) {
        TileClass known = classify(tile, skv, data);
        bool any = false, all = true;
        for (int64_t i = tile.i0; i < tile.i1; ++i)
          for (int64_t j = tile.j0; j < tile.j1; ++j) {
            bool allowed = isAllowed(tile.b, tile.h, i, j, data);
            any |= allowed;
            all &= allowed;
          }
        auto where = [&] {
          std::string result;
          llvm::raw_string_ostream stream(result);
          stream << "b " << tile.b << " h " << tile.h << " rows " << tile.i0
                 << ".." << tile.i1 << " keys " << tile.j0 << ".." << tile.j1
                 << " captures " << data.first << ", " << data.second << "\n"
                 << text << "\n";
          module->print(stream);
          return result;
        };
        ASSERT_FALSE(known == TileClass::Empty && any) << where();
        ASSERT_FALSE(known == TileClass::Full && !all) << where();
        found.empty += known == TileClass::Empty;
        found.full += known == TileClass::Full;
        best.empty += !any;
        best.full += all;
      }
  }

  /// The classes that tiles really have, counted.
  Counts countBest(int64_t length, int64_t size, const CaptureData &data) {
    Counts counts;
    for (int64_t i0 = 0; i0 < length; i0 += size)
      for (int64_t j0 = 0; j0 < length; j0 += size) {
        bool any = false, all = true;
        for (int64_t i = i0; i < std::min(i0 + size, length); ++i)
          for (int64_t j = j0; j < std::min(j0 + size, length); ++j) {
            bool allowed = isAllowed(0, 0, i, j, data);
            any |= allowed;
            all &= allowed;
          }
        ++(any ? all ? counts.full : counts.partial : counts.empty);
      }
    return counts;
  }

  /// Counts the tiles of `size` by `size` pairs.
  Counts count(int64_t length, int64_t size, const CaptureData &data) {
    Counts counts;
    for (int64_t i = 0; i < length; i += size)
      for (int64_t j = 0; j < length; j += size)
        switch (classify({0, 0, i, std::min(i + size, length), j,
                          std::min(j + size, length)},
                         length, data)) {
        case TileClass::Empty:
          ++counts.empty;
          break;
        case TileClass::Partial:
          ++counts.partial;
          break;
        case TileClass::Full:
          ++counts.full;
          break;
        }
    return counts;
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  OnlineAttentionOp op;
  std::unique_ptr<Region> original;
  std::string text;
  Counts found, best;
};
} // namespace

TEST_F(TilePromise, HoldsForRandomMasks) {
  unsigned total = 4000;
  for (unsigned seed = 0; seed < total; ++seed) {
    RandomRegion random(seed);
    std::string mask = random.makeMask(/*depth=*/1 + seed % 4);
    derive(mask, /*evenIntervals=*/seed % 2);
    for (unsigned repeat = 0; repeat < 6; ++repeat) {
      CaptureData data = random.makeCaptures();
      int64_t skv = random.pick(1, kMaxRows);
      Tile tile{};
      tile.i0 = random.pick(0, kMaxRows - 1);
      tile.i1 = repeat % 3 ? std::min(tile.i0 + random.pick(1, 4), kMaxRows)
                           : random.pick(tile.i0 + 1, kMaxRows);
      tile.j0 = random.pick(0, skv - 1);
      tile.j1 = repeat % 2 ? std::min(tile.j0 + random.pick(1, 4), skv)
                           : random.pick(tile.j0 + 1, skv);
      check(tile, skv, data);
      if (HasFatalFailure())
        return;
    }
  }
  // The test would be void if little was understood.
  EXPECT_GT(found.empty, best.empty * 3 / 5) << found << "; best: " << best;
  EXPECT_GT(found.full, best.full * 3 / 5) << found << "; best: " << best;
}

TEST_F(TilePromise, HoldsForCapturesNearTheEndsOf64Bits) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  // Sums that stay within 64 bits for each pair, though those of the ends of
  // intervals may not: %c0 is near an end, and %c1 is small.
  const char *const sums[] = {
      "%x = arith.addi %i, %c0 : index\n",
      "%x = arith.subi %c0, %j : index\n",
      "%y = arith.subi %i, %j : index\n%x = arith.addi %y, %c0 : index\n",
      "%y = arith.minsi %c0, %i : index\n%x = arith.addi %y, %j : index\n",
      "%y = arith.maxsi %c0, %c1 : index\n%x = arith.subi %y, %i : index\n",
      ("%n = arith.constant 3 : index\n"
       "%y = arith.remsi %c0, %n : index\n"
       "%x = arith.muli %y, %j : index\n"),
      ("%n = arith.constant 5 : index\n"
       "%y = arith.subi %c0, %i : index\n"
       "%x = arith.remsi %y, %n : index\n"),
      ("%n = arith.constant 7 : index\n"
       "%y = arith.addi %j, %c0 : index\n"
       "%x = arith.floordivsi %y, %n : index\n"),
      ("%y = arith.subi %c0, %j : index\n"
       "%x = arith.xori %y, %i : index\n"),
      "%x = math.absi %c0 : index\n"};
  const char *const predicates[] = {"slt", "sge", "eq", "ne", "ult", "uge"};
  for (const char *sum : sums)
    for (const char *predicate : predicates)
      for (const char *other : {"%j", "%c1", "%c0"}) {
        std::string body = sum;
        derive(body + "%p = arith.cmpi " + predicate + ", %x, " + other +
                   " : index\nattn.yield %p : i1\n",
               /*evenIntervals=*/true);
        for (int64_t extreme :
             {least + 40, least / 2, int64_t(-1), most / 2, most - 40}) {
          CaptureData data{extreme, 3, {0, 0}, {}, {}};
          data.flags.assign(kMaxRows, 0);
          data.documents.assign(kMaxRows, 0);
          check({0, 0, 0, 4, 0, 5}, 9, data);
          check({0, 0, 3, 9, 4, 6}, 6, data);
          if (HasFatalFailure())
            return;
        }
      }
}

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

namespace {
struct NamedMask {
  const char *name, *body;
};
} // namespace

static std::string window(const char *size) {
  return std::string("%w = arith.constant ") + size +
         " : index\n"
         "%d = arith.subi %i, %j : index\n"
         "%near = arith.cmpi slt, %d, %w : index\n"
         "%past = arith.cmpi sle, %j, %i : index\n"
         "%p = arith.andi %near, %past : i1\n"
         "attn.yield %p : i1\n";
}

TEST_F(TilePromise, NeedsTheseTilesAtLength2048) {
  const CaptureData none{};
  // 16 tiles on the diagonal, and 12 on the edge of the window.
  for (bool evenIntervals : {false, true}) {
    derive(window("512"), evenIntervals);
    EXPECT_EQ(count(2048, 128, none), (Counts{186, 28, 42})) << text;
  }
  derive("%p = arith.cmpi sle, %j, %i : index\nattn.yield %p : i1\n", true);
  EXPECT_EQ(count(2048, 128, none), (Counts{120, 16, 120})) << text;
  // The window on both sides, and 128 keys that all see.
  derive("%w = arith.constant 257 : index\n"
         "%g = arith.constant 128 : index\n"
         "%d = arith.subi %i, %j : index\n"
         "%a = math.absi %d : index\n"
         "%near = arith.cmpi slt, %a, %w : index\n"
         "%first = arith.cmpi slt, %j, %g : index\n"
         "%p = arith.ori %near, %first : i1\n"
         "attn.yield %p : i1\n",
         false);
  // Tiles next to the diagonal are full, and those after them partial, but for
  // the first KV block, which is full for all rows.
  EXPECT_EQ(count(2048, 128, none), (Counts{169, 27, 60})) << text;
}

TEST_F(TilePromise, IsExactForNamedMasks) {
  constexpr int64_t length = 256, size = 16;
  // Positions: %c0 is 100, %c1 is 20.
  const NamedMask masks[] = {
      {"causal", "%p = arith.cmpi sle, %j, %i : index\n"},
      {"bottom right", "%o = arith.addi %i, %c0 : index\n"
                       "%p = arith.cmpi sle, %j, %o : index\n"},
      {"window on both sides", "%d = arith.subi %i, %j : index\n"
                               "%a = math.absi %d : index\n"
                               "%p = arith.cmpi sle, %a, %c1 : index\n"},
      {"prefix", "%x = arith.cmpi sle, %j, %i : index\n"
                 "%y = arith.cmpi slt, %j, %c0 : index\n"
                 "%p = arith.ori %x, %y : i1\n"},
      {"dilated by blocks", "%n = arith.constant 16 : index\n"
                            "%m = arith.constant 4 : index\n"
                            "%z = arith.constant 0 : index\n"
                            "%x = arith.divui %i, %n : index\n"
                            "%y = arith.divui %j, %n : index\n"
                            "%d = arith.subi %x, %y : index\n"
                            "%r = arith.remsi %d, %m : index\n"
                            "%p = arith.cmpi eq, %r, %z : index\n"},
      {"strided blocks of keys, causal",
       "%n = arith.constant 32 : index\n"
       "%m = arith.constant 3 : index\n"
       "%one = arith.constant 1 : index\n"
       "%y = arith.divui %j, %n : index\n"
       "%r = arith.remui %y, %m : index\n"
       "%x = arith.cmpi slt, %r, %one : index\n"
       "%c = arith.cmpi sle, %j, %i : index\n"
       "%p = arith.andi %x, %c : i1\n"},
      {"strided", "%m = arith.constant 48 : index\n"
                  "%z = arith.constant 0 : index\n"
                  "%d = arith.subi %i, %j : index\n"
                  "%r = arith.remsi %d, %m : index\n"
                  "%p = arith.cmpi eq, %r, %z : index\n"},
      {"documents", "%x = tensor.extract %doc[%i] : tensor<?xi32>\n"
                    "%y = tensor.extract %doc[%j] : tensor<?xi32>\n"
                    "%p = arith.cmpi eq, %x, %y : i32\n"},
      {"other documents", "%x = tensor.extract %doc[%i] : tensor<?xi32>\n"
                          "%y = tensor.extract %doc[%j] : tensor<?xi32>\n"
                          "%p = arith.cmpi ne, %x, %y : i32\n"},
      {"documents by block of keys",
       "%n = arith.constant 64 : index\n"
       "%b0 = arith.divui %j, %n : index\n"
       "%x = tensor.extract %doc[%b0] : tensor<?xi32>\n"
       "%w = arith.constant 0 : i32\n"
       "%p = arith.cmpi eq, %x, %w : i32\n"},
      {"lengths of a batch", "%l = tensor.extract %len[%b] : tensor<2xi32>\n"
                             "%n = arith.index_cast %l : i32 to index\n"
                             "%x = arith.cmpi slt, %i, %n : index\n"
                             "%y = arith.cmpi slt, %j, %n : index\n"
                             "%p = arith.andi %x, %y : i1\n"},
      {"all but the padding of keys",
       "%p = tensor.extract %flag[%j] : tensor<?xi1>\n"},
      {"neighbours on a grid", "%n = arith.constant 16 : index\n"
                               "%two = arith.constant 2 : index\n"
                               "%xi = arith.remui %i, %n : index\n"
                               "%yi = arith.divui %i, %n : index\n"
                               "%xj = arith.remui %j, %n : index\n"
                               "%yj = arith.divui %j, %n : index\n"
                               "%dx = arith.subi %xi, %xj : index\n"
                               "%dy = arith.subi %yi, %yj : index\n"
                               "%ax = math.absi %dx : index\n"
                               "%ay = math.absi %dy : index\n"
                               "%px = arith.cmpi sle, %ax, %two : index\n"
                               "%py = arith.cmpi sle, %ay, %two : index\n"
                               "%p = arith.andi %px, %py : i1\n"},
      {"global and window", "%g = arith.constant 4 : index\n"
                            "%d = arith.subi %i, %j : index\n"
                            "%a = math.absi %d : index\n"
                            "%w = arith.cmpi sle, %a, %c1 : index\n"
                            "%x = arith.cmpi slt, %i, %g : index\n"
                            "%y = arith.cmpi slt, %j, %g : index\n"
                            "%u = arith.ori %x, %y : i1\n"
                            "%p = arith.ori %u, %w : i1\n"},
      {"not a window", "%t = arith.constant true\n"
                       "%d = arith.subi %i, %j : index\n"
                       "%a = math.absi %d : index\n"
                       "%w = arith.cmpi sle, %a, %c0 : index\n"
                       "%p = arith.xori %w, %t : i1\n"},
      {"a document or the prefix",
       "%x = tensor.extract %doc[%i] : tensor<?xi32>\n"
       "%y = tensor.extract %doc[%j] : tensor<?xi32>\n"
       "%e = arith.cmpi eq, %x, %y : i32\n"
       "%f = arith.cmpi slt, %j, %c1 : index\n"
       "%p = arith.ori %e, %f : i1\n"},
      {"butterfly", "%k = arith.constant 192 : index\n"
                    "%z = arith.constant 0 : index\n"
                    "%x = arith.xori %i, %j : index\n"
                    "%a = arith.andi %x, %k : index\n"
                    "%p = arith.cmpi eq, %a, %z : index\n"},
      {"a pattern of bits", "%k = arith.constant 11 : index\n"
                            "%n = arith.constant 16 : index\n"
                            "%one = arith.constant 1 : index\n"
                            "%three = arith.constant 3 : index\n"
                            "%y = arith.divui %j, %n : index\n"
                            "%m = arith.andi %y, %three : index\n"
                            "%s = arith.shrui %k, %m : index\n"
                            "%a = arith.andi %s, %one : index\n"
                            "%p = arith.cmpi ne, %a, %one : index\n"},
      {"of another kind for each head",
       "%z = arith.constant 0 : index\n"
       "%is = arith.cmpi ne, %h, %z : index\n"
       "%x = arith.cmpi ne, %j, %i : index\n"
       "%y = arith.cmpi sle, %j, %i : index\n"
       "%p = arith.select %is, %x, %y : i1\n"}};
  CaptureData data{100, 20, {130, 7}, {}, {}};
  for (int64_t row = 0; row < length; ++row) {
    data.documents.push_back(row / 70);
    data.flags.push_back(row < 150 || row > 200 ? -1 : 0);
  }
  for (const NamedMask &mask : masks) {
    derive(std::string(mask.body) + "attn.yield %p : i1\n",
           /*evenIntervals=*/true);
    Counts best = countBest(length, size, data);
    EXPECT_EQ(count(length, size, data), best) << mask.name << "\n" << text;
    EXPECT_GT(best.empty + best.full, 0) << mask.name;
    derive(std::string(mask.body) + "attn.yield %p : i1\n",
           /*evenIntervals=*/false);
    EXPECT_EQ(count(length, size, data), best) << mask.name << "\n" << text;
  }
}
