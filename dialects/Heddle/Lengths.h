// Lengths of sequences that an entry may not know.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::heddle {

/// An attribute of an op on the lengths of a target's sequences. Decoding a token at a time does not know how long its
/// sequences become: its steps use the maximum for each of them instead of the op.
inline constexpr llvm::StringLiteral kOrLongestAttrName = "heddle.or_longest";

} // namespace mlir::heddle
