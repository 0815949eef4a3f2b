#include "compiler/Model/HuggingFace/Config.h"

#include "compiler/Model/Import/Nesting.h"
#include "runtime/core/Signature.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

std::string show(const llvm::json::Value &value) { return llvm::formatv("{0}", value); }

/// Returns true if the value is null or an empty text, list or object.
bool isEmpty(const llvm::json::Value &value) {
  if (auto text = value.getAsString())
    return text->empty();
  if (const llvm::json::Array *array = value.getAsArray())
    return array->empty();
  const llvm::json::Object *object = value.getAsObject();
  return object ? object->empty() : value.kind() == llvm::json::Value::Null;
}

} // namespace

FailureOr<HuggingFaceConfig> HuggingFaceConfig::read(MLIRContext *context, StringRef path) {
  HuggingFaceConfig config;
  config.context = context;
  config.path = path.str();
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && status.type() != llvm::sys::fs::file_type::regular_file)
    return emitError(UnknownLoc::get(context)) << "'" << path << "' is not a regular file; download it again";
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return emitError(UnknownLoc::get(context))
           << "cannot read '" << path << "': " << file.getError().message()
           << "; a folder is read as a model from Hugging Face, which has its configuration there";
  if (std::optional<std::string> kind =
          ::heddle::foreignKind((*file)->getBuffer().take_front(::heddle::kSignatureBytes)))
    return emitError(UnknownLoc::get(context)) << "'" << path << "' " << *kind;
  config.source = (*file)->getBuffer().str();
  llvm::Expected<llvm::json::Value> parsed = parseShallowJSON(config.source);
  if (!parsed)
    return emitError(Location(FileLineColLoc::get(context, path, 1, 1)))
           << "not valid JSON: " << llvm::toString(parsed.takeError()) << "; download the file again";
  if (!parsed->getAsObject())
    return emitError(Location(FileLineColLoc::get(context, path, 1, 1)))
           << "expects a JSON object with a model's configuration; download the file again";
  config.object = std::move(*parsed->getAsObject());
  return config;
}

HuggingFaceConfig HuggingFaceConfig::make(MLIRContext *context, StringRef path, llvm::json::Object object) {
  HuggingFaceConfig config;
  config.context = context;
  config.path = path.str();
  config.object = std::move(object);
  return config;
}

void HuggingFaceConfig::adopt(const HuggingFaceConfig &other, StringRef key) {
  if (const llvm::json::Value *value = other.object.get(key); value && !object.get(key))
    object[key.str()] = *value;
}

LocationAttr HuggingFaceConfig::whereIs(StringRef key) const {
  StringRef text = source;
  size_t place = text.find(("\"" + key + "\"").str());
  if (place == StringRef::npos)
    return FileLineColLoc::get(context, path, 1, 1);
  StringRef before = text.take_front(place);
  size_t column = before.size() - (before.rfind('\n') + 1); // npos + 1 is the first line's start
  return FileLineColLoc::get(context, path, before.count('\n') + 1, column + 1);
}

InFlightDiagnostic HuggingFaceConfig::fail(StringRef key) {
  failed = true;
  return emitError(Location(whereIs(key)));
}

//===-- Values --------------------------------------------------------------------------------------------------===//

const llvm::json::Value *HuggingFaceConfig::find(StringRef key) {
  known.insert(key);
  const llvm::json::Value *value = object.get(key);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

const llvm::json::Value *HuggingFaceConfig::find(StringRef key, bool required, StringRef what) {
  const llvm::json::Value *value = find(key);
  if (!value && required)
    failLacking(key, what);
  return value;
}

void HuggingFaceConfig::failLacking(StringRef key, StringRef what) {
  fail(key) << "the configuration lacks '" << key << "', " << what << ", without which the model's shape is not known; "
            << "use the config.json of the published weights";
}

void HuggingFaceConfig::wrongType(StringRef key, StringRef what, const llvm::json::Value &value) {
  fail(key) << "'" << key << "' expects " << what << ", got " << show(value);
}

int64_t HuggingFaceConfig::whole(StringRef key, int64_t low, int64_t high, std::optional<int64_t> otherwise) {
  const llvm::json::Value *value = find(key, !otherwise, "a whole number");
  if (!value)
    return otherwise.value_or(low);
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= low && *number <= high)
    return *number;
  fail(key) << "'" << key << "' expects a whole number from " << low << " to " << high << ", got " << show(*value);
  return low;
}

double HuggingFaceConfig::number(StringRef key, double otherwise) {
  const llvm::json::Value *value = find(key);
  if (!value)
    return otherwise;
  if (std::optional<double> number = value->getAsNumber())
    return *number;
  wrongType(key, "a number", *value);
  return otherwise;
}

bool HuggingFaceConfig::flag(StringRef key, bool otherwise) {
  const llvm::json::Value *value = find(key);
  if (!value)
    return otherwise;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  wrongType(key, "true or false", *value);
  return otherwise;
}

std::string HuggingFaceConfig::text(StringRef key, std::optional<StringRef> otherwise) {
  const llvm::json::Value *value = find(key, !otherwise, "a string");
  if (!value)
    return otherwise.value_or("").str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  wrongType(key, "a string", *value);
  return {};
}

std::vector<std::string> HuggingFaceConfig::list(StringRef key) {
  std::vector<std::string> texts;
  const llvm::json::Value *value = find(key);
  if (!value)
    return texts;
  const llvm::json::Array *array = value->getAsArray();
  for (size_t i = 0; array && i < array->size(); ++i)
    if (std::optional<StringRef> text = (*array)[i].getAsString())
      texts.push_back(text->str());
  if (!array || texts.size() != array->size())
    wrongType(key, "a list of strings", *value);
  return texts;
}

SmallVector<int64_t> HuggingFaceConfig::wholes(StringRef key, int64_t low, int64_t high) {
  const llvm::json::Value *value = find(key);
  if (!value)
    return {};
  const llvm::json::Array *array = value->getAsArray();
  SmallVector<int64_t> numbers;
  for (const llvm::json::Value &one :
       array ? ArrayRef<llvm::json::Value>(array->data(), array->size()) : ArrayRef<llvm::json::Value>(*value)) {
    std::optional<int64_t> number = one.getAsInteger();
    if (!number || *number < low || *number > high) {
      fail(key) << "'" << key << "' expects whole numbers from " << low << " to " << high << ", got " << show(*value);
      return {};
    }
    if (!llvm::is_contained(numbers, *number))
      numbers.push_back(*number);
  }
  return numbers;
}

std::optional<HuggingFaceConfig> HuggingFaceConfig::nested(StringRef key) {
  const llvm::json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  const llvm::json::Object *inner = value->getAsObject();
  if (!inner) {
    wrongType(key, "an object", *value);
    return std::nullopt;
  }
  HuggingFaceConfig config = *this;
  config.prefix = prefix + key.str() + ".";
  config.object = *inner;
  config.known.clear();
  config.ignored.clear();
  config.failed = false;
  return config;
}

//===-- Keys that are not followed ------------------------------------------------------------------------------===//

void HuggingFaceConfig::require(StringRef key, const llvm::json::Value &value, StringRef why) {
  const llvm::json::Value *given = find(key);
  if (given && *given != value)
    fail(key) << "'" << key << "' is " << show(*given) << ", but " << why;
}

void HuggingFaceConfig::notInTraining(StringRef key, const llvm::json::Value &value) {
  const llvm::json::Value *given = find(key);
  bool zero = given && given->getAsNumber() == 0.0 && value.getAsNumber() == 0.0;
  if (given && *given != value && !zero)
    emitWarning(Location(whereIs(key))) << "'" << key << "' is " << show(*given) << ", which a training by Heddle does "
                                        << "not follow; the model's results do not depend on this key";
}

void HuggingFaceConfig::ignore(ArrayRef<StringRef> keys) {
  for (StringRef key : keys) {
    known.insert(key);
    ignored.insert(key);
  }
}

void HuggingFaceConfig::ignorePrefix(StringRef start) {
  for (const auto &[key, value] : object)
    if (StringRef(key).starts_with(start))
      ignore(StringRef(key));
}

void HuggingFaceConfig::ignoreFalse(ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    if (const llvm::json::Value *value = object.get(key); value && *value == llvm::json::Value(false))
      ignore(key);
}

void HuggingFaceConfig::rejectOthers(ArrayRef<std::string> given) {
  SmallVector<StringRef> keys;
  for (const auto &[key, value] : object)
    keys.push_back(key);
  llvm::sort(keys);
  for (StringRef key : keys) {
    bool isGiven = llvm::is_contained(given, prefix + key.str());
    if (isGiven && known.contains(key) && !ignored.contains(key))
      fail(key) << "--ignore-key=" << prefix << key
                << ": Heddle reads this key; change its value in config.json instead";
    if (isGiven || known.contains(key) || key.starts_with("_"))
      continue;
    if (isEmpty(*object.get(key)))
      emitWarning(Location(whereIs(key))) << "'" << prefix << key << "' is a key that Heddle does not know; its value "
                                          << show(*object.get(key)) << " is taken to mean nothing";
    else
      fail(key) << "'" << prefix << key
                << "' is a key that Heddle does not know; if the key does not change the model's results, "
                << "pass it over with --ignore-key=" << prefix << key;
  }
}
