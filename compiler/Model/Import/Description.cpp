// Reads and checks a description. All mistakes of a file are reported, not only the first.
#include "compiler/Model/Import/Description.h"
#include "compiler/Model/Import/Nesting.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/schema/Tasks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// Some texts, such as "[", "a = [}" and "a = 2000-01-01 1", fail assertions of toml++. Without the assertions its
// parser goes on to report an error at their place.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Member = DescriptionKey::Member;

constexpr StringLiteral kModel = "model"; // the key that names a text
constexpr StringLiteral kOptimizer = "optimizer";
constexpr StringLiteral kTextEnding = ".weft"; // of a text's file
constexpr double kLearningRate = 1e-3;         // at the end of warm-up, for a text without d_model
constexpr uint64_t kLargestText = 16 << 20;    // in bytes
constexpr size_t kShownOverride = 200;         // in bytes, in a message

template <typename T> constexpr bool holds(const Member &member) {
  return std::holds_alternative<T Description::*>(member);
}

std::string describe(const toml::node &value) {
  if (std::optional<std::string> text = value.value_exact<std::string>())
    return "the string \"" + *text + "\"";
  if (std::optional<bool> flag = value.value_exact<bool>())
    return *flag ? "true" : "false";
  if (std::optional<int64_t> whole = value.value_exact<int64_t>())
    return std::to_string(*whole);
  if (std::optional<double> number = value.value_exact<double>())
    return showNumber(*number);
  return value.is_table() ? "a table" : value.is_array() ? "an array" : "a date or time";
}

class Reader {
public:
  Reader(MLIRContext *context, StringRef path) : context(context), path(path) {
    description.start = FileLineColLoc::get(context, path, 1, 1);
  }
  Reader(MLIRContext *context, Description description) : context(context), description(std::move(description)) {}

  void readFile();
  void readModel(const toml::node &value, LocationAttr where);
  void readText(StringRef textPath, LocationAttr where);
  void setText(FailureOr<language::ModelText> text);
  void readOptimizer(StringRef name, LocationAttr where);
  void applyOptimizer();
  void readOverride(StringRef text);
  FailureOr<Description> change(const DescriptionChanges &changes);
  void check();
  void checkStructure();
  void checkStacks();
  void applyText();

  FailureOr<Description> finish() {
    if (failed)
      return failure();
    return std::move(description);
  }

private:
  /// Begins an error at `where`. An override has no line to point at, so the message names it instead.
  InFlightDiagnostic fail(LocationAttr where) {
    failed = true;
    InFlightDiagnostic error = emitError(Location(where));
    if (auto named = dyn_cast<NameLoc>(where))
      error << named.getName().getValue() << ": ";
    return error;
  }
  InFlightDiagnostic failAtKey(StringRef key) { return fail(description.whereIs(key)); }

  LocationAttr locate(const toml::source_region &source) {
    return FileLineColLoc::get(context, path, source.begin.line, source.begin.column);
  }

  void readParameter(StringRef name, const toml::node &value, LocationAttr where);
  void readKey(StringRef name, const toml::node &value, LocationAttr keyWhere, LocationAttr valueWhere);
  bool store(const DescriptionKey &key, const toml::node &value);
  bool assign(const DescriptionKey &key, const toml::node &value, LocationAttr where);
  bool isInRange(const DescriptionKey &key) const;
  bool checkValue(const DescriptionKey &key, LocationAttr where);
  bool mayHold(const DescriptionKey &key, const toml::node &value);

  MLIRContext *context;
  StringRef path;
  Description description;
  bool failed = false;
};

} // namespace

void Reader::readFile() {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    fail(UnknownLoc::get(context)) << "cannot read the model description '" << path
                                   << "': " << file.getError().message() << "; name a .toml file that exists";
    return;
  }
  StringRef text = (*file)->getBuffer();
  if (nestsTooDeepTOML(text)) {
    fail(description.start) << "not a model description: its values nest more than " << kDeepestNesting
                            << " deep; each line of a model description reads `key = value`, without brackets";
    return;
  }
  toml::parse_result parsed = toml::parse(std::string_view(text.data(), text.size()));
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    fail(locate(error.source())) << "not valid TOML: " << StringRef(error.description())
                                 << "; each line of a model description reads `key = value`, strings in quotes";
    return;
  }
  // A table is sorted by name, but mistakes are reported in the order of the file.
  SmallVector<std::pair<const toml::key *, const toml::node *>> entries;
  for (const auto &[name, value] : parsed.table())
    entries.push_back({&name, &value});
  llvm::sort(entries, [](auto a, auto b) {
    auto place = [](const toml::key *key) { return std::pair(key->source().begin.line, key->source().begin.column); };
    return place(a.first) < place(b.first);
  });
  for (auto [name, value] : entries)
    if (StringRef(name->str()) == kModel)
      readModel(*value, locate(value->source()));
  llvm::stable_sort(entries, [](auto a, auto b) { // the optimizer's parameters are keys
    return StringRef(a.first->str()) == kOptimizer && StringRef(b.first->str()) != kOptimizer;
  });
  for (auto [name, value] : entries)
    if (StringRef(name->str()) != kModel)
      readKey(StringRef(name->str()), *value, locate(name->source()), locate(value->source()));
  if (failed || description.text)
    return;
  for (const DescriptionKey &key : getDescriptionKeys())
    if (key.required && !description.given.contains(key.name))
      fail(description.start) << "the description lacks '" << key.name << "'; add a line `" << key.name << " = ...`, "
                              << key.describeValues() << " (" << key.doc << ")";
}

/// `model = "name.weft"`: a text beside the description, or one of Heddle's own.
void Reader::readModel(const toml::node &value, LocationAttr where) {
  std::optional<std::string> name = value.value_exact<std::string>();
  if (!name) {
    fail(where) << "'" << kModel << "' expects the name of a model text, such as \"mine.weft\", got "
                << describe(value);
    return;
  }
  auto isUp = [](StringRef part) { return part == ".."; };
  if (llvm::sys::path::is_absolute(*name) ||
      llvm::any_of(llvm::make_range(llvm::sys::path::begin(*name), llvm::sys::path::end(*name)), isUp)) {
    fail(where) << "'" << kModel << "' names a text in the description's folder, and '" << *name
                << "' leads out of it; copy the text beside the description";
    return;
  }
  SmallString<128> beside(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(beside, *name);
  StringRef stem = StringRef(*name).ends_with(kTextEnding) ? StringRef(*name).drop_back(kTextEnding.size()) : "";
  if (!llvm::sys::fs::exists(beside) && !language::findLibraryText(stem).empty())
    setText(language::ModelText::read(context, *name, language::findLibraryText(stem)));
  else
    readText(beside, where);
}

void Reader::readText(StringRef textPath, LocationAttr where) { setText(readModelText(context, textPath, where)); }

/// Reads the file of a text. Returns null after an error at `where`, or without a place if that is null.
static std::unique_ptr<llvm::MemoryBuffer> readTextFile(MLIRContext *context, StringRef textPath, LocationAttr where) {
  auto fail = [&](LocationAttr place) {
    auto flag = dyn_cast_if_present<NameLoc>(place); // no line to point at, so the message names it instead
    InFlightDiagnostic error = emitError(place ? Location(place) : UnknownLoc::get(context));
    if (flag)
      error << flag.getName().getValue() << ": ";
    return error;
  };
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(textPath, status) && !llvm::sys::fs::is_directory(status) &&
      (!llvm::sys::fs::is_regular_file(status) || status.getSize() > kLargestText)) {
    fail(where) << "'" << textPath << "' is no model text: it is "
                << (llvm::sys::fs::is_regular_file(status) ? "larger than 16 MiB" : "a device or a pipe") << "; name a "
                << kTextEnding << " file";
    return nullptr;
  }
  auto file = llvm::MemoryBuffer::getFile(textPath, /*IsText=*/true);
  if (!file) {
    fail(where) << "cannot read the model text '" << textPath << "': " << file.getError().message() << "; name a "
                << kTextEnding << " file that exists";
    return nullptr;
  }
  return std::move(*file);
}

FailureOr<language::ModelText> mlir::heddle::readModelText(MLIRContext *context, StringRef textPath,
                                                           LocationAttr where) {
  std::unique_ptr<llvm::MemoryBuffer> file = readTextFile(context, textPath, where);
  if (!file)
    return failure();
  return language::ModelText::read(context, textPath, file->getBuffer());
}

void Reader::setText(FailureOr<language::ModelText> text) {
  failed |= mlir::failed(text);
  if (failed)
    return;
  description.text = std::make_shared<language::ModelText>(std::move(*text));
  description.architecture = ::heddle::schema::findTask(std::string_view(description.text->getTask()))->architecture;
}

void Reader::readOverride(StringRef text) {
  std::string shown = text.size() <= kShownOverride ? text.str() : (text.take_front(kShownOverride) + "...").str();
  LocationAttr where = NameLoc::get(StringAttr::get(context, "--set " + shown));
  auto [name, value] = text.split('=');
  name = name.trim();
  value = value.trim();
  if (name.empty() || value.empty()) {
    fail(where) << "expects key=value, such as --set d_model=64";
    return;
  }
  if (!llvm::json::isUTF8(text)) {
    fail(where) << "is not UTF-8, as the description in an artifact is";
    return;
  }
  const DescriptionKey *key = findDescriptionKey(name);
  toml::table table;
  // A shell strips quotes, so a string is valid without them.
  bool isWord = llvm::isAlpha(value.front()) && value != "true" && value != "false" && !value.contains('"');
  auto hasParameter = [&](const std::shared_ptr<language::ModelText> &text) {
    return text && text->hasParameter(name);
  };
  bool isOwn = hasParameter(description.text) || hasParameter(description.optimizerText);
  if (isOwn ? isWord : key && holds<std::string>(key->member)) {
    table.insert("value", value.trim('"').str());
  } else if (nestsTooDeepTOML(value)) {
    table.insert("value", value.take_front(20).str() + "...");
  } else {
    toml::parse_result parsed = toml::parse("value = " + value.str());
    if (parsed && parsed.table().size() == 1)
      table = std::move(parsed).table();
    else
      table.insert("value", value.str());
  }
  readKey(name, *table.get("value"), where, where);
}

void Reader::readKey(StringRef name, const toml::node &value, LocationAttr keyWhere, LocationAttr valueWhere) {
  const DescriptionKey *key = findDescriptionKey(name);
  bool isOfOptimizer = description.optimizerText && description.optimizerText->hasParameter(name);
  if (isOfOptimizer) {
    readParameter(name, value, valueWhere);
    if (!key && !(description.text && description.text->hasParameter(name)))
      return;
  }
  if (description.text) {
    if (description.text->hasParameter(name)) {
      readParameter(name, value, valueWhere);
      // The text's parameter may mean something other than the description's key, which then keeps its default.
      if (!key || (key->isStructure() && !mayHold(*key, value)))
        return;
    } else if (!key || key->isStructure()) {
      StringRef nearest = description.text->findNearestParameter(name);
      fail(keyWhere) << "neither the model text nor a description has '" << name << "'; "
                     << (nearest.empty() ? "heddle-compile --help-description lists a description's keys"
                                         : "the nearest parameter of the text is '" + nearest.str() + "'");
      return;
    }
  }
  if (!key) {
    const DescriptionKey *nearest = findNearestKey(name);
    fail(keyWhere) << "unknown key '" << name << "'; "
                   << (nearest ? "the nearest known key is '" + nearest->name.str() + "'"
                               : "heddle-compile --help-description lists the keys");
    return;
  }
  if (!assign(*key, value, valueWhere) || !checkValue(*key, valueWhere))
    return;
  description.given[name] = keyWhere;
  if (name == kOptimizer)
    readOptimizer(description.optimizer, valueWhere);
}

/// Reads the text of the optimizer called `name`, or of the file NAME.weft. The parameters of the text are keys from
/// then on.
void Reader::readOptimizer(StringRef name, LocationAttr where) {
  description.optimizerText = nullptr;
  if (name == "adam" || name.empty())
    return;
  FailureOr<language::ModelText> text = mlir::failure();
  if (name.ends_with(kTextEnding)) {
    SmallString<128> file; // beside the description that names it, or as the command line says
    if (!isa<NameLoc>(where))
      llvm::sys::path::append(file, llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, name);
    if (std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(context, file, where))
      text = language::ModelText::readOptimizer(context, file, buffer->getBuffer());
  } else if (llvm::is_contained(language::getOptimizers(), name)) {
    text = language::ModelText::readOptimizer(context, (name + kTextEnding).str(), language::findLibraryText(name));
  } else {
    SmallVector<StringRef> known{"adam"};
    llvm::append_range(known, language::getOptimizers());
    StringRef nearest = language::findNearest(name, known);
    fail(where) << "there is no optimizer '" << name << "'; "
                << (nearest.empty() ? "Heddle brings along " + llvm::join(known, ", ")
                                    : "the nearest is '" + nearest.str() + "'")
                << "; a text of your own is --optimizer FILE" << kTextEnding;
    return;
  }
  failed |= mlir::failed(text);
  if (succeeded(text))
    description.optimizerText = std::make_shared<language::ModelText>(std::move(*text));
}

void Reader::applyOptimizer() {
  if (description.optimizerText)
    failed |= mlir::failed(description.optimizerText->setParameters(description.settings));
}

void Reader::readParameter(StringRef name, const toml::node &value, LocationAttr where) {
  language::Setting setting{false, where};
  if (std::optional<bool> flag = value.value_exact<bool>())
    setting.value = *flag;
  else if (std::optional<int64_t> whole = value.value_exact<int64_t>())
    setting.value = *whole;
  else if (std::optional<double> number = value.value_exact<double>())
    setting.value = *number;
  else if (std::optional<std::string> string = value.value_exact<std::string>())
    setting.value = *string;
  else if (const toml::array *list = value.as_array();
           list && llvm::all_of(*list, [](const toml::node &one) { return one.is_number(); })) {
    std::vector<double> numbers;
    for (const toml::node &one : *list)
      numbers.push_back(*one.value<double>());
    setting.value = std::move(numbers);
  } else {
    fail(where) << "the parameter '" << name << "' is a number, a string, a flag or a list of numbers, not "
                << describe(value);
    return;
  }
  description.settings[name] = setting;
}

/// Stores the value if it has the key's type. A whole number is good for a number.
bool Reader::store(const DescriptionKey &key, const toml::node &value) {
  return std::visit(
      [&](auto member) {
        using T = std::remove_reference_t<decltype(description.*member)>;
        std::optional<T> read;
        if constexpr (std::is_same_v<T, double>)
          read = value.is_number() ? value.value<double>() : std::nullopt;
        else
          read = value.value_exact<T>();
        if (read)
          description.*member = std::move(*read);
        return read.has_value();
      },
      key.member);
}

bool Reader::assign(const DescriptionKey &key, const toml::node &value, LocationAttr where) {
  bool assigned = store(key, value);
  if (!assigned)
    fail(where) << "'" << key.name << "' expects " << key.describeValues() << ", got " << describe(value);
  return assigned;
}

/// Returns true if the key's value is allowed.
bool Reader::isInRange(const DescriptionKey &key) const {
  auto isNumberInRange = [&](double value) { return value >= key.range.low && value <= key.range.high; };
  if (const auto *whole = std::get_if<int64_t Description::*>(&key.member))
    return isNumberInRange(static_cast<double>(description.**whole));
  if (const auto *number = std::get_if<double Description::*>(&key.member))
    return isNumberInRange(description.**number);
  const auto *string = std::get_if<std::string Description::*>(&key.member);
  return !string || key.choices.empty() || llvm::is_contained(key.choices, StringRef(description.**string));
}

bool Reader::checkValue(const DescriptionKey &key, LocationAttr where) {
  if (isInRange(key))
    return true;
  const auto *whole = std::get_if<int64_t Description::*>(&key.member);
  const auto *string = std::get_if<std::string Description::*>(&key.member);
  fail(where) << "'" << key.name << "' expects " << key.describeValues() << ", got "
              << (string  ? "\"" + description.**string + "\""
                  : whole ? showNumber(static_cast<double>(description.**whole))
                          : showNumber(description.*std::get<double Description::*>(key.member)));
  return false;
}

/// Returns true if the key may have the value. Does not store it.
bool Reader::mayHold(const DescriptionKey &key, const toml::node &value) {
  return std::visit(
      [&](auto member) {
        auto before = description.*member;
        bool fits = store(key, value) && isInRange(key);
        description.*member = std::move(before);
        return fits;
      },
      key.member);
}

/// Checks conditions on several keys.
void Reader::check() {
  if (failed)
    return;
  const Description &d = description;
  applyOptimizer();
  if (failed)
    return;
  if (d.text) {
    applyText();
    if (failed)
      return;
  } else {
    checkStructure();
  }
  if (!d.sourceEnd && (d.architecture != "transformer" || d.image.height))
    failAtKey("source_end") << "'source_end' is for an encoder with a decoder that reads sentences, and the model is "
                            << (d.image.height ? "of images" : "\"" + d.architecture + "\"") << "; leave the key out";
  if (d.objective != "likelihood" && d.architecture != "decoder")
    failAtKey("objective") << "objective = \"" << d.objective
                           << "\" prefers one text to another, which a decoder alone "
                           << "learns, and the model is \"" << d.architecture << "\"; leave the key out";
  if (d.objective != "likelihood" && d.dpoBeta == 0)
    failAtKey("dpo_beta") << "'dpo_beta' is 0, which leaves nothing to learn; give a number above 0, such as 0.1";
  description.tokenWeights |= d.objective != "likelihood"; // only the answers count
  if (!d.given.contains("max_length"))
    description.maxLength = std::min(d.maxLength, d.maxTokens);
  if (d.maxLength > d.maxTokens)
    failAtKey("max_length") << "'max_length' is " << d.maxLength
                            << ", but a call holds at most 'max_tokens' = " << d.maxTokens
                            << " tokens; lower 'max_length' or raise 'max_tokens'";
  if (d.cacheRows != 0 && d.cacheRows < d.maxLength)
    failAtKey("cache_rows") << "'cache_rows' is " << d.cacheRows
                            << ", but a sequence has up to 'max_length' = " << d.maxLength
                            << " tokens; raise 'cache_rows' or lower 'max_length'";
  if (description.learningRate == 0)
    description.learningRate =
        d.dModel > 0 ? 1 / std::sqrt(static_cast<double>(d.dModel) * static_cast<double>(d.warmup)) : kLearningRate;
}

void Reader::checkStructure() {
  const Description &d = description;
  if (d.dModel % d.heads != 0)
    failAtKey("heads") << "'heads' must divide 'd_model', but " << d.heads << " does not divide " << d.dModel
                       << "; change either of them";
  checkStacks();
  if (!d.learnedPositions() && d.dModel % 2 != 0)
    failAtKey("d_model") << "sinusoidal positions come in pairs of a sine and a cosine, but 'd_model' is " << d.dModel
                         << "; make it even, or set positions = \"learned\"";
}

/// Sets the text's parameters. A parameter whose name is also a key, such as vocab_size, then sets that key, too.
void Reader::applyText() {
  failed |= mlir::failed(description.text->setParameters(description.settings));
  if (failed)
    return;
  for (const auto &parameter : description.text->getParameters()) {
    const DescriptionKey *key = findDescriptionKey(parameter.getKey());
    if (!key || description.given.contains(key->name))
      continue;
    const language::Setting &setting = parameter.getValue();
    toml::table table;
    std::visit(
        [&](const auto &value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<double>>)
            table.insert("value", toml::array()); // no key takes a list
          else
            table.insert("value", value);
        },
        setting.value);
    if (key->isStructure() && !mayHold(*key, *table.get("value")))
      continue; // see readKey()
    if (key->isStructure() ? store(*key, *table.get("value"))
                           : assign(*key, *table.get("value"), setting.where) && checkValue(*key, setting.where))
      description.given[key->name] = setting.where;
  }
  if (auto named = description.given.find(kOptimizer); named != description.given.end() && !description.optimizerText) {
    readOptimizer(description.optimizer, named->second); // a parameter of the text names it
    applyOptimizer();
  }
  // A model that labels images has no tokens: the smallest vocabulary is enough.
  if (description.vocabSize == 0 && description.text->getTask() == "classify" &&
      description.text->getImageShape().height)
    description.vocabSize = 4;
  if (!failed && description.vocabSize == 0)
    fail(description.start) << "the model has no vocabulary size; add `vocab_size = N` to the description, "
                            << "--set vocab_size=N, or `param vocab_size = N` to the text";
}

/// The architecture says which of the two stacks there are. Some keys belong to only one of them.
void Reader::checkStacks() {
  const Description &d = description;
  bool encoder = d.architecture != "decoder", decoder = d.architecture != "encoder";
  auto checkLayers = [&](StringRef key, bool present, int64_t layers) {
    if (present != (layers > 0))
      failAtKey(key) << "'" << key << "' is " << layers << ", but architecture = \"" << d.architecture << "\" has "
                     << (present ? "at least one such layer" : "no such layer; set it to 0");
  };
  checkLayers("encoder_layers", encoder, d.encoderLayers);
  checkLayers("decoder_layers", decoder, d.decoderLayers);
  if (decoder && d.head != "linear")
    failAtKey("head") << "a decoder's 'head' is \"linear\", got \"" << d.head << "\"";
  if (decoder && (d.tokenTypes > 0 || d.pooler))
    failAtKey(d.pooler ? "pooler" : "token_types")
        << "'token_types' and 'pooler' are an encoder's, and architecture = \"" << d.architecture << "\" has a decoder";
}

FailureOr<Description> Reader::change(const DescriptionChanges &changes) {
  // The optimizer comes first: its parameters are keys.
  if (!changes.optimizer.empty()) {
    LocationAttr where = NameLoc::get(StringAttr::get(context, "--optimizer " + changes.optimizer));
    description.optimizer = changes.optimizer;
    description.given[kOptimizer] = where;
    readOptimizer(changes.optimizer, where);
  }
  auto isOfOptimizer = [](StringRef text) { return text.split('=').first.trim() == kOptimizer; };
  for (bool first : {true, false})
    for (const std::string &text : changes.overrides)
      if (isOfOptimizer(text) == first)
        readOverride(text);
  if (!description.given.contains("loss_scale"))
    description.lossScale = changes.lossScale;
  check();
  return finish();
}

FailureOr<Description> mlir::heddle::overrideDescription(MLIRContext *context, Description description,
                                                         const DescriptionChanges &changes) {
  return Reader(context, std::move(description)).change(changes);
}

FailureOr<Description> mlir::heddle::readTextDescription(MLIRContext *context, StringRef path,
                                                         const DescriptionChanges &changes) {
  Reader reader(context, path);
  reader.readText(path, UnknownLoc::get(context));
  return reader.change(changes);
}

FailureOr<Description> mlir::heddle::readDescription(MLIRContext *context, StringRef path,
                                                     const DescriptionChanges &changes) {
  Reader reader(context, path);
  reader.readFile();
  return reader.change(changes);
}
