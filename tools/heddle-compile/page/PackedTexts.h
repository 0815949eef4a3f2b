// Texts of a page that are long and alike, such as the same entry after each phase: each is in the page once,
// compressed.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PACKEDTEXTS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PACKEDTEXTS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mlir::heddle {

/// A text as zlib compresses it, in Base64: a browser's DecompressionStream("deflate") unpacks it.
std::string packText(StringRef text);

class PackedTexts {
public:
  /// The number of the text.
  size_t add(StringRef text);
  const std::vector<std::string> &get() const { return texts; }

private:
  llvm::StringMap<size_t> numbers; // by packed text, which is shorter
  std::vector<std::string> texts;
};

} // namespace mlir::heddle

#endif
