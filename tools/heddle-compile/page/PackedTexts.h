// Long texts that repeat in a page, such as the same entry after each phase. The page holds each once, compressed.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mlir::heddle {

/// Returns the text compressed by zlib, in Base64. A browser's DecompressionStream("deflate") unpacks it.
std::string packText(StringRef text);

class PackedTexts {
public:
  /// Adds the text, unless it is there already, and returns its number.
  size_t add(StringRef text);
  const std::vector<std::string> &get() const { return texts; }

private:
  llvm::StringMap<size_t> numbers; // by packed text, which is shorter
  std::vector<std::string> texts;
};

} // namespace mlir::heddle
