//===- AttnLists.cpp - Tables that are made of lists of keys --------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult KeyBitmaskOp::verify() {
  auto columns = cast<ShapedType>(getColumns().getType());
  auto into = cast<ShapedType>(getInto().getType());
  if (columns.getRank() != 1 || (!columns.getElementType().isInteger(32) &&
                                 !columns.getElementType().isInteger(64)))
    return emitOpError("expects columns to be a vector of i32 or i64, but got ")
           << columns;
  if (into.getRank() == 0 || !into.getElementType().isInteger(32))
    return emitOpError("expects words of i32 with a rank of at least 1, but "
                       "got ")
           << into;
  if (static_cast<int64_t>(getIndices().size()) != into.getRank() - 1)
    return emitOpError("expects one index for each dimension of the words but "
                       "the last, ")
           << into.getRank() - 1 << ", but got " << getIndices().size();
  if (isa<MemRefType>(into)) {
    if (getResult())
      return emitOpError("expects no result, as the words are a buffer");
  } else if (!getResult() || getResult().getType() != into) {
    return emitOpError("expects a result of the type of the words, ") << into;
  }
  return success();
}

void KeyBitmaskOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getColumns().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getColumnsMutable(),
                         SideEffects::DefaultResource::get());
  if (isa<MemRefType>(getInto().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &getIntoMutable(),
                         SideEffects::DefaultResource::get());
}

SmallVector<Type> KeyUnionOp::getTableTypes(ShapedType rows,
                                            int64_t tileQueries,
                                            int64_t tileKeys) {
  Type number = IntegerType::get(rows.getContext(), 32);
  constexpr int64_t any = ShapedType::kDynamic;
  SmallVector<int64_t> places(3 - rows.getRank(), 1);
  llvm::append_range(places, rows.getShape().drop_back());
  llvm::append_values(places, any, 2);
  return {
      RankedTensorType::get(places, number),
      RankedTensorType::get({any, tileKeys}, number),
      RankedTensorType::get({any, tileKeys / kWordKeys, tileQueries}, number)};
}

LogicalResult KeyUnionOp::verify() {
  auto rows = cast<ShapedType>(getRows().getType());
  auto columns = cast<ShapedType>(getColumns().getType());
  auto isNumber = [](ShapedType type) {
    return type.getElementType().isInteger(32) ||
           type.getElementType().isInteger(64);
  };
  if (!isNumber(rows) || rows.getRank() < 1 || rows.getRank() > 3)
    return emitOpError("expects rows of i32 or i64 with 1 to 3 dimensions, but "
                       "got ")
           << rows;
  if (!isNumber(columns) || columns.getRank() != 1)
    return emitOpError("expects columns to be a vector of i32 or i64, but got ")
           << columns;
  constexpr int64_t queryStep = 8;
  if (getTileQueries() < 1 || getTileQueries() % queryStep != 0 ||
      getTileKeys() < 1 || getTileKeys() % kWordKeys != 0)
    return emitOpError("expects a tile of a multiple of ")
           << queryStep << " queries and a multiple of " << kWordKeys
           << " keys, but got " << getTileQueries() << " and " << getTileKeys();
  bool areBuffers = isa<MemRefType>(rows);
  ValueRange tables =
      areBuffers ? ValueRange(getInto()) : ValueRange(getTables());
  SmallVector<Type> types =
      getTableTypes(rows, getTileQueries(), getTileKeys());
  if (tables.size() != types.size() ||
      getInto().size() + getTables().size() != types.size())
    return emitOpError("expects three tables as ")
           << (areBuffers ? "buffers, and no results" : "results");
  for (auto [table, type] : llvm::zip_equal(tables, types)) {
    auto got = cast<ShapedType>(table.getType());
    auto wanted = cast<ShapedType>(type);
    if (got.getElementType() != wanted.getElementType() ||
        failed(verifyCompatibleShape(got, wanted)))
      return emitOpError("expects a table like ")
             << wanted << ", but got " << got;
  }
  return success();
}

void KeyUnionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand *list : {&getRowsMutable(), &getColumnsMutable()})
    if (isa<MemRefType>(list->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), list,
                           SideEffects::DefaultResource::get());
  for (OpOperand &table : getIntoMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &table,
                         SideEffects::DefaultResource::get());
}
