// Makes an editor's messages safe for recursive parsers.
#pragma once

#include <string>

namespace mlir {
class DialectRegistry;
}

namespace mlir::heddle {

/// Returns `message`, or what the server gets instead of it. LLVM's JSON parser and MLIR's parser recurse into nested
/// text, so a message of a few kilobytes could exhaust the stack. A message whose values nest too deep becomes a
/// request that the server refuses. A document that nests too deep becomes an op whose parser reports the place.
std::string makeShallow(std::string message);

/// Registers the dialect of that op.
void registerTooDeepDialect(DialectRegistry &registry);

/// Filters standard input through makeShallow(), in a thread that lives as long as the program. Returns false, after a
/// message, if no pipe can be created.
bool filterStandardInput();

} // namespace mlir::heddle
