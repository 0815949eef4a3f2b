// LLVM's JSON parser, toml++ and MLIR's parser recurse into nested values: a file of some kilobytes could exhaust the
// stack. What the compiler reads hardly nests, so text that does is refused before it is parsed.
#ifndef HEDDLE_COMPILER_IMPORT_NESTING_H
#define HEDDLE_COMPILER_IMPORT_NESTING_H

#include "llvm/Support/JSON.h"

#include <optional>
#include <utility>

namespace mlir::heddle {

inline constexpr size_t kDeepestNesting = 64;

/// llvm::json::parse; values that nest deeper than kDeepestNesting are an error.
llvm::Expected<llvm::json::Value> parseShallowJSON(llvm::StringRef text);

/// Whether arrays and objects nest deeper than kDeepestNesting.
bool nestsTooDeepJSON(llvm::StringRef text);

/// Whether arrays, tables and dotted keys nest deeper than kDeepestNesting.
bool nestsTooDeepTOML(llvm::StringRef text);

/// Regions, attributes, types and locations of a module within each other.
inline constexpr size_t kDeepestModule = 500;

/// The line and column, from 1 on, where the text of a module nests deeper than kDeepestModule.
std::optional<std::pair<unsigned, unsigned>> findTooDeepMLIR(llvm::StringRef text);

} // namespace mlir::heddle

#endif // HEDDLE_COMPILER_IMPORT_NESTING_H
