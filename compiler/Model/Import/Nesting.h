// LLVM's JSON parser, toml++ and MLIR's parser recurse into nested values: a file of a few kilobytes could exhaust the
// stack. The compiler's inputs hardly nest, so deeply nested text is rejected before it is parsed.
#pragma once

#include "llvm/Support/JSON.h"

#include <optional>
#include <utility>

namespace mlir::heddle {

inline constexpr size_t kDeepestNesting = 64;

/// llvm::json::parse, except that values which nest deeper than kDeepestNesting are an error.
llvm::Expected<llvm::json::Value> parseShallowJSON(llvm::StringRef text);

/// Returns true if arrays and objects nest deeper than kDeepestNesting.
bool nestsTooDeepJSON(llvm::StringRef text);

/// Returns true if arrays, tables and dotted keys nest deeper than kDeepestNesting.
bool nestsTooDeepTOML(llvm::StringRef text);

/// The largest depth of nested regions, attributes, types and locations in a module.
inline constexpr size_t kDeepestModule = 500;

/// Returns the line and column, from 1 on, where the text of a module nests deeper than kDeepestModule, or nothing.
std::optional<std::pair<unsigned, unsigned>> findTooDeepMLIR(llvm::StringRef text);

} // namespace mlir::heddle
