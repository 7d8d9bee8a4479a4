//===- DType.cpp - Element types of tensors in memory ---------------------===//

#include "attn/Support/DType.h"

using namespace attn;
using llvm::StringLiteral;
using llvm::StringRef;

static constexpr StringLiteral kNames[kNumDTypes] = {
    "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"};

// A single byte has no order, which NumPy writes as '|'.
static constexpr StringLiteral kDescrs[kNumDTypes] = {
    "<f8", "<f4", "<f2", "<V2", "<i8", "<i4", "<i2", "|i1", "|b1"};

StringRef attn::getName(DType dtype) {
  return kNames[static_cast<int32_t>(dtype)];
}

StringRef attn::getNumpyDescr(DType dtype) {
  return kDescrs[static_cast<int32_t>(dtype)];
}

NumpyType attn::parseNumpyDescr(StringRef descr) {
  char order = '=';
  if (!descr.empty() && StringRef("<>=|").contains(descr.front())) {
    order = descr.front();
    descr = descr.drop_front();
  }
  if (descr == "V2" || descr == "u2")
    return {order == '>' ? NumpyType::Unsupported : NumpyType::MaybeBF16,
            DType::BF16};
  for (int32_t code = 0; code < kNumDTypes; ++code) {
    DType dtype = static_cast<DType>(code);
    if (kDescrs[code].drop_front() != descr)
      continue;
    bool swapped = order == '>' && getSize(dtype) > 1;
    return {swapped ? NumpyType::BigEndian : NumpyType::Known, dtype};
  }
  return {};
}
