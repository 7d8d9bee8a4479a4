//===- KernelLayout.cpp - Parameters and memory of a kernel ---------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// The function, with the parameters of the kernel's arguments in order.
LogicalResult ThreadProgram::emitSignature() {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto globalPointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  DictionaryAttr none = b.getDictionaryAttr({});
  auto mapAttributes = b.getDictionaryAttr(
      {b.getNamedAttr("llvm.byval", TypeAttr::get(LLVM::LLVMArrayType::get(
                                        b.getI8Type(), 128))),
       b.getNamedAttr("nvvm.grid_constant", b.getUnitAttr()),
       b.getNamedAttr("llvm.align", b.getI64IntegerAttr(64))});
  auto add = [&](StringRef kind, int64_t operand, Type type, int64_t dim = -1,
                 ArrayRef<NamedAttribute> more = {}) {
    SmallVector<NamedAttribute> param(more);
    param.push_back(b.getNamedAttr("kind", b.getStringAttr(kind)));
    param.push_back(b.getNamedAttr("operand", b.getI64IntegerAttr(operand)));
    if (dim >= 0)
      param.push_back(b.getNamedAttr("dim", b.getI64IntegerAttr(dim)));
    describe(b.getDictionaryAttr(param));
    types.push_back(type);
    attributes.push_back(kind == "map" ? mapAttributes : none);
  };
  struct Pending {
    Value argument;
    unsigned first;
  };
  SmallVector<Pending> starts;
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (kernel.getArgAttr(number, hopper::kCounterAttrName)) {
      starts.push_back({argument, static_cast<unsigned>(types.size())});
      describe(b.getDictionaryAttr(
          b.getNamedAttr("kind", b.getStringAttr("counter"))));
      types.push_back(globalPointer);
      attributes.push_back(none);
      continue;
    }
    if (kernel.getArgAttr(number, hopper::kPackedCountAttrName)) {
      starts.push_back({argument, static_cast<unsigned>(types.size())});
      describe(b.getDictionaryAttr(
          b.getNamedAttr("kind", b.getStringAttr("packed_count"))));
      types.push_back(b.getI32Type());
      attributes.push_back(none);
      continue;
    }
    auto operandAttr =
        kernel.getArgAttrOfType<IntegerAttr>(number, hopper::kOperandAttrName);
    if (!operandAttr)
      return kernel.emitError("expects argument ")
             << number << " of a kernel to have '" << hopper::kOperandAttrName
             << "'";
    int64_t operand = operandAttr.getInt();
    starts.push_back({argument, static_cast<unsigned>(types.size())});
    Type type = argument.getType();
    if (auto map = dyn_cast<hopper::MapType>(type)) {
      auto dims = kernel.getArgAttrOfType<DenseI64ArrayAttr>(
          number, hopper::kDimsAttrName);
      if (!dims || dims.size() != 4)
        return kernel.emitError("expects a map to have four '")
               << hopper::kDimsAttrName << "'";
      if (map.getStrided()) {
        SmallVector<NamedAttribute> alignment;
        if (map.getAligned())
          alignment.push_back(
              b.getNamedAttr("alignment", b.getI64IntegerAttr(kSegmentBytes)));
        add("pointer", operand, globalPointer, -1, alignment);
        for (int64_t dim : ArrayRef(dims.asArrayRef()).take_front(3))
          add("stride", operand, b.getI64Type(), dim, alignment);
        add("extent", operand, b.getI32Type(), dims[2]);
        continue;
      }
      // The box of the hardware is one chunk of columns.
      SmallVector<NamedAttribute> members = {
          b.getNamedAttr("columns", b.getI64IntegerAttr(hopper::getChunkColumns(
                                        map.getElementType()))),
          b.getNamedAttr("dims", dims),
          b.getNamedAttr("rows", b.getI64IntegerAttr(map.getRows()))};
      if (map.getPacked())
        members.push_back(b.getNamedAttr("packed", b.getUnitAttr()));
      add("map", operand, pointer, -1, members);
    } else if (auto memref = dyn_cast<MemRefType>(type)) {
      add("pointer", operand, globalPointer);
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(memref.getStridesAndOffset(strides, offset)))
        return kernel.emitError("expects buffers with strides, but got ")
               << memref;
      for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
        if (memref.isDynamicDim(dim))
          add("extent", operand, b.getI32Type(), dim);
        if (ShapedType::isDynamic(strides[dim]))
          add("stride", operand, b.getI64Type(), dim);
      }
    } else if (auto dim = kernel.getArgAttrOfType<IntegerAttr>(
                   number, hopper::kDimAttrName)) {
      add("extent", operand, b.getI32Type(), dim.getInt());
    } else if (isa<IndexType>(type)) {
      add("scalar", operand, b.getI64Type());
    } else if (type.isIntOrFloat()) {
      add("scalar", operand, type);
    } else {
      return kernel.emitError("expects arguments of a kernel to be maps, "
                              "buffers or scalars, but got ")
             << type;
    }
  }

  auto functionType = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), types);
  function = LLVM::LLVMFuncOp::create(b, kernel.getName(), functionType);
  for (auto [number, attribute] : llvm::enumerate(attributes))
    function.setArgAttrs(number, attribute);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  for (Pending start : starts) {
    unsigned next = start.first;
    auto take = [&] { return Value(function.getArgument(next++)); };
    Type type = start.argument.getType();
    if (auto map = dyn_cast<hopper::MapType>(type); map && map.getStrided()) {
      BufferParameter &buffer = buffers[start.argument];
      buffer.pointer = take();
      for (int64_t dim = 0; dim < 3; ++dim)
        buffer.strides.push_back(take());
      buffer.extents.push_back({take(), 0});
    } else if (auto memref = dyn_cast<MemRefType>(type)) {
      BufferParameter &buffer = buffers[start.argument];
      buffer.pointer = take();
      SmallVector<int64_t> strides;
      int64_t offset;
      (void)memref.getStridesAndOffset(strides, offset);
      for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
        buffer.extents.push_back(
            memref.isDynamicDim(dim)
                ? IndexElement{take(), 0}
                : IndexElement{{}, memref.getDimSize(dim)});
        if (ShapedType::isDynamic(strides[dim]))
          buffer.strides.push_back(take());
        else
          buffer.strides.push_back(strides[dim] == 1 ? Value()
                                                     : i64(strides[dim]));
      }
    } else if (isa<IndexType>(type)) {
      indices[start.argument] = {{take(), 0}};
    } else {
      values[start.argument] = {take()};
    }
  }
  return success();
}

/// The bytes of a tile, or of a vector.
template <typename TypeT> static int64_t getBytes(TypeT type) {
  if (type.isVector())
    return type.getRows() * kVectorBytes;
  return llvm::divideCeil(type.getColumns(),
                          hopper::getChunkColumns(type.getElementType())) *
         type.getRows() * kRowBytes;
}

/// Gives a channel or a mailbox its barriers, and vectors and messages their
/// places behind them.
void ThreadProgram::layOutRing(Value ring) {
  SharedTile &tile = shared[ring];
  auto channel = dyn_cast<hopper::ChannelType>(ring.getType());
  int64_t stages = channel ? channel.getStages() : kMailboxSlots;
  tile.fullBarrier = numBarrierBytes;
  tile.emptyBarrier = numBarrierBytes + 8 * stages;
  numBarrierBytes += 16 * stages;
  if (!channel) {
    tile.bytes = 4 * cast<hopper::MailboxType>(ring.getType()).getLength();
    tile.offset = numBarrierBytes;
    numBarrierBytes += llvm::alignTo(stages * tile.bytes, 8);
  } else if (channel.getNotes()) {
    tile.note = numBarrierBytes;
    numBarrierBytes += llvm::alignTo(4 * stages, 8);
  } else if (channel.isVector()) {
    numBarrierBytes = llvm::alignTo(numBarrierBytes, kSegmentBytes);
    tile.bytes = llvm::alignTo(getBytes(channel), kSegmentBytes);
    tile.offset = numBarrierBytes;
    numBarrierBytes += stages * tile.bytes;
  }

  // Who arrives: a thread for the hardware, threads that copy, or warps.
  hopper::RingUsers users = roles.getUsers(ring);
  for (Operation *op : users.puts) {
    hopper::PartitionAttr producer = roles.getPartition(*users.producer);
    if (auto put = dyn_cast<hopper::PutOp>(op)) {
      hopper::MapType map = put.getMap().getType();
      if (map.getStrided())
        tile.fullArrivals = producer.getThreads();
      tile.isWrittenByThreads |= map.getAligned();
    } else if (isa<hopper::PutFragmentOp>(op)) {
      tile.fullArrivals = producer.getWarps();
    }
  }
  int64_t arrivals = 0;
  for (unsigned consumer : users.consumers)
    arrivals += roles.getPartition(consumer).getWarps();
  tile.emptyArrivals = std::max<int64_t>(arrivals, 1);
}

/// Gives each channel and tile its place in shared memory: barriers first.
void ThreadProgram::layOutMemory() {
  auto place = [&](int64_t bytes) {
    int64_t at = sharedBytes;
    sharedBytes += llvm::alignTo(bytes, kTileAlignment);
    return at;
  };
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    if (isa<hopper::CreateChannelOp, hopper::CreateMailboxOp>(op))
      layOutRing(op.getResult(0));
  sharedBytes =
      llvm::alignTo(std::max<int64_t>(numBarrierBytes, 1), kTileAlignment);
  for (Operation &op : body) {
    if (auto channel = dyn_cast<hopper::CreateChannelOp>(op)) {
      hopper::ChannelType type = channel.getResult().getType();
      if (type.isVector())
        continue;
      SharedTile &tile = shared[channel.getResult()];
      tile.bytes = getBytes(type);
      tile.offset = place(type.getStages() * tile.bytes);
    } else if (isa<hopper::CreateTileOp, hopper::CreateRampOp>(op)) {
      Value result = op.getResult(0);
      auto type = cast<hopper::TileType>(result.getType());
      SharedTile &tile = shared[result];
      tile.bytes = getBytes(type);
      tile.offset = place(tile.bytes);
      tiles[result] = {};
    }
  }
  for (auto &[value, tile] : tiles)
    tile.shared = &shared[value];
}

/// All threads write the ramps, 16 bytes at a time. As all columns of a row are
/// the same, those of a chunk may be in any order.
void ThreadProgram::emitRamps() {
  int64_t threads = hopper::PartitionLayout(roles).getNumThreads();
  for (auto ramp : kernel.getBody().front().getOps<hopper::CreateRampOp>()) {
    hopper::TileType type = ramp.getResult().getType();
    constexpr int64_t numSegments = kRowBytes / kSegmentBytes;
    auto loop = scf::ForOp::create(
        b, threadId, i32(type.getRows() * numSegments), i32(threads));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value segment = loop.getInductionVar();
    Value row = arith::UIToFPOp::create(
        b, b.getF32Type(),
        arith::DivUIOp::create(b, segment, i32(numSegments)));
    Value pair = packPair(row, row, type.getElementType());
    auto vector = VectorType::get({kSegmentBytes / 4}, b.getI32Type());
    Value all = LLVM::UndefOp::create(b, vector);
    for (int64_t e = 0; e < kSegmentBytes / 4; ++e)
      all = LLVM::InsertElementOp::create(b, all, pair, i32(e));
    Value address =
        offsetPointer(b, getSharedPointer(tiles.at(ramp.getResult()), 0),
                      arith::MulIOp::create(b, segment, i32(kSegmentBytes)));
    LLVM::StoreOp::create(b, all, address, kSegmentBytes);
    // Products read by another way than threads write.
    b.setInsertionPointAfter(loop);
    emitProxyFence();
  }
}

/// One thread initialises the barriers of channels and mailboxes.
void ThreadProgram::emitBarriers() {
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadId, i32(0));
  emitIfThen(isFirst, [&] {
    for (Operation &op : kernel.getBody().front()) {
      auto channel = dyn_cast<hopper::CreateChannelOp>(op);
      if (!channel && !isa<hopper::CreateMailboxOp>(op))
        continue;
      const SharedTile &tile = shared[op.getResult(0)];
      int64_t stages =
          channel ? channel.getResult().getType().getStages() : kMailboxSlots;
      for (int64_t stage = 0; stage < stages; ++stage) {
        NVVM::MBarrierInitOp::create(
            b, getBarrier(tile.fullBarrier + 8 * stage, {}),
            i32(tile.fullArrivals), Value());
        NVVM::MBarrierInitOp::create(
            b, getBarrier(tile.emptyBarrier + 8 * stage, {}),
            i32(tile.emptyArrivals), Value());
      }
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  NVVM::BarrierOp::create(b);
}
