// What an editor sends, made safe for parsers that recurse.
#ifndef HEDDLE_TOOLS_HEDDLE_LSP_SERVER_SHALLOWMESSAGES_H
#define HEDDLE_TOOLS_HEDDLE_LSP_SERVER_SHALLOWMESSAGES_H

#include <string>

namespace mlir {
class DialectRegistry;
}

namespace mlir::heddle {

/// Returns the message that the server gets in the place of `message`. LLVM's JSON parser and MLIR's parser recurse
/// into nested text, so a message of some kilobytes could exhaust the stack. A message whose values nest too deep
/// becomes a request that the server refuses; the text of a document that nests too deep becomes an op whose parser
/// reports the place. Any other message stays as it is.
std::string makeShallow(std::string message);

/// Adds the dialect of that op.
void registerTooDeepDialect(DialectRegistry &registry);

/// Puts makeShallow() in front of standard input, in a thread that lives as long as the program. False, after a
/// message, where the system gives no pipe.
bool filterStandardInput();

} // namespace mlir::heddle

#endif
