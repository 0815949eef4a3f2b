#include "compiler/Analysis/Profile/Precision.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr std::pair<StringLiteral, Precision> kNames[] = {{"f32", Precision::F32},
                                                                 {"bf16", Precision::BF16},
                                                                 {"f16", Precision::F16},
                                                                 {"tf32", Precision::TF32},
                                                                 {"bf16x3", Precision::BF16X3}};

StringRef heddle::toString(Precision precision) { return kNames[static_cast<size_t>(precision)].first; }

std::optional<Precision> heddle::parsePrecision(StringRef name) {
  for (auto [known, precision] : kNames)
    if (known == name)
      return precision;
  return std::nullopt;
}
