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
