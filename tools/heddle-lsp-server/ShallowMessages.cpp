#include "tools/heddle-lsp-server/ShallowMessages.h"

#include "compiler/Model/Import/Nesting.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace mlir::heddle;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kTooDeepOp = "too_deep.module";

namespace {

class TooDeepDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TooDeepDialect)

  explicit TooDeepDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<TooDeepDialect>()) {}

  static constexpr llvm::StringLiteral getDialectNamespace() { return "too_deep"; }

  std::optional<ParseOpHook> getParseOperationHook(StringRef) const override { return report; }

private:
  static ParseResult report(OpAsmParser &parser, OperationState &) {
    return emitError(parser.getEncodedSourceLoc(parser.getNameLoc()))
           << "the module nests more than " << kDeepestModule << " deep";
  }
};

} // namespace

void mlir::heddle::registerTooDeepDialect(DialectRegistry &registry) { registry.insert<TooDeepDialect>(); }

/// Replaces the document's text in `holder` if it nests too deep. Returns true if it does.
static bool replaceTooDeep(json::Object *holder) {
  std::optional<StringRef> text = holder ? holder->getString("text") : std::nullopt;
  auto place = text ? findTooDeepMLIR(*text) : std::nullopt;
  if (place)
    (*holder)["text"] = std::string(place->first - 1, '\n') + std::string(place->second - 1, ' ') + kTooDeepOp.str();
  return place.has_value();
}

static std::string toText(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

std::string mlir::heddle::makeShallow(std::string message) {
  if (nestsTooDeepJSON(message)) {
    std::string what = ("a message whose values nest more than " + llvm::Twine(kDeepestNesting) + " deep").str();
    return toText(json::Object{{"jsonrpc", "2.0"}, {"id", nullptr}, {"method", std::move(what)}});
  }
  llvm::Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return message; // the server reports what is wrong
  }
  json::Object *whole = parsed->getAsObject();
  json::Object *params = whole ? whole->getObject("params") : nullptr;
  if (!params)
    return message;
  // At each change editors send the whole text, as the server requests.
  bool isReplaced = replaceTooDeep(params->getObject("textDocument"));
  if (json::Array *changes = params->getArray("contentChanges"))
    for (json::Value &change : *changes)
      isReplaced |= replaceTooDeep(change.getAsObject());
  return isReplaced ? toText(std::move(*parsed)) : message;
}

namespace {

/// Reads messages from a file descriptor. A header before each message gives its length.
class MessageReader {
public:
  explicit MessageReader(int file) : file(file) {}

  /// Returns the next message, or nullopt at the end of the input.
  std::optional<std::string> next() {
    size_t length = 0;
    for (std::optional<StringRef> line = readLine(); line; line = readLine()) {
      StringRef header = line->trim();
      if (header.consume_front("Content-Length:"))
        (void)header.trim().getAsInteger(10, length);
      else if (header.empty() && length > 0)
        return readBytes(length);
    }
    return std::nullopt;
  }

private:
  bool readMore() {
    char bytes[1 << 16];
    ssize_t count = 0;
    do
      count = read(file, bytes, sizeof(bytes));
    while (count < 0 && errno == EINTR);
    if (count <= 0)
      return false;
    buffer.erase(0, used);
    used = 0;
    buffer.append(bytes, static_cast<size_t>(count));
    return true;
  }
  std::optional<StringRef> readLine() {
    size_t end = buffer.find('\n', used);
    while (end == std::string::npos) {
      if (!readMore())
        return std::nullopt;
      end = buffer.find('\n', used);
    }
    StringRef line = StringRef(buffer).slice(used, end);
    used = end + 1;
    return line;
  }
  std::optional<std::string> readBytes(size_t length) {
    while (buffer.size() - used < length)
      if (!readMore())
        return std::nullopt;
    used += length;
    return buffer.substr(used - length, length);
  }

  int file;
  std::string buffer;
  size_t used = 0; // bytes of the buffer that are consumed
};

} // namespace

static bool writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR)
      return false;
    bytes = bytes.drop_front(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

bool mlir::heddle::filterStandardInput() {
  int ends[2], input = dup(STDIN_FILENO);
  if (input < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0) {
    llvm::errs() << "heddle-lsp-server: cannot make a pipe: " << std::strerror(errno) << "\n";
    return false;
  }
  close(ends[0]);
  std::thread([input, output = ends[1]] {
    MessageReader reader(input);
    while (std::optional<std::string> message = reader.next()) {
      std::string passed = makeShallow(std::move(*message));
      if (!writeAll(output, "Content-Length: " + std::to_string(passed.size()) + "\r\n\r\n" + passed))
        break;
    }
    close(output);
  }).detach();
  return true;
}
